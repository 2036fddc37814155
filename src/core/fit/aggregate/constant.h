/* The constant model: the start of a fit, and its result if noise masks even the mean. */
#ifndef PBOOST_CONSTANT_H
#define PBOOST_CONSTANT_H

#include "fit/aggregate/aggregate.h"

typedef struct {
    double mean;    /* of the answers, by rows */
    double error;   /* its standard deviation by the mechanism's noise */
    bool outside;   /* not a mean of the family: an intercept would diverge */
    bool unclear;   /* inside by less than its error: it may be outside */
    double nearest; /* the nearest mean that is clearly inside */
} answer_mean;

/* weight: by row of x, NULL: 1. */
answer_mean pboost_answer_mean(const bag_data *data, const double *weight, pboost_family family);

/* The intercept of a model that predicts `mean` on average and knows no features. */
double pboost_constant_intercept(const bag_rows *rows, pboost_family family, double mean);

/* If an intercept would diverge: sets coef to the constant model, says so in the report and returns
 * true. */
bool pboost_constant_if_outside(pboost_coef *coef, pboost_fit_report *report, const bag_data *data,
                                const double *weight, const pboost_fit_options *options);

#endif

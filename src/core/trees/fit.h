/* Fits of forests whose starts are computed when they are needed. */
#ifndef PBOOST_TREES_FIT_H
#define PBOOST_TREES_FIT_H

#include <priorboost/curves.h>

/* Where the forest that leaves a fold out starts. */
typedef struct {
    void *self;
    /* Fills in the predictors of all rows of the table. */
    pboost_status (*fill)(double *eta, void *self, size_t fold, pboost_error *err);
} forest_starts;

/* pboost_forest_fit with starts (NULL: those of the options) one after the other: all of them
 * together are a number a row for each fold. */
pboost_status pboost_forest_fit_from(pboost_forest *out, double *intercept,
                                     pboost_forest_report *report, double *left_out,
                                     const pboost_columns *columns, const double *start,
                                     const forest_starts *starts, const double *weight,
                                     const pboost_answers *answers, size_t first_bag,
                                     const pboost_forest_options *options, pboost_error *err);

#endif

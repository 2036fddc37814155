/* The paper's theorems for a sweep of bag sizes, each beside a simulation of what it is about. */
#ifndef PBOOST_REPRODUCE_THEORY_H
#define PBOOST_REPRODUCE_THEORY_H

#include <priorboost/theory.h>

#include "settings.h"

/* E|theta^ - theta*|^2 of the event-level least squares fit. */
typedef struct {
    pboost_risk risk; /* Theorem "linear regression" */
    double bound;     /* its corollary */
    double simulated, simulated_error;
} theory_risk;

typedef struct {
    size_t min_bag;
    theory_risk curated, random; /* bags by x theta*, and at random */
    double lower_bound;          /* Theorem "lower bound", for random bags */
    double mismatch;             /* between the two partitions */
    pboost_risk gradient;        /* Theorem "GLM", logistic, curated bags */
    double gradient_bound;       /* its corollary */
    double gradient_simulated, gradient_error;
    pboost_variance_check variance; /* whether the bound's variance term depends on the bags */
} theory_row;

typedef struct {
    size_t rows, features, simulations, n;
    double noise, norm2; /* sigma, |theta*|^2 */
    theory_row *row;
} repro_theory;

/* For the bag sizes and the data of the linear experiment's first realization, a slice of it. */
pboost_status repro_theory_make(repro_theory *out, const repro_settings *settings,
                                pboost_error *err);
void repro_theory_free(repro_theory *theory);

#endif

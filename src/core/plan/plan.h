/* The planner, for its own files. */
#ifndef PBOOST_PLAN_H
#define PBOOST_PLAN_H

#include "plan/forecast.h"

#define PLAN_MODEL_ERROR 0.05 /* of the variance of means, where nothing is known */

/* Rows of the table in random order; forecasts use the first ones. */
typedef struct {
    const pboost_plan_options *options;
    const pboost_matrix *x;
    const double *offset;
    size_t n;
    pboost_bags order; /* one bag: the rows, shuffled */
    population population;
    pboost_coef coef; /* what is assumed, in the units of x */
    double *score;    /* of the rows in that order */
    double model_error;
} planner;

/* Fills population, coef and model_error by what the options assume, and what plan says of it. */
pboost_status pboost_planner_assume(planner *p, pboost_plan *plan, pboost_error *err);
/* Sets lambda / phi as the aggregate estimator chooses it.  Under noise it may be estimated from
 * the answers; then it adapts to effects that are smaller than the wide prior's. */
void pboost_planner_penalty(planner *p, bool noise);

/* The excess loss of the paper's algorithm with bags of at least bag_size in `rounds` rounds: run
 * on the answers to be expected, its last bags judged by the paper's theorems. */
pboost_status pboost_plan_event(double *excess, pboost_forecast *forecast, const planner *p,
                                size_t rows, size_t rounds, size_t bag_size, pboost_error *err);

/* What answers say about assumed->dispersion and ->model_error: residuals of the bags, and of
 * groups of neighbours merged.  coef is a fit to those answers.  A dispersion that `assumed` has
 * already is a guess, and is combined with the measured one. */
pboost_status pboost_assumptions_learn(pboost_assumptions *assumed, pboost_family family,
                                       const pboost_features *features,
                                       const pboost_answers *answers, const pboost_coef *coef,
                                       int threads, pboost_error *err);

#endif

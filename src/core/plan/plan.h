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
    size_t n, sample;  /* rows; how many of them forecasts are made on */
    pboost_bags order; /* one bag: the rows, shuffled */
    population population;
    pboost_coef coef; /* what is assumed, in the units of x */
    double *score;    /* of the rows in that order */
    double model_error;
    const pboost_cancel *watch; /* is told how far the forecasts are; NULL: none */
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

/* How the rows are asked about. */
typedef struct {
    pboost_estimator estimator;
    pboost_strategy bags;
    size_t rounds;        /* 0: the trainer's default */
    bool improves;        /* rows within bags are more similar if the table is larger */
    bool comparison_only; /* never the best */
} manner;

/* A way of asking: a manner in one bag size. */
typedef struct {
    manner how;
    size_t bag_size, rows;    /* least rows in a bag; rows that the bags were made of */
    pboost_bags bags;         /* of the aggregate estimator: */
    asked_bags asked;         /* ... */
    double excess;            /* of the event estimator */
    pboost_forecast forecast; /* how it was made */
} way;

/* What a forecast is made for.  A table of more rows than this one may have larger bags: with r
 * times the rows in r times as large bags, bags are made of the same rows. */
typedef struct {
    pboost_rational epsilon;
    double rows, larger; /* larger: 1 for the bags of the way */
} asking;

/* Makes the bags of every way of asking about p->n rows that the options leave open, one after the
 * other: those of a large table need much memory. */
typedef pboost_status way_visitor(void *context, planner *p, way *w, pboost_error *err);
pboost_status pboost_ways_visit(planner *p, way_visitor *visit, void *context, pboost_error *err);
size_t pboost_ways_most(const planner *p); /* how many are visited at most */

/* What the way gives.  excess is NaN where it is not known. */
pboost_status pboost_way_point(pboost_plan_point *point, planner *p, way *w, const asking *asking,
                               pboost_error *err);
/* The details of a point of the aggregate estimator. */
pboost_status pboost_point_forecast(forecast_result *out, planner *p,
                                    const pboost_plan_point *point, pboost_error *err);

/* The best bag size of the first, simplest manner that no other beats clearly; SIZE_MAX: nothing is
 * forecast for that epsilon. */
size_t pboost_plan_recommend(const pboost_plan_point *point, size_t n, pboost_rational epsilon);

/* plan->cost: what the recommendation at every epsilon is expected to give. */
pboost_status pboost_plan_costs(pboost_plan *plan, planner *p, pboost_error *err);
/* plan->least_epsilon, and rows_needed of every cost. */
pboost_status pboost_plan_target(pboost_plan *plan, planner *p, pboost_error *err);

/* What answers say about assumed->dispersion and ->model_error: residuals of the bags, and of
 * groups of neighbours merged.  coef is a fit to those answers.  A dispersion that `assumed` has
 * already is a guess, and is combined with the measured one. */
pboost_status pboost_assumptions_learn(pboost_assumptions *assumed, pboost_family family,
                                       const pboost_features *features,
                                       const pboost_answers *answers, const pboost_coef *coef,
                                       int threads, pboost_error *err);

#endif

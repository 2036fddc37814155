/* Simulated tables with a known truth, and what a way of asking gives on them. */
#ifndef SIMULATION_H
#define SIMULATION_H

#include <priorboost/priorboost.h>

#include <try.h>

typedef struct {
    pboost_family family;
    size_t n, d;
    double signal; /* norm of theta: the standard deviation of the linear predictor */
    pboost_rules rules;
    uint64_t seed;
} setting;

/* The paper's distributions with theta scaled to the signal; noise of variance 1 for linear. */
typedef struct {
    const setting *setting;
    double *theta, *x, *y, *test_x;
    size_t test_n;
    pboost_matrix matrix;
} simulation;

/* One way of asking; rules.min_bag is the oracle's. */
typedef struct {
    pboost_estimator estimator;
    pboost_algorithm algorithm;
    pboost_strategy bags;
    size_t rounds, bag_size;
} manner;

manner manner_of(const pboost_plan_point *point);

pboost_status simulation_init(simulation *out, const setting *s, pboost_error *err);
void simulation_free(simulation *s);

/* Of a fitted model. */
typedef struct {
    double excess; /* expected test loss above that of the truth, over fresh rows */
    double error;  /* |theta^ - theta|^2 / |theta|^2 */
} outcome;

pboost_status simulate(outcome *out, const simulation *s, const manner *how, pboost_error *err);
/* What `train --auto` does, its pilot included. */
pboost_status simulate_auto(outcome *out, manner *chosen, bool *no_better_than_mean,
                            const simulation *s, pboost_error *err);
/* Every label, by the event-level fit. */
pboost_status simulate_labels(outcome *out, const simulation *s, pboost_error *err);

/* Bounds as they would be known for such labels, and epsilon (NULL: no noise). */
pboost_status simulation_rules(pboost_rules *out, pboost_family family, size_t min_bag,
                               const char *epsilon, pboost_error *err);

/* Cases: every combination of these, in this order. */
typedef struct {
    pboost_family family[3];
    size_t features[8], min_bag[8];
    const char *epsilon[8]; /* "none": no noise */
    size_t n_families, n_features, n_min_bags, n_epsilons;
    size_t rows;
} sweep;

/* Calls `visit` for each; the signal is 1.5, or 0.5 for Poisson. */
pboost_status sweep_walk(const sweep *s,
                         pboost_status (*visit)(void *self, const setting *s, const char *epsilon,
                                                pboost_error *err),
                         void *self, pboost_error *err);

#endif

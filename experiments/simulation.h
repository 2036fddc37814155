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

pboost_status simulation_init(simulation *out, const setting *s, pboost_error *err);
void simulation_free(simulation *s);

/* One way of asking; rules.min_bag is the oracle's. */
typedef struct {
    pboost_estimator estimator;
    pboost_algorithm algorithm;
    pboost_strategy bags;
    size_t rounds, bag_size;
} manner;

manner manner_of(const pboost_plan_point *point);

/* Of a fitted model. */
typedef struct {
    double excess; /* expected test loss above that of the truth, over fresh rows */
    double error;  /* |theta^ - theta|^2 / |theta|^2 */
} outcome;

pboost_status simulate(outcome *out, const simulation *s, const manner *how, pboost_error *err);
/* What `train --auto` does, its pilot included. */
pboost_status simulate_auto(outcome *out, manner *chosen, bool *hopeless, const simulation *s,
                            pboost_error *err);
/* Every label, by the event-level fit. */
pboost_status simulate_labels(outcome *out, const simulation *s, pboost_error *err);

/* Bounds as they would be known for such labels, and epsilon (NULL: no noise). */
pboost_status simulation_rules(pboost_rules *out, pboost_family family, size_t min_bag,
                               const char *epsilon, pboost_error *err);

double median(double *value, size_t n);

#endif

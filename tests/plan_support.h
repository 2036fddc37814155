/* Tables and options for tests of the planner. */
#ifndef PBOOST_TEST_PLAN_SUPPORT_H
#define PBOOST_TEST_PLAN_SUPPORT_H

#include "testing.h"

#include "plan/plan.h"

#define FEATURES 4

typedef struct {
    size_t n;
    double *x, *y, theta[FEATURES];
    pboost_matrix matrix;
} table;

static inline table make_table(pboost_family family, size_t n, uint64_t stream)
{
    pboost_error err;
    table t = {.n = n, .x = malloc(n * FEATURES * sizeof(double)), .y = malloc(n * sizeof(double))};
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    s.family = family;
    s.features = FEATURES;
    s.noise = family == PBOOST_LINEAR ? 1.0 : 0.0;
    s.seed = 4;
    assert_ok(pboost_synthetic_theta(t.theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(t.x, t.y, &s, t.theta, stream, 0, n, 1, &err), err);
    t.matrix = pboost_matrix_f64(t.x, n, FEATURES);
    return t;
}

static inline void free_table(table *t)
{
    free(t->x);
    free(t->y);
}

static inline pboost_plan_options plan_options(pboost_family family, const char *epsilon, size_t k)
{
    pboost_error err;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    o.family = family;
    o.rules.min_bag = k;
    o.rules.bounded = true;
    o.rules.lower = family == PBOOST_LINEAR ? -16.0 : 0.0;
    o.rules.upper = family == PBOOST_LINEAR ? 16.0 : family == PBOOST_LOGISTIC ? 1.0 : 32.0;
    if (epsilon != NULL)
        assert_ok(pboost_rational_parse(&o.rules.epsilon, epsilon, &err), err);
    o.threads = 1;
    return o;
}

static inline pboost_plan plan_of(pboost_family family, const char *epsilon, size_t n, double mean)
{
    pboost_error err;
    pboost_plan plan;
    table t = make_table(family, n, 0);
    pboost_plan_options o = plan_options(family, epsilon, 8);
    o.assumed.mean = mean;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    free_table(&t);
    return plan;
}

#endif

/* Tables with curves, their bags and answers, for the tests of trees. */
#ifndef TREES_SUPPORT_H
#define TREES_SUPPORT_H

#include "answers_support.h"

enum { CURVE_COLUMNS = 4, CURVE_LEVELS = 5 };

/* Column 0 has a step, 1 a curve, 2 is a category, 3 is noise; missing cells of column 0 matter. */
typedef struct {
    size_t n;
    double *x, *y, *eta;
    uint32_t *code;
    pboost_column column[CURVE_COLUMNS];
    pboost_columns columns;
} curve_table;

static inline double curve(double x0, double x1, uint32_t code)
{
    static const double level[CURVE_LEVELS] = {0.5, -0.7, 0.0, 0.9, -0.4};
    return (isnan(x0) ? 1.5 : x0 > 0.3 ? 1.0 : -0.5) + 0.8 * sin(2.0 * x1) + level[code];
}

/* Call once t is where it stays. */
static inline void curve_open(curve_table *t, pboost_family family, size_t n, uint64_t seed)
{
    test_rng rng = {seed};
    *t = (curve_table){.n = n};
    t->x = calloc(3 * n, sizeof *t->x);
    t->y = calloc(n, sizeof *t->y);
    t->eta = calloc(n, sizeof *t->eta);
    t->code = calloc(n, sizeof *t->code);
    for (size_t i = 0; i < n; i++) {
        double *x = t->x + 3 * i;
        for (size_t j = 0; j < 3; j++)
            x[j] = normal(&rng);
        if (uniform(&rng) < 0.1)
            x[0] = NAN;
        t->code[i] = (uint32_t)(uniform(&rng) * CURVE_LEVELS);
        double eta = t->eta[i] = 0.5 * curve(x[0], x[1], t->code[i]);
        t->y[i] = family == PBOOST_LINEAR     ? eta + 0.3 * normal(&rng)
                  : family == PBOOST_LOGISTIC ? uniform(&rng) < 1.0 / (1.0 + exp(-eta))
                                              : poisson_draw(&rng, exp(eta));
    }
    for (size_t j = 0; j < 3; j++)
        t->column[j == 2 ? 3 : j] = (pboost_column){.number = t->x + j, .stride = 3};
    t->column[2] = (pboost_column){.code = t->code, .levels = CURVE_LEVELS};
    t->columns = (pboost_columns){.rows = n, .n = CURVE_COLUMNS, .column = t->column};
}

static inline void curve_close(curve_table *t)
{
    free(t->x);
    free(t->y);
    free(t->eta);
    free(t->code);
}

/* Bags of `size` rows that are near each other in eta with a little noise, answers with Laplace
 * noise of variance `noise`. */
static inline pboost_answers curve_answers(const curve_table *t, size_t size, double noise,
                                           uint64_t seed)
{
    test_rng rng = {seed};
    double *score = calloc(t->n, sizeof *score);
    for (size_t i = 0; i < t->n; i++)
        score[i] = t->eta[i] + 0.3 * normal(&rng);
    test_table as_table = {.n = t->n, .d = 1, .x = score, .y = t->y};
    pboost_answers a = make_answers(&as_table, size, noise, true, seed);
    free(score);
    return a;
}

static inline pboost_forest_options forest_options(pboost_family family)
{
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    o.family = family;
    o.min_rows = 20;
    return o;
}

#endif

/* Sparse tables for tests, with the same numbers as a dense matrix. */
#ifndef PBOOST_SPARSE_SUPPORT_H
#define PBOOST_SPARSE_SUPPORT_H

#include "testing.h"

#include "data/answers.h"
#include "fit_support.h"

typedef struct {
    size_t n, d;
    double *dense, *y, *weight, *offset;
    uint32_t *start, *column;
    double *value;
    pboost_matrix matrix;
    pboost_wide_features features; /* without weight and offset */
} wide_table;

/* Rows of about `entries` numbers each; ones: all of them are 1.  Labels of the family. */
static inline void wide_open(wide_table *t, pboost_family family, size_t n, size_t d,
                             double entries, bool ones, uint64_t seed)
{
    test_rng rng = {seed};
    double *theta = calloc(d, sizeof *theta);
    *t = (wide_table){.n = n, .d = d};
    t->dense = calloc(n * d, sizeof *t->dense);
    t->y = calloc(n, sizeof *t->y);
    t->weight = calloc(n, sizeof *t->weight);
    t->offset = calloc(n, sizeof *t->offset);
    t->start = calloc(n + 1, sizeof *t->start);
    t->column = calloc(n * d, sizeof *t->column);
    t->value = calloc(n * d, sizeof *t->value);
    uint32_t place = 0;
    for (size_t j = 0; j < d; j++)
        theta[j] = 0.7 * normal(&rng);
    for (size_t i = 0; i < n; i++) {
        t->weight[i] = 0.5 + uniform(&rng);
        t->offset[i] = 0.3 * normal(&rng);
        double eta = t->offset[i] - 0.5;
        for (size_t j = 0; j < d; j++) {
            /* frequent columns first, and rare ones at the end */
            if (uniform(&rng) > 2.0 * entries / (double)d * (1.0 - (double)j / (double)d))
                continue;
            t->value[place] = ones ? 1.0 : normal(&rng);
            t->column[place] = (uint32_t)j;
            t->dense[i * d + j] = t->value[place];
            eta += theta[j] * t->value[place++];
        }
        t->start[i + 1] = place;
        double mean = family == PBOOST_LINEAR     ? eta
                      : family == PBOOST_LOGISTIC ? 1.0 / (1.0 + exp(-eta))
                                                  : exp(fmin(eta, 3.0));
        t->y[i] = family == PBOOST_LINEAR     ? mean + normal(&rng)
                  : family == PBOOST_LOGISTIC ? (double)(uniform(&rng) < mean)
                                              : poisson_draw(&rng, mean);
    }
    t->matrix = pboost_matrix_f64(t->dense, n, d);
    t->features.x = (pboost_sparse){.rows = n,
                                    .cols = d,
                                    .start = t->start,
                                    .start_bytes = 4,
                                    .type = PBOOST_F64,
                                    .column = t->column,
                                    .value = t->value};
    free(theta);
}

static inline void wide_close(wide_table *t)
{
    free(t->dense);
    free(t->y);
    free(t->weight);
    free(t->offset);
    free(t->start);
    free(t->column);
    free(t->value);
}

/* All rows in bags of k that follow each other, with noise of this standard deviation. */
static inline pboost_answers wide_answers(const wide_table *t, size_t k, double noise)
{
    pboost_answers a = {0};
    pboost_bags bags = {.n_rows = t->n, .n_bags = t->n / k};
    double *mean = calloc(bags.n_bags, sizeof *mean), *variance = calloc(bags.n_bags, sizeof *mean);
    test_rng rng = {7};
    pboost_error err;
    bags.row = calloc(t->n, sizeof *bags.row);
    bags.start = calloc(bags.n_bags + 1, sizeof *bags.start);
    for (size_t i = 0; i < t->n; i++)
        bags.row[i] = (i * 7919) % t->n; /* rows from all over the table */
    for (size_t b = 0; b < bags.n_bags; b++) {
        size_t end = b + 1 < bags.n_bags ? (b + 1) * k : t->n;
        bags.start[b + 1] = end;
        for (size_t i = b * k; i < end; i++)
            mean[b] += t->y[bags.row[i]] / (double)(end - b * k);
        mean[b] += noise * normal(&rng);
        variance[b] = noise * noise;
    }
    assert_ok(pboost_answers_append(&a, &bags, mean, variance, &err), err);
    pboost_bags_free(&bags);
    free(mean);
    free(variance);
    return a;
}

static inline pboost_fit_options wide_options(pboost_family family, pboost_estimator estimator,
                                              double l2)
{
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    o.family = family;
    o.estimator = estimator;
    o.l2 = pboost_l2_fixed(l2);
    o.tolerance = 1e-20;
    return o;
}

static inline double largest_difference(const pboost_coef *a, const pboost_coef *b)
{
    double most = fabs(a->intercept - b->intercept);
    for (size_t j = 0; j < a->n; j++)
        most = fmax(most, fabs(a->theta[j] - b->theta[j]));
    return most;
}

#endif

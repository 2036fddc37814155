/* Data for the tests of fits, and a slow but sure minimiser in long double to compare with. */
#ifndef FIT_SUPPORT_H
#define FIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/priorboost.h>

typedef struct {
    uint64_t state;
} test_rng;

static inline double uniform(test_rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static inline double normal(test_rng *rng)
{
    double u = uniform(rng);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * uniform(rng));
}

static inline double poisson_draw(test_rng *rng, double mean)
{
    double p = exp(-mean), cdf = p, u = uniform(rng), k = 0;
    while (u > cdf && k < 1000) {
        p *= mean / ++k;
        cdf += p;
    }
    return k;
}

/* A table with labels of a family and everything that samples may carry. */
typedef struct {
    size_t n, d;
    double *x, *y, *weight, *offset;
    pboost_matrix matrix;
    pboost_samples samples;
} test_table;

static inline test_table make_table(pboost_family family, size_t n, size_t d, uint64_t seed)
{
    test_rng rng = {seed};
    test_table t = {.n = n, .d = d};
    t.x = calloc(n * d, sizeof *t.x);
    t.y = calloc(n, sizeof *t.y);
    t.weight = calloc(n, sizeof *t.weight);
    t.offset = calloc(n, sizeof *t.offset);
    double *theta = calloc(d, sizeof *theta);
    for (size_t j = 0; j < d; j++)
        theta[j] = normal(&rng) / sqrt((double)d);
    for (size_t i = 0; i < n; i++) {
        double eta = 0.3;
        for (size_t j = 0; j < d; j++) {
            t.x[i * d + j] = normal(&rng);
            eta += theta[j] * t.x[i * d + j];
        }
        if (family == PBOOST_LINEAR)
            t.y[i] = eta + 0.5 * normal(&rng);
        else if (family == PBOOST_LOGISTIC)
            t.y[i] = uniform(&rng) < 1.0 / (1.0 + exp(-eta));
        else
            t.y[i] = poisson_draw(&rng, exp(eta));
        t.weight[i] = 0.25 + uniform(&rng);
        t.offset[i] = 0.3 * normal(&rng);
    }
    free(theta);
    t.matrix = pboost_matrix_f64(t.x, n, d);
    return t;
}

/* Call once the table is where it stays. */
static inline pboost_samples samples_of(test_table *t)
{
    return (pboost_samples){.x = &t->matrix, .n = t->n, .target = t->y};
}

static inline void free_table(test_table *t)
{
    free(t->x);
    free(t->y);
    free(t->weight);
    free(t->offset);
}

static inline double element(const pboost_matrix *x, size_t row, size_t col)
{
    ptrdiff_t at = (ptrdiff_t)row * x->row_stride + (ptrdiff_t)col * x->col_stride;
    return x->type == PBOOST_F64 ? ((const double *)x->data)[at] : ((const float *)x->data)[at];
}

static inline long double loss_of(pboost_family family, long double eta, long double y)
{
    if (family == PBOOST_LINEAR)
        return 0.5L * (eta - y) * (eta - y);
    if (family == PBOOST_LOGISTIC)
        return fmaxl(eta, 0) - y * eta + log1pl(expl(-fabsl(eta)));
    return expl(eta) - y * eta;
}

static inline long double mean_of(pboost_family family, long double eta)
{
    return family == PBOOST_LINEAR     ? eta
           : family == PBOOST_LOGISTIC ? 1.0L / (1.0L + expl(-eta))
                                       : expl(eta);
}

static inline long double variance_of(pboost_family family, long double eta)
{
    long double m = mean_of(family, eta);
    return family == PBOOST_LINEAR ? 1.0L : family == PBOOST_LOGISTIC ? m * (1.0L - m) : m;
}

/* The objective and, where not NULL, gradient and Hessian (parameters: columns, then intercept). */
static inline long double objective_ld(const pboost_samples *s, const pboost_fit_options *o,
                                       const long double *b, long double *g, long double *h)
{
    size_t d = s->x->cols, p = d + o->intercept;
    long double value = 0;
    if (g != NULL)
        memset(g, 0, p * sizeof *g);
    if (h != NULL)
        memset(h, 0, p * p * sizeof *h);
    for (size_t i = 0; i < s->n; i++) {
        size_t row = s->row != NULL ? s->row[i] : i;
        long double w = s->weight != NULL ? s->weight[row] : 1.0L;
        long double eta = s->offset != NULL ? s->offset[row] : 0.0L;
        for (size_t j = 0; j < p; j++)
            eta += b[j] * (j < d ? element(s->x, row, j) : 1.0L);
        value += w * loss_of(o->family, eta, s->target[i]);
        long double r = w * (mean_of(o->family, eta) - s->target[i]);
        long double c = w * variance_of(o->family, eta);
        for (size_t j = 0; j < p && g != NULL; j++) {
            long double xj = j < d ? element(s->x, row, j) : 1.0L;
            g[j] += r * xj;
            for (size_t k = 0; k <= j && h != NULL; k++)
                h[j * p + k] += c * xj * (k < d ? element(s->x, row, k) : 1.0L);
        }
    }
    for (size_t j = 0; j < d; j++) {
        value += 0.5L * o->l2.value * b[j] * b[j];
        if (g != NULL)
            g[j] += o->l2.value * b[j];
        if (h != NULL)
            h[j * p + j] += o->l2.value;
    }
    return value;
}

/* b = h^-1 b for the lower triangle h, by elimination. */
static inline void solve_ld(long double *h, long double *b, size_t p)
{
    for (size_t j = 0; j < p; j++) {
        for (size_t k = 0; k < j; k++)
            h[j * p + j] -= h[j * p + k] * h[j * p + k];
        h[j * p + j] = sqrtl(h[j * p + j]);
        for (size_t i = j + 1; i < p; i++) {
            for (size_t k = 0; k < j; k++)
                h[i * p + j] -= h[i * p + k] * h[j * p + k];
            h[i * p + j] /= h[j * p + j];
        }
    }
    for (size_t i = 0; i < p; i++) {
        for (size_t k = 0; k < i; k++)
            b[i] -= h[i * p + k] * b[k];
        b[i] /= h[i * p + i];
    }
    for (size_t i = p; i-- > 0;) {
        for (size_t k = i + 1; k < p; k++)
            b[i] -= h[k * p + i] * b[k];
        b[i] /= h[i * p + i];
    }
}

/* The minimum in long double, by damped Newton; b (columns, then intercept) receives the place. */
static inline long double minimum_ld(const pboost_samples *s, const pboost_fit_options *o,
                                     long double *b)
{
    size_t p = s->x->cols + o->intercept;
    long double *g = calloc(p * (p + 2), sizeof *g), *h = g + p, *trial = h + p * p;
    memset(b, 0, p * sizeof *b);
    long double value = objective_ld(s, o, b, g, h);
    for (int it = 0; it < 200; it++) {
        solve_ld(h, g, p);
        long double t = 1.0L, next = INFINITY;
        for (; t > 1e-12L; t *= 0.5L) {
            for (size_t j = 0; j < p; j++)
                trial[j] = b[j] - t * g[j];
            next = objective_ld(s, o, trial, NULL, NULL);
            if (next < value)
                break;
        }
        if (!(next < value))
            break;
        memcpy(b, trial, p * sizeof *b);
        value = objective_ld(s, o, b, g, h);
    }
    free(g);
    return value;
}

/* The objective of a fitted model, in long double. */
static inline long double objective_at(const pboost_samples *s, const pboost_fit_options *o,
                                       const pboost_coef *coef)
{
    long double *b = calloc(coef->n + 1, sizeof *b);
    for (size_t j = 0; j < coef->n; j++)
        b[j] = coef->theta[j];
    b[coef->n] = coef->intercept;
    long double value = objective_ld(s, o, b, NULL, NULL);
    free(b);
    return value;
}

static inline void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) {
        print_error("%.17g and %.17g differ by %.3g, more than %.3g\n", a, b, a - b, tolerance);
        fail();
    }
}

/* Fits and checks the result against the reference minimum. */
static inline void assert_fits(const pboost_samples *s, const pboost_fit_options *o,
                               double relative)
{
    pboost_error err = {0};
    pboost_coef coef;
    pboost_fit_report report;
    assert_int_equal(pboost_coef_init(&coef, s->x->cols, &err), PBOOST_OK);
    pboost_status st = pboost_event_fit(&coef, &report, s, o, &err);
    if (st != PBOOST_OK)
        print_error("%s\n", err.message);
    assert_int_equal(st, PBOOST_OK);
    assert_true(report.converged);
    long double *b = calloc(coef.n + 1, sizeof *b);
    long double best = minimum_ld(s, o, b), got = objective_at(s, o, &coef);
    long double *zero = calloc(coef.n + 1, sizeof *zero);
    long double scale = fmaxl(fabsl(best), 1e-10L * fabsl(objective_ld(s, o, zero, NULL, NULL)));
    free(zero);
    assert_near((double)((got - best) / scale), 0.0, relative);
    assert_near((double)((report.objective - best) / scale), 0.0, 1e-9);
    free(b);
    pboost_coef_free(&coef);
}

#endif

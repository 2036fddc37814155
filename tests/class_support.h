/* Softmax data for the tests of classes. */
#ifndef CLASS_SUPPORT_H
#define CLASS_SUPPORT_H

#include "base/rng.h"
#include "testing.h"

/* Normal features, weights that are known, and labels drawn from them. */
typedef struct {
    size_t n, d, classes;
    double *x, *label;
    pboost_class_coef truth;
    pboost_matrix matrix;
} class_table;

static inline class_table class_table_make(size_t n, size_t d, size_t classes, uint64_t seed)
{
    class_table t = {.n = n, .d = d, .classes = classes};
    pboost_error err = {0};
    size_t weights = classes * (d + 1);
    double *p = calloc(n * classes, sizeof *p), *z = calloc(weights + 2, sizeof *z);
    uint64_t word[2];

    t.x = calloc(n * d + 2, sizeof *t.x);
    t.label = calloc(n, sizeof *t.label);
    pboost_rng_normals(t.x, (n * d + 1) / 2, seed, RNG_FEATURES, 0, 0);
    pboost_rng_normals(z, (weights + 1) / 2, seed, RNG_THETA, 0, 0);
    assert_ok(pboost_class_coef_init(&t.truth, classes, d, &err), err);
    for (size_t i = d + 1; i < weights; i++)
        t.truth.theta[i] = z[i] / sqrt((double)d);
    t.matrix = pboost_matrix_f64(t.x, n, d);
    pboost_samples all = {.x = &t.matrix, .n = n};
    assert_ok(pboost_classes_predict(p, &all, &t.truth, 1, &err), err);
    for (size_t i = 0; i < n; i++) {
        pboost_rng_words(word, seed, RNG_LABELS, 0, i);
        double u = (double)(word[0] >> 11) * 0x1p-53;
        size_t c = 0;
        for (; c + 1 < classes && u >= p[i * classes + c]; c++)
            u -= p[i * classes + c];
        t.label[i] = (double)c;
    }
    free(p);
    free(z);
    return t;
}

static inline void class_table_free(class_table *t)
{
    free(t->x);
    free(t->label);
    pboost_class_coef_free(&t->truth);
}

/* The proportions of bags from features of `size` rows, with Laplace noise of that variance;
 * order[c] is the number that class c gets (NULL: c). */
static inline pboost_answers *class_answers(const class_table *t, size_t size, double noise,
                                            const size_t *order, uint64_t seed)
{
    pboost_answers *a = NULL;
    pboost_bags bags = {0};
    pboost_error err = {0};
    pboost_samples all = {.x = &t->matrix, .n = t->n};
    uint64_t word[2];

    assert_ok(pboost_bags_features(&bags, &all, size, 1, NULL, &err), err);
    double *mean = calloc(bags.n_bags * t->classes, sizeof *mean);
    double *variance = calloc(bags.n_bags * t->classes, sizeof *variance);
    for (size_t b = 0; b < bags.n_bags; b++)
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++) {
            size_t c = (size_t)t->label[bags.row[i]];
            mean[b * t->classes + (order != NULL ? order[c] : c)] +=
                1.0 / (double)(bags.start[b + 1] - bags.start[b]);
        }
    for (size_t i = 0; noise > 0.0 && i < bags.n_bags * t->classes; i++) {
        pboost_rng_words(word, seed, RNG_NOISE, 0, i);
        double u = (double)(word[0] >> 11) * 0x1p-53 - 0.5;
        mean[i] -= sqrt(noise / 2.0) * (u < 0.0 ? -1.0 : 1.0) * log(1.0 - 2.0 * fabs(u));
        variance[i] = noise;
    }
    assert_ok(pboost_answers_create(&a, &err), err);
    assert_ok(pboost_answers_append_vectors(a, &bags, t->classes, mean, variance, &err), err);
    pboost_bags_free(&bags);
    free(mean);
    free(variance);
    return a;
}

static inline pboost_fit_options class_options(pboost_estimator estimator)
{
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.estimator = estimator;
    return o;
}

typedef struct {
    pboost_class_coef coef;
    pboost_fit_report report;
    double *covariance;
    size_t n; /* rows of the covariance */
} class_fitted;

static inline class_fitted class_fit_or_fail(const class_table *t, const pboost_answers *a,
                                             const pboost_fit_options *o)
{
    class_fitted f = {.n = pboost_class_weights(t->classes, t->d)};
    pboost_error err = {0};
    f.covariance = calloc(f.n * f.n, sizeof *f.covariance);
    assert_ok(pboost_class_coef_init(&f.coef, t->classes, t->d, &err), err);
    assert_ok(pboost_classes_fit(&f.coef, &f.report, f.covariance, PLAIN(t->matrix), a, 0, o, &err),
              err);
    assert_true(f.report.converged);
    return f;
}

static inline void class_fitted_free(class_fitted *f)
{
    pboost_class_coef_free(&f->coef);
    free(f->covariance);
}

static inline double class_se(const class_fitted *f, size_t weight)
{
    return sqrt(f->covariance[weight * f->n + weight]);
}

#endif

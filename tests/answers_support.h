/* Bags and answers for the tests of the estimators, and what a fit to them gives. */
#ifndef ANSWERS_SUPPORT_H
#define ANSWERS_SUPPORT_H

#include "data/answers.h"
#include "fit_support.h"

static const pboost_family FAMILIES[] = {PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON};

/* Bags of `size` rows, each of one stretch of the order of column 0 where sorted, else as they
 * come; answers are the means of y plus Laplace noise of variance `noise`. */
static inline pboost_answers make_answers(const test_table *t, size_t size, double noise,
                                          bool sorted, uint64_t seed)
{
    pboost_answers a = {0};
    pboost_bags bags = {0};
    pboost_error err = {0};
    test_rng rng = {seed};
    double *score = calloc(t->n, sizeof *score);
    for (size_t i = 0; i < t->n; i++)
        score[i] = sorted ? t->x[i * t->d] : uniform(&rng);
    assert_int_equal(pboost_bags_optimal(&bags, score, t->n, size, 1, &err), PBOOST_OK);
    double *mean = calloc(bags.n_bags, sizeof *mean), *c = calloc(bags.n_bags, sizeof *c);
    for (size_t b = 0; b < bags.n_bags; b++) {
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
            mean[b] += t->y[bags.row[i]] / (double)(bags.start[b + 1] - bags.start[b]);
        double u = uniform(&rng) - 0.5;
        mean[b] -= sqrt(noise / 2.0) * (u < 0.0 ? -1.0 : 1.0) * log(1.0 - 2.0 * fabs(u));
        c[b] = noise;
    }
    assert_int_equal(pboost_answers_append(&a, &bags, mean, c, &err), PBOOST_OK);
    pboost_bags_free(&bags);
    free(score);
    free(mean);
    free(c);
    return a;
}

#define L2_AUTO ((pboost_l2){PBOOST_L2_AUTO, 0.0})
#define L2_CV ((pboost_l2){PBOOST_L2_CV, 0.0})

static inline pboost_fit_options options_for(pboost_family family, pboost_l2 l2)
{
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.family = family;
    o.estimator = PBOOST_AGGREGATE;
    o.l2 = l2;
    return o;
}

/* What a fit gives; free with fitted_free. */
typedef struct {
    pboost_coef coef;
    pboost_fit_report report;
    double *covariance;
} fitted;

static inline fitted fit_or_fail(const pboost_matrix *x, const double *weight, const double *offset,
                                 const pboost_answers *a, const pboost_fit_options *o)
{
    fitted f = {0};
    pboost_error err = {0};
    assert_int_equal(pboost_coef_init(&f.coef, x->cols, &err), PBOOST_OK);
    f.covariance = calloc((x->cols + 1) * (x->cols + 1), sizeof *f.covariance);
    pboost_status st = pboost_answers_fit(
        &f.coef, &f.report, f.covariance,
        &(pboost_features){.x = *x, .weight = weight, .offset = offset}, a, 0, o, &err);
    if (st != PBOOST_OK)
        print_error("%s\n", err.message);
    assert_int_equal(st, PBOOST_OK);
    return f;
}

static inline void fitted_free(fitted *f)
{
    pboost_coef_free(&f->coef);
    free(f->covariance);
}

static inline void assert_same_coef(const pboost_coef *a, const pboost_coef *b, double tolerance)
{
    for (size_t j = 0; j < a->n; j++)
        assert_near(a->theta[j], b->theta[j], tolerance);
    assert_near(a->intercept, b->intercept, tolerance);
}

static inline void assert_refused(const pboost_matrix *x, const double *weight,
                                  const double *offset, const pboost_answers *a,
                                  const pboost_fit_options *o, pboost_status expected,
                                  const char *part)
{
    pboost_coef coef;
    pboost_error err = {0};
    pboost_fit_report report;
    assert_int_equal(pboost_coef_init(&coef, x->cols, NULL), PBOOST_OK);
    assert_int_equal(
        pboost_answers_fit(&coef, &report, NULL,
                           &(pboost_features){.x = *x, .weight = weight, .offset = offset}, a, 0, o,
                           &err),
        expected);
    if (strstr(err.message, part) == NULL)
        print_error("\"%s\" does not say \"%s\"\n", err.message, part);
    assert_non_null(strstr(err.message, part));
    assert_false(report.converged);
    pboost_coef_free(&coef);
}

#endif

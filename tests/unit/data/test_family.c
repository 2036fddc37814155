/* Families: names, labels, and the block functions against libm in long double. */
#include "fit_support.h"

#include <float.h>

#include "data/family.h"

static void names_go_both_ways(void **state)
{
    (void)state;
    static const char *names[] = {"linear", "logistic", "poisson"};
    for (int f = 0; f < 3; f++) {
        pboost_family family;
        assert_string_equal(pboost_family_name((pboost_family)f), names[f]);
        assert_int_equal(pboost_family_parse(&family, names[f], NULL), PBOOST_OK);
        assert_int_equal(family, f);
    }
    pboost_family family = PBOOST_POISSON;
    pboost_error err;
    assert_int_equal(pboost_family_parse(&family, "probit", &err), PBOOST_INVALID);
    assert_non_null(strstr(err.message, "probit"));
    assert_string_equal(pboost_family_name((pboost_family)9), "unknown");
}

static void labels_are_checked(void **state)
{
    (void)state;
    static const struct {
        pboost_family family;
        double y;
        bool ok;
    } cases[] = {{PBOOST_LINEAR, -3.5, true},     {PBOOST_LINEAR, NAN, false},
                 {PBOOST_LOGISTIC, 0.0, true},    {PBOOST_LOGISTIC, 1.0, true},
                 {PBOOST_LOGISTIC, 0.5, false},   {PBOOST_LOGISTIC, -1.0, false},
                 {PBOOST_POISSON, 0.0, true},     {PBOOST_POISSON, 2.5, true},
                 {PBOOST_POISSON, -0.5, false},   {PBOOST_POISSON, INFINITY, false},
                 {PBOOST_LINEAR, INFINITY, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double y[3] = {1.0, cases[i].y, 1.0};
        size_t row[3] = {5, 6, 7};
        pboost_samples s = {.n = 3, .row = row, .target = y};
        pboost_error err = {0};
        pboost_status st = pboost_family_check_labels(cases[i].family, &s, &err);
        assert_int_equal(st, cases[i].ok ? PBOOST_OK : PBOOST_BAD_DATA);
        assert_int_equal(pboost_family_allows(cases[i].family, cases[i].y), cases[i].ok);
        assert_true(cases[i].ok || strstr(err.message, "sample 1 (row 6)") != NULL);
    }
}

static void what_is_no_family_has_no_labels(void **state)
{
    (void)state;
    assert_string_equal(pboost_family_labels(PBOOST_LOGISTIC), "0 or 1");
    assert_string_equal(pboost_family_labels((pboost_family)9), "unknown");
    assert_false(pboost_family_allows((pboost_family)9, 0.0));
}

/* The functions of a row of the table, against each other and against the kernels' definition. */
static void mean_link_and_variance_belong_together(void **state)
{
    (void)state;
    for (int f = 0; f < 3; f++) {
        const family_info *info = pboost_family_info((pboost_family)f);
        for (double eta = -8.0; eta <= 8.0; eta += 0.5) {
            double mean = info->mean(eta);
            assert_true(info->least_mean < mean && mean < info->most_mean);
            assert_true(fabs(info->eta(mean) - eta) < 1e-12);
            assert_true(fabsl(mean - mean_of(info->family, eta)) < 1e-15L * (1.0L + fabsl(mean)));
            double v = (double)variance_of(info->family, eta);
            assert_true(fabs(info->variance_at(mean) - v) < 1e-12 * v);
        }
    }
}

/* |a - b| in units of the last place of b, as far as b is a normal number. */
static double ulps(double a, long double b)
{
    return (double)(fabsl(a - b) / (DBL_EPSILON * fmaxl(fabsl(b), (long double)DBL_MIN)));
}

static void means_and_moments_are_accurate(void **state)
{
    (void)state;
    enum { N = 4001 };
    static double eta[N], mean[N], again[N], variance[N], y[N], loss[N];
    test_rng rng = {1};
    for (int level = 0; level < SIMD_LEVELS; level++) {
        pboost_simd_force((simd_level_t)level);
        for (int f = 0; f < 3; f++) {
            const family_kernels *k = pboost_family_kernels((pboost_family)f);
            for (int i = 0; i < N; i++) {
                eta[i] = i < 2000 ? (i - 1000) * 0.7 : 5.0 * normal(&rng);
                y[i] = i % 3 == 0 ? 0.0 : i % 3 == 1 ? 1.0 : uniform(&rng);
            }
            k->mean(mean, eta, N);
            k->moments(again, variance, eta, N);
            k->loss(loss, eta, y, N);
            for (int i = 0; i < N; i++) {
                long double e = eta[i], m = mean_of((pboost_family)f, e);
                long double v = f == 1 ? m / (1.0L + expl(e)) : variance_of((pboost_family)f, e);
                assert_true(ulps(mean[i], m) < 4.0);
                assert_true(ulps(again[i], m) < 4.0);
                assert_true(ulps(variance[i], v) < 6.0);
                long double l = loss_of((pboost_family)f, e, y[i]);
                assert_true(fabsl(loss[i] - l) <= 1e-15L * (fabsl(l) + fabsl(e)));
            }
        }
    }
    pboost_simd_force(SIMD_AVX512);
}

static void extremes_are_carried_through(void **state)
{
    (void)state;
    double eta[5] = {NAN, INFINITY, -INFINITY, 800.0, -800.0}, mean[5];
    for (int level = 0; level < SIMD_LEVELS; level++) {
        pboost_simd_force((simd_level_t)level);
        pboost_family_kernels(PBOOST_LOGISTIC)->mean(mean, eta, 5);
        assert_true(isnan(mean[0]) && mean[1] == 1.0 && mean[2] == 0.0 && mean[3] == 1.0);
        pboost_family_kernels(PBOOST_POISSON)->mean(mean, eta, 5);
        assert_true(isnan(mean[0]) && isinf(mean[1]) && mean[2] == 0.0 && isinf(mean[3]));
        assert_true(mean[4] == 0.0);
    }
    pboost_simd_force(SIMD_AVX512);
}

/* Residuals where mean and label agree to many digits: mean - y would have none left. */
static void saturated_residuals_keep_their_digits(void **state)
{
    (void)state;
    double eta[4] = {40.0, -40.0, 300.0, -300.0}, y[4] = {1.0, 0.0, 1.0, 0.0}, r[4], c[4];
    for (int level = 0; level < SIMD_LEVELS; level++) {
        pboost_simd_force((simd_level_t)level);
        double sums[EVENT_SUMS] = {0};
        pboost_family_kernels(PBOOST_LOGISTIC)->event(sums, r, c, eta, y, NULL, 4);
        for (int i = 0; i < 4; i++) {
            long double expected = expl(-fabsl(eta[i])) / (1.0L + expl(-fabsl(eta[i])));
            assert_true(ulps(fabs(r[i]), expected) < 6.0);
        }
        assert_true(r[0] < 0.0 && r[1] > 0.0);
    }
    pboost_simd_force(SIMD_AVX512);
}

/* Sums over blocks of any length, weighted or not, equal the sum of single losses. */
static void sums_match_single_losses(void **state)
{
    (void)state;
    static double eta[GLM_BLOCK], y[GLM_BLOCK], w[GLM_BLOCK], r[GLM_BLOCK], c[GLM_BLOCK];
    test_rng rng = {2};
    for (int level = 0; level < SIMD_LEVELS; level++)
        for (int f = 0; f < 3; f++)
            for (size_t n = 1; n <= GLM_BLOCK; n += n < 20 ? 1 : 123)
                for (int weighted = 0; weighted < 2; weighted++) {
                    pboost_simd_force((simd_level_t)level);
                    long double expected = 0, size = 0;
                    for (size_t i = 0; i < n; i++) {
                        eta[i] = 0.5 * normal(&rng);
                        y[i] = uniform(&rng);
                        w[i] = uniform(&rng);
                        long double l = loss_of((pboost_family)f, eta[i], y[i]);
                        expected += (weighted ? w[i] : 1.0) * l;
                        size += fabsl(l) + 1;
                    }
                    const family_kernels *k = pboost_family_kernels((pboost_family)f);
                    const double *weight = weighted ? w : NULL;
                    assert_near(k->total(eta, y, weight, n), (double)expected,
                                1e-14 * (double)size);
                    double sums[EVENT_SUMS] = {1.0, 2.0, 3.0}, residuals = 2.0, curvatures = 3.0;
                    k->event(sums, r, c, eta, y, weight, n);
                    assert_near(sums[EVENT_LOSS], 1.0 + (double)expected, 1e-14 * (double)size);
                    for (size_t i = 0; i < n; i++) {
                        double u = weighted ? w[i] : 1.0;
                        assert_near(r[i], u * (double)(mean_of((pboost_family)f, eta[i]) - y[i]),
                                    1e-14);
                        residuals += r[i];
                        curvatures += c[i];
                        assert_near(c[i], u * (double)variance_of((pboost_family)f, eta[i]), 1e-14);
                    }
                    assert_near(sums[EVENT_RESIDUAL], residuals, 1e-12);
                    assert_near(sums[EVENT_CURVATURE], curvatures, 1e-12);
                }
    pboost_simd_force(SIMD_AVX512);
}

/* All factors of the product under the logarithm at their largest. */
static void the_product_does_not_overflow(void **state)
{
    (void)state;
    static double eta[GLM_BLOCK], y[GLM_BLOCK];
    assert_near(pboost_family_kernels(PBOOST_LOGISTIC)->total(eta, y, NULL, GLM_BLOCK),
                GLM_BLOCK * log(2.0), 1e-10);
}

static void coefficients(void **state)
{
    (void)state;
    pboost_coef coef;
    assert_int_equal(pboost_coef_init(&coef, 3, NULL), PBOOST_OK);
    assert_int_equal(coef.n, 3);
    assert_true(coef.theta[0] == 0.0 && coef.theta[2] == 0.0 && coef.intercept == 0.0);
    pboost_coef_free(&coef);
    assert_null(coef.theta);
    pboost_coef_free(&coef);
    pboost_coef_free(NULL);
    assert_int_equal(pboost_coef_init(&coef, SIZE_MAX / 2, NULL), PBOOST_NO_MEMORY);
    assert_null(coef.theta);
}

/* The integral of (y - t) / (v(t)/n + c), by Simpson's rule; with and without noise, and at the
 * ends of the range, where the logarithms are infinite but for a factor of 0. */
static void quasi_likelihoods_are_integrals(void **state)
{
    static const double answer[] = {0.0, 0.25, 1.0, -0.4, 1.7}, noise[] = {0.0, 1e-3, 2.0};
    (void)state;
    for (int f = 0; f < 3; f++)
        for (size_t i = 0; i < 15; i++) {
            const family_info *info = pboost_family_info((pboost_family)f);
            double y = answer[i % 5], c = noise[i / 5], n = 3.5, from = 0.15, to = 0.6;
            long double sum = 0.0L, step = (to - from) / 2000;
            for (int j = 0; j <= 2000; j++) {
                long double t = from + j * step;
                long double v = (long double)info->variance_at((double)t) / n + c;
                sum += (j == 0 || j == 2000 ? 1 : j % 2 ? 4 : 2) * (y - t) / v;
            }
            assert_near(info->quasi(y, from, to, n, c), (double)(sum * step / 3.0L), 1e-9);
            assert_near(info->quasi(y, to, from, n, c), -(double)(sum * step / 3.0L), 1e-9);
        }
    const family_info *logistic = pboost_family_info(PBOOST_LOGISTIC);
    assert_near(logistic->quasi(1.0, 0.5, 1.0, 1.0, 0.0), log(2.0), 1e-15);
    assert_near(logistic->quasi(0.0, 0.5, 0.0, 1.0, 0.0), log(2.0), 1e-15);
    assert_true(isinf(logistic->quasi(1.0, 0.5, 0.0, 1.0, 0.0)));
    assert_near(pboost_family_info(PBOOST_POISSON)->quasi(0.0, 0.5, 0.0, 2.0, 0.0), 1.0, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(labels_are_checked),
        cmocka_unit_test(what_is_no_family_has_no_labels),
        cmocka_unit_test(mean_link_and_variance_belong_together),
        cmocka_unit_test(quasi_likelihoods_are_integrals),
        cmocka_unit_test(means_and_moments_are_accurate),
        cmocka_unit_test(extremes_are_carried_through),
        cmocka_unit_test(saturated_residuals_keep_their_digits),
        cmocka_unit_test(sums_match_single_losses),
        cmocka_unit_test(the_product_does_not_overflow),
        cmocka_unit_test(coefficients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

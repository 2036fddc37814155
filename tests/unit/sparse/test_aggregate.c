/* The aggregate fit of sparse rows: that of the dense estimator where the ridge is given. */
#include "unit/sparse/support.h"

enum { FAMILIES = 3 };

static void compare(pboost_family family, size_t d, double noise, bool laplace, bool weighted)
{
    wide_table t;
    wide_open(&t, family, 3000, d, 5, d > 100, 3 + (uint64_t)family);
    pboost_fit_options o = wide_options(family, PBOOST_AGGREGATE, 2.0), dense = o;
    pboost_answers a = wide_answers(&t, 5, noise);
    a.other_noise = !laplace;
    if (weighted) {
        t.features.weight = t.weight;
        t.features.offset = t.offset;
    }
    pboost_features narrow = {t.matrix, t.features.weight, t.features.offset};
    size_t n = d + 1, column[] = {0, 3, d};
    double *covariance = calloc(n * n, sizeof *covariance), error[3];
    pboost_coef wide, other;
    pboost_fit_report report, expected;
    pboost_error err;
    o.tolerance = 1e-14;
    dense.tolerance = 1e-14;
    assert_ok(pboost_coef_init(&wide, d, &err), err);
    assert_ok(pboost_coef_init(&other, d, &err), err);
    assert_ok(pboost_wide_answers_fit(&wide, &report, &t.features, &a, 0, &o, &err), err);
    assert_ok(pboost_answers_fit(&other, &expected, covariance, &narrow, &a, 0, &dense, &err), err);
    assert_true(report.converged);
    /* With noise phi is in V, and it comes from the effective degrees of freedom: an estimate, if
     * there are many parameters. */
    bool exact = noise == 0.0 || family == PBOOST_LOGISTIC || d <= 30;
    double tolerance = exact ? 2e-6 : 2e-2;
    if (!(largest_difference(&wide, &other) < tolerance))
        fail_msg("family %d, %zu columns, noise %g: differs by %g", (int)family, d, noise,
                 largest_difference(&wide, &other));
    assert_int_equal(report.bags, expected.bags);
    assert_close(report.objective, expected.objective, exact ? 1e-6 : 1e-1);
    assert_close(report.freedom, expected.freedom, d <= 30 ? 1e-6 : 0.2);
    assert_close(report.dispersion, expected.dispersion, d <= 30 ? 1e-6 : 0.1);
    assert_close(report.eta_sd, expected.eta_sd, tolerance);
    assert_true(report.l2 == 2.0 && !report.l2_standardized);
    assert_false(report.worse_than_constant);
    assert_ok(
        pboost_wide_standard_errors(error, column, 3, &wide, &report, &t.features, &a, 0, &o, &err),
        err);
    for (size_t i = 0; i < 3; i++)
        assert_close(error[i], sqrt(covariance[column[i] * n + column[i]]), d <= 30 ? 1e-5 : 0.05);
    free(covariance);
    pboost_coef_free(&wide);
    pboost_coef_free(&other);
    pboost_answers_clear(&a);
    wide_close(&t);
}

static void test_it_is_the_dense_fit(void **state)
{
    (void)state;
    for (int f = 0; f < FAMILIES; f++) {
        pboost_family family = (pboost_family)f;
        compare(family, 12, 0.0, false, false);
        compare(family, 12, 0.0, false, true);
        compare(family, 12, 0.1, false, true);
        compare(family, 12, 0.1, true, true);
        compare(family, 12, 0.5, true, false);
        compare(family, 150, 0.0, false, true);
        compare(family, 150, 0.1, false, false);
    }
}

static void test_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { D = 200 };
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 20000, D, 8, true, 6);
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    pboost_answers a = wide_answers(&t, 20, 0.02);
    pboost_coef coef[3];
    pboost_fit_report report[3];
    pboost_error err;
    for (int i = 0; i < 3; i++) {
        o.threads = i + 1;
        assert_ok(pboost_coef_init(&coef[i], D, &err), err);
        assert_ok(pboost_wide_answers_fit(&coef[i], &report[i], &t.features, &a, 0, &o, &err), err);
        assert_true(report[i].converged);
        assert_memory_equal(coef[i].theta, coef[0].theta, D * sizeof(double));
        assert_true(coef[i].intercept == coef[0].intercept);
        assert_true(report[i].freedom == report[0].freedom && report[i].l2 == report[0].l2);
    }
    for (int i = 0; i < 3; i++)
        pboost_coef_free(&coef[i]);
    pboost_answers_clear(&a);
    wide_close(&t);
}

/* The error of a model's linear predictor, by the rows of the table. */
static double error_of(const wide_table *t, const pboost_coef *coef)
{
    double *mean = calloc(t->n, sizeof *mean), loss = 0.0;
    pboost_wide_samples s = {.x = &t->features.x, .n = t->n};
    pboost_error err;
    assert_ok(pboost_wide_predict(mean, PBOOST_LOGISTIC, &s, coef, 1, &err), err);
    for (size_t i = 0; i < t->n; i++)
        loss -= t->y[i] > 0.0 ? log(mean[i]) : log(1.0 - mean[i]);
    free(mean);
    return loss / (double)t->n;
}

/* Bags left out choose a ridge that is better than one that is far too strong or too weak, on rows
 * that no bag had. */
static void test_bags_left_out_choose_the_ridge(void **state)
{
    (void)state;
    enum { D = 600 };
    wide_table t, other;
    wide_open(&t, PBOOST_LOGISTIC, 12000, D, 8, true, 12);
    wide_open(&other, PBOOST_LOGISTIC, 12000, D, 8, true, 12);
    /* The first half teaches; the second, with the same weights, judges. */
    t.n = 6000;
    other.n = 6000;
    other.features.x.rows = 6000;
    other.features.x.start = other.start + 6000;
    memmove(other.y, other.y + 6000, 6000 * sizeof *other.y);
    pboost_answers a = wide_answers(&t, 4, 0.0);
    const double fixed[] = {0.0, 1e-2, 1e3};
    double loss[3];
    pboost_fit_report report;
    pboost_error err;
    for (size_t i = 0; i < 3; i++) {
        pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
        pboost_coef coef;
        if (i > 0)
            o.l2 = pboost_l2_fixed(fixed[i]);
        assert_ok(pboost_coef_init(&coef, D, &err), err);
        assert_ok(pboost_wide_answers_fit(&coef, &report, &t.features, &a, 0, &o, &err), err);
        loss[i] = error_of(&other, &coef);
        if (i == 0)
            assert_true(report.l2 > 0.05 && report.l2 < 200.0);
        pboost_coef_free(&coef);
    }
    assert_true(loss[0] < loss[1] && loss[0] < loss[2]);
    pboost_answers_clear(&a);
    wide_close(&t);
    wide_close(&other);
}

/* Where noise masks even the mean the model is constant, and says so. */
static void test_a_mean_that_noise_masks(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 400, 40, 5, true, 13);
    pboost_answers a = wide_answers(&t, 20, 30.0);
    const pboost_estimator estimator[] = {PBOOST_AGGREGATE, PBOOST_EVENT};
    for (size_t b = 0; b < a.n_bags; b++)
        a.mean[b] = -5.0;
    for (size_t i = 0; i < 2; i++) {
        pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
        pboost_coef coef;
        pboost_fit_report report;
        pboost_error err;
        o.estimator = estimator[i];
        assert_ok(pboost_coef_init(&coef, 40, &err), err);
        assert_ok(pboost_wide_answers_fit(&coef, &report, &t.features, &a, 0, &o, &err), err);
        assert_true(report.mean_masked && report.converged);
        assert_int_equal(report.estimator, estimator[i]);
        for (size_t j = 0; j < 40; j++)
            assert_true(coef.theta[j] == 0.0);
        pboost_coef_free(&coef);
    }
    pboost_answers_clear(&a);
    wide_close(&t);
}

static void test_a_cancel_leaves_coef_as_it_was(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 2000, 300, 8, true, 9);
    pboost_answers a = wide_answers(&t, 5, 0.0);
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    pboost_fit_report report;
    pboost_coef coef;
    pboost_error err;
    assert_ok(pboost_coef_init(&coef, 300, &err), err);
    size_t cancelled = 0;
    for (size_t most = 0;; most += 40) {
        look_limit limit = {0, most};
        pboost_cancel cancel = {runs_out, &limit, NULL};
        o.cancel = &cancel;
        coef.theta[7] = 0.25;
        pboost_status st = pboost_wide_answers_fit(&coef, &report, &t.features, &a, 0, &o, &err);
        if (st == PBOOST_OK)
            break;
        assert_int_equal(st, PBOOST_CANCELLED);
        assert_true(coef.theta[7] == 0.25 && coef.theta[8] == 0.0 && coef.intercept == 0.0);
        assert_false(report.converged);
        cancelled++;
    }
    assert_true(cancelled > 3);
    pboost_coef_free(&coef);
    pboost_answers_clear(&a);
    wide_close(&t);
}

/* A column that no row has: only the ridge says something about it. */
static void test_standard_errors_of_columns_without_entries(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LINEAR, 500, 20, 5, false, 14);
    t.features.x.cols = 25;
    pboost_answers a = wide_answers(&t, 5, 0.0);
    pboost_fit_options o = wide_options(PBOOST_LINEAR, PBOOST_AGGREGATE, 4.0);
    size_t column[] = {22, 25};
    double error[2];
    pboost_coef coef;
    pboost_fit_report report;
    pboost_error err;
    o.intercept = false;
    o.tolerance = 1e-12;
    assert_ok(pboost_coef_init(&coef, 25, &err), err);
    assert_ok(pboost_wide_answers_fit(&coef, &report, &t.features, &a, 0, &o, &err), err);
    assert_ok(
        pboost_wide_standard_errors(error, column, 2, &coef, &report, &t.features, &a, 0, &o, &err),
        err);
    assert_close(error[0], sqrt(report.dispersion / 4.0), 1e-12);
    assert_true(error[1] == 0.0 && coef.theta[22] == 0.0);
    pboost_coef_free(&coef);
    pboost_answers_clear(&a);
    wide_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_dense_fit),
        cmocka_unit_test(test_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_bags_left_out_choose_the_ridge),
        cmocka_unit_test(test_a_mean_that_noise_masks),
        cmocka_unit_test(test_a_cancel_leaves_coef_as_it_was),
        cmocka_unit_test(test_standard_errors_of_columns_without_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The event-level fit of sparse rows: that of the dense estimator. */
#include "unit/sparse/support.h"

enum { FAMILIES = 3 };

static void compare(pboost_family family, bool ones, bool intercept, size_t d)
{
    wide_table t;
    wide_open(&t, family, 900, d, 6, ones, 3 + (uint64_t)family);
    pboost_fit_options o = wide_options(family, PBOOST_EVENT, 0.7);
    o.intercept = intercept;
    size_t *row = calloc(t.n, sizeof *row);
    double *target = calloc(t.n, sizeof *target);
    for (size_t i = 0; i < t.n; i++) {
        row[i] = t.n - 1 - i;
        target[i] = t.y[row[i]];
    }
    pboost_wide_samples s = {&t.features.x, row, t.n, target, t.weight, t.offset};
    pboost_samples dense = {&t.matrix, row, t.n, target, t.weight, t.offset};
    pboost_coef a, b;
    pboost_fit_report wide, narrow;
    pboost_error err;
    assert_ok(pboost_coef_init(&a, d, &err), err);
    assert_ok(pboost_coef_init(&b, d, &err), err);
    assert_ok(pboost_wide_event_fit(&a, &wide, &s, &o, &err), err);
    assert_ok(pboost_event_fit(&b, &narrow, &dense, &o, &err), err);
    assert_true(wide.converged);
    assert_true(largest_difference(&a, &b) < 1e-8);
    assert_close(wide.objective, narrow.objective, 1e-12);
    assert_close(wide.l2, 0.7, 0.0);

    /* Predictions are those of the dense model too; floats that are exact change nothing. */
    double *mean = calloc(2 * t.n, sizeof *mean);
    assert_ok(pboost_wide_predict(mean, family, &s, &b, 2, &err), err);
    assert_ok(pboost_predict(mean + t.n, family, &dense, &b, 2, &err), err);
    for (size_t i = 0; i < t.n; i++)
        assert_close(mean[i], mean[t.n + i], 1e-12);
    free(mean);
    free(row);
    free(target);
    pboost_coef_free(&a);
    pboost_coef_free(&b);
    wide_close(&t);
}

static void test_it_is_the_dense_fit(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILIES; family++) {
        compare((pboost_family)family, false, true, 20);
        compare((pboost_family)family, true, true,
                200); /* more than the exact part of the solver */
        compare((pboost_family)family, false, false, 150);
    }
}

/* Values of 1 that are stored, as floats, and that are not stored; offsets of both sizes; rows of a
 * larger matrix. */
static void test_all_forms_of_a_matrix_are_one(void **state)
{
    (void)state;
    enum { D = 150 };
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 800, D, 6, true, 5);
    pboost_fit_options o = wide_options(PBOOST_LOGISTIC, PBOOST_EVENT, 1.0);
    size_t entries = t.start[t.n];
    float *narrow = calloc(entries, sizeof *narrow);
    uint64_t *start = calloc(t.n + 1, sizeof *start);
    for (size_t p = 0; p < entries; p++)
        narrow[p] = 1.0F;
    for (size_t i = 0; i <= t.n; i++)
        start[i] = t.start[i];
    pboost_sparse x = t.features.x, form[4] = {x, x, x, x};
    form[1].value = narrow;
    form[1].type = PBOOST_F32;
    form[2].value = NULL;
    form[3].start = start;
    form[3].start_bytes = 8;
    pboost_coef coef[5];
    pboost_error err;
    for (size_t f = 0; f < 4; f++) {
        pboost_wide_samples s = {.x = &form[f], .n = t.n, .target = t.y};
        assert_ok(pboost_coef_init(&coef[f], D, &err), err);
        assert_ok(pboost_wide_event_fit(&coef[f], NULL, &s, &o, &err), err);
        assert_true(largest_difference(&coef[f], &coef[0]) == 0.0);
    }
    /* Rows 100 .. of a matrix are a matrix, with the same numbers as rows chosen by number. */
    size_t row[700];
    for (size_t i = 0; i < 700; i++)
        row[i] = 100 + i;
    pboost_sparse part = x;
    part.rows = 700;
    part.start = t.start + 100;
    pboost_wide_samples all = {.x = &x, .row = row, .n = 700, .target = t.y + 100};
    pboost_wide_samples some = {.x = &part, .n = 700, .target = t.y + 100};
    assert_ok(pboost_coef_init(&coef[4], D, &err), err);
    assert_ok(pboost_wide_event_fit(&coef[4], NULL, &all, &o, &err), err);
    memset(coef[0].theta, 0, D * sizeof(double));
    coef[0].intercept = 0.0;
    assert_ok(pboost_wide_event_fit(&coef[0], NULL, &some, &o, &err), err);
    assert_true(largest_difference(&coef[4], &coef[0]) == 0.0);
    for (size_t f = 0; f < 5; f++)
        pboost_coef_free(&coef[f]);
    free(narrow);
    free(start);
    wide_close(&t);
}

/* Without a ridge the columns of a category and the intercept determine each other: any of the
 * minimisers will do. */
static void test_categories_need_no_ridge(void **state)
{
    (void)state;
    enum { ROWS = 600, LEVELS = 150, D = LEVELS + 4 };
    uint32_t start[ROWS + 1] = {0}, column[2 * ROWS];
    double y[ROWS], *dense = calloc((size_t)ROWS * D, sizeof *dense);
    test_rng rng = {17};
    for (uint32_t i = 0; i < ROWS; i++) {
        column[2 * i] = i % LEVELS;
        column[2 * i + 1] = LEVELS + i % 4;
        dense[i * D + column[2 * i]] = dense[i * D + column[2 * i + 1]] = 1.0;
        start[i + 1] = 2 * (i + 1);
        y[i] = normal(&rng) + (double)(i % 4);
    }
    pboost_sparse x = {ROWS, D, start, 4, PBOOST_F64, column, NULL};
    pboost_matrix matrix = pboost_matrix_f64(dense, ROWS, D);
    pboost_wide_samples s = {.x = &x, .n = ROWS, .target = y};
    pboost_samples other = {.x = &matrix, .n = ROWS, .target = y};
    pboost_fit_options o = wide_options(PBOOST_LINEAR, PBOOST_EVENT, 0.0);
    pboost_coef coef;
    pboost_fit_report report, expected;
    pboost_error err;
    o.tolerance = 1e-12;
    assert_ok(pboost_coef_init(&coef, D, &err), err);
    assert_ok(pboost_wide_event_fit(&coef, &report, &s, &o, &err), err);
    memset(coef.theta, 0, D * sizeof(double));
    assert_ok(pboost_event_fit(&coef, &expected, &other, &o, &err), err);
    assert_true(report.converged);
    assert_close(report.objective, expected.objective, 1e-9);
    free(dense);
    pboost_coef_free(&coef);
}

static void test_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { D = 200 };
    wide_table t;
    wide_open(&t, PBOOST_POISSON, 20000, D, 8, false, 6);
    pboost_fit_options o = wide_options(PBOOST_POISSON, PBOOST_EVENT, 1.0);
    pboost_wide_samples s = {&t.features.x, NULL, t.n, t.y, t.weight, t.offset};
    pboost_coef coef[3];
    pboost_error err;
    o.tolerance = 1e-9;
    for (int i = 0; i < 3; i++) {
        pboost_fit_report report;
        o.threads = i + 1;
        assert_ok(pboost_coef_init(&coef[i], D, &err), err);
        assert_ok(pboost_wide_event_fit(&coef[i], &report, &s, &o, &err), err);
        assert_true(report.converged);
        assert_memory_equal(coef[i].theta, coef[0].theta, D * sizeof(double));
        assert_true(coef[i].intercept == coef[0].intercept);
    }
    for (int i = 0; i < 3; i++)
        pboost_coef_free(&coef[i]);
    wide_close(&t);
}

/* A column without entries has weight 0, and a matrix without any entry has an intercept. */
static void test_empty_columns_have_no_weight(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 300, 10, 3, true, 8);
    pboost_sparse x = t.features.x;
    x.cols = 1000000;
    pboost_fit_options o = wide_options(PBOOST_LOGISTIC, PBOOST_EVENT, 1.0);
    pboost_wide_samples s = {.x = &x, .n = t.n, .target = t.y};
    pboost_coef coef;
    pboost_fit_report report;
    pboost_error err;
    assert_ok(pboost_coef_init(&coef, x.cols, &err), err);
    for (size_t j = 10; j < x.cols; j++)
        coef.theta[j] = 3.0;
    assert_ok(pboost_wide_event_fit(&coef, &report, &s, &o, &err), err);
    assert_int_equal(report.rank, 10);
    assert_true(coef.theta[0] != 0.0 && coef.theta[10] == 0.0 && coef.theta[999999] == 0.0);
    uint32_t *none = calloc(t.n + 1, sizeof *none);
    x.start = none;
    double mean = 0.0;
    for (size_t i = 0; i < t.n; i++)
        mean += t.y[i] / (double)t.n;
    assert_ok(pboost_wide_event_fit(&coef, &report, &s, &o, &err), err);
    assert_close(coef.intercept, log(mean / (1.0 - mean)), 1e-9);
    o.intercept = false;
    assert_ok(pboost_wide_event_fit(&coef, &report, &s, &o, &err), err);
    assert_true(coef.intercept == 0.0 && report.converged);
    free(none);
    pboost_coef_free(&coef);
    wide_close(&t);
}

static void test_a_cancel_leaves_coef_as_it_was(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 2000, 300, 8, true, 9);
    pboost_fit_options o = wide_options(PBOOST_LOGISTIC, PBOOST_EVENT, 0.1);
    pboost_wide_samples s = {.x = &t.features.x, .n = t.n, .target = t.y};
    pboost_coef coef;
    pboost_error err;
    assert_ok(pboost_coef_init(&coef, 300, &err), err);
    coef.theta[7] = 0.25;
    size_t cancelled = 0;
    for (size_t most = 0;; most += 3) {
        look_limit limit = {0, most};
        pboost_cancel cancel = {runs_out, &limit, NULL};
        o.cancel = &cancel;
        pboost_status st = pboost_wide_event_fit(&coef, NULL, &s, &o, &err);
        if (st == PBOOST_OK)
            break;
        assert_int_equal(st, PBOOST_CANCELLED);
        assert_true(coef.theta[7] == 0.25 && coef.theta[8] == 0.0 && coef.intercept == 0.0);
        cancelled++;
    }
    assert_true(cancelled > 3);
    pboost_coef_free(&coef);
    wide_close(&t);
}

static void test_what_has_no_minimiser_is_refused(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 100, 10, 3, true, 10);
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = 1.0;
    pboost_fit_options o = wide_options(PBOOST_LOGISTIC, PBOOST_EVENT, 1.0);
    pboost_wide_samples s = {.x = &t.features.x, .n = t.n, .target = t.y};
    pboost_coef coef;
    pboost_error err;
    assert_ok(pboost_coef_init(&coef, 10, &err), err);
    assert_fails(pboost_wide_event_fit(&coef, NULL, &s, &o, &err), PBOOST_BAD_DATA, err,
                 "no finite minimiser");
    o.family = PBOOST_LINEAR;
    t.y[0] = 1e200;
    assert_fails(pboost_wide_event_fit(&coef, NULL, &s, &o, &err), PBOOST_BAD_DATA, err,
                 "the sum of losses overflows");
    pboost_coef_free(&coef);
    wide_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_dense_fit),
        cmocka_unit_test(test_all_forms_of_a_matrix_are_one),
        cmocka_unit_test(test_categories_need_no_ridge),
        cmocka_unit_test(test_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_empty_columns_have_no_weight),
        cmocka_unit_test(test_a_cancel_leaves_coef_as_it_was),
        cmocka_unit_test(test_what_has_no_minimiser_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Wrong sparse matrices and options: what is said about them. */
#include "unit/sparse/support.h"

static void test_bad_matrices_are_named(void **state)
{
    (void)state;
    uint32_t start[] = {0, 2, 2, 5}, column[] = {1, 3, 0, 2, 3};
    double value[] = {1, 2, 3, 4, 5};
    pboost_sparse x = {3, 4, start, 4, PBOOST_F64, column, value};
    pboost_error err;
    assert_ok(pboost_sparse_check(&x, 1, &err), err);
    column[3] = 4;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_BAD_DATA, err,
                 "row 2, position 1: the column is 4, but the matrix has 4 columns, from 0 to 3");
    column[3] = 0;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_BAD_DATA, err,
                 "row 2, position 1: column 0 is there a second time");
    column[3] = 3;
    column[4] = 2;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_BAD_DATA, err,
                 "row 2, position 2: column 2 comes after column 3");
    column[3] = 2;
    column[4] = 3;
    value[4] = NAN;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_BAD_DATA, err,
                 "row 2, position 2: the value of column 3 is nan");
    float narrow[] = {1, INFINITY, 3, 4, 5};
    x.value = narrow;
    x.type = PBOOST_F32;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_BAD_DATA, err,
                 "row 0, position 1: the value of column 3 is inf");
    x.value = NULL; /* every entry is 1 */
    assert_ok(pboost_sparse_check(&x, 1, &err), err);
    start[1] = 3;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_BAD_DATA, err,
                 "row 1 starts at entry 3 and ends at entry 2");
    start[1] = 2;
    x.start_bytes = 2;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_INVALID, err, "start_bytes is 2");
    x.start_bytes = 4;
    x.column = NULL;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_INVALID, err, "no column numbers");
    x.column = column;
    x.start = NULL;
    assert_fails(pboost_sparse_check(&x, 1, &err), PBOOST_INVALID, err, "no offsets");
    x.start = start;
    assert_fails(pboost_sparse_check(&x, -1, &err), PBOOST_INVALID, err, "threads is -1");
}

/* The first bad row is named, whatever the number of threads. */
static void test_the_first_bad_row_is_named(void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    uint64_t *start = calloc(ROWS + 1, sizeof *start);
    uint32_t *column = calloc(ROWS, sizeof *column);
    pboost_sparse x = {ROWS, 10, start, 8, PBOOST_F64, column, NULL};
    pboost_error err;
    for (size_t i = 0; i < ROWS; i++)
        start[i + 1] = i + 1;
    column[20001] = column[30000] = column[99999] = 10;
    for (int threads = 1; threads <= 4; threads++)
        assert_fails(pboost_sparse_check(&x, threads, &err), PBOOST_BAD_DATA, err, "row 20001,");
    free(start);
    free(column);
}

static void test_bad_samples_and_options_are_named(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 60, 8, 3, true, 1);
    pboost_fit_options o = wide_options(PBOOST_LOGISTIC, PBOOST_EVENT, 1.0);
    pboost_answers a = wide_answers(&t, 5, 0.0);
    pboost_wide_samples s = {.x = &t.features.x, .n = t.n, .target = t.y};
    pboost_coef coef, narrow;
    pboost_error err;
    double mean[60], error;
    size_t row[] = {1, 60};
    assert_ok(pboost_coef_init(&coef, 8, &err), err);
    assert_ok(pboost_coef_init(&narrow, 7, &err), err);

    assert_fails(pboost_wide_event_fit(&narrow, NULL, &s, &o, &err), PBOOST_INVALID, err,
                 "there are 7 coefficients for 8 columns");
    assert_fails(pboost_wide_predict(mean, PBOOST_LOGISTIC, &s, &narrow, 1, &err), PBOOST_INVALID,
                 err, "there are 7 coefficients for 8 columns");
    s.row = row;
    s.n = 2;
    assert_fails(pboost_wide_predict(mean, PBOOST_LOGISTIC, &s, &coef, 1, &err), PBOOST_INVALID,
                 err, "sample 1 is row 60 of a table of 60 rows");
    s.row = NULL;
    s.n = t.n;
    t.y[3] = INFINITY;
    assert_fails(pboost_wide_event_fit(&coef, NULL, &s, &o, &err), PBOOST_BAD_DATA, err,
                 "the target of sample 3 (row 3) is inf");
    t.y[3] = 0.0;
    t.offset[9] = NAN;
    s.offset = t.offset;
    assert_fails(pboost_wide_event_fit(&coef, NULL, &s, &o, &err), PBOOST_BAD_DATA, err,
                 "the offset of row 9 is nan");
    s.offset = NULL;
    coef.theta[5] = NAN;
    assert_fails(pboost_wide_predict(mean, PBOOST_LOGISTIC, &s, &coef, 1, &err), PBOOST_BAD_DATA,
                 err, "the weight of column 5 is nan");
    coef.theta[5] = 0.0;
    assert_fails(pboost_wide_event_fit(&coef, NULL, &s, &(pboost_fit_options){0}, &err),
                 PBOOST_INVALID, err, "struct_size is 0");
    o.estimator = PBOOST_INTERPOLATED;
    assert_fails(pboost_wide_answers_fit(&coef, NULL, &t.features, &a, 0, &o, &err), PBOOST_INVALID,
                 err,
                 "the estimator is interpolated; sparse data are fitted by event or aggregate");
    o.estimator = PBOOST_AGGREGATE;
    assert_fails(pboost_wide_event_fit(&coef, NULL, &s, &o, &err), PBOOST_INVALID, err,
                 "the estimator is aggregate, but this fits by event");
    assert_fails(pboost_wide_answers_fit(&coef, NULL, &t.features, &a, 12, &o, &err),
                 PBOOST_BAD_DATA, err, "there are no bags to fit");
    o.bag_effects = true;
    assert_fails(pboost_wide_answers_fit(&coef, NULL, &t.features, &a, 0, &o, &err), PBOOST_INVALID,
                 err, "without bag_effects");
    o.bag_effects = false;
    o.covariance = PBOOST_COVARIANCE_SANDWICH;
    assert_fails(pboost_wide_answers_fit(&coef, NULL, &t.features, &a, 0, &o, &err), PBOOST_INVALID,
                 err, "no sandwich covariance");
    o.covariance = PBOOST_COVARIANCE_MODEL;
    o.curves = 2;
    assert_fails(pboost_wide_answers_fit(&coef, NULL, &t.features, &a, 0, &o, &err), PBOOST_INVALID,
                 err, "2 columns of curves");
    o.curves = 0;
    a.rounded = true;
    assert_fails(pboost_wide_answers_fit(&coef, NULL, &t.features, &a, 0, &o, &err), PBOOST_INVALID,
                 err, "the answers are rounded");
    a.rounded = false;
    size_t row_of_second = a.row[a.start[1]];
    a.row[a.start[1]] = a.row[0];
    assert_fails(pboost_wide_answers_fit(&coef, NULL, &t.features, &a, 0, &o, &err), PBOOST_INVALID,
                 err, "a row is in more than one bag");
    a.row[a.start[1]] = row_of_second;
    pboost_fit_report report;
    assert_ok(pboost_wide_answers_fit(&coef, &report, &t.features, &a, 0, &o, &err), err);
    assert_fails(pboost_wide_standard_errors(&error, &(size_t){9}, 1, &coef, &report, &t.features,
                                             &a, 0, &o, &err),
                 PBOOST_INVALID, err, "column 9 is asked for, but there are 8");
    report.estimator = PBOOST_EVENT;
    assert_fails(pboost_wide_standard_errors(&error, &(size_t){1}, 1, &coef, &report, &t.features,
                                             &a, 0, &o, &err),
                 PBOOST_INVALID, err, "the fit is by event");
    pboost_coef_free(&coef);
    pboost_coef_free(&narrow);
    pboost_answers_clear(&a);
    wide_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_matrices_are_named),
        cmocka_unit_test(test_the_first_bad_row_is_named),
        cmocka_unit_test(test_bad_samples_and_options_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

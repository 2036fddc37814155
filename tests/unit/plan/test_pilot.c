/* What a first round teaches the planner. */
#include "plan_support.h"

#include "fit/estimator.h"

/* Answers of a model that is off by a known amount. */
static void test_learning(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_LINEAR, 32768, 0);
    pboost_samples samples = {.x = &t.matrix, .n = t.n};
    pboost_bags bags;
    pboost_answers answers = {0};
    pboost_assumptions assumed = {NULL, NAN, NAN, NAN};
    pboost_coef coef = {FEATURES, t.theta, 0.0};
    assert_ok(pboost_bags_features(&bags, &samples, 16, 1, NULL, &err), err);
    double *mean = calloc(bags.n_bags, sizeof *mean);
    for (int wrong = 0; wrong < 2; wrong++) {
        for (size_t b = 0; b < bags.n_bags; b++) {
            double size = (double)(bags.start[b + 1] - bags.start[b]);
            mean[b] = wrong * (b / 64 % 2 == 0 ? 0.5 : -0.5);
            for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
                mean[b] += t.y[bags.row[i]] / size;
        }
        assert_ok(pboost_answers_append(&answers, &bags, mean, NULL, &err), err);
        assert_ok(pboost_assumptions_learn(&assumed, PBOOST_LINEAR, PLAIN(t.matrix), &answers,
                                           &coef, 1, &err),
                  err);
        assert_true(assumed.dispersion > 0.8 && assumed.dispersion < 1.25);
        assert_close(assumed.model_error, wrong * 0.25, 0.03);
        pboost_answers_clear(&answers);
        answers = (pboost_answers){0};
    }
    free(mean);
    pboost_bags_free(&bags);
    free_table(&t);
}

/* Answers about rows that the table does not have, a model of other columns, one that overflows. */
static void test_learning_refuses(void **state)
{
    (void)state;
    pboost_error err;
    pboost_assumptions assumed = {NULL, NAN, NAN, NAN};
    pboost_answers log = {0};
    double x[32], mean[16], theta[3] = {0.1, 0.2, 0.3};
    size_t row[32], start[17];
    pboost_bags bags = {32, 16, row, start};
    for (size_t i = 0; i < 32; i++) {
        x[i] = (double)(i % 5);
        row[i] = i / 2;
    }
    for (size_t b = 0; b <= 16; b++)
        start[b] = 2 * b;
    for (size_t b = 0; b < 16; b++)
        mean[b] = 1.0;
    row[31] = 16;
    pboost_matrix m = pboost_matrix_f64(x, 16, 2);
    pboost_coef coef = {2, theta, 0.0};
    assert_ok(pboost_answers_append(&log, &bags, mean, NULL, &err), err);
    assert_fails(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
                 PBOOST_INVALID, err, "row 16 of a table of 16 rows");
    log.row[31] = 15;
    coef.n = 3;
    assert_fails(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
                 PBOOST_INVALID, err, "3 coefficients for 2 columns");
    coef.n = 2;
    theta[0] = 300.0;
    assert_fails(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
                 PBOOST_BAD_DATA, err, "predictions overflow");
    assert_true(isnan(assumed.dispersion) && isnan(assumed.model_error));
    theta[0] = 0.1;
    assert_ok(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
              err);
    assert_true(assumed.dispersion >= 1.0);

    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    fit.estimator = PBOOST_INTERPOLATED;
    assert_fails(pboost_interpolated_fit(&coef, NULL, PLAIN(m), &log, 17, &fit, &err),
                 PBOOST_INVALID, err, "the first bag is 17 of 16");
    pboost_answers_clear(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_learning_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whichever allocation fails while bags are fitted: the call says so, the coefficients are those
 * before it, nothing leaks (under the address sanitizer). */
#include "testing.h"

#include "data/answers.h"
#include "fault/inject.h"

enum { ROWS = 120, COLS = 3, SIZE = 4 };

/* A bag of all rows. */
static void append_total(pboost_answers *answers, size_t *row)
{
    size_t start[] = {0, ROWS};
    double mean = 0.0;
    for (size_t b = 0; b < ROWS / SIZE; b++)
        mean += answers->mean[b] / (ROWS / SIZE);
    pboost_bags all = {ROWS, 1, row, start};
    assert_int_equal(pboost_answers_append(answers, &all, &mean, NULL, NULL), PBOOST_OK);
}

static void fitting_bags_may_run_out_of_memory(void **state)
{
    (void)state;
    double x[ROWS * COLS], mean[ROWS / SIZE], covariance[16];
    size_t row[ROWS], start[ROWS / SIZE + 1];
    for (size_t i = 0; i < ROWS * COLS; i++)
        x[i] = (double)(i * 7919 % 101) / 50.0 - 1.0;
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
    for (size_t b = 0; b <= ROWS / SIZE; b++)
        start[b] = b * SIZE;
    for (size_t b = 0; b < ROWS / SIZE; b++)
        mean[b] = 0.2 + (double)(b * 31 % 17) / 40.0;
    pboost_bags bags = {ROWS, ROWS / SIZE, row, start};
    pboost_matrix matrix = pboost_matrix_f64(x, ROWS, COLS);
    pboost_answers answers = {0};
    pboost_error err = {0};
    assert_ok(pboost_answers_append(&answers, &bags, mean, NULL, &err), err);

    for (int kind = 0; kind < 7; kind++) {
        pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
        o.family = PBOOST_POISSON;
        o.estimator = kind == 3   ? PBOOST_INTERPOLATED
                      : kind == 4 ? PBOOST_EVENT
                      : kind == 5 ? PBOOST_ESTIMATOR_CV
                                  : PBOOST_AGGREGATE;
        o.l2.mode = kind == 1 ? PBOOST_L2_CV : PBOOST_L2_AUTO;
        o.covariance = kind == 2 ? PBOOST_COVARIANCE_SANDWICH : PBOOST_COVARIANCE_MODEL;
        answers.noise_variance[0] = kind == 2 || kind == 6 ? 0.01 : 0.0;
        for (int twice = 0; kind == 6 && twice < 2; twice++) /* share rows; one is redundant */
            append_total(&answers, row);
        long n = 1;
        for (; n == 1 || injected(); n++) {
            pboost_coef coef;
            assert_ok(pboost_coef_init(&coef, COLS, &err), err);
            inject_allocation(n);
            pboost_status st =
                pboost_answers_fit(&coef, NULL, covariance, PLAIN(matrix), &answers, 0, &o, &err);
            inject_nothing();
            if (injected()) {
                assert_int_equal(st, PBOOST_NO_MEMORY);
                assert_true(coef.theta[0] == 0.0 && coef.intercept == 0.0);
            } else {
                assert_ok(st, err);
                assert_true(coef.intercept != 0.0);
            }
            pboost_coef_free(&coef);
        }
        assert_true(n > 4);
    }
    pboost_answers_clear(&answers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fitting_bags_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

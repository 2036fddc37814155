/* Whichever allocation fails while a mixture is fitted: the call says so, there is no mixture,
 * nothing leaks (under the address sanitizer). */
#include "testing.h"

#include "fault/inject.h"

enum { ROWS = 240, COLS = 2, BAG = 10, CURVE = 4 };

static void fitting_may_run_out_of_memory(void **state)
{
    (void)state;
    static double number[ROWS * COLS], x[ROWS * (COLS + CURVE)], mean[ROWS / BAG];
    static size_t row[ROWS], start[ROWS / BAG + 1];
    pboost_error err = {0};
    pboost_curve curve;
    pboost_answers *answers;
    pboost_bags bags = {ROWS, ROWS / BAG, row, start};
    pboost_column column[COLS];

    for (size_t i = 0; i < ROWS; i++) {
        row[i] = i;
        number[2 * i] = (double)i / ROWS;
        number[2 * i + 1] = (double)(i * 7919 % 101) / 101.0;
        mean[i / BAG] += (fabs(number[2 * i] - 0.5) + 0.1 * number[2 * i + 1]) / BAG;
    }
    for (size_t b = 0; b <= ROWS / BAG; b++)
        start[b] = b * BAG;
    assert_ok(pboost_curve_learn(&curve, number, COLS, ROWS, CURVE, 1, &err), err);
    size_t cols = COLS + curve.n;
    for (size_t i = 0; i < ROWS; i++)
        memcpy(x + i * cols, number + i * COLS, COLS * sizeof *x);
    pboost_curve_apply(x + COLS, (ptrdiff_t)cols, &curve, number, COLS, ROWS);
    for (size_t j = 0; j < COLS; j++)
        column[j] = (pboost_column){.number = number + j, .stride = COLS};
    pboost_columns columns = {ROWS, COLS, column};
    pboost_features features = {.x = pboost_matrix_f64(x, ROWS, cols)};
    pboost_mixture_options o = PBOOST_MIXTURE_OPTIONS_INIT;
    o.fit.curves = curve.n;
    o.forest.max_trees = 2;
    o.forest.min_rows = 20;
    assert_ok(pboost_answers_create(&answers, &err), err);
    assert_ok(pboost_answers_append(answers, &bags, mean, NULL, &err), err);
    long n = 1;
    for (; n == 1 || injected(); n++) {
        pboost_mixture mixture;
        pboost_mixture_report report;
        inject_allocation(n);
        pboost_status st =
            pboost_mixture_fit(&mixture, &report, &features, &columns, answers, 0, &o, &err);
        inject_nothing();
        if (injected()) {
            assert_int_equal(st, PBOOST_NO_MEMORY);
            assert_true(mixture.n == 0 && mixture.member == NULL);
        } else {
            assert_ok(st, err);
            assert_true(mixture.n > 1);
        }
        pboost_mixture_free(&mixture);
    }
    assert_true(n > 200);
    pboost_answers_free(answers);
    pboost_curve_free(&curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fitting_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

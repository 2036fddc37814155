/* Whichever allocation fails while bags are made from features: the call says so, there are no
 * bags, nothing leaks (under the address sanitizer). */
#include "testing.h"

#include "fault/inject.h"

enum { ROWS = 9001, COLS = 3, MIN_BAG = 1500 }; /* the first node is cut by a sample of its rows */

static void making_bags_may_run_out_of_memory(void **state)
{
    (void)state;
    static double x[ROWS * COLS], score[ROWS];
    pboost_error err = {0};
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        x[i] = (double)(i * 7919 % 10007) / 5000.0 - 1.0;
    for (size_t i = 0; i < ROWS; i++)
        score[i] = (double)(i * 31 % 101) / 101.0;
    pboost_matrix matrix = pboost_matrix_f64(x, ROWS, COLS);
    pboost_samples samples = {.x = &matrix, .n = ROWS};
    for (int hybrid = 0; hybrid < 2; hybrid++) {
        long n = 1;
        for (; n == 1 || injected(); n++) {
            pboost_bags bags;
            inject_allocation(n);
            pboost_status st = hybrid
                                   ? pboost_bags_hybrid(&bags, &samples, PBOOST_LOGISTIC, score,
                                                        MIN_BAG, 1, NULL, &err)
                                   : pboost_bags_features(&bags, &samples, MIN_BAG, 1, NULL, &err);
            inject_nothing();
            if (injected()) {
                assert_int_equal(st, PBOOST_NO_MEMORY);
                assert_true(bags.row == NULL && bags.start == NULL && bags.n_bags == 0);
            } else {
                assert_ok(st, err);
                assert_int_equal(bags.n_bags, ROWS / MIN_BAG);
            }
            pboost_bags_free(&bags);
        }
        assert_true(n > 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(making_bags_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whichever allocation fails while a forest is fitted: the call says so, there is no forest,
 * nothing leaks (under the address sanitizer). */
#include "testing.h"

#include "fault/inject.h"
#include "unit/trees/support.h"

static void a_fit_may_run_out_of_memory(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_POISSON, 600, 31);
    pboost_answers a = curve_answers(&t, 6, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_POISSON);
    pboost_error err = {0};
    long n = 1;
    o.max_trees = 20;
    o.folds = 3;
    for (; n == 1 || injected(); n++) {
        pboost_forest forest;
        double intercept;
        inject_allocation(n);
        pboost_status st = pboost_forest_fit(&forest, &intercept, NULL, NULL, &t.columns, NULL,
                                             NULL, &a, 0, &o, &err);
        inject_nothing();
        if (injected()) {
            assert_int_equal(st, PBOOST_NO_MEMORY);
            assert_true(forest.node == NULL && forest.n_trees == 0);
        } else {
            assert_ok(st, err);
            assert_true(forest.n_trees > 0);
        }
        pboost_forest_free(&forest);
    }
    assert_true(n > 60);
    pboost_answers_clear(&a);
    curve_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fit_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whichever allocation fails while a plan is made, with its costs and its target: the call says so,
 * there is no plan, nothing leaks (under the address sanitizer). */
#include "testing.h"

#include "fault/inject.h"

enum { ROWS = 400, COLS = 2 };

static void making_a_plan_may_run_out_of_memory(void **state)
{
    (void)state;
    static double x[ROWS * COLS];
    pboost_error err = {0};
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    const pboost_rational more[] = {{0, 0}};
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        x[i] = (double)(i * 7919 % 10007) / 5000.0 - 1.0;
    o.family = PBOOST_LOGISTIC;
    o.rules.min_bag = 8;
    o.rules.bounded = true;
    o.rules.upper = 1.0;
    o.rules.epsilon = (pboost_rational){1, 1};
    o.epsilon = more;
    o.n_epsilon = 1;
    o.brief = o.costs = true;
    o.target = 0.05;
    o.threads = 1;
    long n = 1, tried = 0;
    for (; n == 1 || injected(); n += 1 + n / 100, tried++) { /* all of the first, then some */
        pboost_plan plan;
        inject_allocation(n);
        pboost_status st =
            pboost_plan_make(&plan, PLAIN(pboost_matrix_f64(x, ROWS, COLS)), &o, &err);
        inject_nothing();
        if (injected()) {
            assert_int_equal(st, PBOOST_NO_MEMORY);
            assert_true(plan.point == NULL && plan.se == NULL && plan.cost == NULL);
        } else {
            assert_ok(st, err);
            assert_int_equal(plan.n_costs, 2);
        }
        pboost_plan_free(&plan);
    }
    assert_true(tried > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(making_a_plan_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

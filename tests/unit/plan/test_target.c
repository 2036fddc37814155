/* The smallest epsilon and the number of rows that reach a target: a plan made for them reaches it,
 * and one made for less does not. */
#include "plan_support.h"

enum { ROWS = 8192, MOST_ROWS = 200000 };

static pboost_plan make(pboost_plan_options o, const table *t, size_t n)
{
    pboost_error err;
    pboost_plan plan;
    pboost_matrix x = pboost_matrix_f64(t->x, n, FEATURES);
    o.costs = true;
    assert_ok(pboost_plan_make(&plan, PLAIN(x), &o, &err), err);
    return plan;
}

static double gap_at(pboost_plan_options o, const table *t, size_t n, double epsilon)
{
    pboost_error err;
    char text[32];
    o.target = 0.0;
    if (epsilon > 0.0) {
        snprintf(text, sizeof text, "%.6g", epsilon);
        assert_ok(pboost_rational_parse(&o.rules.epsilon, text, &err), err);
    }
    pboost_plan plan = make(o, t, n);
    double gap = 1.0 - plan.cost[0].kept;
    pboost_plan_free(&plan);
    return gap;
}

static void test_epsilon(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        table t = make_table((pboost_family)family, ROWS, 0);
        pboost_plan_options o = plan_options((pboost_family)family, NULL, 16);
        o.target = 0.05;
        pboost_plan plan = make(o, &t, ROWS);
        double least = plan.least_epsilon;
        assert_true(least > 0.001 && least < 1000.0);
        double step = pow(10.0, floor(log10(least * 1.0001)) - 1.0); /* of the second digit */
        assert_close(fmod(least / step + 0.5, 1.0), 0.5, 1e-6);
        assert_true(gap_at(o, &t, ROWS, least) <= 0.05);
        assert_true(gap_at(o, &t, ROWS, least - step) > 0.05);
        pboost_plan_free(&plan);
        free_table(&t);
    }
}

/* More rows than the table has, and fewer.  The number has two digits and is rounded up. */
static void test_rows(void **state)
{
    (void)state;
    int fewer = 0, more = 0;
    for (int family = 0; family < 3; family++) {
        table t = make_table((pboost_family)family, MOST_ROWS, 0);
        pboost_coef truth = {FEATURES, t.theta, 0.0};
        static const char *const EPSILON[] = {"0.1", "5"};
        for (int e = 0; e < 2; e++) {
            pboost_plan_options o = plan_options((pboost_family)family, EPSILON[e], 16);
            o.assumed.coef = &truth; /* defaults depend on the number of rows */
            o.assumed.dispersion = 1.0;
            o.target = 0.05;
            pboost_plan plan = make(o, &t, ROWS);
            double rows = plan.cost[0].rows_needed;
            assert_true(e == 0 ? rows > 64 : rows < ROWS);
            fewer += rows < ROWS;
            more += rows > ROWS;
            if (rows < MOST_ROWS) {
                double gap = gap_at(o, &t, (size_t)rows, 0.0);
                double before = gap_at(o, &t, (size_t)(0.8 * rows), 0.0);
                if (!(gap < 0.055 && before > 0.045))
                    fail_msg("%s, epsilon %s: the gap of %g rows is %g, of 0.8 times as many %g",
                             pboost_family_name(o.family), EPSILON[e], rows, gap, before);
            }
            pboost_plan_free(&plan);
        }
        free_table(&t);
    }
    assert_true(fewer >= 2 && more >= 2);
}

static void test_out_of_reach(void **state)
{
    (void)state;
    table t = make_table(PBOOST_LINEAR, 2048, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 64);
    o.target = 1e-6; /* no epsilon makes bags of 64 as good as labels */
    pboost_plan plan = make(o, &t, 2048);
    assert_true(isinf(plan.least_epsilon));
    assert_true(plan.cost[0].rows_needed > 2048.0);
    pboost_plan_free(&plan);
    o.target = 0.9; /* any does */
    plan = make(o, &t, 2048);
    assert_true(plan.least_epsilon < 1.0 && plan.cost[0].rows_needed < 2048.0);
    pboost_plan_free(&plan);
    o.rules.min_bag = 7; /* where hardly any whole number of rows is left to try */
    for (double target = 0.5; target < 0.9999; target = 0.5 * (1.0 + target)) {
        o.target = target;
        plan = make(o, &t, 100);
        assert_true(plan.cost[0].rows_needed >= 7.0);
        pboost_plan_free(&plan);
    }
    o.rules.min_bag = 64;
    o.target = 0.9;
    o.rules.bounded = false; /* without bounds there is no noise to forecast */
    o.rules.lower = o.rules.upper = 0.0;
    plan = make(o, &t, 2048);
    assert_true(isnan(plan.least_epsilon));
    assert_true(plan.cost[0].rows_needed < 2048.0);
    pboost_plan_free(&plan);
    free_table(&t);
}

static void test_refusals(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LINEAR, 64, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 4);
    static const double WRONG[] = {-0.1, 1.0, INFINITY, NAN};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        o.target = WRONG[i];
        assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                     "target is");
    }
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epsilon),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

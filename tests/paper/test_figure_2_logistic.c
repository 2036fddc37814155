/* Figure 2 at small scale (2^16 rows, 32 steps, bags of up to 16). */
#include "paper/figure.h"

enum { T = 32 };
static const size_t BAGS[] = {1, 4, 16};
#define N_BAGS (sizeof BAGS / sizeof *BAGS)

static repro_results results;

static double loss(pboost_algorithm algorithm, experiment_penalty penalty, size_t k)
{
    return figure_loss(&results, EXPERIMENT_LOGISTIC, algorithm, penalty, k, T);
}

static int set_up(void **state)
{
    (void)state;
    const repro_settings settings = figure_settings(EXPERIMENT_LOGISTIC, BAGS, N_BAGS);
    figure_run(&results, &settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    repro_results_free(&results);
    return 0;
}

static void test_priorboost_converges_to_its_loss_of_single_rows(void **state)
{
    (void)state;
    double one = loss(PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    assert_true(loss(PBOOST_PRIORBOOST, PENALTY_SUM, 4) < 1.05 * one);
    assert_true(loss(PBOOST_PRIORBOOST, PENALTY_SUM, 16) < 1.35 * one);
}

static void test_oneshot_degrades_with_k_under_both_readings(void **state)
{
    (void)state;
    for (experiment_penalty p = PENALTY_SUM; p <= PENALTY_PER_ROW; p++) {
        assert_true(loss(PBOOST_ONESHOT, p, 4) > 2 * loss(PBOOST_ONESHOT, p, 1));
        assert_true(loss(PBOOST_ONESHOT, p, 16) > 1.1 * loss(PBOOST_ONESHOT, p, 4));
    }
}

/* lambda = 10 weighs 32 times as much on a slice as on all rows; per row it weighs the same. */
static void test_the_penalty_decides_whether_single_rows_match(void **state)
{
    (void)state;
    double boost = loss(PBOOST_PRIORBOOST, PENALTY_SUM, 1);
    assert_true(loss(PBOOST_ONESHOT, PENALTY_SUM, 1) < 0.6 * boost);
    assert_true(fabs(loss(PBOOST_ONESHOT, PENALTY_PER_ROW, 1) / boost - 1) < 0.02);
}

static void test_pbprefix_is_suboptimal_from_16_on(void **state)
{
    (void)state;
    double boost = loss(PBOOST_PRIORBOOST, PENALTY_SUM, 16);
    assert_true(loss(PBOOST_PBPREFIX, PENALTY_SUM, 16) > 1.02 * boost);
    assert_true(loss(PBOOST_PBPREFIX, PENALTY_PER_ROW, 16) > 1.02 * boost);
    /* Below, with lambda on the sum, its smaller penalty wins; per row it loses there too. */
    assert_true(loss(PBOOST_PBPREFIX, PENALTY_SUM, 4) < loss(PBOOST_PRIORBOOST, PENALTY_SUM, 4));
    assert_true(loss(PBOOST_PBPREFIX, PENALTY_PER_ROW, 4) >
                loss(PBOOST_PRIORBOOST, PENALTY_SUM, 4));
}

/* With all labels in one bag each, PBPrefix ends where OneShot is: both fit all rows. */
static void test_pbprefix_of_single_rows_ends_at_oneshot(void **state)
{
    (void)state;
    for (experiment_penalty p = PENALTY_SUM; p <= PENALTY_PER_ROW; p++)
        assert_close(loss(PBOOST_PBPREFIX, p, 1), loss(PBOOST_ONESHOT, p, 1), 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priorboost_converges_to_its_loss_of_single_rows),
        cmocka_unit_test(test_oneshot_degrades_with_k_under_both_readings),
        cmocka_unit_test(test_the_penalty_decides_whether_single_rows_match),
        cmocka_unit_test(test_pbprefix_is_suboptimal_from_16_on),
        cmocka_unit_test(test_pbprefix_of_single_rows_ends_at_oneshot),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

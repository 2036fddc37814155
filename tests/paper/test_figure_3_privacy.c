/* Figure 3 at small scale (2^16 rows, 32 steps, two realizations). */
#include "paper/figure.h"

static const size_t BAGS[] = {1, 8, 16};
#define N_BAGS (sizeof BAGS / sizeof *BAGS)

static repro_results results;

static double loss(pboost_algorithm algorithm, size_t k, double epsilon)
{
    return figure_loss(&results, EXPERIMENT_PRIVACY, algorithm, PENALTY_SUM, k, epsilon);
}

static int set_up(void **state)
{
    (void)state;
    repro_settings settings = figure_settings(EXPERIMENT_PRIVACY, BAGS, N_BAGS);
    experiment_setup *setup = &settings.setup[EXPERIMENT_PRIVACY];
    const pboost_rational epsilons[] = {{1, 10}, {1, 1}, {100, 1}, {0, 0}};
    setup->realizations = 2;
    setup->n_epsilons = sizeof epsilons / sizeof *epsilons;
    memcpy(setup->epsilon, epsilons, sizeof epsilons);
    figure_run(&results, &settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    repro_results_free(&results);
    return 0;
}

static void test_the_loss_falls_as_epsilon_grows(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_BAGS; i++) {
        assert_true(loss(PBOOST_PRIORBOOST, BAGS[i], 1) < loss(PBOOST_PRIORBOOST, BAGS[i], 0.1));
        assert_true(loss(PBOOST_ONESHOT, BAGS[i], 1) < loss(PBOOST_ONESHOT, BAGS[i], 0.1));
    }
}

/* Where noise dominates, larger bags help PriorBoost and hurt OneShot. */
static void test_priorboost_improves_with_k_and_oneshot_degrades(void **state)
{
    (void)state;
    assert_true(loss(PBOOST_PRIORBOOST, 8, 1) < 0.6 * loss(PBOOST_PRIORBOOST, 1, 1));
    assert_true(loss(PBOOST_PRIORBOOST, 16, 1) < 1.02 * loss(PBOOST_PRIORBOOST, 8, 1));
    assert_true(loss(PBOOST_PRIORBOOST, 16, 0.1) < 0.8 * loss(PBOOST_PRIORBOOST, 1, 0.1));
    for (size_t i = 1; i < N_BAGS; i++)
        assert_true(loss(PBOOST_ONESHOT, BAGS[i], 1) > 1.02 * loss(PBOOST_ONESHOT, BAGS[i - 1], 1));
}

/* Large bags come near their loss without noise at an epsilon where single rows are far from it. */
static void test_large_bags_need_less_epsilon(void **state)
{
    (void)state;
    assert_true(loss(PBOOST_PRIORBOOST, 16, 1) < 1.15 * loss(PBOOST_PRIORBOOST, 16, INFINITY));
    assert_true(loss(PBOOST_PRIORBOOST, 1, 1) > 2 * loss(PBOOST_PRIORBOOST, 1, INFINITY));
}

/* At k = 1 the two match where noise dominates; without it only if the penalty is per row. */
static void test_single_rows_match_under_one_reading(void **state)
{
    (void)state;
    const double epsilon[] = {0.1, 1};
    for (size_t i = 0; i < 2; i++)
        assert_true(
            fabs(loss(PBOOST_PRIORBOOST, 1, epsilon[i]) / loss(PBOOST_ONESHOT, 1, epsilon[i]) - 1) <
            0.1);
    assert_true(loss(PBOOST_PRIORBOOST, 1, INFINITY) > 1.5 * loss(PBOOST_ONESHOT, 1, INFINITY));
    double per_row =
        figure_loss(&results, EXPERIMENT_PRIVACY, PBOOST_ONESHOT, PENALTY_PER_ROW, 1, INFINITY);
    assert_true(fabs(loss(PBOOST_PRIORBOOST, 1, INFINITY) / per_row - 1) < 0.02);
}

static void test_epsilon_100_is_as_good_as_no_noise(void **state)
{
    (void)state;
    assert_true(fabs(loss(PBOOST_PRIORBOOST, 8, 100) / loss(PBOOST_PRIORBOOST, 8, INFINITY) - 1) <
                0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_loss_falls_as_epsilon_grows),
        cmocka_unit_test(test_priorboost_improves_with_k_and_oneshot_degrades),
        cmocka_unit_test(test_large_bags_need_less_epsilon),
        cmocka_unit_test(test_single_rows_match_under_one_reading),
        cmocka_unit_test(test_epsilon_100_is_as_good_as_no_noise),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

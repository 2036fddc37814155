/* Figure 1 at small scale (2^16 rows, 32 steps, bags of up to 16). */
#include "paper/figure.h"

enum { T = 32 };
static const size_t BAGS[] = {1, 2, 4, 8, 16};
#define N_BAGS (sizeof BAGS / sizeof *BAGS)

static repro_results results;

static double loss(pboost_algorithm algorithm, size_t k, double step)
{
    return figure_loss(&results, EXPERIMENT_LINEAR, algorithm, PENALTY_SUM, k, step);
}

static int set_up(void **state)
{
    (void)state;
    const repro_settings settings = figure_settings(EXPERIMENT_LINEAR, BAGS, N_BAGS);
    figure_run(&results, &settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    repro_results_free(&results);
    return 0;
}

/* "PriorBoost converges to the loss when k = 1": 32 steps are enough up to k = 8. */
static void test_priorboost_converges_to_the_loss_of_single_rows(void **state)
{
    (void)state;
    double one = loss(PBOOST_PRIORBOOST, 1, T);
    assert_close(one, 0.01, 0.001); /* sigma^2 */
    for (size_t k = 2; k <= 8; k *= 2)
        assert_true(loss(PBOOST_PRIORBOOST, k, T) < 1.05 * one);
    assert_true(loss(PBOOST_PRIORBOOST, 16, T) < 0.05 * loss(PBOOST_PRIORBOOST, 16, 1));
}

/* Random bags leave (1 - 1/k)^2 |theta*|^2 + sigma^2, which grows with k. */
static void test_oneshot_worsens_with_k_as_the_lower_bound_says(void **state)
{
    (void)state;
    pboost_error err = {0};
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    double theta[8];
    s.seed = repro_realization_seed(&results.settings, 0);
    assert_ok(pboost_synthetic_theta(theta, &s, &err), err);
    for (size_t i = 0; i < N_BAGS; i++) {
        double expected = pboost_random_bags_bound(BAGS[i], theta, 8) + 0.01;
        double found = loss(PBOOST_ONESHOT, BAGS[i], T);
        assert_true(fabs(found - expected) < 0.03 * expected);
        assert_true(i == 0 || found > loss(PBOOST_ONESHOT, BAGS[i - 1], T));
    }
}

static void test_oneshot_has_the_same_loss_at_every_step(void **state)
{
    (void)state;
    for (size_t step = 1; step <= T; step++)
        assert_true(loss(PBOOST_ONESHOT, 4, (double)step) == loss(PBOOST_ONESHOT, 4, 1));
}

/* "PBPrefix converges much slower, and to suboptimal solutions." */
static void test_pbprefix_is_slower_and_worse(void **state)
{
    (void)state;
    for (size_t k = 2; k <= 16; k *= 2) {
        assert_true(loss(PBOOST_PBPREFIX, k, T) > 1.1 * loss(PBOOST_PRIORBOOST, k, T));
        assert_true(loss(PBOOST_PBPREFIX, k, T / 2) > loss(PBOOST_PRIORBOOST, k, T / 2));
    }
}

/* The first step has no prior: all algorithms with rounds start from the same random bags. */
static void test_the_first_step_is_random_bags(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_BAGS; i++) {
        double first = loss(PBOOST_PRIORBOOST, BAGS[i], 1);
        assert_true(first == loss(PBOOST_PBPREFIX, BAGS[i], 1));
        assert_true(fabs(first / loss(PBOOST_ONESHOT, BAGS[i], T) - 1) < 0.1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priorboost_converges_to_the_loss_of_single_rows),
        cmocka_unit_test(test_oneshot_worsens_with_k_as_the_lower_bound_says),
        cmocka_unit_test(test_oneshot_has_the_same_loss_at_every_step),
        cmocka_unit_test(test_pbprefix_is_slower_and_worse),
        cmocka_unit_test(test_the_first_step_is_random_bags),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* Figure 4 at small scale (16 features, 32 steps, epsilon 1, two realizations). */
#include "paper/figure.h"

static const size_t BAGS[] = {1, 4, 16, 64};
#define N_BAGS (sizeof BAGS / sizeof *BAGS)

/* The best bag size grows with the rows, and the loss falls with them. */
static void test_the_best_bag_size_grows_with_n(void **state)
{
    (void)state;
    repro_results results;
    repro_settings settings = figure_settings(EXPERIMENT_BAG_SIZE, BAGS, N_BAGS);
    experiment_setup *setup = &settings.setup[EXPERIMENT_BAG_SIZE];
    setup->realizations = 2;
    setup->n_sizes = 3;
    setup->size[0] = 1 << 12;
    setup->size[1] = 1 << 14;
    setup->size[2] = 1 << 17;
    setup->rows = 1 << 17;
    figure_run(&results, &settings);

    size_t first = repro_best_bag(&results, EXPERIMENT_BAG_SIZE, 0);
    size_t middle = repro_best_bag(&results, EXPERIMENT_BAG_SIZE, 1);
    size_t last = repro_best_bag(&results, EXPERIMENT_BAG_SIZE, 2);
    assert_true(first <= middle && middle <= last && first < last);
    assert_int_equal(last, 16);
    for (size_t i = 0; i < N_BAGS; i++) {
        const repro_curve *c = repro_results_find(&results, EXPERIMENT_BAG_SIZE, PBOOST_PRIORBOOST,
                                                  PENALTY_SUM, BAGS[i]);
        assert_true(c->mean[2] < c->mean[0]);
    }
    repro_results_free(&results);
}

/* Slices that hold fewer rows than a bag are refused with what would be possible. */
static void test_slices_smaller_than_a_bag_are_refused(void **state)
{
    (void)state;
    pboost_error err = {0};
    repro_settings settings = figure_settings(EXPERIMENT_BAG_SIZE, BAGS, N_BAGS);
    settings.setup[EXPERIMENT_BAG_SIZE].size[0] = 1024;
    assert_fails(repro_settings_check(&settings, &err), PBOOST_BAD_DATA, err,
                 "at most 16 rounds are possible");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_bag_size_grows_with_n),
        cmocka_unit_test(test_slices_smaller_than_a_bag_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

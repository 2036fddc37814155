/* 95 % intervals cover: the short form of bench_coverage.  The bounds leave room for 4 standard
 * deviations of a share of 4 weights in 60 runs, and above for intervals that are a little long
 * under noise: they are those of the wide ridge, while the weights are nearer the truth than it
 * leaves them. */
#include "fit_support.h"

#include "coverage.h"

enum { RUNS = 60 };

static void assert_covers(pboost_family family, pboost_strategy bags, size_t rounds,
                          const char *epsilon)
{
    coverage_case c = {.family = family,
                       .rows = 4096,
                       .features = 4,
                       .min_bag = 4,
                       .rounds = rounds,
                       .bags = bags,
                       .epsilon = epsilon};
    coverage_result r = {0};
    for (uint64_t run = 0; run < RUNS; run++)
        coverage_run(&r, &c, 100 + run);
    double share = (double)r.covered / (double)r.weights, z2 = r.z2 / (double)r.weights;
    if (r.failed > 0 || share < 0.894 || share > 0.996 || z2 < 0.65 || z2 > 1.4) {
        print_error("%s, %s bags, epsilon %s: coverage %.3f, z2 %.3f, %zu failed\n",
                    pboost_family_name(family), pboost_strategy_name(bags),
                    epsilon != NULL ? epsilon : "none", share, z2, r.failed);
        fail();
    }
}

static void intervals_cover_on_feature_bags(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        assert_covers((pboost_family)family, PBOOST_BAGS_FEATURES, 1, NULL);
        assert_covers((pboost_family)family, PBOOST_BAGS_FEATURES, 1, "1");
    }
}

/* Bags that depend on answers about other rows, all rounds together. */
static void intervals_cover_on_adaptive_bags_pooled(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        assert_covers((pboost_family)family, PBOOST_BAGS_PRIOR, 4, NULL);
        assert_covers((pboost_family)family, PBOOST_BAGS_PRIOR, 4, "1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_on_feature_bags),
        cmocka_unit_test(intervals_cover_on_adaptive_bags_pooled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

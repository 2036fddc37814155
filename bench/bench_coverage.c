/* Coverage of 95 % intervals, for each family, with and without noise, on several kinds of bags.
 * bench_coverage [RUNS [ROWS [BAGS [FAMILY [COVARIANCE]]]]] prints one JSON object a line; BAGS,
 * FAMILY and COVARIANCE leave out the others, "all" leaves out none. */
#include "../tests/coverage.h"

static const struct {
    const char *name;
    pboost_strategy bags;
    size_t rounds;
} DESIGNS[] = {
    {"features", PBOOST_BAGS_FEATURES, 1},
    {"prior", PBOOST_BAGS_PRIOR, 8},
    {"hybrid", PBOOST_BAGS_HYBRID, 4},
    {"random", PBOOST_BAGS_RANDOM, 1},
};

static bool wanted(int argc, char **argv, int at, const char *name)
{
    return argc <= at || strcmp(argv[at], "all") == 0 || strcmp(argv[at], name) == 0;
}

int main(int argc, char **argv)
{
    size_t runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    size_t rows = argc > 2 ? strtoul(argv[2], NULL, 10) : 16384;
    const char *epsilon[] = {NULL, "1"};
    for (size_t i = 0; i < sizeof DESIGNS / sizeof *DESIGNS; i++)
        for (int family = 0; family < 3; family++)
            for (int e = 0; e < 2; e++)
                for (int sandwich = 0; sandwich < 2; sandwich++) {
                    const char *covariance = sandwich ? "sandwich" : "model";
                    if (!wanted(argc, argv, 3, DESIGNS[i].name) ||
                        !wanted(argc, argv, 4, pboost_family_name((pboost_family)family)) ||
                        !wanted(argc, argv, 5, covariance))
                        continue;
                    coverage_case c = {.family = (pboost_family)family,
                                       .rows = rows,
                                       .features = 4,
                                       .min_bag = 16,
                                       .rounds = DESIGNS[i].rounds,
                                       .bags = DESIGNS[i].bags,
                                       .epsilon = epsilon[e],
                                       .covariance = (pboost_covariance)sandwich};
                    coverage_result r = {0};
                    for (size_t run = 0; run < runs; run++)
                        coverage_run(&r, &c, run + 1);
                    double w = (double)r.weights, n = (double)r.runs;
                    printf("{\"bags\": \"%s\", \"rounds\": %zu, \"family\": \"%s\", \"epsilon\": "
                           "%s, \"covariance\": \"%s\", \"runs\": %zu, \"coverage\": %.4f, \"z2\": "
                           "%.3f, \"error\": %.3g, \"dispersion\": %.3g, \"failed\": %zu, "
                           "\"warned\": %zu}\n",
                           DESIGNS[i].name, c.rounds, pboost_family_name(c.family),
                           epsilon[e] != NULL ? epsilon[e] : "null", covariance, r.runs,
                           (double)r.covered / w, r.z2 / w, r.error / n, r.dispersion / n, r.failed,
                           r.warned);
                    fflush(stdout);
                }
    return 0;
}

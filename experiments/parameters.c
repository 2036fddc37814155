/* How far are the weights from the truth?  Relative squared error of what `--auto` gives, over that
 * of all labels: linear and logistic, no noise, k = 16 and 64, the median of RUNS.
 *
 *     parameters [RUNS [ROWS [FEATURES]]]
 */
#include <stdio.h>

#include "results.h"
#include "simulation.h"

static pboost_status measure(const setting *base, size_t runs, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *ours = NULL, *labels = NULL, *ratio = NULL;
    setting s = *base;
    simulation table = {0};
    manner chosen = {0};

    NEED(ours = pboost_alloc(runs, sizeof *ours), err);
    NEED(labels = pboost_alloc(runs, sizeof *labels), err);
    NEED(ratio = pboost_alloc(runs, sizeof *ratio), err);
    for (size_t run = 0; run < runs; run++) {
        outcome out;
        bool no_better_than_mean;
        s.seed = run + 1;
        TRY(simulation_init(&table, &s, err));
        TRY(simulate_auto(&out, &chosen, &no_better_than_mean, &table, err));
        ours[run] = out.error;
        TRY(simulate_labels(&out, &table, err));
        labels[run] = out.error;
        ratio[run] = ours[run] / labels[run];
        simulation_free(&table);
    }
    double a = median(ours, runs), b = median(labels, runs);
    printf("{\"family\": \"%s\", \"k\": %zu, \"rows\": %zu, \"features\": %zu, \"runs\": %zu, "
           "\"bags\": \"%s\", \"error\": %.3g, \"all_labels\": %.3g, \"ratio\": %.3f, "
           "\"median_of_ratios\": %.3f}\n",
           pboost_family_name(s.family), s.rules.min_bag, s.n, s.d, runs,
           pboost_strategy_name(chosen.bags), a, b, a / b, median(ratio, runs));
    fflush(stdout);
done:
    simulation_free(&table);
    free(ours);
    free(labels);
    free(ratio);
    return st;
}

int main(int argc, char **argv)
{
    pboost_status st = PBOOST_OK;
    pboost_error err = {0};
    size_t runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
    setting s = {.n = argc > 2 ? strtoul(argv[2], NULL, 10) : (size_t)1 << 17,
                 .d = argc > 3 ? strtoul(argv[3], NULL, 10) : 8,
                 .signal = 2.0};
    const pboost_family family[] = {PBOOST_LINEAR, PBOOST_LOGISTIC};
    for (int f = 0; f < 2; f++)
        for (size_t k = 16; k <= 64; k *= 4) {
            s.family = family[f];
            s.rules = (pboost_rules)PBOOST_RULES_INIT;
            s.rules.min_bag = k;
            TRY(measure(&s, runs, &err));
        }
done:
    if (st != PBOOST_OK)
        fprintf(stderr, "parameters: %s\n", err.message);
    return st != PBOOST_OK;
}

/* Does `--auto` choose well?  Its mean excess loss, pilot included, against that of every way of asking
 * in a grid of strategies and bag sizes, on the same tables and noise.
 *
 *     choices [RUNS [ROWS [FAMILY [FEATURES]]]]
 *
 * By bag size, what the plan said of `features` bags of the last run's table and what they gave over
 * all runs; one line a case, then how often it was within 20 % of the best.  Cases for which the plan warns that
 * nothing will work (in most runs) are left out and counted apart. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulation.h"

static const size_t FEATURES[] = {4, 16};
static const size_t SIZES[] = {8, 32};
static const char *const EPSILONS[] = {NULL, "1", "0.3"};
static const manner MANNERS[] = {
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_FEATURES, 1, 0},
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_HYBRID, 2, 0},
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_PRIOR, 4, 0},
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_RANDOM, 1, 0},
    {PBOOST_EVENT, PBOOST_PRIORBOOST, PBOOST_BAGS_PRIOR, 8, 0},
};
#define N_MANNERS (sizeof MANNERS / sizeof *MANNERS)
#define N_SIZES 6 /* k, 2k, ... 32k */

typedef struct {
    size_t cases, good, left_out;
} tally;

static void report(tally *t, const setting *s, const char *epsilon, size_t runs, double automatic,
                   double grid[N_MANNERS][N_SIZES], size_t hopeless, const manner *chosen,
                   double mean_size)
{
    size_t best_m = 0, best_i = 0;
    for (size_t m = 0; m < N_MANNERS; m++)
        for (size_t i = 0; i < N_SIZES; i++)
            if (grid[m][i] < grid[best_m][best_i]) {
                best_m = m;
                best_i = i;
            }
    double best = grid[best_m][best_i], ratio = automatic / best;
    bool left_out = 2 * hopeless > runs;
    t->left_out += left_out;
    t->cases += !left_out;
    t->good += !left_out && ratio <= 1.2;
    printf("{\"family\": \"%s\", \"features\": %zu, \"k\": %zu, \"epsilon\": %s, \"auto\": %.4g, "
           "\"auto_bags\": \"%s\", \"auto_size\": %zu, \"auto_mean_size\": %.0f, \"best\": %.4g, "
           "\"best_estimator\": \"%s\", "
           "\"best_bags\": \"%s\", \"best_size\": %zu, \"ratio\": %.3f, \"hopeless_runs\": %zu}\n",
           pboost_family_name(s->family), s->d, s->rules.min_bag, epsilon ? epsilon : "null",
           automatic, pboost_strategy_name(chosen->bags), chosen->bag_size, mean_size, best,
           pboost_estimator_name(MANNERS[best_m].estimator),
           pboost_strategy_name(MANNERS[best_m].bags), s->rules.min_bag << best_i, ratio, hopeless);
    fflush(stdout);
}

/* What `features` bags of each size gave, and what the plan said of them before anything was asked. */
static pboost_status print_sizes(const simulation *table, const setting *s,
                                 double grid[N_MANNERS][N_SIZES], pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan plan = {0};
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;

    o.family = s->family;
    o.rules = s->rules;
    o.seed = s->seed;
    o.threads = 1;
    o.brief = true;
    TRY(pboost_plan_make(&plan, &table->matrix, NULL, &o, err));
    for (size_t i = 0; i < plan.n_points; i++) {
        const pboost_plan_point *p = &plan.point[i];
        for (size_t j = 0; j < N_SIZES && p->bags == PBOOST_BAGS_FEATURES; j++)
            if (p->bag_size == s->rules.min_bag << j)
                printf("{\"bag_size\": %zu, \"forecast\": %.4g, \"cautious\": %.4g, "
                       "\"realised\": %.4g}\n",
                       p->bag_size, p->excess, p->cautious, grid[0][j]);
    }
done:
    pboost_plan_free(&plan);
    return st;
}

static pboost_status check(tally *t, const setting *base, const char *epsilon, size_t runs,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    setting s = *base;
    simulation table = {0};
    double automatic = 0.0, mean_size = 0.0, grid[N_MANNERS][N_SIZES] = {0};
    size_t hopeless_runs = 0;
    manner chosen = {0};
    outcome out;

    for (size_t run = 0; run < runs; run++) {
        bool hopeless;
        s.seed = run + 1;
        TRY(simulation_init(&table, &s, err));
        TRY(simulate_auto(&out, &chosen, &hopeless, &table, err));
        automatic += out.excess / (double)runs;
        hopeless_runs += hopeless;
        mean_size += (double)chosen.bag_size / (double)runs;
        for (size_t m = 0; m < N_MANNERS; m++)
            for (size_t i = 0; i < N_SIZES; i++) {
                manner how = MANNERS[m];
                how.bag_size = s.rules.min_bag << i;
                if (s.n / how.bag_size < 32 || s.n / how.rounds < how.bag_size) {
                    grid[m][i] = INFINITY;
                    continue;
                }
                st = simulate(&out, &table, &how, err);
                if (st == PBOOST_BAD_DATA) /* no such fit exists */
                    out.excess = INFINITY;
                else
                    TRY(st);
                st = PBOOST_OK;
                grid[m][i] += out.excess / (double)runs;
            }
        if (run + 1 < runs)
            simulation_free(&table);
    }
    TRY(print_sizes(&table, &s, grid, err));
    report(t, &s, epsilon, runs, automatic, grid, hopeless_runs, &chosen, mean_size);
done:
    simulation_free(&table);
    return st;
}

int main(int argc, char **argv)
{
    pboost_status st = PBOOST_OK;
    pboost_error err = {0};
    size_t runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 50;
    setting s = {.n = argc > 2 ? strtoul(argv[2], NULL, 10) : 8192};
    tally t = {0};
    for (int f = 0; f < 3; f++)
        for (int d = 0; d < 2; d++)
            for (int k = 0; k < 2; k++)
                for (int e = 0; e < 3; e++) {
                    s.family = (pboost_family)f;
                    s.d = FEATURES[d];
                    s.signal = s.family == PBOOST_POISSON ? 0.5 : 1.5;
                    if (argc > 3 && strcmp(argv[3], pboost_family_name(s.family)) != 0)
                        continue;
                    if (argc > 4 && strtoul(argv[4], NULL, 10) != s.d)
                        continue;
                    TRY(simulation_rules(&s.rules, s.family, SIZES[k], EPSILONS[e], &err));
                    TRY(check(&t, &s, EPSILONS[e], runs, &err));
                }
    printf("{\"cases\": %zu, \"within_20_percent\": %zu, \"left_out\": %zu}\n", t.cases, t.good,
           t.left_out);
done:
    if (st != PBOOST_OK)
        fprintf(stderr, "choices: %s\n", err.message);
    return pboost_status_describe(st)->exit_code;
}

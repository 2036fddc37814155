/* Are forecasts right?  For every point of the plan, forecast and realised mean excess loss, over
 * family, features, k, epsilon and strategy; truth and dispersion are known to the plan.
 *
 *     forecasts [RUNS [ROWS [FAMILY]]]
 *
 * One line a point, then how many were within a factor 1.5: of all, and of those that the plan does
 * not call hopeless (excess of half the constant model's or more). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulation.h"

static const size_t FEATURES[] = {4, 8, 32};
static const size_t SIZES[] = {8, 32};
static const char *const EPSILONS[] = {NULL, "1", "0.1"};

typedef struct {
    size_t points, right, fair_points, fair_right;
} tally;

static pboost_status mean_excess(double *out, const setting *base, const manner *how, size_t runs,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    setting s = *base;
    simulation table = {0};
    *out = 0.0;
    for (size_t run = 0; run < runs; run++) {
        outcome one;
        s.seed = run + 1;
        TRY(simulation_init(&table, &s, err));
        TRY(simulate(&one, &table, how, err));
        *out += one.excess / (double)runs;
        simulation_free(&table);
    }
done:
    simulation_free(&table);
    return st;
}

/* The forecast, over a few tables: theta differs between them, and so does the plan. */
static pboost_status check(tally *t, const setting *base, const char *epsilon, size_t runs,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    setting s = *base;
    simulation table = {0};
    pboost_plan plan = {0};
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;

    s.seed = 1;
    TRY(simulation_init(&table, &s, err));
    pboost_coef truth = {s.d, table.theta, 0.0};
    o.family = s.family;
    o.rules = s.rules;
    o.belief.coef = &truth;
    o.belief.dispersion = 1.0;
    o.threads = 1;
    TRY(pboost_plan_make(&plan, &table.matrix, NULL, &o, err));
    for (size_t i = 0; i < plan.n_points; i++) {
        const pboost_plan_point *p = &plan.point[i];
        manner how = manner_of(p);
        double real;
        if (p->forecast != PBOOST_FORECAST_INFORMATION)
            continue;
        TRY(mean_excess(&real, &s, &how, runs, err));
        double factor = p->excess / real;
        bool right = factor <= 1.5 && factor >= 1.0 / 1.5, fair = p->excess < 0.5 * plan.constant;
        t->points++;
        t->right += right;
        t->fair_points += fair;
        t->fair_right += fair && right;
        printf("{\"family\": \"%s\", \"features\": %zu, \"k\": %zu, \"epsilon\": %s, \"bags\": "
               "\"%s\", \"rounds\": %zu, \"bag_size\": %zu, \"forecast\": %.4g, \"realised\": "
               "%.4g, \"factor\": %.3f, \"hopeless\": %s}\n",
               pboost_family_name(s.family), s.d, s.rules.min_bag, epsilon ? epsilon : "null",
               pboost_strategy_name(p->bags), p->rounds, p->bag_size, p->excess, real, factor,
               fair ? "false" : "true");
        fflush(stdout);
    }
done:
    simulation_free(&table);
    pboost_plan_free(&plan);
    return st;
}

int main(int argc, char **argv)
{
    pboost_status st = PBOOST_OK;
    pboost_error err = {0};
    size_t runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
    setting s = {.n = argc > 2 ? strtoul(argv[2], NULL, 10) : 8192};
    tally t = {0};
    for (int f = 0; f < 3; f++)
        for (int d = 0; d < 3; d++)
            for (int k = 0; k < 2; k++)
                for (int e = 0; e < 3; e++) {
                    s.family = (pboost_family)f;
                    s.d = FEATURES[d];
                    s.signal = s.family == PBOOST_POISSON ? 0.5 : 1.5;
                    if (argc > 3 && strcmp(argv[3], pboost_family_name(s.family)) != 0)
                        continue;
                    TRY(simulation_rules(&s.rules, s.family, SIZES[k], EPSILONS[e], &err));
                    TRY(check(&t, &s, EPSILONS[e], runs, &err));
                }
    printf("{\"points\": %zu, \"within_1.5\": %zu, \"not_hopeless\": %zu, \"of_these_within_1.5\": "
           "%zu}\n",
           t.points, t.right, t.fair_points, t.fair_right);
done:
    if (st != PBOOST_OK)
        fprintf(stderr, "forecasts: %s\n", err.message);
    return pboost_status_describe(st)->exit_code;
}

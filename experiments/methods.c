/* The methods that the study compares.
 *
 * All see labels through an oracle; the two at k = 1 are the usual ways to label differential
 * privacy without bags, and "all labels" is what no privacy at all would give. */
#include "methods.h"

#include <math.h>
#include <string.h>

/* Trains and measures with the given rules. */
static pboost_status run_rules(double *loss, const problem *p, const method *how,
                               const double *label, const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = pboost_matrix_f64(p->x, p->n, p->d);
    pboost_matrix test_x = pboost_matrix_f64(p->test_x, p->test_n, p->d);
    pboost_samples test = {.x = &test_x, .n = p->test_n, .target = p->test_y};
    pboost_simulation s = PBOOST_SIMULATION_INIT;
    pboost_outcome out = {0};
    size_t rounds =
        how->rounds > 0 ? how->rounds : pboost_rounds_default(p->n, p->d, rules->min_bag);

    s.rules = *rules;
    s.holder.simulated = s.holder.clamp = true;
    s.holder.seed = s.trainer.seed = p->seed;
    s.fit.family = s.trainer.family = p->family;
    s.fit.estimator = how->estimator;
    s.trainer.algorithm = how->algorithm;
    s.trainer.bags = how->bags;
    s.trainer.rounds = rounds;
    NEED(out.path = pboost_alloc(rounds * (p->d + 1), sizeof *out.path), err);
    TRY(pboost_simulate(&out, &(pboost_features){.x = x}, label, &s, err));
    double *last = out.path + (rounds - 1) * (p->d + 1);
    pboost_coef coef = {p->d, last, last[p->d]};
    TRY(pboost_losses(loss, p->family, &test, &coef, 1, 0, err));
done:
    free(out.path);
    return st;
}

static pboost_status run_bags(double *loss, const problem *p, const method *how, pboost_error *err)
{
    return run_rules(loss, p, how, p->y, &p->rules, err);
}

/* What the planner recommends, without a pilot. */
static pboost_status run_planned(double *loss, const problem *p, const method *how,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = pboost_matrix_f64(p->x, p->n, p->d);
    pboost_plan_options options = PBOOST_PLAN_OPTIONS_INIT;
    pboost_plan plan = {0};
    pboost_rules rules = p->rules;
    method planned = *how;

    options.family = p->family;
    options.rules = p->rules;
    options.brief = true;
    TRY(pboost_plan_make(&plan, &(pboost_features){.x = x}, &options, err));
    const pboost_plan_point *best = &plan.point[plan.best];
    planned.estimator = best->estimator;
    planned.bags = best->bags;
    planned.rounds = best->rounds;
    rules.min_bag = best->bag_size;
    TRY(run_rules(loss, p, &planned, p->y, &rules, err));
done:
    pboost_plan_free(&plan);
    return st;
}

static pboost_status run_labels(double *loss, const problem *p, const method *how,
                                pboost_error *err)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    return run_rules(loss, p, how, p->y, &rules, err);
}

/* Laplace noise on every label by itself: bags of one row. */
static pboost_status run_laplace(double *loss, const problem *p, const method *how,
                                 pboost_error *err)
{
    pboost_rules rules = p->rules;
    rules.min_bag = 1;
    return run_rules(loss, p, how, p->y, &rules, err);
}

/* Randomized response: each label of 0 or 1 is turned over with probability 1/(1 + e^eps), and the
 * fit sees (y - q) / (1 - 2q), whose mean is the label.  Other families: NaN. */
static pboost_status run_response(double *loss, const problem *p, const method *how,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules rules = PBOOST_RULES_INIT;
    double *label = NULL;
    uint64_t state = p->seed * 2 + 1;

    *loss = NAN;
    if (p->family != PBOOST_LOGISTIC)
        goto done;
    double q = 1.0 / (1.0 + exp(pboost_rational_value(p->rules.epsilon)));
    NEED(label = pboost_alloc(p->n, sizeof *label), err);
    for (size_t i = 0; i < p->n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bool turned = (double)(state >> 11) * 0x1p-53 < q;
        label[i] = ((turned ? 1.0 - p->y[i] : p->y[i]) - q) / (1.0 - 2.0 * q);
    }
    TRY(run_rules(loss, p, how, label, &rules, err));
done:
    free(label);
    return st;
}

const method METHODS[] = {
    {"paper: PriorBoost", run_bags, PBOOST_PRIORBOOST, PBOOST_EVENT, PBOOST_BAGS_PRIOR, 0},
    {"paper: OneShot", run_bags, PBOOST_ONESHOT, PBOOST_EVENT, PBOOST_BAGS_RANDOM, 1},
    {"paper: PBPrefix", run_bags, PBOOST_PBPREFIX, PBOOST_EVENT, PBOOST_BAGS_PRIOR, 0},
    {"bag-level loss", run_bags, PBOOST_PBPREFIX, PBOOST_INTERPOLATED, PBOOST_BAGS_FEATURES, 1},
    {"aggregate, random", run_bags, PBOOST_PBPREFIX, PBOOST_AGGREGATE, PBOOST_BAGS_RANDOM, 1},
    {"aggregate, prior", run_bags, PBOOST_PBPREFIX, PBOOST_AGGREGATE, PBOOST_BAGS_PRIOR, 4},
    {"aggregate, features", run_bags, PBOOST_PBPREFIX, PBOOST_AGGREGATE, PBOOST_BAGS_FEATURES, 1},
    {"aggregate, hybrid", run_bags, PBOOST_PBPREFIX, PBOOST_AGGREGATE, PBOOST_BAGS_HYBRID, 2},
    {"planned", run_planned, PBOOST_PBPREFIX, PBOOST_AGGREGATE, PBOOST_BAGS_FEATURES, 1},
    {"Laplace, k = 1", run_laplace, PBOOST_PBPREFIX, PBOOST_AGGREGATE, PBOOST_BAGS_RANDOM, 1},
    {"randomized response", run_response, PBOOST_PBPREFIX, PBOOST_EVENT, PBOOST_BAGS_RANDOM, 1},
    {"all labels", run_labels, PBOOST_ONESHOT, PBOOST_EVENT, PBOOST_BAGS_RANDOM, 1},
};
const size_t N_METHODS = sizeof METHODS / sizeof *METHODS;

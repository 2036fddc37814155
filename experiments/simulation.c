/* See simulation.h.  The excess is computed from the truth, not from labels of test rows, so that
 * nothing but the fit itself is random. */
#include "simulation.h"

#include <math.h>
#include <string.h>

#define TEST_ROWS 4096

void simulation_free(simulation *s)
{
    free(s->theta);
    free(s->x);
    free(s->y);
    free(s->test_x);
    *s = (simulation){0};
}

pboost_status simulation_init(simulation *out, const setting *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_synthetic how = PBOOST_SYNTHETIC_INIT;
    double norm = 0.0, *ignored = NULL;

    *out = (simulation){.setting = s, .test_n = TEST_ROWS};
    how.family = s->family;
    how.features = s->d;
    how.noise = s->family == PBOOST_LINEAR ? 1.0 : 0.0;
    how.seed = s->seed;
    NEED(out->theta = pboost_alloc(s->d, sizeof(double)), err);
    NEED(out->x = pboost_alloc(s->n * s->d, sizeof(double)), err);
    NEED(out->y = pboost_alloc(s->n, sizeof(double)), err);
    NEED(out->test_x = pboost_alloc(TEST_ROWS * s->d, sizeof(double)), err);
    NEED(ignored = pboost_alloc(TEST_ROWS, sizeof(double)), err);
    TRY(pboost_synthetic_theta(out->theta, &how, err));
    for (size_t j = 0; j < s->d; j++)
        norm += out->theta[j] * out->theta[j];
    for (size_t j = 0; j < s->d; j++)
        out->theta[j] *= s->signal / sqrt(norm);
    TRY(pboost_synthetic_rows(out->x, out->y, &how, out->theta, 0, 0, s->n, 1, err));
    TRY(pboost_synthetic_rows(out->test_x, ignored, &how, out->theta, 1, 0, TEST_ROWS, 1, err));
    out->matrix = pboost_matrix_f64(out->x, s->n, s->d);
done:
    free(ignored);
    if (st != PBOOST_OK)
        simulation_free(out);
    return st;
}

pboost_status simulation_rules(pboost_rules *out, pboost_family family, size_t min_bag,
                               const char *epsilon, pboost_error *err)
{
    const double lower[] = {-12.0, 0.0, 0.0}, upper[] = {12.0, 1.0, 12.0};
    pboost_status st = PBOOST_OK;
    *out = (pboost_rules)PBOOST_RULES_INIT;
    out->min_bag = min_bag;
    out->bounded = true;
    out->lower = lower[family];
    out->upper = upper[family];
    if (epsilon != NULL && strcmp(epsilon, "none") != 0)
        TRY(pboost_rational_parse(&out->epsilon, epsilon, err));
    TRY(pboost_rules_check(out, err));
done:
    return st;
}

pboost_status sweep_walk(const sweep *w,
                         pboost_status (*visit)(void *self, const setting *s, const char *epsilon,
                                                pboost_error *err),
                         void *self, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t f = 0; f < w->n_families; f++)
        for (size_t d = 0; d < w->n_features; d++)
            for (size_t k = 0; k < w->n_min_bags; k++)
                for (size_t e = 0; e < w->n_epsilons; e++) {
                    setting s = {.family = w->family[f],
                                 .n = w->rows,
                                 .d = w->features[d],
                                 .signal = w->family[f] == PBOOST_POISSON ? 0.5 : 1.5};
                    TRY(simulation_rules(&s.rules, s.family, w->min_bag[k], w->epsilon[e], err));
                    TRY(visit(self, &s, w->epsilon[e], err));
                }
done:
    return st;
}

static double loss_at(pboost_family family, double eta, double mean)
{
    if (family == PBOOST_LOGISTIC)
        return fmax(eta, 0.0) + log1p(exp(-fabs(eta))) - mean * eta;
    return exp(eta) - mean * eta;
}

static double excess_of(pboost_family family, double truth, double ours)
{
    if (family == PBOOST_LINEAR)
        return (ours - truth) * (ours - truth);
    double mean = family == PBOOST_LOGISTIC ? 1.0 / (1.0 + exp(-truth)) : exp(truth);
    return loss_at(family, ours, mean) - loss_at(family, truth, mean);
}

static outcome judge(const simulation *s, const pboost_coef *coef)
{
    size_t d = s->setting->d;
    double sum = 0.0, miss = 0.0, norm = 0.0;
    for (size_t i = 0; i < s->test_n; i++) {
        double truth = 0.0, ours = coef->intercept;
        for (size_t j = 0; j < d; j++) {
            truth += s->theta[j] * s->test_x[i * d + j];
            ours += coef->theta[j] * s->test_x[i * d + j];
        }
        sum += excess_of(s->setting->family, truth, ours);
    }
    for (size_t j = 0; j < d; j++) {
        miss += (coef->theta[j] - s->theta[j]) * (coef->theta[j] - s->theta[j]);
        norm += s->theta[j] * s->theta[j];
    }
    return (outcome){.excess = sum / (double)s->test_n, .error = miss / norm};
}

manner manner_of(const pboost_plan_point *point)
{
    bool aggregate = point->estimator == PBOOST_AGGREGATE;
    return (manner){point->estimator, aggregate ? PBOOST_PBPREFIX : PBOOST_PRIORBOOST, point->bags,
                    point->rounds, point->bag_size};
}

static pboost_plan_options plan_options(const simulation *s)
{
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    o.family = s->setting->family;
    o.rules = s->setting->rules;
    o.seed = s->setting->seed;
    o.threads = 1;
    return o;
}

/* choice NULL: as `how` says. */
static pboost_status run(outcome *out, const simulation *s, const manner *how,
                         pboost_choice *choice, const pboost_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_memory_oracle *holder = NULL;
    pboost_run *training = NULL;

    held.simulated = held.clamp = true;
    held.seed = options.seed = s->setting->seed;
    TRY(pboost_memory_oracle_create(&holder, s->y, s->setting->n, rules, &held, err));
    fit.family = options.family = s->setting->family;
    fit.estimator = how->estimator;
    pboost_oracle oracle = pboost_memory_oracle_interface(holder);
    options.algorithm = how->algorithm;
    options.bags = how->bags;
    options.rounds = how->rounds;
    options.bag_size = how->bag_size;
    options.schedule = choice != NULL ? choice->schedule : PBOOST_EQUAL;
    options.threads = 1;
    TRY(pboost_run_create(&training, &(pboost_features){.x = s->matrix}, &oracle, &fit, &options,
                          err));
    if (choice != NULL) {
        pboost_plan_options plan = plan_options(s);
        TRY(pboost_run_rounds(training, 1, err));
        TRY(pboost_choice_revise(choice, pboost_run_trainer(training),
                                 &(pboost_features){.x = s->matrix}, pboost_run_coef(training),
                                 &plan, err));
    }
    TRY(pboost_run_rounds(training, options.rounds, err));
    *out = judge(s, pboost_run_coef(training));
done:
    pboost_run_free(training);
    pboost_memory_oracle_free(holder);
    return st;
}

pboost_status simulate(outcome *out, const simulation *s, const manner *how, pboost_error *err)
{
    return run(out, s, how, NULL, &s->setting->rules, err);
}

pboost_status simulate_labels(outcome *out, const simulation *s, pboost_error *err)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    manner how = {PBOOST_EVENT, PBOOST_ONESHOT, PBOOST_BAGS_RANDOM, 1, 1};
    return run(out, s, &how, NULL, &rules, err);
}

pboost_status simulate_auto(outcome *out, manner *chosen, bool *no_better_than_mean,
                            const simulation *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan_options o = plan_options(s);
    pboost_choice choice = {0};

    TRY(pboost_choice_make(&choice, &(pboost_features){.x = s->matrix}, NULL, &o, err));
    manner how = {choice.estimator, choice.algorithm, choice.bags, choice.rounds, choice.bag_size};
    *no_better_than_mean = choice.plan.no_better_than_mean;
    TRY(run(out, s, &how, &choice, &s->setting->rules, err));
    *no_better_than_mean = *no_better_than_mean || choice.plan.no_better_than_mean;
    *chosen =
        (manner){choice.estimator, choice.algorithm, choice.bags, choice.rounds, choice.bag_size};
done:
    pboost_choice_free(&choice);
    return st;
}

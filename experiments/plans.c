/* Are plans right?  Over a sweep of family, features, k and epsilon.
 *
 * plans choices FILE: does `--auto` choose well?  Its mean excess loss, pilot included, against
 * that of every way of asking in a grid of manners and bag sizes, on the same tables and noise.
 * Cases for which the plan warns in most runs are counted separately.
 *
 * plans forecasts FILE: are forecasts right?  For every point of the plan, truth and dispersion
 * being known to it, forecast and mean excess loss.  Points with a forecast of half the constant
 * model's excess or more are counted separately.
 *
 * FILE keeps every run: a sweep can be interrupted and continued, and run in pieces by the options:
 *
 *     --runs R --rows N --family F,... --features D,... --min-bag K,... --epsilon E,...
 *     --seed S      other tables (and another FILE)
 *     --seconds S   begin nothing after so long
 *
 * An epsilon of "none" means no noise. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "results.h"
#include "simulation.h"

static const manner MANNERS[] = {
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_FEATURES, 1, 0},
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_HYBRID, 2, 0},
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_PRIOR, 4, 0},
    {PBOOST_AGGREGATE, PBOOST_PBPREFIX, PBOOST_BAGS_RANDOM, 1, 0},
    {PBOOST_EVENT, PBOOST_PRIORBOOST, PBOOST_BAGS_PRIOR, 8, 0},
};
#define N_MANNERS (sizeof MANNERS / sizeof *MANNERS)
#define N_SIZES 6 /* k, 2k, ... 32k */
#define LEAST_BAGS 32
#define MOST_KEY 120

typedef struct {
    results store;
    size_t runs;
    uint64_t seed; /* of the table before the first */
    time_t until;  /* 0: no end */
    size_t cases, good, left_out, unfinished;
} study;

static bool is_over(const study *s)
{
    return s->until != 0 && time(NULL) >= s->until;
}

/* What is measured: `what` in one case.  A way of asking does not depend on k, only its size
 * counts. */
static void name_key(char *key, const setting *s, const char *epsilon, const char *what)
{
    snprintf(key, MOST_KEY, "%s/%zux%zu/%s/%s", pboost_family_name(s->family), s->n, s->d, epsilon,
             what);
}

static void name_manner(char *key, const setting *s, const char *epsilon, const manner *how)
{
    char what[64];
    snprintf(what, sizeof what, "%s-%s-%zu/%zu", pboost_estimator_name(how->estimator),
             pboost_strategy_name(how->bags), how->rounds, how->bag_size);
    name_key(key, s, epsilon, what);
}

/* ---- One run --------------------------------------------------------------------------------- */

/* A fit without a solution has an infinite loss. */
static pboost_status run_manner(study *t, const setting *s, const char *epsilon, const manner *how,
                                size_t run, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char key[MOST_KEY];
    simulation table = {0};
    setting own = *s;
    outcome out = {.excess = INFINITY};

    name_manner(key, s, epsilon, how);
    if (results_find(&t->store, key, run) != NULL || is_over(t))
        goto done;
    own.seed = t->seed + run;
    TRY(simulation_init(&table, &own, err));
    st = simulate(&out, &table, how, err);
    if (st == PBOOST_BAD_DATA)
        st = PBOOST_OK;
    TRY(st);
    TRY(results_add(&t->store, key, run, out.excess, err));
done:
    simulation_free(&table);
    return st;
}

/* What `--auto` did: its loss, its bag size, and whether it warned. */
static const char *const OF_AUTO[] = {"auto", "auto-size", "auto-no_better_than_mean"};
#define N_OF_AUTO 3

static void name_auto(char *key, const setting *s, const char *epsilon, size_t i)
{
    char what[64];
    snprintf(what, sizeof what, "%s/%zu", OF_AUTO[i], s->rules.min_bag);
    name_key(key, s, epsilon, what);
}

static pboost_status run_auto(study *t, const setting *s, const char *epsilon, size_t run,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char key[MOST_KEY];
    simulation table = {0};
    setting own = *s;
    outcome out;
    manner chosen;
    bool no_better_than_mean;

    name_auto(key, s, epsilon, N_OF_AUTO - 1);
    if (results_find(&t->store, key, run) != NULL || is_over(t))
        goto done;
    own.seed = t->seed + run;
    TRY(simulation_init(&table, &own, err));
    TRY(simulate_auto(&out, &chosen, &no_better_than_mean, &table, err));
    const double value[N_OF_AUTO] = {out.excess, (double)chosen.bag_size, no_better_than_mean};
    for (size_t i = 0; i < N_OF_AUTO; i++) {
        name_auto(key, s, epsilon, i);
        TRY(results_add(&t->store, key, run, value[i], err));
    }
done:
    simulation_free(&table);
    return st;
}

/* ---- Choices --------------------------------------------------------------------------------- */

static bool is_possible(const setting *s, const manner *how)
{
    return s->n / how->bag_size >= LEAST_BAGS && s->n / how->rounds >= how->bag_size;
}

static void report_choice(study *t, const setting *s, const char *epsilon)
{
    char key[MOST_KEY];
    double of_auto[N_OF_AUTO], best = INFINITY;
    manner best_how = {0};
    bool complete = true;
    for (size_t i = 0; i < N_OF_AUTO; i++) {
        name_auto(key, s, epsilon, i);
        of_auto[i] = results_mean(&t->store, key, t->runs);
        complete = complete && !isnan(of_auto[i]);
    }
    printf("{\"family\": \"%s\", \"features\": %zu, \"k\": %zu, \"epsilon\": \"%s\", "
           "\"features_bags\": [",
           pboost_family_name(s->family), s->d, s->rules.min_bag, epsilon);
    for (size_t m = 0; m < N_MANNERS; m++)
        for (size_t i = 0; i < N_SIZES; i++) {
            manner how = MANNERS[m];
            how.bag_size = s->rules.min_bag << i;
            if (!is_possible(s, &how))
                continue;
            name_manner(key, s, epsilon, &how);
            double mean = results_mean(&t->store, key, t->runs);
            complete = complete && !isnan(mean);
            if (m == 0)
                printf("%s%.4g", i > 0 ? ", " : "", mean);
            if (mean < best) {
                best = mean;
                best_how = how;
            }
        }
    double ratio = of_auto[0] / best;
    bool left_out = of_auto[2] > 0.5;
    t->unfinished += !complete;
    t->left_out += complete && left_out;
    t->cases += complete && !left_out;
    t->good += complete && !left_out && ratio <= 1.2;
    printf(
        "], \"auto\": %.4g, \"auto_mean_size\": %.0f, \"best\": %.4g, \"best_manner\": \"%s %s\", "
        "\"best_size\": %zu, \"ratio\": %.3f, \"no_better_than_mean\": %.2f, \"complete\": %s}\n",
        of_auto[0], of_auto[1], best, pboost_estimator_name(best_how.estimator),
        pboost_strategy_name(best_how.bags), best_how.bag_size, ratio, of_auto[2],
        complete ? "true" : "false");
}

static pboost_status check_choice(void *self, const setting *s, const char *epsilon,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    study *t = self;

    for (size_t run = 1; run <= t->runs; run++) {
        TRY(run_auto(t, s, epsilon, run, err));
        for (size_t m = 0; m < N_MANNERS; m++)
            for (size_t i = 0; i < N_SIZES; i++) {
                manner how = MANNERS[m];
                how.bag_size = s->rules.min_bag << i;
                if (is_possible(s, &how))
                    TRY(run_manner(t, s, epsilon, &how, run, err));
            }
    }
    report_choice(t, s, epsilon);
done:
    return st;
}

/* ---- Forecasts ------------------------------------------------------------------------------- */

static void report_forecast(study *t, const setting *s, const char *epsilon,
                            const pboost_plan_point *p, double constant)
{
    char key[MOST_KEY];
    manner how = manner_of(p);
    name_manner(key, s, epsilon, &how);
    double real = results_mean(&t->store, key, t->runs), factor = p->excess / real;
    bool right = factor <= 1.5 && factor >= 1.0 / 1.5, left_out = p->excess >= 0.5 * constant;
    t->unfinished += isnan(real);
    t->left_out += !isnan(real) && left_out;
    t->cases += !isnan(real) && !left_out;
    t->good += right && !left_out;
    printf(
        "{\"family\": \"%s\", \"features\": %zu, \"k\": %zu, \"epsilon\": \"%s\", \"bags\": "
        "\"%s\", "
        "\"rounds\": %zu, \"bag_size\": %zu, \"forecast\": %.4g, \"realised\": %.4g, \"factor\": "
        "%.3f, \"no_better_than_mean\": %s}\n",
        pboost_family_name(s->family), s->d, s->rules.min_bag, epsilon,
        pboost_strategy_name(p->bags), p->rounds, p->bag_size, p->excess, real, factor,
        left_out ? "true" : "false");
}

/* The plan of the first run's table is used for all of them. */
static pboost_status check_forecast(void *self, const setting *base, const char *epsilon,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    study *t = self;
    setting s = *base;
    simulation table = {0};
    pboost_plan plan = {0};
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;

    if (is_over(t)) {
        t->unfinished++;
        goto done;
    }
    s.seed = t->seed + 1;
    TRY(simulation_init(&table, &s, err));
    pboost_coef truth = {s.d, table.theta, 0.0};
    o.family = s.family;
    o.rules = s.rules;
    o.assumed.coef = &truth;
    o.assumed.dispersion = 1.0;
    o.threads = 1;
    TRY(pboost_plan_make(&plan, &(pboost_features){.x = table.matrix}, &o, err));
    for (size_t i = 0; i < plan.n_points; i++) {
        const pboost_plan_point *p = &plan.point[i];
        manner how = manner_of(p);
        if (p->forecast != PBOOST_FORECAST_INFORMATION)
            continue;
        for (size_t run = 1; run <= t->runs; run++)
            TRY(run_manner(t, base, epsilon, &how, run, err));
        report_forecast(t, base, epsilon, p, plan.constant);
    }
done:
    simulation_free(&table);
    pboost_plan_free(&plan);
    return st;
}

/* ---- The program ----------------------------------------------------------------------------- */

#define MOST 8

static size_t parse_sizes(size_t out[MOST], char *list)
{
    size_t n = 0;
    for (char *word = strtok(list, ","); word != NULL && n < MOST; word = strtok(NULL, ","))
        out[n++] = strtoul(word, NULL, 10);
    return n;
}

static size_t parse_words(const char *out[MOST], char *list)
{
    size_t n = 0;
    for (char *word = strtok(list, ","); word != NULL && n < MOST; word = strtok(NULL, ","))
        out[n++] = word;
    return n;
}

static pboost_status parse_families(sweep *w, char *list, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    w->n_families = 0;
    for (char *word = strtok(list, ","); word != NULL && w->n_families < 3;
         word = strtok(NULL, ","))
        TRY(pboost_family_parse(&w->family[w->n_families++], word, err));
done:
    return st;
}

static pboost_status parse(study *t, sweep *w, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (int i = 3; i + 1 < argc; i += 2) {
        const char *name = argv[i];
        char *value = argv[i + 1];
        if (strcmp(name, "--runs") == 0)
            t->runs = strtoul(value, NULL, 10);
        else if (strcmp(name, "--rows") == 0)
            w->rows = strtoul(value, NULL, 10);
        else if (strcmp(name, "--family") == 0)
            TRY(parse_families(w, value, err));
        else if (strcmp(name, "--features") == 0)
            w->n_features = parse_sizes(w->features, value);
        else if (strcmp(name, "--min-bag") == 0)
            w->n_min_bags = parse_sizes(w->min_bag, value);
        else if (strcmp(name, "--epsilon") == 0)
            w->n_epsilons = parse_words(w->epsilon, value);
        else if (strcmp(name, "--seed") == 0)
            t->seed = strtoul(value, NULL, 10);
        else if (strcmp(name, "--seconds") == 0)
            t->until = time(NULL) + strtol(value, NULL, 10);
        else
            FAIL(err, PBOOST_INVALID, "option '%s' of plans is unknown", name);
    }
    if (argc % 2 == 0)
        FAIL(err, PBOOST_INVALID, "%s has no value", argv[argc - 1]);
    if (t->runs == 0 || w->rows == 0)
        FAIL(err, PBOOST_INVALID, "runs is %zu and rows %zu; there must be at least one", t->runs,
             w->rows);
done:
    return st;
}

int main(int argc, char **argv)
{
    pboost_status st = PBOOST_OK;
    pboost_error err = {0};
    study t = {0};
    bool choices = argc > 1 && strcmp(argv[1], "choices") == 0;
    sweep w = {.family = {PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON},
               .n_families = 3,
               .features = {4, choices ? 16 : 8, 32},
               .n_features = choices ? 2 : 3,
               .min_bag = {8, 32},
               .n_min_bags = 2,
               .epsilon = {"none", "1", choices ? "0.3" : "0.1"},
               .n_epsilons = 3,
               .rows = 8192};

    if (argc < 3 || (!choices && strcmp(argv[1], "forecasts") != 0))
        FAIL(&err, PBOOST_INVALID, "usage: plans choices|forecasts FILE [OPTION VALUE]...");
    t.runs = choices ? 50 : 20;
    TRY(parse(&t, &w, argc, argv, &err));
    TRY(results_open(&t.store, argv[2], &err));
    TRY(sweep_walk(&w, choices ? check_choice : check_forecast, &t, &err));
    printf("{\"counted\": %zu, \"good\": %zu, \"left_out\": %zu, \"unfinished\": %zu}\n", t.cases,
           t.good, t.left_out, t.unfinished);
done:
    results_close(&t.store);
    if (st != PBOOST_OK)
        fprintf(stderr, "plans: %s\n", err.message);
    return st != PBOOST_OK;
}

/* priorboost reproduce: the paper's experiments in one command. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli.h"
#include "reproduce.h"

static const cli_usage USAGE = {
    .synopsis = "[linear|logistic|privacy|bag-size|all] [--scale small|paper]\n"
                "           [--realizations R] [--seed S] [--threads N] [OPTION...] --out DIR",
    .text =
        "Runs the experiments of the paper and writes to DIR: results.json, a CSV and an SVG per\n"
        "figure, and report.html with the figures, a verdict on each claim, and the theory.\n"
        "DIR must be empty or not exist.  In results.json an epsilon without noise is \"inf\".",
    .operand = "linear|logistic|privacy|bag-size|all",
};

/* What the command line changes in the settings of every wanted experiment. */
typedef struct {
    const char *scale, *out;
    uint64_t seed;
    int threads;
    size_t rows, test_rows, features, rounds, realizations;
    double noise, l2;
    bool has_noise, has_l2;
    cli_list bags, epsilons, sizes;
} arguments;

/* ---- Settings -------------------------------------------------------------------------------- */

static pboost_status choose_experiments(repro_settings *settings, const char *name,
                                        pboost_error *err)
{
    bool any = false;
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        settings->wanted[id] =
            strcmp(name, "all") == 0 || strcmp(name, repro_experiment(id)->name) == 0;
        any = any || settings->wanted[id];
    }
    if (!any)
        return pboost_fail(err, PBOOST_INVALID,
                           "experiment '%s' is unknown; it must be one of linear, logistic, "
                           "privacy, bag-size, all",
                           name);
    return PBOOST_OK;
}

static pboost_status choose_scale(repro_scale *out, const char *name, pboost_error *err)
{
    *out = strcmp(name, "paper") == 0 ? SCALE_PAPER : SCALE_SMALL;
    if (strcmp(name, repro_scale_name(*out)) != 0)
        return pboost_fail(err, PBOOST_INVALID, "--scale is '%s'; it must be small or paper", name);
    return PBOOST_OK;
}

static pboost_status check_length(const cli_list *list, const char *option, pboost_error *err)
{
    if (list->n > MAX_SETTINGS)
        return pboost_fail(err, PBOOST_INVALID, "%s has %zu values; at most %d are possible",
                           option, list->n, (int)MAX_SETTINGS);
    return PBOOST_OK;
}

static pboost_status read_counts(size_t *out, size_t *n, const cli_list *list, const char *option,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (list->n == 0)
        return st;
    TRY(check_length(list, option, err));
    for (size_t i = 0; i < list->n; i++)
        TRY(cli_read_count(&out[i], option, list->item[i], err));
    *n = list->n;
done:
    return st;
}

static pboost_status read_epsilons(experiment_setup *setup, const cli_list *list, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (list->n == 0)
        return st;
    TRY(check_length(list, "--epsilons", err));
    for (size_t i = 0; i < list->n; i++) {
        setup->epsilon[i] = (pboost_rational){0, 0};
        if (strcmp(list->item[i], "inf") != 0)
            TRY(pboost_rational_parse(&setup->epsilon[i], list->item[i], err));
    }
    setup->n_epsilons = list->n;
done:
    return st;
}

static void set_count(size_t *target, size_t value)
{
    if (value != 0)
        *target = value;
}

static pboost_status apply(experiment_setup *setup, experiment_id id, const arguments *a,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    set_count(&setup->test_rows, a->test_rows);
    set_count(&setup->features, a->features);
    set_count(&setup->rounds, a->rounds);
    set_count(&setup->realizations, a->realizations);
    if (a->has_noise)
        setup->noise = a->noise;
    if (a->has_l2)
        setup->l2 = a->l2;
    TRY(read_counts(setup->min_bag, &setup->n_bags, &a->bags, "--min-bags", err));
    if (id == EXPERIMENT_BAG_SIZE) {
        TRY(read_counts(setup->size, &setup->n_sizes, &a->sizes, "--sizes", err));
        setup->rows = setup->size[setup->n_sizes - 1];
    } else {
        set_count(&setup->rows, a->rows);
    }
    if (id == EXPERIMENT_PRIVACY)
        TRY(read_epsilons(setup, &a->epsilons, err));
done:
    return st;
}

static pboost_status make_settings(repro_settings *out, const arguments *a, const char *experiment,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_scale scale;

    if (a->out == NULL)
        FAIL(err, PBOOST_INVALID, "--out DIR is required; see 'priorboost reproduce --help'");
    TRY(choose_scale(&scale, a->scale, err));
    TRY(repro_settings_init(out, scale, err));
    TRY(choose_experiments(out, experiment, err));
    out->seed = a->seed;
    out->threads = a->threads;
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        TRY(apply(&out->setup[id], id, a, err));
done:
    return st;
}

/* ---- Watching -------------------------------------------------------------------------------- */

static void show_progress(void *user, double done, double total, double seconds_left)
{
    cli_progress_left(user, "reproduce", done, total, seconds_left);
}

static bool is_interrupted(void *user)
{
    (void)user;
    return cli_interrupted();
}

/* ---- Output ---------------------------------------------------------------------------------- */

static const char *curve_name(const repro_curve *curve)
{
    if (curve->penalty == PENALTY_PER_ROW)
        return curve->algorithm == PBOOST_ONESHOT ? "oneshot, l2 per row" : "pbprefix, l2 per row";
    return pboost_algorithm_name(curve->algorithm);
}

/* Rows of algorithms and columns of bag sizes: the last point of every curve. */
static void print_table(const repro_results *results, experiment_id id)
{
    const repro_result *r = &results->result[id];
    const experiment_setup *setup = &results->settings.setup[id];
    const char *name = NULL;

    printf("\n%s: test loss %s\n%-22s", repro_experiment(id)->title,
           repro_experiment(id)->axis == AXIS_STEP      ? "after the last step"
           : repro_experiment(id)->axis == AXIS_EPSILON ? "at the largest epsilon"
                                                        : "with the most rows",
           "bag size");
    for (size_t i = 0; i < setup->n_bags; i++)
        printf("%10zu", setup->min_bag[i]);
    for (size_t i = 0; i < r->n_curves; i++) {
        if (name == NULL || strcmp(name, curve_name(&r->curves[i])) != 0)
            printf("\n%-22s", curve_name(&r->curves[i]));
        name = curve_name(&r->curves[i]);
        printf("%10.4g", repro_curve_last(results, id, &r->curves[i]));
    }
    putchar('\n');
}

static void print_claims(const repro_claims *claims, bool small)
{
    printf("\nThe paper's claims%s:\n",
           small ? " at small scale (those about large k need --scale paper)" : "");
    for (size_t i = 0; i < claims->n; i++) {
        const repro_claim *c = &claims->claim[i];
        printf("%-24s %s\n", page_verdict_name(c->verdict), c->text);
        for (size_t j = 0; j < 2 && repro_claim_is_split(c); j++)
            printf("%24s   %s, if it means: %s\n", "", page_verdict_name(c->under[j]),
                   c->reading[j]);
    }
}

/* With --json what results.json holds, and where it is. */
static pboost_status print_outcome(const cli_context *cli, const repro_outcome *outcome,
                                   const char *out, pboost_error *err)
{
    const repro_findings findings = repro_outcome_findings(outcome);

    if (cli->json) {
        json_t *object = repro_results_json(&findings);
        if (json_object_set_new(object, "out", json_string(out)) != 0) {
            json_decref(object);
            object = NULL;
        }
        return cli_print_json(object, err);
    }
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        if (outcome->results.settings.wanted[id])
            print_table(&outcome->results, id);
    print_claims(&outcome->claims, outcome->results.settings.scale == SCALE_SMALL);
    printf("\nThe report is %s/report.html (%.1f s).\n", out, outcome->results.seconds);
    return cli_flush(err);
}

/* Every training allocates and frees tens of megabytes: handing them back to the system each time
 * costs more than clearing and sorting what is in them. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    mallopt(M_ARENA_MAX, 1);
#endif
}

pboost_status cli_reproduce(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    arguments a = {.scale = "small"};
    repro_settings settings;
    repro_outcome outcome = {0};
    const char *experiment = "all";
    const cli_option options[] = {
        {"--scale", "small|paper", cli_read_text, &a.scale, NULL,
         "small (default): 2^16 rows, 32 rounds; paper: 2^20 rows,\n"
         "256 rounds, and 10 realizations where the paper has them"},
        {"--out", "DIR", cli_read_text, &a.out, NULL, "where the results go"},
        {"--realizations", "R", cli_read_count, &a.realizations, NULL,
         "independent repetitions of each experiment"},
        {"--seed", "S", cli_read_seed, &a.seed, NULL, "seed of all random draws; default 0"},
        {"--threads", "N", cli_read_threads, &a.threads, NULL, "default: all cores"},
        {"--rows", "N", cli_read_count, &a.rows, NULL, "n, training rows (not for bag-size)"},
        {"--sizes", "N,N,...", cli_read_list, &a.sizes, NULL, "bag-size: the values of n"},
        {"--test-rows", "N", cli_read_count, &a.test_rows, NULL, "rows of the test table"},
        {"--features", "D", cli_read_count, &a.features, NULL, "d, feature columns"},
        {"--rounds", "T", cli_read_count, &a.rounds, NULL, "T, rounds of training"},
        {"--min-bags", "K,K,...", cli_read_list, &a.bags, NULL, "the bag sizes"},
        {"--epsilons", "E,E,...", cli_read_list, &a.epsilons, NULL,
         "privacy: the privacy budgets; inf for no noise"},
        {"--noise", "S", cli_read_not_negative, &a.noise, &a.has_noise,
         "standard deviation of the noise added to x theta*; 0.1"},
        {"--l2", "L", cli_read_not_negative, &a.l2, &a.has_l2,
         "penalty; default 0 for linear, 10 for the others"},
    };

    TRY(cli_parse(cli, &experiment, argc, argv, &USAGE, options, sizeof options / sizeof *options,
                  err));
    if (cli->help)
        goto done;
    TRY(make_settings(&settings, &a, experiment, err));
    cli_interrupted(); /* listen from now on */
    keep_freed_memory();
    const repro_host host = {show_progress, is_interrupted, cli_seconds, cli};
    TRY(repro_reproduce(&outcome, &settings, a.out, &host, err));
    TRY(print_outcome(cli, &outcome, a.out, err));
done:
    repro_outcome_free(&outcome);
    cli_list_free(&a.bags);
    cli_list_free(&a.epsilons);
    cli_list_free(&a.sizes);
    return st;
}

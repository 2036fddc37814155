/* priorboost plan: what each way of asking is expected to cost, before any label is spent. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan_page.h"
#include "train.h"

static const cli_usage USAGE = {
    .synopsis = "--data FILE --family F --min-bag K [--epsilon E --bounds LO,HI] [OPTION...]",
    .text = "Forecasts, from the features alone, how much worse than the best model each way of\n"
            "asking will be, and recommends one.  No label is read; name the label column so that\n"
            "it is not used as a feature."};

typedef struct {
    train_arguments train;
    cli_list epsilon;
    double mean, dispersion, model_error, l2;
    bool has_l2;
    size_t sample;
} plan_arguments;

/* ---- Assumptions and settings ---------------------------------------------------------------- */

/* The prior's weights; its columns must be those of the table. */
static pboost_status prior_coef(pboost_coef *out, const char *path, const train_data *data,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model model = {0};

    TRY(pboost_model_load(&model, path, err));
    const pboost_encoding *theirs = &model.encoding, *ours = &data->encoding;
    for (size_t j = 0; j < ours->n_columns; j++)
        if (theirs->n_columns != ours->n_columns || strcmp(theirs->column[j], ours->column[j]) != 0)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s: the model has %zu columns and the table %zu, and column %zu is '%s' in the "
                 "model and '%s' in the table; the prior must have the columns of the table",
                 path, theirs->n_columns, ours->n_columns, j + 1,
                 j < theirs->n_columns ? theirs->column[j] : "", ours->column[j]);
    *out = model.coef;
    model.coef = (pboost_coef){0};
done:
    pboost_model_free(&model);
    return st;
}

/* The first epsilon is the rules' own, the others are forecast as well; "none" is no noise. */
static pboost_status read_epsilons(pboost_rational *out, const cli_list *list, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t i = 0; i < list->n; i++) {
        out[i] = (pboost_rational){0, 0};
        if (strcmp(list->item[i], "none") != 0)
            TRY(cli_read_epsilon(&out[i], "--epsilon", list->item[i], err));
    }
done:
    return st;
}

static pboost_status set_rules(pboost_rules *rules, const plan_arguments *a,
                               const pboost_rational *epsilon, pboost_error *err)
{
    bool noisy = false;
    rules->min_bag = a->train.min_bag;
    rules->bounded = a->train.has_bounds;
    rules->lower = a->train.bounds.lower;
    rules->upper = a->train.bounds.upper;
    rules->step = a->train.step;
    for (size_t i = 0; i < a->epsilon.n; i++)
        noisy = noisy || epsilon[i].den > 0;
    if (noisy && !rules->bounded)
        return pboost_fail(err, PBOOST_INVALID,
                           "--epsilon needs --bounds LO,HI: the noise depends on the range of the "
                           "labels");
    if (a->epsilon.n > 0)
        rules->epsilon = epsilon[0];
    return pboost_rules_check(rules, err);
}

/* ---- The command ----------------------------------------------------------------------------- */

static void print_warnings(const cli_context *cli, const pboost_plan *plan)
{
    for (size_t i = 0; i < plan->n_warnings; i++)
        cli_note(cli, "warning: %s", plan->warning[i]);
}

static pboost_status plan(cli_context *cli, const plan_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_data data = {0};
    pboost_coef prior = {0};
    pboost_rational *epsilon = NULL;
    pboost_plan made = {0};
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    train_arguments files = a->train;

    NEED(epsilon = pboost_alloc(a->epsilon.n + 1, sizeof *epsilon), err);
    TRY(read_epsilons(epsilon, &a->epsilon, err));
    TRY(set_rules(&o.rules, a, epsilon, err));
    files.prior = NULL; /* its weights are wanted, not its predictions */
    TRY(train_data_load(&data, cli, &files, err));
    if (a->train.prior != NULL) {
        TRY(prior_coef(&prior, a->train.prior, &data, err));
        o.assumed.coef = &prior;
    }
    o.cancel = &cli->watch;
    o.family = a->train.family;
    o.epsilon = epsilon + 1;
    o.n_epsilon = a->epsilon.n > 0 ? a->epsilon.n - 1 : 0;
    o.intercept = !a->train.no_intercept;
    if (a->has_l2)
        o.l2 = pboost_l2_fixed(a->l2);
    o.assumed.mean = a->mean;
    o.assumed.dispersion = a->dispersion;
    o.assumed.model_error = a->model_error;
    o.max_rows = a->sample;
    o.seed = a->train.seed;
    o.threads = a->train.threads;
    pboost_features features = train_features(&data);
    TRY(pboost_plan_make(&made, &features, &o, err));
    if (a->train.out != NULL)
        TRY(plan_write(a->train.out, &made, err));
    print_warnings(cli, &made);
    if (cli->json)
        TRY(cli_print_json(plan_json(&made, a->train.family, a->train.min_bag,
                                     (const char *const *)data.encoding.column),
                           err));
    else if (!cli->quiet)
        plan_print(cli_text(cli), &made);
    TRY(cli_flush(err));
done:
    pboost_plan_free(&made);
    pboost_coef_free(&prior);
    free(epsilon);
    train_data_free(&data);
    return st;
}

static pboost_status require(const plan_arguments *plan, pboost_error *err)
{
    const train_arguments *a = &plan->train;
    const char *missing = a->data == NULL   ? "--data"
                          : !a->has_family  ? "--family"
                          : a->min_bag == 0 ? "--min-bag"
                                            : NULL;
    if (missing != NULL)
        return pboost_fail(err, PBOOST_INVALID, "%s is required; see 'priorboost plan --help'",
                           missing);
    if (!isnan(plan->mean) && a->prior != NULL)
        return pboost_fail(err, PBOOST_INVALID,
                           "--mean cannot be used with --prior: the predictions of the prior have "
                           "their own mean; leave one of the two out");
    if (!isnan(plan->mean) && a->no_intercept)
        return pboost_fail(err, PBOOST_INVALID,
                           "--mean cannot be used with --no-intercept: without an intercept the "
                           "features decide the mean; leave one of the two out");
    return column_arguments_check(&a->columns, err);
}

pboost_status cli_plan(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    plan_arguments a = {.train = {.no_labels = true},
                        .mean = NAN,
                        .dispersion = NAN,
                        .model_error = NAN,
                        .sample = (size_t)1 << 15};
    train_arguments *t = &a.train;
    const cli_option options[] = {
        {"--data", "FILE", cli_read_text, &t->data, NULL, "the features (CSV or NPY); - is stdin"},
        {"--label", "COL", cli_read_text, &t->label, NULL, "a column that is not a feature"},
        {"--id", "COL", cli_read_text, &t->id, NULL, "a column that is not a feature"},
        COLUMN_OPTIONS(t->columns),
        {"--offset", "COL", cli_read_text, &t->offset, NULL,
         "added to the linear predictor, such as log exposure"},
        {"--family", CLI_FAMILIES, cli_read_family, &t->family, &t->has_family,
         "distribution of the labels"},
        {"--min-bag", "K", cli_read_count, &t->min_bag, NULL,
         "least rows in a bag: the label holder's rule"},
        {"--epsilon", "E,...", cli_read_list, &a.epsilon, NULL,
         "epsilon of the noise; the plan is made for the first, the\n"
         "others are forecast too; none means no noise"},
        {"--bounds", "LO,HI", cli_read_bounds, &t->bounds, &t->has_bounds,
         "public bounds of the labels"},
        {"--step", "Q", cli_read_positive, &t->step, NULL,
         "labels are rounded to multiples of Q; default: the\n"
         "largest power of two <= (HI-LO)/2^20"},
        {"--prior", "FILE", cli_read_text, &t->prior, NULL,
         "a model that the plan assumes to be about right"},
        {"--mean", "M", cli_read_number, &a.mean, NULL,
         "the mean label, if it is known; default: assumed from\n"
         "family and bounds; not with --prior or --no-intercept"},
        {"--dispersion", "P", cli_read_positive, &a.dispersion, NULL,
         "the labels' variance is P times the family's; default:\n"
         "assumed from family and bounds"},
        {"--model-error", "V", cli_read_not_negative, &a.model_error, NULL,
         "variance that a wrong model leaves in every answer;\n"
         "default: 5 % of the variance of the means"},
        {"--l2", "L", cli_read_not_negative, &a.l2, &a.has_l2,
         "the penalty to plan for; default: as train chooses it"},
        {"--no-intercept", NULL, NULL, &t->no_intercept, NULL, "fit no intercept"},
        {"--sample", "N", cli_read_count, &a.sample, NULL,
         "forecast on N rows and scale; default 32768"},
        {"--seed", "S", cli_read_seed, &t->seed, NULL, "seed of the sample; default 0"},
        {"--threads", "N", cli_read_threads, &t->threads, NULL, "default: all cores"},
        {"--out", "FILE", cli_read_text, &t->out, NULL,
         "a chart: SVG if the name ends in .svg, otherwise a page"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    TRY(require(&a, err));
    TRY(plan(cli, &a, err));
done:
    column_arguments_free(&t->columns);
    cli_list_free(&a.epsilon);
    return st;
}

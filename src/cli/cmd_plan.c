/* priorboost plan: what each way of asking is expected to cost, before any label is spent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_page.h"
#include "plan_wide.h"
#include "train_wide.h"

static const cli_usage USAGE = {
    .synopsis = "--data FILE --family F --min-bag K,... [--epsilon E,... --bounds LO,HI]\n"
                "                       [OPTION...]",
    .text =
        "Forecasts, from the features alone, how much worse than the best model each way of\n"
        "asking will be, and recommends one.  No label is read; name the label column so that\n"
        "it is not used as a feature.\n"
        "\n"
        "For several K or E prints one table of what each pair costs: the expected loss, the\n"
        "part that is kept of what all labels gain over a model that knows only the mean, the\n"
        "number of labelled rows that would do as well, and the expected AUC, R2 or D2.\n"
        "\n"
        "For sparse rows (--hash, svmlight files) prints what bags from the features and random\n"
        "bags keep."};

typedef struct {
    train_arguments train;
    cli_list min_bag, epsilon;
    double mean, dispersion, model_error, l2, target;
    bool has_l2, has_target, has_model_error, has_sample;
    size_t sample, classes; /* 0: labels are numbers */
} plan_arguments;

enum { MOST_PAIRS = 64 };

static pboost_status read_percent(void *target, const char *option, const char *text,
                                  pboost_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0 || !(value > 0.0 && value < 100.0))
        return pboost_fail(err, PBOOST_INVALID,
                           "%s is '%s'; it must be a percentage above 0 and below 100, such as "
                           "5%%",
                           option, text);
    *(double *)target = value / 100.0;
    return PBOOST_OK;
}

/* ---- Assumptions and settings ---------------------------------------------------------------- */

/* The prior's weights; its columns must be those of the table. */
static pboost_status prior_coef(pboost_coef *out, const char *path, const train_data *data,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model model = {0};

    TRY(data_model_of_numbers(&model, path, err));
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

/* What was asked for: every k and every epsilon. */
typedef struct {
    size_t n, n_epsilon;
    size_t min_bag[MOST_PAIRS];
    pboost_rational epsilon[MOST_PAIRS]; /* "none" is no noise */
} plan_grid;

static pboost_status check_pairs(const plan_arguments *a, pboost_error *err)
{
    size_t n_epsilon = a->epsilon.n > 0 ? a->epsilon.n : 1;
    if (a->min_bag.n > MOST_PAIRS / n_epsilon)
        return pboost_fail(err, PBOOST_INVALID,
                           "%zu values of --min-bag and %zu of --epsilon are more than %d pairs; "
                           "leave some out",
                           a->min_bag.n, n_epsilon, MOST_PAIRS);
    return PBOOST_OK;
}

static pboost_status read_grid(plan_grid *out, const plan_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (plan_grid){.n = a->min_bag.n, .n_epsilon = a->epsilon.n > 0 ? a->epsilon.n : 1};
    TRY(check_pairs(a, err));
    for (size_t i = 0; i < a->min_bag.n; i++)
        TRY(cli_read_count(&out->min_bag[i], "--min-bag", a->min_bag.item[i], err));
    for (size_t i = 0; i < a->epsilon.n; i++)
        if (strcmp(a->epsilon.item[i], "none") != 0)
            TRY(cli_read_epsilon(&out->epsilon[i], "--epsilon", a->epsilon.item[i], err));
done:
    return st;
}

/* All but min_bag.  The first epsilon is the rules' own, the others are forecast as well. */
static pboost_status set_rules(pboost_rules *rules, const plan_arguments *a, const plan_grid *grid,
                               pboost_error *err)
{
    bool noisy = false;
    rules->min_bag = grid->min_bag[0];
    rules->bounded = a->train.has_bounds;
    rules->lower = a->train.bounds.lower;
    rules->upper = a->train.bounds.upper;
    rules->step = a->train.step;
    for (size_t i = 0; i < grid->n_epsilon; i++)
        noisy = noisy || grid->epsilon[i].den > 0;
    if (noisy && !rules->bounded)
        return pboost_fail(err, PBOOST_INVALID,
                           "--epsilon needs --bounds LO,HI: the noise depends on the range of the "
                           "labels");
    rules->epsilon = grid->epsilon[0];
    return pboost_rules_check(rules, err);
}

static void set_options(pboost_plan_options *o, const plan_arguments *a, const plan_grid *grid)
{
    o->family = a->train.family;
    o->epsilon = grid->epsilon + 1;
    o->n_epsilon = grid->n_epsilon - 1;
    o->intercept = !a->train.no_intercept;
    if (a->has_l2)
        o->l2 = pboost_l2_fixed(a->l2);
    o->assumed.mean = a->mean;
    o->assumed.dispersion = a->dispersion;
    o->assumed.model_error = a->model_error;
    o->max_rows = a->sample;
    o->seed = a->train.seed;
    o->threads = a->train.threads;
    o->costs = true;
    o->target = a->target;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* One plan for each k.  A k that is larger than the table is a line of the output if there is
 * another k, so that one long list serves many tables. */
static pboost_status make_plans(pboost_plan *plan, plan_set *set, const pboost_features *features,
                                pboost_plan_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    set->first = set->n;
    for (size_t i = 0; i < set->n; i++) {
        bool last = i + 1 == set->n;
        o->rules.min_bag = set->min_bag[i];
        if (set->min_bag[i] > set->rows && (set->first < set->n || !last))
            continue;
        TRY(pboost_plan_make(&plan[i], features, o, err));
        set->first = set->first < set->n ? set->first : i;
        o->brief = true; /* only the first plan shows every way of asking */
    }
done:
    return st;
}

static pboost_status show(const cli_context *cli, const plan_arguments *a, const plan_set *set,
                          const char *const *column, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan *first = &set->plan[set->first];
    bool several = set->n * set->n_epsilon > 1;

    if (a->train.out != NULL)
        TRY((several ? plan_costs_write : plan_write)(a->train.out, set, err));
    for (size_t i = 0; i < first->n_warnings; i++)
        cli_note(cli, "warning: %s", first->warning[i]);
    if (cli->json) {
        json_t *object = plan_json(first, a->train.family, set->min_bag[set->first], column);
        if (object != NULL && a->classes > 0)
            json_object_set_new(object, "classes", json_integer((json_int_t)a->classes));
        TRY(cli_print_json(plan_costs_json(object, set), err));
    } else if (!cli->quiet && several) {
        plan_costs_print(cli_text(cli), set);
    } else if (!cli->quiet) {
        plan_print(cli_text(cli), first);
        plan_cost_print(cli_text(cli), set);
    }
    TRY(cli_flush(err));
done:
    return st;
}

static pboost_status plan(cli_context *cli, const plan_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_data data = {0};
    pboost_coef prior = {0};
    plan_grid grid;
    pboost_plan *made = NULL;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    train_arguments files = a->train;

    TRY(read_grid(&grid, a, err));
    TRY(set_rules(&o.rules, a, &grid, err));
    NEED(made = calloc(grid.n, sizeof *made), err);
    files.prior = NULL; /* its weights are wanted, not its predictions */
    TRY(train_data_load(&data, cli, &files, err));
    if (a->train.prior != NULL) {
        TRY(prior_coef(&prior, a->train.prior, &data, err));
        o.assumed.coef = &prior;
    }
    set_options(&o, a, &grid);
    o.cancel = &cli->watch;
    pboost_features features = train_features(&data);
    plan_set set = {.n = grid.n,
                    .rows = features.x.rows,
                    .min_bag = grid.min_bag,
                    .plan = made,
                    .n_epsilon = grid.n_epsilon,
                    .epsilon = grid.epsilon,
                    .target = a->target,
                    .model = a->train.model};
    TRY(make_plans(made, &set, &features, &o, err));
    TRY(show(cli, a, &set, (const char *const *)data.encoding.column, err));
done:
    for (size_t i = 0; made != NULL && i < grid.n; i++)
        pboost_plan_free(&made[i]);
    free(made);
    pboost_coef_free(&prior);
    train_data_free(&data);
    return st;
}

/* ---- Sparse rows ----------------------------------------------------------------------------- */

static pboost_status refuse_dense_options(const plan_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name, *why;
    } refused[] = {
        {a->train.prior != NULL, "--prior", "the forecast starts from no model"},
        {a->train.offset != NULL, "--offset", "the forecast takes all rows at the mean label"},
        {a->train.no_intercept, "--no-intercept", "the forecast has one"},
        {a->train.out != NULL, "--out", "there is no chart; --json has all figures"},
        {a->has_l2, "--l2", "the forecast takes the right one"},
        {a->has_target, "--target", "it is found for dense tables only"},
        {a->has_model_error, "--model-error", "the forecast has none"},
        {a->has_sample, "--sample", "a part of the rows has another number of columns"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s cannot be used with sparse rows: %s",
                               refused[i].name, refused[i].why);
    return PBOOST_OK;
}

static pboost_status plan_sparse(cli_context *cli, const plan_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    plan_grid grid;
    pboost_rules rules = PBOOST_RULES_INIT;

    TRY(refuse_dense_options(a, err));
    TRY(read_grid(&grid, a, err));
    TRY(set_rules(&rules, a, &grid, err));
    plan_wide_options o = {.n = grid.n,
                           .n_epsilon = grid.n_epsilon,
                           .min_bag = grid.min_bag,
                           .epsilon = grid.epsilon,
                           .rules = rules,
                           .mean = a->mean,
                           .dispersion = a->dispersion};
    TRY(plan_wide(cli, &a->train, &o, err));
done:
    return st;
}

/* Of several classes the plan is that of one class against all others, as train makes it.  One
 * label changes two counts by one, so the noise of a count is that of labels between 0 and 2. */
static pboost_status set_classes(plan_arguments *a, pboost_error *err)
{
    train_arguments *t = &a->train;

    if (a->classes < 3)
        return pboost_fail(err, PBOOST_INVALID,
                           "--classes is %zu; it must be 3 or more (two classes are --family "
                           "logistic --bounds 0,1)",
                           a->classes);
    const char *other = t->wide                                            ? "sparse rows"
                        : t->has_bounds                                    ? "--bounds"
                        : t->has_family && t->family != PBOOST_LOGISTIC    ? "--family"
                        : t->model != NULL && strcmp(t->model, "glm") != 0 ? "--model"
                                                                           : NULL;
    if (other != NULL)
        return pboost_fail(err, PBOOST_INVALID,
                           "--classes cannot be used with %s: the plan is for a straight model of "
                           "the counts of classes",
                           other);
    t->family = PBOOST_LOGISTIC;
    t->has_family = t->has_bounds = true;
    t->bounds = (cli_bounds){0.0, 2.0};
    t->step = 1.0;
    if (t->model == NULL)
        t->model = "glm";
    return PBOOST_OK;
}

static pboost_status require(const plan_arguments *plan, pboost_error *err)
{
    const train_arguments *a = &plan->train;
    const char *missing = a->data == NULL        ? "--data"
                          : !a->has_family       ? "--family"
                          : plan->min_bag.n == 0 ? "--min-bag"
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

/* A plan needs neither curves nor the columns of trees.  Trees may be fitted to missing cells. */
static pboost_status check_model(train_arguments *a, pboost_error *err)
{
    pboost_status st = a->model != NULL ? train_model_check(a, err) : PBOOST_OK;
    a->curves = a->trees = false;
    return st;
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
    bool has_classes = false;
    const cli_option options[] = {
        {"--data", "FILE", cli_read_text, &t->data, NULL, "the features: " DATA_TABLE},
        {"--label", "COL", cli_read_text, &t->label, NULL, "a column that is not a feature"},
        {"--id", "COL", cli_read_text, &t->id, NULL, "a column that is not a feature"},
        COLUMN_OPTIONS(t->columns),
        {"--hash", "BITS", cli_read_count, &t->hash, NULL,
         "plan for train --hash: sparse rows of 2^BITS columns; the\n"
         "family is then logistic unless --family says otherwise"},
        {"--cross", "A*B,...", cli_read_list, &t->cross, NULL,
         "--hash: also each pair of values of columns A and B"},
        {"--index-base", "0|1", cli_read_text, &t->index_base, NULL,
         "svmlight files (.svm, .svmlight, .libsvm, or any name with\n"
         "this option): the first index; default: 0 if the file\n"
         "has an index 0, else 1"},
        {"--columns", "N", cli_read_count, &t->columns_given, NULL,
         "svmlight files: how many columns there are; default: as\n"
         "many as the largest index says"},
        {"--offset", "COL", cli_read_text, &t->offset, NULL,
         "added to the linear predictor, such as log exposure"},
        {"--family", CLI_FAMILIES, cli_read_family, &t->family, &t->has_family,
         "distribution of the labels"},
        {"--classes", "C", cli_read_count, &a.classes, &has_classes,
         "the label is one of C classes: the plan for one class\n"
         "against all others, each count with noise of scale 2/E"},
        {"--min-bag", "K,...", cli_read_list, &a.min_bag, NULL,
         "least rows in a bag: the label holder's rule"},
        {"--epsilon", "E,...", cli_read_list, &a.epsilon, NULL,
         "epsilon of the noise; none means no noise.  With several K\n"
         "or E, --json has every way of asking for the first pair"},
        {"--model", "glm|smooth|trees|auto", cli_read_text, &t->model, NULL,
         "what will be fitted to the answers; default: you choose it\n"
         "later.  Trees want smaller bags under noise"},
        {"--target", "P%", read_percent, &a.target, &a.has_target,
         "find the smallest epsilon for each K, and the number of\n"
         "rows for each pair, that lose at most P % of what all\n"
         "labels gain over a model that knows only the mean"},
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
        {"--model-error", "V", cli_read_not_negative, &a.model_error, &a.has_model_error,
         "variance that a wrong model leaves in every answer;\n"
         "default: 5 % of the variance of the means"},
        {"--l2", "L", cli_read_not_negative, &a.l2, &a.has_l2,
         "the penalty to plan for; default: as train chooses it"},
        {"--no-intercept", NULL, NULL, &t->no_intercept, NULL, "fit no intercept"},
        {"--sample", "N", cli_read_count, &a.sample, &a.has_sample,
         "forecast on N rows and scale; default 32768"},
        {"--seed", "S", cli_read_seed, &t->seed, NULL, "seed of the sample; default 0"},
        {"--threads", "N", cli_read_threads, &t->threads, NULL, "default: all cores"},
        {"--out", "FILE", cli_read_text, &t->out, NULL,
         "a chart: SVG if the name ends in .svg, otherwise a page"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    TRY(train_wide_check(t, err));
    if (has_classes)
        TRY(set_classes(&a, err));
    TRY(require(&a, err));
    TRY(check_model(t, err));
    TRY(t->wide ? plan_sparse(cli, &a, err) : plan(cli, &a, err));
done:
    column_arguments_free(&t->columns);
    cli_list_free(&t->cross);
    cli_list_free(&a.min_bag);
    cli_list_free(&a.epsilon);
    return st;
}

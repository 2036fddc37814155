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
    double mean, dispersion, model_error;
    size_t sample;
} plan_arguments;

/* ---- Beliefs and settings -------------------------------------------------------------------- */

/* The prior's weights, where its columns are those of the table. */
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
                 "%s: the model has %zu columns, the table %zu, or their names differ ('%s'); a "
                 "plan needs a prior with the columns of the table",
                 path, theirs->n_columns, ours->n_columns,
                 j < theirs->n_columns ? theirs->column[j] : "");
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

/* ---- For people ------------------------------------------------------------------------------ */

static void print_warnings(const cli_context *cli, const pboost_plan *plan)
{
    for (size_t i = 0; i < plan->n_warnings; i++)
        cli_note(cli, "warning: %s", plan->warning[i]);
}

static void print_assumptions(const pboost_plan *plan)
{
    printf("\nForecast for %zu rows from a sample of %zu and ", plan->rows, plan->sample_rows);
    if (plan->default_coef)
        printf("an assumed effect of modest size (no --prior)");
    else
        printf("the weights of the prior");
    printf(",\nmean label %.3g, dispersion %.3g%s.\n", plan->mean, plan->dispersion,
           plan->default_dispersion ? " (assumed)" : "");
    printf(
        "'excess' holds if the model is right; 'cautious' adds a model error of variance %.3g,\n"
        "which larger bags do not average out; recommended is what is least regretted either way.\n"
        "Nothing here was checked on labels; under noise train may learn from a small first "
        "round.\n",
        plan->model_error);
}

static void print_plan(const pboost_plan *plan)
{
    printf("  %-10s %-9s %6s %8s %8s %8s %10s %10s %10s  %s\n", "estimator", "bags", "rounds",
           "size", "bags", "epsilon", "excess", "cautious", "std error", "from");
    for (size_t i = 0; i < plan->n_points; i++) {
        const pboost_plan_point *p = &plan->point[i];
        char epsilon[PLAN_EPSILON_TEXT], se[32] = "-";
        plan_epsilon_text(epsilon, p->epsilon);
        if (!isnan(p->se))
            snprintf(se, sizeof se, "%.3g", p->se);
        printf("%c %-10s %-9s %6zu %8zu %8zu %8s %10.3g %10.3g %10s  %s\n",
               i == plan->best ? '*' : ' ', pboost_estimator_name(p->estimator),
               pboost_strategy_name(p->bags), p->rounds, p->bag_size, p->n_bags, epsilon, p->excess,
               p->cautious, se, plan_basis_name(p->forecast));
    }
    printf("  all labels %57s %10.3g\n  constant model %53s %10.3g\n", "", plan->all_labels, "",
           plan->constant);
    char options[PLAN_OPTIONS_TEXT];
    plan_options_text(options, plan);
    printf("\nRecommended: %s\nbecause %s.\n", options, plan->reason);
    print_assumptions(plan);
}

/* ---- As JSON --------------------------------------------------------------------------------- */

static json_t *describe_point(const pboost_plan_point *p)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:s}", "estimator",
                     pboost_estimator_name(p->estimator), "bags", pboost_strategy_name(p->bags),
                     "rounds", (json_int_t)p->rounds, "bag_size", (json_int_t)p->bag_size, "n_bags",
                     (json_int_t)p->n_bags, "epsilon", report_json_epsilon(p->epsilon), "excess",
                     report_json_number(p->excess), "cautious", report_json_number(p->cautious),
                     "standard_error", report_json_number(p->se), "forecast",
                     plan_basis_name(p->forecast));
}

static pboost_status print_json(const plan_arguments *a, const pboost_plan *plan,
                                const train_data *data, pboost_error *err)
{
    json_t *points = json_array(), *columns = json_array();
    for (size_t i = 0; points != NULL && i < plan->n_points; i++)
        json_array_append_new(points, describe_point(&plan->point[i]));
    for (size_t j = 0; columns != NULL && j < plan->n_columns; j++)
        json_array_append_new(columns, json_string(data->encoding.column[j]));
    return cli_print_json(
        json_pack(
            "{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, "
            "s:b, s:b, s:o, s:s, s:s}",
            "family", pboost_family_name(a->train.family), "min_bag", (json_int_t)a->train.min_bag,
            "rows", (json_int_t)plan->rows, "sample_rows", (json_int_t)plan->sample_rows, "best",
            (json_int_t)plan->best, "recommended", describe_point(&plan->point[plan->best]),
            "points", points, "columns", columns, "standard_errors",
            report_json_numbers(plan->se, plan->n_columns), "all_labels",
            report_json_number(plan->all_labels), "constant", report_json_number(plan->constant),
            "dispersion", report_json_number(plan->dispersion), "model_error",
            report_json_number(plan->model_error), "mean", report_json_number(plan->mean),
            "assumed_effect", (int)plan->default_coef, "assumed_dispersion",
            (int)plan->default_dispersion, "no_better_than_mean", (int)plan->no_better_than_mean,
            "rare", (int)plan->rare, "events", report_json_number(plan->events), "reason",
            plan->reason, "version", pboost_version()),
        err);
}

/* ---- The command ----------------------------------------------------------------------------- */

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
    TRY(train_data_load(&data, &files, err));
    if (a->train.prior != NULL) {
        TRY(prior_coef(&prior, a->train.prior, &data, err));
        o.assumed.coef = &prior;
    }
    o.family = a->train.family;
    o.epsilon = epsilon + 1;
    o.n_epsilon = a->epsilon.n > 0 ? a->epsilon.n - 1 : 0;
    o.intercept = !a->train.no_intercept;
    o.l2 = a->train.l2;
    o.assumed.mean = a->mean;
    o.assumed.dispersion = a->dispersion;
    o.assumed.model_error = a->model_error;
    o.max_rows = a->sample;
    o.seed = a->train.seed;
    o.threads = a->train.threads;
    pboost_matrix x = pboost_matrix_f64(data.x, data.rows, data.cols);
    TRY(pboost_plan_make(&made, &x, data.offset, &o, err));
    if (a->train.out != NULL)
        TRY(plan_write(a->train.out, &made, err));
    print_warnings(cli, &made);
    if (cli->json)
        TRY(print_json(a, &made, &data, err));
    else if (!cli->quiet)
        print_plan(&made);
    TRY(cli_flush(err));
done:
    pboost_plan_free(&made);
    pboost_coef_free(&prior);
    free(epsilon);
    train_data_free(&data);
    return st;
}

static pboost_status require(const train_arguments *a, pboost_error *err)
{
    const char *missing = a->data == NULL   ? "--data"
                          : !a->has_family  ? "--family"
                          : a->min_bag == 0 ? "--min-bag"
                                            : NULL;
    if (missing != NULL)
        return pboost_fail(err, PBOOST_INVALID, "%s is required; see 'priorboost plan --help'",
                           missing);
    if (a->impute != NULL && strcmp(a->impute, "mean") != 0)
        return pboost_fail(err, PBOOST_INVALID, "--impute is '%s'; it must be mean", a->impute);
    return PBOOST_OK;
}

pboost_status cli_plan(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    plan_arguments a = {.train = {.l2 = PBOOST_L2_DEFAULT, .no_labels = true},
                        .mean = NAN,
                        .dispersion = NAN,
                        .model_error = NAN,
                        .sample = (size_t)1 << 15};
    train_arguments *t = &a.train;
    const cli_option options[] = {
        {"--data", "FILE", cli_read_text, &t->data, NULL, "the features (CSV or NPY); - is stdin"},
        {"--label", "COL", cli_read_text, &t->label, NULL, "a column that is not a feature"},
        {"--id", "COL", cli_read_text, &t->id, NULL, "a column that is not a feature"},
        {"--exclude", "COL,...", cli_read_list, &t->exclude, NULL, "columns that are not features"},
        {"--categorical", "COL,...", cli_read_list, &t->categorical, NULL,
         "columns of numbers that are codes of categories"},
        {"--offset", "COL", cli_read_text, &t->offset, NULL,
         "added to the linear predictor, such as log exposure"},
        {"--impute", "mean", cli_read_text, &t->impute, NULL,
         "replace missing numbers by the mean, missing categories\nby the first level"},
        {"--family", CLI_FAMILIES, cli_read_family, &t->family, &t->has_family,
         "distribution of the labels"},
        {"--min-bag", "K", cli_read_count, &t->min_bag, NULL,
         "least rows in a bag: the label holder's rule"},
        {"--epsilon", "E,...", cli_read_list, &a.epsilon, NULL,
         "of the noise; the plan is made for the first, the others\n"
         "are forecast too; none means no noise"},
        {"--bounds", "LO,HI", cli_read_bounds, &t->bounds, &t->has_bounds,
         "public bounds of the labels"},
        {"--step", "Q", cli_read_positive, &t->step, NULL,
         "labels are rounded to multiples of Q; default: the\n"
         "largest power of two <= (HI-LO)/2^20"},
        {"--prior", "FILE", cli_read_text, &t->prior, NULL,
         "a model that the plan assumes to be about right"},
        {"--mean", "M", cli_read_number, &a.mean, NULL,
         "the mean label, if it is known; default: assumed from\n"
         "family and bounds"},
        {"--dispersion", "P", cli_read_positive, &a.dispersion, NULL,
         "the labels' variance is P times the family's; default:\n"
         "assumed from family and bounds"},
        {"--model-error", "V", cli_read_not_negative, &a.model_error, NULL,
         "variance that a wrong model leaves in every answer;\n"
         "default: 5 % of the variance of the means"},
        {"--l2", "L", cli_read_not_negative, &t->l2, NULL,
         "the penalty to plan for; default: as train chooses it"},
        {"--no-intercept", NULL, NULL, &t->no_intercept, NULL, "fit no intercept"},
        {"--sample", "N", cli_read_count, &a.sample, NULL,
         "forecast on N rows and scale; default 32768"},
        {"--seed", "S", cli_read_seed, &t->seed, NULL, "of the sample; default 0"},
        {"--threads", "N", cli_read_threads, &t->threads, NULL, "default: all cores"},
        {"--out", "FILE", cli_read_text, &t->out, NULL,
         "a chart: SVG if the name ends in .svg, otherwise a page"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    TRY(require(t, err));
    TRY(plan(cli, &a, err));
done:
    cli_list_free(&t->exclude);
    cli_list_free(&t->categorical);
    cli_list_free(&a.epsilon);
    return st;
}

/* priorboost train: what it prints and the model it writes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run.h"
#include "train.h"

static const pboost_coef *final_coef(const train_result *r)
{
    return &r->path[r->rounds - 1];
}

static const char *strategy_in_use(const train_result *r)
{
    if (r->given)
        return "given";
    return pboost_strategy_name(r->options.algorithm == PBOOST_ONESHOT ? PBOOST_BAGS_RANDOM
                                                                       : r->options.bags);
}

static const char *algorithm_in_use(const train_result *r)
{
    return r->given ? "given" : pboost_algorithm_name(r->options.algorithm);
}

static const char *method_in_use(const train_arguments *a)
{
    return a->automatic ? "auto" : "paper";
}

/* Of column j, or of the intercept for j == cols; NaN where unknown. */
static double standard_error(const train_result *r, size_t cols, size_t j)
{
    double variance = r->covariance != NULL ? r->covariance[j * (cols + 2)] : NAN;
    return variance > 0.0 ? sqrt(variance) : NAN;
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Rounds worth a line: the first, the last, and the powers of two between. */
static bool worth_a_line(size_t round, size_t rounds)
{
    return round == rounds || (round & (round - 1)) == 0;
}

static void print_number(double value, int width)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.6g", width, value);
}

static void print_history(const train_result *r)
{
    printf("%7s %10s %8s %14s %12s %12s\n", "round", "rows", "bags", "within-bag ss",
           "bag deviance", "test loss");
    for (size_t t = 0; t < r->rounds; t++) {
        const pboost_round *h = &r->history[t];
        if (!worth_a_line(h->round, r->rounds))
            continue;
        printf("%7zu %10zu %8zu", h->round, h->rows, h->bags);
        print_number(h->within, 14);
        print_number(r->bag_deviance[t], 12);
        print_number(h->test_loss, 12);
        putchar('\n');
    }
}

static void print_weight(const char *name, double weight, double error)
{
    printf("%-32s % -12.6g", name, weight);
    if (!isnan(error))
        printf(" %-12.4g % .6g to % .6g", error, weight - CLI_Z95 * error,
               weight + CLI_Z95 * error);
    putchar('\n');
}

static void print_coef(const pboost_encoding *encoding, const train_result *r, bool intercept)
{
    const pboost_coef *coef = final_coef(r);
    printf("\n%-32s %-12s", "column", " weight");
    printf(r->covariance != NULL ? " %-12s %s\n" : "\n", "std. error", " 95 % interval");
    for (size_t j = 0; j < coef->n; j++)
        print_weight(encoding->column[j], coef->theta[j], standard_error(r, coef->n, j));
    if (intercept)
        print_weight("(intercept)", coef->intercept, standard_error(r, coef->n, coef->n));
}

static void print_fit(const train_result *r)
{
    const pboost_fit_report *f = &r->fit;
    if (r->estimator != PBOOST_AGGREGATE)
        return;
    printf("\nl2 %.4g%s, dispersion %.4g, %.4g effective degrees of freedom of %zu bags\n", f->l2,
           f->l2_standardized ? " on standardised features" : "", f->dispersion, f->freedom,
           f->bags);
}

/* If the fit is refused, the error says why. */
static void tell_warnings(cli_context *cli, const train_arguments *a, const train_result *r)
{
    if (!r->usable && !a->force)
        return;
    for (size_t i = 0; i < r->n_warnings; i++)
        cli_note(cli, "warning: %s", r->warning[i].text);
}

pboost_status train_print(cli_context *cli, const train_arguments *a, const train_data *data,
                          const train_result *r, pboost_error *err)
{
    tell_warnings(cli, a, r);
    if (cli->quiet)
        return PBOOST_OK;
    printf("%s, method %s, %s, %s estimator, %s bags of at least %zu, ",
           pboost_family_name(a->family), method_in_use(a), algorithm_in_use(r),
           pboost_estimator_name(r->estimator), strategy_in_use(r),
           r->options.bag_size > 0 ? r->options.bag_size : r->rules.min_bag);
    if (r->rules.epsilon.den > 0)
        printf("epsilon %g%s\n", pboost_rational_value(r->rules.epsilon),
               r->simulated ? " (simulated noise)" : "");
    else
        printf("no noise\n");
    printf("%zu rows spent in %zu round%s, %.2f s\n\n", r->rows_spent, r->rounds,
           r->rounds > 1 ? "s" : "", r->seconds);
    print_history(r);
    print_coef(&data->encoding, r, !a->no_intercept);
    print_fit(r);
    if (a->out != NULL)
        printf("\nmodel written to %s\n", a->out);
    return cli_flush(err);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static json_t *describe_round(const train_result *r, size_t t)
{
    const pboost_round *h = &r->history[t];
    json_t *round = json_pack("{s:I, s:I, s:I, s:o}", "round", (json_int_t)h->round, "rows",
                              (json_int_t)h->rows, "bags", (json_int_t)h->bags, "within",
                              cli_json_number(h->within));
    if (round != NULL) {
        json_object_set_new(round, "bag_deviance", cli_json_number(r->bag_deviance[t]));
        json_object_set_new(round, "bag_deviance_ahead", cli_json_number(r->bag_deviance_ahead[t]));
        json_object_set_new(round, "smallest_bag",
                            json_integer((json_int_t)r->bags_asked[t].smallest));
        json_object_set_new(round, "largest_bag",
                            json_integer((json_int_t)r->bags_asked[t].largest));
        json_object_set_new(round, "spread", cli_json_number(r->bags_asked[t].spread));
    }
    if (round != NULL && !isnan(h->test_loss))
        json_object_set_new(round, "test_loss", cli_json_number(h->test_loss));
    return round;
}

static json_t *describe_history(const train_result *r)
{
    json_t *history = json_array();
    for (size_t t = 0; history != NULL && t < r->rounds; t++)
        json_array_append_new(history, describe_round(r, t));
    return history;
}

static json_t *describe_columns(const pboost_encoding *encoding)
{
    json_t *columns = json_array();
    for (size_t j = 0; columns != NULL && j < encoding->n_columns; j++)
        json_array_append_new(columns, json_string(encoding->column[j]));
    return columns;
}

static json_t *describe_run(const train_arguments *a, const train_result *r)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:f, s:b, s:I}", "family",
        pboost_family_name(a->family), "method", method_in_use(a), "algorithm", algorithm_in_use(r),
        "estimator", pboost_estimator_name(r->estimator), "bags", strategy_in_use(r), "schedule",
        pboost_schedule_name(r->options.schedule), "min_bag", (json_int_t)r->rules.min_bag,
        "bag_size", (json_int_t)(r->options.bag_size > 0 ? r->options.bag_size : r->rules.min_bag),
        "rounds", (json_int_t)r->rounds, "rows_spent", (json_int_t)r->rows_spent, "epsilon",
        cli_json_epsilon(r->rules.epsilon), "l2", r->fit.l2, "simulated", (int)r->simulated, "seed",
        (json_int_t)a->seed);
}

static void describe_fit(json_t *report, const train_data *data, const train_result *r)
{
    const pboost_fit_report *f = &r->fit;
    json_t *errors = json_array();
    size_t n = data->cols;
    if (r->estimator == PBOOST_INTERPOLATED)
        json_object_set_new(report, "rho", cli_json_number(r->fit_options.rho));
    if (r->estimator != PBOOST_AGGREGATE) {
        json_decref(errors);
        return;
    }
    for (size_t j = 0; j < n; j++)
        json_array_append_new(errors, cli_json_number(standard_error(r, n, j)));
    json_object_set_new(report, "standard_errors", errors);
    json_object_set_new(report, "intercept_standard_error",
                        cli_json_number(standard_error(r, n, n)));
    json_object_set_new(report, "covariance",
                        json_string(r->fit_options.covariance == PBOOST_COVARIANCE_SANDWICH
                                        ? "sandwich"
                                        : "model"));
    json_object_set_new(report, "l2_standardized", json_boolean(f->l2_standardized));
    json_object_set_new(report, "dispersion", cli_json_number(f->dispersion));
    json_object_set_new(report, "pearson", cli_json_number(f->pearson));
    json_object_set_new(report, "effective_freedom", cli_json_number(f->freedom));
    json_object_set_new(report, "eta_sd", cli_json_number(f->eta_sd));
    json_object_set_new(report, "separable", json_boolean(f->separable));
}

static json_t *describe_warnings(const train_result *r)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < r->n_warnings; i++)
        json_array_append_new(array, json_string(r->warning[i].text));
    return array;
}

pboost_status train_print_json(cli_context *cli, const train_arguments *a, const train_data *data,
                               const train_result *r, pboost_error *err)
{
    const pboost_coef *coef = final_coef(r);
    json_t *report = describe_run(a, r);

    if (report == NULL)
        return cli_print_json(NULL, err);
    json_object_set_new(report, "columns", describe_columns(&data->encoding));
    json_object_set_new(report, "theta", cli_json_numbers(coef->theta, coef->n));
    json_object_set_new(report, "intercept", cli_json_number(coef->intercept));
    json_object_set_new(report, "history", describe_history(r));
    if (a->automatic && !r->given)
        json_object_set_new(report, "plan", train_describe_plan(r));
    if (a->test != NULL)
        json_object_set_new(report, "test_loss",
                            cli_json_number(r->history[r->rounds - 1].test_loss));
    if (a->oracle != NULL)
        json_object_set_new(report, "oracle", json_string(a->oracle));
    if (a->oracle != NULL || a->unit != NULL)
        json_object_set_new(report, "rows_left_out",
                            json_integer((json_int_t)r->unavailable + (json_int_t)r->same_unit));
    describe_fit(report, data, r);
    json_object_set_new(report, "warnings", describe_warnings(r));
    tell_warnings(cli, a, r);
    json_object_set_new(report, "converged", json_boolean(r->fit.converged));
    json_object_set_new(report, "usable", json_boolean(r->usable));
    json_object_set_new(report, "rank", json_integer((json_int_t)r->fit.rank));
    json_object_set_new(report, "out", cli_json_text(r->usable || a->force ? a->out : NULL));
    json_object_set_new(report, "version", json_string(pboost_version()));
    json_object_set_new(report, "seconds", cli_json_number(r->seconds));
    return cli_print_json(report, err);
}

/* ---- The model ------------------------------------------------------------------------------- */

/* Strings and arrays are lent by the arguments and the result; nothing here is owned. */
static pboost_model lend_model(const train_arguments *a, const train_data *data,
                               const train_result *r)
{
    pboost_model model = {.family = a->family,
                          .encoding = data->encoding,
                          .coef = *final_coef(r),
                          .label = (char *)(uintptr_t)a->label,
                          .positive = (char *)(uintptr_t)a->positive,
                          .offset = (char *)(uintptr_t)a->offset,
                          .covariance = r->covariance};
    model.training =
        (pboost_training){.algorithm = (char *)(uintptr_t)algorithm_in_use(r),
                          .estimator = (char *)(uintptr_t)pboost_estimator_name(r->estimator),
                          .bags = (char *)(uintptr_t)strategy_in_use(r),
                          .min_bag = r->rules.min_bag,
                          .rounds = r->rounds,
                          .rows_spent = r->rows_spent,
                          .epsilon = r->rules.epsilon,
                          .l2 = r->fit.l2,
                          .simulated = r->simulated,
                          .has_seed = a->has_seed,
                          .seed = a->seed};
    return model;
}

/* What is known of the run beyond the model; no time, so that the same run writes the same file. */
static json_t *describe_record(const train_arguments *a, const train_data *data,
                               const train_result *r)
{
    const pboost_rules *rules = &r->rules;
    json_t *record = json_object();
    if (record == NULL)
        return NULL;
    json_object_set_new(record, "version", json_string(pboost_version()));
    json_object_set_new(record, "method", json_string(method_in_use(a)));
    json_object_set_new(record, "schedule", json_string(pboost_schedule_name(r->options.schedule)));
    json_object_set_new(
        record, "bag_size",
        json_integer((json_int_t)(r->options.bag_size > 0 ? r->options.bag_size : rules->min_bag)));
    json_object_set_new(record, "bounds",
                        rules->bounded ? json_pack("[f,f]", rules->lower, rules->upper)
                                       : json_null());
    json_object_set_new(record, "rows", json_integer((json_int_t)data->rows));
    json_object_set_new(record, "remote", json_boolean(a->oracle != NULL));
    json_object_set_new(record, "history", describe_history(r));
    describe_fit(record, data, r);
    if (a->automatic && !r->given) {
        const pboost_plan *forecast = &r->choice.plan;
        json_t *plan = train_describe_plan(r), *errors = json_array();
        for (size_t j = 0; j < forecast->n_columns && forecast->se != NULL; j++)
            json_array_append_new(
                errors,
                cli_json_number(forecast->se[j] / (data->scale != NULL ? data->scale[j] : 1.0)));
        json_object_set_new(plan, "standard_errors", errors);
        json_object_set_new(record, "plan", plan);
    }
    json_object_set_new(record, "warnings", describe_warnings(r));
    return record;
}

/* The model file: the model, and under "run" how it came about, for 'priorboost report'. */
static pboost_status model_text(char **out, const train_arguments *a, const train_data *data,
                                const train_result *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model model = lend_model(a, data, r);
    char *text = NULL;
    json_t *root = NULL;

    *out = NULL;
    TRY(pboost_model_print(&text, &model, err));
    NEED(root = json_loads(text, 0, NULL), err);
    json_object_set_new(root, "run", describe_record(a, data, r));
    TRY(cli_json_check(root, err));
    NEED(*out = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17)), err);
done:
    json_decref(root);
    free(text);
    return st;
}

pboost_status train_write_model(pboost_output *output, const train_arguments *a, train_data *data,
                                const train_result *r, pboost_error *err)
{
    char *text = NULL;
    pboost_status st = model_text(&text, a, data, r, err);

    if (st != PBOOST_OK) {
        pboost_output_discard(output);
        return st;
    }
    fprintf(pboost_output_stream(output), "%s\n", text);
    free(text);
    return pboost_output_commit(output, err);
}

pboost_status train_write_page(pboost_output *output, const train_arguments *a, train_data *data,
                               const train_result *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *text = NULL;
    run_record run = {0};

    TRY(model_text(&text, a, data, r, err));
    TRY(run_parse(&run, text, a->out != NULL ? a->out : "this run", err));
    TRY(run_write_page(pboost_output_stream(output), &run, 1, err));
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    run_free(&run);
    free(text);
    return st;
}

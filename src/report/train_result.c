/* The result of a training: the text and JSON that are printed, the model file, the page. */
#include "train_result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "class_result.h"
#include "report_json.h"
#include "run_record.h"
#include "train_members.h"
#include "try.h"

/* A curve is clearly bent if its weights, in squared standard errors, are above what a straight
 * line would show by this many standard deviations. */
#define CURVED 3.0

/* Empty where the model is a mixture or one of classes. */
static const pboost_coef *final_coef(const train_result *r)
{
    static const pboost_coef NONE = {0};
    return r->mixture.n > 0 || r->class_path != NULL ? &NONE : &r->path[r->rounds - 1];
}

static const char *family_in_use(const train_description *d)
{
    return d->classes > 0 ? "classes" : pboost_family_name(d->family);
}

/* Bags of classes, of several labels and of sparse rows are chosen by a rule, without a forecast.
 */
static bool has_plan(const train_description *d)
{
    return d->automatic && d->result->choice.plan.point != NULL;
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

static size_t bag_size_in_use(const train_result *r)
{
    return r->options.bag_size > 0 ? r->options.bag_size : r->rules.min_bag;
}

static const char *method_in_use(const train_description *d)
{
    return d->automatic ? "auto" : "paper";
}

/* Of column j, or of the intercept for j == cols; NaN where unknown. */
static double standard_error(const train_result *r, size_t cols, size_t j)
{
    double variance = r->covariance != NULL ? r->covariance[j * (cols + 2)] : NAN;
    return variance > 0.0 ? sqrt(variance) : NAN;
}

/* ---- The model ------------------------------------------------------------------------------- */

/* Strings and arrays are borrowed from the description. */
static pboost_model lend_model(const train_description *d)
{
    const train_result *r = d->result;
    pboost_model model = {.family = d->family,
                          .encoding = *d->encoding,
                          .coef = *final_coef(r),
                          .label = (char *)(uintptr_t)d->label,
                          .positive = (char *)(uintptr_t)d->positive,
                          .offset = (char *)(uintptr_t)d->offset,
                          .covariance = r->mixture.n > 0 ? NULL : r->covariance,
                          .mixture = r->mixture};
    if (d->classes > 0)
        model.classes = (pboost_model_classes){.n = d->classes,
                                               .name = (char **)(uintptr_t)d->class_name,
                                               .coef = r->class_path[r->rounds - 1]};
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
                          .has_seed = d->has_seed,
                          .seed = d->seed};
    if (d->sparse != NULL) {
        model.encoding = (pboost_encoding){0};
        model.covariance = NULL; /* that of the weights that are shown */
        model.coef = *d->sparse_coef;
        model.sparse = *d->sparse;
    }
    return model;
}

/* ---- Curves ---------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    double freedom; /* effective degrees of freedom beyond the straight line */
    bool curved;    /* clearly */
} curve_line;

/* The next feature from *feature on that has a curve; *curve counts them. */
static bool next_curve(curve_line *out, const train_description *d, size_t *feature, size_t *curve)
{
    const pboost_encoding *e = d->encoding;
    pboost_model model = lend_model(d);
    double bend;

    while (*feature < e->n_features && e->feature[*feature].curve.n == 0)
        ++*feature;
    if (*feature == e->n_features || d->result->curve_freedom == NULL)
        return false;
    pboost_model_bend(&bend, &model, *feature, NULL);
    double freedom = d->result->curve_freedom[*curve];
    *out = (curve_line){e->feature[*feature].name, freedom,
                        bend > freedom + CURVED * sqrt(2.0 * freedom)};
    ++*feature;
    ++*curve;
    return true;
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Rounds that get a line: the first, the last, and the powers of two between. */
static bool worth_a_line(size_t round, size_t rounds)
{
    return round == rounds || (round & (round - 1)) == 0;
}

static void print_number(FILE *out, double value, int width)
{
    if (isnan(value))
        fprintf(out, " %*s", width, "-");
    else
        fprintf(out, " %*.6g", width, value);
}

static void print_history(FILE *out, const train_result *r)
{
    fprintf(out, "%7s %10s %8s %14s %12s %12s\n", "round", "rows", "bags", "within-bag ss",
            "bag deviance", "test loss");
    for (size_t t = 0; t < r->rounds; t++) {
        const pboost_round *h = &r->history[t];
        if (!worth_a_line(h->round, r->rounds))
            continue;
        fprintf(out, "%7zu %10zu %8zu", h->round, h->rows, h->bags);
        print_number(out, h->within, 14);
        print_number(out, r->bag_deviance[t], 12);
        print_number(out, h->test_loss, 12);
        fputc('\n', out);
    }
}

static void print_weight(FILE *out, const char *name, double weight, double error)
{
    fprintf(out, "%-32s % -12.6g", name, weight);
    if (!isnan(error))
        fprintf(out, " %-12.4g % .6g to % .6g", error, weight - RUN_Z95 * error,
                weight + RUN_Z95 * error);
    fputc('\n', out);
}

/* Of sparse rows: the columns whose weight is not 0. */
static size_t count_weights(const train_description *d)
{
    size_t n = 0;
    for (size_t j = 0; j < d->sparse_coef->n; j++)
        n += d->sparse_coef->theta[j] != 0.0;
    return n;
}

static void print_coef(FILE *out, const train_description *d)
{
    const train_result *r = d->result;
    const pboost_coef *coef = final_coef(r);
    if (d->sparse != NULL)
        fprintf(out, "\n%zu of %zu columns have a weight; the heaviest are these\n",
                count_weights(d), d->sparse->columns);
    fprintf(out, "\n%-32s %-12s", "column", " weight");
    fprintf(out, r->covariance != NULL ? " %-12s %s\n" : "\n", "std. error", " 95 % interval");
    for (size_t j = 0; j < coef->n - d->encoding->n_curves; j++)
        print_weight(out, d->encoding->column[j], coef->theta[j], standard_error(r, coef->n, j));
    if (d->intercept)
        print_weight(out, "(intercept)", coef->intercept, standard_error(r, coef->n, coef->n));
}

static void print_curves(FILE *out, const train_description *d)
{
    size_t feature = 0, curve = 0;
    curve_line line;
    if (d->encoding->n_curves > 0)
        fprintf(out, "\n%-32s %-12s\n", "curve", "eff. degrees of freedom");
    while (next_curve(&line, d, &feature, &curve))
        fprintf(out, "%-32s %-12.3g %s\n", line.name, line.freedom,
                line.curved ? "clearly curved" : "not clearly curved");
}

static void print_fit(FILE *out, const train_result *r)
{
    const pboost_fit_report *f = &r->fit;
    if (r->estimator != PBOOST_AGGREGATE)
        return;
    fprintf(out, "\nl2 %.4g%s, dispersion %.4g, %.4g effective degrees of freedom of %zu bags\n",
            f->l2, f->l2_standardized ? " on standardised features" : "", f->dispersion, f->freedom,
            f->bags);
    if (f->redundant > 0)
        fprintf(out, "%zu answer%s left out: %s from others\n", f->redundant,
                f->redundant > 1 ? "s are" : " is",
                f->redundant > 1 ? "they follow" : "it follows");
    if (r->fit_options.bag_effects)
        fprintf(out, "bag effects have standard deviation %.4g in the linear predictor\n",
                f->bag_effect_sd);
    for (size_t i = 0; i < r->n_assumptions; i++)
        fprintf(out, "%s%s\n", i == 0 ? "\nassumed:\n- " : "- ", r->assumption[i]);
}

void train_print(FILE *out, const train_description *d)
{
    const train_result *r = d->result;
    bool mixture = r->mixture.n > 0;
    fprintf(out, "%s, method %s, %s, %s %s, %s bags of at least %zu, ", family_in_use(d),
            method_in_use(d), algorithm_in_use(r),
            mixture ? "model" : pboost_estimator_name(r->estimator),
            mixture ? r->model : "estimator", strategy_in_use(r), bag_size_in_use(r));
    if (r->rules.epsilon.den > 0)
        fprintf(out, "epsilon %g%s\n", pboost_rational_value(r->rules.epsilon),
                r->simulated ? " (simulated noise)" : "");
    else
        fprintf(out, r->given && r->fit.noisy ? "answers with noise\n" : "no noise\n");
    fprintf(out, "%zu rows spent in %zu round%s, %.2f s\n\n", r->rows_spent, r->rounds,
            r->rounds > 1 ? "s" : "", r->seconds);
    print_history(out, r);
    if (d->classes > 0) {
        class_print(out, d);
        if (!mixture)
            print_fit(out, r);
    } else if (mixture) {
        train_print_members(out, d);
        train_print_effects(out, d);
    } else {
        print_coef(out, d);
        print_curves(out, d);
        print_fit(out, r);
    }
    if (d->out != NULL)
        fprintf(out, "\nmodel written to %s\n", d->out);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static json_t *describe_round(const train_result *r, size_t t)
{
    const pboost_round *h = &r->history[t];
    json_t *round = json_pack("{s:I, s:I, s:I, s:o}", "round", (json_int_t)h->round, "rows",
                              (json_int_t)h->rows, "bags", (json_int_t)h->bags, "within",
                              report_json_number(h->within));
    if (round != NULL) {
        json_object_set_new(round, "bag_deviance", report_json_number(r->bag_deviance[t]));
        json_object_set_new(round, "bag_deviance_ahead",
                            report_json_number(r->bag_deviance_ahead[t]));
        json_object_set_new(round, "smallest_bag",
                            json_integer((json_int_t)r->bags_asked[t].smallest));
        json_object_set_new(round, "largest_bag",
                            json_integer((json_int_t)r->bags_asked[t].largest));
        json_object_set_new(round, "spread", report_json_number(r->bags_asked[t].spread));
    }
    if (round != NULL && !isnan(h->test_loss))
        json_object_set_new(round, "test_loss", report_json_number(h->test_loss));
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

static json_t *describe_run(const train_description *d)
{
    const train_result *r = d->result;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:f, s:b, s:I}",
                     "family", family_in_use(d), "method", method_in_use(d), "algorithm",
                     algorithm_in_use(r), "estimator", pboost_estimator_name(r->estimator), "bags",
                     strategy_in_use(r), "schedule", pboost_schedule_name(r->options.schedule),
                     "min_bag", (json_int_t)r->rules.min_bag, "bag_size",
                     (json_int_t)bag_size_in_use(r), "rounds", (json_int_t)r->rounds, "rows_spent",
                     (json_int_t)r->rows_spent, "epsilon", report_json_epsilon(r->rules.epsilon),
                     "l2", r->fit.l2, "simulated", (int)r->simulated, "seed", (json_int_t)d->seed);
}

static void describe_errors(json_t *report, const train_result *r)
{
    json_t *errors = json_array();
    size_t n = final_coef(r)->n;
    for (size_t j = 0; j < n; j++)
        json_array_append_new(errors, report_json_number(standard_error(r, n, j)));
    json_object_set_new(report, "standard_errors", errors);
    json_object_set_new(report, "intercept_standard_error",
                        report_json_number(standard_error(r, n, n)));
}

static void describe_fit(json_t *report, const train_description *d)
{
    const train_result *r = d->result;
    const pboost_fit_report *f = &r->fit;
    if (r->estimator == PBOOST_INTERPOLATED)
        json_object_set_new(report, "rho", report_json_number(r->fit_options.rho));
    if (r->estimator != PBOOST_AGGREGATE || r->mixture.n > 0)
        return;
    if (d->classes > 0)
        class_describe_errors(report, d);
    else
        describe_errors(report, r);
    json_object_set_new(report, "covariance",
                        json_string(r->fit_options.covariance == PBOOST_COVARIANCE_SANDWICH
                                        ? "sandwich"
                                        : "model"));
    json_object_set_new(report, "l2_standardized", json_boolean(f->l2_standardized));
    json_object_set_new(report, "dispersion", report_json_number(f->dispersion));
    json_object_set_new(report, "pearson", report_json_number(f->pearson));
    if (r->fit_options.bag_effects)
        json_object_set_new(report, "bag_effect_sd", report_json_number(f->bag_effect_sd));
    if (f->redundant > 0)
        json_object_set_new(report, "redundant", json_integer((json_int_t)f->redundant));
    json_object_set_new(report, "effective_freedom", report_json_number(f->freedom));
    json_object_set_new(report, "eta_sd", report_json_number(f->eta_sd));
    json_object_set_new(report, "separable", json_boolean(f->separable));
}

static void describe_curves(json_t *report, const train_description *d)
{
    size_t feature = 0, curve = 0;
    json_t *array = json_array();
    curve_line line;
    while (array != NULL && next_curve(&line, d, &feature, &curve))
        json_array_append_new(array,
                              json_pack("{s:s, s:o, s:b}", "column", line.name, "freedom",
                                        report_json_number(line.freedom), "curved", line.curved));
    if (d->encoding->n_curves > 0)
        json_object_set(report, "curves", array);
    json_decref(array);
}

static json_t *describe_warnings(const train_result *r)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < r->n_warnings; i++)
        json_array_append_new(array, json_string(r->warning[i].text));
    return array;
}

static json_t *describe_assumptions(const train_result *r)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < r->n_assumptions; i++)
        json_array_append_new(array, json_string(r->assumption[i]));
    return array;
}

static json_t *describe_sparse(const train_description *d)
{
    return json_pack("{s:I, s:I, s:I}", "columns", (json_int_t)d->sparse->columns, "weights",
                     (json_int_t)count_weights(d), "hash_bits",
                     (json_int_t)d->sparse->hashing.bits);
}

static json_t *describe_plan(const train_result *r)
{
    const pboost_choice *choice = &r->choice;
    const pboost_plan *plan = &choice->plan;
    const pboost_plan_point *best = &plan->point[plan->best];
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:s}", "planned_bag_size",
        (json_int_t)choice->planned_bag_size, "forecast_excess", report_json_number(best->excess),
        "forecast_cautious", report_json_number(best->cautious), "forecast_all_labels",
        report_json_number(plan->all_labels), "forecast_constant",
        report_json_number(plan->constant), "learnt_dispersion",
        report_json_number(choice->learnt.dispersion), "learnt_model_error",
        report_json_number(choice->learnt.model_error), "no_better_than_mean",
        (int)plan->no_better_than_mean, "rare", (int)plan->rare, "reason", plan->reason);
}

json_t *train_json(const train_description *d)
{
    const train_result *r = d->result;
    const pboost_coef *coef = final_coef(r);
    json_t *report = describe_run(d);

    if (report == NULL)
        return NULL;
    json_object_set_new(report, "columns", describe_columns(d->encoding));
    json_object_set_new(report, "theta", report_json_numbers(coef->theta, coef->n));
    json_object_set_new(report, "intercept", report_json_number(coef->intercept));
    if (d->classes > 0)
        class_describe(report, d);
    json_object_set_new(report, "history", describe_history(r));
    if (d->sparse != NULL)
        json_object_set_new(report, "sparse", describe_sparse(d));
    if (has_plan(d))
        json_object_set_new(report, "plan", describe_plan(r));
    if (d->tested)
        json_object_set_new(report, "test_loss",
                            report_json_number(r->history[r->rounds - 1].test_loss));
    if (d->oracles == 1)
        json_object_set_new(report, "oracle", json_string(d->oracle[0]));
    for (size_t i = 0; d->oracles > 1 && i < d->oracles; i++) {
        if (i == 0)
            json_object_set_new(report, "oracle", json_array());
        json_array_append_new(json_object_get(report, "oracle"), json_string(d->oracle[i]));
    }
    if (d->leaves_out)
        json_object_set_new(report, "rows_left_out",
                            json_integer((json_int_t)r->unavailable + (json_int_t)r->same_unit));
    describe_fit(report, d);
    train_describe_model(report, d);
    if (r->n_assumptions > 0)
        json_object_set_new(report, "assumptions", describe_assumptions(r));
    describe_curves(report, d);
    json_object_set_new(report, "warnings", describe_warnings(r));
    json_object_set_new(report, "converged", json_boolean(r->fit.converged));
    json_object_set_new(report, "usable", json_boolean(r->usable));
    json_object_set_new(report, "rank", json_integer((json_int_t)r->fit.rank));
    json_object_set_new(report, "out", report_json_text(d->out));
    json_object_set_new(report, "version", json_string(pboost_version()));
    json_object_set_new(report, "seconds", report_json_number(r->seconds));
    return report;
}

/* What is known of the run beyond the model; no time, so that the same run writes the same file. */
static json_t *describe_record(const train_description *d)
{
    const train_result *r = d->result;
    const pboost_rules *rules = &r->rules;
    json_t *record = json_object();
    if (record == NULL)
        return NULL;
    json_object_set_new(record, "version", json_string(pboost_version()));
    json_object_set_new(record, "method", json_string(method_in_use(d)));
    json_object_set_new(record, "schedule", json_string(pboost_schedule_name(r->options.schedule)));
    json_object_set_new(record, "bag_size", json_integer((json_int_t)bag_size_in_use(r)));
    json_object_set_new(record, "bounds",
                        rules->bounded ? json_pack("[f,f]", rules->lower, rules->upper)
                                       : json_null());
    json_object_set_new(record, "rows", json_integer((json_int_t)d->rows));
    json_object_set_new(record, "remote", json_boolean(d->oracles > 0));
    json_object_set_new(record, "history", describe_history(r));
    describe_fit(record, d);
    train_describe_model(record, d);
    describe_curves(record, d);
    if (d->sparse != NULL)
        json_object_set_new(record, "heaviest",
                            json_pack("{s:o, s:o}", "columns", describe_columns(d->encoding),
                                      "weights",
                                      report_json_numbers(final_coef(r)->theta, final_coef(r)->n)));
    if (has_plan(d)) {
        const pboost_plan *forecast = &r->choice.plan;
        json_t *plan = describe_plan(r), *errors = json_array();
        for (size_t j = 0; j < forecast->n_columns && forecast->se != NULL; j++)
            json_array_append_new(
                errors,
                report_json_number(forecast->se[j] / (d->scale != NULL ? d->scale[j] : 1.0)));
        json_object_set_new(plan, "standard_errors", errors);
        json_object_set_new(record, "plan", plan);
    }
    if (r->n_assumptions > 0)
        json_object_set_new(record, "assumptions", describe_assumptions(r));
    json_object_set_new(record, "warnings", describe_warnings(r));
    return record;
}

/* The model file: the model, and under "run" how it came about, for 'priorboost report'. */
static pboost_status model_text(char **out, const train_description *d, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model model = lend_model(d);
    char *text = NULL;
    json_t *root = NULL;

    *out = NULL;
    TRY(pboost_model_print(&text, &model, err));
    NEED(root = json_loads(text, 0, NULL), err);
    json_object_set_new(root, "run", describe_record(d));
    TRY(report_json_check(root, err));
    bool long_one = model.mixture.n > 0 || d->sparse != NULL;
    NEED(*out =
             json_dumps(root, (long_one ? JSON_COMPACT : JSON_INDENT(1)) | JSON_REAL_PRECISION(17)),
         err);
done:
    json_decref(root);
    free(text);
    return st;
}

pboost_status train_write_model(pboost_output *output, const train_description *d,
                                pboost_error *err)
{
    char *text = NULL;
    pboost_status st = model_text(&text, d, err);

    if (st != PBOOST_OK) {
        pboost_output_discard(output);
        return st;
    }
    fprintf(pboost_output_stream(output), "%s\n", text);
    free(text);
    return pboost_output_commit(output, err);
}

pboost_status train_write_page(pboost_output *output, const train_description *d, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *text = NULL;
    run_record run = {0};

    TRY(model_text(&text, d, err));
    TRY(run_parse(&run, text, d->out != NULL ? d->out : "this run", err));
    TRY(run_write_page(pboost_output_stream(output), &run, 1, err));
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    run_free(&run);
    free(text);
    return st;
}

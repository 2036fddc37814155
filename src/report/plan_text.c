/* A plan as text and as JSON. */
#include "plan_text.h"

#include <math.h>

#include "report_json.h"

const char *plan_basis_name(pboost_forecast forecast)
{
    static const char *const NAMES[] = {"information", "exact risk", "gradient bound"};
    return NAMES[forecast];
}

void plan_epsilon_text(char out[PLAN_EPSILON_TEXT], pboost_rational epsilon)
{
    if (epsilon.den == 0)
        snprintf(out, PLAN_EPSILON_TEXT, "none");
    else
        snprintf(out, PLAN_EPSILON_TEXT, "%g", pboost_rational_value(epsilon));
}

void plan_options_text(char out[PLAN_OPTIONS_TEXT], const pboost_plan *plan)
{
    const pboost_plan_point *best = &plan->point[plan->best];
    snprintf(out, PLAN_OPTIONS_TEXT, "--estimator %s --bags %s --rounds %zu --bag-size %zu",
             pboost_estimator_name(best->estimator), pboost_strategy_name(best->bags), best->rounds,
             best->bag_size);
}

/* ---- For people ------------------------------------------------------------------------------ */

static void print_assumptions(FILE *out, const pboost_plan *plan)
{
    fprintf(out, "\nForecast for %zu rows from a sample of %zu and ", plan->rows,
            plan->sample_rows);
    if (plan->default_coef)
        fprintf(out, "an assumed effect of modest size (no --prior)");
    else
        fprintf(out, "the weights of the prior");
    fprintf(out, ",\nmean label %.6g, dispersion %.3g%s.\n", plan->mean, plan->dispersion,
            plan->default_dispersion ? " (assumed)" : "");
    fprintf(
        out,
        "'excess' holds if the model is right; 'cautious' adds a model error of variance %.3g,\n"
        "which larger bags do not average out; recommended is the smallest worst ratio to the "
        "best.\n"
        "Nothing here was checked on labels; under noise train may learn from a small first "
        "round.\n",
        plan->model_error);
}

void plan_print(FILE *out, const pboost_plan *plan)
{
    fprintf(out, "  %-10s %-9s %6s %8s %8s %8s %10s %10s %10s  %s\n", "estimator", "bags", "rounds",
            "size", "bags", "epsilon", "excess", "cautious", "std error", "from");
    for (size_t i = 0; i < plan->n_points; i++) {
        const pboost_plan_point *p = &plan->point[i];
        char epsilon[PLAN_EPSILON_TEXT], se[32] = "-";
        plan_epsilon_text(epsilon, p->epsilon);
        if (!isnan(p->se))
            snprintf(se, sizeof se, "%.3g", p->se);
        fprintf(out, "%c %-10s %-9s %6zu %8zu %8zu %8s %10.3g %10.3g %10s  %s\n",
                i == plan->best ? '*' : ' ', pboost_estimator_name(p->estimator),
                pboost_strategy_name(p->bags), p->rounds, p->bag_size, p->n_bags, epsilon,
                p->excess, p->cautious, se, plan_basis_name(p->forecast));
    }
    fprintf(out, "  all labels %57s %10.3g\n  constant model %53s %10.3g\n", "", plan->all_labels,
            "", plan->constant);
    char options[PLAN_OPTIONS_TEXT];
    plan_options_text(options, plan);
    fprintf(out, "\nRecommended: %s\nbecause %s.\n", options, plan->reason);
    print_assumptions(out, plan);
}

/* ---- For programs ---------------------------------------------------------------------------- */

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

json_t *plan_json(const pboost_plan *plan, pboost_family family, size_t min_bag,
                  const char *const *column)
{
    json_t *points = json_array(), *columns = json_array();
    for (size_t i = 0; points != NULL && i < plan->n_points; i++)
        json_array_append_new(points, describe_point(&plan->point[i]));
    for (size_t j = 0; columns != NULL && j < plan->n_columns; j++)
        json_array_append_new(columns, json_string(column[j]));
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, "
        "s:b, s:b, s:o, s:s, s:s}",
        "family", pboost_family_name(family), "min_bag", (json_int_t)min_bag, "rows",
        (json_int_t)plan->rows, "sample_rows", (json_int_t)plan->sample_rows, "best",
        (json_int_t)plan->best, "recommended", describe_point(&plan->point[plan->best]), "points",
        points, "columns", columns, "standard_errors",
        report_json_numbers(plan->se, plan->n_columns), "all_labels",
        report_json_number(plan->all_labels), "constant", report_json_number(plan->constant),
        "dispersion", report_json_number(plan->dispersion), "model_error",
        report_json_number(plan->model_error), "mean", report_json_number(plan->mean),
        "assumed_effect", (int)plan->default_coef, "assumed_dispersion",
        (int)plan->default_dispersion, "no_better_than_mean", (int)plan->no_better_than_mean,
        "rare", (int)plan->rare, "events", report_json_number(plan->events), "reason", plan->reason,
        "version", pboost_version());
}

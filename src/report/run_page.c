/* The page that compares runs.
 *
 * Losses of different families are not comparable, nor are weights of columns that one model has
 * and another has not; so the family is shown beside every loss, and weights are matched by name.
 */
#include "run_page.h"

#include <math.h>
#include <stdio.h>

#include "try.h"

/* ---- The runs -------------------------------------------------------------------------------- */

static double mean_size(const run_record *run)
{
    double bags = 0.0;
    for (size_t t = 0; t < run_rounds(run); t++)
        bags += run_round_number(run, t, "bags");
    return (double)run->model.training.rows_spent / bags;
}

static void add_epsilon(page_table *t, const pboost_training *how)
{
    if (how->epsilon.den == 0)
        page_cell_text(t, "none");
    else
        page_cell(t, "%g%s", pboost_rational_value(how->epsilon),
                  how->simulated ? " (simulated)" : "");
}

static const char *known(const char *text)
{
    return text != NULL ? text : "–";
}

static void write_runs(FILE *out, const run_record *runs, size_t n)
{
    static const page_column COLUMNS[] = {
        {"run", false},   {"family", false},   {"estimator", false}, {"bags", false},
        {"rounds", true}, {"mean size", true}, {"epsilon", false},   {"test loss", true}};
    page_table t = page_table_begin(out, NULL, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < n; i++) {
        const pboost_training *how = &runs[i].model.training;
        page_cell_text(&t, runs[i].name);
        page_cell_text(&t, run_family(&runs[i]));
        page_cell_text(&t, known(how->estimator));
        page_cell_text(&t, known(how->bags));
        page_cell(&t, "%zu", how->rounds);
        page_cell_number(&t, mean_size(&runs[i]));
        add_epsilon(&t, how);
        page_cell_number(&t, run_loss(&runs[i]));
    }
    page_table_end(&t);
}

static void write_warnings(FILE *out, const run_record *run)
{
    const json_t *warnings = json_object_get(run->record, "warnings"), *warning;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)warnings, i, warning)
    {
        char text[512];
        snprintf(text, sizeof text, "%s: %s", run->name, known(json_string_value(warning)));
        page_notice(out, text);
    }
}

bool run_one_family(const run_record *runs, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (!run_same_family(&runs[i], &runs[0]))
            return false;
    return true;
}

/* ---- What was spent -------------------------------------------------------------------------- */

static void write_spent(FILE *out, const run_record *runs, size_t n)
{
    static const page_column COLUMNS[] = {{"run", false},
                                          {"least bag allowed", true},
                                          {"rows spent", true},
                                          {"of", true},
                                          {"epsilon of a label", false},
                                          {"bounds", false},
                                          {"labels held by", false}};

    page_paragraph(out,
                   "Each label is used in one answer only, so its epsilon is spent once: it is not "
                   "multiplied by the number of rounds.");
    page_table t = page_table_begin(out, NULL, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < n; i++) {
        const pboost_training *how = &runs[i].model.training;
        const json_t *bounds = json_object_get(runs[i].record, "bounds");
        page_cell_text(&t, runs[i].name);
        page_cell(&t, "%zu", how->min_bag);
        page_cell(&t, "%zu", how->rows_spent);
        page_cell_number(&t, run_number(&runs[i], "rows"));
        add_epsilon(&t, how);
        if (json_array_size(bounds) == 2)
            page_cell(&t, "%g to %g", json_number_value(json_array_get(bounds, 0)),
                      json_number_value(json_array_get(bounds, 1)));
        else
            page_cell_text(&t, "–");
        page_cell_text(&t, runs[i].record == NULL ? "–"
                           : json_is_true(json_object_get(runs[i].record, "remote"))
                               ? "an oracle elsewhere"
                               : "the same process");
    }
    page_table_end(&t);
}

/* ---- Plan and outcome ------------------------------------------------------------------------ */

/* Geometric mean of realised over forecast standard errors; NaN where either is unknown. */
static double error_ratio(const run_record *run)
{
    double sum = 0.0;
    if (run->model.coef.n == 0) /* it has no weights that were forecast */
        return NAN;
    size_t n = run->model.coef.n - run->model.encoding.n_curves; /* curves have no forecast */
    for (size_t j = 0; j < n; j++)
        sum += log(run_error(run, j) / run_error_forecast(run, j));
    return exp(sum / (double)n);
}

/* The least test loss among the runs of its family. */
static double least_loss(const run_record *runs, size_t n, const run_record *of)
{
    double least = NAN;
    for (size_t i = 0; i < n; i++)
        if (run_same_family(&runs[i], of))
            least = fmin(least, run_loss(&runs[i]));
    return least;
}

static void write_plans(FILE *out, const run_record *runs, size_t n)
{
    static const page_column COLUMNS[] = {{"run", false},
                                          {"size planned", true},
                                          {"size asked for", true},
                                          {"excess forecast", true},
                                          {"cautious", true},
                                          {"with all labels", true},
                                          {"loss above the best here", true},
                                          {"standard errors, realised : forecast", true}};
    bool any = false;

    for (size_t i = 0; i < n; i++)
        any = any || run_has_plan(&runs[i]);
    if (!any) {
        page_paragraph(out,
                       "No run was planned: train plans with --method auto, its default, unless "
                       "the bags are given.");
        return;
    }
    page_paragraph(
        out, "The excess is the test loss above that of the best model of this form. It is "
             "forecast from the features alone. To compare it with the result, add a run with "
             "more labels to this page: the loss above the best run here is shown.");
    page_table t = page_table_begin(out, NULL, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < n; i++) {
        const run_record *r = &runs[i];
        if (!run_has_plan(r))
            continue;
        page_cell_text(&t, r->name);
        page_cell_number(&t, run_plan_number(r, "planned_bag_size"));
        page_cell_number(&t, run_number(r, "bag_size"));
        page_cell_number(&t, run_plan_number(r, "forecast_excess"));
        page_cell_number(&t, run_plan_number(r, "forecast_cautious"));
        page_cell_number(&t, run_plan_number(r, "forecast_all_labels"));
        page_cell_number(&t, run_loss(r) - least_loss(runs, n, r));
        page_cell_number(&t, error_ratio(r));
    }
    page_table_end(&t);
    for (size_t i = 0; i < n; i++) {
        char text[512];
        if (!run_has_plan(&runs[i]))
            continue;
        snprintf(text, sizeof text, "%s was planned so because %s.", runs[i].name,
                 known(run_plan_text(&runs[i], "reason")));
        page_paragraph(out, text);
    }
}

/* ---- The page -------------------------------------------------------------------------------- */

pboost_status run_write_page(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const page_entry ENTRIES[] = {{"runs", "Runs"},
                                         {"losses", "Loss by round"},
                                         {"bags", "Bags"},
                                         {"fit", "Predicted and answered"},
                                         {"coefficients", "Weights and effects"},
                                         {"spent", "What was spent"},
                                         {"plan", "Plan and outcome"}};
    pboost_status st = PBOOST_OK;

    page_begin(out, n == 1 ? "A run of priorboost" : "Runs of priorboost",
               n == 1 ? runs[0].name : "side by side");
    page_contents(out, ENTRIES, sizeof ENTRIES / sizeof *ENTRIES);
    page_section(out, "runs", "Runs");
    if (!run_one_family(runs, n))
        page_notice(out, "These runs are of different families: their losses cannot be compared.");
    for (size_t i = 0; i < n; i++)
        write_warnings(out, &runs[i]);
    write_runs(out, runs, n);
    page_section(out, "losses", "Loss by round");
    TRY(run_write_losses(out, runs, n, err));
    TRY(run_write_by_bag(out, runs, n, err));
    page_section(out, "bags", "Bags");
    TRY(run_write_bags(out, runs, n, err));
    page_section(out, "fit", "Predicted and answered");
    TRY(run_write_answered(out, runs, n, err));
    page_section(out, "coefficients", "Weights and effects");
    TRY(run_write_weights(out, runs, n, err));
    TRY(run_write_curves(out, runs, n, err));
    TRY(run_write_effects(out, runs, n, err));
    page_section(out, "spent", "What was spent");
    write_spent(out, runs, n);
    page_section(out, "plan", "Plan and outcome");
    write_plans(out, runs, n);
    page_end(out);
done:
    return st;
}

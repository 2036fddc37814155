#include "evaluation.h"

#include <math.h>

#include "page.h"
#include "report_json.h"
#include "run_record.h"
#include "try.h"

void evaluation_print(FILE *out, const evaluation *e)
{
    fprintf(out, "%-10s %zu\n", "rows", e->measures.rows);
    for (size_t i = 0; i < e->measures.n_measures; i++)
        fprintf(out, "%-10s %.6g\n", e->measures.measure[i].name, e->measures.measure[i].value);
    if (e->calibration.n_groups == 0)
        return;
    fprintf(out, "%-10s %.6g\n", "ratio", e->calibration.ratio);
    fprintf(out, "%-10s %.6g\n", "ece", e->calibration.expected_error);
}

json_t *evaluation_calibration_json(const pboost_calibration *c)
{
    json_t *groups = json_array();
    for (size_t i = 0; groups != NULL && i < c->n_groups; i++) {
        const pboost_reliability *g = &c->group[i];
        json_array_append_new(groups, json_pack("{s:I, s:o, s:o, s:o}", "rows", (json_int_t)g->rows,
                                                "predicted", report_json_number(g->predicted),
                                                "observed", report_json_number(g->observed),
                                                "standard_error", report_json_number(g->error)));
    }
    return json_pack("{s:o, s:o, s:o}", "ratio", report_json_number(c->ratio), "ece",
                     report_json_number(c->expected_error), "groups", groups);
}

json_t *evaluation_json(const evaluation *e)
{
    json_t *report = json_pack("{s:I, s:s, s:I}", "rows", (json_int_t)e->measures.rows, "family",
                               pboost_family_name(e->family), "unseen", (json_int_t)e->unseen);
    for (size_t i = 0; report != NULL && i < e->measures.n_measures; i++)
        json_object_set_new(report, e->measures.measure[i].name,
                            report_json_number(e->measures.measure[i].value));
    if (report != NULL)
        json_object_set_new(report, "calibration",
                            e->calibration.n_groups > 0
                                ? evaluation_calibration_json(&e->calibration)
                                : json_null());
    return report;
}

/* ---- The page -------------------------------------------------------------------------------- */

static void write_measures(FILE *out, const evaluation *e)
{
    static const page_column COLUMNS[] = {{"measure", false}, {"value", true}};
    const pboost_measure more[] = {{"ratio of predicted to observed", e->calibration.ratio},
                                   {"expected calibration error", e->calibration.expected_error}};
    page_table t = page_table_begin(out, NULL, COLUMNS, 2);

    page_cell_text(&t, "rows");
    page_cell(&t, "%zu", e->measures.rows);
    for (size_t i = 0; i < e->measures.n_measures; i++) {
        page_cell_text(&t, e->measures.measure[i].name);
        page_cell_number(&t, e->measures.measure[i].value);
    }
    for (size_t i = 0; i < 2 && e->calibration.n_groups > 0; i++) {
        page_cell_text(&t, more[i].name);
        page_cell_number(&t, more[i].value);
    }
    page_table_end(&t);
}

static void write_groups(FILE *out, const pboost_calibration *c)
{
    static const page_column COLUMNS[] = {
        {"rows", true}, {"predicted", true}, {"observed", true}, {"std. error", true}};
    page_table t =
        page_table_begin(out, "Groups of rows by what is predicted for them", COLUMNS, 4);

    for (size_t i = 0; i < c->n_groups; i++) {
        page_cell(&t, "%zu", c->group[i].rows);
        page_cell_number(&t, c->group[i].predicted);
        page_cell_number(&t, c->group[i].observed);
        page_cell_number(&t, c->group[i].error);
    }
    page_table_end(&t);
}

static void write_page(FILE *out, const evaluation *e, const chart_figure *figure)
{
    page_begin(out, "Evaluation", e->model);
    page_section(out, "measures", "Measures");
    page_paragraph(out, e->data);
    write_measures(out, e);
    page_section(out, "calibration", "Calibration");
    if (figure == NULL)
        page_notice(out, "A prediction is not finite, so there is no calibration.");
    else {
        page_paragraph(
            out, "The rows, in the order of their predictions, are cut into groups of "
                 "equally many. Where the model is right on average, the dots lie on the line.");
        page_figure(out, figure);
        write_groups(out, &e->calibration);
    }
    page_end(out);
}

pboost_status evaluation_write(const char *path, const evaluation *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_calibration *c = &e->calibration;
    pboost_output *output = NULL;
    double x[PBOOST_MAX_GROUPS], y[PBOOST_MAX_GROUPS], low[PBOOST_MAX_GROUPS],
        high[PBOOST_MAX_GROUPS], line[2] = {INFINITY, -INFINITY};

    for (size_t i = 0; i < c->n_groups; i++) {
        double half = isnan(c->group[i].error) ? 0.0 : RUN_Z95 * c->group[i].error;
        x[i] = c->group[i].predicted;
        y[i] = c->group[i].observed;
        low[i] = y[i] - half;
        high[i] = y[i] + half;
        line[0] = fmin(line[0], fmin(x[i], y[i]));
        line[1] = fmax(line[1], fmax(x[i], y[i]));
    }
    const chart_series series[] = {
        {.colour_key = "predicted = observed", .n = 2, .x = line, .y = line},
        {.colour_key = "group of rows",
         .colour = 2,
         .dash = CHART_NO_LINE,
         .points = true,
         .n = c->n_groups,
         .x = x,
         .y = y,
         .low = low,
         .high = high}};
    const chart_panel panel = {.x = {.label = "mean prediction"},
                               .y = {.label = "mean label"},
                               .series = series,
                               .n_series = 2};
    const chart_figure figure = {.id = "calibration",
                                 .title = "Calibration",
                                 .caption = "Mean label by mean prediction, with 95 % intervals.",
                                 .panels = &panel,
                                 .n_panels = 1};
    if (chart_names_svg(path) && c->n_groups == 0)
        FAIL(err, PBOOST_BAD_DATA, "a prediction is not finite, so there is no chart for %s", path);
    TRY(pboost_output_open(&output, path, err));
    if (chart_names_svg(path))
        chart_write_svg(pboost_output_stream(output), &figure);
    else
        write_page(pboost_output_stream(output), e, c->n_groups > 0 ? &figure : NULL);
    st = pboost_output_commit(output, err);
done:
    return st;
}

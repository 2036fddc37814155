/* The page that compares runs: the curves of smooth models, each with its band. */
#include <math.h>
#include <string.h>

#include "run_chart.h"
#include "run_page.h"
#include "try.h"

enum { POINTS = 61, MAX_CURVES = 24, MOST_KNOTS = PBOOST_CURVE_COLUMNS + 2 };

/* One curve: its panel's series, and the numbers they are drawn from. */
typedef struct {
    chart_series series[2];
    double x[POINTS], y[POINTS], se[POINTS], low[POINTS], high[POINTS];
    double at_knot[MOST_KNOTS], se_knot[MOST_KNOTS];
    char title[160];
} drawn_curve;

/* "age: df 3.2, clearly curved". */
static void write_title(char *out, size_t size, const run_record *run, const char *name)
{
    const json_t *curves = json_object_get(run->record, "curves"), *curve;
    size_t i;
    snprintf(out, size, "%s", name);
    json_array_foreach((json_t *)(uintptr_t)curves, i, curve)
    {
        const char *column = json_string_value(json_object_get(curve, "column"));
        bool curved = json_is_true(json_object_get(curve, "curved"));
        if (column != NULL && strcmp(column, name) == 0)
            snprintf(out, size, "%.40s: df %.2g%s", name,
                     json_number_value(json_object_get(curve, "freedom")),
                     curved ? ", clearly curved" : "");
    }
}

/* From a tenth of the range below the first knot to a tenth above the last. */
static pboost_status make_curve(drawn_curve *out, chart_panel *panel, const run_record *run,
                                size_t feature, size_t number, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_feature *f = &run->model.encoding.feature[feature];
    const pboost_curve *c = &f->curve;
    double range = c->knot[c->n_knots - 1] - c->knot[0];
    bool errors = run->model.covariance != NULL;

    for (size_t i = 0; i < POINTS; i++)
        out->x[i] = c->knot[0] + range * (-0.1 + 1.2 * (double)i / (POINTS - 1));
    TRY(pboost_model_effect(out->y, out->se, &run->model, feature, out->x, POINTS, err));
    TRY(pboost_model_effect(out->at_knot, out->se_knot, &run->model, feature, c->knot, c->n_knots,
                            err));
    for (size_t i = 0; i < POINTS; i++) {
        out->low[i] = out->y[i] - RUN_Z95 * out->se[i];
        out->high[i] = out->y[i] + RUN_Z95 * out->se[i];
    }
    write_title(out->title, sizeof out->title, run, f->name);
    out->series[0] = (chart_series){.colour_key = run->name,
                                    .colour = run_colour(number),
                                    .n = POINTS,
                                    .x = out->x,
                                    .y = out->y,
                                    .low = errors ? out->low : NULL,
                                    .high = errors ? out->high : NULL,
                                    .band = true};
    out->series[1] = (chart_series){.colour_key = run->name,
                                    .colour = run_colour(number),
                                    .dash = CHART_NO_LINE,
                                    .n = c->n_knots,
                                    .x = c->knot,
                                    .y = out->at_knot};
    *panel = (chart_panel){.title = out->title,
                           .x = {.label = f->name},
                           .y = {.label = "effect on the linear predictor"},
                           .series = out->series,
                           .n_series = 2};
done:
    return st;
}

static pboost_status write_run(FILE *out, const run_record *run, size_t number, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_encoding *e = &run->model.encoding;
    drawn_curve *curves = NULL;
    chart_panel panels[MAX_CURVES];
    size_t n = 0;
    char id[32];

    NEED(curves = pboost_alloc(MAX_CURVES, sizeof *curves), err);
    for (size_t i = 0; i < e->n_features && n < MAX_CURVES; i++)
        if (e->feature[i].curve.n > 0) {
            TRY(make_curve(&curves[n], &panels[n], run, i, number, err));
            n++;
        }
    snprintf(id, sizeof id, "curves-%zu", number + 1);
    page_figure(out, &(chart_figure){.id = id,
                                     .title = "Curves",
                                     .caption = "What a column adds to the linear predictor, above "
                                                "its average over the knots (dots), with bands of "
                                                "95 %. The bands hold on average over a curve. "
                                                "Beyond the outer knots it is a straight line. "
                                                "df: its effective degrees of freedom beyond the "
                                                "straight line.",
                                     .colour_name = "run",
                                     .panels = panels,
                                     .n_panels = n});
done:
    free(curves);
    return st;
}

pboost_status run_write_curves(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < n; i++) {
        const pboost_model *m = &runs[i].model;
        if (m->encoding.n_curves > 0 && m->coef.n == m->encoding.n_columns)
            TRY(write_run(out, &runs[i], i, err));
    }
done:
    return st;
}

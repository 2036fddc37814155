/* The page that compares runs: their weights, matched by the name of the column. */
#include "run_page.h"

#include <math.h>
#include <string.h>

#include "class_result.h"
#include "run_chart.h"
#include "try.h"

/* Columns with a weight that a person can read: not those of curves. */
static size_t straight(const pboost_model *model)
{
    size_t curves = model->encoding.n_curves;
    return model->coef.n > curves ? model->coef.n - curves : 0;
}

/* Whether it is a GLM: trees have no weights, and those of classes have a table of their own. */
static bool has_weights(const pboost_model *model)
{
    return model->mixture.n == 0 && model->classes.n == 0;
}

/* The column of a model that has this name; n for none. */
static size_t find_column(const pboost_model *model, const char *name)
{
    size_t j = 0;
    while (j < model->coef.n && strcmp(model->encoding.column[j], name) != 0)
        j++;
    return j;
}

/* Whether run i is the first with its column j. */
static bool is_new(const run_record *runs, size_t i, size_t j)
{
    const char *name = runs[i].model.encoding.column[j];
    for (size_t k = 0; k < i; k++)
        if (find_column(&runs[k].model, name) < runs[k].model.coef.n)
            return false;
    return true;
}

static void add_weight(page_table *t, double weight, double error)
{
    if (isnan(error))
        page_cell(t, "%.4g", weight);
    else
        page_cell(t, "%.4g (%.4g to %.4g)", weight, weight - RUN_Z95 * error,
                  weight + RUN_Z95 * error);
}

static void add_weights(page_table *t, const run_record *runs, size_t n, const char *name)
{
    page_cell_text(t, name);
    for (size_t i = 0; i < n; i++) {
        const pboost_coef *coef = &runs[i].model.coef;
        size_t j = find_column(&runs[i].model, name);
        if (j == coef->n)
            page_cell_text(t, "–");
        else
            add_weight(t, coef->theta[j], run_error(&runs[i], j));
    }
}

/* One panel a run on the same axes, as many as a page has room for. */
enum { MAX_PANELS = 6, MAX_COLUMNS = 64 };

static pboost_status write_weights_figure(FILE *out, const run_record *runs, size_t n,
                                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chart_series series[MAX_PANELS] = {{0}};
    chart_panel panels[MAX_PANELS] = {{0}};
    double *block = NULL, lo = 0.0, hi = 0.0;
    size_t n_panels = n < MAX_PANELS ? n : MAX_PANELS, total = 0, at = 0;

    for (size_t i = 0; i < n_panels; i++)
        total += straight(&runs[i].model);
    NEED(block = pboost_alloc(4 * total + 1, sizeof *block), err);
    for (size_t i = 0; i < n_panels; i++) {
        const pboost_coef *coef = &runs[i].model.coef;
        size_t d = straight(&runs[i].model);
        double *x = block + at, *low = x + d, *high = low + d;
        bool errors = runs[i].model.covariance != NULL;
        for (size_t j = 0; j < d; j++) {
            double half = RUN_Z95 * run_error(&runs[i], j);
            x[j] = (double)(j + 1);
            low[j] = coef->theta[j] - half;
            high[j] = coef->theta[j] + half;
            lo = fmin(lo, fmin(coef->theta[j], low[j]));
            hi = fmax(hi, fmax(coef->theta[j], high[j]));
        }
        series[i] = (chart_series){.colour_key = runs[i].name,
                                   .colour = run_colour(i),
                                   .dash = CHART_NO_LINE,
                                   .points = true,
                                   .n = d,
                                   .x = x,
                                   .y = coef->theta,
                                   .low = errors ? low : NULL,
                                   .high = errors ? high : NULL};
        at += 4 * d;
    }
    double margin = 0.05 * (hi - lo);
    static const chart_rule zero = {0.0, NULL};
    for (size_t i = 0; i < n_panels; i++)
        panels[i] = (chart_panel){.title = runs[i].name,
                                  .x = {.label = "column",
                                        .lo = 0.5,
                                        .hi = (double)straight(&runs[i].model) + 0.5,
                                        .names = (const char *const *)runs[i].model.encoding.column,
                                        .n_names = straight(&runs[i].model)},
                                  .y = {.label = "weight", .lo = lo - margin, .hi = hi + margin},
                                  .rules = &zero,
                                  .n_rules = 1,
                                  .series = &series[i],
                                  .n_series = 1};
    page_figure(out, &(chart_figure){.id = "weights",
                                     .title = "Weights",
                                     .caption = "Weights with their 95 % intervals where known.",
                                     .colour_name = "run",
                                     .panels = panels,
                                     .n_panels = n_panels});
done:
    free(block);
    return st;
}

pboost_status run_write_weights(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    page_column *columns = NULL;
    bool drawn = true;

    size_t glms = 0;
    for (size_t i = 0; i < n; i++)
        glms += has_weights(&runs[i].model);
    for (size_t i = 0; i < n; i++)
        if (runs[i].model.classes.n > 0)
            class_write_weights(out, &runs[i].model, runs[i].name);
    if (glms == 0)
        return PBOOST_OK;
    NEED(columns = calloc(n + 1, sizeof *columns), err);
    columns[0].heading = "column";
    for (size_t i = 0; i < n; i++) {
        size_t d = straight(&runs[i].model);
        drawn = drawn && d > 0 && d <= MAX_COLUMNS;
        columns[i + 1] = (page_column){runs[i].name, true};
    }
    page_paragraph(out, "In the units of the table; intervals hold with 95 % and are known for the "
                        "aggregate estimator.");
    if (drawn)
        TRY(write_weights_figure(out, runs, n, err));
    page_table t = page_table_begin(out, "Weights (95 % intervals)", columns, n + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < straight(&runs[i].model); j++)
            if (is_new(runs, i, j))
                add_weights(&t, runs, n, runs[i].model.encoding.column[j]);
    page_cell_text(&t, "(intercept)");
    for (size_t i = 0; i < n; i++)
        if (!has_weights(&runs[i].model))
            page_cell_text(&t, "–");
        else
            add_weight(&t, runs[i].model.coef.intercept, run_error(&runs[i], runs[i].model.coef.n));
    page_table_end(&t);
done:
    free(columns);
    return st;
}

/* The page that compares runs: how models fit the answers, and what the columns do to predictions.
 */
#include "run_page.h"

#include <math.h>
#include <string.h>

#include "run_chart.h"
#include "try.h"

static double number_at(const json_t *array, size_t i)
{
    const json_t *v = json_array_get(array, i);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* ---- Predicted against answered -------------------------------------------------------------- */

static double group_number(const json_t *groups, size_t i, const char *key)
{
    const json_t *v = json_object_get(json_array_get(groups, i), key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

enum { MAX_RUNS_DRAWN = 6, ANSWERED_ROWS = 4 };

/* A panel: the dots of a run's groups, and the line on which they should lie. */
typedef struct {
    chart_series series[2];
    double line[2];
} answered_panel;

static void fill_panel(answered_panel *p, double *block, const json_t *groups, size_t number)
{
    size_t n = json_array_size(groups);
    double *x = block, *y = x + n, *low = y + n, *high = low + n;

    p->line[0] = INFINITY;
    p->line[1] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double half = RUN_Z95 * group_number(groups, i, "standard_error");
        x[i] = group_number(groups, i, "predicted");
        y[i] = group_number(groups, i, "answered");
        low[i] = y[i] - (isnan(half) ? 0.0 : half);
        high[i] = y[i] + (isnan(half) ? 0.0 : half);
        p->line[0] = fmin(p->line[0], fmin(x[i], y[i]));
        p->line[1] = fmax(p->line[1], fmax(x[i], y[i]));
    }
    p->series[0] =
        (chart_series){.colour_key = "predicted = answered", .n = 2, .x = p->line, .y = p->line};
    p->series[1] = (chart_series){.colour_key = "group of bags",
                                  .colour = run_colour(number),
                                  .dash = CHART_NO_LINE,
                                  .points = true,
                                  .n = n,
                                  .x = x,
                                  .y = y,
                                  .low = low,
                                  .high = high};
}

pboost_status run_write_answered(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    answered_panel data[MAX_RUNS_DRAWN];
    chart_panel panels[MAX_RUNS_DRAWN] = {{0}};
    size_t total = 0, at = 0, n_panels = 0;
    double *block = NULL;

    for (size_t i = 0; i < n; i++)
        total += ANSWERED_ROWS * json_array_size(json_object_get(runs[i].record, "bag_groups"));
    NEED(block = pboost_alloc(total + 1, sizeof *block), err);
    for (size_t i = 0; i < n && n_panels < MAX_RUNS_DRAWN; i++) {
        const json_t *groups = json_object_get(runs[i].record, "bag_groups");
        if (json_array_size(groups) == 0)
            continue;
        answered_panel *p = &data[n_panels];
        fill_panel(p, block + at, groups, 0);
        at += ANSWERED_ROWS * json_array_size(groups);
        panels[n_panels++] = (chart_panel){.title = runs[i].name,
                                           .x = {.label = "mean prediction"},
                                           .y = {.label = "mean answer"},
                                           .series = p->series,
                                           .n_series = 2};
    }
    if (n_panels == 0) {
        page_paragraph(out, "There are too few bags to compare predictions with answers.");
        goto done;
    }
    page_paragraph(out, "Bags in the order of their mean prediction, in groups of at least five. "
                        "Where the model fits, the dots lie on the line. No label is needed for "
                        "this; the bags are those that the model was fitted to.");
    page_figure(out, &(chart_figure){.id = "answered",
                                     .title = "Predicted against answered",
                                     .caption = "Mean answer of bags by mean prediction, with 95 % "
                                                "intervals.",
                                     .panels = panels,
                                     .n_panels = n_panels});
done:
    free(block);
    return st;
}

/* ---- What columns do ------------------------------------------------------------------------- */

static void write_members(FILE *out, const run_record *run)
{
    static const page_column COLUMNS[] = {{"member", false}, {"weight", true}, {"trees", true}};
    const json_t *members = json_object_get(run->record, "members"), *member;
    page_table t = page_table_begin(out, "Members of the model", COLUMNS, 3);
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)members, i, member)
    {
        page_cell_text(&t, json_string_value(json_object_get(member, "kind")));
        page_cell_number(&t, json_number_value(json_object_get(member, "weight")));
        page_cell(&t, "%lld", (long long)json_integer_value(json_object_get(member, "trees")));
    }
    page_table_end(&t);
}

static void write_changes(FILE *out, const json_t *effects)
{
    static const page_column COLUMNS[] = {{"column", false}, {"change", true}};
    page_table t =
        page_table_begin(out, "Change of predictions when a column is shuffled", COLUMNS, 2);
    const json_t *effect;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)effects, i, effect)
    {
        page_cell_text(&t, json_string_value(json_object_get(effect, "column")));
        page_cell_number(&t, json_number_value(json_object_get(effect, "change")));
    }
    page_table_end(&t);
}

/* Levels of categories have no place on an axis of numbers: a table. */
static void write_levels(FILE *out, const json_t *effect)
{
    char caption[128];
    const page_column columns[] = {{json_string_value(json_object_get(effect, "column")), false},
                                   {"mean prediction", true}};
    const json_t *at = json_object_get(effect, "at"), *mean = json_object_get(effect, "mean");

    snprintf(caption, sizeof caption, "Mean prediction by %.80s", columns[0].heading);
    page_table t = page_table_begin(out, caption, columns, 2);
    for (size_t k = 0; k < json_array_size(at); k++) {
        page_cell_text(&t, json_string_value(json_array_get(at, k)));
        page_cell_number(&t, number_at(mean, k));
    }
    page_table_end(&t);
}

enum { MAX_EFFECTS_DRAWN = 8, MAX_POINTS = 64 };

typedef struct {
    double x[MAX_POINTS], y[MAX_POINTS];
    chart_series series;
} effect_panel;

static bool is_curve(const json_t *effect)
{
    const json_t *at = json_object_get(effect, "at");
    return json_array_size(at) > 1 && json_array_size(at) <= MAX_POINTS &&
           json_is_number(json_array_get(at, 0));
}

static pboost_status write_curves(FILE *out, const json_t *effects, const char *id,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    effect_panel *data = NULL;
    chart_panel panels[MAX_EFFECTS_DRAWN] = {{0}};
    size_t n = 0, i;
    double lo = INFINITY, hi = -INFINITY;
    const json_t *effect;

    NEED(data = calloc(MAX_EFFECTS_DRAWN, sizeof *data), err);
    json_array_foreach((json_t *)(uintptr_t)effects, i, effect)
    {
        const json_t *at = json_object_get(effect, "at"), *mean = json_object_get(effect, "mean");
        if (!is_curve(effect) || n == MAX_EFFECTS_DRAWN)
            continue;
        effect_panel *p = &data[n];
        for (size_t k = 0; k < json_array_size(at); k++) {
            p->x[k] = number_at(at, k);
            p->y[k] = number_at(mean, k);
            lo = fmin(lo, p->y[k]);
            hi = fmax(hi, p->y[k]);
        }
        p->series = (chart_series){
            .colour = 2, .points = true, .n = json_array_size(at), .x = p->x, .y = p->y};
        panels[n++] =
            (chart_panel){.x = {.label = json_string_value(json_object_get(effect, "column"))},
                          .y = {.label = "mean prediction"},
                          .series = &p->series,
                          .n_series = 1};
    }
    double margin = 0.05 * (hi - lo);
    for (size_t k = 0; k < n; k++) { /* one scale, so that small effects look small */
        panels[k].y.lo = lo - margin;
        panels[k].y.hi = hi + margin;
    }
    if (n > 0)
        page_figure(out, &(chart_figure){.id = id,
                                         .title = "Mean prediction by column",
                                         .caption = "The mean prediction if every row had this "
                                                    "value, its other columns as they are.",
                                         .panels = panels,
                                         .n_panels = n});
done:
    free(data);
    return st;
}

pboost_status run_write_effects(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < n; i++) {
        const json_t *effects = json_object_get(runs[i].record, "effects"), *effect;
        char id[32];
        size_t k;
        if (json_array_size(effects) == 0)
            continue;
        snprintf(id, sizeof id, i == 0 ? "effects" : "effects-%zu", i + 1);
        page_paragraph(out, runs[i].name);
        write_members(out, &runs[i]);
        TRY(write_curves(out, effects, id, err));
        json_array_foreach((json_t *)(uintptr_t)effects, k, effect)
        {
            if (json_is_string(json_array_get(json_object_get(effect, "at"), 0)))
                write_levels(out, effect);
        }
        write_changes(out, effects);
    }
done:
    return st;
}

/* The page that compares runs.
 *
 * Losses of different families are not comparable, nor are weights of columns that one model has
 * and another has not; so families are said beside every loss and weights are matched by name. */
#include <math.h>
#include <string.h>

#include <grid.h>

#include "run_chart.h"

#define Z95 1.959963984540054

/* The palette runs from hue to hue; runs that follow each other are kept apart in it. */
int run_colour(size_t number)
{
    static const int ORDER[CHART_COLOURS - 1] = {2, 6, 4, 1, 5, 3, 7};
    return ORDER[number % (CHART_COLOURS - 1)];
}

/* ---- The runs ----------------------------------------------------------------------------------- */

static double mean_size(const run_record *run)
{
    double bags = 0.0;
    for (size_t t = 0; t < run_rounds(run); t++)
        bags += run_round_number(run, t, "bags");
    return (double)run->model.training.rows_spent / bags;
}

static void add_epsilon(grid *g, const pboost_training *t)
{
    if (t->epsilon.den == 0)
        grid_add(g, "none");
    else
        grid_add(g, "%g%s", pboost_rational_value(t->epsilon), t->simulated ? " (simulated)" : "");
}

static const char *known(const char *text)
{
    return text != NULL ? text : "–";
}

static pboost_status write_runs(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const page_column COLUMNS[] = {
        {"run", false},   {"family", false},   {"estimator", false}, {"bags", false},
        {"rounds", true}, {"mean size", true}, {"epsilon", false},   {"test loss", true}};
    enum { N = sizeof COLUMNS / sizeof *COLUMNS };
    pboost_status st = PBOOST_OK;
    grid g = {0};

    TRY(grid_make(&g, n * N, err));
    for (size_t i = 0; i < n; i++) {
        const pboost_training *t = &runs[i].model.training;
        grid_add(&g, "%s", runs[i].name);
        grid_add(&g, "%s", pboost_family_name(runs[i].model.family));
        grid_add(&g, "%s", known(t->estimator));
        grid_add(&g, "%s", known(t->bags));
        grid_add(&g, "%zu", t->rounds);
        grid_add_number(&g, mean_size(&runs[i]));
        add_epsilon(&g, t);
        grid_add_number(&g, run_loss(&runs[i]));
    }
    page_table(out, NULL, COLUMNS, N, g.cell, n);
done:
    grid_free(&g);
    return st;
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

static bool one_family(const run_record *runs, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (runs[i].model.family != runs[0].model.family)
            return false;
    return true;
}

/* ---- Curves over rounds ------------------------------------------------------------------------- */

/* A number of every round, of every run: one series each. */
typedef struct {
    chart_series *series;
    double *block; /* what the series point into */
    size_t n;
    double least, most, longest;
} curves;

static void curves_free(curves *c)
{
    free(c->series);
    free(c->block);
}

typedef struct {
    const char *key;        /* of a round */
    const char *low, *high; /* error bars; NULL: none */
    const char *divided_by; /* another number of the round; NULL: none */
    bool over_rows;         /* instead of over rounds */
} quantity;

static double value_at(const run_record *run, size_t t, const quantity *q)
{
    double value = run_round_number(run, t, q->key);
    return q->divided_by != NULL ? value / run_round_number(run, t, q->divided_by) : value;
}

/* Runs without any such number get no curve. */
static void add_curve(curves *c, double *at, const run_record *run, size_t number,
                      const quantity *q)
{
    size_t rounds = run_rounds(run), known_values = 0;
    double *x = at, *y = at + rounds, *low = y + rounds, *high = low + rounds, rows = 0.0;

    for (size_t t = 0; t < rounds; t++) {
        rows += run_round_number(run, t, "rows");
        x[t] = q->over_rows ? rows : (double)(t + 1);
        y[t] = value_at(run, t, q);
        low[t] = q->low != NULL ? run_round_number(run, t, q->low) : NAN;
        high[t] = q->high != NULL ? run_round_number(run, t, q->high) : NAN;
        if (isnan(y[t]))
            continue;
        known_values++;
        c->least = fmin(c->least, y[t]);
        c->most = fmax(c->most, y[t]);
        c->longest = fmax(c->longest, (double)rounds);
    }
    if (known_values == 0)
        return;
    c->series[c->n++] = (chart_series){.colour_key = run->name,
                                       .colour = run_colour(number),
                                       .dash = (chart_dash)(number / (CHART_COLOURS - 1) % 3),
                                       .points = rounds <= 32,
                                       .n = rounds,
                                       .x = x,
                                       .y = y,
                                       .low = q->low != NULL ? low : NULL,
                                       .high = q->high != NULL ? high : NULL};
}

static pboost_status curves_make(curves *out, const run_record *runs, size_t n, const quantity *q,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t total = 0, at = 0;

    *out = (curves){.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < n; i++)
        total += run_rounds(&runs[i]);
    NEED(out->series = calloc(n, sizeof *out->series), err);
    NEED(out->block = pboost_alloc(4 * total + 1, sizeof *out->block), err);
    for (size_t i = 0; i < n; i++) {
        add_curve(out, out->block + at, &runs[i], i, q);
        at += 4 * run_rounds(&runs[i]);
    }
done:
    return st;
}

/* A logarithm where the values span decades. */
static chart_panel panel_of(const curves *c, const char *title, const char *label, bool over_rows)
{
    bool wide = c->least > 0.0 && c->most > 20.0 * c->least;
    chart_panel panel = {.title = title,
                         .x = {over_rows ? "rows answered for" : "round",
                               c->longest > 16.0 ? CHART_LOG2 : CHART_LINEAR, 0.0, 0.0},
                         .y = {label, wide ? CHART_LOG : CHART_LINEAR, 0.0, 0.0},
                         .series = c->series,
                         .n_series = c->n};
    if (c->longest <= 1.0 && !over_rows) { /* dots in the middle */
        panel.x.lo = 0.0;
        panel.x.hi = 2.0;
    }
    return panel;
}

static pboost_status write_losses(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const quantity QUANTITIES[] = {{"test_loss", NULL, NULL, NULL, false},
                                          {"test_loss", NULL, NULL, NULL, true},
                                          {"bag_deviance", NULL, NULL, NULL, false}};
    enum { N = sizeof QUANTITIES / sizeof *QUANTITIES };
    static const char *const TITLES[N] = {"Test loss by round", "Test loss by rows spent",
                                          "Fit to the answers"};
    static const char *const LABELS[N] = {"test loss", "test loss", "dispersion of the answers"};
    pboost_status st = PBOOST_OK;
    curves c[N] = {{0}};
    chart_panel panels[N];
    size_t n_panels = 0;

    for (size_t i = 0; i < N; i++) {
        TRY(curves_make(&c[i], runs, n, &QUANTITIES[i], err));
        /* One round each: the second panel would say no more than the first. */
        if (c[i].n > 0 && !(QUANTITIES[i].over_rows && c[i].longest <= 1.0))
            panels[n_panels++] = panel_of(&c[i], TITLES[i], LABELS[i], QUANTITIES[i].over_rows);
    }
    if (n_panels == 0) {
        page_paragraph(out, "No run tells of its rounds.");
        goto done;
    }
    page_paragraph(out,
                   "The test loss is the mean squared error (linear), the mean log loss (logistic) "
                   "or the mean of μ − y log μ (Poisson), and is there for runs with --test. How "
                   "well a model explains the answers of its round needs no label: at best the "
                   "dispersion is 1 (logistic, Poisson) or the residual variance (linear).");
    page_figure(out, &(chart_figure){.id = "loss",
                                     .title = "Loss by round",
                                     .caption = "Loss and fit after each round of each run.",
                                     .colour_name = "run",
                                     .panels = panels,
                                     .n_panels = n_panels});
done:
    for (size_t i = 0; i < N; i++)
        curves_free(&c[i]);
    return st;
}

/* Where the runs were allowed different bags. */
static pboost_status write_by_bag(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    run_chart chart = {0};
    bool differ = false;

    for (size_t i = 1; i < n; i++)
        differ = differ || runs[i].model.training.min_bag != runs[0].model.training.min_bag;
    if (!differ || !one_family(runs, n))
        goto done;
    TRY(run_chart_make(&chart, runs, n, err));
    if (chart.panel.n_series > 0)
        page_figure(out, &chart.figure);
done:
    run_chart_free(&chart);
    return st;
}

static pboost_status write_bags(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const quantity QUANTITIES[] = {{"rows", "smallest_bag", "largest_bag", "bags", false},
                                          {"spread", NULL, NULL, NULL, false}};
    pboost_status st = PBOOST_OK;
    curves c[2] = {{0}};
    chart_panel panels[2];
    size_t n_panels = 0;

    for (size_t i = 0; i < 2; i++) {
        TRY(curves_make(&c[i], runs, n, &QUANTITIES[i], err));
        if (c[i].n > 0)
            panels[n_panels++] =
                panel_of(&c[i], i == 0 ? "Bag sizes" : "Spread within bags",
                         i == 0 ? "rows in a bag" : "spread of predictions", false);
    }
    if (n_panels == 0) {
        page_paragraph(out, "No run tells of its bags.");
        goto done;
    }
    page_paragraph(
        out, "The mean size of the bags of each round, with the smallest and the largest; and "
             "how far, in the root mean square, the round's model sees a row from the mean of "
             "its bag. Bags of like rows tell the most about individuals.");
    page_figure(out, &(chart_figure){.id = "bag-sizes",
                                     .title = "Bags by round",
                                     .caption = "Sizes of bags and spread within them, by round.",
                                     .colour_name = "run",
                                     .panels = panels,
                                     .n_panels = n_panels});
done:
    curves_free(&c[0]);
    curves_free(&c[1]);
    return st;
}

/* ---- Coefficients ------------------------------------------------------------------------------- */

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

static void add_weight(grid *g, double weight, double error)
{
    if (isnan(error))
        grid_add(g, "%.4g", weight);
    else
        grid_add(g, "%.4g (%.4g to %.4g)", weight, weight - Z95 * error, weight + Z95 * error);
}

static void add_weights(grid *g, const run_record *runs, size_t n, const char *name)
{
    grid_add(g, "%s", name);
    for (size_t i = 0; i < n; i++) {
        const pboost_coef *coef = &runs[i].model.coef;
        size_t j = find_column(&runs[i].model, name);
        if (j == coef->n)
            grid_add(g, "–");
        else
            add_weight(g, coef->theta[j], run_error(&runs[i], j));
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
        total += runs[i].model.coef.n;
    NEED(block = pboost_alloc(4 * total + 1, sizeof *block), err);
    for (size_t i = 0; i < n_panels; i++) {
        const pboost_coef *coef = &runs[i].model.coef;
        size_t d = coef->n;
        double *x = block + at, *low = x + d, *high = low + d;
        bool errors = runs[i].model.covariance != NULL;
        for (size_t j = 0; j < d; j++) {
            double half = Z95 * run_error(&runs[i], j);
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
    for (size_t i = 0; i < n_panels; i++)
        panels[i] = (chart_panel){.title = runs[i].name,
                                  .x = {"column, in the order of the table", CHART_LINEAR, 0.0,
                                        (double)runs[i].model.coef.n + 1.0},
                                  .y = {"weight", CHART_LINEAR, lo - margin, hi + margin},
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

static pboost_status write_weights(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = 1;
    grid g = {0};
    page_column *columns = NULL;
    bool drawn = true;

    for (size_t i = 0; i < n; i++) {
        drawn = drawn && runs[i].model.coef.n > 0 && runs[i].model.coef.n <= MAX_COLUMNS;
        for (size_t j = 0; j < runs[i].model.coef.n; j++)
            rows += is_new(runs, i, j);
    }
    NEED(columns = calloc(n + 1, sizeof *columns), err);
    TRY(grid_make(&g, rows * (n + 1), err));
    columns[0].heading = "column";
    for (size_t i = 0; i < n; i++)
        columns[i + 1] = (page_column){runs[i].name, true};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < runs[i].model.coef.n; j++)
            if (is_new(runs, i, j))
                add_weights(&g, runs, n, runs[i].model.encoding.column[j]);
    grid_add(&g, "(intercept)");
    for (size_t i = 0; i < n; i++)
        add_weight(&g, runs[i].model.coef.intercept, run_error(&runs[i], runs[i].model.coef.n));
    page_paragraph(out, "In the units of the table; intervals hold with 95 % and are known for the "
                        "aggregate estimator.");
    if (drawn)
        TRY(write_weights_figure(out, runs, n, err));
    page_table(out, "Weights (95 % intervals)", columns, n + 1, g.cell, rows);
done:
    grid_free(&g);
    free(columns);
    return st;
}

/* ---- What was spent ----------------------------------------------------------------------------- */

static pboost_status write_spent(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const page_column COLUMNS[] = {{"run", false},
                                          {"least bag allowed", true},
                                          {"rows spent", true},
                                          {"of", true},
                                          {"epsilon of a label", false},
                                          {"bounds", false},
                                          {"labels held by", false}};
    enum { N = sizeof COLUMNS / sizeof *COLUMNS };
    pboost_status st = PBOOST_OK;
    grid g = {0};

    TRY(grid_make(&g, n * N, err));
    for (size_t i = 0; i < n; i++) {
        const pboost_training *t = &runs[i].model.training;
        const json_t *bounds = json_object_get(runs[i].record, "bounds");
        grid_add(&g, "%s", runs[i].name);
        grid_add(&g, "%zu", t->min_bag);
        grid_add(&g, "%zu", t->rows_spent);
        grid_add_number(&g, run_number(&runs[i], "rows"));
        add_epsilon(&g, t);
        if (json_array_size(bounds) == 2)
            grid_add(&g, "%g to %g", json_number_value(json_array_get(bounds, 0)),
                     json_number_value(json_array_get(bounds, 1)));
        else
            grid_add(&g, "–");
        grid_add(&g, "%s",
                 runs[i].record == NULL                                    ? "–"
                 : json_is_true(json_object_get(runs[i].record, "remote")) ? "an oracle elsewhere"
                                                                           : "the same process");
    }
    page_paragraph(out,
                   "Every row is answered for once, so a label's epsilon is spent once however "
                   "many rounds there are: it is not multiplied by them.");
    page_table(out, NULL, COLUMNS, N, g.cell, n);
done:
    grid_free(&g);
    return st;
}

/* ---- Plan and outcome --------------------------------------------------------------------------- */

/* Geometric mean of realised over forecast standard errors; NaN where either is unknown. */
static double error_ratio(const run_record *run)
{
    double sum = 0.0;
    for (size_t j = 0; j < run->model.coef.n; j++)
        sum += log(run_error(run, j) / run_error_forecast(run, j));
    return exp(sum / (double)run->model.coef.n);
}

/* The least test loss among the runs of its family. */
static double least_loss(const run_record *runs, size_t n, pboost_family family)
{
    double least = NAN;
    for (size_t i = 0; i < n; i++)
        if (runs[i].model.family == family)
            least = fmin(least, run_loss(&runs[i]));
    return least;
}

static pboost_status write_plans(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const page_column COLUMNS[] = {{"run", false},
                                          {"size planned", true},
                                          {"size asked for", true},
                                          {"excess forecast", true},
                                          {"cautious", true},
                                          {"with all labels", true},
                                          {"loss above the best here", true},
                                          {"standard errors, realised : forecast", true}};
    enum { N = sizeof COLUMNS / sizeof *COLUMNS };
    pboost_status st = PBOOST_OK;
    grid g = {0};
    size_t rows = 0;

    TRY(grid_make(&g, n * N, err));
    for (size_t i = 0; i < n; i++) {
        const run_record *r = &runs[i];
        if (!run_has_plan(r))
            continue;
        rows++;
        grid_add(&g, "%s", r->name);
        grid_add_number(&g, run_plan_number(r, "planned_bag_size"));
        grid_add_number(&g, run_number(r, "bag_size"));
        grid_add_number(&g, run_plan_number(r, "forecast_excess"));
        grid_add_number(&g, run_plan_number(r, "forecast_cautious"));
        grid_add_number(&g, run_plan_number(r, "forecast_all_labels"));
        grid_add_number(&g, run_loss(r) - least_loss(runs, n, r->model.family));
        grid_add_number(&g, error_ratio(r));
    }
    if (rows == 0) {
        page_paragraph(out,
                       "No run planned: --auto, or none of --algorithm, --estimator, --bags and "
                       "--rounds, has train plan first.");
        goto done;
    }
    page_paragraph(out,
                   "The excess is the test loss above that of the best model of this form. It is "
                   "forecast from the features alone. What came of it can be seen where a run with "
                   "more labels is on this page too: the loss above the best run here.");
    page_table(out, NULL, COLUMNS, N, g.cell, rows);
    for (size_t i = 0; i < n; i++) {
        char text[512];
        if (!run_has_plan(&runs[i]))
            continue;
        snprintf(text, sizeof text, "%s was planned so because %s.", runs[i].name,
                 known(run_plan_text(&runs[i], "reason")));
        page_paragraph(out, text);
    }
done:
    grid_free(&g);
    return st;
}

/* ---- The page ----------------------------------------------------------------------------------- */

pboost_status run_write_page(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const page_entry ENTRIES[] = {{"runs", "Runs"},
                                         {"losses", "Loss by round"},
                                         {"bags", "Bags"},
                                         {"coefficients", "Weights"},
                                         {"spent", "What was spent"},
                                         {"plan", "Plan and outcome"}};
    pboost_status st = PBOOST_OK;

    page_begin(out, n == 1 ? "A run of priorboost" : "Runs of priorboost",
               n == 1 ? runs[0].name : "side by side");
    page_contents(out, ENTRIES, sizeof ENTRIES / sizeof *ENTRIES);
    page_section(out, "runs", "Runs");
    if (!one_family(runs, n))
        page_notice(out, "These runs are of different families: their losses cannot be compared.");
    for (size_t i = 0; i < n; i++)
        write_warnings(out, &runs[i]);
    TRY(write_runs(out, runs, n, err));
    page_section(out, "losses", "Loss by round");
    TRY(write_losses(out, runs, n, err));
    TRY(write_by_bag(out, runs, n, err));
    page_section(out, "bags", "Bags");
    TRY(write_bags(out, runs, n, err));
    page_section(out, "coefficients", "Weights");
    TRY(write_weights(out, runs, n, err));
    page_section(out, "spent", "What was spent");
    TRY(write_spent(out, runs, n, err));
    page_section(out, "plan", "Plan and outcome");
    TRY(write_plans(out, runs, n, err));
    page_end(out);
done:
    return st;
}

/* The page that compares runs: what their rounds gave, as curves. */
#include "run_page.h"

#include <math.h>

#include "run_chart.h"
#include "try.h"

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
    const char *title, *label;
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
static chart_panel panel_of(const curves *c, const quantity *q)
{
    bool wide = c->least > 0.0 && c->most > 20.0 * c->least;
    chart_panel panel = {.title = q->title,
                         .x = {.label = q->over_rows ? "rows spent" : "round",
                               .scale = c->longest > 16.0 ? CHART_LOG2 : CHART_LINEAR,
                               .whole = true},
                         .y = {.label = q->label, .scale = wide ? CHART_LOG : CHART_LINEAR},
                         .series = c->series,
                         .n_series = c->n};
    if (c->longest <= 1.0 && !q->over_rows) { /* dots in the middle */
        panel.x.lo = 0.0;
        panel.x.hi = 2.0;
    }
    return panel;
}

enum { MAX_PANELS = 3 };

/* A figure with a panel for each quantity that some run has; `nothing` is said where none has. */
typedef struct {
    size_t n;
    quantity of[MAX_PANELS];
    const char *text, *nothing;
    const char *id, *title, *caption;
} rounds_figure;

static pboost_status write_figure(FILE *out, const rounds_figure *f, const run_record *runs,
                                  size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    curves c[MAX_PANELS] = {{0}};
    chart_panel panels[MAX_PANELS];
    size_t n_panels = 0;

    for (size_t i = 0; i < f->n; i++) {
        TRY(curves_make(&c[i], runs, n, &f->of[i], err));
        /* Of one round each, a panel over rows would say no more than that over rounds. */
        if (c[i].n > 0 && !(f->of[i].over_rows && c[i].longest <= 1.0))
            panels[n_panels++] = panel_of(&c[i], &f->of[i]);
    }
    page_paragraph(out, n_panels > 0 ? f->text : f->nothing);
    if (n_panels > 0)
        page_figure(out, &(chart_figure){.id = f->id,
                                         .title = f->title,
                                         .caption = f->caption,
                                         .colour_name = "run",
                                         .panels = panels,
                                         .n_panels = n_panels});
done:
    for (size_t i = 0; i < f->n; i++)
        curves_free(&c[i]);
    return st;
}

static const rounds_figure LOSSES = {
    3,
    {{"test_loss", NULL, NULL, NULL, false, "Test loss by round", "test loss"},
     {"test_loss", NULL, NULL, NULL, true, "Test loss by rows spent", "test loss"},
     {"bag_deviance", NULL, NULL, NULL, false, "Fit to the answers", "dispersion of the answers"}},
    "The test loss is the mean squared error (linear), the mean log loss (logistic) "
    "or the mean of μ − y log μ (Poisson), and is there for runs with --test. How "
    "well a model explains the answers of its round needs no label: at best the "
    "dispersion is 1 (logistic, Poisson) or the residual variance (linear).",
    "No run has a record of its rounds.",
    "loss",
    "Loss by round",
    "Loss and fit after each round of each run."};

static const rounds_figure BAGS = {
    2,
    {{"rows", "smallest_bag", "largest_bag", "bags", false, "Bag sizes", "rows in a bag"},
     {"spread", NULL, NULL, NULL, false, "Spread within bags", "spread of predictions"}},
    "The mean size of the bags of each round, with the smallest and the largest; and how far, in "
    "the root mean square, the round's model sees a row from the mean of its bag. Bags of "
    "similar rows say the most about individuals.",
    "No run has a record of its bags.",
    "bag-sizes",
    "Bags by round",
    "Sizes of bags and spread within them, by round."};

pboost_status run_write_losses(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    return write_figure(out, &LOSSES, runs, n, err);
}

pboost_status run_write_bags(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    return write_figure(out, &BAGS, runs, n, err);
}

/* Where the runs were allowed different bags. */
pboost_status run_write_by_bag(FILE *out, const run_record *runs, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    run_chart chart = {0};
    bool differ = false;

    for (size_t i = 1; i < n; i++)
        differ = differ || runs[i].model.training.min_bag != runs[0].model.training.min_bag;
    if (!differ || !run_one_family(runs, n))
        goto done;
    TRY(run_chart_make(&chart, runs, n, err));
    if (chart.panel.n_series > 0)
        page_figure(out, &chart.figure);
done:
    run_chart_free(&chart);
    return st;
}

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
                         .x = {over_rows ? "rows spent" : "round",
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

pboost_status run_write_losses(FILE *out, const run_record *runs, size_t n, pboost_error *err)
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
        page_paragraph(out, "No run has a record of its rounds.");
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

pboost_status run_write_bags(FILE *out, const run_record *runs, size_t n, pboost_error *err)
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
        page_paragraph(out, "No run has a record of its bags.");
        goto done;
    }
    page_paragraph(
        out, "The mean size of the bags of each round, with the smallest and the largest; and "
             "how far, in the root mean square, the round's model sees a row from the mean of "
             "its bag. Bags of similar rows say the most about individuals.");
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

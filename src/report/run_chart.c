/* Test loss against the least bag that was allowed: one curve for each way of learning.
 *
 * Runs that could ask about single rows had every label; they are a line across, the floor. */
#include "run_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "try.h"

/* Neighbours in the palette have similar hues; runs that follow each other get distant colours. */
int run_colour(size_t number)
{
    static const int ORDER[CHART_COLOURS - 1] = {2, 6, 4, 1, 5, 3, 7};
    return ORDER[number % (CHART_COLOURS - 1)];
}

/* The method of a run, in words. */
static void name_of(char out[RUN_CHART_NAME], const pboost_training *t)
{
    static const char *const PAPER[][2] = {{"priorboost", "PriorBoost (the paper)"},
                                           {"oneshot", "OneShot (the paper)"},
                                           {"pbprefix", "PBPrefix (the paper)"}};
    const char *estimator = t->estimator != NULL ? t->estimator : "unknown";
    for (size_t i = 0; i < sizeof PAPER / sizeof *PAPER; i++)
        if (strcmp(estimator, "event") == 0 && t->algorithm != NULL &&
            strcmp(t->algorithm, PAPER[i][0]) == 0) {
            snprintf(out, RUN_CHART_NAME, "%s", PAPER[i][1]);
            return;
        }
    snprintf(out, RUN_CHART_NAME, "%.20s estimator, %.20s bags", estimator,
             t->bags != NULL ? t->bags : "unknown");
}

typedef struct {
    double bag, loss;
} point;

static int by_bag(const void *a, const void *b)
{
    double x = ((const point *)a)->bag, y = ((const point *)b)->bag;
    return (x > y) - (x < y);
}

void run_chart_free(run_chart *chart)
{
    free(chart->series);
    free(chart->name);
    free(chart->block);
    *chart = (run_chart){0};
}

/* The points of the runs that have the name of run i, in the order of their bags. */
static pboost_status add_series(run_chart *chart, double *at, const run_record *runs, size_t n,
                                size_t i, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char name[RUN_CHART_NAME];
    point *points = NULL;
    size_t m = 0;

    NEED(points = pboost_alloc(n, sizeof *points), err);
    for (size_t k = i; k < n; k++) {
        name_of(name, &runs[k].model.training);
        if (strcmp(name, chart->name[i]) == 0 && runs[k].model.training.min_bag > 1 &&
            !isnan(run_loss(&runs[k])))
            points[m++] = (point){(double)runs[k].model.training.min_bag, run_loss(&runs[k])};
    }
    qsort(points, m, sizeof *points, by_bag);
    for (size_t k = 0; k < m; k++) {
        at[k] = points[k].bag;
        at[n + k] = points[k].loss;
    }
    if (m > 0) {
        chart->series[chart->panel.n_series] =
            (chart_series){.colour_key = chart->name[i],
                           .colour = run_colour(chart->panel.n_series),
                           .points = true,
                           .n = m,
                           .x = at,
                           .y = at + n};
        chart->panel.n_series++;
    }
done:
    free(points);
    return st;
}

pboost_status run_chart_make(run_chart *out, const run_record *runs, size_t n, pboost_error *err)
{
    static const char *const LOSSES[] = {[PBOOST_LINEAR] = "test loss (mean squared error)",
                                         [PBOOST_LOGISTIC] = "test loss (log loss)",
                                         [PBOOST_POISSON] = "test loss (mean of μ − y log μ)"};
    enum { N_LOSSES = sizeof LOSSES / sizeof *LOSSES };
    pboost_status st = PBOOST_OK;
    size_t family = runs[0].model.classes.n > 0 ? PBOOST_LOGISTIC : runs[0].model.family;

    *out = (run_chart){0};
    NEED(out->series = calloc(n, sizeof *out->series), err);
    NEED(out->name = calloc(n, sizeof *out->name), err);
    NEED(out->block = pboost_alloc(2 * n, n * sizeof *out->block), err);
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        name_of(out->name[i], &runs[i].model.training);
        for (size_t k = 0; k < i; k++)
            seen = seen || strcmp(out->name[k], out->name[i]) == 0;
        if (!seen)
            TRY(add_series(out, out->block + 2 * n * i, runs, n, i, err));
        if (runs[i].model.training.min_bag == 1 && !isnan(run_loss(&runs[i]))) {
            out->rule = (chart_rule){run_loss(&runs[i]), "all labels"};
            out->panel.n_rules = 1;
        }
    }
    out->panel.x = (chart_axis){.label = "least rows in a bag (k)", .scale = CHART_LOG2};
    out->panel.y = (chart_axis){.label = family < N_LOSSES ? LOSSES[family] : "test loss"};
    out->panel.series = out->series;
    out->panel.rules = &out->rule;
    out->figure = (chart_figure){.id = "loss-by-bag",
                                 .title = "Test loss by bag size",
                                 .caption = "Loss of the final model on rows that were not trained "
                                            "on, by the least bag that the label holder allows.",
                                 .colour_name = "learnt by",
                                 .panels = &out->panel,
                                 .n_panels = 1};
done:
    if (st != PBOOST_OK)
        run_chart_free(out);
    return st;
}

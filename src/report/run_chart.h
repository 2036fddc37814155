/* The chart of test loss against the least bag allowed. */
#ifndef PBOOST_RUN_CHART_H
#define PBOOST_RUN_CHART_H

#include "chart.h"
#include "run_record.h"

enum { RUN_CHART_NAME = 64 };

/* figure points into the rest; it must not be moved. */
typedef struct run_chart {
    chart_figure figure;
    chart_panel panel; /* without series: no run has a test loss at k > 1 */
    chart_series *series;
    chart_rule rule;
    char (*name)[RUN_CHART_NAME];
    double *block;
} run_chart;

pboost_status run_chart_make(run_chart *out, const run_record *runs, size_t n, pboost_error *err);
void run_chart_free(run_chart *chart);

/* Runs that follow each other get distant colours of the palette. */
int run_colour(size_t number);

#endif

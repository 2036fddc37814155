/* Results as charts in the manner of the paper's figures. */
#ifndef PBOOST_REPRODUCE_FIGURES_H
#define PBOOST_REPRODUCE_FIGURES_H

#include "chart.h"
#include "results.h"
#include "theory.h"

enum { FIGURE_PANELS = 3 };

/* A chart with the arrays that it points into; curves and theory are borrowed from the results. */
typedef struct {
    chart_figure chart;
    chart_panel panel[FIGURE_PANELS];
    chart_series *series[FIGURE_PANELS];
    chart_mark *marks;
    chart_rule rule;
    char (*bag_name)[32]; /* by bag size: "k = 4" */
    double *bars;         /* ends of error bars, curve by curve */
    char caption[640], rule_label[64];
} repro_figure;

pboost_status repro_figure_make(repro_figure *out, const repro_results *results, experiment_id id,
                                pboost_error *err);
pboost_status repro_figure_theory(repro_figure *out, const repro_theory *theory, pboost_error *err);
void repro_figure_free(repro_figure *figure);

#endif

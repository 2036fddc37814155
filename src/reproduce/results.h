/* Results: series averaged over realizations, and everything computed from them. */
#ifndef PBOOST_REPRODUCE_RESULTS_H
#define PBOOST_REPRODUCE_RESULTS_H

#include "series.h"

/* One algorithm at one bag size, over the points of its experiment. */
typedef struct {
    pboost_algorithm algorithm;
    experiment_penalty penalty;
    size_t min_bag;
    double *mean, *sd; /* by point, over realizations; sd is 0 where there is one */
} repro_curve;

typedef struct {
    size_t n_points, n_curves;
    double *x; /* by point; infinity for no noise */
    repro_curve *curves;
} repro_result;

typedef struct {
    repro_settings settings;
    double seconds;
    char machine[512];
    repro_result result[N_EXPERIMENTS]; /* empty where not wanted */
} repro_results;

pboost_status repro_results_make(repro_results *out, const repro_plan *plan,
                                 const repro_settings *settings, double seconds, pboost_error *err);
void repro_results_free(repro_results *results);

/* NULL where the run has no such curve. */
const repro_curve *repro_results_find(const repro_results *results, experiment_id experiment,
                                      pboost_algorithm algorithm, experiment_penalty penalty,
                                      size_t min_bag);

/* The last point: after the last step, without noise, or with the most rows. */
double repro_curve_last(const repro_results *results, experiment_id experiment,
                        const repro_curve *curve);

/* AXIS_ROWS: the bag size of least mean loss at a point. */
size_t repro_best_bag(const repro_results *results, experiment_id experiment, size_t point);

#endif

/* A series: the losses of one algorithm at one bag size on one realization, along the axis of its
 * experiment.  It is the unit of work, of storage and of averaging. */
#ifndef PBOOST_REPRODUCE_SERIES_H
#define PBOOST_REPRODUCE_SERIES_H

#include "data.h"
#include "settings.h"

typedef struct {
    experiment_id experiment;
    pboost_algorithm algorithm;
    experiment_penalty penalty;
    size_t min_bag, realization;
    size_t n_points;
    double *loss; /* by point: test loss */
    double work;  /* rough fraction of the whole run's time, in any scale */
} repro_series;

/* All series of the wanted experiments. */
typedef struct {
    size_t n;
    repro_series *series;
} repro_plan;

pboost_status repro_plan_make(repro_plan *out, const repro_settings *settings, pboost_error *err);
void repro_plan_free(repro_plan *plan);

/* The series of these properties; NULL where there is none. */
repro_series *repro_plan_find(const repro_plan *plan, experiment_id experiment,
                              pboost_algorithm algorithm, experiment_penalty penalty,
                              size_t min_bag, size_t realization);

/* The data that a series needs. */
data_key repro_series_data(const repro_series *series, const repro_settings *settings);

/* Called as a series advances, with the fraction done since the last call; false stops it. */
typedef struct {
    bool (*advance)(void *user, double share);
    void *user;
} series_host;

/* Fills series->loss, on one thread. */
pboost_status repro_series_run(repro_series *series, const repro_settings *settings,
                               const repro_data *data, const series_host *host, pboost_error *err);

#endif

/* The paper's experiments as tables: what is drawn against what, with which settings. */
#ifndef PBOOST_REPRODUCE_SETTINGS_H
#define PBOOST_REPRODUCE_SETTINGS_H

#include <priorboost/core.h>

typedef enum {
    EXPERIMENT_LINEAR,
    EXPERIMENT_LOGISTIC,
    EXPERIMENT_PRIVACY,
    EXPERIMENT_BAG_SIZE,
    N_EXPERIMENTS
} experiment_id;

/* What the loss is drawn against; a series has one loss for each of its points. */
typedef enum { AXIS_STEP, AXIS_EPSILON, AXIS_ROWS } experiment_axis;

/* lambda = 10 can be read in two ways that differ as soon as fits use different numbers of rows. */
typedef enum {
    PENALTY_SUM,    /* as the paper writes it: the same lambda for a slice and for all rows */
    PENALTY_PER_ROW /* lambda is for a slice, and grows with the rows of the fit */
} experiment_penalty;

/* An algorithm of a figure, at every bag size or at one alone. */
typedef struct {
    pboost_algorithm algorithm;
    experiment_penalty penalty;
    size_t only_bag; /* 0: all */
} experiment_method;

typedef struct {
    const char *name; /* of the command line, results.json and files */
    const char *title;
    pboost_family family;
    experiment_axis axis;
    size_t n_methods;
    experiment_method method[5];
} experiment_info;

const experiment_info *repro_experiment(experiment_id id);
const char *repro_axis_name(experiment_axis axis); /* "step", "epsilon" or "n" */

enum { MAX_SETTINGS = 64 };

typedef struct {
    size_t rows, test_rows, features, rounds, realizations; /* n, -, d, T, - */
    double noise, l2;                                       /* sigma, lambda */
    size_t n_bags, min_bag[MAX_SETTINGS];                   /* k, ascending */
    size_t n_epsilons;
    pboost_rational epsilon[MAX_SETTINGS]; /* ascending; "none", no noise, last */
    size_t n_sizes, size[MAX_SETTINGS];    /* AXIS_ROWS: n, ascending; the last is rows */
} experiment_setup;

typedef enum { SCALE_SMALL, SCALE_PAPER } repro_scale;

typedef struct {
    repro_scale scale;
    uint64_t seed;
    int threads;
    bool wanted[N_EXPERIMENTS];
    experiment_setup setup[N_EXPERIMENTS];
} repro_settings;

/* All four experiments at that scale. */
pboost_status repro_settings_init(repro_settings *out, repro_scale scale, pboost_error *err);

const char *repro_scale_name(repro_scale scale);

/* Refuses settings that cannot be run, before anything is. */
pboost_status repro_settings_check(const repro_settings *settings, pboost_error *err);

/* The points of the experiment's axis: 1 .. T, the epsilons (infinity for none), or the sizes. */
size_t repro_n_points(const repro_settings *settings, experiment_id id);
double repro_point(const repro_settings *settings, experiment_id id, size_t i);

/* A seed for some purpose; any change in the arguments gives an unrelated one. */
uint64_t repro_mix(uint64_t seed, uint64_t a, uint64_t b);
/* Realization 0 has the run's own seed, so that `generate` and `train` can show the same data. */
uint64_t repro_realization_seed(const repro_settings *settings, size_t realization);

#endif

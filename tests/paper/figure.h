/* The experiments of a figure in a test: some series of one, averaged over realizations. */
#ifndef PBOOST_TEST_FIGURE_H
#define PBOOST_TEST_FIGURE_H

#include "results.h"
#include "run.h"
#include "testing.h"

static inline void figure_no_progress(void *user, double done, double total, double seconds_left)
{
    (void)user, (void)done, (void)total, (void)seconds_left;
}

static inline bool figure_never(void *user)
{
    (void)user;
    return false;
}

static inline double figure_no_clock(void)
{
    return 0.0;
}

/* Runs everything that the settings want; each test asks for little. */
static inline void figure_run(repro_results *out, const repro_settings *settings)
{
    const repro_host host = {figure_no_progress, figure_never, figure_no_clock, NULL};
    pboost_error err = {0};
    repro_plan plan;

    assert_ok(repro_settings_check(settings, &err), err);
    assert_ok(repro_plan_make(&plan, settings, &err), err);
    assert_ok(repro_run(&plan, settings, &host, &err), err);
    assert_ok(repro_results_make(out, &plan, settings, 0.0, &err), err);
    repro_plan_free(&plan);
}

/* One experiment at small scale with these bag sizes. */
static inline repro_settings figure_settings(experiment_id id, const size_t *bags, size_t n)
{
    pboost_error err = {0};
    repro_settings settings;

    assert_ok(repro_settings_init(&settings, SCALE_SMALL, &err), err);
    settings.seed = 20;
    settings.wanted[id] = true;
    settings.setup[id].n_bags = n;
    for (size_t i = 0; i < n; i++)
        settings.setup[id].min_bag[i] = bags[i];
    return settings;
}

/* The mean loss of PriorBoost (and so on) at the point with this x. */
static inline double figure_loss(const repro_results *r, experiment_id id,
                                 pboost_algorithm algorithm, experiment_penalty penalty, size_t k,
                                 double x)
{
    const repro_curve *curve = repro_results_find(r, id, algorithm, penalty, k);
    assert_non_null(curve);
    for (size_t i = 0; i < r->result[id].n_points; i++)
        if (r->result[id].x[i] == x)
            return curve->mean[i];
    fail_msg("there is no point %g", x);
    return NAN;
}

#endif

/* The experiments of a figure in a test: some series of one, averaged over realizations. */
#ifndef PBOOST_TEST_FIGURE_H
#define PBOOST_TEST_FIGURE_H

#include "results.h"
#include "testing.h"

static inline bool figure_go_on(void *user, double share)
{
    (void)user;
    (void)share;
    return true;
}

/* Runs everything that the settings want; each test asks for little. */
static inline void figure_run(repro_results *out, const repro_settings *settings)
{
    pboost_error err = {0};
    repro_plan plan;
    const series_host host = {figure_go_on, NULL};

    assert_ok(repro_settings_check(settings, &err), err);
    assert_ok(repro_plan_make(&plan, settings, &err), err);
    for (size_t i = 0; i < plan.n; i++) {
        if (plan.series[i].done)
            continue;
        repro_data data;
        data_key key = repro_series_data(&plan.series[i], settings);
        assert_ok(repro_data_make(&data, &key, 1, &err), err);
        for (size_t j = i; j < plan.n; j++) {
            data_key other = repro_series_data(&plan.series[j], settings);
            if (!plan.series[j].done && other.seed == key.seed && other.rows == key.rows)
                assert_ok(repro_series_run(&plan.series[j], settings, &data, &host, &err), err);
        }
        repro_data_free(&data);
    }
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

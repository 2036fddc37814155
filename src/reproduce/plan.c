/* Which series a run consists of. */
#include "series.h"

#include "try.h"

/* Roughly nanoseconds, as measured; only the order of jobs and the time left depend on it. */
static double estimate_work(const repro_series *s, const experiment_setup *setup)
{
    double d = (double)setup->features, k = (double)s->min_bag, rows = 0.0;
    double per_row_fit = 10.0 + d * d * 0.4;

    if (setup->n_sizes == 0)
        rows = (double)setup->rows;
    for (size_t i = 0; i < setup->n_sizes; i++)
        rows += (double)setup->size[i];
    double fits = s->algorithm == PBOOST_PBPREFIX ? (double)setup->rounds / 2.0 : 1.0;
    double noisy = setup->n_epsilons > 1 || setup->epsilon[0].den != 0 ? 200.0 / k : 0.0;
    double bagging = s->algorithm == PBOOST_ONESHOT ? 60.0 : 90.0;
    return rows * (double)setup->n_epsilons * (bagging + noisy + per_row_fit * fits);
}

static size_t count_series(const repro_settings *settings)
{
    size_t n = 0;
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        if (settings->wanted[id])
            n += repro_experiment(id)->n_methods * settings->setup[id].n_bags *
                 settings->setup[id].realizations;
    return n;
}

static pboost_status add_series(repro_plan *plan, const repro_settings *settings, experiment_id id,
                                const experiment_method *method, size_t min_bag, size_t realization,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_series *s = &plan->series[plan->n];

    *s = (repro_series){.experiment = id,
                        .algorithm = method->algorithm,
                        .penalty = method->penalty,
                        .min_bag = min_bag,
                        .realization = realization,
                        .n_points = repro_n_points(settings, id)};
    s->work = estimate_work(s, &settings->setup[id]);
    NEED(s->loss = calloc(s->n_points, sizeof *s->loss), err);
    plan->n++;
done:
    return st;
}

pboost_status repro_plan_make(repro_plan *out, const repro_settings *settings, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (repro_plan){0};
    NEED(out->series = pboost_alloc(count_series(settings), sizeof *out->series), err);
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        const experiment_info *info = repro_experiment(id);
        const experiment_setup *setup = &settings->setup[id];
        if (!settings->wanted[id])
            continue;
        for (size_t r = 0; r < setup->realizations; r++)
            for (size_t m = 0; m < info->n_methods; m++)
                for (size_t i = 0; i < setup->n_bags; i++)
                    if (info->method[m].only_bag == 0 ||
                        info->method[m].only_bag == setup->min_bag[i])
                        TRY(add_series(out, settings, id, &info->method[m], setup->min_bag[i], r,
                                       err));
    }
done:
    if (st != PBOOST_OK)
        repro_plan_free(out);
    return st;
}

void repro_plan_free(repro_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        free(plan->series[i].loss);
    free(plan->series);
    *plan = (repro_plan){0};
}

repro_series *repro_plan_find(const repro_plan *plan, experiment_id experiment,
                              pboost_algorithm algorithm, experiment_penalty penalty,
                              size_t min_bag, size_t realization)
{
    for (size_t i = 0; i < plan->n; i++) {
        repro_series *s = &plan->series[i];
        if (s->experiment == experiment && s->algorithm == algorithm && s->penalty == penalty &&
            s->min_bag == min_bag && s->realization == realization)
            return s;
    }
    return NULL;
}

data_key repro_series_data(const repro_series *series, const repro_settings *settings)
{
    const experiment_setup *setup = &settings->setup[series->experiment];
    return (data_key){.rows = setup->rows,
                      .test_rows = setup->test_rows,
                      .features = setup->features,
                      .noise = setup->noise,
                      .seed = repro_realization_seed(settings, series->realization)};
}

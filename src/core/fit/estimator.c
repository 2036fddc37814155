/* The estimators as one table: how a log of answers becomes coefficients. */
#include "fit/estimator.h"

#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/options.h"
#include "data/fit_options.h"
#include "data/matrix.h"
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/constant.h"
#include "fit/event/event.h"
#include "fit/overlap/overlap.h"
#include "try.h"

/* The event-level targets of eq. (1): the target of every row is its bag's answer. */
static pboost_status fit_event(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                               const fit_task *task, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_answers *a = task->answers;
    size_t first_row = a->start[task->first_bag];
    double *target = NULL;
    bag_data data = pboost_bag_data(task->features, a, task->first_bag);
    (void)covariance;

    NEED(target = pboost_acquire(task->work, a->n_rows - first_row, sizeof *target), err);
    for (size_t b = task->first_bag; b < a->n_bags; b++)
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++)
            target[i - first_row] = a->mean[b];
    pboost_samples samples = {.x = &task->features->x,
                              .row = a->row + first_row,
                              .n = a->n_rows - first_row,
                              .target = target,
                              .weight = task->features->weight,
                              .offset = task->features->offset};
    st = pboost_event_fit_samples(task->work, coef, report, &samples, task->options, err);
    /* The labels are spent, so the answers are not refused: if noise moved their mean out of the
     * range, the fit is the constant model. */
    if (st == PBOOST_BAD_DATA &&
        pboost_constant_if_outside(coef, report, &data, task->features->weight, task->options))
        st = pboost_samples_find_nonfinite(&samples, err);
done:
    pboost_release(task->work, target);
    return st;
}

static pboost_status fit_aggregate(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const fit_task *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_data data = pboost_bag_data(t->features, t->answers, t->first_bag);
    bool shared;

    TRY(pboost_bags_share_rows(&shared, &data, err));
    TRY((shared ? pboost_overlap_fit : pboost_aggregate_fit)(
        coef, report, covariance, t->features, t->answers, t->first_bag, t->options, err));
done:
    return st;
}

static pboost_status fit_interpolated(pboost_coef *coef, pboost_fit_report *report,
                                      double *covariance, const fit_task *t, pboost_error *err)
{
    (void)covariance;
    return pboost_interpolated_fit(coef, report, t->features, t->answers, t->first_bag, t->options,
                                   err);
}

static pboost_status fit_chosen(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                const fit_task *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options o = *t->options;
    fit_task chosen = *t;
    TRY(pboost_fit_options_check(&o, err)); /* before another estimator stands in o */
    TRY(pboost_estimator_choose(&o.estimator, t, err));
    chosen.options = &o;
    TRY(pboost_estimator_fit(coef, report, covariance, &chosen, err));
done:
    return st;
}

static const char *const ESTIMATORS[] = {"event", "aggregate", "interpolated", "cv"};
static pboost_status (*const FIT[])(pboost_coef *coef, pboost_fit_report *report,
                                    double *covariance, const fit_task *task, pboost_error *err) = {
    fit_event, fit_aggregate, fit_interpolated, fit_chosen};
#define N_ESTIMATORS (sizeof ESTIMATORS / sizeof *ESTIMATORS)

pboost_status pboost_estimator_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const fit_task *task, pboost_error *err)
{
    pboost_estimator estimator = task->options->estimator;
    pboost_status st = FIT[estimator](coef, report, covariance, task, err);
    if (report != NULL && estimator != PBOOST_ESTIMATOR_CV)
        report->estimator = estimator;
    return st;
}

PBOOST_NAMES(pboost_estimator, ESTIMATORS, "estimator")

pboost_status pboost_fit_run(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                             const fit_task *task, pboost_error *err)
{
    size_t n = coef->n + 1, estimator = (size_t)task->options->estimator;

    if (report != NULL)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    if (estimator >= N_ESTIMATORS)
        return pboost_fail(err, PBOOST_INVALID, "estimator %zu is unknown", estimator);
    if (task->first_bag >= task->answers->n_bags)
        return pboost_fail(err, PBOOST_BAD_DATA, "there are no bags to fit");
    for (size_t i = 0; covariance != NULL && i < n * n; i++)
        covariance[i] = NAN;
    return pboost_estimator_fit(coef, report, covariance, task, err);
}

pboost_status pboost_answers_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                 const pboost_features *features, const pboost_answers *answers,
                                 size_t first_bag, const pboost_fit_options *options,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options own = PBOOST_FIT_OPTIONS_INIT;
    fit_task task = {features, answers, first_bag, &own, NULL};

    if (report != NULL) /* empty after any failure */
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(OPTIONS_READ(&own, options, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(pboost_answers_check_scalar(answers, "a generalised linear model", err));
    TRY(pboost_fit_run(coef, report, covariance, &task, err));
    if (report != NULL)
        TRY(pboost_fit_judge(report, &task, coef, err));
done:
    return st;
}

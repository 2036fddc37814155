/* The estimators as one table: how a log of answers becomes coefficients. */
#include <math.h>
#include <string.h>

#include "names.h"
#include "try.h"
#include "workspace.h"

/* What every estimator is given. */
typedef struct {
    const pboost_matrix *x;
    const double *weight, *offset;
    const pboost_answers *answers;
    size_t first_bag;
    const pboost_fit_options *options;
    pboost_workspace *work;
} fit_task;

/* The event-level targets of eq. (1): every row stands for its bag's answer. */
static pboost_status fit_event(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                               const fit_task *task, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_answers *a = task->answers;
    size_t first_row = a->start[task->first_bag];
    double *target = NULL;
    (void)covariance;

    NEED(target = pboost_take(task->work, a->n_rows - first_row, sizeof *target), err);
    for (size_t b = task->first_bag; b < a->n_bags; b++)
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++)
            target[i - first_row] = a->mean[b];
    pboost_samples samples = {.x = task->x,
                              .row = a->row + first_row,
                              .n = a->n_rows - first_row,
                              .target = target,
                              .weight = task->weight,
                              .offset = task->offset};
    TRY(pboost_event_fit_in(task->work, coef, report, &samples, task->options, err));
done:
    pboost_give(task->work, target);
    return st;
}

static pboost_status fit_aggregate(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const fit_task *t, pboost_error *err)
{
    return pboost_aggregate_fit(coef, report, covariance, t->x, t->weight, t->offset, t->answers,
                                t->first_bag, t->options, err);
}

static pboost_status fit_interpolated(pboost_coef *coef, pboost_fit_report *report,
                                      double *covariance, const fit_task *t, pboost_error *err)
{
    (void)covariance;
    return pboost_interpolated_fit(coef, report, t->x, t->weight, t->offset, t->answers,
                                   t->first_bag, t->options, err);
}

static const char *const ESTIMATORS[] = {"event", "aggregate", "interpolated"};
static pboost_status (*const FIT[])(pboost_coef *coef, pboost_fit_report *report,
                                    double *covariance, const fit_task *task, pboost_error *err) = {
    fit_event, fit_aggregate, fit_interpolated};
#define N_ESTIMATORS (sizeof ESTIMATORS / sizeof *ESTIMATORS)

const char *pboost_estimator_name(pboost_estimator estimator)
{
    return pboost_name_of(ESTIMATORS, N_ESTIMATORS, (size_t)estimator);
}

pboost_status pboost_estimator_parse(pboost_estimator *out, const char *name, pboost_error *err)
{
    size_t i = 0;
    pboost_status st = pboost_name_parse(&i, ESTIMATORS, N_ESTIMATORS, "estimator", name, err);
    *out = (pboost_estimator)i;
    return st;
}

pboost_status pboost_answers_fit_in(pboost_workspace *work, pboost_coef *coef,
                                    pboost_fit_report *report, double *covariance,
                                    const pboost_matrix *x, const double *weight,
                                    const double *offset, const pboost_answers *answers,
                                    size_t first_bag, const pboost_fit_options *options,
                                    pboost_error *err)
{
    fit_task task = {x, weight, offset, answers, first_bag, options, work};
    size_t n = coef->n + 1;

    if ((size_t)options->estimator >= N_ESTIMATORS)
        return pboost_fail(err, PBOOST_INVALID, "estimator %d is unknown", (int)options->estimator);
    if (first_bag >= answers->n_bags)
        return pboost_fail(err, PBOOST_BAD_DATA, "there are no bags to fit");
    for (size_t i = 0; covariance != NULL && i < n * n; i++)
        covariance[i] = NAN;
    return FIT[options->estimator](coef, report, covariance, &task, err);
}

pboost_status pboost_answers_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                 const pboost_matrix *x, const double *weight, const double *offset,
                                 const pboost_answers *answers, size_t first_bag,
                                 const pboost_fit_options *options, pboost_error *err)
{
    return pboost_answers_fit_in(NULL, coef, report, covariance, x, weight, offset, answers,
                                 first_bag, options, err);
}

/* The table of estimators, for the files that choose among them. */
#ifndef PBOOST_ESTIMATOR_H
#define PBOOST_ESTIMATOR_H

#include <priorboost/trainer.h>

#include "base/workspace.h"
#include "fit/aggregate/aggregate.h"

/* What every estimator is given. */
typedef struct {
    const pboost_features *features;
    const pboost_answers *answers;
    size_t first_bag;
    const pboost_fit_options *options;
    pboost_workspace *work; /* NULL: none */
} fit_task;

/* Checks the task and fits; covariance becomes NaN where the estimator has none. */
pboost_status pboost_fit_run(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                             const fit_task *task, pboost_error *err);

/* Fits by the row of the table that task->options names. */
pboost_status pboost_estimator_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const fit_task *task, pboost_error *err);

/* Checks and fits.  The arguments are those of pboost_answers_fit. */
pboost_status pboost_interpolated_fit(pboost_coef *coef, pboost_fit_report *report,
                                      const pboost_features *features,
                                      const pboost_answers *answers, size_t first_bag,
                                      const pboost_fit_options *options, pboost_error *err);

/* The estimator that predicts bags left out best (choose_estimator.c); aggregate if there are too
 * few bags to compare. */
pboost_status pboost_estimator_choose(pboost_estimator *out, const fit_task *task,
                                      pboost_error *err);

/* Appends the bags of a fold, or all others, to a log of their own.  fold: by bag from first_bag.
 */
pboost_status pboost_fold_bags(pboost_answers *out, const pboost_answers *all, size_t first_bag,
                               const unsigned char *fold, unsigned char which, bool inside,
                               pboost_error *err);

/* Means and variances of the task's bags up to end_bag under coef (deviance.c).  Free it whatever
 * the result. */
typedef struct {
    bag_data data;
    bag_pass pass;
    bag_moments at;
} fit_explained;

pboost_status pboost_fit_explain(fit_explained *out, const fit_task *task, size_t end_bag,
                                 const pboost_coef *coef, pboost_error *err);
void pboost_fit_explained_free(fit_explained *explained);

/* Sets report->worse_than_constant of a fit to the task, which gave coef.  It takes a pass over the
 * rows, so only the last fit of a training is judged. */
pboost_status pboost_fit_judge(pboost_fit_report *report, const fit_task *task,
                               const pboost_coef *coef, pboost_error *err);

#endif

/* Scores of rows, with memory that outlives a round. */
#ifndef PBOOST_PREDICT_H
#define PBOOST_PREDICT_H

#include <priorboost/predict.h>

#include "base/workspace.h"

/* The means by which bags are made.  A Poisson fit to answers that are mostly noise, or to rows
 * unlike these, can predict means that overflow.  For making bags they are just very large: the
 * rows that are left can still be asked about. */
pboost_status pboost_score(double *score, pboost_family family, const pboost_samples *samples,
                           const pboost_coef *coef, int threads, pboost_workspace *work,
                           pboost_error *err);

/* x theta + intercept + offset of each sample; the arguments are checked before. */
pboost_status pboost_predict_eta(double *eta, const pboost_samples *samples,
                                 const pboost_coef *coef, int threads, pboost_error *err);

/* Refuses what cannot be predicted or evaluated: family, samples, threads, weights of a model. */
pboost_status pboost_models_check(pboost_family family, const pboost_samples *samples,
                                  bool need_target, const pboost_coef *coef, size_t n_coef,
                                  int threads, pboost_error *err);

/* z with P(|Z| <= z) = level; and whether a level can be that of an interval. */
double pboost_normal_quantile(double level);
pboost_status pboost_level_check(double level, pboost_error *err);

#endif

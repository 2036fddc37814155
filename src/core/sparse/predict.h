/* What a wide model predicts. */
#ifndef PBOOST_SPARSE_PREDICT_H
#define PBOOST_SPARSE_PREDICT_H

#include <priorboost/sparse.h>

/* pboost_wide_predict without its checks.  A linear predictor that is NaN is refused. */
pboost_status pboost_wide_means(double *mean, pboost_family family,
                                const pboost_wide_samples *samples, const pboost_coef *coef,
                                int threads, pboost_error *err);

#endif

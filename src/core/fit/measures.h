/* Every measure of one model. */
#ifndef PBOOST_MEASURES_H
#define PBOOST_MEASURES_H

#include <priorboost/predict.h>

/* pboost_evaluate without its checks. */
pboost_status pboost_measure_all(pboost_evaluation *out, pboost_family family,
                                 const pboost_samples *samples, const pboost_coef *coef,
                                 int threads, pboost_error *err);

#endif

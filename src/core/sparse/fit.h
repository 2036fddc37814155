/* Answers to coefficients. */
#ifndef PBOOST_SPARSE_FIT_H
#define PBOOST_SPARSE_FIT_H

#include <priorboost/sparse.h>

/* pboost_wide_answers_fit with options of this version that have been checked; x is trusted.  near:
 * about what l2 should be, where the fit chooses it; 0: not known. */
pboost_status pboost_wide_fit_answers(pboost_coef *coef, pboost_fit_report *report,
                                      const pboost_wide_features *features,
                                      const pboost_answers *answers, size_t first_bag,
                                      const pboost_fit_options *options, double near,
                                      pboost_error *err);

#endif

/* A fit that continues: samples are added, or targets change, and it is solved again.
 *
 * What a pass over the samples found at one point is kept.  The sums of further samples at that
 * same point are added to it, and other targets change it by what they change of X^T y; so the next
 * fit starts with all it needs for a first step, and passes over everything only to refine.
 *
 * Or the samples are others each time, of the same kind: then what is kept is a Hessian. */
#ifndef PBOOST_REFIT_H
#define PBOOST_REFIT_H

#include <priorboost/core.h>

typedef struct pboost_refit pboost_refit;

/* A fit without intercept, of no samples yet, at 0.  No sample's features may have a Euclidean norm
 * above `longest`: with it the error of a step can be bounded without a pass. */
pboost_status pboost_refit_create(pboost_refit **out, pboost_family family, size_t cols,
                                  double longest, pboost_error *err);
void pboost_refit_free(pboost_refit *refit);

/* Counts in samples that come after all those before; no weights, no offsets. */
pboost_status pboost_refit_add(pboost_refit *refit, const pboost_samples *added, pboost_error *err);

/* The targets of samples added have changed, and with them X^T y by `change`.  Not for the linear
 * family, whose loss is not linear in the target. */
void pboost_refit_retarget(pboost_refit *refit, const double *change);

/* Minimises the sum of losses of `all`, the samples added so far, with the penalty of the options,
 * The options' family, estimator, intercept and threads are ignored, and so are the coefficients
 * that are given. */
pboost_status pboost_refit_solve(pboost_coef *coef, pboost_fit_report *report, pboost_refit *refit,
                                 const pboost_samples *all, const pboost_fit_options *options,
                                 pboost_error *err);

/* Minimises the sum of losses of samples that were in no fit before, from the coefficients that are
 * given.  `refit` keeps the Hessian of an earlier such fit alone; nothing may be added to it.  The
 * options are read as above. */
pboost_status pboost_refit_others(pboost_coef *coef, pboost_fit_report *report, pboost_refit *refit,
                                  const pboost_samples *others, const pboost_fit_options *options,
                                  pboost_error *err);

#endif

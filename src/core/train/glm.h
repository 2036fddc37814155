/* The generalised linear model as a learner. */
#ifndef PBOOST_GLM_H
#define PBOOST_GLM_H

#include <priorboost/trainer.h>

typedef struct pboost_glm pboost_glm;

/* The arrays of features are borrowed.  Options that contradict themselves
 * and values that are not finite are refused here, before any label is spent. */
pboost_status pboost_glm_create(pboost_glm **out, const pboost_features *features,
                                const pboost_fit_options *options, pboost_error *err);
void pboost_glm_free(pboost_glm *glm);
pboost_learner pboost_glm_learner(pboost_glm *glm);
const pboost_features *pboost_glm_features(const pboost_glm *glm);
const pboost_fit_options *pboost_glm_options(const pboost_glm *glm);
const pboost_coef *pboost_glm_coef(const pboost_glm *glm);
const pboost_fit_report *pboost_glm_report(const pboost_glm *glm);
/* (n+1) x (n+1), the intercept last; NULL where the estimator has none. */
const double *pboost_glm_covariance(const pboost_glm *glm);

/* pboost_fit_judge of the last fit, which was to these answers. */
pboost_status pboost_glm_judge(pboost_glm *glm, const pboost_answers *answers, pboost_error *err);

#endif

/* priorboost/classes.h — labels that are one of C classes: multinomial logistic regression from the
 * proportions of the classes in bags.  Conventions are those of core.h; the equations are in
 * docs/classes.md. */
#ifndef PRIORBOOST_CLASSES_H
#define PRIORBOOST_CLASSES_H

#include <priorboost/curves.h>
#include <priorboost/predict.h>
#include <priorboost/trainer.h>

PBOOST_BEGIN

/* What a fit takes at most: (C - 1)(d + 1) weights, whose covariance is their square. */
#define PBOOST_MAX_CLASSES 100
#define PBOOST_MAX_CLASS_WEIGHTS 1000

/* ---- Weights --------------------------------------------------------------------------------- */

/* By class `cols` weights and, last, an intercept: theta[c * (cols + 1) + j].  The probability of
 * class c is proportional to exp(x theta_c + intercept_c).  Those of class 0, the base, are 0: a
 * weight says how the logarithm of the odds of its class against the base changes. */
typedef struct pboost_class_coef {
    size_t classes, cols;
    double *theta;
} pboost_class_coef;

/* All zeros: every class is as likely as any other. */
pboost_status pboost_class_coef_init(pboost_class_coef *out, size_t classes, size_t cols,
                                     pboost_error *err);
void pboost_class_coef_free(pboost_class_coef *coef);

/* (C - 1)(d + 1): the rows of a covariance, by class from 1 on, the intercept last. */
size_t pboost_class_weights(size_t classes, size_t cols);

/* ---- Fits ------------------------------------------------------------------------------------ */

/* Fits the bags from first_bag on, starting from coef; answers have a proportion for each class.
 * Of options the family is not used; the estimator is event or aggregate.  covariance (NULL: not
 * wanted) gets pboost_class_weights squared numbers, NaN with event.  features->offset must be
 * NULL: a number that all classes share changes no probability.  A weight says that the variance of
 * a label is divided by it.  After a failure coef is as it was. */
pboost_status pboost_classes_fit(pboost_class_coef *coef, pboost_fit_report *report,
                                 double *covariance, const pboost_features *features,
                                 const pboost_answers *answers, size_t first_bag,
                                 const pboost_fit_options *options, pboost_error *err);

/* pboost_warnings of such a fit; coef and options->family of `fit` are not used.  Parameters are
 * counted for one class.  *usable (NULL: not wanted): the fit may be used. */
size_t pboost_classes_warnings(pboost_warning *out, bool *usable, const pboost_class_coef *coef,
                               const pboost_fitted *fit);

/* ---- Predictions ----------------------------------------------------------------------------- */

/* probability[i * classes + c] = that sample i is of class c; only x and row of samples are used.
 */
pboost_status pboost_classes_predict(double *probability, const pboost_samples *samples,
                                     const pboost_class_coef *coef, int threads, pboost_error *err);

/* The confidence interval of each probability: that of its log odds against all other classes, from
 * the covariance of the weights (delta method). */
pboost_status pboost_classes_predict_interval(double *lower, double *upper,
                                              const pboost_samples *samples,
                                              const pboost_class_coef *coef,
                                              const double *covariance, double level, int threads,
                                              pboost_error *err);

/* ---- Trees ----------------------------------------------------------------------------------- */

/* Fits boosted trees to the answers from first_bag on.  Member c of *out predicts class c against
 * all others, by trees or, where they are worse, by a constant.  `cols` is the number of encoded
 * columns, whose weights are 0; report has room for one by class.  Of options the family is not
 * used.  After a failure *out is empty. */
pboost_status pboost_classes_fit_trees(pboost_mixture *out, pboost_forest_report *report,
                                       const pboost_columns *columns, size_t cols,
                                       const double *weight, const pboost_answers *answers,
                                       size_t first_bag, const pboost_forest_options *options,
                                       pboost_error *err);

/* probability[i * classes->n + c] = that sample i, which is row row[i] (row NULL: row i), is of
 * class c: what the members predict, divided by its sum. */
pboost_status pboost_classes_predict_trees(double *probability, const pboost_mixture *classes,
                                           const pboost_columns *columns, const size_t *row,
                                           size_t n, int threads, pboost_error *err);

/* ---- Mixtures -------------------------------------------------------------------------------- */

/* pboost_mixture_fit for classes: constant, glm, smooth and trees are weighed by bags left out.
 * *out has a member for each class of each kind that has a weight, classes in their order; their
 * weights are that of the kind over the number of classes.  Smooth takes no part if it would have
 * more than PBOOST_MAX_CLASS_WEIGHTS weights.  After a failure *out is empty. */
pboost_status pboost_classes_fit_mixture(pboost_mixture *out, pboost_mixture_report *report,
                                         const pboost_features *features,
                                         const pboost_columns *columns,
                                         const pboost_answers *answers, size_t first_bag,
                                         const pboost_mixture_options *options, pboost_error *err);

/* Refuses members that are not of that form (PBOOST_BAD_DATA). */
pboost_status pboost_classes_check_mixture(const pboost_mixture *mixture, size_t classes,
                                           pboost_error *err);

/* probability[i * classes + c] = that sample i is of class c: the weighted mean over the kinds.
 * Columns are those of samples->x. */
pboost_status pboost_classes_predict_mixture(double *probability, const pboost_mixture *mixture,
                                             size_t classes, const pboost_samples *samples,
                                             const pboost_columns *columns, int threads,
                                             pboost_error *err);

/* ---- Evaluation ------------------------------------------------------------------------------ */

/* How well probabilities fit labels. */
typedef struct pboost_class_evaluation {
    size_t rows, classes;
    double loss;       /* the mean of -log(probability of the label) */
    double constant;   /* that of a model that knows only the proportions of these labels */
    double accuracy;   /* the part of the rows whose most likely class is their label */
    size_t *confusion; /* [label * classes + most likely class] rows */
    pboost_calibration *calibration; /* by class: its probability against all others */
} pboost_class_evaluation;

/* label: by row, a class number.  groups are those of pboost_calibrate. */
pboost_status pboost_classes_evaluate(pboost_class_evaluation *out, const double *probability,
                                      const double *label, size_t rows, size_t classes,
                                      size_t groups, pboost_error *err);
void pboost_class_evaluation_free(pboost_class_evaluation *evaluation);

/* ---- Training -------------------------------------------------------------------------------- */

/* The model under a trainer.  The score of a row, by which prior and hybrid bags are made, is its
 * vector of probabilities along the direction in which those of the slice vary most. */
typedef struct pboost_classes pboost_classes;

/* The arrays of features are borrowed; what a fit would always refuse is refused here. */
pboost_status pboost_classes_create(pboost_classes **out, const pboost_features *features,
                                    size_t classes, const pboost_fit_options *options,
                                    pboost_error *err);
void pboost_classes_free(pboost_classes *classes);
pboost_learner pboost_classes_learner(pboost_classes *classes);
/* Of the last fit; valid until the next one.  covariance is NULL where the estimator has none. */
const pboost_class_coef *pboost_classes_coef(const pboost_classes *classes);
const pboost_fit_report *pboost_classes_report(const pboost_classes *classes);
const double *pboost_classes_covariance(const pboost_classes *classes);

/* The results of pboost_classes_simulate, in the caller's memory.  NULL: not wanted. */
typedef struct pboost_class_outcome {
    pboost_fit_report *report;
    pboost_round *history; /* by round */
    double *theta;         /* classes x (cols + 1) */
    double *covariance;    /* left alone where the estimator has none */
} pboost_class_outcome;

/* pboost_simulate for classes: rules.answer is PBOOST_ANSWER_CLASSES, rules.width their number, and
 * label has their numbers, by row. */
pboost_status pboost_classes_simulate(pboost_class_outcome *out, const pboost_features *features,
                                      const double *label, const pboost_simulation *simulation,
                                      pboost_error *err);

PBOOST_END

#endif

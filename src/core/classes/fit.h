/* A fit of classes, for its own files. */
#ifndef PBOOST_CLASS_FIT_H
#define PBOOST_CLASS_FIT_H

#include <priorboost/classes.h>

#include "classes/pass.h"
#include "fit/aggregate/levenberg.h"
#include "passes/standard_units.h"

/* The state of a fit.  Parameters are in standard units, as class_pass has them. */
typedef struct {
    const pboost_fit_options *options;
    size_t classes, n_bags;
    standard_units units;
    gathered_rows rows;
    size_t *single;  /* starts of bags of one row: what the event estimator fits */
    double *answer;  /* by bag and class, with sum 1 */
    double *noise;   /* its variance */
    class_pass pass; /* over the bags that are fitted */
    class_moments point, trial;
    double *size, *blur; /* by bag: n_B and l_B, frozen while the minimiser works */
    double *slope;       /* by bag and class: the residual over its variance */
    double *parameter, *start;
    double *penalty; /* by column of a class: lambda, that of the intercept first */
    double lambda, freedom, pearson;
    size_t n_ridges; /* by group of columns: the straight ones, then those of each curve */
    double *ridge, *evidence;
    size_t ridge_refreshes;
    bool ridges_settled;
    bool given;      /* lambda of the straight columns is */
    double multiple; /* of the usual lambda, where that is given; 0: it is not */
    bool noisy;
    levenberg lm;
} class_fit;

/* The matrix of the penalty between classes a and b for column j of a class.  The ridge is on the
 * differences of the weights from their mean over all classes, the base included, so the fit does
 * not depend on which class is the base; of two classes it is that of a logistic model. */
static inline double pboost_class_penalty(const class_fit *fit, size_t a, size_t b, size_t j)
{
    return 2.0 * fit->penalty[j] * ((a == b ? 1.0 : 0.0) - 1.0 / (double)fit->classes);
}

/* Refuses what no fit can take. */
pboost_status pboost_classes_check(const pboost_features *features, size_t classes,
                                   const pboost_fit_options *options, pboost_error *err);

/* Solves from coef or from the constant model, whichever explains the answers better. */
pboost_status pboost_class_solve(class_fit *fit, pboost_fit_report *report,
                                 const pboost_class_coef *coef, pboost_error *err);

/* Ridges from the answers: `usual` is where they start and what they are compared with.  refresh is
 * called after a fit with the ridges in use; settled: it changes nothing any more. */
pboost_status pboost_class_ridges_init(class_fit *fit, pboost_error *err);
void pboost_class_ridges_start(class_fit *fit, double usual);
void pboost_class_ridges_refresh(class_fit *fit, double usual);

/* The multiple of the usual lambda whose fits predict bags left out best. */
pboost_status pboost_class_choose_l2(double *multiple, size_t classes,
                                     const pboost_features *features, const pboost_answers *answers,
                                     size_t first_bag, const pboost_fit_options *options,
                                     pboost_error *err);

/* pboost_classes_fit with options that are checked, and that multiple (0: as options say). */
pboost_status pboost_class_fit_multiple(pboost_class_coef *coef, pboost_fit_report *report,
                                        double *covariance, const pboost_features *features,
                                        const pboost_answers *answers, size_t first_bag,
                                        const pboost_fit_options *options, double multiple,
                                        pboost_error *err);

/* Weights of the working equation at a bag's mean, 1/(V of a class), and 0 for a bag that says
 * nothing. */
double pboost_class_weight(const class_fit *fit, size_t bag, double mean);

/* covariance: pboost_class_weights squared, in the units of x (NULL: not wanted).  Sets freedom and
 * pearson. */
pboost_status pboost_class_covariance(double *covariance, class_fit *fit, pboost_error *err);

/* pboost_classes_fit_trees; left_out (by bag from first_bag and class, NULL: not wanted) gets what
 * forests that had not seen the bag predict of its answer, divided by its sum. */
pboost_status pboost_class_forests(pboost_mixture *out, pboost_forest_report *report,
                                   double *left_out, const pboost_columns *columns, size_t cols,
                                   const double *weight, const pboost_answers *answers,
                                   size_t first_bag, const pboost_forest_options *options,
                                   pboost_error *err);

/* Between the units of x and standard units. */
void pboost_class_enter(double *parameter, const class_fit *fit, const pboost_class_coef *coef);
void pboost_class_leave(pboost_class_coef *coef, const class_fit *fit);

#endif

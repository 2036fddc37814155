/* A fit of classes, for its own files. */
#ifndef PBOOST_CLASS_FIT_H
#define PBOOST_CLASS_FIT_H

#include <priorboost/classes.h>

#include "classes/pass.h"
#include "fit/aggregate/levenberg.h"
#include "passes/standard_units.h"

typedef struct class_fit class_fit;

/* How a fit reads its bags: here (PBOOST_CLASS_LOCAL) or on other machines (room cluster). */
typedef struct {
    void (*run)(class_moments *out, class_fit *fit, const double *parameter);
    /* At the point: sum of J'WJ (lower triangle) and of J'W (answer - mean). */
    void (*gram)(double *gram, double *vector, class_fit *fit);
    /* At the point: sum of J'W V WJ (lower triangle); misfit, by bag: r' V^-1 r. */
    void (*meat)(double *meat, double *misfit, class_fit *fit);
    /* At the point: sum of s s' (lower triangle), where s = J'W (answer - mean) of a bag. */
    void (*scores)(double *squares, class_fit *fit);
} class_access;

extern const class_access PBOOST_CLASS_LOCAL;

/* The state of a fit.  Parameters are in standard units, as class_pass has them. */
struct class_fit {
    const pboost_fit_options *options;
    const class_access *access;
    void *machines; /* of the access */
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
};

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

/* Allocates what a fit of fit->pass needs; the sizes of the pass are set. */
pboost_status pboost_class_reserve(class_fit *fit, pboost_error *err);
void pboost_class_fit_free(class_fit *fit);

/* answer = the proportions with sum 1: what noise added to the sum is taken off. */
void pboost_class_sum_one(double *answer, const double *proportion, size_t classes);

/* Answers about fit->n_bags bags: where each begins, its proportions, the variance of their noise.
 */
typedef struct {
    const size_t *start;
    const double *mean, *noise;
} bag_proportions;

/* The answers with sum 1, by bag of the pass; noise where there is any. */
pboost_status pboost_class_load_answers(class_fit *fit, const bag_proportions *given,
                                        pboost_error *err);

/* ---- Solving (solve.c) ---- */

/* The constant model into fit->start, and the penalties: before anything is minimised. */
void pboost_class_set_start(class_fit *fit);
double pboost_class_set_penalty(class_fit *fit); /* returns the usual lambda */
/* The loss of bags with these means. */
double pboost_class_loss(const class_fit *fit, const double *mean);
/* The penalty at x; and what it adds to a gradient and to a matrix (lower triangle). */
double pboost_class_penalty_at(const class_fit *fit, const double *x);
void pboost_class_penalise(double *gradient, double *matrix, const class_fit *fit, const double *x);
/* slope = the residuals at the point over their variances. */
void pboost_class_set_slopes(class_fit *fit);
/* The rounding of the loss. */
double pboost_class_rounding(const class_fit *fit);

/* Minimises from fit->parameter, which is the point.  `freeze` freezes the sizes there and returns
 * the rounding of the value; it is called until it changes nothing.  usual: see ridge.c. */
pboost_status pboost_class_minimise(class_fit *fit, pboost_fit_report *report,
                                    const levenberg_problem *problem,
                                    double (*freeze)(void *self, size_t refreshes), double usual,
                                    pboost_error *err);

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

/* What the access PBOOST_CLASS_LOCAL calls meat and scores. */
void pboost_class_meat(double *meat, double *misfit, class_fit *fit);
void pboost_class_scores(double *squares, class_fit *fit);

/* Whether the proportions of all answers explain the answers better than the model does, given the
 * means of whole bags of both. */
bool pboost_class_is_worse(const class_fit *fit, const double *model, const double *constant,
                           const bag_proportions *given);
void pboost_class_fill_report(pboost_fit_report *report, const class_fit *fit);

/* direction = where vectors vary most, whose n x n cross products about their mean are `cross`
 * (lost).  work: n (n + 1) numbers. */
void pboost_class_direction(double *direction, double *work, double *cross, size_t n);

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

/* The aggregate estimator, for its own files. */
#ifndef PBOOST_AGGREGATE_H
#define PBOOST_AGGREGATE_H

#include "data/answer_error.h"
#include "data/answers.h"
#include "data/fit_options.h"
#include "fit/aggregate/curve_ridge.h"
#include "fit/aggregate/levenberg.h"
#include "passes/bag_pass.h"
#include "passes/standard_units.h"

/* Bags with their answers. */
typedef struct {
    bag_rows rows;
    const double *answer, *noise; /* by bag */
    bool laplace;                 /* the noise is (data/answer_error.h) */
} bag_data;

/* By bag: what the minimiser aims at, in the places of answer, c and residual; the same where the
 * noise is not Laplace (data/answer_error.h). */
typedef struct {
    double *answer, *noise, *residual;
} working_answers;

/* The state of an aggregate fit.  Parameters are in standard units, the intercept first. */
typedef struct aggregate_fit {
    bag_data data;
    const pboost_fit_options *options;
    const family_info *family;
    standard_units units;
    gathered_rows rows; /* of data */
    bag_pass pass;
    bag_moments point, trial;
    double *parameter, *penalty; /* lambda by parameter, 0 for the intercept */
    double *residual;            /* by bag, at the point */
    working_answers working;
    double *weight;             /* by bag: 1/V at the point */
    double *size, *frozen_mean; /* by bag: frozen while the minimiser works, and where that was */
    double lambda, multiple;    /* in standard units; its multiple of the default */
    double phi, freedom;
    double kappa;               /* the variance of bag effects over phi (effects.c); 0: none */
    size_t effect_refreshes;    /* of kappa */
    double measured_phi;        /* before it was raised to its standard error, or to Poisson's */
    double least_phi;           /* its lower limit: less three standard errors */
    double spread, wide_spread; /* of eta as the ridge takes it, and what it may be */
    size_t spread_refreshes;    /* under noise */
    double *evidence_work;      /* for ridge_evidence.c, under noise; else NULL */
    bool unpenalised;           /* l2 was given, as 0 */
    bool noisy;                 /* some answers are */
    bool floored;               /* phi is its own standard error: noise masks it */
    double start_mean;          /* of the constant model */
    bool mean_masked;           /* by noise: then that is the solution (constant.c) */
    fit_curves curves;
    levenberg lm;
} aggregate_fit;

/* Columns that are not functions of a curve: those with the ridge of ridge.c. */
static inline size_t pboost_straight_columns(const aggregate_fit *fit)
{
    return fit->pass.cols - fit->curves.columns;
}

/* The bags of a log from first_bag on. */
bag_data pboost_bag_data(const pboost_features *features, const pboost_answers *answers,
                         size_t first_bag);

/* Refuses options, answers and bags that are not valid. */
pboost_status pboost_bag_data_check(const pboost_coef *coef, const bag_data *data,
                                    const pboost_answers *answers,
                                    const pboost_fit_options *options, pboost_error *err);

/* The part of it that needs no rows. */
pboost_status pboost_bag_answers_check(const bag_data *data, const pboost_fit_options *options,
                                       pboost_error *err);

/* Makes the memory of a fit.  _init is for rows on this machine; where they are on others, the
 * caller sets pass and units and calls _reserve.  out must not move. */
pboost_status pboost_aggregate_init(aggregate_fit *out, const bag_data *data,
                                    const pboost_fit_options *options, pboost_error *err);
pboost_status pboost_aggregate_reserve(aggregate_fit *fit, pboost_error *err);
void pboost_aggregate_free(aggregate_fit *fit);

/* Fits what has been checked; coef is where to start. */
pboost_status pboost_aggregate_run(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   aggregate_fit *fit, pboost_error *err);

/* Checks and fits.  The arguments are those of pboost_answers_fit. */
pboost_status pboost_aggregate_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const pboost_features *features, const pboost_answers *answers,
                                   size_t first_bag, const pboost_fit_options *options,
                                   pboost_error *err);

/* Solves from `coef` or from the constant model, whichever explains the answers better. */
pboost_status pboost_aggregate_solve(aggregate_fit *fit, pboost_fit_report *report,
                                     const pboost_coef *coef, pboost_error *err);

/* Its steps: sets parameter, point and phi; residuals at the point; what the report says. */
void pboost_aggregate_start(aggregate_fit *fit, const pboost_coef *coef);
void pboost_aggregate_set_residuals(aggregate_fit *fit);
/* Before the first point: the answers as they are. */
void pboost_working_start(aggregate_fit *fit);
/* Minus twice the Gaussian pseudo-likelihood of the point: the sum over bags of squared residual
 * over variance, and of the log variance. */
double pboost_aggregate_misfit(const aggregate_fit *fit);
void pboost_aggregate_report(pboost_fit_report *report, const aggregate_fit *fit,
                             const levenberg_report *last);

/* Whether predictions are almost 0 or 1. */
bool pboost_is_separable(const family_info *family, double eta_mean, double eta_sd);

/* (n+1) x (n+1) in the units of x. */
pboost_status pboost_aggregate_covariance(double *covariance, aggregate_fit *fit,
                                          pboost_error *err);

/* Whether the bags are about as mixed as random ones would be: the variance of the features between
 * bags is less than twice what it is when rows fall into bags by chance. */
pboost_status pboost_bags_are_mixed(bool *out, const aggregate_fit *fit, pboost_error *err);

/* ---- Policies -------------------------------------------------------------------------------- */

/* phi and its floor from the residuals at the point; freedom: effective degrees of freedom. */
void pboost_refresh_dispersion(aggregate_fit *fit, double freedom);

/* effects.c: adds the bag effects to moments of a pass; sets kappa from the residuals at the point,
 * and the moments there.  left: bags less effective degrees of freedom. */
void pboost_effects_add(const aggregate_fit *fit, bag_moments *at);
void pboost_effects_refresh(aggregate_fit *fit, double left);

/* ridge.c.  The evidence is found before the dispersion is refreshed, the spread after it; settled:
 * the spread will not change again. */
void pboost_ridge_start(aggregate_fit *fit);
void pboost_ridge_refresh_penalty(aggregate_fit *fit);
double pboost_ridge_evidence_now(const aggregate_fit *fit);
void pboost_ridge_refresh_spread(aggregate_fit *fit, double evidence);
bool pboost_ridge_settled(const aggregate_fit *fit);

#define CROSSVAL_FOLDS 5
/* Folds of equal size: a number below `folds` for each of n bags. */
void pboost_crossval_folds(unsigned char *fold, size_t n, size_t folds, uint64_t seed);

/* Sets fit->multiple to that multiple of the default lambda which predicts held-out bags best. */
pboost_status pboost_aggregate_choose_l2(aggregate_fit *fit, const pboost_coef *coef,
                                         pboost_error *err);

#endif

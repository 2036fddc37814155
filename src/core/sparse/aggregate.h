/* The aggregate fit of a wide model, for its own files. */
#ifndef PBOOST_SPARSE_AGGREGATE_H
#define PBOOST_SPARSE_AGGREGATE_H

#include "fit/aggregate/aggregate.h"
#include "sparse/coarse.h"
#include "sparse/newton.h"
#include "sparse/rows.h"

typedef struct {
    pboost_fit_options options; /* with the ridge in use */
    /* What does not depend on how rows are stored: answers, sizes, weights, residuals, dispersion.
     * Its own passes, units and minimiser are empty. */
    aggregate_fit bags;
    wide_rows rows;        /* in the order of the bags */
    size_t *first;         /* by bag, n_bags + 1: its rows */
    uint32_t *bag;         /* by row */
    double *slope, *trial; /* by row: b''(eta) / rows of the bag, at the point and the trial */
    double *eta, *image;   /* by row, to work with */
    double *sums;          /* by chunk, 2 each */
    double *parameter;     /* the intercept first where there is one; columns as in rows */
    double l2;
    const unsigned char *fold; /* by bag; NULL: no bags are left out */
    unsigned char left_out;    /* the fold that is */
    wide_newton newton;
    coarse_system coarse;
    bool preconditioned; /* diagonal and coarse system are those of these sizes */
    wide_problem problem;
    const double *at; /* the parameters of a pass */
    size_t iterations;
} wide_fit;

/* Checks and copies; out must not move. */
pboost_status pboost_wide_fit_init(wide_fit *out, const pboost_wide_features *features,
                                   const pboost_answers *answers, size_t first_bag,
                                   const pboost_fit_options *options, pboost_error *err);
void pboost_wide_fit_free(wide_fit *fit);

/* Sets parameter, point and phi: to the constant model, or to coef if that explains the answers
 * better. */
void pboost_wide_start(wide_fit *fit, const pboost_coef *coef);
/* Moves to these parameters. */
void pboost_wide_move(wide_fit *fit, const double *parameter);
/* Freezes the sizes at the point; refreshes: how often they were, this time included. */
void pboost_wide_refresh_sizes(wide_fit *fit, size_t refreshes);

/* Solves the estimating equation from the point, without the bags left out. */
pboost_status pboost_wide_fit_solve(wide_fit *fit, pboost_fit_report *report, double tolerance,
                                    pboost_error *err);

/* ridge.c: sets l2 to the one that predicts bags left out best, from the point; the point is then
 * about the solution with it.  near: about what it should be; 0: not known. */
pboost_status pboost_wide_choose_l2(wide_fit *fit, double near, pboost_error *err);

/* S: the variances of the columns, added up. */
double pboost_wide_row_variance(const wide_rows *rows);

/* solve.c: effective degrees of freedom at the point. */
pboost_status pboost_wide_freedom(double *freedom, wide_fit *fit, pboost_error *err);

/* Fits what has been checked, with options of this version. */
pboost_status pboost_wide_aggregate_run(pboost_coef *coef, pboost_fit_report *report,
                                        const pboost_wide_features *features,
                                        const pboost_answers *answers, size_t first_bag,
                                        const pboost_fit_options *options, double near,
                                        pboost_error *err);

#endif

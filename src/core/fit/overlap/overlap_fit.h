/* The state of a fit to bags that share rows. */
#ifndef PBOOST_OVERLAP_FIT_H
#define PBOOST_OVERLAP_FIT_H

#include "data/matrix.h"
#include "fit/overlap/overlap.h"

/* By position of a row: its linear predictor, and the variance of its label over phi. */
typedef struct {
    double *eta, *variance, *work;
    double eta_mean, eta_sd;
} row_variances;

/* Numbers of `work`. */
size_t pboost_row_variance_work(size_t cols, size_t n_rows, int threads);
void pboost_row_variances(row_variances *out, const shared_bags *bags, const standard_units *units,
                          pboost_family family, const double *parameter, bool intercept,
                          int threads);

/* Parameters are in standard units, the intercept first. */
typedef struct {
    const pboost_fit_options *options;
    const family_info *family;
    shared_bags bags;
    bag_rows rows; /* of bags, for the pass */
    correlation answers;
    standard_units units;
    bag_pass pass;
    row_variances labels;
    bag_moments point;                /* its jacobian is whitened */
    double *residual, *white, *ones;  /* by bag: raw, whitened, 1 */
    double *parameter, *trial, *step; /* by parameter */
    double *penalty, *pull, *gradient;
    double *gram, *matrix; /* the information, and with the penalty */
    pboost_cholesky factor;
    double *evidence_work; /* for ridge_evidence.c, under noise; else NULL */
    double quadratic;      /* residual' V^-1 residual */
    double phi, factored_phi, measured_phi, least_phi, freedom;
    double lambda, spread, wide_spread;
    size_t rank;
    bool noisy, unpenalised, ranked, judged, floored, mean_masked;
} overlap_fit;

pboost_status pboost_overlap_init(overlap_fit *out, const bag_data *data,
                                  const pboost_fit_options *options, pboost_error *err);
void pboost_overlap_free(overlap_fit *fit);

/* phi from the residuals at the point. */
void pboost_overlap_dispersion(overlap_fit *fit);

#endif

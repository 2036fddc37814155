/* The ridge that the answers support. */
#ifndef PBOOST_RIDGE_EVIDENCE_H
#define PBOOST_RIDGE_EVIDENCE_H

#include "fit/aggregate/aggregate.h"

/* A fit at its solution: n parameters, of which the weights parameter[first .. first+d) have this
 * ridge; first is 1 where there is an intercept.  matrix: n x n, the information and the penalty.
 */
typedef struct {
    size_t n, first, d;
    const double *matrix, *parameter, *penalty;
    double lambda, phi; /* phi as for a likelihood: pboost_measured_phi */
} ridge_point;

/* The ridge that shrinks an averagely informed weight by the amount the answers support. */
double pboost_ridge_evidence(const ridge_point *point, double *work);

/* phi for a likelihood: residuals as they were measured.  The phi of a fit may be raised to its
 * standard error, so that intervals are wide enough; used here, it would mask a part of the signal.
 * variance, noise: by bag. */
double pboost_measured_phi(double phi, double measured, size_t bags, const double *variance,
                           const double *noise);

/* That of an aggregate fit. */
static inline double pboost_fit_measured_phi(const aggregate_fit *fit)
{
    return pboost_measured_phi(fit->phi, fit->measured_phi, fit->data.rows.n_bags,
                               fit->point.variance, fit->data.noise);
}

/* Of `work`, in doubles. */
size_t pboost_ridge_evidence_size(size_t cols);

#endif

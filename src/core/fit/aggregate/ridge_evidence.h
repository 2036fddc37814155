/* The ridge that the answers support. */
#ifndef PBOOST_RIDGE_EVIDENCE_H
#define PBOOST_RIDGE_EVIDENCE_H

#include "fit/aggregate/aggregate.h"

/* The ridge that shrinks an averagely informed weight by the amount the answers support.  The
 * matrix of the fit must be that of the point, and the point its solution. */
double pboost_ridge_evidence(const aggregate_fit *fit, double *work);

/* phi for a likelihood: residuals as they were measured.  The phi of the fit may be raised to its
 * standard error, so that intervals are wide enough; used here, it would mask a part of the signal.
 */
double pboost_measured_phi(const aggregate_fit *fit);

/* Of `work`, in doubles. */
size_t pboost_ridge_evidence_size(size_t cols);

#endif

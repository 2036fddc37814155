/* The largest eigenvalue of a symmetric positive semidefinite matrix, dense or implicit. */
#ifndef PBOOST_EIGEN_H
#define PBOOST_EIGEN_H

#include <priorboost/core.h>

/* Of the dense n x n matrix a (both triangles given; overwritten), n >= 1, to rounding error.
 * work holds 2n doubles. */
double pboost_eigen_largest(double *a, size_t n, double *work);

/* y = A u for an n x n matrix A that is never formed. */
typedef void (*pboost_operator)(double *y, const double *u, size_t n, const void *context);

#define EIGEN_STEPS 500 /* of Lanczos, at most */

/* Of an implicit matrix.  The result is a Rayleigh quotient, so it is never above the true value by
 * more than rounding.  It stops when 24 steps add less than 1e-13 of it; where the top of the
 * spectrum is so dense that this takes more than EIGEN_STEPS steps, the relative error left is
 * below (log(4n) / (2 EIGEN_STEPS))^2, that is 3e-4 at n = 2^20.
 * work holds 3n + 3 EIGEN_STEPS doubles. */
double pboost_eigen_largest_implicit(pboost_operator apply, const void *context, size_t n,
                                     double *work);

#endif

/* The dispersion phi: the variance of the labels divided by the family's b''. */
#ifndef PBOOST_DISPERSION_H
#define PBOOST_DISPERSION_H

#include <stddef.h>

/* By bag: the squared error of a model, a_B and c_B. */
typedef struct {
    size_t n_bags;
    const double *residual, *variance, *noise;
} bag_errors;

/* phi >= 0 for which the sum of residual^2 / (phi a + c) is `freedom`; 0 where the noise alone
 * explains the residuals. */
double pboost_dispersion(const bag_errors *errors, double freedom);

/* Its standard error, for residuals of variance phi a + c: Gaussian in the first part, Laplace in
 * the second. */
double pboost_dispersion_error(const bag_errors *errors, double phi);

#endif

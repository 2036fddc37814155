/* The error of an answer: the sampling error of a mean, about normal, and the mechanism's noise.
 *
 * If the noise is Laplace, its tails are long and its density has a peak.  The likelihood of the
 * sum then says more about the mean than its variance V does.  With psi(r) the derivative of minus
 * the log density at the residual r, and I = E psi^2 the information, a fit solves
 *
 *     phi sum_B J_B psi_B(r_B) - lambda theta = 0
 *
 * Fisher scoring does it with the steps of least squares: residual psi / I and variance 1 / I, the
 * working residual, take the places of r and V, and are refreshed where V is.  1 / I is V/2 if
 * there is only noise, and V if there is only sampling error. */
#ifndef PBOOST_ANSWER_ERROR_H
#define PBOOST_ANSWER_ERROR_H

#include <stdbool.h>

/* The two parts of the error. */
typedef struct {
    double sampling, noise; /* variances */
    bool laplace;           /* the noise is; else normal, or of an unknown law */
} answer_error;

typedef struct {
    double residual, variance;
} working_residual;

working_residual pboost_working_residual(double residual, answer_error error);

/* 1 / I. */
double pboost_working_variance(answer_error error);

/* The log density of a residual. */
double pboost_residual_log_density(double residual, answer_error error);

#endif

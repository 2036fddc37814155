/* Loops over rows in place.  Only kernels include this. */
#ifndef PBOOST_KERNELS_ROWS_H
#define PBOOST_KERNELS_ROWS_H

#include "kernels/glm.h"

/* See glm_kernels. */
void SIMD(pboost_rows_eta)(double *eta, const glm_table *table, const double *theta,
                           double intercept);
void SIMD(pboost_rows_gradient)(double *gradient, const glm_table *table, const double *residual);

#endif

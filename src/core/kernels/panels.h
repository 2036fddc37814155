/* Loops over panels.  Only kernels include this. */
#ifndef PBOOST_KERNELS_PANELS_H
#define PBOOST_KERNELS_PANELS_H

#include "kernels/glm.h"

/* See glm_kernels. */
void SIMD(pboost_panel_rows)(double *panel, size_t capacity, glm_rows rows);
void SIMD(pboost_panel_eta)(double *eta, glm_panel p, const double *theta, double intercept);
void SIMD(pboost_panel_gradient)(double *gradient, double *cross, glm_panel p,
                                 const double *residual, const double *curvature);
void SIMD(pboost_panel_product)(double *product, glm_panel p, const double *weight, size_t first,
                                size_t last);
void SIMD(pboost_panel_gram)(double *gram, glm_panel p, const double *curvature);

#endif

/* The loss of many models over one panel of turned rows.  Only kernels include this. */
#ifndef PBOOST_KERNELS_LOSSES_H
#define PBOOST_KERNELS_LOSSES_H

#include "kernels/glm.h"

/* See glm_kernels. */
void SIMD(pboost_losses_survey)(glm_scored *rows);
bool SIMD(pboost_losses_logistic)(double *total, double *factor, const glm_scored *rows,
                                  const double *theta, double intercept);

#endif

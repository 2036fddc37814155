/* Loops over panels turned so that a register holds one column of eight rows: what serves few
 * columns best, and many models.  Only kernels include this. */
#ifndef PBOOST_KERNELS_COLUMNS_H
#define PBOOST_KERNELS_COLUMNS_H

#include "kernels/glm.h"

/* See glm_kernels. */
void SIMD(pboost_columns_turn)(double *columns, glm_panel panel);
void SIMD(pboost_columns_eta)(double *eta, const double *columns, size_t capacity, size_t count,
                              size_t cols, const double *theta, double intercept);
void SIMD(pboost_columns_add)(double *lanes, const glm_columns *columns, bool gram);
void SIMD(pboost_columns_finish)(double *gradient, double *cross, double *gram, const double *lanes,
                                 bool with_gram);

#endif

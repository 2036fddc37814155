/* The hot loops of fitting and evaluation, one set per level of vector instructions. */
#ifndef PBOOST_KERNELS_GLM_H
#define PBOOST_KERNELS_GLM_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/simd.h"

/* A panel (matrix.h) of `count` rows in `blocks` blocks of columns. */
typedef struct {
    const double *x;
    size_t capacity, count, blocks;
    const double *ahead; /* where the rows of the next panel will be read from; NULL: not known */
    ptrdiff_t ahead_stride; /* of its rows, or of its columns if they are turned already */
    bool ahead_turned;
} glm_panel;

/* Up to 8 columns of `count` rows, turned: column j of row r is x[j * capacity + r].  Residual and
 * curvature are 0 from count up to the next multiple of 8. */
typedef struct {
    const double *x;
    size_t capacity, count, cols;
    const double *residual, *curvature;
    bool cross;             /* whether the cross terms are wanted with a Gram matrix */
    const double *ahead;    /* as in glm_panel */
    ptrdiff_t ahead_stride; /* of its rows, or of its columns if they are turned already */
    bool ahead_turned;
} glm_columns;

/* Turned rows with their targets, for many models; arrays by column, the last entry is of the
 * intercept. */
typedef struct {
    const double *x;
    size_t capacity, count, cols;
    const double *y;
    double *lean;    /* sum of (1/2 - y) x */
    double *size;    /* sum of |x| */
    double *largest; /* |x| */
} glm_scored;

/* Rows of adjacent doubles, row_stride apart; at least 8 columns. */
typedef struct {
    const double *x;
    ptrdiff_t row_stride;
    size_t count, cols;
    const double *ahead; /* as in glm_panel */
} glm_table;

#define GLM_COLUMNS_LANES (8 * (8 + 8 + 36))

enum { EVENT_LOSS, EVENT_RESIDUAL, EVENT_CURVATURE, EVENT_SUMS };

/* What one family needs, for n values at once.  Arrays may be of any length; offset, weight may be
 * NULL. */
typedef struct {
    void (*mean)(double *mean, const double *eta, size_t n);
    void (*moments)(double *mean, double *variance, const double *eta, size_t n);
    void (*loss)(double *loss, const double *eta, const double *y, size_t n);
    /* residual = w * (mean - y), curvature = w * b''; adds w * loss and both of these up in sums.
     * n <= GLM_BLOCK. */
    void (*event)(double sums[EVENT_SUMS], double *residual, double *curvature, const double *eta,
                  const double *y, const double *weight, size_t n);
    /* Returns sum w * loss alone.  n <= GLM_BLOCK. */
    double (*total)(const double *eta, const double *y, const double *weight, size_t n);
    /* The same without weights from turned rows, less the logarithm of a factor in 1 .. 2^count;
     * theta and intercept are the model's.  False where digits would be lost.  NULL: has none. */
    bool (*total_columns)(double *total, double *factor, const glm_scored *rows,
                          const double *theta, double intercept);
} family_kernels;

/* 512 factors of at most 2 have a product that does not overflow: one logarithm serves them all. */
#define GLM_BLOCK 512

/* Rows of adjacent doubles: that of sample i starts at x + row_stride * row[i], or * i where row is
 * NULL. */
typedef struct {
    const double *x;
    ptrdiff_t row_stride;
    const size_t *row;
    size_t cols, first, stride, count; /* samples first, first + stride, ... */
} glm_rows;

typedef struct {
    family_kernels family[3];
    /* Copies rows into a panel of that capacity. */
    void (*gather)(double *panel, size_t capacity, glm_rows rows);
    /* eta[r] = x_r theta + intercept; theta is padded with zeros to whole blocks. */
    void (*eta)(double *eta, glm_panel panel, const double *theta, double intercept);
    /* gradient += sum residual_r x_r; cross += sum curvature_r x_r. */
    void (*gradient)(double *gradient, double *cross, glm_panel panel, const double *residual,
                     const double *curvature);
    /* product += sum of weight_r x_r over rows first .. last-1. */
    void (*product)(double *product, glm_panel panel, const double *weight, size_t first,
                    size_t last);
    /* gram += sum curvature_r x_r x_r', whole blocks on and below the diagonal; row-major with
     * 8 * blocks columns. */
    void (*gram)(double *gram, glm_panel panel, const double *curvature);
    /* columns[j * capacity + r] = x_r[j]; capacity is a multiple of 8 and at least count.  The last
     * eight rows are made whole with zeros. */
    void (*transpose)(double *columns, glm_panel panel);
    /* eta of many models from such columns. */
    void (*eta_columns)(double *eta, const double *columns, size_t capacity, size_t count,
                        size_t cols, const double *theta, double intercept);
    /* Adds gradient and, where wanted, cross and gram of up to 8 such columns to `lanes`, which has
     * GLM_COLUMNS_LANES values and starts as zeros. */
    void (*add_columns)(double *lanes, const glm_columns *columns, bool gram);
    /* What was added up: 8 values, 8 values, and the lower triangle of an 8 x 8 matrix. */
    void (*finish_columns)(double *gradient, double *cross, double *gram, const double *lanes,
                           bool with_gram);
    /* Fills in what all models need of the rows. */
    void (*survey)(glm_scored *rows);
    /* eta and gradient of rows in place.  eta has room for whole vectors. */
    void (*eta_table)(double *eta, const glm_table *table, const double *theta, double intercept);
    void (*gradient_table)(double *gradient, const glm_table *table, const double *residual);
    double (*dot)(const double *a, const double *b, size_t n);
    double (*sum)(const double *a, size_t n);
    bool (*all_finite)(const double *a, size_t n);
} glm_kernels;

extern const glm_kernels pboost_glm_kernels_plain;
#ifdef PBOOST_SIMD_X86
extern const glm_kernels pboost_glm_kernels_avx2, pboost_glm_kernels_avx512;
#endif

/* Those of the level in use. */
const glm_kernels *pboost_glm_kernels(void);

#endif

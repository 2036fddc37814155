/* The hot loops of the tree that makes bags from features (tree.c), one set per level of vector
 * instructions. */
#ifndef PBOOST_KERNELS_NODES_H
#define PBOOST_KERNELS_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/simd.h"

#define NODE_LANES 8 /* floats of a block */

/* Rows side by side: row r is z[r * stride ..], stride a multiple of NODE_LANES. */
typedef struct {
    const float *z;
    const float *weight; /* NULL: 1 */
    size_t count, stride;
} node_rows;

typedef struct {
    /* value[r] = z_r u - shift. */
    void (*project)(float *value, node_rows rows, const float *u, float shift);
    /* sum += sum of w_r z_r; returns the sum of w_r.  work holds stride floats. */
    double (*sum)(double *sum, node_rows rows, float *work);
    /* The same with w_r (z_r u - shift) in the place of w_r. */
    double (*apply)(double *sum, node_rows rows, const float *u, float shift, float *work);
    /* gram += sum of w_r (z_r - center)(z_r - center)', row-major with `stride` columns: the blocks
     * of rows first .. end-1, each up to the diagonal. */
    void (*gram)(double *gram, node_rows rows, const float *center, size_t first, size_t end);
    /* Rows a[i] and b[i] change places. */
    void (*swap)(float *z, size_t stride, const uint32_t *a, const uint32_t *b, size_t n);
    /* out = the n columns of a, which is symmetric and has `stride` rows, times u. */
    void (*times)(float *out, const float *a, const float *u, size_t n, size_t stride);
} node_kernels;

extern const node_kernels pboost_node_kernels_plain;
#ifdef PBOOST_SIMD_X86
extern const node_kernels pboost_node_kernels_avx2, pboost_node_kernels_avx512;
#endif

/* Those of the level in use. */
const node_kernels *pboost_node_kernels(void);

#endif

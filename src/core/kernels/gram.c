/* The Gram matrix of a panel: a sum of outer products, tiled so that its accumulators stay in
 * registers over the whole panel. */
#include "kernels/panels.h"
#include "kernels/vec.h"

/* Asks for block b of row r of the next panel, while there is arithmetic to do: otherwise a pass
 * over a large table would wait for memory and compute in turn. */
INLINE void ask_ahead(glm_panel p, size_t b, size_t r)
{
    if (p.ahead != NULL)
        __builtin_prefetch(p.ahead + (ptrdiff_t)r * p.ahead_stride + b * 8, 0, 2);
}

#if LANES == 8

/* Rows `ib` of the Gram matrix against `width` blocks of columns from `jb` on: width * 8
 * accumulators, which AVX-512 has the registers for. */
INLINE void gram_tile(double *gram, glm_panel p, const double *curvature, size_t ib, size_t jb,
                      const size_t width)
{
    size_t cols = p.blocks * LANES;
    vec acc[LANES][3];
    for (size_t i = 0; i < LANES; i++)
        for (size_t j = 0; j < width; j++)
            acc[i][j] = vec_load(gram + (ib * LANES + i) * cols + (jb + j) * LANES);
    const double *left = p.x + ib * p.capacity * LANES;
    for (size_t r = 0; r < p.count; r++) {
        if (jb == 0)
            ask_ahead(p, ib, r);
        vec x[3];
        for (size_t j = 0; j < width; j++)
            x[j] = vec_load(p.x + ((jb + j) * p.capacity + r) * LANES) * curvature[r];
        for (size_t i = 0; i < LANES; i++)
            for (size_t j = 0; j < width; j++)
                acc[i][j] += x[j] * left[r * LANES + i];
    }
    for (size_t i = 0; i < LANES; i++)
        for (size_t j = 0; j < width; j++)
            vec_store(gram + (ib * LANES + i) * cols + (jb + j) * LANES, acc[i][j]);
}

/* A single block: two sets of accumulators, so that one sum does not wait for the last. */
INLINE void gram_block(double *gram, glm_panel p, const double *curvature)
{
    vec even[LANES], odd[LANES];
    for (size_t i = 0; i < LANES; i++) {
        even[i] = vec_load(gram + i * LANES);
        odd[i] = vec_all(0.0);
    }
    size_t r = 0;
    for (; r + 2 <= p.count; r += 2) {
        const double *x = p.x + r * LANES;
        ask_ahead(p, 0, r);
        ask_ahead(p, 0, r + 1);
        vec a = vec_load(x) * curvature[r], b = vec_load(x + LANES) * curvature[r + 1];
        for (size_t i = 0; i < LANES; i++) {
            even[i] += a * x[i];
            odd[i] += b * x[LANES + i];
        }
    }
    for (; r < p.count; r++)
        for (size_t i = 0; i < LANES; i++)
            even[i] += vec_load(p.x + r * LANES) * curvature[r] * p.x[r * LANES + i];
    for (size_t i = 0; i < LANES; i++)
        vec_store(gram + i * LANES, even[i] + odd[i]);
}

void SIMD(pboost_panel_gram)(double *gram, glm_panel p, const double *curvature)
{
    if (p.blocks == 1) {
        gram_block(gram, p, curvature);
        return;
    }
    for (size_t ib = 0; ib < p.blocks; ib++) {
        size_t jb = 0;
        for (; jb + 3 <= ib + 1; jb += 3)
            gram_tile(gram, p, curvature, ib, jb, 3);
        if (ib + 1 - jb == 2)
            gram_tile(gram, p, curvature, ib, jb, 2);
        else if (ib + 1 - jb == 1)
            gram_tile(gram, p, curvature, ib, jb, 1);
    }
}

#else

/* Vectors by block of columns, and rows of a tile: as many as there are registers for. */
enum { BLOCK = 8, VECTORS = BLOCK / LANES, ROWS = LANES };

/* ROWS rows of the Gram matrix from `row` on against block jb of columns. */
INLINE void gram_tile(double *gram, glm_panel p, const double *curvature, size_t row, size_t jb)
{
    size_t cols = p.blocks * BLOCK;
    double *to = gram + row * cols + jb * BLOCK;
    const double *left = p.x + row / BLOCK * p.capacity * BLOCK + row % BLOCK;
    const double *right = p.x + jb * p.capacity * BLOCK;
    vec acc[ROWS][VECTORS];
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < VECTORS; j++)
            acc[i][j] = vec_load(to + i * cols + j * LANES);
    for (size_t r = 0; r < p.count; r++) {
        if (jb == 0 && row % BLOCK == 0)
            ask_ahead(p, row / BLOCK, r);
        vec x[VECTORS];
        for (size_t j = 0; j < VECTORS; j++)
            x[j] = vec_load(right + r * BLOCK + j * LANES) * curvature[r];
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < VECTORS; j++)
                acc[i][j] += x[j] * left[r * BLOCK + i];
    }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < VECTORS; j++)
            vec_store(to + i * cols + j * LANES, acc[i][j]);
}

void SIMD(pboost_panel_gram)(double *gram, glm_panel p, const double *curvature)
{
    for (size_t row = 0; row < p.blocks * BLOCK; row += ROWS)
        for (size_t jb = 0; jb <= row / BLOCK; jb++)
            gram_tile(gram, p, curvature, row, jb);
}

#endif

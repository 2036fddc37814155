/* Loops over turned panels.
 *
 * With one row per register a sum over columns ends in a horizontal sum, and an outer product takes
 * one broadcast per element.  With one column of several rows per register neither does: every lane
 * adds up its own rows, and the lanes are added once, at the end of a chunk.  Only the lower
 * triangle of the Gram matrix is computed, in tiles whose accumulators stay in registers over a
 * panel. */
#include "kernels/columns.h"

#include "kernels/vec.h"

/* Columns per side of a tile: as many as leave no accumulator without a register. */
#define TILE (VEC_REGISTERS / 8)

/* Where the accumulators are, each of LANES doubles: gradient, cross, lower triangle by rows. */
enum { COLS = 8, AT_GRADIENT = 0, AT_CROSS = COLS, AT_GRAM = 2 * COLS };

_Static_assert(GLM_COLUMNS_LANES >= (AT_GRAM + COLS * (COLS + 1) / 2) * LANES, "all of them");

INLINE double *gram_at(double *lanes, size_t i, size_t j)
{
    return lanes + (AT_GRAM + i * (i + 1) / 2 + j) * LANES;
}

void SIMD(pboost_columns_turn)(double *columns, glm_panel p)
{
    for (size_t b = 0; b < p.blocks; b++)
        for (size_t r = 0; r < p.count; r += LANES)
            for (size_t j = 0; j < COLS; j += LANES) {
                const double *x = p.x + (b * p.capacity + r) * COLS + j;
                vec m[LANES];
                if (r + LANES <= p.count)
                    for (size_t i = 0; i < LANES; i++)
                        m[i] = vec_load(x + i * COLS);
                else
                    for (size_t i = 0; i < LANES; i++)
                        m[i] = r + i < p.count ? vec_load(x + i * COLS) : vec_all(0.0);
                vec_transpose(m);
                for (size_t i = 0; i < LANES; i++)
                    vec_store(columns + (b * COLS + j + i) * p.capacity + r, m[i]);
            }
}

void SIMD(pboost_columns_eta)(double *eta, const double *columns, size_t capacity, size_t count,
                              size_t cols, const double *theta, double intercept)
{
    for (size_t r = 0; r < count; r += 4 * LANES) {
        size_t width = count - r < 4 * LANES ? (count - r + LANES - 1) / LANES : 4;
        vec sum[4] = {vec_all(intercept), vec_all(intercept), vec_all(intercept),
                      vec_all(intercept)};
        if (width == 4)
            for (size_t j = 0; j < cols; j++)
                for (size_t i = 0; i < 4; i++)
                    sum[i] += vec_load(columns + j * capacity + r + i * LANES) * theta[j];
        else
            for (size_t j = 0; j < cols; j++)
                for (size_t i = 0; i < width; i++)
                    sum[i] += vec_load(columns + j * capacity + r + i * LANES) * theta[j];
        for (size_t i = 0; i < width; i++)
            vec_store(eta + r + i * LANES, sum[i]);
    }
}

/* Asks for the rows of the next panel that correspond to eight of this one, while there is
 * arithmetic to do. */
INLINE void ask_ahead(const glm_columns *c, size_t r)
{
    for (size_t i = r; c->ahead != NULL && i < r + LANES; i++) {
        ptrdiff_t line = (ptrdiff_t)(c->ahead_turned ? i % COLS : i);
        __builtin_prefetch(c->ahead + line * c->ahead_stride + (c->ahead_turned ? r : 0));
    }
}

/* The gradient of TILE columns. */
INLINE void add_gradient(double *lanes, const glm_columns *c, size_t from)
{
    vec g[TILE];
    double *to = lanes + (AT_GRADIENT + from) * LANES;
    for (size_t i = 0; i < TILE; i++)
        g[i] = vec_load(to + i * LANES);
    for (size_t r = 0; r < c->count; r += LANES) {
        if (from == 0)
            ask_ahead(c, r);
        for (size_t i = 0; i < TILE; i++)
            g[i] += vec_load(c->x + (from + i) * c->capacity + r) * vec_load(c->residual + r);
    }
    for (size_t i = 0; i < TILE; i++)
        vec_store(to + i * LANES, g[i]);
}

/* A tile on the diagonal, and the gradient and, where wanted, cross terms of its columns with it.
 */
INLINE void add_diagonal(double *lanes, const glm_columns *c, size_t from, const bool with_cross)
{
    vec g[TILE], cross[TILE], acc[TILE][TILE];
    double *to = lanes + (AT_GRADIENT + from) * LANES, *to_cross = to + AT_CROSS * LANES;
    for (size_t i = 0; i < TILE; i++) {
        g[i] = vec_load(to + i * LANES);
        cross[i] = vec_load(to_cross + i * LANES);
        for (size_t j = 0; j <= i; j++)
            acc[i][j] = vec_load(gram_at(lanes, from + i, from + j));
    }
    for (size_t r = 0; r < c->count; r += LANES) {
        if (from == 0)
            ask_ahead(c, r);
        vec w = vec_load(c->curvature + r), residual = vec_load(c->residual + r), x[TILE];
        for (size_t i = 0; i < TILE; i++) {
            x[i] = vec_load(c->x + (from + i) * c->capacity + r);
            vec wx = x[i] * w;
            g[i] += x[i] * residual;
            if (with_cross)
                cross[i] += wx;
            for (size_t j = 0; j <= i; j++)
                acc[i][j] += wx * x[j];
        }
    }
    for (size_t i = 0; i < TILE; i++) {
        vec_store(to + i * LANES, g[i]);
        vec_store(to_cross + i * LANES, cross[i]);
        for (size_t j = 0; j <= i; j++)
            vec_store(gram_at(lanes, from + i, from + j), acc[i][j]);
    }
}

/* A tile below the diagonal. */
INLINE void add_below(double *lanes, const glm_columns *c, size_t row, size_t col)
{
    vec acc[TILE][TILE];
    for (size_t i = 0; i < TILE; i++)
        for (size_t j = 0; j < TILE; j++)
            acc[i][j] = vec_load(gram_at(lanes, row + i, col + j));
    for (size_t r = 0; r < c->count; r += LANES) {
        vec w = vec_load(c->curvature + r), x[TILE];
        for (size_t j = 0; j < TILE; j++)
            x[j] = vec_load(c->x + (col + j) * c->capacity + r) * w;
        for (size_t i = 0; i < TILE; i++)
            for (size_t j = 0; j < TILE; j++)
                acc[i][j] += vec_load(c->x + (row + i) * c->capacity + r) * x[j];
    }
    for (size_t i = 0; i < TILE; i++)
        for (size_t j = 0; j < TILE; j++)
            vec_store(gram_at(lanes, row + i, col + j), acc[i][j]);
}

void SIMD(pboost_columns_add)(double *lanes, const glm_columns *c, bool gram)
{
    for (size_t i = 0; i < c->cols; i += TILE) {
        if (!gram) {
            add_gradient(lanes, c, i);
            continue;
        }
        for (size_t j = 0; j < i; j += TILE)
            add_below(lanes, c, i, j);
        if (c->cross)
            add_diagonal(lanes, c, i, true);
        else
            add_diagonal(lanes, c, i, false);
    }
}

void SIMD(pboost_columns_finish)(double *gradient, double *cross, double *gram, const double *lanes,
                                 bool with_gram)
{
    for (size_t i = 0; i < COLS; i++) {
        gradient[i] = vec_sum(vec_load(lanes + (AT_GRADIENT + i) * LANES));
        cross[i] = vec_sum(vec_load(lanes + (AT_CROSS + i) * LANES));
        for (size_t j = 0; j <= i && with_gram; j++)
            gram[i * COLS + j] = vec_sum(vec_load(lanes + (AT_GRAM + i * (i + 1) / 2 + j) * LANES));
    }
}

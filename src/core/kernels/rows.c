/* Loops over rows in place.
 *
 * A gradient reads each row twice, too seldom to copy it.  Rows are read in order, which is
 * fastest, and their length need not be a multiple of a register: the last block is the last eight
 * columns, of which those that another block has served count as zeros. */
#include "kernels/rows.h"

#define LANES 8 /* as panels have */
#include "kernels/vec.h"

/* The columns in whole blocks, and where the last block starts. */
typedef struct {
    size_t whole, last;
    vec fresh; /* 1 in the lanes of the last block that no other has */
} blocks;

INLINE blocks blocks_of(const glm_table *t)
{
    blocks b = {.whole = t->cols / LANES * LANES, .last = t->cols - LANES};
    for (size_t i = 0; i < LANES; i++)
        b.fresh[i] = b.last + i >= b.whole ? 1.0 : 0.0;
    return b;
}

INLINE const double *row_at(const glm_table *t, size_t r)
{
    return t->x + (ptrdiff_t)r * t->row_stride;
}

/* The products of a row with theta, eight sums of them. */
INLINE vec row_products(const double *x, const double *theta, size_t whole)
{
    vec even = vec_load(x) * vec_load(theta), odd = vec_all(0.0);
    size_t j = LANES;
    for (; j + 2 * LANES <= whole; j += 2 * LANES) {
        odd += vec_load(x + j) * vec_load(theta + j);
        even += vec_load(x + j + LANES) * vec_load(theta + j + LANES);
    }
    if (j < whole)
        odd += vec_load(x + j) * vec_load(theta + j);
    return even + odd;
}

void SIMD(pboost_rows_eta)(double *eta, const glm_table *t, const double *theta, double intercept)
{
    blocks b = blocks_of(t);
    vec theta_last = vec_load(theta + b.last) * b.fresh;
    for (size_t r = 0; r < t->count; r += LANES) {
        size_t rows = t->count - r < LANES ? t->count - r : LANES;
        vec m[LANES] = {0};
        for (size_t i = 0; i < rows; i++) {
            const double *x = row_at(t, r + i);
            m[i] = row_products(x, theta, b.whole);
            if (b.whole < t->cols)
                m[i] += vec_load(x + b.last) * theta_last;
        }
        vec_store(eta + r, vec_sums(m) + intercept);
    }
}

/* Asks for a line of the panel to come. */
INLINE void ask_ahead(const glm_table *t, size_t r, size_t j)
{
    if (t->ahead != NULL)
        __builtin_prefetch(t->ahead + (ptrdiff_t)r * t->row_stride + j, 0, 3);
}

/* Adds `rows` rows, at most 4, to the gradient. */
INLINE void add_rows(double *gradient, const glm_table *t, blocks b, const double *residual,
                     size_t r, const size_t rows)
{
    for (size_t j = 0; j < b.whole; j += LANES) {
        vec g = vec_load(gradient + j);
        for (size_t i = 0; i < rows; i++) {
            ask_ahead(t, r + i, j);
            g += vec_load(row_at(t, r + i) + j) * residual[r + i];
        }
        vec_store(gradient + j, g);
    }
    if (b.whole == t->cols)
        return;
    vec g = vec_load(gradient + b.last);
    for (size_t i = 0; i < rows; i++)
        g += vec_load(row_at(t, r + i) + b.last) * (b.fresh * residual[r + i]);
    vec_store(gradient + b.last, g);
}

void SIMD(pboost_rows_gradient)(double *gradient, const glm_table *t, const double *residual)
{
    blocks b = blocks_of(t);
    size_t r = 0;
    for (; r + 4 <= t->count; r += 4)
        add_rows(gradient, t, b, residual, r, 4);
    for (; r < t->count; r++)
        add_rows(gradient, t, b, residual, r, 1);
}

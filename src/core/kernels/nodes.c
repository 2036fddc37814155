/* Loops over the rows of a node.
 *
 * Coordinates are floats: a tree reads them some twenty times, mostly from memory, and where a cut
 * falls need not be known to more than seven digits.  Sums are of floats over SUM_ROWS rows at
 * most, which loses no more than storing them did, and of doubles beyond. */
#include "kernels/nodes.h"

#include <string.h>

#include "kernels/sums.h"

#define INLINE static inline __attribute__((always_inline))
#define LANES NODE_LANES
#define SUM_ROWS 256
#define GRAM_ROWS 128

/* A warning about passing vectors to functions, which never happens: all are inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vec_anywhere __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef double wide __attribute__((vector_size(8 * LANES)));
typedef double wide_anywhere __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

INLINE vec load(const float *p)
{
    return *(const vec_anywhere *)p;
}

INLINE void store(float *p, vec v)
{
    *(vec_anywhere *)p = v;
}

INLINE void add_wide(double *p, vec v)
{
    *(wide_anywhere *)p += __builtin_convertvector(v, wide);
}

SUMS_OF_EIGHT(sums_of, vec)

/* z_r u of `rows` rows, at most 8; 0 for the others. */
INLINE vec products(const float *z, size_t stride, const float *u, const size_t rows)
{
    vec m[LANES] = {0};
    for (size_t j = 0; j < stride; j += LANES) {
        vec t = load(u + j);
        for (size_t i = 0; i < rows; i++)
            m[i] += load(z + i * stride + j) * t;
    }
    return sums_of(m);
}

static void node_project(float *value, node_rows rows, const float *u, float shift)
{
    size_t r = 0;
    for (; r + LANES <= rows.count; r += LANES)
        store(value + r, products(rows.z + r * rows.stride, rows.stride, u, LANES) - shift);
    for (; r < rows.count; r++)
        value[r] = products(rows.z + r * rows.stride, rows.stride, u, 1)[0] - shift;
}

/* sum += the sum of t_i z_i over `rows` rows, at most 8. */
INLINE void add_rows(float *sum, const float *z, size_t stride, vec t, const size_t rows)
{
    for (size_t j = 0; j < stride; j += LANES) {
        vec even = load(sum + j), odd = {0};
        for (size_t i = 0; i < rows; i += 2) {
            even += load(z + i * stride + j) * t[i];
            if (i + 1 < rows)
                odd += load(z + (i + 1) * stride + j) * t[i + 1];
        }
        store(sum + j, even + odd);
    }
}

INLINE vec factors(node_rows rows, const float *u, float shift, size_t r, const size_t count)
{
    vec t = {0}, w = {0};
    for (size_t i = 0; i < count; i++)
        w[i] = rows.weight != NULL ? rows.weight[r + i] : 1.0f;
    t = u != NULL ? products(rows.z + r * rows.stride, rows.stride, u, count) - shift : t + 1.0f;
    return t * w;
}

INLINE double add_all(double *sum, node_rows rows, const float *u, float shift, float *work)
{
    double total = 0.0;
    for (size_t at = 0; at < rows.count; at += SUM_ROWS) {
        size_t end = rows.count - at < SUM_ROWS ? rows.count : at + SUM_ROWS, r = at;
        vec part = {0};
        memset(work, 0, rows.stride * sizeof *work);
        for (; r + LANES <= end; r += LANES) {
            vec t = factors(rows, u, shift, r, LANES);
            add_rows(work, rows.z + r * rows.stride, rows.stride, t, LANES);
            part += t;
        }
        for (; r < end; r++) {
            vec t = factors(rows, u, shift, r, 1);
            add_rows(work, rows.z + r * rows.stride, rows.stride, t, 1);
            part += t;
        }
        for (size_t j = 0; j < rows.stride; j += LANES)
            add_wide(sum + j, load(work + j));
        for (size_t i = 0; i < LANES; i++)
            total += (double)part[i];
    }
    return total;
}

static double node_sum(double *sum, node_rows rows, float *work)
{
    return add_all(sum, rows, NULL, 0.0f, work);
}

static double node_apply(double *sum, node_rows rows, const float *u, float shift, float *work)
{
    return add_all(sum, rows, u, shift, work);
}

/* Block ib of rows of the Gram matrix against block jb of columns; left is block ib of the rows,
 * centred and weighed. */
INLINE void gram_tile(double *gram, node_rows rows, const float *center, const vec *left, size_t ib,
                      size_t jb)
{
    vec acc[LANES] = {0}, c = load(center + jb * LANES);
    for (size_t r = 0; r < rows.count; r++) {
        vec x = load(rows.z + r * rows.stride + jb * LANES) - c;
        for (size_t i = 0; i < LANES; i++)
            acc[i] += x * left[r][i];
    }
    for (size_t i = 0; i < LANES; i++)
        add_wide(gram + (ib * LANES + i) * rows.stride + jb * LANES, acc[i]);
}

static void node_gram(double *gram, node_rows rows, const float *center, size_t first, size_t end)
{
    vec left[GRAM_ROWS];
    for (size_t at = 0; at < rows.count; at += GRAM_ROWS) {
        node_rows part = {.z = rows.z + at * rows.stride,
                          .weight = rows.weight != NULL ? rows.weight + at : NULL,
                          .count = rows.count - at < GRAM_ROWS ? rows.count - at : GRAM_ROWS,
                          .stride = rows.stride};
        for (size_t ib = first; ib < end; ib++) {
            vec c = load(center + ib * LANES);
            for (size_t r = 0; r < part.count; r++) {
                left[r] = load(part.z + r * part.stride + ib * LANES) - c;
                if (part.weight != NULL)
                    left[r] *= part.weight[r];
            }
            for (size_t jb = 0; jb <= ib; jb++)
                gram_tile(gram, part, center, left, ib, jb);
        }
    }
}

static void node_swap(float *z, size_t stride, const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < stride; j += LANES) {
            float *p = z + a[i] * stride + j, *q = z + b[i] * stride + j;
            vec kept = load(p);
            store(p, load(q));
            store(q, kept);
        }
}

static void node_times(float *out, const float *a, const float *u, size_t n, size_t stride)
{
    for (size_t j = 0; j < stride; j += LANES) {
        vec sum[4] = {0};
        size_t i = 0;
        for (; i + 4 <= n; i += 4)
            for (size_t k = 0; k < 4; k++)
                sum[k] += load(a + (i + k) * stride + j) * u[i + k];
        for (; i < n; i++)
            sum[0] += load(a + i * stride + j) * u[i];
        store(out + j, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

const node_kernels SIMD(pboost_node_kernels) = {
    .project = node_project,
    .sum = node_sum,
    .apply = node_apply,
    .gram = node_gram,
    .swap = node_swap,
    .times = node_times,
};

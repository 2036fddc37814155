/* Loops over panels.
 *
 * Rows come in panels of column blocks (matrix.h).  Linear predictors sum each row's products
 * within a register and add the eight sums of eight rows at once. */
#include "kernels/panels.h"

#define LANES 8 /* as panels have */
#include "kernels/prefetch.h"
#include "kernels/vec.h"

void SIMD(pboost_panel_rows)(double *panel, size_t capacity, glm_rows rows)
{
    size_t whole = rows.cols / LANES, rest = rows.cols % LANES;
    for (size_t r = 0; r < rows.count; r++) {
        size_t i = rows.first + r * rows.stride;
        size_t row = rows.row != NULL ? rows.row[i] : i;
        const double *from = rows.x + (ptrdiff_t)row * rows.row_stride;
        double *to = panel + r * LANES;
        if (rows.row != NULL && r + ROWS_AHEAD < rows.count)
            pboost_prefetch_row(rows.x + (ptrdiff_t)rows.row[i + ROWS_AHEAD * rows.stride] *
                                             rows.row_stride,
                                rows.cols);
        for (size_t b = 0; b < whole; b++)
            vec_store(to + b * capacity * LANES, vec_load(from + b * LANES));
        if (rest > 0)
            vec_store(to + whole * capacity * LANES, vec_load_some(from + whole * LANES, rest));
    }
}

INLINE vec row_of(glm_panel p, size_t block, size_t r)
{
    return vec_load(p.x + (block * p.capacity + r) * LANES);
}

INLINE vec row_dot(glm_panel p, const double *theta, size_t r)
{
    vec sum = row_of(p, 0, r) * vec_load(theta);
    for (size_t b = 1; b < p.blocks; b++)
        sum += row_of(p, b, r) * vec_load(theta + b * LANES);
    return sum;
}

void SIMD(pboost_panel_eta)(double *eta, glm_panel p, const double *theta, double intercept)
{
    size_t r = 0;
    for (; r + LANES <= p.count; r += LANES) {
        vec m[LANES];
        for (int i = 0; i < LANES; i++)
            m[i] = row_of(p, 0, r + (size_t)i) * vec_load(theta);
        for (size_t b = 1; b < p.blocks; b++) {
            vec t = vec_load(theta + b * LANES);
            for (int i = 0; i < LANES; i++)
                m[i] += row_of(p, b, r + (size_t)i) * t;
        }
        vec_store(eta + r, vec_sums(m) + intercept);
    }
    for (; r < p.count; r++) {
        vec m[LANES] = {row_dot(p, theta, r)};
        eta[r] = vec_sums(m)[0] + intercept;
    }
}

void SIMD(pboost_panel_gradient)(double *gradient, double *cross, glm_panel p,
                                 const double *residual, const double *curvature)
{
    for (size_t b = 0; b < p.blocks; b++) {
        vec g[4] = {vec_all(0.0), vec_all(0.0), vec_all(0.0), vec_all(0.0)};
        vec c[4] = {vec_all(0.0), vec_all(0.0), vec_all(0.0), vec_all(0.0)};
        size_t r = 0;
        for (; r + 4 <= p.count; r += 4)
            for (size_t i = 0; i < 4; i++) {
                vec x = row_of(p, b, r + i);
                g[i] += x * residual[r + i];
                c[i] += x * curvature[r + i];
            }
        for (; r < p.count; r++) {
            g[0] += row_of(p, b, r) * residual[r];
            c[0] += row_of(p, b, r) * curvature[r];
        }
        double *to = gradient + b * LANES, *to_cross = cross + b * LANES;
        vec_store(to, vec_load(to) + ((g[0] + g[1]) + (g[2] + g[3])));
        vec_store(to_cross, vec_load(to_cross) + ((c[0] + c[1]) + (c[2] + c[3])));
    }
}

void SIMD(pboost_panel_product)(double *product, glm_panel p, const double *weight, size_t first,
                                size_t last)
{
    for (size_t b = 0; b < p.blocks; b++) {
        vec sum[4] = {vec_load(product + b * LANES), vec_all(0.0), vec_all(0.0), vec_all(0.0)};
        size_t r = first;
        for (; r + 4 <= last; r += 4)
            for (size_t i = 0; i < 4; i++)
                sum[i] += row_of(p, b, r + i) * weight[r + i];
        for (; r < last; r++)
            sum[0] += row_of(p, b, r) * weight[r];
        vec_store(product + b * LANES, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

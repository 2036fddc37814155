/* The hot loops of fitting and evaluation.
 *
 * Rows come in panels of column blocks (matrix.h).  Linear predictors sum each row's products within
 * a register and add the eight sums of eight rows at once; the Gram matrix is a sum of outer
 * products, tiled so that its accumulators stay in registers over a whole panel. */
#include "kernels/glm.h"

#include <math.h>

#include "kernels/vec.h"

/* ---- Families -------------------------------------------------------------------------------- */

typedef struct {
    vec mean, variance;
} vec_moments;

/* For n values at once, `body` with vectors loaded by GET and stored by PUT; the last, partial
 * vector goes through a buffer. */
#define FOR_VECTORS(i, n) for (size_t i = 0; i < (n); i += LANES)
#define GET(p, i, n)                                                                               \
    ((i) + LANES <= (n) ? vec_load((p) + (i)) : vec_load_some((p) + (i), (n) - (i)))
#define PUT(p, i, n, v)                                                                            \
    ((i) + LANES <= (n) ? vec_store((p) + (i), (v)) : vec_store_some((p) + (i), (v), (n) - (i)))

INLINE vec identity(vec eta)
{
    return eta;
}

INLINE vec sigmoid(vec eta)
{
    vec u = vec_exp(-vec_abs(eta));
    vec q = 1.0 / (1.0 + u);
    return vec_select(eta < 0.0, u * q, q);
}

INLINE vec_moments linear_moments(vec eta)
{
    return (vec_moments){eta, vec_all(1.0)};
}

INLINE vec_moments logistic_moments(vec eta)
{
    vec u = vec_exp(-vec_abs(eta));
    vec q = 1.0 / (1.0 + u);
    return (vec_moments){vec_select(eta < 0.0, u * q, q), u * q * q};
}

INLINE vec_moments poisson_moments(vec eta)
{
    vec mean = vec_exp(eta);
    return (vec_moments){mean, mean};
}

INLINE vec linear_loss(vec eta, vec y)
{
    return 0.5 * (eta - y) * (eta - y);
}

INLINE vec logistic_loss(vec eta, vec y)
{
    vec u = vec_exp(-vec_abs(eta));
    return vec_max(eta, vec_all(0.0)) - y * eta + vec_log1p_unit(u);
}

INLINE vec poisson_loss(vec eta, vec y)
{
    return vec_exp(eta) - y * eta;
}

#define FAMILY_BLOCKS(name, mean_of)                                                               \
    static void name##_mean_block(double *mean, const double *eta, size_t n)                       \
    {                                                                                              \
        FOR_VECTORS(i, n)                                                                          \
        PUT(mean, i, n, mean_of(GET(eta, i, n)));                                                  \
    }                                                                                              \
    static void name##_moments_block(double *mean, double *variance, const double *eta, size_t n)  \
    {                                                                                              \
        FOR_VECTORS(i, n)                                                                          \
        {                                                                                          \
            vec_moments m = name##_moments(GET(eta, i, n));                                        \
            PUT(mean, i, n, m.mean);                                                               \
            PUT(variance, i, n, m.variance);                                                       \
        }                                                                                          \
    }                                                                                              \
    static void name##_loss_block(double *loss, const double *eta, const double *y, size_t n)      \
    {                                                                                              \
        FOR_VECTORS(i, n)                                                                          \
        PUT(loss, i, n, name##_loss(GET(eta, i, n), GET(y, i, n)));                                \
    }

FAMILY_BLOCKS(linear, identity)
FAMILY_BLOCKS(logistic, sigmoid)
FAMILY_BLOCKS(poisson, vec_exp)

/* 1 in the lanes that hold one of n values, 0 in the padding. */
INLINE vec present(size_t i, size_t n)
{
    static const double ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
    return i + LANES <= n ? vec_all(1.0) : vec_load_some(ones, n - i);
}

static double linear_event(double *residual, double *curvature, const double *eta, const double *y,
                           const double *weight, size_t n)
{
    vec sum = vec_all(0.0);
    FOR_VECTORS(i, n)
    {
        vec w = weight != NULL ? GET(weight, i, n) : present(i, n);
        vec r = GET(eta, i, n) - GET(y, i, n);
        sum += 0.5 * w * r * r;
        PUT(residual, i, n, w * r);
        PUT(curvature, i, n, w);
    }
    return vec_sum(sum);
}

static double poisson_event(double *residual, double *curvature, const double *eta, const double *y,
                            const double *weight, size_t n)
{
    vec sum = vec_all(0.0);
    FOR_VECTORS(i, n)
    {
        vec w = weight != NULL ? GET(weight, i, n) : present(i, n);
        vec e = GET(eta, i, n), t = GET(y, i, n), mean = vec_exp(e);
        sum += w * (mean - t * e);
        PUT(residual, i, n, w * (mean - t));
        PUT(curvature, i, n, w * mean);
    }
    return vec_sum(sum);
}

/* The product of eight numbers. */
INLINE double vec_product(vec a)
{
    return ((a[0] * a[4]) * (a[2] * a[6])) * ((a[1] * a[5]) * (a[3] * a[7]));
}

/* log(1 + e^eta) = max(eta, 0) + log(1 + u) with u = e^-|eta|.  The residual is not mean - y, which
 * loses all digits when both are near 1, but (1 - y) mean - y (1 - mean), each factor exact. */
static double logistic_event(double *residual, double *curvature, const double *eta,
                             const double *y, const double *weight, size_t n)
{
    vec sum = vec_all(0.0), product = vec_all(1.0);
    FOR_VECTORS(i, n)
    {
        vec e = GET(eta, i, n), t = GET(y, i, n);
        vec u = vec_exp(-vec_abs(e));
        vec q = 1.0 / (1.0 + u), uq = u * q;
        vec mean = vec_select(e < 0.0, uq, q), rest = vec_select(e < 0.0, q, uq);
        vec line = vec_max(e, vec_all(0.0)) - t * e;
        vec r = (1.0 - t) * mean - t * rest, c = uq * q;
        if (weight != NULL) {
            vec w = GET(weight, i, n);
            sum += w * (line + vec_log1p_unit(u));
            r *= w;
            c *= w;
        } else {
            sum += line;
            product *= 1.0 + u * present(i, n);
        }
        PUT(residual, i, n, r);
        PUT(curvature, i, n, c);
    }
    return vec_sum(sum) + log(vec_product(product));
}

static double linear_total(const double *eta, const double *y, const double *weight, size_t n)
{
    vec sum = vec_all(0.0);
    FOR_VECTORS(i, n)
    {
        vec w = weight != NULL ? GET(weight, i, n) : present(i, n);
        sum += w * linear_loss(GET(eta, i, n), GET(y, i, n));
    }
    return vec_sum(sum);
}

static double logistic_total(const double *eta, const double *y, const double *weight, size_t n)
{
    vec sum = vec_all(0.0), product = vec_all(1.0);
    if (weight != NULL) {
        FOR_VECTORS(i, n)
        sum += GET(weight, i, n) * logistic_loss(GET(eta, i, n), GET(y, i, n));
        return vec_sum(sum);
    }
    FOR_VECTORS(i, n)
    {
        vec e = GET(eta, i, n);
        sum += vec_max(e, vec_all(0.0)) - GET(y, i, n) * e;
        product *= 1.0 + vec_exp(-vec_abs(e)) * present(i, n);
    }
    return vec_sum(sum) + log(vec_product(product));
}

static double poisson_total(const double *eta, const double *y, const double *weight, size_t n)
{
    vec sum = vec_all(0.0);
    FOR_VECTORS(i, n)
    {
        vec w = weight != NULL ? GET(weight, i, n) : present(i, n);
        sum += w * poisson_loss(GET(eta, i, n), GET(y, i, n));
    }
    return vec_sum(sum);
}

/* ---- Panels ---------------------------------------------------------------------------------- */

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

static void eta_rows(double *eta, glm_panel p, const double *theta, double intercept)
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

static void gradient_rows(double *gradient, double *cross, glm_panel p, const double *residual,
                          const double *curvature)
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
        vec x[3];
        for (size_t j = 0; j < width; j++)
            x[j] = row_of(p, jb + j, r) * curvature[r];
        for (size_t i = 0; i < LANES; i++)
            for (size_t j = 0; j < width; j++)
                acc[i][j] += x[j] * left[r * LANES + i];
    }
    for (size_t i = 0; i < LANES; i++)
        for (size_t j = 0; j < width; j++)
            vec_store(gram + (ib * LANES + i) * cols + (jb + j) * LANES, acc[i][j]);
}

static void gram_rows(double *gram, glm_panel p, const double *curvature)
{
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

static void transpose_panel(double *columns, glm_panel p)
{
    for (size_t b = 0; b < p.blocks; b++)
        for (size_t r = 0; r < p.count; r += LANES) {
            vec m[LANES];
            for (size_t i = 0; i < LANES; i++)
                m[i] = r + i < p.count ? row_of(p, b, r + i) : vec_all(0.0);
            vec_transpose(m);
            for (size_t i = 0; i < LANES; i++)
                vec_store(columns + (b * LANES + i) * p.capacity + r, m[i]);
        }
}

static void eta_columns(double *eta, const double *columns, size_t capacity, size_t count,
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

static double dot(const double *a, const double *b, size_t n)
{
    vec sum[4] = {vec_all(0.0), vec_all(0.0), vec_all(0.0), vec_all(0.0)};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (size_t k = 0; k < 4; k++)
            sum[k] += vec_load(a + i + k * LANES) * vec_load(b + i + k * LANES);
    for (; i < n; i += LANES)
        sum[0] += GET(a, i, n) * GET(b, i, n);
    return vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* x * 0 is 0 for all that is finite and NaN for all that is not. */
static bool all_finite(const double *a, size_t n)
{
    vec sum = vec_all(0.0);
    FOR_VECTORS(i, n)
    sum += GET(a, i, n) * 0.0;
    return vec_sum(sum) == 0.0;
}

#define KERNELS_OF(name)                                                                           \
    {                                                                                              \
        name##_mean_block, name##_moments_block, name##_loss_block, name##_event, name##_total     \
    }

const glm_kernels SIMD(pboost_glm_kernels) = {
    {KERNELS_OF(linear), KERNELS_OF(logistic), KERNELS_OF(poisson)},
    eta_rows,
    gradient_rows,
    gram_rows,
    transpose_panel,
    eta_columns,
    dot,
    all_finite,
};

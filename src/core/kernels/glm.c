/* The hot loops of fitting and evaluation.
 *
 * Rows come in panels of column blocks (matrix.h).  Linear predictors sum each row's products within
 * a register and add the eight sums of eight rows at once; the Gram matrix is a sum of outer
 * products, tiled so that its accumulators stay in registers over a whole panel. */
#include "kernels/glm.h"

#include <math.h>

#include "kernels/columns.h"
#include "kernels/losses.h"
#include "kernels/rows.h"
#include "kernels/vec.h"

/* ---- Families -------------------------------------------------------------------------------- */

typedef struct {
    vec mean, variance;
} vec_moments;

INLINE vec identity(vec eta)
{
    return eta;
}

INLINE vec sigmoid(vec eta)
{
    vec u = vec_exp_falling(-vec_abs(eta));
    vec q = 1.0 / (1.0 + u);
    return vec_select(eta < 0.0, u * q, q);
}

INLINE vec_moments linear_moments(vec eta)
{
    return (vec_moments){eta, vec_all(1.0)};
}

INLINE vec_moments logistic_moments(vec eta)
{
    vec u = vec_exp_falling(-vec_abs(eta));
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
    vec u = vec_exp_falling(-vec_abs(eta));
    return vec_max(eta, vec_all(0.0)) - y * eta + vec_log1p_unit(u);
}

INLINE vec poisson_loss(vec eta, vec y)
{
    return vec_exp(eta) - y * eta;
}

/* What a loop over a block reads, writes and adds up. */
typedef struct {
    double *out, *out2;
    const double *eta, *y, *weight;
    vec sum, product, sum_out, sum_out2;
} span;

/* Runs `range` over n values: whole vectors first, with a count that the compiler knows, then the
 * rest, for which get and put go through a buffer. */
#define OVER(range, b, n)                                                                          \
    do {                                                                                           \
        size_t whole_ = (n) / LANES * LANES;                                                       \
        range(b, 0, whole_, LANES);                                                                \
        if (whole_ < (n))                                                                          \
            range(b, whole_, (n), (n)-whole_);                                                     \
    } while (0)

INLINE vec get(const double *p, size_t count)
{
    return count == LANES ? vec_load(p) : vec_load_some(p, count);
}

INLINE void put(double *p, vec v, size_t count)
{
    if (count == LANES)
        vec_store(p, v);
    else
        vec_store_some(p, v, count);
}

/* 1 in the lanes that hold a value, 0 in the padding. */
INLINE vec present(size_t count)
{
    static const double ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
    return get(ones, count);
}

INLINE vec weight_at(const span *b, size_t i, size_t count)
{
    return b->weight != NULL ? get(b->weight + i, count) : present(count);
}

/* The product of eight numbers. */
INLINE double vec_product(vec a)
{
    return ((a[0] * a[4]) * (a[2] * a[6])) * ((a[1] * a[5]) * (a[3] * a[7]));
}

#define FAMILY_BLOCKS(name, mean_of)                                                               \
    INLINE void name##_mean_range(span *b, size_t begin, size_t end, size_t count)                 \
    {                                                                                              \
        for (size_t i = begin; i < end; i += LANES)                                                \
            put(b->out + i, mean_of(get(b->eta + i, count)), count);                               \
    }                                                                                              \
    static void name##_mean_block(double *mean, const double *eta, size_t n)                       \
    {                                                                                              \
        span b = {.out = mean, .eta = eta};                                                        \
        OVER(name##_mean_range, &b, n);                                                            \
    }                                                                                              \
    INLINE void name##_moments_range(span *b, size_t begin, size_t end, size_t count)              \
    {                                                                                              \
        for (size_t i = begin; i < end; i += LANES) {                                              \
            vec_moments m = name##_moments(get(b->eta + i, count));                                \
            put(b->out + i, m.mean, count);                                                        \
            put(b->out2 + i, m.variance, count);                                                   \
        }                                                                                          \
    }                                                                                              \
    static void name##_moments_block(double *mean, double *variance, const double *eta, size_t n)  \
    {                                                                                              \
        span b = {.out = mean, .out2 = variance, .eta = eta};                                      \
        OVER(name##_moments_range, &b, n);                                                         \
    }                                                                                              \
    INLINE void name##_loss_range(span *b, size_t begin, size_t end, size_t count)                 \
    {                                                                                              \
        for (size_t i = begin; i < end; i += LANES)                                                \
            put(b->out + i, name##_loss(get(b->eta + i, count), get(b->y + i, count)), count);     \
    }                                                                                              \
    static void name##_loss_block(double *loss, const double *eta, const double *y, size_t n)      \
    {                                                                                              \
        span b = {.out = loss, .eta = eta, .y = y};                                                \
        OVER(name##_loss_range, &b, n);                                                            \
    }                                                                                              \
    INLINE void name##_total_range(span *b, size_t begin, size_t end, size_t count)                \
    {                                                                                              \
        for (size_t i = begin; i < end; i += LANES)                                                \
            b->sum += weight_at(b, i, count) *                                                     \
                      name##_loss(get(b->eta + i, count), get(b->y + i, count));                   \
    }                                                                                              \
    static double name##_total(const double *eta, const double *y, const double *weight, size_t n) \
    {                                                                                              \
        span b = {.eta = eta, .y = y, .weight = weight};                                           \
        OVER(name##_total_range, &b, n);                                                           \
        return vec_sum(b.sum);                                                                     \
    }                                                                                              \
    static void name##_event(double sums[EVENT_SUMS], double *residual, double *curvature,         \
                             const double *eta, const double *y, const double *weight, size_t n)   \
    {                                                                                              \
        span b = {.out = residual, .out2 = curvature, .eta = eta, .y = y, .weight = weight};       \
        b.product = vec_all(1.0);                                                                  \
        OVER(name##_event_range, &b, n);                                                           \
        sums[EVENT_LOSS] += vec_sum(b.sum) + log(vec_product(b.product));                          \
        sums[EVENT_RESIDUAL] += vec_sum(b.sum_out);                                                \
        sums[EVENT_CURVATURE] += vec_sum(b.sum_out2);                                              \
    }

/* Stores what belongs to a sample; the padding must not count. */
INLINE void put_event(span *b, vec residual, vec curvature, size_t i, size_t count)
{
    put(b->out + i, residual, count);
    put(b->out2 + i, curvature, count);
    b->sum_out += residual * present(count);
    b->sum_out2 += curvature * present(count);
}

INLINE void linear_event_range(span *b, size_t begin, size_t end, size_t count)
{
    for (size_t i = begin; i < end; i += LANES) {
        vec w = weight_at(b, i, count);
        vec r = get(b->eta + i, count) - get(b->y + i, count);
        b->sum += 0.5 * w * r * r;
        put_event(b, w * r, w, i, count);
    }
}

INLINE void poisson_event_range(span *b, size_t begin, size_t end, size_t count)
{
    for (size_t i = begin; i < end; i += LANES) {
        vec w = weight_at(b, i, count);
        vec e = get(b->eta + i, count), t = get(b->y + i, count), mean = vec_exp(e);
        b->sum += w * (mean - t * e);
        put_event(b, w * (mean - t), w * mean, i, count);
    }
}

/* log(1 + e^eta) = max(eta, 0) + log(1 + u) with u = e^-|eta|; without weights the logarithm is left
 * to the product.  The residual is not mean - y, which loses all digits when both are near 1, but
 * (1 - y) mean - y (1 - mean), each factor exact. */
INLINE void logistic_event_range(span *b, size_t begin, size_t end, size_t count)
{
    for (size_t i = begin; i < end; i += LANES) {
        vec e = get(b->eta + i, count), t = get(b->y + i, count);
        vec u = vec_exp_falling(-vec_abs(e));
        vec q = 1.0 / (1.0 + u), uq = u * q;
        vec mean = vec_select(e < 0.0, uq, q), rest = vec_select(e < 0.0, q, uq);
        vec line = vec_max(e, vec_all(0.0)) - t * e;
        vec r = (1.0 - t) * mean - t * rest, c = uq * q;
        if (b->weight != NULL) {
            vec w = get(b->weight + i, count);
            b->sum += w * (line + vec_log1p_unit(u));
            r *= w;
            c *= w;
        } else {
            b->sum += line;
            b->product *= 1.0 + u * present(count);
        }
        put_event(b, r, c, i, count);
    }
}

FAMILY_BLOCKS(linear, identity)
FAMILY_BLOCKS(logistic, sigmoid)
FAMILY_BLOCKS(poisson, vec_exp)

INLINE void product_range(span *b, size_t begin, size_t end, size_t count)
{
    for (size_t i = begin; i < end; i += LANES) {
        vec e = get(b->eta + i, count);
        b->sum += vec_max(e, vec_all(0.0)) - get(b->y + i, count) * e;
        b->product *= 1.0 + vec_exp_falling(-vec_abs(e)) * present(count);
    }
}

/* The logistic total by one logarithm, where there are no weights. */
static double logistic_total_by_product(const double *eta, const double *y, const double *weight,
                                        size_t n)
{
    if (weight != NULL)
        return logistic_total(eta, y, weight, n);
    span b = {.eta = eta, .y = y, .product = vec_all(1.0)};
    OVER(product_range, &b, n);
    return vec_sum(b.sum) + log(vec_product(b.product));
}

/* ---- Panels ---------------------------------------------------------------------------------- */

/* Rows picked by number lie anywhere: ask for each some time before it is needed. */
#define ROWS_AHEAD 12

static void gather_rows(double *panel, size_t capacity, glm_rows rows)
{
    size_t whole = rows.cols / LANES, rest = rows.cols % LANES;
    for (size_t r = 0; r < rows.count; r++) {
        size_t i = rows.first + r * rows.stride;
        size_t row = rows.row != NULL ? rows.row[i] : i;
        const double *from = rows.x + (ptrdiff_t)row * rows.row_stride;
        double *to = panel + r * LANES;
        if (rows.row != NULL && r + ROWS_AHEAD < rows.count)
            __builtin_prefetch(rows.x +
                               (ptrdiff_t)rows.row[i + ROWS_AHEAD * rows.stride] * rows.row_stride);
        for (size_t b = 0; b < whole; b++)
            vec_store(to + b * capacity * LANES, vec_load(from + b * LANES));
        if (rest > 0)
            vec_store(to + whole * capacity * LANES, vec_load_some(from + whole * LANES, rest));
    }
}

/* Asks for block b of row r of the next panel, while there is arithmetic to do: a pass over a large
 * table would else wait for memory and compute in turn. */
INLINE void ask_ahead(glm_panel p, size_t b, size_t r)
{
    if (p.ahead != NULL)
        __builtin_prefetch(p.ahead + (ptrdiff_t)r * p.ahead_stride + b * LANES, 0, 2);
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

static void product_rows(double *product, glm_panel p, const double *weight, size_t first,
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
            x[j] = row_of(p, jb + j, r) * curvature[r];
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

static void gram_rows(double *gram, glm_panel p, const double *curvature)
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

static double dot(const double *a, const double *b, size_t n)
{
    vec sum[4] = {vec_all(0.0), vec_all(0.0), vec_all(0.0), vec_all(0.0)};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (size_t k = 0; k < 4; k++)
            sum[k] += vec_load(a + i + k * LANES) * vec_load(b + i + k * LANES);
    for (; i + LANES <= n; i += LANES)
        sum[0] += vec_load(a + i) * vec_load(b + i);
    if (i < n)
        sum[1] += vec_load_some(a + i, n - i) * vec_load_some(b + i, n - i);
    return vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

static double sum_of(const double *a, size_t n)
{
    vec sum[4] = {vec_all(0.0), vec_all(0.0), vec_all(0.0), vec_all(0.0)};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (size_t k = 0; k < 4; k++)
            sum[k] += vec_load(a + i + k * LANES);
    for (; i + LANES <= n; i += LANES)
        sum[0] += vec_load(a + i);
    if (i < n)
        sum[1] += vec_load_some(a + i, n - i);
    return vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* x * 0 is 0 for all that is finite and NaN for all that is not. */
static bool all_finite(const double *a, size_t n)
{
    vec sum = vec_all(0.0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum += vec_load(a + i) * 0.0;
    if (i < n)
        sum += vec_load_some(a + i, n - i) * 0.0;
    return vec_sum(sum) == 0.0;
}

#define KERNELS_OF(name, total, columns)                                                           \
    {                                                                                              \
        name##_mean_block, name##_moments_block, name##_loss_block, name##_event, total, columns   \
    }

const glm_kernels SIMD(pboost_glm_kernels) = {
    {KERNELS_OF(linear, linear_total, NULL),
     KERNELS_OF(logistic, logistic_total_by_product, SIMD(pboost_losses_logistic)),
     KERNELS_OF(poisson, poisson_total, NULL)},
    gather_rows,
    eta_rows,
    gradient_rows,
    product_rows,
    gram_rows,
    SIMD(pboost_columns_turn),
    SIMD(pboost_columns_eta),
    SIMD(pboost_columns_add),
    SIMD(pboost_columns_finish),
    SIMD(pboost_losses_survey),
    SIMD(pboost_rows_eta),
    SIMD(pboost_rows_gradient),
    dot,
    sum_of,
    all_finite,
};

/* The families' functions on blocks of linear predictors, and the table of all hot loops of fitting
 * and evaluation. */
#include "kernels/glm.h"

#include <math.h>

#include "kernels/columns.h"
#include "kernels/losses.h"
#include "kernels/panels.h"
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

INLINE vec weight_at(const span *b, size_t i, size_t count)
{
    return b->weight != NULL ? get(b->weight + i, count) : vec_present(count);
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
    b->sum_out += residual * vec_present(count);
    b->sum_out2 += curvature * vec_present(count);
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

/* log(1 + e^eta) = max(eta, 0) + log(1 + u) with u = e^-|eta|; without weights the logarithm is
 * left to the product.  The residual is not mean - y, which loses all digits when both are near 1,
 * but (1 - y) mean - y (1 - mean), each factor exact. */
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
            b->product *= 1.0 + u * vec_present(count);
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
        b->product *= 1.0 + vec_exp_falling(-vec_abs(e)) * vec_present(count);
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

/* ---- Plain vectors --------------------------------------------------------------------------- */

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
    SIMD(pboost_panel_rows),
    SIMD(pboost_panel_eta),
    SIMD(pboost_panel_gradient),
    SIMD(pboost_panel_product),
    SIMD(pboost_panel_gram),
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

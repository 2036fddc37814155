/* The log loss of many models over one panel of turned rows.
 *
 * log(1 + e^eta) - y eta = |eta| / 2 + log(1 + e^-|eta|) + (1/2 - y) eta.  The last term, summed
 * over rows, is theta times the sum of (1/2 - y) x, which all models share.  The logarithms are
 * left to the caller as one of a product.  So a model costs a row its predictor, one exponential
 * and two sums.
 *
 * The price is a loss of digits if almost all predictions of a model are right and near 0 or 1:
 * then the first and the last term cancel.  Such a model is refused, and so is one that might make
 * e^-|eta| underflow, which the largest features show before a row is read. */
#include "kernels/losses.h"

#include <math.h>

#include "kernels/vec.h"

/* Vectors taken together, so that while one waits for its exponential the others go on: as many as
 * leave what they need in registers. */
#define TOGETHER (VEC_REGISTERS / 4)

#define SAFE_SIZE 700.0         /* e^-|eta| is a normal number */
#define CANCELLED (1.0 / 512.0) /* a loss below this fraction of the terms that cancel */

void SIMD(pboost_losses_survey)(glm_scored *rows)
{
    size_t whole = rows->count / LANES * LANES;
    for (size_t j = 0; j <= rows->cols; j++) {
        const double *x = rows->x + j * rows->capacity;
        vec lean = vec_all(0.0), size = vec_all(0.0), largest = vec_all(0.0);
        for (size_t r = 0; r < rows->count; r += LANES) {
            vec v, y;
            if (r < whole) {
                v = j < rows->cols ? vec_load(x + r) : vec_all(1.0);
                y = vec_load(rows->y + r);
            } else {
                size_t count = rows->count - r;
                v = j < rows->cols ? vec_load_some(x + r, count) : vec_present(count);
                y = vec_load_some(rows->y + r, count);
            }
            lean += (0.5 - y) * v;
            size += vec_abs(v);
            largest = vec_max(largest, vec_abs(v));
        }
        rows->lean[j] = vec_sum(lean);
        rows->size[j] = vec_sum(size);
        double most = 0.0;
        for (size_t i = 0; i < LANES; i++)
            most = largest[i] > most ? largest[i] : most;
        rows->largest[j] = most;
    }
}

typedef struct {
    vec size, product[2];
} sums;

/* Adds `n` vectors of rows from r on; `present` is 1 where there is a row. */
INLINE void add_rows(sums *s, const glm_scored *rows, const double *theta, double intercept,
                     size_t r, const size_t n, const vec *present)
{
    /* e^-a to 2e-14: n ln 2 is taken off in one piece, which costs n * 2e-17, and the polynomial is
     * cut after r^9, which costs 1.4e-14; then as in vec_exp_falling */
    static const double of_power[] = {
        0x1.72e107c874de9p-19, 0x1.a17df0d914d6cp-16, 0x1.a01994c849582p-13, 0x1.6c162bb7d965cp-10,
        0x1.11111123bf154p-7,  0x1.55555588b8403p-5,  0x1.5555555550d88p-3,  0x1.ffffffffe74f1p-2,
        0x1.0000000000006p+0,  0x1.000000000003dp+0};
    const double magic = 0x1.8p52;
    vec a[TOGETHER], t[TOGETHER], p[TOGETHER];
    for (size_t i = 0; i < n; i++)
        a[i] = vec_all(intercept);
    for (size_t j = 0; j < rows->cols; j++)
        for (size_t i = 0; i < n; i++)
            a[i] += vec_load(rows->x + j * rows->capacity + r + i * LANES) * theta[j];
    for (size_t i = 0; i < n; i++) {
        a[i] = vec_abs(a[i]);
        s->size += present != NULL ? a[i] * *present : a[i];
    }
    for (size_t i = 0; i < n; i++)
        t[i] = magic - a[i] * 0x1.71547652b82fep0;
    for (size_t i = 0; i < n; i++)
        a[i] = (magic - t[i]) * 0x1.62e42fefa39efp-1 - a[i];
    for (size_t i = 0; i < n; i++)
        p[i] = of_power[0] * a[i] + of_power[1];
    for (size_t k = 2; k < sizeof of_power / sizeof *of_power; k++)
        for (size_t i = 0; i < n; i++)
            p[i] = p[i] * a[i] + of_power[k];
    for (size_t i = 0; i < n; i++) {
        vec u = (vec)((vec_bits)p[i] + ((vec_bits)t[i] << 52));
        s->product[i % 2] += s->product[i % 2] * (present != NULL ? u * *present : u);
    }
}

bool SIMD(pboost_losses_logistic)(double *total, double *factor, const glm_scored *rows,
                                  const double *theta, double intercept)
{
    enum { STEP = TOGETHER * LANES };
    size_t cols = rows->cols, count = rows->count, r = 0;
    double reach = fabs(intercept), lean = intercept * rows->lean[cols];
    double size = fabs(intercept) * rows->size[cols];
    for (size_t j = 0; j < cols; j++) {
        reach += fabs(theta[j]) * rows->largest[j];
        size += fabs(theta[j]) * rows->size[j];
        lean += theta[j] * rows->lean[j];
    }
    if (!(reach < SAFE_SIZE))
        return false;

    sums s = {vec_all(0.0), {vec_all(1.0), vec_all(1.0)}};
    for (; r + STEP <= count; r += STEP)
        add_rows(&s, rows, theta, intercept, r, TOGETHER, NULL);
    for (; r + LANES <= count; r += LANES)
        add_rows(&s, rows, theta, intercept, r, 1, NULL);
    if (r < count) {
        vec present = vec_present(count - r);
        add_rows(&s, rows, theta, intercept, r, 1, &present);
    }
    *total = 0.5 * vec_sum(s.size) + lean;
    *factor = vec_product(s.product[0] * s.product[1]);
    return *total >= CANCELLED * size || *total + log(*factor) >= CANCELLED * size;
}

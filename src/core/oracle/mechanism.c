/* Exact fractions, the grid of labels, and exact discrete Laplace noise.
 *
 * The sampler is after Canonne, Kamath and Steinke (2020): integers and comparisons only, so that
 * its law is exactly P(z) proportional to exp(-|z|/scale) given uniform words. */
#include "oracle/mechanism.h"

#include <math.h>
#include <string.h>

#include "try.h"

/* ---- Exact fractions from decimal text ------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A decimal numeral: digits * 10^exponent, the last digit not 0 unless it is the only one. */
typedef struct {
    uint64_t digits;
    int exponent;
    bool fits;
} numeral;

/* Appends a digit to the numeral, `zeros` zeros before it. */
static void append_digit(numeral *n, int zeros, int digit)
{
    for (int i = 0; i <= zeros && n->digits > 0; i++)
        if (__builtin_mul_overflow(n->digits, (uint64_t)10, &n->digits))
            n->fits = false;
    if (__builtin_add_overflow(n->digits, (uint64_t)digit, &n->digits))
        n->fits = false;
}

/* Reads [digits][.digits], keeping trailing zeros out of the digits so that "0.100" fits wherever
 * "0.1" does; returns where it stopped, or NULL if there was no digit. */
static const char *read_digits(numeral *n, const char *text)
{
    bool any = false, fraction = false;
    int zeros = 0;

    for (; is_digit(*text) || (*text == '.' && !fraction); text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        any = true;
        n->exponent -= fraction;
        if (*text == '0') {
            zeros++;
        } else {
            append_digit(n, zeros, *text - '0');
            zeros = 0;
        }
    }
    n->exponent += zeros;
    return any ? text : NULL;
}

/* Reads [e[+-]digits]; returns where it stopped, or NULL if there was an e without digits. */
static const char *read_exponent(numeral *n, const char *text)
{
    enum { FAR = 100000 };
    int sign = 1, exponent = 0;

    if (*text != 'e' && *text != 'E')
        return text;
    text++;
    if (*text == '+' || *text == '-')
        sign = *text++ == '-' ? -1 : 1;
    if (!is_digit(*text))
        return NULL;
    for (; is_digit(*text); text++)
        if (exponent < FAR)
            exponent = 10 * exponent + (*text - '0');
    n->exponent += sign * exponent;
    return text;
}

/* digits * 10^exponent in lowest terms; false if it does not fit. */
static bool to_rational(pboost_rational *out, numeral n)
{
    pboost_rational r = {n.digits, 1};

    for (; n.fits && n.exponent > 0; n.exponent--)
        n.fits = !__builtin_mul_overflow(r.num, (uint64_t)10, &r.num);
    for (; n.fits && n.exponent < 0; n.exponent++) {
        uint64_t factor = 10;
        if (r.num % 2 == 0) {
            r.num /= 2;
            factor /= 2;
        }
        if (r.num % 5 == 0) {
            r.num /= 5;
            factor /= 5;
        }
        n.fits = !__builtin_mul_overflow(r.den, factor, &r.den);
    }
    if (n.fits)
        *out = r;
    return n.fits;
}

pboost_status pboost_rational_parse(pboost_rational *out, const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    numeral n = {0, 0, true};
    size_t length = strlen(text);
    const char *end;

    *out = (pboost_rational){0, 0};
    end = length < 10000 ? read_digits(&n, text) : NULL;
    if (end != NULL)
        end = read_exponent(&n, end);
    if (end == NULL || *end != '\0' || (n.fits && n.digits == 0))
        FAIL(err, PBOOST_INVALID, "epsilon is %.40s; it must be a positive number such as 0.5",
             length > 0 ? text : "empty");
    if (!to_rational(out, n))
        FAIL(err, PBOOST_INVALID,
             "epsilon is %.40s; it must have at most 19 digits and be between 1e-19 and 1e19",
             text);
done:
    return st;
}

double pboost_rational_value(pboost_rational r)
{
    return r.den == 0 ? INFINITY : (double)r.num / (double)r.den;
}

/* ---- The grid -------------------------------------------------------------------------------- */

#define SUM_LIMIT (INT64_C(1) << 62)

label_grid pboost_grid(const pboost_rules *rules)
{
    return (label_grid){(int64_t)round(rules->lower / rules->step),
                        (int64_t)round(rules->upper / rules->step), rules->step};
}

static int64_t largest_point(const label_grid *grid)
{
    int64_t a = grid->lower < 0 ? -grid->lower : grid->lower;
    int64_t b = grid->upper < 0 ? -grid->upper : grid->upper;
    return a > b ? a : b;
}

pboost_status pboost_grid_check_rows(const label_grid *grid, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_u128 sum = (pboost_u128)largest_point(grid) * n;

    if (sum > (pboost_u128)SUM_LIMIT)
        FAIL(err, PBOOST_INVALID,
             "step is %g, but sums of %zu labels could then overflow; it must be at least %g",
             grid->step, n, grid->step * ((double)sum / (double)SUM_LIMIT));
done:
    return st;
}

/* Halves are rounded away from 0.  Within the bounds the quotient is an int64, and what is left of
 * it below its integer part is exact. */
static inline int64_t place(const label_grid *grid, double at)
{
    double lower = (double)grid->lower, upper = (double)grid->upper;
    at = at > lower ? at : lower;
    at = at < upper ? at : upper;
    int64_t whole = (int64_t)at;
    double rest = at - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

int64_t pboost_grid_place(const label_grid *grid, double label)
{
    return place(grid, label / grid->step);
}

void pboost_grid_place_all(int64_t *point, const label_grid *grid, const double *label, size_t n)
{
    const label_grid g = *grid;
    int exponent;
    double inverse = 1.0 / g.step;
    if (frexp(g.step, &exponent) == 0.5 && isfinite(inverse))
        for (size_t i = 0; i < n; i++)
            point[i] = place(&g, label[i] * inverse);
    else
        for (size_t i = 0; i < n; i++)
            point[i] = place(&g, label[i] / g.step);
}

double pboost_grid_mean(const label_grid *grid, int64_t total, size_t size)
{
    return (double)total / (double)size * grid->step;
}

/* With step = mantissa * 2^shift the question is whether 2^(shift+1) * total * mantissa exceeds
 * size; the product has at most 63 + 53 bits. */
int pboost_grid_side_of_half(const label_grid *grid, int64_t total, size_t size)
{
    int shift;
    double mantissa = frexp(grid->step, &shift);
    pboost_i128 product = (pboost_i128)total * (int64_t)ldexp(mantissa, 53);
    shift += 1 - 53;

    if (product <= 0)
        return -1;
    if (shift >= 64)
        return 1;
    if (shift >= 0) {
        pboost_i128 bar = (pboost_i128)(size >> shift);
        bool exact = (size_t)bar << shift == size;
        return product > bar ? 1 : product == bar && exact ? 0 : -1;
    }
    if (shift <= -127)
        return -1;
    pboost_i128 whole = product >> -shift;
    bool exact = whole << -shift == product;
    if (whole != (pboost_i128)size)
        return whole > (pboost_i128)size ? 1 : -1;
    return exact ? 0 : 1;
}

/* A quotient of doubles is off by less than a step below 2^52. */
grid_half pboost_grid_half(const label_grid *grid, size_t size)
{
    double near = 0.5 * (double)size / grid->step;
    if (!(near < 0x1p52))
        return (grid_half){.known = false};
    int64_t total = (int64_t)near + 1;
    while (pboost_grid_side_of_half(grid, total, size) > 0)
        total--;
    bool exact = pboost_grid_side_of_half(grid, total, size) == 0;
    return (grid_half){.known = true, .exact = exact, .total = total};
}

/* ---- Discrete Laplace ------------------------------------------------------------------------ */

uint64_t pboost_gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

laplace_scale pboost_laplace_scale(const label_grid *grid, pboost_rational epsilon)
{
    pboost_u128 num = (pboost_u128)(uint64_t)(grid->upper - grid->lower) * epsilon.den;
    uint64_t common = pboost_gcd(epsilon.num, (uint64_t)(num % epsilon.num));
    return (laplace_scale){num / common, epsilon.num / common};
}

/* The high half of word * n, without the few low halves that would make some
 * results likelier than others. */
pboost_status pboost_uniform_below(uint64_t *out, uint64_t n, rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_u128 product;
    uint64_t word;

    *out = 0;
    do {
        TRY(pboost_rng_next(&word, source, err));
        product = (pboost_u128)word * n;
    } while ((uint64_t)product < n && (uint64_t)product < -n % n);
    *out = (uint64_t)(product >> 64);
done:
    return st;
}

/* A word w is the first 64 binary digits of a uniform real, which is below a/b if w b + b <= 2^64
 * a, and not if w b >= 2^64 a.  In between, which is rare, the rest of its digits must be below
 * (2^64 a - w b) / b. */
pboost_status pboost_coin_ratio(bool *out, pboost_u128 a, pboost_u128 b, rng_source *source,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t word;

    *out = false;
    for (;;) {
        TRY(pboost_rng_next(&word, source, err));
        pboost_u128 low = (pboost_u128)word * (uint64_t)b;
        pboost_u128 high = (pboost_u128)word * (uint64_t)(b >> 64) + (low >> 64);
        if (high >= a)
            break;
        *out = a - high > (pboost_u128)1 << 55; /* then the difference exceeds 2^118 */
        if (*out)
            break;
        a = ((a - high) << 64) - (uint64_t)low;
        *out = a >= b;
        if (*out)
            break;
    }
done:
    return st;
}

/* True with probability exp(-a/b), 0 <= a <= b: the first j at which a coin of a/(b j) fails is odd
 * with that probability (the alternating series of exp).  That coin is one of 1/j and one of
 * a/b. */
static pboost_status coin_exp(bool *out, pboost_u128 a, pboost_u128 b, rng_source *source,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool heads = true;
    uint64_t j = 0, one_of_j;

    *out = false;
    while (heads) {
        j++;
        if (j > 1) {
            TRY(pboost_uniform_below(&one_of_j, j, source, err));
            heads = one_of_j == 0;
        }
        if (heads && a < b)
            TRY(pboost_coin_ratio(&heads, a, b, source, err));
    }
    *out = j % 2 == 1;
done:
    return st;
}

/* Whole units are drawn first, because the first failure ends the draw. */
pboost_status pboost_coin_exp(bool *out, pboost_u128 a, pboost_u128 b, rng_source *source,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = true;
    for (; a >= b && *out; a -= b)
        TRY(coin_exp(out, 1, 1, source, err));
    if (*out && a > 0)
        TRY(coin_exp(out, a, b, source, err));
done:
    return st;
}

/* True with probability exp(-block/scale). */
static pboost_status coin_block(bool *out, const laplace_sampler *sampler, rng_source *source,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = true;
    for (uint64_t i = 0; i < sampler->whole && *out; i++)
        TRY(coin_exp(out, 1, 1, source, err));
    if (*out && sampler->rest > 0)
        TRY(coin_exp(out, sampler->rest, sampler->scale.num, source, err));
done:
    return st;
}

/* P(n) proportional to exp(-n/scale) on n >= 0: n = block v + u, where u is from 0 .. block-1, kept
 * with probability exp(-u/scale), and v counts how often a coin of exp(-block/scale) succeeds. */
static pboost_status geometric(uint64_t *out, const laplace_sampler *sampler, rng_source *source,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t u, v = 0;
    bool more;

    *out = 0;
    do {
        TRY(pboost_uniform_below(&u, sampler->block, source, err));
        TRY(coin_exp(&more, (pboost_u128)u * sampler->scale.den, sampler->scale.num, source, err));
    } while (!more);
    for (;; v++) {
        TRY(coin_block(&more, sampler, source, err));
        if (!more)
            break;
    }
    if (__builtin_mul_overflow(sampler->block, v, out) || __builtin_add_overflow(*out, u, out) ||
        *out > (uint64_t)SUM_LIMIT)
        FAIL(err, PBOOST_INTERNAL, "noise beyond 2^62 was drawn"); /* P < exp(-1000) */
done:
    return st;
}

laplace_sampler pboost_laplace_sampler(laplace_scale scale)
{
    uint64_t block = scale.num >= scale.den ? (uint64_t)(scale.num / scale.den) : 1;
    pboost_u128 exponent = (pboost_u128)block * scale.den;
    return (laplace_sampler){scale, block, (uint64_t)(exponent / scale.num), exponent % scale.num};
}

/* A random sign makes the geometric size two-sided; 0 is counted for one of them. */
pboost_status pboost_laplace_draw(int64_t *out, const laplace_sampler *sampler, rng_source *source,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t size, sign;

    *out = 0;
    do {
        TRY(geometric(&size, sampler, source, err));
        TRY(pboost_rng_next(&sign, source, err));
        sign >>= 63;
    } while (sign == 1 && size == 0);
    *out = sign == 1 ? -(int64_t)size : (int64_t)size;
done:
    return st;
}

/* True with probability exp(-n/scale): that a geometric size is at least n or, if it is known to be
 * at least m, at least m + n. */
static pboost_status reaches(bool *out, const laplace_sampler *sampler, uint64_t n,
                             rng_source *source, pboost_error *err)
{
    return pboost_coin_exp(out, (pboost_u128)n * sampler->scale.den, sampler->scale.num, source,
                           err);
}

/* The sign of size - n for a geometric size that has not been drawn. */
static pboost_status compare_size(int *out, const laplace_sampler *sampler, uint64_t n,
                                  rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool more;

    *out = -1;
    TRY(reaches(&more, sampler, n, source, err));
    if (!more)
        goto done;
    TRY(reaches(&more, sampler, 1, source, err));
    *out = more ? 1 : 0;
done:
    return st;
}

/* As pboost_laplace_draw: a sign and a size, 0 not being counted twice.  A size known to be at
 * least 1 is 1 and another geometric size. */
pboost_status pboost_laplace_side(int *out, const laplace_sampler *sampler, int64_t bar,
                                  rng_source *source, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t sign;
    bool nonzero;

    *out = 0;
    for (;;) {
        TRY(pboost_rng_next(&sign, source, err));
        if (sign >> 63 == 0) {
            if (bar < 0)
                *out = 1;
            else
                TRY(compare_size(out, sampler, (uint64_t)bar, source, err));
            break;
        }
        TRY(reaches(&nonzero, sampler, 1, source, err));
        if (!nonzero)
            continue;
        if (bar >= 0) {
            *out = -1;
        } else {
            TRY(compare_size(out, sampler, (uint64_t)(-bar - 1), source, err));
            *out = -*out;
        }
        break;
    }
done:
    return st;
}

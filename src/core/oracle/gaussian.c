/* Exact discrete Gaussian noise, after Canonne, Kamath and Steinke (2020), algorithm 3.
 *
 * A draw y of discrete Laplace noise of scale t = floor(sigma) + 1 is kept with probability
 * exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)); what is kept is discrete Gaussian.  With sigma^2 = a/b
 * the exponent is (|y| t b - a)^2 / (2 a b t^2): integers only.  sigma^2 has 20 binary places below
 * 2^20 and is whole above, which keeps both parts below 2^117; it is rounded up, and rho down, so
 * that noise is never less than rho needs. */
#include <math.h>

#include "oracle/mechanism.h"
#include "try.h"

#define MARGIN 1e-9 /* relative; more than all rounding of a few operations on doubles */
#define SIGMA_LIMIT 0x1p27

pboost_rational pboost_gaussian_rho(pboost_rational epsilon, pboost_rational delta)
{
    enum { BITS = 30 };
    double e = pboost_rational_value(epsilon), l = log((double)delta.den / (double)delta.num);
    double root = e / (sqrt(l + e) + sqrt(l)); /* sqrt(l + e) - sqrt(l), without cancellation */
    double rho = root * root * (1 - MARGIN);
    int exponent;
    double mantissa = frexp(rho, &exponent);
    uint64_t num = (uint64_t)ldexp(mantissa, BITS); /* rounds down */
    int shift = BITS - exponent;

    for (; num % 2 == 0 && shift > 0 && num > 0; shift--)
        num /= 2;
    if (num == 0 || shift < 0 || shift > 63)
        return (pboost_rational){0, 0};
    return (pboost_rational){num, UINT64_C(1) << shift};
}

pboost_status pboost_gaussian_sampler(gaussian_sampler *out, double sensitivity,
                                      pboost_rational rho, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double variance =
        sensitivity * sensitivity / (2 * pboost_rational_value(rho)) * (1 + MARGIN) + 0x1p-20;

    if (!(variance <= SIGMA_LIMIT * SIGMA_LIMIT))
        FAIL(err, PBOOST_INVALID,
             "Gaussian noise would have a standard deviation of %g steps; the most is 2^27: choose "
             "a larger step",
             sqrt(variance));
    bool fine = variance < 0x1p20;
    out->den = fine ? 1 << 20 : 1;
    out->num = (uint64_t)ceil(variance * (double)out->den);
    out->most = fine ? 1 << 20 : UINT64_C(1) << 31;
    uint64_t t = (uint64_t)sqrt((double)out->num / (double)out->den) + 1;
    out->proposal = pboost_laplace_sampler((laplace_scale){t, 1});
done:
    return st;
}

/* Below 8 it is added up; above, sums and integrals agree to the last digit. */
double pboost_gaussian_variance(const gaussian_sampler *sampler)
{
    double variance = (double)sampler->num / (double)sampler->den, mass = 1, square = 0;

    if (variance > 64)
        return variance;
    for (int i = 1; i < 100; i++) {
        double z = i, p = 2 * exp(-z * z / (2 * variance));
        mass += p;
        square += z * z * p;
    }
    return square / mass;
}

pboost_status pboost_gaussian_draw(int64_t *out, const gaussian_sampler *s, rng_source *source,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_u128 t = s->proposal.scale.num, unit = 2 * (pboost_u128)s->num * s->den * t * t;
    bool kept = false;

    while (!kept) {
        TRY(pboost_laplace_draw(out, &s->proposal, source, err));
        uint64_t size = (uint64_t)(*out < 0 ? -*out : *out);
        if (size > s->most)
            continue;
        pboost_i128 off = (pboost_i128)(size * t * s->den) - s->num;
        TRY(pboost_coin_exp(&kept, (pboost_u128)(off * off), unit, source, err));
    }
done:
    if (st != PBOOST_OK)
        *out = 0;
    return st;
}

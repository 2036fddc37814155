/* Random words and normal deviates, LANES blocks at a time in loops that the compiler turns into
 * vectors.
 *
 * Only integer operations and correctly rounded +, -, *, / and square root are used, and the file
 * is compiled with -ffp-contract=off, so every level and every machine gives the same bits. */
#include "kernels/random.h"

#include <math.h>
#include <string.h>

#include "kernels/simd.h"

enum { LANES = 32, ROUNDS = 10 };

static void philox(uint64_t word0[LANES], uint64_t word1[LANES], uint64_t seed, uint64_t stream,
                   uint64_t counter)
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (size_t i = 0; i < LANES; i++) {
        c0[i] = (uint32_t)(counter + i);
        c1[i] = (uint32_t)((counter + i) >> 32);
        c2[i] = (uint32_t)stream;
        c3[i] = (uint32_t)(stream >> 32);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < LANES; i++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[i];
            uint64_t p1 = (uint64_t)0xCD9E8D57u * c2[i];
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)p1;
            c3[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (size_t i = 0; i < LANES; i++) {
        word0[i] = c0[i] | (uint64_t)c1[i] << 32;
        word1[i] = c2[i] | (uint64_t)c3[i] << 32;
    }
}

void SIMD(pboost_random_words)(uint64_t *out, size_t blocks, uint64_t seed, uint64_t stream,
                               uint64_t counter)
{
    uint64_t word0[LANES], word1[LANES];

    for (size_t done = 0; done < blocks; done += LANES) {
        size_t n = blocks - done < LANES ? blocks - done : LANES;
        philox(word0, word1, seed, stream, counter + done);
        for (size_t i = 0; i < n; i++) {
            out[2 * (done + i)] = word0[i];
            out[2 * (done + i) + 1] = word1[i];
        }
    }
}

static inline double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* In [1, 2), a multiple of 2^-52. */
static inline double one_to_two(uint64_t bits52)
{
    return from_bits(UINT64_C(0x3ff) << 52 | bits52);
}

/* log x for x in [2^-52, 1]: x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh(s) with
 * s = (m-1)/(m+1), |s| < 0.172, by its series.  Near 1 there is no cancellation, as e is 0. */
static inline double log_unit(double x)
{
    const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd); /* sqrt(1/2) */
    const uint64_t mantissa = (UINT64_C(1) << 52) - 1;
    uint64_t shifted = to_bits(x) - root_half + (UINT64_C(1023) << 52);
    double e = from_bits(UINT64_C(0x433) << 52 | shifted >> 52) - (0x1p52 + 1023);
    double m = from_bits((shifted & mantissa) + root_half);
    double s = (m - 1) / (m + 1), t = s * s;
    double p = 1.0 / 23;
    p = p * t + 1.0 / 21;
    p = p * t + 1.0 / 19;
    p = p * t + 1.0 / 17;
    p = p * t + 1.0 / 15;
    p = p * t + 1.0 / 13;
    p = p * t + 1.0 / 11;
    p = p * t + 1.0 / 9;
    p = p * t + 1.0 / 7;
    p = p * t + 1.0 / 5;
    p = p * t + 1.0 / 3;
    return e * 0.69314718055994530942 + (2 * s + 2 * s * (t * p));
}

/* The Taylor series of sine and cosine to 1e-17, for |a| <= pi/4. */
static inline double sin_small(double a)
{
    double t = a * a, p = 1.0 / 355687428096000;
    p = p * t - 1.0 / 1307674368000;
    p = p * t + 1.0 / 6227020800;
    p = p * t - 1.0 / 39916800;
    p = p * t + 1.0 / 362880;
    p = p * t - 1.0 / 5040;
    p = p * t + 1.0 / 120;
    p = p * t - 1.0 / 6;
    return a + a * (t * p);
}

static inline double cos_small(double a)
{
    double t = a * a, p = 1.0 / 20922789888000;
    p = p * t - 1.0 / 87178291200;
    p = p * t + 1.0 / 479001600;
    p = p * t - 1.0 / 3628800;
    p = p * t + 1.0 / 40320;
    p = p * t - 1.0 / 720;
    p = p * t + 1.0 / 24;
    p = p * t - 0.5;
    return 1 + t * p;
}

/* Box and Muller: the radius from 52 bits of the first word, the angle from 54 of the second, two
 * of which choose the quadrant.  Deviates reach to 8.49. */
void SIMD(pboost_random_normals)(double *out, size_t blocks, uint64_t seed, uint64_t stream,
                                 uint64_t counter)
{
    uint64_t word0[LANES], word1[LANES];
    double x[LANES], y[LANES];
    const uint64_t sign = UINT64_C(1) << 63;

    for (size_t done = 0; done < blocks; done += LANES) {
        size_t n = blocks - done < LANES ? blocks - done : LANES;
        philox(word0, word1, seed, stream, counter + done);
        for (size_t i = 0; i < LANES; i++) {
            double radius = sqrt(-2 * log_unit(2 - one_to_two(word0[i] >> 12)));
            double turn = one_to_two(word1[i] << 2 >> 12) - 1.5;
            double angle = turn * 1.57079632679489661923;
            double c = radius * cos_small(angle), s = radius * sin_small(angle);
            uint64_t high = word1[i] & sign, low = word1[i] << 1 & sign;
            x[i] = from_bits(to_bits(low ? s : c) ^ high ^ low);
            y[i] = from_bits(to_bits(low ? c : s) ^ high);
        }
        for (size_t i = 0; i < n; i++) {
            out[2 * (done + i)] = x[i];
            out[2 * (done + i) + 1] = y[i];
        }
    }
}

/* Vectors of doubles and the functions that the kernels need on them.
 *
 * A vector is one register of the level, unless the including file defines LANES: loops over panels
 * use eight.  The compiler lowers sums and products of longer vectors to
 * several registers, but comparisons and shifts to single elements (GCC 12), so functions are for
 * vectors of a register.  Everything is forced inline, so no vector ever crosses a call and the
 * levels can share names.
 *
 * The plain level has the width of SSE2 and of NEON, which every x86-64 and every 64-bit ARM has.
 */
#ifndef PBOOST_VEC_H
#define PBOOST_VEC_H

#include <stddef.h>
#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "kernels/sums.h"

/* A warning about passing vectors to functions, which never happens: all are inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"

#ifndef LANES
#if defined __AVX512F__
#define LANES 8
#elif defined __AVX2__
#define LANES 4
#else
#define LANES 2
#endif
#endif
#define INLINE static inline __attribute__((always_inline))

/* Vector registers of the level: loops keep as many sums as leave none of them in memory. */
#if defined __AVX512F__ || defined __aarch64__
#define VEC_REGISTERS 32
#else
#define VEC_REGISTERS 16
#endif

typedef double vec __attribute__((vector_size(8 * LANES)));
typedef long long vec_mask __attribute__((vector_size(8 * LANES)));
typedef unsigned long long vec_bits __attribute__((vector_size(8 * LANES)));
typedef double vec_anywhere __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

INLINE vec vec_load(const double *p)
{
    return *(const vec_anywhere *)p;
}

INLINE void vec_store(double *p, vec v)
{
    *(vec_anywhere *)p = v;
}

INLINE vec vec_all(double a)
{
    return a - (vec){0};
}

/* The first `count` < LANES elements, the others 0.  A copy of so few bytes is a call, which takes
 * as long as the rest of a short loop; with AVX-512 it is one instruction. */
INLINE vec vec_load_some(const double *p, size_t count)
{
#if defined __AVX512F__ && LANES == 8
    return _mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), p);
#else
    double buffer[LANES] = {0};
    memcpy(buffer, p, count * sizeof *p);
    return vec_load(buffer);
#endif
}

INLINE void vec_store_some(double *p, vec v, size_t count)
{
#if defined __AVX512F__ && LANES == 8
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1), v);
#else
    double buffer[LANES];
    vec_store(buffer, v);
    memcpy(p, buffer, count * sizeof *p);
#endif
}

/* mask ? a : b, where mask comes from a comparison. */
INLINE vec vec_select(vec_mask mask, vec a, vec b)
{
    return (vec)(((vec_mask)a & mask) | ((vec_mask)b & ~mask));
}

INLINE vec vec_abs(vec a)
{
    return (vec)((vec_mask)a & 0x7fffffffffffffffLL);
}

/* Largest with NaN carried through from a. */
INLINE vec vec_max(vec a, vec b)
{
    return vec_select(a < b, b, a);
}

INLINE double vec_sum(vec a)
{
#if LANES == 8
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
#elif LANES == 4
    return (a[0] + a[2]) + (a[1] + a[3]);
#else
    return a[0] + a[1];
#endif
}

INLINE double vec_product(vec a)
{
    double product = a[0];
    for (int i = 1; i < LANES; i++)
        product *= a[i];
    return product;
}

/* 1 in the first `count` lanes, 0 in the others. */
INLINE vec vec_present(size_t count)
{
    static const double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    return count == LANES ? vec_all(1.0) : vec_load_some(ones, count);
}

/* e^x as p * 2^n, with n in the low bits of `shifted`.  x = n ln 2 + r with |r| <= ln 2 / 2, where
 * the Chebyshev expansion of e^r, cut after r^11, is exact to 4e-18; adding 1.5 * 2^52 rounds to an
 * integer and leaves it in the low bits. */
typedef struct {
    vec p, shifted;
} vec_exp_parts;

INLINE vec_exp_parts vec_exp_split(vec x)
{
    const double magic = 0x1.8p52;
    vec t = x * 0x1.71547652b82fep0 + magic;
    vec n = t - magic;
    vec r = x - n * 0x1.62e42fefa38p-1;
    r = r - n * 0x1.ef35793c7673p-45;
    vec p = vec_all(0x1.af7868d2a36dap-26);
    p = p * r + 0x1.28b40e50912c4p-22;
    p = p * r + 0x1.71dde763b593p-19;
    p = p * r + 0x1.a01991a2e8693p-16;
    p = p * r + 0x1.a01a01b80532ep-13;
    p = p * r + 0x1.6c16c187ff82fp-10;
    p = p * r + 0x1.111111110db6cp-7;
    p = p * r + 0x1.555555554f0bdp-5;
    p = p * r + 0x1.5555555555562p-3;
    p = p * r + 0x1.0000000000011p-1;
    p = p * r + 1.0;
    return (vec_exp_parts){p * r + 1.0, t};
}

/* exp to about one unit in the last place; 0 below -707.7, infinity above 709.78, NaN for NaN. */
INLINE vec vec_exp(vec x)
{
    vec_exp_parts e = vec_exp_split(x);
    vec half = (vec)(((vec_bits)e.shifted << 52) + (1022ULL << 52));
    vec y = e.p * half * 2.0;
    y = vec_select(x > 709.782712893384, vec_all(__builtin_inf()), y);
    return vec_select(x < -707.7, vec_all(0.0), y);
}

/* The same for x <= 0 or NaN: multiplying by 2^n is adding n to the exponent. */
INLINE vec vec_exp_falling(vec x)
{
    vec_exp_parts e = vec_exp_split(x);
    vec y = (vec)((vec_bits)e.p + ((vec_bits)e.shifted << 52));
    return vec_select(x < -707.7, vec_all(0.0), y);
}

/* log(1 + u) for u in [0, 1]: 2 atanh(u / (2 + u)), a series in s^2 <= 1/9. */
INLINE vec vec_log1p_unit(vec u)
{
    vec s = u / (u + 2.0);
    vec z = s * s;
    vec p = vec_all(1.0 / 33.0);
    for (int k = 31; k >= 1; k -= 2)
        p = p * z + 1.0 / k;
    return 2.0 * s * p;
}

/* Exchanges rows and columns of a square block. */
INLINE void vec_transpose(vec m[LANES])
{
#if LANES == 8
    vec a[LANES], b[LANES];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = __builtin_shufflevector(m[2 * i], m[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[2 * i + 1] = __builtin_shufflevector(m[2 * i], m[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 2; i++) {
            vec low = a[4 * h + i], high = a[4 * h + 2 + i];
            b[4 * h + i] = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
            b[4 * h + 2 + i] = __builtin_shufflevector(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        m[i] = __builtin_shufflevector(b[i], b[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
        m[4 + i] = __builtin_shufflevector(b[i], b[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#elif LANES == 4
    vec a[LANES];
    for (int i = 0; i < 2; i++) {
        a[2 * i] = __builtin_shufflevector(m[2 * i], m[2 * i + 1], 0, 4, 2, 6);
        a[2 * i + 1] = __builtin_shufflevector(m[2 * i], m[2 * i + 1], 1, 5, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        m[i] = __builtin_shufflevector(a[i], a[2 + i], 0, 1, 4, 5);
        m[2 + i] = __builtin_shufflevector(a[i], a[2 + i], 2, 3, 6, 7);
    }
#else
    vec a = __builtin_shufflevector(m[0], m[1], 0, 2);
    m[1] = __builtin_shufflevector(m[0], m[1], 1, 3);
    m[0] = a;
#endif
}

#if LANES == 8

SUMS_OF_EIGHT(vec_sums, vec)

#endif

#endif

/* Decimal text to the nearest double, correctly rounded.
 *
 * Text is w * 10^q with w of up to 19 digits (and perhaps more digits behind them).  There are
 * three methods; each is exact or detects that it is not:
 *
 *   1. w < 2^53 and |q| <= 22: w and 10^|q| are doubles, so one multiplication or division rounds
 *      once and rightly.
 *   2. Otherwise w * 5^q as a 128-bit number Y whose error has a known bound: 5^q is split into
 *      5^(27a), from a table truncated to 128 bits, and 5^b with 0 <= b < 27, which is exact.  The
 *      exact product X = w * 5^b is below 2^128, so with 0 <= d < 1 the error of the table entry
 *      X * (C + d) / 2^128 lies in [Y, Y + 2), and in [Y, Y + 4) once Y is shifted by one place.
 *      Unless half a unit of the result falls in that interval, rounding Y is rounding the text.
 *   3. If it does, the text is compared with the half-way point itself, in whole numbers. */
#include "number.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* For code that is rarely needed: not inlined, so that the common case stays short. */
#define COLD __attribute__((noinline, cold))

enum {
    COARSE = 27,        /* 5^27 < 2^63 */
    COARSE_FIRST = -13, /* the table starts at 5^(27 * -13) */
    MIN_Q = -343,       /* w * 10^q rounds to zero below */
    MAX_Q = 308,        /* and is infinite above */
    MAX_DIGITS = 800,   /* no half-way point has more than 767 */
    LIMBS = 96
};

/* 5^(27a) = (hi * 2^64 + lo + d) * 2^exponent with 0 <= d < 1, for a = -13 .. 11. */
static const struct {
    uint64_t hi, lo;
    int exponent;
} COARSE_POWER[] = {
    {0x8049a4ac0c5811ae, 0x205b896d777d6278, -942}, {0xcf42894a5dce35ea, 0x52064cac828675b9, -880},
    {0xa76c582338ed2621, 0xaf2af2b80af6f24e, -817}, {0x873e4f75e2224e68, 0x5a7744a6e804a291, -754},
    {0xda7f5bf590966848, 0xaf39a475506a899e, -692}, {0xb080392cc4349dec, 0xbd8d794d96aacfb3, -629},
    {0x8e938662882af53e, 0x547eb47b7282ee9c, -566}, {0xe65829b3046b0afa, 0x0cb4a5a3112a5112, -504},
    {0xba121a4650e4ddeb, 0x92f34d62616ce413, -441}, {0x964e858c91ba2655, 0x3a6a07f8d510f86f, -378},
    {0xf2d56790ab41c2a2, 0xfae27299423fb9c3, -316}, {0xc428d05aa4751e4c, 0xaa97e14c3c26b886, -253},
    {0x9e74d1b791e07e48, 0x775ea264cf55347d, -190}, {0x8000000000000000, 0x0000000000000000, -127},
    {0xcecb8f27f4200f3a, 0x0000000000000000, -65},  {0xa70c3c40a64e6c51, 0x999090b65f67d924, -2},
    {0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3, 61},   {0xda01ee641a708de9, 0xe80e6f4820cc9495, 123},
    {0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f, 186},  {0x8e41ade9fbebc27d, 0x14588f13be847307, 249},
    {0xe5d3ef282a242e81, 0x8f1668c8a86da5fa, 311},  {0xb9a74a0637ce2ee1, 0x6d953e2bd7173692, 374},
    {0x95f83d0a1fb69cd9, 0x4abdaf101564f98e, 437},  {0xf24a01a73cf2dccf, 0xbc633b39673c8cec, 499},
    {0xc3b8358109e84f07, 0x0a862f80ec4700c8, 562},
};

static const uint64_t FINE_POWER[COARSE] = {
    1,
    5,
    25,
    125,
    625,
    3125,
    15625,
    78125,
    390625,
    1953125,
    9765625,
    48828125,
    244140625,
    1220703125,
    6103515625,
    30517578125,
    152587890625,
    762939453125,
    3814697265625,
    19073486328125,
    95367431640625,
    476837158203125,
    2384185791015625,
    11920928955078125,
    59604644775390625,
    298023223876953125,
    1490116119384765625,
};

static const double TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The parts of a number as it is written. */
typedef struct {
    const char *mantissa, *end; /* digits and at most one point */
    bool negative;
    bool more;  /* digits other than 0 may follow those in w */
    uint64_t w; /* the first 19 digits that count */
    int64_t q;  /* |value| = (w or a little more) * 10^q */
} decimal;

/* ---- Way 3: whole numbers -------------------------------------------------------------------- */

typedef struct {
    size_t n;
    uint64_t limb[LIMBS];
} whole;

static void multiply_add(whole *a, uint64_t factor, uint64_t add)
{
    uint64_t carry = add;
    for (size_t i = 0; i < a->n; i++) {
        u128 t = (u128)a->limb[i] * factor + carry;
        a->limb[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    if (carry != 0 && a->n < LIMBS)
        a->limb[a->n++] = carry;
}

static void multiply_power_of_5(whole *a, int64_t power)
{
    for (; power >= COARSE; power -= COARSE - 1)
        multiply_add(a, FINE_POWER[COARSE - 1], 0);
    if (power > 0 && power < COARSE)
        multiply_add(a, FINE_POWER[power], 0);
}

static void shift_left(whole *a, int64_t bits)
{
    size_t limbs = (size_t)(bits / 64);
    if (a->n == 0 || bits <= 0)
        return;
    multiply_add(a, (uint64_t)1 << (bits % 64), 0);
    if (a->n + limbs > LIMBS)
        limbs = LIMBS - a->n;
    memmove(a->limb + limbs, a->limb, a->n * sizeof *a->limb);
    memset(a->limb, 0, limbs * sizeof *a->limb);
    a->n += limbs;
}

static int compare(const whole *a, const whole *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t i = a->n; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* All digits of the mantissa as a whole number; returns the power of ten that belongs to it.  Past
 * MAX_DIGITS only whether anything follows matters, and a last digit 1 says so. */
static int64_t all_digits(whole *out, const decimal *d)
{
    int64_t dropped = 0, seen_point = 0, after_point = 0;
    size_t n = 0;
    bool rest = false;

    out->n = 0;
    for (const char *p = d->mantissa; p < d->end; p++) {
        if (*p == '.') {
            seen_point = 1;
            continue;
        }
        after_point += seen_point;
        if (n == 0 && *p == '0')
            continue;
        if (n < MAX_DIGITS) {
            multiply_add(out, 10, (uint64_t)(*p - '0'));
            n++;
        } else {
            rest = rest || *p != '0';
            dropped++;
        }
    }
    if (rest) {
        multiply_add(out, 10, 1);
        dropped--;
    }
    return dropped - after_point;
}

/* The sign of |value| - half * 2^k.  exponent is what the text says after the e.
 * Both sides have fewer than 3000 bits: 800 digits, or 5^1200 and 54 bits. */
static COLD int compare_half(const decimal *d, int64_t exponent, uint64_t half, int64_t k)
{
    whole text, limit = {.n = 1, .limb = {half}};
    int64_t ten = all_digits(&text, d) + exponent;

    multiply_power_of_5(&text, ten);
    multiply_power_of_5(&limit, -ten);
    shift_left(&text, ten - k);
    shift_left(&limit, k - ten);
    return compare(&text, &limit);
}

/* ---- Way 2: 128 bits ------------------------------------------------------------------------- */

static u128 high_product(u128 a, u128 b)
{
    uint64_t a1 = (uint64_t)(a >> 64), a0 = (uint64_t)a;
    uint64_t b1 = (uint64_t)(b >> 64), b0 = (uint64_t)b;
    u128 cross1 = (u128)a1 * b0, cross0 = (u128)a0 * b1;
    u128 low = (((u128)a0 * b0) >> 64) + (uint64_t)cross1 + (uint64_t)cross0;
    return (u128)a1 * b1 + (cross1 >> 64) + (cross0 >> 64) + (low >> 64);
}

/* y * 2^e without its last `cut` bits, rounded as |value| is. */
static inline uint64_t round_at(const decimal *d, int64_t exponent, u128 y, int64_t e, int cut)
{
    uint64_t m = cut < 128 ? (uint64_t)(y >> cut) : 0;
    u128 rest = cut < 128 ? y & (((u128)1 << cut) - 1) : y;
    u128 half = (u128)1 << (cut - 1);
    /* Digits beyond w add less than one part in 10^18 > 2^59, that is 2^69. */
    u128 error = d->more ? (u128)1 << 69 : 4;
    bool up = rest > half;

    if (__builtin_expect(half - rest <= error, 0)) { /* wraps to a huge number where rest > half */
        int c = compare_half(d, exponent, 2 * m + 1, e + cut - 1);
        up = c > 0 || (c == 0 && (m & 1) != 0);
    }
    return m + up;
}

/* The bits of the double nearest to |value|. */
static uint64_t round_product(const decimal *d, int64_t exponent)
{
    int64_t a = (d->q >= 0 ? d->q : d->q - (COARSE - 1)) / COARSE;
    size_t entry = (size_t)(a - COARSE_FIRST);
    u128 coarse = (u128)COARSE_POWER[entry].hi << 64 | COARSE_POWER[entry].lo;
    uint64_t fine = FINE_POWER[d->q - a * COARSE];
    int w_zeros = __builtin_clzll(d->w), fine_zeros = __builtin_clzll(fine);
    u128 x = (u128)(d->w << w_zeros) * (fine << fine_zeros); /* at least 2^126 */
    unsigned x_zero = (x >> 127) == 0;
    u128 y = high_product(x << x_zero, coarse); /* at least 2^126 again */
    unsigned y_zero = (y >> 127) == 0;
    int64_t e = 128 + COARSE_POWER[entry].exponent + d->q - w_zeros - fine_zeros - x_zero - y_zero;

    y <<= y_zero; /* |value| ~ y * 2^e */
    if (e + 127 > 1023)
        return (uint64_t)0x7ff << 52;
    if (e + 127 >= -1022) /* a carry out of the mantissa is the right next exponent */
        return ((uint64_t)(e + 127 + 1022) << 52) + round_at(d, exponent, y, e, 128 - 53);
    if (e + 127 < -1075)
        return 0;
    return round_at(d, exponent, y, e, (int)(-947 - (e + 127)));
}

/* ---- The text -------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Reads digits at p into *w, which wraps around after 19 of them, up to eight at a time.  first is
 * where the text begins: the last bytes of a text of eight or more are loaded together with some
 * before them, so that nothing outside the text is touched. */
static inline const char *take_digits(const char *first, const char *p, const char *end,
                                      uint64_t *w)
{
    static const uint64_t POWER[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

    while (end - first >= 8) {
        uint64_t v, digit, other;
        unsigned n = 8;
        if (end - p >= 8) {
            memcpy(&v, p, sizeof v);
        } else {
            memcpy(&v, end - 8, sizeof v);
            v = v >> (56 - 8 * (end - p)) >> 8; /* in two steps, for it may be by all 64 bits */
        }
        /* A byte below '0' gets its top bit here, one above '9' there; the lowest mark is true. */
        digit = v - 0x3030303030303030u;
        other = ((v + 0x4646464646464646u) | digit) & 0x8080808080808080u;
        if (other != 0) { /* the first digit is the lowest byte: zeros go before it */
            n = (unsigned)__builtin_ctzll(other) / 8;
            digit = digit << (56 - 8 * n) << 8;
        }
        digit = (digit * 10 + (digit >> 8)) & 0x00ff00ff00ff00ffu;
        digit = (digit * 100 + (digit >> 16)) & 0x0000ffff0000ffffu;
        digit = (digit * 10000 + (digit >> 32)) & 0xffffffffu;
        *w = *w * POWER[n] + digit;
        p += n;
        if (n < 8)
            return p;
    }
    for (; p < end && is_digit(*p); p++)
        *w = *w * 10 + (uint64_t)(*p - '0');
    return p;
}
#else
static inline const char *take_digits(const char *first, const char *p, const char *end,
                                      uint64_t *w)
{
    (void)first;
    for (; p < end && is_digit(*p); p++)
        *w = *w * 10 + (uint64_t)(*p - '0');
    return p;
}
#endif

/* w and q again, for a mantissa of more than 19 digits, of which leading zeros do not count. */
static COLD void take_leading(decimal *d, int64_t exponent)
{
    int n = 0;
    bool point = false;

    d->w = 0;
    d->q = exponent;
    for (const char *p = d->mantissa; p < d->end; p++) {
        if (*p == '.') {
            point = true;
        } else if (n < 19) {
            d->w = d->w * 10 + (uint64_t)(*p - '0');
            n += d->w != 0;
            d->q -= point;
        } else {
            d->more = d->more || *p != '0';
            d->q += !point;
        }
    }
}

static bool same_word(const char *text, size_t n, const char *word)
{
    if (n != strlen(word))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((text[i] | 0x20) != word[i])
            return false;
    return true;
}

static COLD number_kind parse_word(const char *text, size_t n)
{
    bool known =
        same_word(text, n, "nan") || same_word(text, n, "inf") || same_word(text, n, "infinity");
    return known ? NUMBER_NOT_FINITE : NUMBER_NONE;
}

/* Reads "e-12"; false if it is not an exponent.  Digits that would overflow are dropped: what is
 * left is still far beyond anything that the zeros of a text in memory could make up for. */
static bool take_exponent(const char *p, const char *end, int64_t *out)
{
    bool negative = false;
    int64_t e = 0;

    p++;
    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    if (p == end)
        return false;
    for (; p < end && is_digit(*p); p++)
        if (e < INT64_MAX / 100)
            e = e * 10 + (*p - '0');
    *out = negative ? -e : e;
    return p == end;
}

static double assemble(const decimal *d, int64_t exponent)
{
    uint64_t bits;
    double value;

    if (!d->more && d->w <= (uint64_t)1 << 53 && d->q >= -22 && d->q <= 22) {
        value = d->q < 0 ? (double)d->w / TEN[-d->q] : (double)d->w * TEN[d->q];
        return d->negative ? -value : value;
    }
    if (d->w == 0 || d->q < MIN_Q)
        bits = 0;
    else if (d->q > MAX_Q)
        bits = (uint64_t)0x7ff << 52;
    else
        bits = round_product(d, exponent);
    bits |= (uint64_t)d->negative << 63;
    memcpy(&value, &bits, sizeof value);
    return value;
}

number_kind pboost_number_parse(double *out, const char *text, size_t n)
{
    const char *p = text, *end = text + n, *point;
    decimal d = {0};
    int64_t exponent = 0;
    size_t digits;

    if (n == 0)
        return NUMBER_NONE;
    d.negative = *p == '-';
    p += (*p == '-') | (*p == '+'); /* no branch: signs are as good as random */
    d.mantissa = p;
    if (p < end && is_digit(*p)) /* most numbers have one digit before the point */
        d.w = (uint64_t)(*p++ - '0');
    if (p < end && is_digit(*p))
        p = take_digits(text, p, end, &d.w);
    digits = (size_t)(p - d.mantissa);
    if (p < end && *p == '.') {
        point = ++p;
        p = take_digits(text, p, end, &d.w);
        digits += (size_t)(p - point);
        d.q = point - p;
    }
    d.end = p;
    if (digits == 0)
        return parse_word(d.mantissa, (size_t)(end - d.mantissa));
    if (p < end) {
        if ((*p | 0x20) != 'e' || !take_exponent(p, end, &exponent))
            return NUMBER_NONE;
        d.q += exponent;
    }
    if (digits > 19)
        take_leading(&d, exponent);
    double value = assemble(&d, exponent);
    if (value - value != 0)
        return NUMBER_NOT_FINITE;
    *out = value;
    return NUMBER_FINITE;
}

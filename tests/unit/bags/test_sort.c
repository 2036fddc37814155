/* Stable order, against a plain stable sort. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <priorboost/core.h>

#include "bags/sort.h"
#include "kernels/simd.h"

static uint64_t state;

static uint64_t next(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(void)
{
    return ((double)(next() >> 11) + 0.5) * 0x1p-53;
}

typedef double draw(size_t i);

static double flat(size_t i)
{
    (void)i;
    return uniform();
}

static double gaussian(size_t i)
{
    (void)i;
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static double cauchy(size_t i)
{
    (void)i;
    return tan(3.14159265358979 * (uniform() - 0.5));
}

static double ties(size_t i)
{
    (void)i;
    return (double)(next() % 7);
}

static double zeros(size_t i)
{
    (void)i;
    return next() % 2 ? 0.0 : -0.0;
}

static double signed_zeros_and_ones(size_t i)
{
    double v = (double)(next() % 2);
    (void)i;
    return next() % 2 ? v : -v;
}

/* Any finite bit pattern: all exponents alike. */
static double bits(size_t i)
{
    double v;
    do {
        uint64_t word = next();
        memcpy(&v, &word, sizeof v);
    } while (!isfinite(v));
    (void)i;
    return v;
}

static double denormal(size_t i)
{
    (void)i;
    return (double)(next() % 100000) * 0x1p-1074;
}

static double two_scales(size_t i)
{
    return i % 2 ? 1e9 + 1e-3 * gaussian(i) : gaussian(i);
}

/* Fewer steps of the last place in a bucket than records. */
static double offset(size_t i)
{
    return 1e9 + 1e-3 * gaussian(i);
}

/* Each power of two far from the next: distribution by range does not get on. */
static double tower(size_t i)
{
    (void)i;
    return ldexp(1 + uniform(), (int)(next() % 2000) - 1000);
}

static double rising(size_t i)
{
    return (double)(i / 3);
}

static double falling(size_t i)
{
    return -(double)(i / 3);
}

static double almost_equal(size_t i)
{
    return i == 777 ? 2.0 : 1.0;
}

/* Every 16th is of another kind: a sample may meet these alone. */
static double misleading(size_t i)
{
    return i % 16 == 0 ? 1e-3 * uniform() : 1e3 * gaussian(i);
}

static draw *const DRAWS[] = {
    misleading, flat,     gaussian, cauchy, ties,    zeros,        signed_zeros_and_ones,
    bits,       denormal, tower,    rising, falling, almost_equal, two_scales,
    offset};

typedef struct {
    double value;
    size_t row;
} pair;

static int by_value_then_row(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    if (p->value != q->value)
        return p->value < q->value ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

static void check(draw *make, size_t n, int threads)
{
    double *value = malloc((n + 1) * sizeof *value), *sorted = malloc((n + 1) * sizeof *sorted);
    size_t *row = malloc((n + 1) * sizeof *row);
    pair *expect = malloc((n + 1) * sizeof *expect);
    assert_true(value && sorted && row && expect);
    for (size_t i = 0; i < n; i++) {
        value[i] = make(i);
        expect[i] = (pair){value[i], i};
    }
    qsort(expect, n, sizeof *expect, by_value_then_row);
    assert_int_equal(pboost_sort_doubles(row, sorted, value, n, threads, NULL, NULL), PBOOST_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(row[i], expect[i].row);
        assert_memory_equal(&sorted[i], &value[row[i]], sizeof *value);
    }
    free(expect);
    free(row);
    free(sorted);
    free(value);
}

static void order_is_stable(void **unused)
{
    static const size_t sizes[] = {0, 1, 2, 3, 23, 25, 100, 1000, 4096, 4097, 30000, 200000};
    (void)unused;
    state = 1;
    for (size_t d = 0; d < sizeof DRAWS / sizeof *DRAWS; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check(DRAWS[d], sizes[s], 1 + (int)(s % 2));
}

static void odd_sizes_are_sorted(void **unused)
{
    (void)unused;
    state = 2;
    for (size_t n = 0; n < 300; n++)
        for (size_t d = 0; d < sizeof DRAWS / sizeof *DRAWS; d++)
            check(DRAWS[d], n, 1);
}

static void bad_values_are_named(void **unused)
{
    static double value[5000];
    static size_t row[5000];
    static double sorted[5000];
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    pboost_error err;
    (void)unused;
    for (int b = 0; b < 3; b++) {
        memset(value, 0, sizeof value);
        value[4321] = bad[b];
        assert_int_equal(pboost_sort_doubles(row, sorted, value, 5000, 1, NULL, &err),
                         PBOOST_BAD_DATA);
        assert_non_null(strstr(err.message, "4321"));
        assert_non_null(strstr(err.message, b == 0 ? "nan" : "inf"));
        assert_int_equal(pboost_sort_doubles(row, sorted, value, 4321, 1, NULL, &err), PBOOST_OK);
    }
}

/* Nor does one get by in a long list, whose range is judged from a sample: among the sampled or
 * not, in values of any range, all alike, or in order. */
static void bad_values_of_long_lists_are_named(void **unused)
{
    enum { N = 20011 };
    static double value[N], sorted[N];
    static size_t row[N];
    const size_t places[] = {0, 15, 16, 4321, N - 1};
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    pboost_error err;
    (void)unused;
    state = 6;
    for (int shape = 0; shape < 4; shape++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            for (int b = 0; b < 3; b++) {
                char place[16];
                for (size_t i = 0; i < N; i++) {
                    double u = (double)(next() >> 40) * 0x1p-24 - 0.5;
                    value[i] = shape == 0   ? u
                               : shape == 1 ? (double)(i == 77)
                               : shape == 2 ? 2 * (u * 1.7e308)
                                            : (double)i;
                }
                value[places[p]] = bad[b];
                assert_int_equal(pboost_sort_doubles(row, sorted, value, N, 1, NULL, &err),
                                 PBOOST_BAD_DATA);
                snprintf(place, sizeof place, "score %zu ", places[p]);
                assert_non_null(strstr(err.message, place));
            }
}

/* Whatever the vectors: the same order, and no value escapes the look for what is not finite. */
static void levels_agree(void **unused)
{
    enum { N = 20011, FEW = 70 };
    static double value[N], sorted[N], plain_sorted[N];
    static size_t row[N], plain_row[N];
    (void)unused;
    state = 5;
    for (size_t i = 0; i < N; i++)
        value[i] = (double)(next() >> 40) - 0x1p22;
    for (simd_level_t level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        if (pboost_simd_force(level) != level)
            continue;
        bool plain = level == SIMD_PLAIN;
        assert_int_equal(pboost_sort_doubles(plain ? plain_row : row, plain ? plain_sorted : sorted,
                                             value, N, 1, NULL, NULL),
                         PBOOST_OK);
        if (!plain) {
            assert_memory_equal(row, plain_row, sizeof row);
            assert_memory_equal(sorted, plain_sorted, sizeof sorted);
        }
        for (size_t i = 0; i < FEW; i++) {
            double kept = value[i];
            value[i] = i % 2 == 0 ? NAN : -INFINITY;
            assert_int_equal(pboost_sort_doubles(row, sorted, value, FEW, 1, NULL, NULL),
                             PBOOST_BAD_DATA);
            value[i] = kept;
        }
    }
    pboost_simd_force(SIMD_LEVELS);
}

/* A list long enough to be moved by lines of the cache, to places that begin anywhere in a line. */
static void lines_begin_anywhere(void **unused)
{
    enum { N = (1 << 18) + 77, LINE = 8 };
    double *value = malloc(N * sizeof *value), *sorted = malloc((N + 2 * LINE) * sizeof *sorted);
    size_t *row = malloc((N + 2 * LINE) * sizeof *row);
    pair *expect = malloc(N * sizeof *expect);
    (void)unused;
    assert_true(value && sorted && row && expect);
    state = 6;
    for (size_t i = 0; i < N; i++) {
        value[i] = (double)(next() >> 46);
        expect[i] = (pair){value[i], i};
    }
    qsort(expect, N, sizeof *expect, by_value_then_row);
    for (simd_level_t level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        if (pboost_simd_force(level) != level)
            continue;
        for (size_t shift = 0; shift < LINE; shift += 3)
            for (size_t apart = 0; apart < 2; apart++) {
                double *to = sorted + shift;
                size_t *at = row + shift + apart;
                memset(sorted, 0xff, (N + 2 * LINE) * sizeof *sorted);
                assert_int_equal(pboost_sort_doubles(at, to, value, N, 1 + (int)apart, NULL, NULL),
                                 PBOOST_OK);
                for (size_t i = 0; i < N; i++)
                    if (at[i] != expect[i].row || to[i] != expect[i].value)
                        fail_msg("place %zu, level %d", i, (int)level);
                assert_true(isnan(to[N]) && (shift == 0 || isnan(to[-1])));
            }
    }
    pboost_simd_force(SIMD_LEVELS);
    free(expect);
    free(row);
    free(sorted);
    free(value);
}

static void keys_are_stable(void **unused)
{
    static const uint64_t masks[] = {UINT64_MAX, 0xff00, 3, 0, 0xf0000000000000f0u};
    static uint64_t key[3000];
    static size_t row[3000];
    (void)unused;
    state = 3;
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (size_t i = 0; i < 3000; i++)
            key[i] = next() & masks[m];
        assert_int_equal(pboost_sort_keys(row, key, 3000, 1, NULL, NULL), PBOOST_OK);
        for (size_t i = 1; i < 3000; i++)
            assert_true(key[row[i - 1]] < key[row[i]] ||
                        (key[row[i - 1]] == key[row[i]] && row[i - 1] < row[i]));
    }
    assert_int_equal(pboost_sort_keys(row, key, 0, 1, NULL, NULL), PBOOST_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_begin_anywhere),
        cmocka_unit_test(order_is_stable),
        cmocka_unit_test(odd_sizes_are_sorted),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(bad_values_of_long_lists_are_named),
        cmocka_unit_test(levels_agree),
        cmocka_unit_test(keys_are_stable),
    };
    return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}

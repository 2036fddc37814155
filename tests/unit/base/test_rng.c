/* The seeded generator gives the published words, and no two draws share them; the system's words
 * are never repeated. */
#include "testing.h"

#include "base/rng.h"
#include "kernels/simd.h"

/* Known-answer vectors that Salmon et al. publish with Random123. */
static void philox_gives_the_published_words(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        pboost_philox(out, known[i].counter, known[i].key);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

static void every_argument_changes_the_words(void **state)
{
    (void)state;
    uint64_t base[2], other[2];
    pboost_rng_words(base, 1, RNG_NOISE, 2, 3);
    pboost_rng_words(other, 1 + (UINT64_C(1) << 40), RNG_NOISE, 2, 3);
    assert_memory_not_equal(base, other, sizeof base);
    pboost_rng_words(other, 1, RNG_COIN, 2, 3);
    assert_memory_not_equal(base, other, sizeof base);
    pboost_rng_words(other, 1, RNG_NOISE, 2 + (UINT64_C(1) << 63), 3);
    assert_memory_not_equal(base, other, sizeof base);
    pboost_rng_words(other, 1, RNG_NOISE, 2, 3 + (UINT64_C(1) << 55));
    assert_memory_not_equal(base, other, sizeof base);
}

/* The key of a row may be a hash of 64 bits.  Its top byte once stood where the purpose does: a
 * row's place in the shuffle was made of the words that were noise elsewhere. */
static void all_bits_of_an_index_count(void **state)
{
    (void)state;
    uint64_t known[RNG_PURPOSES * 65][2];
    size_t n = 0;
    for (int purpose = 0; purpose < RNG_PURPOSES; purpose++)
        for (int bit = 0; bit <= 64; bit++) {
            uint64_t index = bit < 64 ? UINT64_C(1) << bit : 0;
            pboost_rng_words(known[n], 7, (rng_purpose)purpose, 0, index);
            for (size_t i = 0; i < n; i++)
                assert_memory_not_equal(known[i], known[n], sizeof *known);
            n++;
        }
    uint64_t shuffled[2], noise[2];
    pboost_rng_words(noise, 7, RNG_NOISE, 0, 5);
    pboost_rng_words(shuffled, 7, RNG_SHUFFLE, 0, (uint64_t)RNG_NOISE << 56 | 5);
    assert_memory_not_equal(noise, shuffled, sizeof noise);
    /* What plain row numbers give has not changed. */
    assert_true(pboost_rng_key(1, RNG_SHUFFLE, 0, 12345) == UINT64_C(0x94b916230c8727bf));
}

/* Each level of vector instructions, in every length, against the plain definitions. */
static void all_levels_give_the_same_words_and_normals(void **state)
{
    (void)state;
    enum { MOST = 100 };
    for (simd_level_t level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        pboost_simd_force(level);
        for (size_t n = 0; n <= MOST; n++) {
            uint64_t word[2 * MOST + 1], one[2], index = (UINT64_C(1) << 32) - 40 + 7 * n;
            double normal[2 * MOST + 1], plain[2 * MOST];
            word[2 * n] = 77;
            normal[2 * n] = 77;
            pboost_rng_fill(word, n, 9, RNG_FEATURES, UINT64_C(5) << 40, index);
            pboost_rng_normals(normal, n, 9, RNG_FEATURES, UINT64_C(5) << 40, index);
            assert_true(word[2 * n] == 77 && normal[2 * n] == 77);
            pboost_simd_force(SIMD_PLAIN);
            pboost_rng_normals(plain, n, 9, RNG_FEATURES, UINT64_C(5) << 40, index);
            pboost_simd_force(level);
            assert_memory_equal(normal, plain, 2 * n * sizeof *plain);
            for (size_t i = 0; i < n; i++) {
                pboost_rng_words(one, 9, RNG_FEATURES, UINT64_C(5) << 40, index + i);
                assert_true(word[2 * i] == one[0] && word[2 * i + 1] == one[1]);
            }
        }
    }
    pboost_simd_force(SIMD_LEVELS);
}

/* The normals are those of Box and Muller in long double, to a few units in the last place. */
static void normals_are_accurate(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    static uint64_t word[2 * MANY];
    static double normal[2 * MANY];
    pboost_rng_fill(word, MANY, 1, RNG_FEATURES, 0, 0);
    pboost_rng_normals(normal, MANY, 1, RNG_FEATURES, 0, 0);
    for (size_t i = 0; i < MANY; i++) {
        long double u = 1 - (long double)(word[2 * i] >> 12) / 0x1p52L;
        long double t = (long double)(word[2 * i + 1] << 2 >> 12) / 0x1p52L - 0.5L;
        long double quadrant = (long double)(word[2 * i + 1] >> 62);
        long double angle = (quadrant + t) * 1.57079632679489661923132169163975L;
        long double radius = sqrtl(-2 * logl(u));
        assert_close(normal[2 * i], (double)(radius * cosl(angle)), 2e-15);
        assert_close(normal[2 * i + 1], (double)(radius * sinl(angle)), 2e-15);
    }
}

static void keys_are_those_of_single_rows(void **state)
{
    (void)state;
    static uint64_t key[1001];
    static const size_t sizes[] = {0, 1, 255, 256, 257, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        key[n] = 77;
        pboost_rng_keys(key, n, 5, RNG_SHUFFLE, 3);
        assert_true(key[n] == 77);
        for (size_t i = 0; i < n; i++)
            assert_true(key[i] == pboost_rng_key(5, RNG_SHUFFLE, 3, i));
    }
}

static void a_seeded_source_repeats(void **state)
{
    (void)state;
    pboost_error err;
    rng_source a, b, c;
    pboost_rng_source_seeded(&a, 7, RNG_NOISE, 1);
    pboost_rng_source_seeded(&b, 7, RNG_NOISE, 1);
    pboost_rng_source_seeded(&c, 7, RNG_NOISE, 2);
    for (int i = 0; i < 1000; i++) {
        uint64_t x, y, z;
        assert_ok(pboost_rng_next(&x, &a, &err), err);
        assert_ok(pboost_rng_next(&y, &b, &err), err);
        assert_ok(pboost_rng_next(&z, &c, &err), err);
        assert_true(x == y);
        assert_true(x != z);
    }
}

static void system_words_differ(void **state)
{
    (void)state;
    pboost_error err;
    enum { N = 1000 };
    uint64_t word[N];
    rng_source source;
    pboost_rng_source_system(&source);
    for (size_t i = 0; i < N; i++)
        assert_ok(pboost_rng_next(&word[i], &source, &err), err);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(word[i] != word[j]);
}

static void a_wiped_source_holds_no_words(void **state)
{
    (void)state;
    pboost_error err;
    uint64_t word;
    rng_source source, zero;
    memset(&zero, 0, sizeof zero);
    pboost_rng_source_system(&source);
    assert_ok(pboost_rng_next(&word, &source, &err), err);
    assert_memory_not_equal(source.buffer, zero.buffer, sizeof zero.buffer);
    pboost_rng_source_wipe(&source);
    assert_memory_equal(source.buffer, zero.buffer, sizeof zero.buffer);
    assert_int_equal(source.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(every_argument_changes_the_words),
        cmocka_unit_test(all_bits_of_an_index_count),
        cmocka_unit_test(all_levels_give_the_same_words_and_normals),
        cmocka_unit_test(normals_are_accurate),
        cmocka_unit_test(keys_are_those_of_single_rows),
        cmocka_unit_test(a_seeded_source_repeats),
        cmocka_unit_test(system_words_differ),
        cmocka_unit_test(a_wiped_source_holds_no_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

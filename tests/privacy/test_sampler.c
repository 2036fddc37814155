/* The noise follows P(z) = (1-p)/(1+p) p^|z|, p = exp(-1/scale), for scales small, large and not
 * integer.  Seeds are fixed; every check allows 5 standard deviations or a chance of 1e-6, and the
 * same checks reject noise that is 10 % too small. */
#include "testing.h"

#include "oracle/mechanism.h"
#include "privacy/law.h"

enum { DRAWS = 200000 };

static const laplace_scale SCALES[] = {
    {1, 3}, /* nearly always 0 */
    {1, 1},
    {5, 2},
    {22, 7},
    {1000, 3},
    {(pboost_u128)10 << 20, 1},                                        /* 0/1 labels, 0.1 */
    {((pboost_u128)10000000000000000u << 20) / 11, 1778279410038923u}, /* more than a word */
    {((pboost_u128)1 << 64) + 12345, 3000000000000000001u},            /* a little more */
};
enum { N_SCALES = sizeof SCALES / sizeof *SCALES };

/* ---- The law --------------------------------------------------------------------------------- */

static double rate_of(laplace_scale scale)
{
    return (double)scale.den / (double)scale.num;
}

static void draw(int64_t *z, size_t n, laplace_scale scale, uint64_t seed)
{
    pboost_error err;
    laplace_sampler sampler = pboost_laplace_sampler(scale);
    rng_source source;
    pboost_rng_source_seeded(&source, seed, RNG_NOISE, 0);
    for (size_t i = 0; i < n; i++)
        assert_ok(pboost_laplace_draw(&z[i], &sampler, &source, &err), err);
}

static double deviate(double count, double probability)
{
    return (count - DRAWS * probability) / sqrt(DRAWS * probability * (1 - probability));
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void chi_square_accepts_the_law(void **state)
{
    int64_t *z = *state;
    for (size_t i = 0; i < N_SCALES; i++) {
        draw(z, DRAWS, SCALES[i], 100 + i);
        double d = distance(z, DRAWS, rate_of(SCALES[i]));
        if (!(d < 4.75))
            fail_msg("scale %zu: %g standard deviations from the law", i, d);
    }
}

static void chi_square_rejects_ten_percent_less(void **state)
{
    int64_t *z = *state;
    for (size_t i = 0; i < N_SCALES; i++) {
        laplace_scale full = SCALES[i], low = SCALES[i];
        full.num *= 10;
        low.num *= 9;
        draw(z, DRAWS, low, 200 + i);
        assert_true(distance(z, DRAWS, rate_of(full)) > 4.75);
    }
}

static void zero_has_its_mass_and_signs_are_even(void **state)
{
    int64_t *z = *state;
    for (size_t i = 0; i < N_SCALES; i++) {
        double rate = rate_of(SCALES[i]), zero = tanh(rate / 2), zeros = 0, positive = 0;
        draw(z, DRAWS, SCALES[i], 300 + i);
        for (size_t j = 0; j < DRAWS; j++) {
            zeros += z[j] == 0;
            positive += z[j] > 0;
        }
        if (DRAWS * zero > 20)
            assert_true(fabs(deviate(zeros, zero)) < 5);
        assert_true(fabs(deviate(positive, (1 - zero) / 2)) < 5);
    }
}

static void tails_are_exponential(void **state)
{
    int64_t *z = *state;
    for (size_t i = 1; i < N_SCALES; i++) {
        double rate = rate_of(SCALES[i]);
        draw(z, DRAWS, SCALES[i], 400 + i);
        for (double far = 2; far <= 8; far += 2) {
            double from = ceil(far / rate), right = 0, left = 0;
            for (size_t j = 0; j < DRAWS; j++) {
                right += (double)z[j] >= from;
                left += -(double)z[j] >= from;
            }
            assert_true(fabs(deviate(right, at_least(from, rate))) < 5);
            assert_true(fabs(deviate(left, at_least(from, rate))) < 5);
        }
    }
}

/* log P(z)/P(z+1) is 1/scale at every z >= 0: what epsilon promises, point by point. */
static void neighbours_differ_by_one_rate(void **state)
{
    int64_t *z = *state;
    for (size_t i = 0; i < 4; i++) {
        double count[64] = {0};
        size_t compared = 0;
        draw(z, DRAWS, SCALES[i], 500 + i);
        for (size_t j = 0; j < DRAWS; j++)
            if (z[j] > -32 && z[j] < 32)
                count[z[j] + 32]++;
        for (int v = -31; v < 31; v++) {
            double a = count[v + 32], b = count[v + 33];
            if (a < 100 || b < 100)
                continue;
            double expected = v >= 0 ? rate_of(SCALES[i]) : -rate_of(SCALES[i]);
            assert_true(fabs(log(a / b) - expected) < 5 * sqrt(1 / a + 1 / b));
            compared++;
        }
        assert_true(compared >= 2);
    }
}

/* The side of a bar is that of a whole draw: -1, 0 and 1 each as likely as the law says, for bars
 * on both sides of 0 and at it. */
static void sides_of_a_bar_follow_the_law(void **state)
{
    (void)state;
    static const double AT[] = {-2.5, -1, -0.3, 0, 0.3, 1, 2.5};
    for (size_t i = 0; i < N_SCALES; i++)
        for (size_t j = 0; j < sizeof AT / sizeof *AT; j++) {
            pboost_error err;
            double rate = rate_of(SCALES[i]), bar = round(AT[j] / rate), count[3] = {0};
            laplace_sampler sampler = pboost_laplace_sampler(SCALES[i]);
            rng_source source;
            pboost_rng_source_seeded(&source, 600 + i, RNG_NOISE, j);
            for (size_t n = 0; n < DRAWS; n++) {
                int side;
                assert_ok(pboost_laplace_side(&side, &sampler, (int64_t)bar, &source, &err), err);
                count[side + 1]++;
            }
            double above = at_least(bar + 1, rate), below = at_least(1 - bar, rate);
            double at = at_least(bar, rate) - above;
            const double expected[3] = {below, at, above};
            for (int side = 0; side < 3; side++)
                if (DRAWS * expected[side] > 20)
                    assert_true(fabs(deviate(count[side], expected[side])) < 5);
                else
                    assert_true(count[side] < 60);
        }
}

/* Words that chance would bring once in 2^60 draws. */
static rng_source words(uint64_t first, uint64_t second)
{
    rng_source source;
    pboost_rng_source_seeded(&source, 0, RNG_NOISE, 0);
    source.buffer[0] = second;
    source.buffer[1] = first;
    source.left = 2;
    return source;
}

static void a_coin_reads_on_when_a_word_does_not_decide(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, second;
        bool heads;
        unsigned left;
    } cases[] = {
        {0, 0, true, 1},
        {0x5555555555555554, 0, true, 1},
        {0x5555555555555555, 0, true, 0},
        {0x5555555555555555, 0x5555555555555554, true, 0},
        {0x5555555555555555, 0x5555555555555556, false, 0},
        {0x5555555555555555, UINT64_MAX, false, 0},
        {0x5555555555555556, 0, false, 1},
        {UINT64_MAX, 0, false, 1},
    };
    for (int shift = 0; shift <= 116; shift++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            pboost_error err;
            bool heads;
            rng_source source = words(cases[i].first, cases[i].second);
            pboost_u128 third = (pboost_u128)1 << shift;
            assert_ok(pboost_coin_ratio(&heads, third, 3 * third, &source, &err), err);
            assert_int_equal(heads, cases[i].heads);
            assert_int_equal(source.left, cases[i].left);
        }
}

/* 2^64 = 1 mod 3: one word too many, and it is 0. */
static void uniform_draws_skip_the_words_too_many(void **state)
{
    (void)state;
    pboost_error err;
    uint64_t drawn;
    rng_source source = words(0, UINT64_MAX);
    assert_ok(pboost_uniform_below(&drawn, 3, &source, &err), err);
    assert_int_equal(drawn, 2);
    assert_int_equal(source.left, 0);
    source = words(0, UINT64_MAX);
    assert_ok(pboost_uniform_below(&drawn, 4, &source, &err), err);
    assert_int_equal(drawn, 0);
    assert_int_equal(source.left, 1);
    source = words(0x5555555555555555, 0);
    assert_ok(pboost_uniform_below(&drawn, 3, &source, &err), err);
    assert_int_equal(drawn, 0);
    source = words(0x5555555555555556, 0);
    assert_ok(pboost_uniform_below(&drawn, 3, &source, &err), err);
    assert_int_equal(drawn, 1);
}

static int make_room(void **state)
{
    return (*state = malloc(DRAWS * sizeof(int64_t))) == NULL;
}

static int drop_room(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chi_square_accepts_the_law),
        cmocka_unit_test(chi_square_rejects_ten_percent_less),
        cmocka_unit_test(zero_has_its_mass_and_signs_are_even),
        cmocka_unit_test(tails_are_exponential),
        cmocka_unit_test(neighbours_differ_by_one_rate),
        cmocka_unit_test(sides_of_a_bar_follow_the_law),
        cmocka_unit_test(a_coin_reads_on_when_a_word_does_not_decide),
        cmocka_unit_test(uniform_draws_skip_the_words_too_many),
    };
    return cmocka_run_group_tests(tests, make_room, drop_room);
}

/* The paper's data: the same rows however they are cut, and the laws they claim to follow.  Seeds
 * are fixed; statistics are allowed 5 standard deviations. */
#include "testing.h"

enum { D = 5, N = 40000 };

static pboost_synthetic setup(pboost_family family)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    s.family = family;
    s.features = D;
    s.seed = 3;
    return s;
}

typedef struct {
    double theta[D], x[N * D], y[N];
} data;

static void make(data *d, const pboost_synthetic *s, uint64_t stream, size_t first, size_t n,
                 int threads)
{
    pboost_error err;
    assert_ok(pboost_synthetic_theta(d->theta, s, &err), err);
    assert_ok(pboost_synthetic_rows(d->x, d->y, s, d->theta, stream, first, n, threads, &err), err);
}

static double eta_of(const data *d, size_t i)
{
    double eta = 0;
    for (size_t j = 0; j < D; j++)
        eta += d->x[i * D + j] * d->theta[j];
    return eta;
}

static void any_part_and_any_threads_give_the_same_rows(void **state)
{
    data *all = *state, *part = all + 1;
    for (pboost_family f = PBOOST_LINEAR; f <= PBOOST_POISSON; f++) {
        pboost_synthetic s = setup(f);
        make(all, &s, 1, 0, N, 1);
        make(part, &s, 1, 0, N, 3);
        assert_memory_equal(all, part, sizeof *all);
        static const size_t cut[][2] = {{12345, 5000}, {12344, 4999}, {7, 1}, {8, 1}, {3, 0}};
        for (size_t c = 0; c < sizeof cut / sizeof *cut; c++) {
            size_t first = cut[c][0], n = cut[c][1];
            part->x[n * D] = part->y[n] = 77;
            make(part, &s, 1, first, n, 1);
            assert_memory_equal(all->x + first * D, part->x, n * D * sizeof(double));
            assert_memory_equal(all->y + first, part->y, n * sizeof(double));
            assert_true(part->x[n * D] == 77 && part->y[n] == 77);
        }
    }
}

static void streams_and_seeds_differ_but_share_theta(void **state)
{
    data *a = *state, *b = a + 1;
    pboost_synthetic s = setup(PBOOST_LINEAR);
    make(a, &s, 0, 0, 100, 1);
    make(b, &s, 1, 0, 100, 1);
    assert_memory_equal(a->theta, b->theta, sizeof a->theta);
    for (size_t i = 0; i < 100 * D; i++)
        assert_true(a->x[i] != b->x[i]);
    s.seed++;
    make(b, &s, 0, 0, 100, 1);
    for (size_t i = 0; i < 100 * D; i++)
        assert_true(a->x[i] != b->x[i]);
    assert_memory_not_equal(a->theta, b->theta, sizeof a->theta);
}

/* Moments, the share beyond a few quantiles down to 1e-4, and no correlation between neighbours. */
static void features_are_standard_normal(void **state)
{
    data *d = *state;
    pboost_synthetic s = setup(PBOOST_LINEAR);
    make(d, &s, 0, 0, N, 1);
    double n = N * D, moment[5] = {0}, product = 0;
    static const double at[] = {-3.719016485455709, -2.326347874040841, -1, 0,
                                1.281551565544600,  3.090232306167814};
    double below[6] = {0};
    for (size_t i = 0; i < N * D; i++) {
        double power = 1;
        for (int k = 1; k <= 4; k++)
            moment[k] += (power *= d->x[i]) / n;
        if (i > 0)
            product += d->x[i] * d->x[i - 1] / n;
        for (size_t k = 0; k < 6; k++)
            below[k] += d->x[i] < at[k];
    }
    assert_true(fabs(moment[1]) < 5 * sqrt(1 / n));
    assert_true(fabs(moment[2] - 1) < 5 * sqrt(2 / n));
    assert_true(fabs(moment[3]) < 5 * sqrt(15 / n));
    assert_true(fabs(moment[4] - 3) < 5 * sqrt(96 / n));
    assert_true(fabs(product) < 5 * sqrt(1 / n));
    for (size_t k = 0; k < 6; k++) {
        double p = 0.5 * erfc(-at[k] / sqrt(2));
        assert_true(fabs(below[k] - n * p) < 5 * sqrt(n * p * (1 - p)));
    }
}

static void theta_is_normal_and_for_poisson_of_norm_half(void **state)
{
    (void)state;
    pboost_error err;
    enum { MANY = 1001 };
    double theta[MANY], square = 0;
    pboost_synthetic s = setup(PBOOST_LINEAR);
    s.features = MANY;
    assert_ok(pboost_synthetic_theta(theta, &s, &err), err);
    for (size_t j = 0; j < MANY; j++)
        square += theta[j] * theta[j];
    assert_true(fabs(square / MANY - 1) < 5 * sqrt(2.0 / MANY));
    s.family = PBOOST_POISSON;
    assert_ok(pboost_synthetic_theta(theta, &s, &err), err);
    square = 0;
    for (size_t j = 0; j < MANY; j++)
        square += theta[j] * theta[j];
    assert_close(square, 0.25, 1e-12);
}

static void linear_labels_have_the_noise_asked_for(void **state)
{
    data *d = *state;
    pboost_synthetic s = setup(PBOOST_LINEAR);
    s.noise = 0.7;
    make(d, &s, 0, 0, N, 1);
    double mean = 0, square = 0, with_x = 0;
    for (size_t i = 0; i < N; i++) {
        double e = d->y[i] - eta_of(d, i);
        mean += e / N;
        square += e * e / N;
        with_x += e * d->x[i * D] / N;
    }
    assert_true(fabs(mean) < 5 * 0.7 / sqrt(N));
    assert_true(fabs(square / 0.49 - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(with_x) < 5 * 0.7 / sqrt(N));
    s.noise = 0;
    make(d, &s, 0, 0, 100, 1);
    for (size_t i = 0; i < 100; i++)
        assert_close(d->y[i], eta_of(d, i), 1e-14);
}

static void logistic_labels_are_coins_or_rounded(void **state)
{
    data *d = *state;
    pboost_synthetic s = setup(PBOOST_LOGISTIC);
    s.noise = 0;
    s.round_labels = true;
    make(d, &s, 0, 0, N, 1);
    for (size_t i = 0; i < N; i++)
        assert_true(d->y[i] == (eta_of(d, i) > 0));
    s.noise = 2;
    make(d, &s, 0, 0, N, 1);
    size_t flipped = 0;
    for (size_t i = 0; i < N; i++)
        flipped += d->y[i] != (eta_of(d, i) > 0);
    assert_in_range(flipped, N / 20, N / 2);

    s.noise = 0;
    s.round_labels = false;
    make(d, &s, 0, 0, N, 1);
    double deviation = 0, variance = 0;
    for (size_t i = 0; i < N; i++) {
        double mean = 1 / (1 + exp(-eta_of(d, i)));
        assert_true(d->y[i] == 0 || d->y[i] == 1);
        deviation += (d->y[i] - mean) * (mean > 0.7 ? 1 : -1);
        variance += mean * (1 - mean);
    }
    assert_true(fabs(deviation) < 5 * sqrt(variance));
}

/* P(Y < y) */
static double poisson_below(double y, double mean)
{
    double sum = 0;
    for (double k = 0; k < y; k++)
        sum += exp(k * log(mean) - mean - lgamma(k + 1));
    return sum;
}

enum { CELLS = 20 };

/* Every row has its own mean, so a label is turned by its own law into a uniform deviate, spread
 * evenly over the step that the law makes there. */
static void count_deviates(double count[CELLS], const data *d, double least, double most)
{
    double spread = 0.5;
    for (size_t i = 0; i < N; i++) {
        double mean = exp(eta_of(d, i));
        if (mean < least || mean >= most)
            continue;
        spread = fmod(spread + 0.6180339887498949, 1);
        double below = poisson_below(d->y[i], mean), at = exp(d->y[i] * log(mean) - mean);
        double u = below + spread * at / tgamma(d->y[i] + 1);
        count[u < 1 ? (int)(u * CELLS) : CELLS - 1]++;
    }
}

/* Below and above the mean of 10 at which one sampler takes over from the other. */
static void poisson_labels_follow_their_law(void **state)
{
    data *d = *state;
    pboost_error err;
    static const double range[][2] = {{0, 0.5}, {0.5, 10}, {10, 30}, {30, 100}};
    double count[4][CELLS] = {{0}};
    pboost_synthetic s = setup(PBOOST_POISSON);

    s.noise = 0;
    for (size_t j = 0; j < D; j++)
        d->theta[j] = j % 2 == 0 ? 2 : -1;
    for (uint64_t stream = 0; stream < 6; stream++) {
        assert_ok(pboost_synthetic_rows(d->x, d->y, &s, d->theta, stream, 0, N, 1, &err), err);
        for (size_t r = stream < 1 ? 0 : 2; r < 4; r++)
            count_deviates(count[r], d, range[r][0], range[r][1]);
    }
    for (size_t r = 0; r < 4; r++) {
        double n = 0, chi2 = 0;
        for (size_t c = 0; c < CELLS; c++)
            n += count[r][c];
        for (size_t c = 0; c < CELLS; c++)
            chi2 += (count[r][c] - n / CELLS) * (count[r][c] - n / CELLS) / (n / CELLS);
        assert_true(n > 5000);
        if (!(chi2 < 19 + 5 * sqrt(2 * 19)))
            fail_msg("means from %g: chi-square is %g on 19 degrees of freedom", range[r][0], chi2);
    }
}

/* Large means, where the sampler by rejection works: mean and variance of (y - m)/sqrt(m). */
static void large_poisson_means_are_right(void **state)
{
    data *d = *state;
    pboost_error err;
    pboost_synthetic s = setup(PBOOST_POISSON);
    double mean = 0, square = 0, n = 0;
    s.noise = 0;
    for (size_t j = 0; j < D; j++)
        d->theta[j] = 2.5;
    assert_ok(pboost_synthetic_rows(d->x, d->y, &s, d->theta, 0, 0, N / 4, 1, &err), err);
    for (size_t i = 0; i < N / 4; i++) {
        double m = exp(eta_of(d, i));
        if (m < 1000)
            continue;
        double z = (d->y[i] - m) / sqrt(m);
        assert_true(d->y[i] == floor(d->y[i]));
        mean += z;
        square += z * z;
        n++;
    }
    assert_true(n > 1000);
    assert_true(fabs(mean / n) < 5 / sqrt(n));
    assert_true(fabs(square / n - 1) < 5 * sqrt(2 / n));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    pboost_error err;
    double theta[D] = {0}, x[D], y;
    pboost_synthetic s = setup(PBOOST_LINEAR);
    s.struct_size = 0;
    assert_fails(pboost_synthetic_theta(theta, &s, &err), PBOOST_INVALID, err, "struct_size");
    s = setup((pboost_family)9);
    assert_fails(pboost_synthetic_theta(theta, &s, &err), PBOOST_INVALID, err, "family is 9");
    s = setup(PBOOST_LINEAR);
    s.features = 0;
    assert_fails(pboost_synthetic_theta(theta, &s, &err), PBOOST_INVALID, err, "features is 0");
    s = setup(PBOOST_LINEAR);
    s.noise = -1;
    assert_fails(pboost_synthetic_theta(theta, &s, &err), PBOOST_INVALID, err, "noise is -1");
    s.noise = NAN;
    assert_fails(pboost_synthetic_theta(theta, &s, &err), PBOOST_INVALID, err, "noise is nan");
    s = setup(PBOOST_LINEAR);
    s.round_labels = true;
    assert_fails(pboost_synthetic_theta(theta, &s, &err), PBOOST_INVALID, err, "round_labels");
    s = setup(PBOOST_LINEAR);
    assert_fails(pboost_synthetic_rows(x, &y, &s, theta, 0, SIZE_MAX, 1, 1, &err), PBOOST_INVALID,
                 err, "2^40");
    theta[2] = INFINITY;
    assert_fails(pboost_synthetic_rows(x, &y, &s, theta, 0, 0, 1, 1, &err), PBOOST_INVALID, err,
                 "theta[2] is inf");
    s = setup(PBOOST_POISSON);
    for (size_t j = 0; j < D; j++)
        theta[j] = 0;
    s.noise = 1e6;
    pboost_status st = PBOOST_OK;
    for (size_t row = 0; row < 64 && st == PBOOST_OK; row++)
        st = pboost_synthetic_rows(x, &y, &s, theta, 0, row, 1, 1, &err);
    assert_int_equal(st, PBOOST_INVALID);
    assert_non_null(strstr(err.message, "too large"));
}

static int make_room(void **state)
{
    return (*state = malloc(2 * sizeof(data))) == NULL;
}

static int drop_room(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_part_and_any_threads_give_the_same_rows),
        cmocka_unit_test(streams_and_seeds_differ_but_share_theta),
        cmocka_unit_test(features_are_standard_normal),
        cmocka_unit_test(theta_is_normal_and_for_poisson_of_norm_half),
        cmocka_unit_test(linear_labels_have_the_noise_asked_for),
        cmocka_unit_test(logistic_labels_are_coins_or_rounded),
        cmocka_unit_test(poisson_labels_follow_their_law),
        cmocka_unit_test(large_poisson_means_are_right),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, make_room, drop_room);
}

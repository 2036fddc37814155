/* Discrete Gaussian noise: its law, the rho that epsilon and delta allow, and an audit of (epsilon,
 * delta) on neighbouring counts.  Noise is seeded, so that the result is always the same. */
#include "testing.h"

#include "oracle/mechanism.h"
#include "privacy/gaussian_law.h"

enum { DRAWS = 200000 };

static void draw(int64_t *z, const gaussian_sampler *sampler, uint64_t seed)
{
    pboost_error err = {0};
    rng_source source;

    pboost_rng_source_seeded(&source, seed, RNG_NOISE, 0);
    for (size_t i = 0; i < DRAWS; i++)
        assert_ok(pboost_gaussian_draw(&z[i], sampler, &source, &err), err);
}

/* rho for which sigma is this many steps, at sensitivity 1. */
static gaussian_sampler sampler_of(double sigma, double sensitivity)
{
    pboost_error err = {0};
    gaussian_sampler sampler;
    double rho = sensitivity * sensitivity / (2 * sigma * sigma);
    pboost_rational r = {(uint64_t)ldexp(rho, 40), UINT64_C(1) << 40};
    assert_ok(pboost_gaussian_sampler(&sampler, sensitivity, r, &err), err);
    return sampler;
}

static const double SIGMAS[] = {0.3, 0.8, 1.7, 5, 40, 1500};
enum { N_SIGMAS = sizeof SIGMAS / sizeof *SIGMAS };

static void draws_follow_the_law(void **state)
{
    (void)state;
    static int64_t z[DRAWS];
    for (size_t i = 0; i < N_SIGMAS; i++) {
        gaussian_sampler s = sampler_of(SIGMAS[i], 1);
        double v = (double)s.num / (double)s.den, mean = 0, square = 0;
        draw(z, &s, 7 + i);
        for (size_t k = 0; k < DRAWS; k++) {
            mean += (double)z[k] / DRAWS;
            square += (double)z[k] * (double)z[k] / DRAWS;
        }
        double stated = pboost_gaussian_variance(&s);
        assert_true(gaussian_distance(z, DRAWS, v) < 4);
        assert_true(fabs(mean) < 4 * sqrt(stated / DRAWS));
        assert_true(fabs(square / stated - 1) < 0.05);
    }
}

/* What the tests above would show of a wrong sampler. */
static void a_variance_ten_percent_low_is_caught(void **state)
{
    (void)state;
    static int64_t z[DRAWS];
    for (size_t i = 0; i < N_SIGMAS; i++) {
        gaussian_sampler s = sampler_of(SIGMAS[i] * sqrt(0.9), 1);
        draw(z, &s, 7 + i);
        assert_true(gaussian_distance(z, DRAWS, SIGMAS[i] * SIGMAS[i]) > 5);
    }
}

/* sigma^2 is never below what rho needs, and rho never above what epsilon and delta allow. */
static void rounding_adds_noise(void **state)
{
    (void)state;
    pboost_error err = {0};
    static const pboost_rational epsilons[] = {{1, 100}, {1, 10}, {1, 3}, {1, 1}, {7, 3}, {10, 1}};
    static const pboost_rational deltas[] = {{1, 2}, {1, 1000}, {1, 1000000}, {1, 1000000000}};
    static const double sensitivities[] = {1, 20, 1e5};

    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 4; k++) {
            double epsilon = pboost_rational_value(epsilons[i]);
            double l = -logl((long double)pboost_rational_value(deltas[k]));
            pboost_rational r = pboost_gaussian_rho(epsilons[i], deltas[k]);
            long double rho = (long double)r.num / (long double)r.den;
            long double cost = rho + 2 * sqrtl(rho * (long double)l);
            assert_true(cost <= (long double)epsilon && cost > 0.999999L * (long double)epsilon);
            for (size_t j = 0; j < 3; j++) {
                gaussian_sampler s;
                long double most = (long double)sensitivities[j];
                if (pboost_gaussian_sampler(&s, sensitivities[j], r, &err) != PBOOST_OK)
                    continue;
                long double v = (long double)s.num / (long double)s.den;
                assert_true(v >= most * most / (2 * rho));
                assert_true(v < (most * most / (2 * rho)) * 1.00001L + 0.00001L ||
                            v < most * most / (2 * rho) + 2);
            }
        }
    gaussian_sampler s;
    assert_fails(pboost_gaussian_sampler(&s, 0x1p40, (pboost_rational){1, 2}, &err), PBOOST_INVALID,
                 err, "choose a larger step");
}

static void rules_are_checked(void **state)
{
    (void)state;
    pboost_error err = {0};
    pboost_rules rules = PBOOST_RULES_INIT, number;
    double variance[3];

    rules.answer = PBOOST_ANSWER_CLASSES;
    rules.width = 3;
    rules.delta = (pboost_rational){1, 1000000};
    rules.epsilon = (pboost_rational){1, 1};
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "the noise is Laplace");
    rules.mechanism = PBOOST_GAUSSIAN;
    assert_ok(pboost_rules_check(&rules, &err), err);
    assert_true(rules.rho.den > 0);
    double rho = pboost_rational_value(rules.rho);
    assert_ok(pboost_rules_noise_variances(variance, &rules, 10, &err), err);
    assert_true(variance[2] >= 1 / rho / 100 && variance[2] < 1.0001 / rho / 100); /* L2: sqrt 2 */
    assert_ok(pboost_rules_number(&number, &rules, 2, &err), err);
    assert_close(pboost_rational_value(number.rho), rho / 2, 1e-12);
    assert_close(pboost_rules_noise_variance(&number, 10), variance[2], 1e-12);
    assert_true(pboost_rules_epsilon(&rules, 1) <= 1 && pboost_rules_epsilon(&rules, 1) > 0.9999);
    assert_true(pboost_rules_epsilon(&rules, 100) < 12); /* Laplace noise: 100 */
    rules.rho.num *= 2;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "it may be at most");
    rules.rho = (pboost_rational){0, 0};
    rules.delta = (pboost_rational){1, 1};
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "between 0 and 1");
    rules.delta = (pboost_rational){1, 9};
    rules.epsilon = (pboost_rational){0, 0};
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "epsilon is none");
    rules = (pboost_rules)PBOOST_RULES_INIT;
    rules.bounded = rules.round = true;
    rules.upper = 1;
    rules.epsilon = (pboost_rational){1, 1};
    rules.delta = (pboost_rational){1, 9};
    rules.mechanism = PBOOST_GAUSSIAN;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "cannot be rounded");
}

/* ---- The audit ------------------------------------------------------------------------------- */

enum { BAGS = 100000 };

/* The excess of P(event) over exp(epsilon) P(event on the neighbour), the most over events "count 1
 * less count 0 is at least t", less 5 standard deviations.  It must not exceed delta. */
static double excess(const int64_t *plain, const int64_t *changed, double epsilon)
{
    double most = -1;
    for (int64_t t = -8; t <= 16; t++) {
        double a = 0, b = 0;
        for (size_t i = 0; i < BAGS; i++) {
            a += changed[i] >= t;
            b += plain[i] >= t;
        }
        a /= BAGS;
        b /= BAGS;
        double e = exp(epsilon), sd = sqrt((a * (1 - a) + e * e * b * (1 - b)) / BAGS);
        most = fmax(most, a - e * b - 5 * sd);
    }
    return most;
}

/* Bags of 2 rows, the first of class 0 or of class 1. */
static void ask_counts(int64_t *difference, bool changed, const pboost_rules *rules)
{
    pboost_error err = {0};
    pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_memory_oracle *oracle;
    double *label = calloc(2 * BAGS, sizeof *label), *answer = calloc(3 * BAGS, sizeof *answer);
    size_t *row = calloc(2 * BAGS, sizeof *row), *start = calloc(BAGS + 1, sizeof *start);

    for (size_t b = 0; b < BAGS; b++) {
        label[2 * b] = changed;
        label[2 * b + 1] = 2;
        row[2 * b] = 2 * b;
        row[2 * b + 1] = 2 * b + 1;
        start[b + 1] = 2 * (b + 1);
    }
    options.simulated = true;
    options.seed = changed ? 3 : 4;
    assert_ok(pboost_memory_oracle_create(&oracle, label, 2 * BAGS, rules, &options, &err), err);
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    pboost_bags bags = {2 * BAGS, BAGS, row, start};
    assert_ok(face.ask(face.self, 0, &bags, answer, &err), err);
    for (size_t b = 0; b < BAGS; b++)
        difference[b] = llround(2 * (answer[3 * b + 1] - answer[3 * b]));
    pboost_memory_oracle_free(oracle);
    free(label);
    free(answer);
    free(row);
    free(start);
}

/* With a delta this large the audit has the power to see a sensitivity of 1 instead of sqrt 2. */
static void counts_keep_epsilon_and_delta(void **state)
{
    (void)state;
    static int64_t plain[BAGS], changed[BAGS];
    pboost_rules rules = PBOOST_RULES_INIT;

    rules.answer = PBOOST_ANSWER_CLASSES;
    rules.width = 3;
    rules.mechanism = PBOOST_GAUSSIAN;
    rules.epsilon = (pboost_rational){1, 1};
    rules.delta = (pboost_rational){1, 10};
    ask_counts(plain, false, &rules);
    ask_counts(changed, true, &rules);
    double seen = excess(plain, changed, 1);
    assert_true(seen <= 0.1);
    /* Four times rho is half of sigma. */
    pboost_rules weak = rules;
    weak.epsilon = (pboost_rational){3, 1};
    ask_counts(plain, false, &weak);
    ask_counts(changed, true, &weak);
    assert_true(excess(plain, changed, 1) > 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_follow_the_law),
        cmocka_unit_test(a_variance_ten_percent_low_is_caught),
        cmocka_unit_test(rounding_adds_noise),
        cmocka_unit_test(rules_are_checked),
        cmocka_unit_test(counts_keep_epsilon_and_delta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

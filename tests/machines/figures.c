/* Prints what must be the same on every machine: tests/machines/compare.py compares two outputs.
 *
 * A line is TOLERANCE NAME VALUE.  With tolerance 0 the value is a digest of bits.  Otherwise it is
 * a number; "relative" after the tolerance means relative to it, "unit" relative to it or to 1.
 * System entropy and the clock are wrapped by the linker, so that the ledger does the same each
 * time.
 *
 *     figures [LEVEL]      0, 1, 2: the level of vector instructions, as far as the machine has it
 */
#include "ledger_testing.h"

#include <time.h>

#include "base/rng.h"
#include "kernels/simd.h"
#include "oracle/mechanism.h"

int __wrap_getentropy(void *buffer, size_t bytes);
time_t __wrap_time(time_t *out);

int __wrap_getentropy(void *buffer, size_t bytes)
{
    static uint64_t calls;
    uint64_t word[2];
    for (size_t at = 0; at < bytes; at += sizeof word) {
        pboost_rng_words(word, 21, RNG_NOISE, 7, calls++);
        memcpy((char *)buffer + at, word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
    return 0;
}

time_t __wrap_time(time_t *out)
{
    static time_t now = 1700000000;
    now++;
    if (out != NULL)
        *out = now;
    return now;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void print_bits(const char *name, const void *bytes, size_t n)
{
    unsigned char hash[16];
    char text[2 * sizeof hash + 1];
    crypto_generichash(hash, sizeof hash, bytes, n, NULL, 0);
    printf("0 bits %s %s\n", name, sodium_bin2hex(text, sizeof text, hash, sizeof hash));
}

/* ---- Draws and noise ------------------------------------------------------------------------- */

enum { DRAWS = 100001 }; /* no multiple of a vector */

static void draws(void)
{
    uint64_t *word = calloc(2 * DRAWS, sizeof *word);
    double *normal = calloc(2 * DRAWS, sizeof *normal);
    for (rng_purpose purpose = 0; purpose < RNG_PURPOSES; purpose++) {
        char name[40];
        snprintf(name, sizeof name, "words_%d", (int)purpose);
        pboost_rng_fill(word, DRAWS, 5, purpose, 3, 1);
        print_bits(name, word, 2 * DRAWS * sizeof *word);
    }
    pboost_rng_normals(normal, DRAWS, 5, RNG_FEATURES, 3, 1);
    print_bits("normals", normal, 2 * DRAWS * sizeof *normal);
    free(word);
    free(normal);
}

static void noise(void)
{
    static const char *const EPSILON[] = {"0.01", "0.1", "1", "2.5", "20"};
    static const double UPPER[] = {1, 7.5, 1e6};
    enum { NOISES = 20000 };
    int64_t *z = calloc(NOISES, sizeof *z);
    pboost_error err = {0};
    for (size_t e = 0; e < sizeof EPSILON / sizeof *EPSILON; e++)
        for (size_t u = 0; u < sizeof UPPER / sizeof *UPPER; u++) {
            pboost_rules rules = PBOOST_RULES_INIT;
            rng_source source;
            char name[60];
            rules.bounded = true;
            rules.upper = UPPER[u];
            assert_ok(pboost_rational_parse(&rules.epsilon, EPSILON[e], &err), err);
            assert_ok(pboost_rules_check(&rules, &err), err);
            label_grid grid = pboost_grid(&rules);
            laplace_sampler sampler =
                pboost_laplace_sampler(pboost_laplace_scale(&grid, rules.epsilon));
            pboost_rng_source_seeded(&source, 11, RNG_NOISE, e);
            for (size_t i = 0; i < NOISES; i++)
                assert_ok(pboost_laplace_draw(&z[i], &sampler, &source, &err), err);
            snprintf(name, sizeof name, "noise_%s_%g", EPSILON[e], UPPER[u]);
            print_bits(name, z, NOISES * sizeof *z);
        }
    free(z);
}

/* The Gaussian mechanism: rho, which a logarithm decides, and draws. */
static void gaussian(void)
{
    static const pboost_rational EPSILON[] = {{1, 100}, {1, 10}, {1, 3}, {1, 1}, {5, 2}, {20, 1}};
    enum { NOISES = 20000 };
    int64_t *z = calloc(NOISES, sizeof *z);
    pboost_error err = {0};
    for (size_t e = 0; e < sizeof EPSILON / sizeof *EPSILON; e++) {
        pboost_rational rho = pboost_gaussian_rho(EPSILON[e], (pboost_rational){1, 1000000});
        gaussian_sampler sampler;
        rng_source source;
        char name[60];
        snprintf(name, sizeof name, "rho_%zu", e);
        print_bits(name, &rho, sizeof rho);
        assert_ok(pboost_gaussian_sampler(&sampler, 1000, rho, &err), err);
        pboost_rng_source_seeded(&source, 11, RNG_NOISE, e);
        for (size_t i = 0; i < NOISES; i++)
            assert_ok(pboost_gaussian_draw(&z[i], &sampler, &source, &err), err);
        snprintf(name, sizeof name, "noise_gaussian_%zu", e);
        print_bits(name, z, NOISES * sizeof *z);
    }
    free(z);
}

/* ---- The ledger ------------------------------------------------------------------------------ */

/* Rules, rows, a token, answers with and without noise, an erasure: the heads of the chain, the
 * replies and the audit. */
static void ledger(bool with_noise)
{
    enum { N = 400, BAG = 8 };
    double label[N];
    int64_t row[N];
    test_store t;
    pboost_error err = {0};
    pboost_ledger_rules rules = plain_rules();
    const pboost_id erased[] = {{NULL, 2}, {NULL, 20}};
    size_t forgotten;
    char name[40];

    if (with_noise) {
        rules.no_noise = false;
        rules.rules.upper = 3.5;
        rules.rules.step = 0;
        rules.rules.epsilon = (pboost_rational){1, 2};
    }
    for (int i = 0; i < N; i++) {
        label[i] = with_noise ? (i % 7) * 0.5 : i % 3 == 0;
        row[i] = i + 1;
    }
    pboost_ledger *ledger = make_ledger(&t, &rules, N, label);
    pboost_token token = plain_token(ledger, "a");
    for (int i = 0; i < 2; i++) {
        pboost_reply reply;
        assert_ok(ask(&reply, ledger, &token, i == 0 ? "first" : "second", row + i * N / 2, N / 2,
                      BAG, NULL, &err),
                  err);
        snprintf(name, sizeof name, "reply_%d_%s", i, with_noise ? "noise" : "plain");
        print_bits(name, reply.body, reply.length);
        pboost_reply_free(&reply);
        if (i == 0)
            assert_ok(forget_rows(&forgotten, ledger, erased, 2, &err), err);
    }
    assert_sound(ledger);
    pboost_ledger_status status = status_of(ledger);
    snprintf(name, sizeof name, "chain_%s", with_noise ? "noise" : "plain");
    print_bits(name, status.head, strlen(status.head));
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- Bags and coefficients ------------------------------------------------------------------- */

enum { ROWS = 6000, FEATURES = 5 };

typedef struct {
    double x[ROWS * FEATURES], y[ROWS], theta[FEATURES];
    pboost_matrix matrix;
} rows;

static void rows_make(rows *r, pboost_family family)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    pboost_error err = {0};
    char name[40];
    s.family = family;
    s.features = FEATURES;
    assert_ok(pboost_synthetic_theta(r->theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(r->x, r->y, &s, r->theta, 0, 0, ROWS, 1, &err), err);
    r->matrix = pboost_matrix_f64(r->x, ROWS, FEATURES);
    snprintf(name, sizeof name, "features_%s", pboost_family_name(family));
    print_bits(name, r->x, sizeof r->x);
    snprintf(name, sizeof name, "labels_%s", pboost_family_name(family));
    print_bits(name, r->y, sizeof r->y);
}

static void bags(void)
{
    static const size_t MIN_BAG[] = {1, 2, 3, 5, 8, 20, 64, 100, 300, 1000};
    double *score = calloc(2 * DRAWS, sizeof *score);
    pboost_error err = {0};
    pboost_rng_normals(score, DRAWS, 6, RNG_FEATURES, 3, 1);
    for (size_t i = 0; i < sizeof MIN_BAG / sizeof *MIN_BAG; i++) {
        pboost_bags out = {0};
        assert_ok(pboost_bags_optimal(&out, score, 2 * DRAWS, MIN_BAG[i], 2, &err), err);
        printf("1e-12 relative cost_%zu %a\n", MIN_BAG[i], pboost_bags_cost(&out, score));
        pboost_bags_free(&out);
    }
    free(score);
}

static void coefficients(const rows *r, pboost_family family, pboost_estimator estimator,
                         pboost_strategy strategy, bool with_noise)
{
    enum { ROUNDS = 3 };
    double path[ROUNDS * (FEATURES + 1)];
    pboost_outcome out = {.path = path};
    pboost_simulation s = PBOOST_SIMULATION_INIT;
    pboost_error err = {0};

    s.rules.min_bag = 10;
    if (with_noise) {
        s.rules.epsilon = (pboost_rational){5, 1};
        s.rules.bounded = true;
        s.rules.upper = 1;
        s.holder.simulated = true;
        s.holder.seed = 9;
    }
    s.fit.family = s.trainer.family = family;
    s.fit.estimator = estimator;
    s.trainer.bags = strategy;
    s.trainer.rounds = ROUNDS;
    s.trainer.threads = 2;
    assert_ok(pboost_simulate(&out, PLAIN(r->matrix), r->y, &s, &err), err);
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        printf("1e-10 unit coef_%s_%d_%d_%d_%zu %a\n", pboost_family_name(family), (int)estimator,
               (int)strategy, with_noise, i, path[i]);
}

static void trainings(void)
{
    static const pboost_family FAMILIES[] = {PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON};
    static const pboost_estimator ESTIMATORS[] = {PBOOST_EVENT, PBOOST_AGGREGATE,
                                                  PBOOST_INTERPOLATED};
    static const pboost_strategy STRATEGIES[] = {PBOOST_BAGS_PRIOR, PBOOST_BAGS_RANDOM,
                                                 PBOOST_BAGS_HYBRID};
    static rows r;
    for (size_t f = 0; f < 3; f++) {
        rows_make(&r, FAMILIES[f]);
        for (size_t e = 0; e < 3; e++)
            for (size_t s = 0; s < 3; s++)
                coefficients(&r, FAMILIES[f], ESTIMATORS[e], STRATEGIES[s], false);
    }
    rows_make(&r, PBOOST_LOGISTIC);
    coefficients(&r, PBOOST_LOGISTIC, PBOOST_EVENT, PBOOST_BAGS_PRIOR, true);
    coefficients(&r, PBOOST_LOGISTIC, PBOOST_AGGREGATE, PBOOST_BAGS_PRIOR, true);
}

static void all_figures(void **state)
{
    (void)state;
    draws();
    noise();
    gaussian();
    ledger(false);
    ledger(true);
    bags();
    trainings();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_figures)};
    if (sodium_init() < 0)
        return 1;
    if (argc > 1)
        pboost_simd_force((simd_level_t)strtol(argv[1], NULL, 10));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

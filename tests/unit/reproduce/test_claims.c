/* Verdicts on made-up results: each claim can hold and can fail. */
#include "claims.h"
#include "testing.h"

static repro_settings settings;
static repro_plan plan;

/* All four experiments, with three bag sizes, and series that bear out every claim. */
static double ideal(const repro_series *s, double x)
{
    double k = (double)s->min_bag;
    bool shot = s->algorithm == PBOOST_ONESHOT, prefix = s->algorithm == PBOOST_PBPREFIX;

    switch (s->experiment) {
    case EXPERIMENT_LINEAR:
    case EXPERIMENT_LOGISTIC:
        if (shot)
            return 0.1 * k;
        return 0.1 + (k - 1.0) * exp(-x * (prefix ? 0.15 : 1.0));
    case EXPERIMENT_PRIVACY: {
        double noise = isfinite(x) ? 0.3 / (x * 30.0) : 0.0;
        if (shot)
            return 0.1 * k + noise;
        return 0.1 + noise / (k * k);
    }
    default: /* parabolas in log n; the distances of their minima grow with k */
        return 1.0 + pow(log2(x) - (10.0 + 0.5 * log2(k) * (1.0 + log2(k))), 2.0);
    }
}

static void fill(double (*loss)(const repro_series *s, double x))
{
    for (size_t i = 0; i < plan.n; i++) {
        repro_series *s = &plan.series[i];
        for (size_t j = 0; j < s->n_points; j++)
            s->loss[j] = loss(s, repro_point(&settings, s->experiment, j));
    }
}

/* The verdict is that of both readings, or it is that they differ. */
static void assert_readings_explain(const repro_claim *c)
{
    bool differ = c->under[0] != c->under[1];
    assert_true(c->reading[0] != NULL || c->verdict != PAGE_HOLDS_ONE_READING);
    assert_int_equal(repro_claim_is_split(c), differ);
    if (c->reading[0] != NULL && !differ)
        assert_int_equal(c->under[0], c->verdict);
}

static page_verdict verdict(const char *id)
{
    pboost_error err = {0};
    repro_results results;
    repro_claims claims;
    page_verdict found = PAGE_NO_VERDICT;

    assert_ok(repro_results_make(&results, &plan, &settings, 1.0, &err), err);
    assert_ok(repro_claims_make(&claims, &results, &err), err);
    for (size_t i = 0; i < claims.n; i++) {
        assert_readings_explain(&claims.claim[i]);
        if (strcmp(claims.claim[i].id, id) == 0)
            found = claims.claim[i].verdict;
    }
    repro_claims_free(&claims);
    repro_results_free(&results);
    assert_int_not_equal(found, PAGE_NO_VERDICT);
    return found;
}

static int set_up(void **state)
{
    (void)state;
    pboost_error err = {0};
    static const size_t BAGS[] = {1, 4, 16, 64};
    assert_ok(repro_settings_init(&settings, SCALE_SMALL, &err), err);
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        settings.wanted[id] = true;
        settings.setup[id].n_bags = 4;
        memcpy(settings.setup[id].min_bag, BAGS, sizeof BAGS);
    }
    experiment_setup *setup = &settings.setup[EXPERIMENT_BAG_SIZE];
    setup->n_sizes = 24;
    for (size_t i = 0; i < setup->n_sizes; i++)
        setup->size[i] = (size_t)1 << (8 + i);
    assert_ok(repro_plan_make(&plan, &settings, &err), err);
    fill(ideal);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    repro_plan_free(&plan);
    return 0;
}

static const char *const IDS[] = {"linear-convergence",   "linear-oneshot",     "linear-pbprefix",
                                  "logistic-convergence", "logistic-oneshot",   "logistic-pbprefix",
                                  "privacy-epsilon",      "privacy-priorboost", "privacy-oneshot",
                                  "privacy-large-bags",   "privacy-match",      "bag-size-grows",
                                  "bag-size-spread"};

static void test_all_claims_hold_of_ideal_results(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++)
        if (verdict(IDS[i]) != PAGE_HOLDS)
            fail_msg("%s: %s", IDS[i], page_verdict_name(verdict(IDS[i])));
}

/* The larger the bag the better OneShot, the worse PriorBoost; PBPrefix better; more rows, smaller
 * bags; more epsilon, more loss, and a bump at epsilon 1. */
static double contrary(const repro_series *s, double x)
{
    double k = (double)s->min_bag;
    switch (s->experiment) {
    case EXPERIMENT_LINEAR:
    case EXPERIMENT_LOGISTIC:
        return s->algorithm == PBOOST_ONESHOT    ? 1.0 / k
               : s->algorithm == PBOOST_PBPREFIX ? 0.05
                                                 : 0.1 * k;
    case EXPERIMENT_PRIVACY: {
        double e = isfinite(x) ? x : 1000.0;
        return s->algorithm == PBOOST_ONESHOT ? (1.0 + e) / k : 3.0 * k * (e == 1.0 ? 5.0 : 1.0);
    }
    default:
        return 1.0 + pow(log2(x) - (30.0 - 3.0 * log2(k)), 2.0);
    }
}

static void test_all_claims_fail_of_contrary_results(void **state)
{
    (void)state;
    fill(contrary);
    for (size_t i = 0; i + 1 < sizeof IDS / sizeof *IDS; i++)
        if (verdict(IDS[i]) != PAGE_DOES_NOT_HOLD)
            fail_msg("%s: %s", IDS[i], page_verdict_name(verdict(IDS[i])));
}

/* The best bag sizes follow each other ever faster. */
static double hasty(const repro_series *s, double x)
{
    size_t best = x <= 1000 ? 1 : x <= 2000 ? 4 : x <= 2200 ? 16 : 64;
    return s->experiment == EXPERIMENT_BAG_SIZE && s->min_bag != best ? 2.0 : 1.0;
}

static void test_crossovers_may_draw_together(void **state)
{
    (void)state;
    experiment_setup *setup = &settings.setup[EXPERIMENT_BAG_SIZE];
    for (size_t i = 0; i < setup->n_sizes; i++)
        setup->size[i] = 100 * (i + 1);
    fill(hasty);
    assert_int_equal(verdict("bag-size-grows"), PAGE_HOLDS);
    assert_int_equal(verdict("bag-size-spread"), PAGE_DOES_NOT_HOLD);
    setup->size[22] = 4500; /* the last crossover, now farther off */
    setup->size[23] = 9000;
    fill(hasty);
    assert_int_equal(verdict("bag-size-spread"), PAGE_HOLDS_ONE_READING); /* in n alone */
}

/* lambda on the sum lets OneShot at k = 1 off lightly. */
static double light(const repro_series *s, double x)
{
    bool lighter = s->algorithm == PBOOST_ONESHOT && s->penalty == PENALTY_SUM && s->min_bag == 1;
    return ideal(s, x) * (lighter && s->experiment != EXPERIMENT_LINEAR ? 0.5 : 1.0);
}

static void test_a_claim_may_hold_under_one_reading(void **state)
{
    (void)state;
    fill(light);
    assert_int_equal(verdict("logistic-convergence"), PAGE_HOLDS_ONE_READING);
    assert_int_equal(verdict("privacy-match"), PAGE_HOLDS_ONE_READING);
    assert_int_equal(verdict("linear-convergence"), PAGE_HOLDS);
}

static void test_what_was_not_run_is_not_judged(void **state)
{
    (void)state;
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++)
        for (size_t i = 0; i < 4; i++)
            settings.setup[id].min_bag[i] *= 2;
    pboost_error err = {0};
    repro_plan_free(&plan);
    assert_ok(repro_plan_make(&plan, &settings, &err), err);
    fill(ideal);
    assert_int_equal(verdict("linear-convergence"), PAGE_NOT_TESTED); /* there is no k = 1 */
    assert_int_equal(verdict("privacy-match"), PAGE_NOT_TESTED);
    assert_int_equal(verdict("linear-oneshot"), PAGE_HOLDS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_claims_hold_of_ideal_results), TEST(test_all_claims_fail_of_contrary_results),
        TEST(test_crossovers_may_draw_together),     TEST(test_a_claim_may_hold_under_one_reading),
        TEST(test_what_was_not_run_is_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

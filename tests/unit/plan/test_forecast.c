/* Forecasts against simulation, and what a wrong model adds to them. */
#include "plan_support.h"

#include "data/answer_error.h"
#include "data/answers.h"
#include "fit/aggregate/aggregate.h"
#include "fit/estimator.h"

/* The excess loss of one run: against the truth, so that no label of a test row adds noise. */
static double excess_of(pboost_family family, const table *test, const pboost_coef *coef)
{
    double sum = 0.0;
    for (size_t i = 0; i < test->n; i++) {
        double eta = 0.0, ours = coef->intercept;
        for (size_t j = 0; j < FEATURES; j++) {
            eta += test->theta[j] * test->x[i * FEATURES + j];
            ours += coef->theta[j] * test->x[i * FEATURES + j];
        }
        double mean = 1.0 / (1.0 + exp(-eta));
        sum += family == PBOOST_LINEAR
                   ? (eta - ours) * (eta - ours)
                   : log1p(exp(ours)) - mean * ours - log1p(exp(eta)) + mean * eta;
    }
    return sum / (double)test->n;
}

static double realised(pboost_family family, const pboost_plan_options *o,
                       const pboost_plan_point *point, size_t n, int runs)
{
    pboost_error err;
    double sum = 0.0;
    table test = make_table(family, 4000, 999);
    for (int run = 0; run < runs; run++) {
        table t = make_table(family, n, (uint64_t)run + 1);
        pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
        held.simulated = held.clamp = true;
        held.seed = (uint64_t)run;
        pboost_memory_oracle *labels;
        assert_ok(pboost_memory_oracle_create(&labels, t.y, n, &o->rules, &held, &err), err);
        pboost_oracle oracle = pboost_memory_oracle_interface(labels);
        pboost_samples samples = {.x = &t.matrix, .n = n};
        pboost_bags bags;
        pboost_answers answers = {0};
        assert_ok(pboost_bags_features(&bags, &samples, point->bag_size, 1, NULL, &err), err);
        assert_ok(pboost_answers_ask(&answers, &oracle, &bags, &err), err);
        pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
        pboost_fit_report report;
        pboost_coef coef;
        fit.family = family;
        assert_ok(pboost_coef_init(&coef, FEATURES, &err), err);
        assert_ok(
            pboost_aggregate_fit(&coef, &report, NULL, PLAIN(t.matrix), &answers, 0, &fit, &err),
            err);
        sum += excess_of(family, &test, &coef) / runs;
        pboost_coef_free(&coef);
        pboost_answers_clear(&answers);
        pboost_bags_free(&bags);
        pboost_memory_oracle_free(labels);
        free_table(&t);
    }
    free_table(&test);
    return sum;
}

/* A forecast from a quarter of the rows is within 1.5 of what happens. */
static void test_forecast_is_right(void **state)
{
    (void)state;
    pboost_error err;
    const struct {
        pboost_family family;
        const char *epsilon;
    } cases[] = {{PBOOST_LINEAR, NULL}, {PBOOST_LINEAR, "1"}, {PBOOST_LOGISTIC, "1"}};
    size_t n = 8192;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        table t = make_table(cases[c].family, n, 0);
        pboost_plan_options o = plan_options(cases[c].family, cases[c].epsilon, 16);
        pboost_coef truth = {FEATURES, t.theta, 0.0};
        pboost_plan plan;
        o.assumed.coef = &truth;
        o.assumed.dispersion = 1.0;
        o.max_rows = n / 4;
        o.brief = cases[c].epsilon != NULL; /* without noise a brief plan has one size */
        assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
        assert_ok(pboost_rules_check(&o.rules, &err), err);
        for (size_t i = 0; i < 3; i += 2) { /* bags of 16 and of 64 */
            double real = realised(cases[c].family, &o, &plan.point[i], n, 30);
            double ratio = plan.point[i].excess / real;
            if (!(ratio > 1 / 1.5 && ratio < 1.5))
                fail_msg("case %zu, bags of %zu: forecast %g, realised %g", c,
                         plan.point[i].bag_size, plan.point[i].excess, real);
        }
        assert_true(plan.all_labels < plan.point[0].excess);
        pboost_plan_free(&plan);
        free_table(&t);
    }
}

/* A wrong model pulls weights aside only as far as bags are mixed. */
static void test_model_error(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LINEAR, 4096, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, "1", 16);
    double pulled[2] = {0}; /* by features bags, by random ones */
    o.assumed.model_error = 0.1;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    for (size_t i = 0; i < plan.n_points; i++) {
        const pboost_plan_point *p = &plan.point[i];
        bool random = p->bags == PBOOST_BAGS_RANDOM;
        if (p->bag_size == 16 && p->rounds == 1 && (random || p->bags == PBOOST_BAGS_FEATURES))
            pulled[random] = p->cautious / p->excess - 1.0;
    }
    assert_true(pulled[0] > 0.0 && pulled[0] < 0.05);
    assert_true(pulled[1] > 5.0 * pulled[0]);
    pboost_plan_free(&plan);
    free_table(&t);
}

/* It never biases weights more than noise of the same variance in every answer would, also if bags
 * have little information about a column: one row in a hundred has it. */
static void test_model_error_is_no_worse_than_noise(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LINEAR, 4096, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 16);
    for (size_t i = 0; i < t.n; i++)
        t.x[i * FEATURES] = t.x[i * FEATURES] > 2.3;
    o.assumed.dispersion = 1.0;
    o.assumed.model_error = 0.1;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    for (size_t i = 0; i < plan.n_points; i++) {
        const pboost_plan_point *p = &plan.point[i];
        double noise = 0.1 * (double)p->bag_size; /* of variance 1 / size without it */
        if (p->estimator == PBOOST_AGGREGATE)
            assert_true(p->cautious <= p->excess * (1.0 + 1.001 * noise));
    }
    pboost_plan_free(&plan);
    free_table(&t);
}

/* Under noise a linear model's ridge is estimated from the answers.  With single labels all weights
 * have the same information, and the cost is that of Stein's estimator: 2 v^2 / (v + t) for noise
 * of variance v and weights of variance t.  A ridge that is given costs nothing. */
static void test_price_of_a_judged_ridge(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan judged, given;
    size_t n = 4096;
    table t = make_table(PBOOST_LINEAR, n, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, "2", 1);
    for (size_t j = 0; j < FEATURES; j++) { /* to a variance of 1, about the mean of 0 */
        double square = 0.0;
        for (size_t i = 0; i < n; i++)
            square += t.x[i * FEATURES + j] * t.x[i * FEATURES + j] / (double)n;
        for (size_t i = 0; i < n; i++)
            t.x[i * FEATURES + j] /= sqrt(square);
    }
    o.brief = true;
    o.assumed.dispersion = 1.0;
    assert_ok(pboost_rules_check(&o.rules, &err), err);
    assert_ok(pboost_plan_make(&judged, PLAIN(t.matrix), &o, &err), err);
    double spread = judged.constant + 1.0, noise = pboost_rules_noise_variance(&o.rules, 1);
    double known = fmax(1.0, sqrt(5.0 / (double)n) * noise); /* the dispersion's standard error */
    double v = (1.0 + noise) / (double)n / (known + noise) *
               pboost_working_variance((answer_error){known, noise, true});
    o.l2 = pboost_l2_fixed(FEATURES / spread);
    assert_ok(pboost_plan_make(&given, PLAIN(t.matrix), &o, &err), err);
    assert_int_equal(judged.point[0].bag_size, 1);
    double price = 2.0 * v * v / (v + spread / FEATURES);
    assert_close(judged.point[0].excess - given.point[0].excess, price, 0.05 * price);
    assert_close(judged.point[0].cautious - given.point[0].cautious, price, 0.05 * price);
    pboost_plan_free(&judged);
    pboost_plan_free(&given);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forecast_is_right),
        cmocka_unit_test(test_model_error),
        cmocka_unit_test(test_model_error_is_no_worse_than_noise),
        cmocka_unit_test(test_price_of_a_judged_ridge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

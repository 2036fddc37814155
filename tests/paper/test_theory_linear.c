/* The paper's section 2, linear regression: what the theorem says of an expectation is compared
 * with the library's own event-level fit over many draws of the labels; what the corollary bounds,
 * with bags good, bad and random. */
#include "theory.h"

/* The event-level least squares fit: no ridge, no intercept. */
static void fit(pboost_coef *coef, const table *t, const pboost_bags *bags, const double *target)
{
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report report;
    pboost_samples samples = {&t->matrix, bags->row, bags->n_rows, target, NULL, NULL};
    options.l2 = pboost_l2_fixed(0.0);
    options.intercept = false;
    must(pboost_event_fit(coef, &report, &samples, &options, &err));
    assert_true(report.converged && report.rank == t->d);
}

static void theorem_linear_regression(void **state)
{
    (void)state;
    const double sigma = 2.0;
    uint64_t random = 1;
    table t = table_make(PBOOST_LINEAR, 240, 4, 11);
    double *target = room(t.n, sizeof *target);
    pboost_coef noiseless, coef;
    must(pboost_coef_init(&noiseless, t.d, &err));
    must(pboost_coef_init(&coef, t.d, &err));

    for (kind which = OPTIMAL; which < KINDS; which++) {
        pboost_bags bags = bags_make(which, &t, 5, 3);
        pboost_risk risk = risk_of(&t, &bags, sigma * sigma);
        tally scatter = {0}, total = {0};

        /* The fit is linear in the labels, so its mean is the fit to the means. */
        average(target, &bags, t.mu);
        fit(&noiseless, &t, &bags, target);
        assert_near(distance2(noiseless.theta, t.theta, t.d), risk.bias, 1e-9 * risk.bias + 1e-20);
        for (int repeat = 0; repeat < 3000; repeat++) {
            draw_labels(t.y, &t, PBOOST_LINEAR, sigma, &random);
            average(target, &bags, t.y);
            fit(&coef, &t, &bags, target);
            tally_add(&scatter, distance2(coef.theta, noiseless.theta, t.d));
            tally_add(&total, distance2(coef.theta, t.theta, t.d));
        }
        assert_mean(&scatter, risk.variance);
        assert_mean(&total, risk.bias + risk.variance);
        pboost_bags_free(&bags);
    }
    pboost_coef_free(&noiseless);
    pboost_coef_free(&coef);
    free(target);
    table_free(&t);
}

static void corollary_linear_regression_bound(void **state)
{
    (void)state;
    const double sigmas[] = {0.0, 0.1, 3.0};
    table t = table_make(PBOOST_LINEAR, 300, 6, 12);
    for (size_t k = 1; k <= 100; k *= 10)
        for (kind which = OPTIMAL; which < KINDS; which++)
            for (int s = 0; s < 3; s++) {
                pboost_bags bags = bags_make(which, &t, k, k);
                double sigma2 = sigmas[s] * sigmas[s];
                pboost_risk risk = risk_of(&t, &bags, sigma2);
                double bound = bound_of(&t, &bags, sigma2);
                assert_at_most(risk.bias + risk.variance, bound * (1.0 + 1e-12));
                /* and it is the bound of the text: the k-means objective and min(m, d) */
                double rest = sigma2 * fmin((double)bags.n_bags, 6.0);
                double least, most;
                gram_range(&least, &most, &t);
                assert_near(bound, (pboost_bags_cost(&bags, t.mu) + rest) / least, 1e-9 * bound);
                pboost_bags_free(&bags);
            }
    table_free(&t);
}

/* One column, constant within bags: nothing is lost between theorem and corollary. */
static void corollary_linear_regression_is_sharp(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 60, 1, 13);
    for (size_t i = 0; i < 60; i++) {
        t.x[i] = (double)(i / 5) - 3.5;
        t.mu[i] = t.x[i] * t.theta[0];
    }
    pboost_bags bags = bags_make(OPTIMAL, &t, 5, 0);
    pboost_risk risk = risk_of(&t, &bags, 0.3);
    assert_near(risk.bias, 0.0, 1e-25);
    assert_near(risk.variance, 0.3 / norm2(t.x, 60), 1e-15);
    assert_near(bound_of(&t, &bags, 0.3), risk.variance, 1e-15);
    pboost_bags_free(&bags);
    table_free(&t);
}

static void optimal_bags_minimise_the_bound(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 400, 4, 14);
    for (size_t k = 2; k <= 32; k *= 4) {
        pboost_bags best = bags_make(OPTIMAL, &t, k, 0), worst = bags_make(ADVERSARIAL, &t, k, 0);
        double least = bound_of(&t, &best, 0.01), most = bound_of(&t, &worst, 0.01);
        double risk = risk_of(&t, &best, 0.01).bias;
        for (uint64_t seed = 0; seed < 20; seed++) {
            pboost_bags bags = bags_make(RANDOM, &t, k, seed);
            double bound = bound_of(&t, &bags, 0.01);
            assert_at_most(10.0 * least, bound);
            assert_at_most(bound, most);
            assert_at_most(10.0 * risk, risk_of(&t, &bags, 0.01).bias);
            pboost_bags_free(&bags);
        }
        pboost_bags_free(&best);
        pboost_bags_free(&worst);
    }
    table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theorem_linear_regression),
        cmocka_unit_test(corollary_linear_regression_bound),
        cmocka_unit_test(corollary_linear_regression_is_sharp),
        cmocka_unit_test(optimal_bags_minimise_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is built around the aggregate estimator: other estimators to compare with, the choice among
 * them, deviance, intervals and the log of answers. */
#include "answers_support.h"

#include "train/glm.h"

/* ---- The comparisons ------------------------------------------------------------------------- */

static void rho_one_is_the_event_level_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        pboost_fit_options o = options_for(FAMILIES[i % 3], pboost_l2_fixed(2.0));
        test_table t = make_table(o.family, 900, 4, i);
        pboost_answers a = make_answers(&t, i < 3 ? 1 : 6, 0.0, true, i);
        o.estimator = PBOOST_EVENT;
        fitted event = fit_or_fail(&t.matrix, NULL, t.offset, &a, &o);
        o.estimator = PBOOST_INTERPOLATED;
        o.rho = i < 3 ? 0.3 : 1.0; /* bags of one row: any rho */
        fitted f = fit_or_fail(&t.matrix, NULL, t.offset, &a, &o);
        assert_true(f.report.converged);
        assert_same_coef(&f.coef, &event.coef, 1e-6);
        fitted_free(&f);
        fitted_free(&event);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

/* The loss that rho 0 is said to minimise, straight from its definition. */
static double bag_loss(const test_table *t, const pboost_answers *a, const pboost_coef *c,
                       const pboost_fit_options *o)
{
    double sum = 0.0;
    for (size_t b = 0; b < a->n_bags; b++) {
        double mu = 0.0, s = (double)(a->start[b + 1] - a->start[b]), y = a->mean[b];
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++) {
            long double eta = c->intercept;
            for (size_t j = 0; j < t->d; j++)
                eta += c->theta[j] * t->x[a->row[i] * t->d + j];
            mu += (double)mean_of(o->family, eta) / s;
        }
        sum += s * (o->family == PBOOST_LINEAR     ? 0.5 * (y - mu) * (y - mu)
                    : o->family == PBOOST_LOGISTIC ? -y * log(mu) - (1.0 - y) * log(1.0 - mu)
                                                   : mu - y * log(mu));
    }
    for (size_t j = 0; j < c->n; j++)
        sum += 0.5 * o->l2.value * c->theta[j] * c->theta[j];
    return sum;
}

static void rho_zero_minimises_the_bag_level_loss(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pboost_fit_options o = options_for(FAMILIES[i], pboost_l2_fixed(1.0));
        o.estimator = PBOOST_INTERPOLATED;
        o.rho = 0.0;
        test_table t = make_table(o.family, 900, 3, i);
        pboost_answers a = make_answers(&t, 6, 0.0, true, i);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_true(f.report.converged);
        double best = bag_loss(&t, &a, &f.coef, &o);
        assert_near(f.report.objective, best, 1e-8 * fabs(best));
        for (size_t j = 0; j < 4; j++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double *at = j < 3 ? &f.coef.theta[j] : &f.coef.intercept, keep = *at;
                *at += sign * 1e-3;
                assert_true(bag_loss(&t, &a, &f.coef, &o) > best);
                *at = keep;
            }
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

/* Cross-validation over bags takes the unbiased estimator where within-bag variation matters, and
 * whatever it takes is what that estimator gives. */
static void the_estimator_is_chosen_by_bags_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pboost_fit_options o = options_for(FAMILIES[i], L2_AUTO);
        test_table t = make_table(o.family, 6000, 4, i);
        pboost_answers a = make_answers(&t, 8, 0.0, false, i); /* random bags: event shrinks */
        o.estimator = PBOOST_ESTIMATOR_CV;
        fitted chosen = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_int_not_equal(chosen.report.estimator, PBOOST_EVENT);
        o.estimator = chosen.report.estimator;
        fitted direct = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_same_coef(&chosen.coef, &direct.coef, 0.0);
        assert_int_equal(isnan(chosen.covariance[0]), o.estimator != PBOOST_AGGREGATE);
        fitted_free(&chosen);
        fitted_free(&direct);
        /* Not all of them take weights; too few bags are no basis for a choice. */
        o.estimator = PBOOST_ESTIMATOR_CV;
        chosen = fit_or_fail(&t.matrix, t.weight, NULL, &a, &o);
        assert_int_not_equal(chosen.report.estimator, PBOOST_INTERPOLATED);
        fitted_free(&chosen);
        a.n_bags = 9;
        chosen = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_int_equal(chosen.report.estimator, PBOOST_AGGREGATE);
        fitted_free(&chosen);
        o.l2 = L2_CV;
        assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "cross-validation");
        a.rounded = true;
        o.l2 = pboost_l2_fixed(1.0);
        assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "rounded");
        pboost_answers_clear(&a);
        free_table(&t);
    }
    /* Only noise, in bags that are all the same: the estimator that shrinks most predicts best. */
    pboost_fit_options o = options_for(PBOOST_LINEAR, pboost_l2_fixed(0.001));
    test_table t = make_table(PBOOST_LINEAR, 400, 20, 1);
    pboost_answers a = make_answers(&t, 8, 400.0, false, 1);
    o.estimator = PBOOST_ESTIMATOR_CV;
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_int_equal(f.report.estimator, PBOOST_EVENT);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

static void comparisons_refuse_what_they_cannot_do(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, pboost_l2_fixed(1.0));
    test_table t = make_table(PBOOST_LINEAR, 60, 2, 1);
    pboost_answers a = make_answers(&t, 4, 0.0, true, 1);
    o.estimator = PBOOST_INTERPOLATED;
    assert_refused(&t.matrix, t.weight, NULL, &a, &o, PBOOST_INVALID, "no weights");
    o.rho = 1.5;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "rho is 1.5");
    o.rho = 0.5;
    o.l2 = L2_CV;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "cross-validation");
    o.estimator = PBOOST_EVENT;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "cross-validation");
    pboost_answers_clear(&a);
    free_table(&t);
}

/* ---- Deviance, intervals, the log ------------------------------------------------------------ */

static void the_bag_deviance_is_the_dispersion_of_the_truth(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_LINEAR, 40000, 3, 1);
    pboost_answers a = make_answers(&t, 10, 0.02, true, 1);
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    double good = 0.0, worse = 0.0;
    pboost_error err = {0};
    assert_int_equal(pboost_bag_deviance(&good, PBOOST_LINEAR, &(pboost_features){.x = t.matrix},
                                         &a, 0, a.n_bags, &f.coef, 1, &err),
                     PBOOST_OK);
    f.coef.theta[0] += 0.3;
    assert_int_equal(pboost_bag_deviance(&worse, PBOOST_LINEAR, &(pboost_features){.x = t.matrix},
                                         &a, 100, a.n_bags, &f.coef, 1, &err),
                     PBOOST_OK);
    assert_near(good, 0.25, 0.03);
    assert_true(worse > 0.6);
    assert_int_equal(pboost_bag_deviance(&good, PBOOST_LINEAR, &(pboost_features){.x = t.matrix},
                                         &a, 0, a.n_bags + 1, &f.coef, 1, &err),
                     PBOOST_INVALID);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

static void intervals_are_those_of_the_linear_predictor(void **state)
{
    (void)state;
    double x[] = {1.0, 2.0}, theta[] = {0.5, -0.25}, lower, upper;
    double covariance[] = {0.04, 0.01, 0.0, 0.01, 0.09, -0.02, 0.0, -0.02, 0.01};
    pboost_matrix m = pboost_matrix_f64(x, 1, 2);
    pboost_samples s = {.x = &m, .n = 1};
    pboost_coef c = {2, theta, 0.1};
    pboost_error err = {0};
    /* x'Cx = 0.04 + 4*0.09 + 0.01 + 2*(2*0.01 + 0 - 2*0.02) = 0.37 */
    double reach = 1.6448536269514722 * sqrt(0.37);
    assert_int_equal(
        pboost_predict_interval(&lower, &upper, PBOOST_POISSON, &s, &c, covariance, 0.9, 1, &err),
        PBOOST_OK);
    assert_near(lower, exp(0.1 - reach), 1e-12);
    assert_near(upper, exp(0.1 + reach), 1e-12);
    assert_int_equal(
        pboost_predict_interval(&lower, &upper, PBOOST_LINEAR, &s, &c, covariance, 1.0, 1, &err),
        PBOOST_INVALID);
}

static void appended_answers_are_checked(void **state)
{
    (void)state;
    size_t row[] = {4, 2, 7}, start[] = {0, 2, 3}, empty[] = {0, 0, 3};
    pboost_bags bags = {3, 2, row, start}, hole = {3, 2, row, empty};
    double mean[] = {0.5, 2.0}, noise[] = {0.0, -1.0}, bad[] = {0.5, NAN};
    pboost_answers a = {0};
    pboost_error err = {0};
    assert_int_equal(pboost_answers_append(&a, &hole, mean, NULL, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "bag 0 has no rows"));
    assert_int_equal(pboost_answers_append(&a, &bags, bad, NULL, &err), PBOOST_BAD_DATA);
    assert_int_equal(pboost_answers_append(&a, &bags, mean, noise, &err), PBOOST_BAD_DATA);
    assert_int_equal(a.n_bags, 0);
    assert_int_equal(pboost_answers_append(&a, &bags, mean, NULL, &err), PBOOST_OK);
    assert_int_equal(pboost_answers_append(&a, &bags, mean, NULL, &err), PBOOST_OK);
    assert_int_equal(a.n_rounds, 2);
    assert_int_equal(a.n_bags, 4);
    assert_int_equal(a.start[4], 6);
    assert_int_equal(a.round_start[2], 4);
    assert_true(a.mean[3] == 2.0 && a.noise_variance[3] == 0.0);
    pboost_answers_clear(&a);
}

/* Rounds of bags of any kind add up: what one round leaves open the next may settle. */
static void a_learner_pools_all_rounds(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    test_table t = make_table(PBOOST_LINEAR, 4000, 3, 1);
    pboost_answers a = make_answers(&t, 8, 0.0, true, 1);
    pboost_glm *glm;
    pboost_error err = {0};
    assert_int_equal(pboost_glm_create(&glm, &(pboost_features){.x = t.matrix}, &o, &err),
                     PBOOST_OK);
    pboost_learner learner = pboost_glm_learner(glm);
    assert_int_equal(learner.fit(learner.self, &a, a.n_bags - 50, &err), PBOOST_OK);
    assert_int_equal(pboost_glm_report(glm)->bags, a.n_bags);
    assert_true(pboost_glm_covariance(glm)[0] > 0.0);
    pboost_glm_free(glm);
    pboost_answers_clear(&a);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rho_one_is_the_event_level_fit),
        cmocka_unit_test(rho_zero_minimises_the_bag_level_loss),
        cmocka_unit_test(the_estimator_is_chosen_by_bags_left_out),
        cmocka_unit_test(comparisons_refuse_what_they_cannot_do),
        cmocka_unit_test(the_bag_deviance_is_the_dispersion_of_the_truth),
        cmocka_unit_test(intervals_are_those_of_the_linear_predictor),
        cmocka_unit_test(appended_answers_are_checked),
        cmocka_unit_test(a_learner_pools_all_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

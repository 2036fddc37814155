/* Fits of classes: against the logistic fit, the truth, and each other. */
#include "class_support.h"

#include "data/answers.h"

static void two_classes_are_logistic(void **state)
{
    (void)state;
    class_table t = class_table_make(4096, 3, 2, 1);
    pboost_answers *a = class_answers(&t, 8, 0.0, NULL, 1), *means = NULL;
    pboost_error err = {0};
    pboost_bags bags = pboost_answers_bags(a);
    double *mean = calloc(bags.n_bags, sizeof *mean), covariance[16];
    pboost_coef logistic = {0};
    pboost_fit_report report;

    for (size_t b = 0; b < bags.n_bags; b++)
        mean[b] = pboost_answers_mean(a)[2 * b + 1];
    assert_ok(pboost_answers_create(&means, &err), err);
    assert_ok(pboost_answers_append(means, &bags, mean, NULL, &err), err);
    for (int i = 0; i < 2; i++) {
        pboost_fit_options o = class_options(i == 0 ? PBOOST_AGGREGATE : PBOOST_EVENT);
        o.family = PBOOST_LOGISTIC;
        class_fitted f = class_fit_or_fail(&t, a, &o);
        assert_ok(pboost_coef_init(&logistic, t.d, &err), err);
        assert_ok(
            pboost_answers_fit(&logistic, &report, covariance, PLAIN(t.matrix), means, 0, &o, &err),
            err);
        /* The weak prior of the intercept is all that differs. */
        for (size_t j = 0; j < t.d; j++)
            assert_close(f.coef.theta[t.d + 1 + j], logistic.theta[j], 1e-5);
        assert_close(f.coef.theta[2 * t.d + 1], logistic.intercept, 1e-4);
        for (size_t k = 0; i == 0 && k < 16; k++)
            assert_close(f.covariance[k] * 1e3, covariance[k] * 1e3, 1e-3);
        pboost_coef_free(&logistic);
        class_fitted_free(&f);
    }
    free(mean);
    pboost_answers_free(a);
    pboost_answers_free(means);
    class_table_free(&t);
}

/* Standardised errors of many weights have variance 1. */
static void check_errors(double noise, pboost_covariance covariance, double least, double most)
{
    double square = 0.0, count = 0.0, pearson = 0.0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        class_table t = class_table_make(8192, 4, 4, seed);
        pboost_answers *a = class_answers(&t, 16, noise, NULL, seed);
        pboost_fit_options o = class_options(PBOOST_AGGREGATE);
        o.covariance = covariance;
        class_fitted f = class_fit_or_fail(&t, a, &o);
        for (size_t i = 0; i < f.n; i++) {
            double z = (f.coef.theta[t.d + 1 + i] - t.truth.theta[t.d + 1 + i]) / class_se(&f, i);
            square += z * z;
            count += 1.0;
        }
        assert_false(f.report.worse_than_constant);
        assert_int_equal(f.report.noisy, noise > 0.0);
        pearson += f.report.pearson / 8.0;
        class_fitted_free(&f);
        pboost_answers_free(a);
        class_table_free(&t);
    }
    if (!(square / count > least && square / count < most))
        fail_msg("errors have %.3f times their variance", square / count);
    assert_close(pearson, 1.0, 0.05);
}

static void errors_are_as_said(void **state)
{
    (void)state;
    check_errors(0.0, PBOOST_COVARIANCE_MODEL, 0.7, 1.35);
    check_errors(0.01, PBOOST_COVARIANCE_MODEL, 0.7, 1.35);
    check_errors(0.0, PBOOST_COVARIANCE_SANDWICH, 0.7, 1.4);
}

static void base_does_not_matter(void **state)
{
    (void)state;
    enum { ROWS = 2048, CLASSES = 3 };
    const size_t order[CLASSES] = {2, 0, 1};
    class_table t = class_table_make(ROWS, 3, CLASSES, 5);
    pboost_answers *a = class_answers(&t, 8, 0.001, NULL, 5), *b;
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    pboost_samples all = {.x = &t.matrix, .n = ROWS};
    pboost_error err = {0};
    double *p = calloc(ROWS * CLASSES, sizeof *p), *q = calloc(ROWS * CLASSES, sizeof *q);

    /* The same noise, with the classes in another order. */
    b = class_answers(&t, 8, 0.0, NULL, 5);
    for (size_t i = 0; i < b->n_bags; i++)
        for (size_t c = 0; c < CLASSES; c++) {
            b->mean[i * CLASSES + order[c]] = a->mean[i * CLASSES + c];
            b->noise_variance[i * CLASSES + order[c]] = a->noise_variance[i * CLASSES + c];
        }
    class_fitted f = class_fit_or_fail(&t, a, &o), g = class_fit_or_fail(&t, b, &o);
    assert_ok(pboost_classes_predict(p, &all, &f.coef, 1, &err), err);
    assert_ok(pboost_classes_predict(q, &all, &g.coef, 1, &err), err);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t c = 0; c < CLASSES; c++)
            assert_close(q[i * CLASSES + order[c]], p[i * CLASSES + c], 1e-6);
    class_fitted_free(&f);
    class_fitted_free(&g);
    pboost_answers_free(a);
    pboost_answers_free(b);
    free(p);
    free(q);
    class_table_free(&t);
}

static void single_rows_have_one_fit(void **state)
{
    (void)state;
    class_table t = class_table_make(1500, 3, 4, 7);
    pboost_answers *a = class_answers(&t, 1, 0.0, NULL, 7);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    o.l2 = pboost_l2_fixed(0.5);
    class_fitted f = class_fit_or_fail(&t, a, &o);
    o.estimator = PBOOST_EVENT;
    class_fitted g = class_fit_or_fail(&t, a, &o);
    for (size_t i = 0; i < t.classes * (t.d + 1); i++)
        assert_close(g.coef.theta[i], f.coef.theta[i], 1e-8);
    assert_true(isnan(g.covariance[0]));
    class_fitted_free(&f);
    class_fitted_free(&g);
    pboost_answers_free(a);
    class_table_free(&t);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    class_table t = class_table_make(30000, 5, 3, 9);
    pboost_answers *a = class_answers(&t, 4, 0.02, NULL, 9);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    o.threads = 1;
    class_fitted f = class_fit_or_fail(&t, a, &o);
    o.threads = 3;
    class_fitted g = class_fit_or_fail(&t, a, &o);
    assert_memory_equal(f.coef.theta, g.coef.theta, t.classes * (t.d + 1) * sizeof *f.coef.theta);
    assert_memory_equal(f.covariance, g.covariance, f.n * f.n * sizeof *f.covariance);
    class_fitted_free(&f);
    class_fitted_free(&g);
    pboost_answers_free(a);
    class_table_free(&t);
}

/* No answer has any of class 2; and with noise its total is below 0. */
static void a_class_that_nobody_has(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        class_table t = class_table_make(4096, 2, 3, 11);
        for (size_t i = 0; i < t.n; i++)
            t.label[i] = t.label[i] == 2.0 ? 0.0 : t.label[i];
        pboost_answers *a = class_answers(&t, 16, noisy ? 0.01 : 0.0, NULL, 11);
        for (size_t b = 0; noisy && b < a->n_bags; b++)
            a->mean[b * 3 + 2] -= 0.01;
        pboost_fit_options o = class_options(PBOOST_AGGREGATE);
        pboost_samples all = {.x = &t.matrix, .n = t.n};
        pboost_error err = {0};
        class_fitted f = class_fit_or_fail(&t, a, &o);
        double *p = calloc(t.n * 3, sizeof *p);
        assert_ok(pboost_classes_predict(p, &all, &f.coef, 1, &err), err);
        for (size_t i = 0; i < t.n; i++)
            assert_true(p[i * 3 + 2] >= 0.0 && p[i * 3 + 2] < 0.2);
        for (size_t i = 0; i < f.n; i++)
            assert_true(class_se(&f, i) < 10.0);
        free(p);
        class_fitted_free(&f);
        pboost_answers_free(a);
        class_table_free(&t);
    }
}

/* A year as a column, and columns of other units, change the weights by their units alone. */
static void units_do_not_matter(void **state)
{
    (void)state;
    class_table t = class_table_make(4096, 2, 3, 13);
    pboost_answers *a = class_answers(&t, 8, 0.0, NULL, 13);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    class_fitted f = class_fit_or_fail(&t, a, &o);
    for (size_t i = 0; i < t.n; i++) {
        t.x[2 * i] = 2000.0 + t.x[2 * i];
        t.x[2 * i + 1] *= 1e-3;
    }
    class_fitted g = class_fit_or_fail(&t, a, &o);
    for (size_t c = 1; c < 3; c++) {
        const double *was = f.coef.theta + 3 * c, *is = g.coef.theta + 3 * c;
        size_t at = 3 * (c - 1);
        assert_close(is[0], was[0], 1e-6);
        assert_close(is[1] * 1e-3, was[1], 1e-6);
        assert_close(is[2] + 2000.0 * is[0], was[2], 1e-5);
        assert_close(class_se(&g, at), class_se(&f, at), 1e-6);
        assert_close(class_se(&g, at + 1) * 1e-3, class_se(&f, at + 1), 1e-6);
        double level = g.covariance[(at + 2) * g.n + at + 2] +
                       4000.0 * g.covariance[(at + 2) * g.n + at] +
                       4e6 * g.covariance[at * g.n + at];
        assert_close(sqrt(level), class_se(&f, at + 2), 1e-5);
    }
    class_fitted_free(&f);
    class_fitted_free(&g);
    pboost_answers_free(a);
    class_table_free(&t);
}

/* A weight divides the variance of a label: a row of weight 4 says as much as four rows. */
static void weights_are_rows(void **state)
{
    (void)state;
    class_table t = class_table_make(400, 2, 3, 17);
    pboost_answers *a = class_answers(&t, 5, 0.0, NULL, 17);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    o.l2 = pboost_l2_fixed(0.0);
    pboost_error err = {0};
    double *weight = calloc(t.n, sizeof *weight);
    class_fitted f = class_fit_or_fail(&t, a, &o), g = class_fit_or_fail(&t, a, &o);
    for (size_t i = 0; i < t.n; i++)
        weight[i] = 4.0;
    assert_ok(pboost_classes_fit(&g.coef, &g.report, g.covariance,
                                 &(pboost_features){.x = t.matrix, .weight = weight}, a, 0, &o,
                                 &err),
              err);
    for (size_t i = 0; i < f.n; i++) {
        assert_close(g.coef.theta[3 + i], f.coef.theta[3 + i], 0.01);
        assert_close(2.0 * class_se(&g, i), class_se(&f, i), 0.01);
    }
    free(weight);
    class_fitted_free(&f);
    class_fitted_free(&g);
    pboost_answers_free(a);
    class_table_free(&t);
}

static void repeated_column_is_dropped(void **state)
{
    (void)state;
    class_table t = class_table_make(2048, 3, 3, 19);
    for (size_t i = 0; i < t.n; i++)
        t.x[3 * i + 2] = 2.0 * t.x[3 * i];
    pboost_answers *a = class_answers(&t, 4, 0.0, NULL, 19);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    o.l2 = pboost_l2_fixed(0.0);
    class_fitted f = class_fit_or_fail(&t, a, &o);
    assert_int_equal(f.report.first_dropped, 2);
    assert_int_equal(f.report.rank, 4);
    assert_true(f.coef.theta[4 + 2] == 0.0);
    pboost_warning warning[PBOOST_MAX_WARNINGS];
    pboost_fitted about = {.report = &f.report, .options = &o, .x = &t.matrix};
    bool usable = false;
    assert_int_equal(pboost_classes_warnings(warning, &usable, &f.coef, &about), 1);
    assert_int_equal(warning[0].kind, PBOOST_WARNING_RANK);
    assert_true(usable);
    class_fitted_free(&f);
    pboost_answers_free(a);
    class_table_free(&t);
}

/* Rows of a class that the model thinks all but impossible there have residuals that are huge over
 * their variances; the fit is still solved to the end. */
static void impossible_rows_stop_no_fit(void **state)
{
    (void)state;
    class_table t = class_table_make(3000, 2, 3, 29);
    for (size_t i = 0; i < t.n; i++) {
        double *x = &t.x[2 * i];
        *x = copysign(exp(1.5 * fabs(*x)), *x);
        t.label[i] = i % 50 == 0            ? (double)(i / 50 % 3)
                     : fabs(*x - 1.0) < 3.0 ? 1.0
                     : *x > 0.0             ? 0.0
                                            : 2.0;
    }
    pboost_answers *a = class_answers(&t, 1, 0.0, NULL, 29);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    o.l2 = pboost_l2_fixed(1e-3);
    class_fitted f = class_fit_or_fail(&t, a, &o);
    assert_true(f.report.pearson > 1e6);
    assert_true(f.report.gradient_norm < 1e-3);
    class_fitted_free(&f);
    pboost_answers_free(a);
    class_table_free(&t);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    class_table t = class_table_make(64, 2, 3, 23);
    pboost_answers *a = class_answers(&t, 4, 0.0, NULL, 23);
    pboost_error err = {0};
    pboost_class_coef coef, other;
    pboost_fit_options o = class_options(PBOOST_AGGREGATE), wrong;
    pboost_features offset = {.x = t.matrix, .offset = t.x};

    assert_ok(pboost_class_coef_init(&coef, 3, 2, &err), err);
    assert_ok(pboost_class_coef_init(&other, 4, 2, &err), err);
#define FIT(coef, features, first, options)                                                        \
    pboost_classes_fit(&(coef), NULL, NULL, features, a, first, &(options), &err)
    assert_fails(FIT(other, PLAIN(t.matrix), 0, o), PBOOST_INVALID, err, "3 numbers a bag");
    assert_fails(FIT(coef, &offset, 0, o), PBOOST_INVALID, err, "no offset");
    assert_fails(FIT(coef, PLAIN(t.matrix), a->n_bags, o), PBOOST_BAD_DATA, err, "no answers");
    wrong = o;
    wrong.estimator = PBOOST_INTERPOLATED;
    assert_fails(FIT(coef, PLAIN(t.matrix), 0, wrong), PBOOST_INVALID, err, "interpolated");
    wrong = o;
    wrong.l2.mode = PBOOST_L2_CV;
    wrong.estimator = PBOOST_EVENT;
    assert_fails(FIT(coef, PLAIN(t.matrix), 0, wrong), PBOOST_INVALID, err, "cross-validation");
    wrong = o;
    wrong.bag_effects = true;
    assert_fails(FIT(coef, PLAIN(t.matrix), 0, wrong), PBOOST_INVALID, err, "bag effects");
    pboost_matrix wide = {t.x, PBOOST_F64, 1, 500, 500, 1};
    assert_fails(FIT(coef, PLAIN(wide), 0, o), PBOOST_INVALID, err, "1002 weights");
    t.x[5] = (double)NAN;
    assert_fails(FIT(coef, PLAIN(t.matrix), 0, o), PBOOST_BAD_DATA, err, "row 2");
    for (size_t i = 0; i < 9; i++)
        assert_true(coef.theta[i] == 0.0);
#undef FIT
    pboost_class_coef_free(&coef);
    pboost_class_coef_free(&other);
    pboost_answers_free(a);
    class_table_free(&t);
}

static void cancel_leaves_weights(void **state)
{
    (void)state;
    class_table t = class_table_make(512, 2, 3, 29);
    pboost_answers *a = class_answers(&t, 4, 0.0, NULL, 29);
    look_limit looks = {.most = 2};
    pboost_cancel cancel = {.stop = runs_out, .user = &looks};
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    pboost_error err = {0};
    pboost_class_coef coef;

    o.cancel = &cancel;
    assert_ok(pboost_class_coef_init(&coef, 3, 2, &err), err);
    assert_fails(pboost_classes_fit(&coef, NULL, NULL, PLAIN(t.matrix), a, 0, &o, &err),
                 PBOOST_CANCELLED, err, "stopped");
    for (size_t i = 0; i < 9; i++)
        assert_true(coef.theta[i] == 0.0);
    pboost_class_coef_free(&coef);
    pboost_answers_free(a);
    class_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_classes_are_logistic),   cmocka_unit_test(errors_are_as_said),
        cmocka_unit_test(base_does_not_matter),       cmocka_unit_test(single_rows_have_one_fit),
        cmocka_unit_test(threads_change_no_bit),      cmocka_unit_test(a_class_that_nobody_has),
        cmocka_unit_test(units_do_not_matter),        cmocka_unit_test(weights_are_rows),
        cmocka_unit_test(repeated_column_is_dropped), cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(cancel_leaves_weights),      cmocka_unit_test(impossible_rows_stop_no_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

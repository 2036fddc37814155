/* A model that explains its answers worse than a constant one is recognised. */
#include "answers_support.h"

#include "fit/estimator.h"

static pboost_fit_report judge(const test_table *t, const double *offset, const pboost_answers *a,
                               const pboost_coef *coef, const pboost_fit_options *o)
{
    pboost_fit_report report = {.converged = true};
    pboost_features features = {.x = t->matrix, .offset = offset};
    fit_task task = {.features = &features, .answers = a, .options = o};
    assert_int_equal(pboost_fit_judge(&report, &task, coef, NULL), PBOOST_OK);
    return report;
}

/* Weights of the wrong sign, ten times too long, or not numbers. */
static void bad_weights_are_worse_than_a_constant(void **state)
{
    (void)state;
    for (size_t i = 0; i < 18; i++) {
        pboost_fit_options o = options_for(FAMILIES[i % 3], pboost_l2_fixed(1.0));
        o.estimator = PBOOST_EVENT;
        test_table t = make_table(o.family, 600, 4, i);
        pboost_answers a = make_answers(&t, 1 + i % 5, i & 1 ? 0.01 : 0.0, true, i);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_false(f.report.worse_than_constant);
        double factor = i < 6 ? -1.0 : i < 12 ? 10.0 : NAN;
        for (size_t j = 0; j < t.d; j++)
            f.coef.theta[j] *= factor;
        assert_true(judge(&t, NULL, &a, &f.coef, &o).worse_than_constant);
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

static void a_constant_model_is_not_worse_than_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pboost_fit_options o =
            options_for(FAMILIES[i], pboost_l2_fixed(1e12)); /* no weight is left */
        test_table t = make_table(o.family, 600, 4, i);
        pboost_answers a = make_answers(&t, 4, 0.0, false, i);
        for (int estimator = PBOOST_EVENT; estimator <= PBOOST_INTERPOLATED; estimator++) {
            o.estimator = (pboost_estimator)estimator;
            fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
            assert_false(f.report.worse_than_constant);
            fitted_free(&f);
        }
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

/* Through the origin, where labels are far from it: the model is compared with theta = 0. */
static void without_an_intercept_the_constant_is_that_of_no_weights(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, pboost_l2_fixed(1.0));
    test_table t = make_table(PBOOST_LINEAR, 600, 4, 3);
    for (size_t r = 0; r < t.n; r++)
        t.y[r] += 50.0;
    pboost_answers a = make_answers(&t, 4, 0.0, true, 3);
    o.intercept = false;
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_false(f.report.worse_than_constant);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_weights_are_worse_than_a_constant),
        cmocka_unit_test(a_constant_model_is_not_worse_than_itself),
        cmocka_unit_test(without_an_intercept_the_constant_is_that_of_no_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What bags tell about the weights: information.c. */
#include "plan_support.h"

/* Bags of one row without noise: X'X / sigma^2, the intercept last. */
static void test_information_of_labels(void **state)
{
    (void)state;
    pboost_error err;
    pboost_bags bags;
    double x[] = {1, 2, 3, 5, 8, 13}, theta[] = {1, 1}, information[9];
    pboost_matrix m = pboost_matrix_f64(x, 3, 2);
    pboost_samples samples = {.x = &m, .n = 3};
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_coef coef = {2, theta, 0.5};
    assert_ok(pboost_bags_random(&bags, 3, 1, 1, &err), err);
    assert_ok(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 2.0,
                                 true, 1, &err),
              err);
    const double expected[] = {37, 60.5, 6, 60.5, 99, 10, 6, 10, 1.5};
    for (int i = 0; i < 9; i++)
        assert_close(information[i], expected[i], 1e-12);
    assert_ok(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 2.0,
                                 false, 1, &err),
              err);
    assert_close(information[1], 60.5, 1e-12);
    assert_close(information[8], 0.0, 0.0);
    assert_fails(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 0.0,
                                    true, 1, &err),
                 PBOOST_INVALID, err, "dispersion is 0");
    coef.n = 1;
    assert_fails(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 1.0,
                                    true, 1, &err),
                 PBOOST_INVALID, err, "1 weights for 2 columns");
    coef.n = 2;
    rules.epsilon = (pboost_rational){1, 1}; /* without bounds */
    assert_fails(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 1.0,
                                    true, 1, &err),
                 PBOOST_INVALID, err, "labels have no bounds");
    pboost_bags_free(&bags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_information_of_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Calibration, and measures from predicted means. */
#include "fit_support.h"

#include "fit/calibration.h"

static void groups_are_those_of_the_order(void **state)
{
    static const double MEAN[] = {0.9, 0.1, 0.5, 0.1, 0.7, 0.3}, LABEL[] = {1, 0, 0, 1, 1, 0};
    pboost_calibration c;

    (void)state;
    assert_int_equal(pboost_calibrate(&c, MEAN, LABEL, 6, 3, NULL), PBOOST_OK);
    assert_int_equal(c.n_groups, 3);
    assert_int_equal(c.group[0].rows, 2);
    assert_near(c.group[0].predicted, 0.1, 1e-15);
    assert_near(c.group[0].observed, 0.5, 1e-15);
    assert_near(c.group[0].error, 0.5, 1e-15); /* of 0 and 1: sqrt(0.5 / 2) */
    assert_near(c.group[1].predicted, 0.4, 1e-15);
    assert_near(c.group[2].observed, 1.0, 1e-15);
    assert_near(c.ratio, 2.6 / 3.0, 1e-15);
    assert_near(c.expected_error, (0.4 + 0.4 + 0.2) / 3.0, 1e-15);
}

/* Rows that no prediction tells apart are one group, so that their order cannot matter. */
static void equal_means_stay_together(void **state)
{
    double mean[10] = {0}, label[10] = {1, 1, 1, 1, 1, 0, 0, 0, 0, 0};
    pboost_calibration c;

    (void)state;
    mean[9] = 1.0;
    assert_int_equal(pboost_calibrate(&c, mean, label, 10, 5, NULL), PBOOST_OK);
    assert_int_equal(c.n_groups, 2);
    assert_int_equal(c.group[0].rows, 9);
    assert_near(c.group[0].observed, 5.0 / 9.0, 1e-15);
    assert_true(isnan(c.group[1].error));
    label[0] = label[1] = label[2] = label[3] = label[4] = 0.0;
    assert_int_equal(pboost_calibrate(&c, mean, label, 10, 20, NULL), PBOOST_OK);
    assert_true(isnan(c.ratio)); /* all labels are 0 */
}

static void bad_input_is_refused(void **state)
{
    double mean[] = {0.5, NAN}, label[] = {1, 0};
    pboost_calibration c;
    pboost_error err;

    (void)state;
    assert_int_equal(pboost_calibrate(&c, mean, label, 2, 10, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "sample 1 has the mean nan"));
    assert_int_equal(c.n_groups, 0);
    assert_int_equal(pboost_calibrate(&c, mean, label, 1, 0, &err), PBOOST_INVALID);
    assert_int_equal(pboost_calibrate(&c, mean, label, 1, PBOOST_MAX_GROUPS + 1, &err),
                     PBOOST_INVALID);
}

/* A GLM's predicted means have the measures of the GLM. */
static void means_are_measured_as_models_are(void **state)
{
    static const pboost_family FAMILIES[] = {PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON};

    (void)state;
    for (size_t f = 0; f < 3; f++) {
        test_table t = make_table(FAMILIES[f], 500, 3, 1);
        pboost_samples s = samples_of(&t);
        double theta[] = {0.5, -0.25, 0.125}, *mean = calloc(t.n, sizeof *mean);
        pboost_coef coef = {3, theta, 0.1};
        pboost_evaluator *evaluator = NULL;
        pboost_evaluation direct, by_means;

        assert_int_equal(pboost_evaluate(&direct, FAMILIES[f], &s, &coef, 1, NULL), PBOOST_OK);
        assert_int_equal(pboost_predict(mean, FAMILIES[f], &s, &coef, 1, NULL), PBOOST_OK);
        assert_int_equal(pboost_evaluator_create(&evaluator, FAMILIES[f], NULL), PBOOST_OK);
        assert_int_equal(pboost_evaluator_add_means(evaluator, &s, mean, NULL), PBOOST_OK);
        assert_int_equal(pboost_evaluator_finish(&by_means, evaluator, NULL), PBOOST_OK);
        assert_int_equal(by_means.n_measures, direct.n_measures);
        for (size_t i = 0; i < direct.n_measures; i++)
            assert_near(by_means.measure[i].value, direct.measure[i].value, 1e-12);
        pboost_calibration groups, of_means;
        assert_int_equal(pboost_calibrate(&of_means, mean, t.y, t.n, 7, NULL), PBOOST_OK);
        assert_int_equal(pboost_evaluator_calibrate(&groups, evaluator, 7, NULL), PBOOST_OK);
        assert_int_equal(groups.n_groups, of_means.n_groups);
        assert_near(groups.ratio, of_means.ratio, 1e-12);
        assert_near(groups.expected_error, of_means.expected_error, 1e-12);
        for (size_t g = 0; g < groups.n_groups; g++) {
            assert_int_equal(groups.group[g].rows, of_means.group[g].rows);
            assert_near(groups.group[g].predicted, of_means.group[g].predicted, 1e-12);
            assert_near(groups.group[g].observed, of_means.group[g].observed, 1e-12);
            assert_near(groups.group[g].error, of_means.group[g].error, 1e-12);
        }
        assert_int_equal(pboost_evaluator_calibrate(&groups, evaluator, 0, NULL), PBOOST_INVALID);
        mean[7] = -1.0;
        if (FAMILIES[f] != PBOOST_LINEAR)
            assert_int_equal(pboost_evaluator_add_means(evaluator, &s, mean, NULL),
                             PBOOST_BAD_DATA);
        pboost_evaluator_free(evaluator);
        free(mean);
        free_table(&t);
    }
}

/* Sizes around those that are sorted otherwise; ties, order and reverse order. */
static void items_are_sorted_in_place(void **state)
{
    (void)state;
    test_rng rng = {3};
    for (size_t n = 0; n < 3000; n = n * 3 / 2 + 1)
        for (size_t width = 1; width <= 2; width++)
            for (int shape = 0; shape < 4; shape++) {
                double *item = calloc(n * width + 1, sizeof *item), sum = 0.0;
                for (size_t i = 0; i < n; i++) {
                    double v = normal(&rng);
                    item[i * width] = shape == 0   ? v
                                      : shape == 1 ? floor(v)
                                      : shape == 2 ? (double)i
                                                   : -(double)i;
                    if (width == 2)
                        item[i * width + 1] = 2.0 * item[i * width];
                    sum += item[i * width];
                }
                pboost_sort_items(item, n, width);
                for (size_t i = 0; i < n; i++) {
                    sum -= item[i * width];
                    assert_true(i == 0 || item[(i - 1) * width] <= item[i * width]);
                    assert_true(width == 1 || item[i * width + 1] == 2.0 * item[i * width]);
                }
                assert_near(sum, 0.0, 1e-9);
                free(item);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_those_of_the_order),
        cmocka_unit_test(equal_means_stay_together),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(items_are_sorted_in_place),
        cmocka_unit_test(means_are_measured_as_models_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

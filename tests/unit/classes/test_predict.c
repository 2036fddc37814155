/* Probabilities, their intervals, and how they are evaluated. */
#include "class_support.h"

static void probabilities_are_softmax(void **state)
{
    (void)state;
    double x[] = {1.0, 2.0, -1.0, 0.0}, theta[] = {0, 0, 0, 1, 0.5, -0.5, -2, 1, 0}, p[6];
    pboost_matrix m = pboost_matrix_f64(x, 2, 2);
    pboost_class_coef coef = {3, 2, theta};
    pboost_error err = {0};
    size_t row[] = {1, 0};
    pboost_samples samples = {.x = &m, .row = row, .n = 2};

    assert_ok(pboost_classes_predict(p, &samples, &coef, 1, &err), err);
    double first = 1.0 + exp(-1.5) + exp(2.0), second = 1.0 + exp(1.5) + exp(0.0);
    assert_close(p[0], 1.0 / first, 1e-15);
    assert_close(p[2], exp(2.0) / first, 1e-15);
    assert_close(p[4], exp(1.5) / second, 1e-15);
    theta[3] = 1e308; /* overflows to certainty */
    x[0] = 10.0;
    assert_ok(pboost_classes_predict(p, &samples, &coef, 1, &err), err);
    assert_true(p[4] == 1.0 && p[3] == 0.0 && p[5] == 0.0);
    theta[3] = (double)NAN;
    assert_fails(pboost_classes_predict(p, &samples, &coef, 1, &err), PBOOST_BAD_DATA, err, "nan");
}

/* Against differences: d log odds / d weight, and the covariance of the weights. */
static void intervals_follow_the_covariance(void **state)
{
    (void)state;
    enum { CLASSES = 3, D = 2, N = (CLASSES - 1) * (D + 1) };
    double x[] = {0.7, -0.4}, theta[CLASSES * (D + 1)] = {0, 0, 0, 1, 0.5, -0.5, -2, 1, 0.2};
    double covariance[N * N], p[CLASSES], q[CLASSES], lower[CLASSES], upper[CLASSES];
    pboost_matrix m = pboost_matrix_f64(x, 1, D);
    pboost_class_coef coef = {CLASSES, D, theta};
    pboost_error err = {0};
    pboost_samples samples = {.x = &m, .n = 1};
    const double step = 1e-6;

    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            covariance[i * N + k] =
                (i == k ? 0.02 : 0.0) + 0.001 * (double)(1 + i) * (double)(1 + k);
    assert_ok(pboost_classes_predict(p, &samples, &coef, 1, &err), err);
    assert_ok(
        pboost_classes_predict_interval(lower, upper, &samples, &coef, covariance, 0.95, 2, &err),
        err);
    for (size_t c = 0; c < CLASSES; c++) {
        double slope[N], variance = 0.0, odds = log(p[c] / (1.0 - p[c]));
        for (size_t i = 0; i < N; i++) {
            theta[D + 1 + i] += step;
            assert_ok(pboost_classes_predict(q, &samples, &coef, 1, &err), err);
            theta[D + 1 + i] -= step;
            slope[i] = (log(q[c] / (1.0 - q[c])) - odds) / step;
        }
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < N; k++)
                variance += slope[i] * slope[k] * covariance[i * N + k];
        double reach = 1.959963984540054 * sqrt(variance);
        assert_close(log(upper[c] / (1.0 - upper[c])), odds + reach, 1e-4);
        assert_close(log(lower[c] / (1.0 - lower[c])), odds - reach, 1e-4);
    }
    assert_fails(
        pboost_classes_predict_interval(lower, upper, &samples, &coef, covariance, 1.0, 1, &err),
        PBOOST_INVALID, err, "level");
    covariance[7] = INFINITY;
    assert_fails(
        pboost_classes_predict_interval(lower, upper, &samples, &coef, covariance, 0.9, 1, &err),
        PBOOST_BAD_DATA, err, "entry 1, 1");
}

static void evaluation_is_written_out(void **state)
{
    (void)state;
    double p[] = {0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4, 0.5, 0.5, 0.0};
    double label[] = {0, 1, 0, 1};
    const size_t confusion[] = {1, 0, 1, 1, 1, 0, 0, 0, 0};
    pboost_class_evaluation e;
    pboost_error err = {0};

    assert_ok(pboost_classes_evaluate(&e, p, label, 4, 3, 2, &err), err);
    assert_close(e.loss, -(log(0.7) + log(0.8) + log(0.3) + log(0.5)) / 4.0, 1e-15);
    assert_close(e.constant, log(2.0), 1e-15);
    assert_close(e.accuracy, 0.5, 1e-15); /* a tie goes to the first class */
    assert_memory_equal(e.confusion, confusion, sizeof confusion);
    assert_close(e.calibration[0].ratio, 1.6 / 2.0, 1e-15);
    pboost_class_evaluation_free(&e);
    label[2] = 3.0;
    assert_fails(pboost_classes_evaluate(&e, p, label, 4, 3, 2, &err), PBOOST_BAD_DATA, err,
                 "label 2 is 3");
    assert_null(e.confusion);
    label[2] = 0.0;
    p[0] = (double)NAN;
    assert_fails(pboost_classes_evaluate(&e, p, label, 4, 3, 2, &err), PBOOST_BAD_DATA, err,
                 "row 0");
    p[0] = 0.0; /* a label that was impossible has a finite loss */
    assert_ok(pboost_classes_evaluate(&e, p, label, 4, 3, 2, &err), err);
    assert_true(isfinite(e.loss) && e.loss > 100.0);
    pboost_class_evaluation_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(probabilities_are_softmax),
                                       cmocka_unit_test(intervals_follow_the_covariance),
                                       cmocka_unit_test(evaluation_is_written_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

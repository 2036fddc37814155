/* Working residuals of Laplace noise, against integrals of the density that are computed here from
 * its definition: the normal density, averaged over the noise. */
#include "testing.h"

#include "data/answer_error.h"

enum { STEPS = 40000 };

static answer_error error_of(double sampling, double noise)
{
    return (answer_error){sampling, noise, true};
}

/* By Simpson's rule over the noise, in units of its scale; its peak is an end of both halves. */
static double density_by_definition(double r, answer_error e)
{
    double b = sqrt(e.noise / 2), sum = 0.0, step = 40.0 / STEPS;
    for (int side = -1; side <= 1; side += 2)
        for (int i = 0; i <= STEPS; i++) {
            double x = step * i, z = r - side * b * x;
            double weight = i == 0 || i == STEPS ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
            sum += weight * step / 3 * 0.5 * exp(-x) * exp(-z * z / (2 * e.sampling));
        }
    return sum / sqrt(2 * M_PI * e.sampling);
}

static void the_density_is_that_of_the_sum(void **state)
{
    (void)state;
    static const double SAMPLING[] = {0.05, 1.0, 20.0}, AT[] = {0.0, 0.3, -1.0, 4.0, -30.0};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 5; j++) {
            answer_error e = error_of(SAMPLING[i], 2.0);
            double expected = log(density_by_definition(AT[j], e));
            assert_close(pboost_residual_log_density(AT[j], e), expected, 1e-6 * fabs(expected));
        }
}

/* psi is the slope of the log density, and the working residual psi / I. */
static void the_working_residual_is_the_score(void **state)
{
    (void)state;
    static const double SAMPLING[] = {1e-6, 0.01, 0.5, 3.0, 90.0};
    static const double AT[] = {0.01, 0.7, -2.0, 9.0, -300.0};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++) {
            answer_error e = error_of(SAMPLING[i], 2.0);
            double h = 1e-5 * fmax(1.0, fabs(AT[j])), s = fmax(SAMPLING[i], 2e-4);
            double slope = (pboost_residual_log_density(AT[j] - h, e) -
                            pboost_residual_log_density(AT[j] + h, e)) /
                           (2 * h);
            working_residual w = pboost_working_residual(AT[j], e);
            assert_close(w.residual / w.variance, slope, 1e-4 * fabs(slope) + 1e-6 / sqrt(s));
        }
}

/* I = E psi^2, and 1 / I is between V / 2 and V, and above the sampling variance. */
static void the_variance_is_that_of_the_score(void **state)
{
    (void)state;
    static const double RATIO[] = {0.001, 0.02, 0.1, 0.4, 1.0, 3.0, 10.0, 45.0};
    for (size_t i = 0; i < sizeof RATIO / sizeof *RATIO; i++) {
        answer_error e = error_of(2 * RATIO[i], 2.0);
        double variance = pboost_working_variance(e), v = e.sampling + e.noise;
        double sum = 0.0, step = 50 * sqrt(v) / STEPS;
        for (int j = -STEPS; j <= STEPS; j++) {
            working_residual w = pboost_working_residual(step * j, e);
            double psi = w.residual / w.variance;
            sum += step * psi * psi * exp(pboost_residual_log_density(step * j, e));
        }
        assert_close(variance * sum, 1.0, 1e-3);
        assert_true(variance >= 0.499 * v && variance <= v && variance > e.sampling);
    }
}

static void other_noise_keeps_residual_and_variance(void **state)
{
    (void)state;
    answer_error e[] = {{1.0, 2.0, false}, {1.0, 0.0, true}, {200.0, 2.0, true}};
    for (size_t i = 0; i < 3; i++) {
        working_residual w = pboost_working_residual(-5.0, e[i]);
        assert_true(w.residual == -5.0 && w.variance == e[i].sampling + e[i].noise);
    }
    answer_error nothing_known = {INFINITY, 2.0, true};
    assert_true(isinf(pboost_working_residual(1.0, nothing_known).variance));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_density_is_that_of_the_sum),
        cmocka_unit_test(the_working_residual_is_the_score),
        cmocka_unit_test(the_variance_is_that_of_the_score),
        cmocka_unit_test(other_noise_keeps_residual_and_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

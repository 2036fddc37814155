/* Fits to answers whose noise is known to be Laplace, beside fits that know its variance only. */
#include "answers_support.h"

#include "data/answer_error.h"
#include "fit/estimator.h"
#include "testing.h"

/* The weight of make_table's column where there is one. */
static double true_weight(uint64_t seed)
{
    test_rng rng = {seed};
    return normal(&rng);
}

typedef struct {
    double error, z2; /* means: squared error, and over its estimated variance */
} accuracy;

static accuracy measure(pboost_family family, double noise, bool laplace)
{
    enum { RUNS = 40 };
    pboost_fit_options o = options_for(family, L2_AUTO);
    accuracy found = {0};
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        test_table t = make_table(family, 8000, 1, seed);
        pboost_answers a = make_answers(&t, 10, noise, true, seed);
        assert_true(a.other_noise); /* given answers: who knows */
        a.other_noise = !laplace;
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        double miss = f.coef.theta[0] - true_weight(seed);
        assert_true(f.report.converged);
        found.error += miss * miss / RUNS;
        found.z2 += miss * miss / f.covariance[0] / RUNS;
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
    return found;
}

/* 800 bags whose noise has fifty times the variance of their sampling error: by theory the squared
 * error is 0.61 of what it is by variances, and its estimate is right.  (That of counts, some of
 * which are in the thousands here, is too small either way.) */
static void knowing_the_law_makes_weights_better(void **state)
{
    (void)state;
    static const double SAMPLING[] = {0.025, 0.02, 0.15}; /* about, of a bag */
    for (size_t i = 0; i < 3; i++) {
        accuracy known = measure(FAMILIES[i], 50 * SAMPLING[i], true);
        accuracy unknown = measure(FAMILIES[i], 50 * SAMPLING[i], false);
        if (!(known.error < 0.8 * unknown.error && known.z2 > 0.5 &&
              known.z2 < fmax(1.6, unknown.z2))) {
            print_error("%s: error %g instead of %g, z2 %g\n", pboost_family_name(FAMILIES[i]),
                        known.error, unknown.error, known.z2);
            fail();
        }
    }
}

/* sum of J psi(r) phi = lambda theta, with psi by the density itself. */
static void the_score_equation_is_solved(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, pboost_l2_fixed(3.0));
    test_table t = make_table(PBOOST_LINEAR, 3000, 2, 5);
    pboost_answers a = make_answers(&t, 10, 0.2, true, 5);
    a.other_noise = false;
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    double phi = f.report.dispersion, sum[3] = {0}, size[3] = {0};

    assert_true(f.report.converged);
    for (size_t b = 0; b < a.n_bags; b++) {
        double rows = (double)(a.start[b + 1] - a.start[b]), x[3] = {0.0, 0.0, 1.0}, h = 1e-6;
        for (size_t i = a.start[b]; i < a.start[b + 1]; i++)
            for (size_t j = 0; j < 2; j++)
                x[j] += t.x[a.row[i] * 2 + j] / rows;
        double r = a.mean[b] - f.coef.intercept - f.coef.theta[0] * x[0] - f.coef.theta[1] * x[1];
        answer_error e = {phi / rows, a.noise_variance[b], true};
        double psi =
            (pboost_residual_log_density(r - h, e) - pboost_residual_log_density(r + h, e)) /
            (2 * h);
        for (size_t j = 0; j < 3; j++) {
            sum[j] += x[j] * psi * phi;
            size[j] += fabs(x[j] * psi * phi);
        }
    }
    for (size_t j = 0; j < 3; j++)
        assert_near(sum[j], j < 2 ? 3.0 * f.coef.theta[j] : 0.0, 1e-4 * size[j]);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

static void folds_keep_the_law(void **state)
{
    (void)state;
    pboost_error err;
    test_table t = make_table(PBOOST_LINEAR, 100, 1, 1);
    pboost_answers a = make_answers(&t, 10, 1.0, true, 1), rest = {0};
    const unsigned char fold[20] = {0, 1, 0, 1};
    a.other_noise = false;
    assert_ok(pboost_fold_bags(&rest, &a, 0, fold, 1, false, &err), err);
    assert_true(rest.n_bags == a.n_bags - 2 && !rest.other_noise);
    pboost_answers_clear(&rest);
    pboost_answers_clear(&a);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knowing_the_law_makes_weights_better),
        cmocka_unit_test(the_score_equation_is_solved),
        cmocka_unit_test(folds_keep_the_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

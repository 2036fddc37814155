/* The aggregate estimator: its estimate, dispersion, penalty, covariance and reports. */
#include "answers_support.h"

#include "kernels/simd.h"

/* The estimating equation and sum J J'/V in long double, parameters: columns, then intercept. */
static void equation(long double *g, long double *gram, const test_table *t, const double *weight,
                     const double *offset, const pboost_answers *a, const fitted *f,
                     pboost_family family)
{
    size_t d = t->d, p = d + 1;
    memset(g, 0, p * sizeof *g);
    memset(gram, 0, p * p * sizeof *gram);
    for (size_t b = 0; b < a->n_bags; b++) {
        long double jacobian[16] = {0}, mu = 0, v = 0,
                    s = (long double)(a->start[b + 1] - a->start[b]);
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++) {
            size_t row = a->row[i];
            long double eta = f->coef.intercept + (offset != NULL ? offset[row] : 0.0);
            for (size_t j = 0; j < d; j++)
                eta += (long double)f->coef.theta[j] * t->x[row * d + j];
            long double w = weight != NULL ? weight[row] : 1.0, c = variance_of(family, eta);
            mu += mean_of(family, eta) / s;
            v += c / (w * s * s);
            for (size_t j = 0; j < p; j++)
                jacobian[j] += c * (j < d ? t->x[row * d + j] : 1.0) / s;
        }
        v += a->noise_variance[b] > 0.0 ? a->noise_variance[b] / f->report.dispersion : 0.0;
        for (size_t j = 0; j < p; j++) {
            g[j] += jacobian[j] * (a->mean[b] - mu) / v;
            for (size_t k = 0; k < p; k++)
                gram[j * p + k] += jacobian[j] * jacobian[k] / v;
        }
    }
}

/* ---- The estimate ---------------------------------------------------------------------------- */

static void one_row_bags_without_noise_are_the_event_level_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        pboost_fit_options o = options_for(FAMILIES[i % 3], pboost_l2_fixed(1.5));
        test_table t = make_table(o.family, 700, 5, i);
        pboost_answers a = make_answers(&t, 1, 0.0, true, i);
        const double *weight = i & 4 ? t.weight : NULL, *offset = i >= 6 ? t.offset : NULL;
        o.intercept = i != 7;
        fitted aggregate = fit_or_fail(&t.matrix, weight, offset, &a, &o);
        o.estimator = PBOOST_EVENT;
        fitted event = fit_or_fail(&t.matrix, weight, offset, &a, &o);
        assert_true(aggregate.report.converged);
        assert_same_coef(&aggregate.coef, &event.coef, 1e-6);
        assert_int_equal(aggregate.report.l2_standardized, false);
        fitted_free(&aggregate);
        fitted_free(&event);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

static void the_estimating_equation_is_solved(void **state)
{
    (void)state;
    long double g[16], gram[256];
    for (size_t i = 0; i < 24; i++) {
        pboost_fit_options o = options_for(FAMILIES[i % 3], pboost_l2_fixed(i < 12 ? 2.0 : 0.0));
        test_table t = make_table(o.family, 1200, 4, i);
        pboost_answers a = make_answers(&t, 5 + i % 7, i & 1 ? 0.01 : 0.0, i & 2, i);
        const double *weight = i & 4 ? t.weight : NULL, *offset = i & 8 ? t.offset : NULL;
        fitted f = fit_or_fail(&t.matrix, weight, offset, &a, &o);
        assert_true(f.report.converged);
        equation(g, gram, &t, weight, offset, &a, &f, o.family);
        for (size_t j = 0; j <= t.d; j++) {
            double penalty = j < t.d ? o.l2.value * f.coef.theta[j] : 0.0;
            assert_near((double)g[j], penalty, 1e-5 * sqrt((double)gram[j * (t.d + 2)]));
        }
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

/* phi (gram + l2)^-1, and its sandwich with HC2, by other means. */
static void the_covariance_is_the_inverse_information(void **state)
{
    (void)state;
    long double g[16], gram[256], factor[256], column[16];
    for (size_t i = 0; i < 6; i++) {
        pboost_fit_options o = options_for(FAMILIES[i % 3], pboost_l2_fixed(2.0));
        test_table t = make_table(o.family, 1200, 4, i);
        for (size_t r = 0; r < t.n; r++) /* the intercept must mind the means */
            t.x[r * t.d + 1] += 3.0;
        pboost_answers a = make_answers(&t, 6, i < 3 ? 0.02 : 0.0, true, i);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        size_t p = t.d + 1;
        equation(g, gram, &t, NULL, NULL, &a, &f, o.family);
        for (size_t j = 0; j < t.d; j++)
            gram[j * p + j] += o.l2.value;
        for (size_t j = 0; j < p; j++) {
            memcpy(factor, gram, sizeof factor);
            memset(column, 0, sizeof column);
            column[j] = f.report.dispersion;
            solve_ld(factor, column, p);
            for (size_t k = 0; k < p; k++)
                assert_near(f.covariance[j * p + k], (double)column[k],
                            1e-6 * fabs((double)column[j]));
        }
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

static void the_sandwich_agrees_where_the_model_is_right_and_grows_where_it_is_not(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
    test_table t = make_table(PBOOST_LOGISTIC, 20000, 3, 8);
    pboost_answers a = make_answers(&t, 10, 0.0, true, 1);
    fitted model = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    o.covariance = PBOOST_COVARIANCE_SANDWICH;
    fitted sandwich = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    for (size_t j = 0; j < 4; j++)
        assert_near(sandwich.covariance[j * 5] / model.covariance[j * 5], 1.0, 0.2);
    fitted_free(&sandwich);

    /* Answers that swing twice as far as coins do. */
    test_rng rng = {3};
    for (size_t b = 0; b < a.n_bags; b++)
        a.mean[b] += 0.3 * normal(&rng);
    sandwich = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(sandwich.report.pearson > 3.0);
    for (size_t j = 0; j < 4; j++)
        assert_true(sandwich.covariance[j * 5] > 2.0 * model.covariance[j * 5]);
    fitted_free(&sandwich);
    fitted_free(&model);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* With its default penalty the fit does not depend on the units of the columns. */
static void units_do_not_matter(void **state)
{
    (void)state;
    const double scale[] = {1e-9, 1.0, 1e7, 3.0}, shift[] = {0.0, 1e6, 0.0, -2.0};
    for (size_t i = 0; i < 6; i++) {
        pboost_fit_options o = options_for(FAMILIES[i % 3], L2_AUTO);
        test_table t = make_table(o.family, 2000, 4, i);
        pboost_answers a = make_answers(&t, 8, i < 3 ? 0.01 : 0.0, true, i);
        fitted plain = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        for (size_t r = 0; r < t.n; r++)
            for (size_t j = 0; j < 4; j++)
                t.x[r * 4 + j] = t.x[r * 4 + j] * scale[j] + shift[j];
        fitted other = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_true(plain.report.converged && other.report.converged);
        for (size_t j = 0; j < 4; j++) {
            assert_near(other.coef.theta[j] * scale[j], plain.coef.theta[j], 1e-6);
            assert_near(other.covariance[j * 6] * scale[j] * scale[j] / plain.covariance[j * 6],
                        1.0, 1e-5);
        }
        assert_near(other.report.l2, plain.report.l2, 1e-6 * plain.report.l2);
        fitted_free(&plain);
        fitted_free(&other);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

static void threads_and_levels_do_not_matter(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
    test_table t = make_table(PBOOST_LOGISTIC, 60000, 9, 4);
    pboost_answers a = make_answers(&t, 7, 0.01, false, 1);
    fitted one = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    for (int threads = 2; threads <= 5; threads++) {
        o.threads = threads;
        fitted many = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_memory_equal(many.coef.theta, one.coef.theta, 9 * sizeof(double));
        assert_memory_equal(many.covariance, one.covariance, 100 * sizeof(double));
        fitted_free(&many);
    }
    simd_level_t best = pboost_simd_level();
    for (int level = SIMD_PLAIN; level < (int)best; level++) {
        pboost_simd_force((simd_level_t)level);
        fitted plain = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_same_coef(&plain.coef, &one.coef, 1e-8);
        fitted_free(&plain);
    }
    pboost_simd_force(best);
    fitted_free(&one);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* ---- Dispersion and penalty ------------------------------------------------------------------ */

static void the_dispersion_is_found(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    test_table t = make_table(PBOOST_LINEAR, 40000, 3, 1); /* residual variance 1/4 */
    for (int noisy = 0; noisy < 2; noisy++) {
        pboost_answers a = make_answers(&t, 10, noisy ? 0.02 : 0.0, true, 1);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_near(f.report.dispersion, 0.25, 0.03);
        assert_near(f.report.pearson, 1.0, 1e-6);
        assert_near(f.report.freedom, 4.0, 0.01);
        assert_false(f.report.dispersion_floored);
        /* lambda = phi d / Var(y) */
        double y = f.report.eta_sd * f.report.eta_sd + f.report.dispersion;
        double lambda = f.report.dispersion * 3.0 / y;
        assert_near(f.report.l2, lambda, noisy ? 0.25 * lambda : 1e-6);
        fitted_free(&f);
        pboost_answers_clear(&a);
    }
    /* Noise that masks it: its standard error is used, and the report says so. */
    pboost_answers a = make_answers(&t, 10, 1e4, true, 3);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(f.report.dispersion_floored);
    assert_true(f.report.dispersion > 100.0);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* The mean variance of the linear predictor over fits to nothing but noise; labels have
 * variance 1.25. The model is almost constant, but the weights are not known: each has at least
 * that variance. */
static double mean_spread(size_t d, size_t bag_size, double noise, uint64_t runs,
                          double least_variance)
{
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    double spread = 0.0;
    for (uint64_t seed = 1; seed <= runs; seed++) {
        test_table t = make_table(PBOOST_LINEAR, 8192, d, seed);
        pboost_answers a = make_answers(&t, bag_size, noise, false, seed);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_true(f.report.converged);
        spread += f.report.eta_sd * f.report.eta_sd / (double)runs;
        for (size_t j = 0; j < d; j++)
            assert_true(f.covariance[j * (d + 1) + j] > least_variance);
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
    return spread;
}

/* Bags of 64 mixed rows and noise of variance 30 say almost nothing.  A ridge estimated from the
 * noise would give weights of a hundred times the labels' variance. */
static void the_ridge_shrinks_where_noise_hides_the_weights(void **state)
{
    (void)state;
    assert_true(mean_spread(16, 64, 30.0, 60, 4.0) < 3.0);
}

/* Noise on every single label, so strong that the answers say nothing: a fit to it would have a
 * linear predictor of variance 112 instead of 1. */
static void noise_on_single_labels_does_not_run_away(void **state)
{
    (void)state;
    assert_true(mean_spread(8, 1, 115200.0, 40, 4.0) < 8.0);
}

/* Bags in the order of one column have information about its weight and almost none about 15
 * others: in any fit these are noise many times as large.  The ridge depends on the information. */
static void a_weight_that_is_known_is_kept_among_hidden_ones(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    double weight = 0.0, others = 0.0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        test_table t = make_table(PBOOST_LINEAR, 8192, 16, seed);
        test_rng rng = {seed};
        for (size_t i = 0; i < t.n; i++)
            t.y[i] = 2.0 * t.x[i * 16] + normal(&rng);
        pboost_answers a = make_answers(&t, 64, 10.0, true, seed);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        weight += f.coef.theta[0] / 20.0;
        for (size_t j = 1; j < 16; j++)
            others += f.coef.theta[j] * f.coef.theta[j] / 20.0;
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
    assert_true(weight > 1.5 && weight < 2.2);
    assert_true(others < 10.0); /* their noise has a variance of 75 */
}

/* The dispersion of 32 noisy answers may be anything up to its standard error, and is taken for
 * that where intervals are made; a ridge that took it so would lose a part of a weight of 2.5
 * standard errors. */
static void doubt_about_the_dispersion_does_not_shrink(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    double weight = 0.0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        test_table t = make_table(PBOOST_LINEAR, 1024, 1, seed);
        test_rng rng = {seed};
        for (size_t i = 0; i < t.n; i++)
            t.y[i] = t.x[i] + 0.1 * normal(&rng);
        pboost_answers a = make_answers(&t, 32, 5.0, true, seed);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        weight += f.coef.theta[0] / 200.0;
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
    assert_true(weight > 0.6);
}

/* Counts that depend on no column, in pairs under noise: a wide prior would leave a linear
 * predictor of variance 0.17. */
static void the_ridge_of_counts_shrinks_too(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_POISSON, L2_AUTO);
    double spread = 0.0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        test_table t = make_table(PBOOST_POISSON, 4096, 12, seed);
        test_rng rng = {seed};
        for (size_t i = 0; i < t.n; i++)
            t.y[i] = poisson_draw(&rng, 2.0);
        pboost_answers a = make_answers(&t, 2, 50.0, false, seed);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_true(f.report.converged);
        spread += f.report.eta_sd * f.report.eta_sd / 40.0;
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
    assert_true(spread < 0.05);
}

/* Log odds have a scale of their own, and keep their prior under noise: judged by the answers,
 * logistic models lost up to 2.5 times as much. */
static void the_ridge_of_log_odds_is_given(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
    test_table t = make_table(PBOOST_LOGISTIC, 4096, 8, 1);
    pboost_answers a = make_answers(&t, 4, 2.0, false, 1);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_near(f.report.l2, 2.0, 1e-12);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* Of labels around ten thousand the residuals have few digits: a step may be worth less than these
 * show, and is then neither refused for ever nor asked for. */
static void labels_far_from_zero_converge(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        test_table t = make_table(PBOOST_LINEAR, 2048, 3, seed);
        for (size_t i = 0; i < t.n; i++)
            t.y[i] += 1e4;
        pboost_answers a = make_answers(&t, 64, 0.01, true, seed);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        if (!f.report.converged)
            fail_msg("seed %d: %zu iterations", (int)seed, f.report.iterations);
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

/* A tolerance of 0 cannot be met.  A thousandth of a standard error is enough after many refreshes.
 */
static void a_fit_that_is_near_its_solution_has_converged(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
    test_table t = make_table(PBOOST_LOGISTIC, 2000, 5, 4);
    pboost_answers a = make_answers(&t, 8, 0.0, true, 4);
    fitted strict = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    o.tolerance = 0.0;
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(f.report.converged);
    assert_true(f.report.iterations < 5 * o.max_iterations); /* the most it may take */
    assert_same_coef(&f.coef, &strict.coef, 1e-6);
    fitted_free(&strict);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* No information to estimate a ridge from, and nothing to shrink. */
static void a_column_that_never_varies_leaves_the_constant_model(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    test_table t = make_table(PBOOST_LINEAR, 1024, 1, 1);
    for (size_t i = 0; i < t.n; i++)
        t.x[i] = 3.0;
    pboost_answers a = make_answers(&t, 32, 1.0, false, 1);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(f.report.converged && isfinite(f.report.l2));
    assert_true(f.coef.theta[0] == 0.0 && fabs(f.coef.intercept) < 1.0);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* Its weight is 0 by definition, so what is unknown of the intercept does not grow by it. */
static void a_constant_column_is_reported_and_adds_no_error(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    test_table t = make_table(PBOOST_LINEAR, 2048, 3, 1);
    for (size_t i = 0; i < t.n; i++)
        t.x[3 * i + 1] = 7.0;
    pboost_answers a = make_answers(&t, 16, 0.0, true, 1);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_int_equal(f.report.first_dropped, 1);
    assert_int_equal(f.report.rank, 2);
    assert_true(f.coef.theta[1] == 0.0 && f.covariance[5] == 0.0);
    assert_true(sqrt(f.covariance[15]) < 3.0 * sqrt(f.report.dispersion / (double)t.n));
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

static void labels_that_are_no_coin_leave_logistic_dispersion_at_one(void **state)
{
    (void)state;
    for (size_t i = 1; i < 3; i++) {
        pboost_fit_options o = options_for(FAMILIES[i], L2_AUTO);
        test_table t = make_table(o.family, 20000, 3, 1);
        pboost_answers a = make_answers(&t, 10, 0.0, true, 1);
        test_rng rng = {5};
        for (size_t b = 0; b < a.n_bags; b++)
            a.mean[b] += normal(&rng);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        if (o.family == PBOOST_LOGISTIC)
            assert_true(f.report.dispersion == 1.0 && f.report.pearson > 10.0);
        else
            assert_true(f.report.dispersion > 5.0);
        double lambda = o.family == PBOOST_LOGISTIC ? 0.75 : 3.0 * f.report.dispersion;
        assert_near(f.report.l2, lambda, 1e-9 * lambda);
        assert_true(f.report.l2_standardized);
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

static void cross_validation_shrinks_what_is_noise_and_not_what_is_not(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_LINEAR, 2000, 12, 3);
    pboost_answers a = make_answers(&t, 10, 0.0, false, 1);
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_CV);
    o.seed = 7;
    fitted signal = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    fitted again = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_memory_equal(signal.coef.theta, again.coef.theta, 12 * sizeof(double));
    test_rng rng = {1};
    for (size_t b = 0; b < a.n_bags; b++)
        a.mean[b] = normal(&rng);
    fitted noise = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    o.l2 = L2_AUTO;
    fitted plain = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(noise.report.l2 > 5.0 * plain.report.l2);
    assert_true(noise.report.freedom < 0.7 * plain.report.freedom);
    assert_true(signal.report.freedom > 9.0);
    fitted_free(&signal);
    fitted_free(&again);
    fitted_free(&noise);
    fitted_free(&plain);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* ---- Divergence is reported ------------------------------------------------------------------ */

static void a_fit_that_ran_away_says_so(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, pboost_l2_fixed(0.0));
    test_table t = make_table(PBOOST_LOGISTIC, 600, 2, 1);
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = t.x[i * 2] > 0.0;
    pboost_answers a = make_answers(&t, 4, 0.0, true, 1);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(f.report.separable);
    assert_false(f.report.converged);
    fitted_free(&f);
    o.l2 = L2_AUTO;
    f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(f.report.separable);
    assert_true(fabs(f.coef.theta[0]) < 200.0);
    fitted_free(&f);

    o = options_for(PBOOST_LOGISTIC, pboost_l2_fixed(1.0));
    o.max_iterations = 1;
    f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_false(f.report.converged);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

static void columns_that_add_nothing_are_reported(void **state)
{
    (void)state;
    for (int ridge = 0; ridge < 2; ridge++) {
        pboost_fit_options o = options_for(PBOOST_LINEAR, ridge ? L2_AUTO : pboost_l2_fixed(0.0));
        test_table t = make_table(PBOOST_LINEAR, 900, 4, 1);
        for (size_t i = 0; i < t.n; i++) {
            t.x[i * 4 + 1] = 7.0;
            t.x[i * 4 + 3] = 2.0 * t.x[i * 4] - t.x[i * 4 + 2];
        }
        pboost_answers a = make_answers(&t, 4, 0.0, true, 1);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_true(f.report.converged);
        assert_near(f.coef.theta[1], 0.0, 1e-9);
        if (!ridge) {
            assert_int_equal(f.report.rank, 2);
            assert_int_equal(f.report.first_dropped, 1);
            assert_true(f.coef.theta[3] == 0.0);
        }
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

static void mixed_bags_with_noise_under_cover_for_curved_families(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int noisy = 0; noisy < 2; noisy++)
            for (int sorted = 0; sorted < 2; sorted++) {
                pboost_fit_options o = options_for(FAMILIES[i], L2_AUTO);
                test_table t = make_table(o.family, 4000, 2, 1);
                pboost_answers a = make_answers(&t, 16, noisy ? 0.01 : 0.0, sorted, 1);
                fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
                assert_int_equal(f.report.undercovers,
                                 o.family != PBOOST_LINEAR && noisy && !sorted);
                fitted_free(&f);
                pboost_answers_clear(&a);
                free_table(&t);
            }
}

/* Noise takes the mean of all answers out of the family's range: an intercept would diverge.  The
 * labels are spent, so every estimator gives the constant model and says so. */
static void a_mean_outside_the_range_leaves_the_constant_model(void **state)
{
    (void)state;
    const pboost_estimator estimators[] = {PBOOST_EVENT, PBOOST_AGGREGATE, PBOOST_INTERPOLATED};
    const struct {
        pboost_family family;
        double mean, noise, expected; /* every answer, its variance, what the model predicts */
    } cases[] = {{PBOOST_POISSON, -0.5, 10.0, 0.2},  /* sqrt(10 / 250): one standard error */
                 {PBOOST_POISSON, 0.0, 0.0, 0.0005}, /* half an event in 1000 rows */
                 {PBOOST_LOGISTIC, 1.25, 10.0, 0.8},
                 {PBOOST_LOGISTIC, -0.25, 10.0, 0.2},
                 {PBOOST_LOGISTIC, -9.0, 1e6, 0.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t e = 0; e < 3; e++) {
            pboost_fit_options o = options_for(cases[i].family, L2_AUTO);
            o.estimator = estimators[e];
            test_table t = make_table(o.family, 1000, 3, i);
            pboost_answers a = make_answers(&t, 4, cases[i].noise, false, i);
            for (size_t b = 0; b < a.n_bags; b++)
                a.mean[b] = cases[i].mean + (b % 2 == 0 ? 0.25 : -0.25) * (cases[i].noise > 0.0);
            fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
            assert_true(f.report.converged && f.report.mean_masked);
            assert_int_equal(f.report.noisy, cases[i].noise > 0.0);
            for (size_t j = 0; j < 3; j++)
                assert_true(f.coef.theta[j] == 0.0);
            assert_near((double)mean_of(o.family, f.coef.intercept), cases[i].expected,
                        cases[i].noise == 10.0 ? 0.02 : 1e-12); /* bags have 4 to 7 rows */
            if (o.estimator == PBOOST_AGGREGATE)
                for (size_t j = 0; j < 4; j++)
                    assert_true(f.covariance[j * 5] > 0.0);
            /* Offsets are allowed for: the mean prediction stays where it is. */
            fitted g = fit_or_fail(&t.matrix, NULL, t.offset, &a, &o);
            assert_true(g.report.mean_masked && g.coef.intercept != f.coef.intercept);
            fitted_free(&g);
            o.intercept = false; /* nothing diverges: the ridge limits the weights */
            g = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
            assert_false(g.report.mean_masked);
            fitted_free(&g);
            fitted_free(&f);
            pboost_answers_clear(&a);
            free_table(&t);
        }
}

/* Inside the range, but by less than its error: the aggregate estimator does not follow the mean.
 */
static void a_mean_that_noise_drowns_is_not_followed(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_POISSON, L2_AUTO);
    test_table t = make_table(PBOOST_POISSON, 1000, 3, 1);
    pboost_answers a = make_answers(&t, 4, 10.0, false, 1);
    for (size_t b = 0; b < a.n_bags; b++)
        a.mean[b] = b % 2 == 0 ? 0.5 : -0.49;
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(f.report.mean_masked);
    assert_near(exp(f.coef.intercept), 0.2, 0.02);
    fitted_free(&f);
    for (size_t b = 0; b < a.n_bags; b++)
        a.mean[b] += 0.3;
    f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_false(f.report.mean_masked);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void bad_requests_are_refused(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_POISSON, pboost_l2_fixed(1.0)), bad = o;
    test_table t = make_table(PBOOST_POISSON, 60, 2, 1);
    pboost_answers a = make_answers(&t, 4, 0.0, true, 1), other = a;
    other.rounded = true;
    assert_refused(&t.matrix, NULL, NULL, &other, &o, PBOOST_INVALID, "rounded to 0 or 1");
    bad.l2 = pboost_l2_fixed(-0.5);
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "l2 is -0.5");
    bad.l2 = (pboost_l2){PBOOST_L2_AUTO, 3.0}; /* the mode was forgotten */
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "l2 is 3, but its mode");
    bad.l2.mode = (pboost_l2_mode)5;
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "l2.mode 5");
    bad = o;
    bad.struct_size = 8;
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "struct_size");
    bad = o;
    bad.threads = -1;
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "threads is -1");
    bad = o;
    bad.tolerance = -1.0;
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "tolerance");
    bad = o;
    bad.covariance = (pboost_covariance)9;
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "covariance 9");
    bad = o;
    bad.estimator = (pboost_estimator)9;
    assert_refused(&t.matrix, NULL, NULL, &a, &bad, PBOOST_INVALID, "estimator 9");
    bad = o;
    bad.l2 = L2_CV;
    other = a;
    other.n_bags = 5;
    assert_refused(&t.matrix, NULL, NULL, &other, &bad, PBOOST_BAD_DATA, "at least 10");
    other.n_bags = 0;
    assert_refused(&t.matrix, NULL, NULL, &other, &o, PBOOST_BAD_DATA, "no bags");

    t.offset[3] = NAN;
    assert_refused(&t.matrix, NULL, t.offset, &a, &o, PBOOST_BAD_DATA, "offset of row 3");
    t.weight[5] = -1.0;
    assert_refused(&t.matrix, t.weight, NULL, &a, &o, PBOOST_BAD_DATA, "weight of row 5");
    double keep = t.x[7];
    t.x[7] = INFINITY;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_BAD_DATA, "row 3, column 1");
    t.x[7] = 1e200;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_BAD_DATA, "rescaled");
    t.x[7] = keep;
    a.mean[2] = NAN;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_BAD_DATA, "answer for bag 2");
    pboost_answers_clear(&a);
    free_table(&t);
}

static void rows_of_weight_zero_silence_their_bags(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, pboost_l2_fixed(1.0));
    test_table t = make_table(PBOOST_LOGISTIC, 400, 2, 1);
    pboost_answers a = make_answers(&t, 4, 0.0, true, 1);
    for (size_t i = 0; i < t.n; i++)
        t.weight[i] = 1.0;
    t.weight[a.row[a.start[10]]] = 0.0;
    fitted f = fit_or_fail(&t.matrix, t.weight, NULL, &a, &o);
    a.mean[10] = 0.9;
    fitted g = fit_or_fail(&t.matrix, t.weight, NULL, &a, &o);
    assert_true(f.report.converged && g.report.converged);
    assert_same_coef(&f.coef, &g.coef, 1e-6);
    fitted_free(&f);
    fitted_free(&g);
    pboost_answers_clear(&a);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_bags_without_noise_are_the_event_level_fit),
        cmocka_unit_test(the_estimating_equation_is_solved),
        cmocka_unit_test(the_covariance_is_the_inverse_information),
        cmocka_unit_test(the_sandwich_agrees_where_the_model_is_right_and_grows_where_it_is_not),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(threads_and_levels_do_not_matter),
        cmocka_unit_test(the_dispersion_is_found),
        cmocka_unit_test(the_ridge_shrinks_where_noise_hides_the_weights),
        cmocka_unit_test(noise_on_single_labels_does_not_run_away),
        cmocka_unit_test(a_weight_that_is_known_is_kept_among_hidden_ones),
        cmocka_unit_test(doubt_about_the_dispersion_does_not_shrink),
        cmocka_unit_test(the_ridge_of_counts_shrinks_too),
        cmocka_unit_test(the_ridge_of_log_odds_is_given),
        cmocka_unit_test(labels_far_from_zero_converge),
        cmocka_unit_test(a_fit_that_is_near_its_solution_has_converged),
        cmocka_unit_test(a_column_that_never_varies_leaves_the_constant_model),
        cmocka_unit_test(a_constant_column_is_reported_and_adds_no_error),
        cmocka_unit_test(labels_that_are_no_coin_leave_logistic_dispersion_at_one),
        cmocka_unit_test(cross_validation_shrinks_what_is_noise_and_not_what_is_not),
        cmocka_unit_test(a_fit_that_ran_away_says_so),
        cmocka_unit_test(columns_that_add_nothing_are_reported),
        cmocka_unit_test(mixed_bags_with_noise_under_cover_for_curved_families),
        cmocka_unit_test(a_mean_outside_the_range_leaves_the_constant_model),
        cmocka_unit_test(a_mean_that_noise_drowns_is_not_followed),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(rows_of_weight_zero_silence_their_bags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A fit that continues has the result of a fit from scratch: as samples are added, as targets
 * change, as samples are others, with any penalty; and if it takes a step without a pass, its bound
 * holds. */
#include "testing.h"

#include "refit.h"

enum { ROWS = 6000, FEATURES = 5, SLICE = 500 };

static double x[ROWS * FEATURES], y[ROWS], longest;

static void draw(pboost_family family)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    pboost_error err;
    double theta[FEATURES], square = 0.0;
    s.family = family;
    s.features = FEATURES;
    s.round_labels = family == PBOOST_LOGISTIC;
    assert_ok(pboost_synthetic_theta(theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(x, y, &s, theta, 0, 0, ROWS, 1, &err), err);
    longest = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        square = 0.0;
        for (size_t j = 0; j < FEATURES; j++)
            square += x[i * FEATURES + j] * x[i * FEATURES + j];
        longest = fmax(longest, sqrt(square));
    }
}

static pboost_fit_options options_for(pboost_family family, double l2)
{
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.family = family;
    o.intercept = false;
    o.l2 = pboost_l2_fixed(l2);
    o.tolerance = 1e-10;
    return o;
}

/* Half the squared gradient in the norm of the inverse Hessian bounds the distance to the minimum;
 * here the minimum itself is found, and the objectives are compared. */
static void assert_minimum(const pboost_coef *found, const pboost_samples *all,
                           const pboost_fit_options *o, double times)
{
    pboost_error err;
    pboost_fit_report exact;
    pboost_fit_options tight = *o;
    pboost_coef best;
    double loss[2], penalty[2] = {0.0, 0.0};

    tight.tolerance = 1e-16;
    assert_ok(pboost_coef_init(&best, FEATURES, &err), err);
    assert_ok(pboost_event_fit(&best, &exact, all, &tight, &err), err);
    const pboost_coef both[2] = {*found, best};
    assert_ok(pboost_losses(loss, o->family, all, both, 2, 1, &err), err);
    double scale = (double)all->n * (o->family == PBOOST_LINEAR ? 0.5 : 1.0);
    for (int m = 0; m < 2; m++)
        for (size_t j = 0; j < FEATURES; j++)
            penalty[m] += 0.5 * o->l2.value * both[m].theta[j] * both[m].theta[j];
    double value = loss[0] * scale + penalty[0], least = loss[1] * scale + penalty[1];
    assert_true(value - least <= times * 1.01e-10 * fabs(least) + 1e-13 * scale);
    pboost_coef_free(&best);
}

static void fits_of_growing_tables_end_at_the_minimum(void **state)
{
    (void)state;
    static const double L2[] = {10.0, 1.0};
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++)
        for (size_t p = 0; p < 2; p++) {
            pboost_error err;
            pboost_refit *refit;
            pboost_coef coef;
            pboost_fit_report report;
            draw(family);
            assert_ok(pboost_coef_init(&coef, FEATURES, &err), err);
            assert_ok(pboost_refit_create(&refit, family, FEATURES, longest, &err), err);
            for (size_t n = SLICE; n <= ROWS; n += SLICE) {
                pboost_fit_options o = options_for(family, L2[p] * (p > 0 ? (double)n / SLICE : 1));
                pboost_matrix some = pboost_matrix_f64(x + (n - SLICE) * FEATURES, SLICE, FEATURES);
                pboost_matrix table = pboost_matrix_f64(x, n, FEATURES);
                pboost_samples added = {.x = &some, .n = SLICE, .target = y + n - SLICE};
                pboost_samples all = {.x = &table, .n = n, .target = y};
                assert_ok(pboost_refit_add(refit, &added, &err), err);
                assert_ok(pboost_refit_solve(&coef, &report, refit, &all, &o, &err), err);
                assert_true(report.converged);
                assert_minimum(&coef, &all, &o, 1.0);
            }
            pboost_refit_free(refit);
            pboost_coef_free(&coef);
        }
}

static void fits_of_other_targets_end_at_the_minimum(void **state)
{
    (void)state;
    pboost_error err;
    pboost_refit *refit;
    pboost_coef coef;
    pboost_fit_report report;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 10.0);
    pboost_matrix table = pboost_matrix_f64(x, ROWS, FEATURES);
    pboost_samples all = {.x = &table, .n = ROWS, .target = y};

    draw(PBOOST_LOGISTIC);
    assert_ok(pboost_coef_init(&coef, FEATURES, &err), err);
    assert_ok(pboost_refit_create(&refit, PBOOST_LOGISTIC, FEATURES, longest, &err), err);
    assert_ok(pboost_refit_add(refit, &all, &err), err);
    for (size_t every = 2; every < 4000; every *= 4) {
        double change[FEATURES] = {0};
        for (size_t i = 0; i < ROWS; i += every) {
            for (size_t j = 0; j < FEATURES; j++)
                change[j] += (1.0 - 2.0 * y[i]) * x[i * FEATURES + j];
            y[i] = 1.0 - y[i];
        }
        pboost_refit_retarget(refit, change);
        assert_ok(pboost_refit_solve(&coef, &report, refit, &all, &o, &err), err);
        assert_true(report.converged);
        assert_minimum(&coef, &all, &o, 1.0);
    }
    pboost_refit_free(refit);
    pboost_coef_free(&coef);
}

/* The first slices have many rows by column, the last ones so few that no Hessian is kept.  How far
 * the minimum is can only be judged by the Hessian of another place. */
static void fits_of_other_samples_end_at_the_minimum(void **state)
{
    (void)state;
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++) {
        pboost_error err;
        pboost_refit *refit;
        pboost_coef coef;
        pboost_fit_report report;
        pboost_fit_options o = options_for(family, 1.0);
        draw(family);
        assert_ok(pboost_coef_init(&coef, FEATURES, &err), err);
        assert_ok(pboost_refit_create(&refit, family, FEATURES, longest, &err), err);
        for (size_t first = 0, n = SLICE; first + n <= ROWS; first += n) {
            n = first < ROWS / 2 ? SLICE : 40;
            pboost_matrix table = pboost_matrix_f64(x + first * FEATURES, n, FEATURES);
            pboost_samples others = {.x = &table, .n = n, .target = y + first};
            assert_ok(pboost_refit_others(&coef, &report, refit, &others, &o, &err), err);
            assert_true(report.converged);
            assert_minimum(&coef, &others, &o, 2.0);
        }
        pboost_refit_free(refit);
        pboost_coef_free(&coef);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    pboost_error err;
    pboost_refit *refit;
    pboost_coef coef;
    pboost_fit_report report;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 10.0);
    pboost_matrix table = pboost_matrix_f64(x, ROWS, FEATURES);
    pboost_samples all = {.x = &table, .n = ROWS, .target = y};

    assert_fails(pboost_refit_create(&refit, PBOOST_LOGISTIC, 0, 1.0, &err), PBOOST_INVALID, err,
                 "0 columns");
    assert_fails(pboost_refit_create(&refit, PBOOST_LOGISTIC, 3, -1.0, &err), PBOOST_INVALID, err,
                 "-1");
    assert_ok(pboost_refit_create(&refit, PBOOST_LOGISTIC, FEATURES, 1.0, &err), err);
    assert_ok(pboost_coef_init(&coef, FEATURES + 1, &err), err);
    assert_fails(pboost_refit_solve(&coef, &report, refit, &all, &o, &err), PBOOST_INVALID, err,
                 "6 coefficients");
    assert_fails(pboost_refit_others(&coef, &report, refit, &all, &o, &err), PBOOST_INVALID, err,
                 "6 coefficients");
    pboost_coef_free(&coef);
    pboost_refit_free(refit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_of_growing_tables_end_at_the_minimum),
        cmocka_unit_test(fits_of_other_targets_end_at_the_minimum),
        cmocka_unit_test(fits_of_other_samples_end_at_the_minimum),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

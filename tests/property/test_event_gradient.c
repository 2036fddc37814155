/* Properties of any fit: derivatives are those of the value, and equivalent data give the same
 * result.
 */
#include "fit_support.h"

#include "passes/row_pass.h"

static const pboost_family FAMILIES[] = {PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON};

/* Gradient and Gram matrix of a pass against differences of its value and gradient. */
static void derivatives_match_differences(void **state)
{
    (void)state;
    enum { D = 11, PADDED = 16 };
    test_rng rng = {3};
    for (size_t f = 0; f < 3; f++)
        for (int extras = 0; extras < 4; extras++) {
            test_table t = make_table(FAMILIES[f], 213, D, 5 + f);
            pboost_samples s = samples_of(&t);
            s.weight = extras & 1 ? t.weight : NULL;
            s.offset = extras & 2 ? t.offset : NULL;
            pass_plan plan;
            const family_info *family = pboost_family_info(FAMILIES[f]);
            assert_int_equal(pboost_pass_init(&plan, &s, family, NULL, 1, NULL), PBOOST_OK);
            double theta[PADDED] = {0}, g[PADDED], cross[PADDED], gram[PADDED * PADDED];
            for (size_t j = 0; j < D; j++)
                theta[j] = 0.2 * normal(&rng);
            pass_sums at = pboost_pass_run(&plan, theta, 0.1, true);
            double residual = at.residual, curvature = at.curvature, h = 1e-5;
            memcpy(g, at.gradient, sizeof g);
            memcpy(cross, at.cross, sizeof cross);
            memcpy(gram, at.gram, sizeof gram);
            for (size_t j = 0; j <= D; j++) {
                double up_theta[PADDED], down_theta[PADDED], up_g[PADDED];
                memcpy(up_theta, theta, sizeof theta);
                memcpy(down_theta, theta, sizeof theta);
                double up_b = 0.1, down_b = 0.1;
                if (j < D) {
                    up_theta[j] += h;
                    down_theta[j] -= h;
                } else {
                    up_b += h;
                    down_b -= h;
                }
                pass_sums up = pboost_pass_run(&plan, up_theta, up_b, false);
                double up_value = up.value, up_residual = up.residual;
                memcpy(up_g, up.gradient, sizeof up_g);
                pass_sums down = pboost_pass_run(&plan, down_theta, down_b, false);
                assert_near((up_value - down.value) / (2 * h), j < D ? g[j] : residual, 1e-5);
                assert_near((up_residual - down.residual) / (2 * h), j < D ? cross[j] : curvature,
                            1e-5);
                for (size_t m = 0; m < D; m++) {
                    double d = (up_g[m] - down.gradient[m]) / (2 * h);
                    double expected = j == D  ? cross[m]
                                      : m < j ? gram[j * PADDED + m]
                                              : gram[m * PADDED + j];
                    assert_near(d, expected, 1e-5);
                }
            }
            pboost_pass_free(&plan);
            free_table(&t);
        }
}

/* To nine digits of the weights: the tolerance is on the objective, whose error is their square. */
static pboost_coef fitted(const pboost_samples *s, const pboost_fit_options *options)
{
    pboost_coef coef;
    pboost_fit_options exact = *options, *o = &exact;
    exact.tolerance = 1e-18;
    pboost_fit_report report;
    assert_int_equal(pboost_coef_init(&coef, s->x->cols, NULL), PBOOST_OK);
    assert_int_equal(pboost_event_fit(&coef, &report, s, o, NULL), PBOOST_OK);
    assert_true(report.converged);
    return coef;
}

static void assert_same_coef(const pboost_coef *a, const pboost_coef *b)
{
    for (size_t j = 0; j < a->n; j++)
        assert_near(a->theta[j], b->theta[j], 1e-9);
    assert_near(a->intercept, b->intercept, 1e-9);
}

static void the_order_of_rows_does_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
        o.l2 = pboost_l2_fixed(1.0);
        o.family = FAMILIES[seed % 3];
        test_table t = make_table(o.family, 300 + seed, 4, seed);
        pboost_samples s = samples_of(&t);
        pboost_coef a = fitted(&s, &o);
        size_t *row = calloc(t.n, sizeof *row);
        double *y = calloc(t.n, sizeof *y);
        test_rng rng = {seed};
        for (size_t i = 0; i < t.n; i++)
            row[i] = i;
        for (size_t i = t.n - 1; i > 0; i--) {
            size_t j = (size_t)(uniform(&rng) * (double)(i + 1)), keep = row[i];
            row[i] = row[j];
            row[j] = keep;
        }
        for (size_t i = 0; i < t.n; i++)
            y[i] = t.y[row[i]];
        s.row = row;
        s.target = y;
        pboost_coef b = fitted(&s, &o);
        assert_same_coef(&a, &b);
        pboost_coef_free(&a);
        pboost_coef_free(&b);
        free(row);
        free(y);
        free_table(&t);
    }
}

static void scaling_a_column_scales_its_weight(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
        o.l2 = pboost_l2_fixed(1.0);
        o.family = FAMILIES[seed % 3];
        o.l2 = pboost_l2_fixed(0.0);
        test_table t = make_table(o.family, 300, 4, seed);
        pboost_samples s = samples_of(&t);
        pboost_coef a = fitted(&s, &o);
        for (size_t i = 0; i < t.n; i++)
            t.x[i * 4 + 2] *= -64.0;
        pboost_coef b = fitted(&s, &o);
        b.theta[2] *= -64.0;
        assert_same_coef(&a, &b);
        pboost_coef_free(&a);
        pboost_coef_free(&b);
        free_table(&t);
    }
}

static void a_weight_is_a_repetition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
        o.l2 = pboost_l2_fixed(1.0);
        o.family = FAMILIES[seed % 3];
        test_table t = make_table(o.family, 200, 4, seed);
        pboost_samples s = samples_of(&t);
        size_t row[800], n = 0;
        double y[800];
        for (size_t i = 0; i < t.n; i++) {
            t.weight[i] = (double)(i % 4);
            for (size_t k = 0; k < i % 4; k++, n++) {
                row[n] = i;
                y[n] = t.y[i];
            }
        }
        s.weight = t.weight;
        pboost_coef a = fitted(&s, &o);
        pboost_samples repeated = {.x = &t.matrix, .row = row, .n = n, .target = y};
        pboost_coef b = fitted(&repeated, &o);
        assert_same_coef(&a, &b);
        pboost_coef_free(&a);
        pboost_coef_free(&b);
        free_table(&t);
    }
}

static void the_intercept_takes_up_an_offset(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
        o.l2 = pboost_l2_fixed(1.0);
        o.family = FAMILIES[seed % 3];
        test_table t = make_table(o.family, 200, 4, seed);
        pboost_samples s = samples_of(&t);
        s.offset = t.offset;
        pboost_coef a = fitted(&s, &o);
        for (size_t i = 0; i < t.n; i++)
            t.offset[i] += 1.75;
        pboost_coef b = fitted(&s, &o);
        b.intercept += 1.75;
        assert_same_coef(&a, &b);
        pboost_coef_free(&a);
        pboost_coef_free(&b);
        free_table(&t);
    }
}

/* At the minimum the gradient in the report is that of the data. */
static void the_gradient_vanishes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
        o.l2 = pboost_l2_fixed(1.0);
        o.family = FAMILIES[seed % 3];
        test_table t = make_table(o.family, 400, 9, seed);
        pboost_samples s = samples_of(&t);
        pboost_coef a = fitted(&s, &o);
        long double b[10], g[10];
        for (size_t j = 0; j < 9; j++)
            b[j] = a.theta[j];
        b[9] = a.intercept;
        objective_ld(&s, &o, b, g, NULL);
        for (size_t j = 0; j < 10; j++)
            assert_near((double)g[j], 0.0, 1e-4);
        pboost_coef_free(&a);
        free_table(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_match_differences),
        cmocka_unit_test(the_order_of_rows_does_not_matter),
        cmocka_unit_test(scaling_a_column_scales_its_weight),
        cmocka_unit_test(a_weight_is_a_repetition),
        cmocka_unit_test(the_intercept_takes_up_an_offset),
        cmocka_unit_test(the_gradient_vanishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

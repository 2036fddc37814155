/* Ridges of classes, from the answers: columns that say almost the same, noise, curves. */
#include "class_support.h"

#include <priorboost/smooth.h>

#include "data/answers.h"

/* The mean over rows of how far probabilities are from the true ones, by relative entropy. */
static double entropy_from_truth(const class_table *t, const pboost_class_coef *coef)
{
    pboost_samples all = {.x = &t->matrix, .n = t->n};
    double *p = calloc(t->n * t->classes, sizeof *p), *q = calloc(t->n * t->classes, sizeof *q);
    double sum = 0.0;
    pboost_error err = {0};

    assert_ok(pboost_classes_predict(p, &all, &t->truth, 1, &err), err);
    assert_ok(pboost_classes_predict(q, &all, coef, 1, &err), err);
    for (size_t i = 0; i < t->n * t->classes; i++)
        sum += p[i] * log(p[i] / q[i]) / (double)t->n;
    free(p);
    free(q);
    return sum;
}

/* Labels drawn again, after x or the truth changed. */
static void draw_labels(class_table *t, uint64_t seed)
{
    pboost_samples all = {.x = &t->matrix, .n = t->n};
    double *p = calloc(t->n * t->classes, sizeof *p);
    uint64_t word[2];
    pboost_error err = {0};

    assert_ok(pboost_classes_predict(p, &all, &t->truth, 1, &err), err);
    for (size_t i = 0; i < t->n; i++) {
        pboost_rng_words(word, seed, RNG_LABELS, 2, i);
        double u = (double)(word[0] >> 11) * 0x1p-53;
        size_t c = 0;
        for (; c + 1 < t->classes && u >= p[i * t->classes + c]; c++)
            u -= p[i * t->classes + c];
        t->label[i] = (double)c;
    }
    free(p);
}

/* Column 1 is column 0 and a little more, and the classes differ by the little more: the usual
 * ridge does not expect weights as large as that. */
static class_table twin_columns(void)
{
    class_table t = class_table_make(8192, 4, 3, 31);
    for (size_t i = 0; i < t.n; i++)
        t.x[4 * i + 1] = t.x[4 * i] + 0.05 * t.x[4 * i + 1];
    for (size_t c = 1; c < 3; c++) {
        t.truth.theta[5 * c] = c == 1 ? -20.0 : 20.0;
        t.truth.theta[5 * c + 1] = -t.truth.theta[5 * c];
    }
    draw_labels(&t, 31);
    return t;
}

static void columns_that_say_almost_the_same(void **state)
{
    (void)state;
    class_table t = twin_columns();
    pboost_answers *a = class_answers(&t, 16, 0.0, NULL, 31);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE), usual = o;
    usual.l2 = pboost_l2_fixed(1.0); /* d / 4 */
    class_fitted f = class_fit_or_fail(&t, a, &o), g = class_fit_or_fail(&t, a, &usual);

    assert_true(f.report.l2 < 0.05);
    assert_true(entropy_from_truth(&t, &f.coef) < 0.5 * entropy_from_truth(&t, &g.coef));
    class_fitted_free(&f);
    class_fitted_free(&g);
    pboost_answers_free(a);
    class_table_free(&t);
}

/* Under noise no ridge is weaker than the usual one; where noise hides all, it is stronger. */
static void noise_strengthens(void **state)
{
    (void)state;
    class_table t = twin_columns();
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    double least = 1.0;

    for (double noise = 1e-4; noise < 20.0; noise *= 100.0) {
        pboost_answers *a = class_answers(&t, 16, noise, NULL, 31);
        class_fitted f = class_fit_or_fail(&t, a, &o);
        assert_true(f.report.l2 >= least);
        least = noise > 1e-3 ? 1.01 : 1.0;
        class_fitted_free(&f);
        pboost_answers_free(a);
    }
    class_table_free(&t);
}

/* Bags left out choose a weak ridge where large weights are right, and a strong one where none is.
 */
static void cross_validation(void **state)
{
    (void)state;
    class_table t = twin_columns();
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    pboost_answers *a = class_answers(&t, 16, 0.0, NULL, 31);
    pboost_class_coef coef;
    pboost_error err = {0};

    o.l2 = (pboost_l2){.mode = PBOOST_L2_CV};
    class_fitted f = class_fit_or_fail(&t, a, &o);
    assert_true(f.report.l2 < 0.15 && f.report.l2_standardized);
    class_fitted_free(&f);
    pboost_answers_free(a);
    for (size_t i = 0; i < 15; i++)
        t.truth.theta[i] = 0.0;
    int strong = 0; /* by chance a set of labels may look as if columns had an effect */
    for (uint64_t seed = 1; seed <= 5; seed++) {
        draw_labels(&t, seed);
        a = class_answers(&t, 16, 0.0, NULL, seed);
        f = class_fit_or_fail(&t, a, &o);
        strong += f.report.l2 > 5.0;
        class_fitted_free(&f);
        pboost_answers_free(a);
    }
    assert_true(strong >= 3);
    assert_ok(pboost_class_coef_init(&coef, 3, 4, &err), err);
    a = class_answers(&t, 1024, 0.0, NULL, 31);
    assert_fails(pboost_classes_fit(&coef, NULL, NULL, PLAIN(t.matrix), a, 0, &o, &err),
                 PBOOST_BAD_DATA, err, "at least 10 of them; there are 8");
    o.estimator = PBOOST_EVENT;
    assert_fails(pboost_classes_fit(&coef, NULL, NULL, PLAIN(t.matrix), a, 0, &o, &err),
                 PBOOST_INVALID, err, "cross-validation is for the aggregate estimator");
    pboost_class_coef_free(&coef);
    pboost_answers_free(a);
    class_table_free(&t);
}

/* Where columns do nothing, their weights are shrunk more than usual. */
static void columns_without_effect(void **state)
{
    (void)state;
    class_table t = class_table_make(4096, 6, 4, 37);
    for (size_t c = 1; c < 4; c++)
        for (size_t j = 0; j < 6; j++)
            t.truth.theta[7 * c + j] = 0.0;
    draw_labels(&t, 37);
    pboost_answers *a = class_answers(&t, 16, 0.0, NULL, 37);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    class_fitted f = class_fit_or_fail(&t, a, &o);

    assert_true(f.report.l2 > 1.5);
    class_fitted_free(&f);
    pboost_answers_free(a);
    class_table_free(&t);
}

/* The class in the middle of a column, where no straight line finds it: with curves the fit does.
 */
static void curves_bend(void **state)
{
    (void)state;
    class_table t = class_table_make(8192, 2, 3, 41);
    pboost_error err = {0};
    pboost_curve curve = {0};
    uint64_t word[2];

    for (size_t i = 0; i < t.n; i++) {
        double middle = fabs(t.x[2 * i]) < 0.7 ? 0.9 : 0.1;
        pboost_rng_words(word, 41, RNG_LABELS, 3, i);
        double u = (double)(word[0] >> 11) * 0x1p-53;
        t.label[i] = u < middle ? 1.0 : u < 0.5 + 0.5 * middle ? 0.0 : 2.0;
    }
    assert_ok(pboost_curve_learn(&curve, t.x, 2, t.n, 8, 1, &err), err);
    pboost_bend bend = {0, &curve};
    pboost_curved curved = {t.matrix, 1, &bend};
    pboost_matrix x = pboost_matrix_curved(&curved);
    pboost_answers *a = class_answers(&t, 16, 0.0, NULL, 41);
    pboost_fit_options o = class_options(PBOOST_AGGREGATE);
    class_fitted straight = class_fit_or_fail(&t, a, &o);
    pboost_class_coef coef;
    pboost_fit_report report;

    o.curves = curve.n;
    assert_ok(pboost_class_coef_init(&coef, 3, x.cols, &err), err);
    assert_ok(pboost_classes_fit(&coef, &report, NULL, PLAIN(x), a, 0, &o, &err), err);
    assert_true(report.converged);
    assert_true(straight.report.pearson > 2.0);
    assert_true(report.pearson < 1.3);
    pboost_class_coef_free(&coef);
    class_fitted_free(&straight);
    pboost_answers_free(a);
    pboost_curve_free(&curve);
    class_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_that_say_almost_the_same),
        cmocka_unit_test(noise_strengthens),
        cmocka_unit_test(cross_validation),
        cmocka_unit_test(columns_without_effect),
        cmocka_unit_test(curves_bend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

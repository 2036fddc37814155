/* Curves: natural cubic splines that a plain ridge penalises by their curvature. */
#include "fit_support.h"

#include <priorboost/smooth.h>

#include "testing.h"

enum { ROWS = 500 };

static double *numbers(uint64_t seed, double scale, double shift)
{
    test_rng rng = {seed};
    double *x = malloc(ROWS * sizeof *x);
    for (size_t i = 0; i < ROWS; i++)
        x[i] = shift + scale * normal(&rng);
    return x;
}

static pboost_curve learn(const double *x, size_t n, size_t columns)
{
    pboost_curve c;
    pboost_error err = {0};
    assert_ok(pboost_curve_learn(&c, x, 1, n, columns, 1, &err), err);
    return c;
}

static double at(const pboost_curve *c, size_t j, double x)
{
    double row[PBOOST_CURVE_COLUMNS];
    pboost_curve_apply(row, 0, c, &x, 0, 1);
    return row[j];
}

/* Of (x - first knot) / range. */
static double second_derivative(const pboost_curve *c, size_t j, double x)
{
    double range = c->knot[c->n_knots - 1] - c->knot[0], h = 1e-3 * range;
    return (at(c, j, x + h) - 2.0 * at(c, j, x) + at(c, j, x - h)) * 1e6;
}

/* Mean 0, no correlation with the number or another function, variances that sum to 1. */
static void test_moments(void **state)
{
    (void)state;
    double *x = numbers(1, 3.0, 40.0), row[2][PBOOST_CURVE_COLUMNS];
    pboost_curve c = learn(x, ROWS, 8);
    double sum[9] = {0}, cross[9][9] = {{0}}, total = 0.0;
    assert_int_equal(c.n, 8);
    assert_int_equal(c.n_knots, 10);
    for (size_t i = 0; i < ROWS; i++) {
        double v[9] = {(x[i] - 40.0) / 3.0};
        pboost_curve_apply(row[0], 0, &c, &x[i], 0, 1);
        memcpy(v + 1, row[0], 8 * sizeof *v);
        for (size_t j = 0; j < 9; j++) {
            sum[j] += v[j] / ROWS;
            for (size_t k = 0; k < 9; k++)
                cross[j][k] += v[j] * v[k] / ROWS;
        }
    }
    for (size_t j = 1; j < 9; j++) {
        assert_near(sum[j], 0.0, 1e-10);
        for (size_t k = 0; k < j; k++)
            assert_near(cross[j][k] - sum[j] * sum[k], 0.0, 1e-10);
        total += cross[j][j];
        assert_true(j == 1 || cross[j][j] <= cross[j - 1][j - 1]);
    }
    assert_near(total, 1.0, 1e-10);
    pboost_curve_free(&c);
    free(x);
}

/* All functions have the same integral of the squared second derivative, and no mixed ones. */
static void test_curvature(void **state)
{
    (void)state;
    double *x = numbers(2, 1.0, 0.0), size = 0.0;
    pboost_curve c = learn(x, ROWS, 6);
    for (size_t j = 0; j < c.n; j++)
        for (size_t k = 0; k <= j; k++) {
            double sum = 0.0;
            for (size_t i = 0; i + 1 < c.n_knots; i++) { /* of two straight lines: exact */
                const double *a = c.bend + j * c.n_knots + i, *b = c.bend + k * c.n_knots + i;
                sum += (c.knot[i + 1] - c.knot[i]) *
                       (2.0 * a[0] * b[0] + 2.0 * a[1] * b[1] + a[0] * b[1] + a[1] * b[0]) / 6.0;
            }
            size = j == 0 ? sum : size;
            assert_near(sum, j == k ? size : 0.0, 1e-9 * size);
        }
    pboost_curve_free(&c);
    free(x);
}

/* Two continuous derivatives, and straight lines beyond the outer knots. */
static void test_natural(void **state)
{
    (void)state;
    double *x = numbers(3, 2.0, -7.0);
    pboost_curve c = learn(x, ROWS, 8);
    double first = c.knot[0], last = c.knot[c.n_knots - 1], range = last - first;
    for (size_t j = 0; j < c.n; j++) {
        double most = 0.0;
        for (size_t k = 0; k < c.n_knots; k++)
            most = fmax(most, fabs(c.bend[j * c.n_knots + k]));
        for (size_t k = 0; k < c.n_knots; k++) {
            assert_near(at(&c, j, c.knot[k]), c.value[j * c.n_knots + k], 1e-12);
            assert_near(second_derivative(&c, j, c.knot[k]), c.bend[j * c.n_knots + k],
                        0.1 * most); /* over a distance of a thousandth */
        }
        assert_near(second_derivative(&c, j, first - range), 0.0, 1e-6 * most);
        assert_near(second_derivative(&c, j, last + 100.0 * range), 0.0, 1e-4 * most);
        double near = at(&c, j, last + range) - at(&c, j, last);
        assert_near(at(&c, j, last + 2.0 * range) - at(&c, j, last + range), near, 1e-9);
    }
    pboost_curve_free(&c);
    free(x);
}

/* The functions do not depend on the units of the number. */
static void test_units(void **state)
{
    (void)state;
    double *x = numbers(4, 1.0, 0.0), *y = malloc(ROWS * sizeof *y);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = 1e-200 * x[i];
    pboost_curve c = learn(x, ROWS, 5), small = learn(y, ROWS, 5);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < c.n; j++)
            assert_near(at(&small, j, y[i]), at(&c, j, x[i]), 1e-9);
    pboost_curve_free(&c);
    pboost_curve_free(&small);
    free(x);
    free(y);
}

/* The order of the rows and NaN do not matter. */
static void test_order(void **state)
{
    (void)state;
    double *x = numbers(5, 1.0, 0.0), *y = malloc((ROWS + 1) * sizeof *y);
    for (size_t i = 0; i < ROWS; i++)
        y[i] = x[ROWS - 1 - i];
    y[ROWS] = NAN;
    pboost_curve a = learn(x, ROWS, 8), b = learn(y, ROWS + 1, 8);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.knot, b.knot, a.n_knots * sizeof *a.knot);
    assert_memory_equal(a.value, b.value, a.n * a.n_knots * sizeof *a.value);
    assert_memory_equal(a.bend, b.bend, a.n * a.n_knots * sizeof *a.bend);
    pboost_curve_free(&a);
    pboost_curve_free(&b);
    free(x);
    free(y);
}

/* A number that most rows have, and few different numbers. */
static void test_ties(void **state)
{
    (void)state;
    double x[ROWS] = {0.0};
    for (size_t i = 0; i < ROWS; i++)
        x[i] = (double)(i % 7);
    pboost_curve c = learn(x, ROWS, 8);
    assert_int_equal(c.n_knots, 0); /* 7 values */
    assert_int_equal(c.n, 0);
    for (size_t i = 0; i < ROWS; i++)
        x[i] = 3.0;
    c = learn(x, ROWS, 8);
    assert_int_equal(c.n, 0);
    for (size_t i = 0; i < ROWS; i++)
        x[i] = i < 450 ? 0.0 : (double)(i % 12) * 1000.0;
    c = learn(x, ROWS, 8);
    assert_true(c.n >= 4);
    for (size_t k = 1; k < c.n_knots; k++)
        assert_true(c.knot[k] > c.knot[k - 1]);
    for (size_t j = 0; j < c.n; j++)
        assert_true(isfinite(at(&c, j, 0.0)) && isfinite(at(&c, j, 11000.0)));
    pboost_curve_free(&c);
    c = learn(x, 0, 8);
    assert_int_equal(c.n, 0);
}

static void test_refusals(void **state)
{
    (void)state;
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    pboost_curve c;
    pboost_error err;
    assert_fails(pboost_curve_learn(&c, x, 1, 8, 3, 1, &err), PBOOST_INVALID, err,
                 "a curve of 3 columns; it must have 4 to 8");
    assert_fails(pboost_curve_learn(&c, x, 1, 8, 9, 1, &err), PBOOST_INVALID, err, "4 to 8");
    x[0] = -1.7e308;
    x[7] = 1.7e308;
    assert_fails(pboost_curve_learn(&c, x, 1, 8, 8, 1, &err), PBOOST_BAD_DATA, err,
                 "too far apart");
    assert_null(c.knot);
    x[0] = INFINITY;
    assert_int_equal(pboost_curve_learn(&c, x, 1, 8, 8, 1, &err), PBOOST_BAD_DATA);
}

/* ---- Columns that are computed when they are read -------------------------------------------- */

enum { STRAIGHT = 3, EACH = 5, ALL = STRAIGHT + 2 * EACH, BAG = 5 };

/* Two curves of three columns, once computed and once as an array. */
typedef struct {
    double x[ROWS * STRAIGHT], all[ROWS * ALL];
    float narrow[ROWS * STRAIGHT];
    pboost_curve curve[2];
    pboost_bend bend[2];
    pboost_curved curved;
    pboost_matrix computed, array;
} bent_table;

static void make_bent(bent_table *t)
{
    test_rng rng = {9};
    for (size_t i = 0; i < ROWS * STRAIGHT; i++) /* the last column is far from 0 */
        t->x[i] = t->narrow[i] = (float)(normal(&rng) + (i % STRAIGHT == 2 ? 1000.0 : 0.0));
    for (size_t k = 0; k < 2; k++) {
        t->bend[k] = (pboost_bend){2 * k, &t->curve[k]};
        pboost_error err = {0};
        assert_ok(pboost_curve_learn(&t->curve[k], t->x + 2 * k, STRAIGHT, ROWS, EACH, 1, &err),
                  err);
        assert_int_equal(t->curve[k].n, EACH);
        pboost_curve_apply(t->all + STRAIGHT + k * EACH, ALL, &t->curve[k], t->x + 2 * k, STRAIGHT,
                           ROWS);
    }
    for (size_t i = 0; i < ROWS; i++)
        memcpy(t->all + i * ALL, t->x + i * STRAIGHT, STRAIGHT * sizeof *t->x);
    t->curved = (pboost_curved){pboost_matrix_f64(t->x, ROWS, STRAIGHT), 2, t->bend};
    t->computed = pboost_matrix_curved(&t->curved);
    t->array = pboost_matrix_f64(t->all, ROWS, ALL);
}

/* Predictions and moments have the bits of those from an array, for doubles and floats. */
static void test_computed_columns(void **state)
{
    (void)state;
    static bent_table t;
    double theta[ALL], mean[2][ROWS], moment[4][ALL];
    pboost_coef coef = {ALL, theta, 0.1};
    pboost_error err = {0};
    make_bent(&t);
    assert_int_equal(t.computed.cols, ALL);
    for (size_t j = 0; j < ALL; j++)
        theta[j] = j == 2 ? 1e-3 : 0.3 - 0.1 * (double)j;
    for (int narrow = 0; narrow < 2; narrow++) {
        const pboost_matrix *x[] = {&t.computed, &t.array};
        for (size_t i = 0; i < 2; i++) {
            pboost_samples s = {.x = x[i], .n = ROWS};
            assert_ok(pboost_predict(mean[i], PBOOST_LOGISTIC, &s, &coef, 1, &err), err);
            assert_ok(pboost_matrix_moments(moment[i], moment[2 + i], x[i], &err), err);
        }
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(moment[0], moment[1], sizeof moment[0]);
        assert_memory_equal(moment[2], moment[3], sizeof moment[2]);
        t.curved.x.data = t.narrow;
        t.curved.x.type = PBOOST_F32;
    }
    pboost_curve_free(&t.curve[0]);
    pboost_curve_free(&t.curve[1]);
}

/* A fit is that from an array but for rounding, for any number of threads. */
static void test_computed_fit(void **state)
{
    (void)state;
    static bent_table t;
    double answer[ROWS / BAG] = {0}, theta[3][ALL] = {{0}};
    size_t row[ROWS], start[ROWS / BAG + 1];
    pboost_bags bags = {ROWS, ROWS / BAG, row, start};
    pboost_answers *answers;
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    size_t curve_of[2 * EACH] = {0};
    pboost_error err = {0};
    make_bent(&t);
    for (size_t i = 0; i < ROWS; i++) { /* 7 and 500 have no common divisor */
        row[i] = i * 7 % ROWS;
        start[i / BAG] = i / BAG * BAG;
        answer[i / BAG] += sin(t.x[row[i] * STRAIGHT]) / BAG;
    }
    start[ROWS / BAG] = ROWS;
    for (size_t j = EACH; j < 2 * EACH; j++)
        curve_of[j] = 1;
    assert_ok(pboost_answers_create(&answers, &err), err);
    assert_ok(pboost_answers_append(answers, &bags, answer, NULL, &err), err);
    o.estimator = PBOOST_AGGREGATE;
    o.curves = 2 * EACH;
    o.curve_of = curve_of;
    for (int i = 0; i < 3; i++) {
        pboost_coef coef = {ALL, theta[i], 0.0};
        pboost_features features = {.x = i == 0 ? t.array : t.computed};
        o.threads = i == 2 ? 3 : 1;
        assert_ok(pboost_answers_fit(&coef, NULL, NULL, &features, answers, 0, &o, &err), err);
    }
    for (size_t j = 0; j < ALL; j++)
        assert_close(theta[1][j], theta[0][j], 1e-8 * (1.0 + fabs(theta[0][j])));
    assert_memory_equal(theta[1], theta[2], sizeof theta[1]);
    pboost_answers_free(answers);
    pboost_curve_free(&t.curve[0]);
    pboost_curve_free(&t.curve[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),      cmocka_unit_test(test_curvature),
        cmocka_unit_test(test_natural),      cmocka_unit_test(test_units),
        cmocka_unit_test(test_order),        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_computed_columns),
        cmocka_unit_test(test_computed_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

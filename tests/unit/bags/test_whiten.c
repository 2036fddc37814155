/* Whitening: covariance the identity, whatever the columns. */
#include "testing.h"

#include "bags/whiten.h"
#include "data/matrix.h"

#define ROWS 2000

static double uniform(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 16777216.0;
}

/* A column far from 0, one that is tiny, a copy, a constant, a sum of others, a rare indicator. */
static void fill_awkward(double *x)
{
    unsigned state = 1;
    for (size_t i = 0; i < ROWS; i++) {
        double a = uniform(&state), b = uniform(&state);
        double row[] = {1e6 + a, 1e-9 * b, a, 7.0, 3.0 * a - 2e9 * (1e-9 * b), i % 500 == 0};
        memcpy(x + i * 6, row, sizeof row);
    }
}

static void check_identity(const pboost_white *white, const double *weight)
{
    double total = 0.0;
    for (size_t i = 0; i < white->n; i++)
        total += weight != NULL ? weight[i] : 1.0;
    for (size_t a = 0; a < white->rank; a++)
        for (size_t b = 0; b <= a; b++) {
            double mean = 0.0, product = 0.0;
            for (size_t i = 0; i < white->n; i++) {
                double w = (weight != NULL ? weight[i] : 1.0) / total;
                double za = (double)white->z[i * white->stride + a];
                mean += w * za;
                product += w * za * (double)white->z[i * white->stride + b];
            }
            assert_close(mean, 0.0, 1e-7);
            assert_close(product, a == b ? 1.0 : 0.0, 1e-6);
        }
}

static void test_identity(void **state)
{
    (void)state;
    pboost_error err;
    pboost_white white;
    static double x[ROWS * 6];
    fill_awkward(x);
    pboost_matrix m = pboost_matrix_f64(x, ROWS, 6);
    pboost_samples samples = {.x = &m, .n = ROWS};
    assert_ok(pboost_whiten(&white, &samples, 0, 2, NULL, &err), err);
    assert_int_equal(white.rank, 3);
    check_identity(&white, NULL);
    pboost_white_free(&white);
}

static void test_weighted(void **state)
{
    (void)state;
    pboost_error err;
    pboost_white white;
    static double x[ROWS * 6], weight[ROWS];
    unsigned random = 5;
    fill_awkward(x);
    for (size_t i = 0; i < ROWS; i++)
        weight[i] = 0.1 + uniform(&random);
    pboost_matrix m = pboost_matrix_f64(x, ROWS, 6);
    pboost_samples samples = {.x = &m, .n = ROWS, .weight = weight};
    assert_ok(pboost_whiten(&white, &samples, 0, 1, NULL, &err), err);
    check_identity(&white, weight);
    pboost_white_free(&white);
}

static void test_constant(void **state)
{
    (void)state;
    pboost_error err;
    pboost_white white;
    double x[40];
    for (size_t i = 0; i < 40; i++)
        x[i] = 0.1 + 1e10 * (double)(i % 2);
    pboost_matrix m = pboost_matrix_f64(x, 20, 2);
    pboost_samples samples = {.x = &m, .n = 20};
    assert_ok(pboost_whiten(&white, &samples, 3, 1, NULL, &err), err);
    assert_int_equal(white.rank, 0);
    assert_int_equal(white.stride, PANEL_LANES); /* for the extra coordinates */
    pboost_white_free(&white);
}

static void test_refusals(void **state)
{
    (void)state;
    pboost_error err;
    pboost_white white;
    double x[] = {1.0, 2.0, NAN, 4.0};
    pboost_matrix m = pboost_matrix_f64(x, 2, 2);
    pboost_samples samples = {.x = &m, .n = 2};
    assert_fails(pboost_whiten(&white, &samples, 0, 1, NULL, &err), PBOOST_BAD_DATA, err,
                 "row 1, column 0 is nan");
    assert_null(white.z);
    x[2] = 1e300;
    x[0] = -1e300;
    assert_fails(pboost_whiten(&white, &samples, 0, 1, NULL, &err), PBOOST_BAD_DATA, err,
                 "overflows");
}

/* It is asked before each of the passes over the rows, and again in the last where that is long. */
static void test_watch(void **state)
{
    (void)state;
    pboost_error err;
    pboost_white white;
    size_t rows[] = {100, (size_t)1 << 20}, looks[] = {3, 4};
    double *x = malloc(rows[1] * sizeof *x);
    unsigned random = 9;
    for (size_t i = 0; i < rows[1]; i++)
        x[i] = uniform(&random);
    for (size_t c = 0; c < 2; c++) {
        pboost_matrix m = pboost_matrix_f64(x, rows[c], 1);
        pboost_samples samples = {.x = &m, .n = rows[c]};
        for (size_t most = 0; most <= looks[c]; most++) {
            look_limit p = {0, most};
            pboost_cancel cancel = {.stop = runs_out, .user = &p};
            pboost_status st = pboost_whiten(&white, &samples, 0, 2, &cancel, &err);
            assert_int_equal(st, most < looks[c] ? PBOOST_CANCELLED : PBOOST_OK);
            assert_int_equal(p.looks, most < looks[c] ? most + 1 : looks[c]);
            assert_true((white.z == NULL) == (most < looks[c]));
            pboost_white_free(&white);
        }
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity), cmocka_unit_test(test_weighted),
        cmocka_unit_test(test_constant), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

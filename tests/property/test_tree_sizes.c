/* Feature bags are a partition into bags of k to 2k-1 rows, floor(n/k) of them, for any shape of
 * data: ties, identical rows, outliers, more columns than rows, single precision, columns side by
 * side. */
#include "testing.h"

#define SHAPES 7

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static double value(int shape, size_t i, size_t j, uint64_t *state)
{
    double u = (double)next(state) / 2147483648.0;
    switch (shape) {
    case 0:
        return u;
    case 1:
        return (double)(next(state) % 3); /* ties */
    case 2:
        return 4.0; /* all the same */
    case 3:
        return i % 10 == 0 ? u : 1.0; /* mostly the same */
    case 4:
        return exp(40.0 * u); /* outliers */
    case 5:
        return (double)i * (j == 0) + (double)(i % (j + 1)); /* an order, and codes */
    default:
        return (i == j) ? 1.0 : 0.0; /* one row for each column */
    }
}

static void check_case(int shape, size_t n, size_t d, size_t k, uint64_t seed)
{
    pboost_error err;
    pboost_bags bags;
    double *x = malloc(n * d * sizeof *x);
    float *y = malloc(n * d * sizeof *y);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            x[i * d + j] = value(shape, i, j, &seed);
            y[j * n + i] = (float)x[i * d + j];
        }
    pboost_matrix rows = pboost_matrix_f64(x, n, d);
    pboost_matrix columns = {y, PBOOST_F32, n, d, 1, (ptrdiff_t)n};
    for (int layout = 0; layout < 2; layout++) {
        pboost_samples samples = {.x = layout == 0 ? &rows : &columns, .n = n};
        assert_ok(pboost_bags_features(&bags, &samples, k, 1 + layout, NULL, &err), err);
        assert_ok(pboost_bags_check(&bags, n, k, &err), err);
        assert_int_equal(bags.n_rows, n);
        assert_true(bags.n_bags <= n / k);
        if (shape == 0 && d > 1) /* where there is one direction alone, fewer may be better */
            assert_int_equal(bags.n_bags, n / k);
        for (size_t b = 0; b < bags.n_bags; b++)
            assert_true(bags.start[b + 1] - bags.start[b] < 2 * k);
        pboost_bags_free(&bags);
    }
    free(x);
    free(y);
}

static void test_sizes(void **state)
{
    (void)state;
    uint64_t random = 17;
    for (int trial = 0; trial < 300; trial++) {
        size_t n = 1 + next(&random) % 400, d = 1 + next(&random) % 24;
        size_t k = 1 + next(&random) % (n < 40 ? n : 40);
        check_case(trial % SHAPES, n, d, k, random);
    }
    check_case(0, 60, 200, 3, 1); /* more columns than rows */
    check_case(2, 5000, 2, 1, 1);
    for (int shape = 0; shape < SHAPES;
         shape++) { /* nodes that are cut by a sample of their rows */
        check_case(shape, 9001, 3, 7, 1);
        check_case(shape, 9001, 30, 500, 1); /* and whose covariance is not formed */
        check_case(shape, 9001, 3, 4500, 1); /* into two bags, wherever the sample would cut */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Mean and standard deviation of columns, for both types and any strides. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <priorboost/core.h>

static void test_moments_are_those_of_the_columns(void **state)
{
    const double data[] = {1, 10, 3, 10, 5, 10, 7, 10};
    pboost_matrix x = pboost_matrix_f64(data, 4, 2);
    double mean[2], sd[2];
    (void)state;

    assert_int_equal(pboost_matrix_moments(mean, sd, &x, NULL), PBOOST_OK);
    assert_true(mean[0] == 4);
    assert_true(fabs(sd[0] * sd[0] - 5) < 1e-14);
    assert_true(mean[1] == 10 && sd[1] == 0);
}

static void test_bits_depend_on_neither_type_nor_strides(void **state)
{
    const double by_row[] = {0.5, 4, 0.25, -3, 1.75, 2};
    const float by_column[] = {0.5F, 0.25F, 1.75F, 4, -3, 2};
    pboost_matrix a = pboost_matrix_f64(by_row, 3, 2);
    pboost_matrix b = {by_column, PBOOST_F32, 3, 2, 1, 3};
    double mean[2][2], sd[2][2];
    (void)state;

    assert_int_equal(pboost_matrix_moments(mean[0], sd[0], &a, NULL), PBOOST_OK);
    assert_int_equal(pboost_matrix_moments(mean[1], sd[1], &b, NULL), PBOOST_OK);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(sd[0], sd[1], sizeof sd[0]);
}

static void test_no_rows_are_refused(void **state)
{
    const double nothing[1] = {0};
    pboost_matrix x = pboost_matrix_f64(nothing, 0, 1);
    double mean, sd;
    (void)state;

    assert_int_equal(pboost_matrix_moments(&mean, &sd, &x, NULL), PBOOST_BAD_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_are_those_of_the_columns),
        cmocka_unit_test(test_bits_depend_on_neither_type_nor_strides),
        cmocka_unit_test(test_no_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The units in which bags are fitted. */
#include "fit_support.h"
#include "testing.h"

#include <math.h>

#include "passes/standard_units.h"

/* Columns of n rows that are 1 in count[j] of them. */
static standard_units units_of(const double *count, size_t cols, size_t n, column_options options)
{
    static const double zero[8];
    standard_units u;
    pboost_error err;
    assert_ok(pboost_units_from_sums(&u, cols, zero, count, count, n, options, &err), err);
    return u;
}

/* Columns 1 to 3 are levels of one category, 4 and 5 of another; column 3 has no row. */
static const double COUNT[] = {30, 2, 18, 0, 50, 10, 60};
static const size_t CATEGORY[] = {0, 1, 1, 1, 2, 2, 0};
enum { COLS = 7, ROWS = 100 };

static double spread_of(double count)
{
    double p = count / ROWS;
    return p * (1.0 - p);
}

static void levels_of_a_category_share_a_scale(void **state)
{
    (void)state;
    standard_units u = units_of(COUNT, COLS, ROWS, (column_options){true, CATEGORY});
    double first = sqrt(0.5 * (spread_of(2) + spread_of(18)));
    double second = sqrt(0.5 * (spread_of(50) + spread_of(10)));
    const double scale[] = {sqrt(spread_of(30)), first, first, 1.0, second, second,
                            sqrt(spread_of(60))};
    for (size_t j = 0; j < COLS; j++) {
        assert_near(u.scale[j], scale[j], 1e-15);
        assert_near(u.center[j], COUNT[j] / ROWS, 1e-15);
    }
    assert_true(u.constant[3]);
    pboost_units_free(&u);
}

static void other_columns_have_variance_one(void **state)
{
    (void)state;
    standard_units u = units_of(COUNT, COLS, ROWS, (column_options){true, NULL});
    for (size_t j = 0; j < COLS; j++)
        assert_near(u.scale[j], j == 3 ? 1.0 : sqrt(spread_of(COUNT[j])), 1e-15);
    pboost_units_free(&u);
}

static void without_an_intercept_squares_count(void **state)
{
    (void)state;
    standard_units u = units_of(COUNT, COLS, ROWS, (column_options){false, CATEGORY});
    assert_near(u.scale[0], sqrt(0.3), 1e-15);
    assert_near(u.scale[1], sqrt(0.1), 1e-15);
    assert_near(u.scale[2], sqrt(0.1), 1e-15);
    assert_near(u.scale[3], 1.0, 0.0);
    pboost_units_free(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_of_a_category_share_a_scale),
        cmocka_unit_test(other_columns_have_variance_one),
        cmocka_unit_test(without_an_intercept_squares_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

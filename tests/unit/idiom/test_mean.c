/* Means keep the digits that sums of doubles lose, at any size of the numbers. */
#include "testing.h"

#include <float.h>

#include "mean.h"

static double mean(const double *x, size_t n)
{
    running_mean m = {0};
    for (size_t i = 0; i < n; i++)
        running_mean_add(&m, x[i]);
    return running_mean_value(&m);
}

static void digits_are_kept(void **state)
{
    (void)state;
    static const struct {
        double x[4];
        size_t n;
        double mean;
    } cases[] = {
        {{1e16, 1, -1e16}, 3, 1.0 / 3},
        {{1, 1e100, 1, -1e100}, 4, 0.5},
        {{0x1p1023, 1, -0x1p1023, 1}, 4, 0.5},
        {{DBL_MAX, DBL_MAX, DBL_MAX}, 3, DBL_MAX},
        {{-DBL_MAX, DBL_MAX}, 2, 0},
        {{-DBL_MAX, -DBL_MAX, 7}, 3, -DBL_MAX / 3 * 2},
        {{DBL_MIN * DBL_EPSILON, DBL_MIN * DBL_EPSILON}, 2, DBL_MIN * DBL_EPSILON},
        {{0.1, 0.1, 0.1}, 3, 0.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (mean(cases[i].x, cases[i].n) != cases[i].mean)
            fail_msg("case %zu: %a, not %a", i, mean(cases[i].x, cases[i].n), cases[i].mean);
}

/* A sum of doubles is off by about 1e-9 here. */
static void many_small_steps_add_up(void **state)
{
    (void)state;
    running_mean m = {0};
    for (size_t i = 0; i < 10000000; i++)
        running_mean_add(&m, 0.1);
    assert_true(running_mean_value(&m) == 0.1);
}

static void nothing_has_no_mean(void **state)
{
    (void)state;
    assert_true(isnan(mean(NULL, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_kept),
        cmocka_unit_test(many_small_steps_add_up),
        cmocka_unit_test(nothing_has_no_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Fractions, rules and the grid: what is read, what is refused and with which words, and arithmetic
 * at the edges.  The law of the noise is tested in privacy/test_sampler.c. */
#include "testing.h"

#include <float.h>

#include "oracle/mechanism.h"

static void decimal_text_is_read_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        pboost_rational value;
    } cases[] = {
        {"0.1", {1, 10}},
        {"1", {1, 1}},
        {"2.50", {5, 2}},
        {"1e-3", {1, 1000}},
        {".5", {1, 2}},
        {"5.", {5, 1}},
        {"00012", {12, 1}},
        {"1E2", {100, 1}},
        {"1.5e+1", {15, 1}},
        {"100e-2", {1, 1}},
        {"0.100000000000000000000000000000", {1, 10}},
        {"0.1778279410038923", {1778279410038923, 10000000000000000}},
        {"1e19", {10000000000000000000u, 1}},
        {"1e-19", {1, 10000000000000000000u}},
        {"18446744073709551615", {18446744073709551615u, 1}},
        {"0.30000000000000004", {7500000000000001, 25000000000000000}},
        {"1000000000000000000000000e-24", {1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pboost_error err;
        pboost_rational r;
        assert_ok(pboost_rational_parse(&r, cases[i].text, &err), err);
        if (r.num != cases[i].value.num || r.den != cases[i].value.den)
            fail_msg("%s is read as %ju/%ju", cases[i].text, (uintmax_t)r.num, (uintmax_t)r.den);
    }
}

static void what_is_no_positive_number_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",    "0", "-1",  "-0.5", "0.0",  "0e5",   "abc",   "1x", "1 ",  " 1", "nan", "1e",
        "1e+", ".", "inf", "0x10", "1..2", "1.2.3", "1e1.5", "+1", "--1", "e5", "1,5",
    };
    pboost_error err;
    pboost_rational r;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        r = (pboost_rational){3, 4};
        assert_fails(pboost_rational_parse(&r, texts[i], &err), PBOOST_INVALID, err,
                     "it must be a positive number such as 0.5");
        assert_int_equal(r.den, 0);
    }
    assert_fails(pboost_rational_parse(&r, "-1", &err), PBOOST_INVALID, err,
                 "epsilon is -1; it must be a positive number such as 0.5");
    static const char *const too_long[] = {"1e20",
                                           "1e-20",
                                           "18446744073709551616",
                                           "123456789012345678901",
                                           "0.123456789012345678901",
                                           "1e999999999999999999999",
                                           "1e-999999999999999999999"};
    for (size_t i = 0; i < sizeof too_long / sizeof *too_long; i++) {
        r = (pboost_rational){3, 4};
        assert_fails(pboost_rational_parse(&r, too_long[i], &err), PBOOST_INVALID, err, "digits");
        assert_int_equal(r.den, 0);
    }
    assert_int_equal(pboost_rational_parse(&r, "zero", NULL), PBOOST_INVALID);
}

static void a_fraction_has_a_value(void **state)
{
    (void)state;
    assert_true(pboost_rational_value((pboost_rational){1, 10}) == 0.1);
    assert_true(pboost_rational_value((pboost_rational){0, 0}) == INFINITY);
}

static pboost_rules bounded(double lower, double upper, double step)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.bounded = true;
    rules.lower = lower;
    rules.upper = upper;
    rules.step = step;
    return rules;
}

static void contradictory_rules_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    pboost_rules rules = PBOOST_RULES_INIT;
    assert_ok(pboost_rules_check(&rules, &err), err);

    rules.struct_size = 1;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "PBOOST_RULES_INIT");
    rules = (pboost_rules)PBOOST_RULES_INIT;
    rules.min_bag = 0;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "min_bag is 0");
    rules = (pboost_rules)PBOOST_RULES_INIT;
    rules.epsilon = (pboost_rational){1, 2};
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err,
                 "epsilon is 0.5, but labels have no bounds");
    rules = bounded(0, 1, 0);
    rules.epsilon = (pboost_rational){0, 2};
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "epsilon is 0");
    rules.epsilon = (pboost_rational){1, 10000000000000000u};
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "1e-16 on a grid");
    rules = (pboost_rules)PBOOST_RULES_INIT;
    rules.step = 0.5;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "step is 0.5, but");
}

static void bad_bounds_and_steps_are_refused(void **state)
{
    (void)state;
    static const struct {
        double lower, upper, step;
        const char *part;
    } cases[] = {
        {1, 0, 0, "[1, 0]; the lower must be less"},
        {1, 1, 0, "[1, 1]; the lower must be less"},
        {NAN, 1, 0, "must be finite"},
        {0, INFINITY, 0, "must be finite"},
        {-DBL_MAX, DBL_MAX, 0, "must be finite"},
        {0, 1, -1, "step is -1; it must be a positive number"},
        {0, 1, NAN, "it must be a positive number"},
        {0, 1, INFINITY, "it must be a positive number"},
        {0, 1, 0x1p-1060, "it must be a positive number"},
        {0, 0x1p-1010, 0, "it must be a positive number"},
        {0, 1, 1.5, "step is 1.5, larger than the range of the bounds [0, 1], 1"},
        {0, 1, 0x1p-54, "more than 2^53 steps"},
        {1e15, 1e15 + 1, 0, "more than 2^53 steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pboost_error err;
        pboost_rules rules = bounded(cases[i].lower, cases[i].upper, cases[i].step);
        assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, cases[i].part);
    }
}

static void the_default_step_is_a_power_of_two(void **state)
{
    (void)state;
    static const double spans[] = {1, 0.999, 2, 3, 30, 1e-5, 1e9};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        pboost_error err;
        pboost_rules rules = bounded(-spans[i] / 2, spans[i] / 2, 0);
        assert_ok(pboost_rules_check(&rules, &err), err);
        int exponent;
        assert_true(frexp(rules.step, &exponent) == 0.5);
        assert_true(rules.step <= spans[i] / 0x1p20);
        assert_true(2 * rules.step > spans[i] / 0x1p20);
    }
}

static void labels_go_to_the_nearest_point(void **state)
{
    (void)state;
    pboost_rules rules = bounded(-1, 2, 0.25);
    label_grid grid = pboost_grid(&rules);
    assert_int_equal(grid.lower, -4);
    assert_int_equal(grid.upper, 8);
    assert_int_equal(pboost_grid_place(&grid, -1), -4);
    assert_int_equal(pboost_grid_place(&grid, 0.3), 1);
    assert_int_equal(pboost_grid_place(&grid, 0.38), 2);
    assert_int_equal(pboost_grid_place(&grid, 2), 8);
    assert_int_equal(pboost_grid_place(&grid, 1e300), 8);
    assert_int_equal(pboost_grid_place(&grid, -1e300), -4);
    assert_close(pboost_grid_mean(&grid, 9, 3), 0.75, 0);
}

static void sums_that_could_overflow_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    label_grid grid = {-(INT64_C(1) << 53), 5, 0x1p-53};
    assert_ok(pboost_grid_check_rows(&grid, 512, &err), err);
    assert_fails(pboost_grid_check_rows(&grid, 513, &err), PBOOST_INVALID, err, "513 labels");
    assert_fails(pboost_grid_check_rows(&grid, SIZE_MAX, &err), PBOOST_INVALID, err, "overflow");
}

static int side(int64_t total, size_t size, double step)
{
    label_grid grid = {0, 1, step};
    return pboost_grid_side_of_half(&grid, total, size);
}

/* Where doubles would see a tie that is none, or none where there is one. */
static void the_side_of_half_is_exact(void **state)
{
    (void)state;
    assert_int_equal(side(1, 2, 1), 0);
    assert_int_equal(side(2, 3, 1), 1);
    assert_int_equal(side(1, 3, 1), -1);
    assert_int_equal(side(0, 3, 1), -1);
    assert_int_equal(side(-5, 3, 1), -1);
    assert_int_equal(side(3 << 19, 3, 0x1p-20), 0);
    assert_int_equal(side((3 << 19) + 1, 3, 0x1p-20), 1);
    assert_int_equal(side((3 << 19) - 1, 3, 0x1p-20), -1);
    /* 0.1 as a double is a little more than 1/10: 5 * 0.1 in doubles is 0.5 */
    assert_int_equal(side(5, 1, 0.1), 1);
    assert_int_equal(side(-(INT64_C(1) << 62), 1, 0.1), -1);
    /* 2^62 + 1 is not a double */
    assert_int_equal(side((INT64_C(1) << 62) + 1, (size_t)1 << 43, 0x1p-20), 1);
    assert_int_equal(side(INT64_C(1) << 62, (size_t)1 << 43, 0x1p-20), 0);
    assert_int_equal(side((INT64_C(1) << 62) - 1, (size_t)1 << 43, 0x1p-20), -1);
    assert_int_equal(side(1, 6, 3), 0);
    assert_int_equal(side(1, 7, 3), -1);
    assert_int_equal(side(1, 5, 3), 1);
    assert_int_equal(side(1, (size_t)1 << 60, 0x1p59), 0);
    assert_int_equal(side(1, ((size_t)1 << 60) + 1, 0x1p59), -1);
    assert_int_equal(side(1, SIZE_MAX, 0x1p70), 1);
    assert_int_equal(side(1, 1, 0x1p300), 1);
    assert_int_equal(side(INT64_MAX, 1, 0x1p-300), -1);
}

static void half(int64_t total, bool exact, size_t size, double step)
{
    label_grid grid = {0, 1, step};
    grid_half found = pboost_grid_half(&grid, size);
    assert_true(found.known);
    assert_int_equal(found.total, total);
    assert_int_equal(found.exact, exact);
}

static void half_of_a_bag_is_on_the_grid_or_below(void **state)
{
    (void)state;
    half(1, true, 2, 1);
    half(1, false, 3, 1);
    half(3 << 19, true, 3, 0x1p-20);
    half(4, false, 1, 0.1);
    half(0, false, 1, 3);
    label_grid fine = {0, 1, 0x1p-53};
    assert_false(pboost_grid_half(&fine, 1).known);
}

/* The defining sum, term by term, and the limit of a continuous Laplace variable. */
static void the_noise_variance_is_that_of_its_law(void **state)
{
    (void)state;
    pboost_rules rules = bounded(0, 3, 0.5);
    rules.epsilon = (pboost_rational){3, 4};
    double rate = 0.75 / 6, mass = 0, square = 0;
    for (int z = -1000; z <= 1000; z++) {
        mass += exp(-rate * abs(z));
        square += exp(-rate * abs(z)) * z * z;
    }
    assert_close(pboost_rules_noise_variance(&rules, 4), square / mass * 0.125 * 0.125, 1e-12);

    rules = bounded(0, 1, 0x1p-40);
    rules.epsilon = (pboost_rational){1, 10};
    assert_close(pboost_rules_noise_variance(&rules, 1), 200, 1e-12);

    rules = bounded(0, 1, 0);
    rules.epsilon = (pboost_rational){1, 1};
    assert_close(pboost_rules_noise_variance(&rules, 64), 2.0 / 4096, 1e-11);
    rules.epsilon = (pboost_rational){0, 0};
    assert_true(pboost_rules_noise_variance(&rules, 64) == 0);
    rules.epsilon = (pboost_rational){1, 1};
    rules.bounded = false;
    assert_true(isnan(pboost_rules_noise_variance(&rules, 64)));
}

static void the_scale_is_the_whole_range_over_epsilon(void **state)
{
    (void)state;
    label_grid grid = {-10, 20, 1};
    laplace_scale scale = pboost_laplace_scale(&grid, (pboost_rational){12, 10});
    assert_true(scale.num == 25 && scale.den == 1);
    scale = pboost_laplace_scale(&grid, (pboost_rational){7, 10});
    assert_true(scale.num == 300 && scale.den == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_text_is_read_exactly),
        cmocka_unit_test(what_is_no_positive_number_is_refused),
        cmocka_unit_test(a_fraction_has_a_value),
        cmocka_unit_test(contradictory_rules_are_refused),
        cmocka_unit_test(bad_bounds_and_steps_are_refused),
        cmocka_unit_test(the_default_step_is_a_power_of_two),
        cmocka_unit_test(labels_go_to_the_nearest_point),
        cmocka_unit_test(sums_that_could_overflow_are_refused),
        cmocka_unit_test(the_side_of_half_is_exact),
        cmocka_unit_test(half_of_a_bag_is_on_the_grid_or_below),
        cmocka_unit_test(the_noise_variance_is_that_of_its_law),
        cmocka_unit_test(the_scale_is_the_whole_range_over_epsilon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

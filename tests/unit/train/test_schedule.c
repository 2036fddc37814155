/* Slices: every row in exactly one, sizes as promised, and the largest T named when T is too large.
 */
#include "testing.h"

#include "train/schedule.h"

enum { MOST_ROUNDS = 512 };

static size_t slice(const size_t *start, size_t t)
{
    return start[t + 1] - start[t];
}

static void equal_slices_differ_by_at_most_one_row(void **state)
{
    (void)state;
    size_t start[MOST_ROUNDS + 1];
    pboost_error err;
    for (size_t rows = 1; rows < 200; rows += 7) {
        for (size_t rounds = 1; rounds <= rows; rounds++) {
            assert_ok(pboost_schedule_slices(start, PBOOST_EQUAL, rows, rounds, 1, &err), err);
            assert_int_equal(start[0], 0);
            assert_int_equal(start[rounds], rows);
            for (size_t t = 0; t < rounds; t++) {
                assert_true(slice(start, t) >= rows / rounds);
                assert_true(slice(start, t) <= rows / rounds + 1);
            }
        }
    }
}

static void geometric_slices_grow_sixteen_fold(void **state)
{
    (void)state;
    size_t start[MOST_ROUNDS + 1];
    pboost_error err;
    assert_ok(pboost_schedule_slices(start, PBOOST_GEOMETRIC, 1000000, 9, 10, &err), err);
    assert_int_equal(start[9], 1000000);
    for (size_t t = 1; t < 9; t++)
        assert_close((double)slice(start, t) / (double)slice(start, t - 1), pow(16.0, 1.0 / 8.0),
                     1e-3);
    assert_ok(pboost_schedule_slices(start, PBOOST_GEOMETRIC, 50, 1, 50, &err), err);
    assert_int_equal(start[1], 50);
}

/* The number that the message names works, and one more does not. */
static void the_largest_number_of_rounds_is_named(void **state)
{
    (void)state;
    size_t start[MOST_ROUNDS + 1];
    pboost_error err;
    const pboost_schedule schedules[] = {PBOOST_EQUAL, PBOOST_GEOMETRIC};
    for (int s = 0; s < 2; s++) {
        for (size_t rows = 40; rows < 3000; rows += 97) {
            for (size_t least = 7; least <= rows; least += 31) {
                assert_int_equal(
                    pboost_schedule_slices(start, schedules[s], rows, rows + 1, least, &err),
                    PBOOST_BAD_DATA);
                size_t most;
                const char *tail = strstr(err.message, "at most ");
                assert_non_null(tail);
                assert_int_equal(sscanf(tail, "at most %zu rounds", &most), 1);
                assert_ok(pboost_schedule_slices(start, schedules[s], rows, most, least, &err),
                          err);
                for (size_t t = 0; t < most; t++)
                    assert_true(slice(start, t) >= least);
                assert_int_equal(
                    pboost_schedule_slices(start, schedules[s], rows, most + 1, least, &err),
                    PBOOST_BAD_DATA);
            }
        }
    }
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    size_t start[4];
    pboost_error err;
    assert_fails(pboost_schedule_slices(start, PBOOST_EQUAL, 10, 0, 1, &err), PBOOST_INVALID, err,
                 "rounds is 0");
    assert_fails(pboost_schedule_slices(start, PBOOST_EQUAL, 2, 3, 0, &err), PBOOST_INVALID, err,
                 "a slice of 0 rows");
    assert_fails(pboost_schedule_slices(start, PBOOST_EQUAL, 25, 1, 40, &err), PBOOST_BAD_DATA, err,
                 "bags must have at least 40 rows, but the table has 25 rows");
    assert_fails(pboost_schedule_slices(start, PBOOST_EQUAL, 100, 4, 30, &err), PBOOST_BAD_DATA,
                 err, "at most 3 rounds");
}

static void default_rounds_leave_enough_rows(void **state)
{
    (void)state;
    assert_int_equal(pboost_rounds_default(1 << 20, 8, 64), 16);
    assert_int_equal(pboost_rounds_default(1600, 5, 4), 16);
    assert_int_equal(pboost_rounds_default(1599, 5, 4), 8);
    assert_int_equal(pboost_rounds_default(199, 5, 4), 1);
    assert_int_equal(pboost_rounds_default(1000, 1, 400), 2);
    assert_int_equal(pboost_rounds_default(10, 1, 400), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_slices_differ_by_at_most_one_row),
        cmocka_unit_test(geometric_slices_grow_sixteen_fold),
        cmocka_unit_test(the_largest_number_of_rounds_is_named),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(default_rounds_leave_enough_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

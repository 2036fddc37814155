/* Dates against the C library, and the features that they become. */
#include "io_testing.h"

#include <time.h>

#include "date.h"

static void agrees_with_the_c_library(void **unused)
{
    (void)unused;
    for (int64_t s = -62135596800; s < 253402300800; s += 86400 * 13 + 3661) { /* years 1 to 9999 */
        time_t when = (time_t)s;
        struct tm tm;
        char text[40];
        int64_t back;
        assert_non_null(gmtime_r(&when, &tm));
        calendar c = pboost_date_calendar(s);
        assert_int_equal(c.year, tm.tm_year + 1900);
        assert_int_equal(c.month, tm.tm_mon + 1);
        assert_int_equal(c.day, tm.tm_mday);
        assert_int_equal(c.weekday, (tm.tm_wday + 6) % 7);
        assert_int_equal(c.hour, tm.tm_hour);
        snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d", tm.tm_year + 1900,
                 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        assert_true(pboost_date_parse(&back, text));
        assert_int_equal(back, s);
    }
}

static void refuses_what_is_no_date(void **unused)
{
    static const char *const TEXT[] = {
        "",           "2024",        "2024-1-1",   "2024-13-01", "2024-00-10",  "2024-04-31",
        "2023-02-29", "2024-01-01 ", "2024-01/01", "01.13.2024", "2024-01-01x", "2024-01-01 25:00",
        "1.1.2024",   "20240101",    "12:30",      "2024-01-01T"};
    int64_t seconds;
    (void)unused;

    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++)
        if (pboost_date_parse(&seconds, TEXT[i]))
            fail_msg("'%s' was read as a date", TEXT[i]);
}

static void become_features(void **unused)
{
    pboost_table *t = table_of("d\n1970-01-02 12:00\n2024-03-31\nNA\n");
    pboost_encoding_options o = PBOOST_ENCODING_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_encoding e;
    double x[3 * 43];
    unsigned date;
    (void)unused;

    assert_ok(pboost_date_parts_parse(&date, "days+year+month+weekday+hour", &err), err);
    o.date = &date;
    o.impute = true;
    assert_ok(pboost_encoding_learn(&e, t, &o, &err), err);
    assert_int_equal(e.n_columns, 2 + 11 + 6 + 23);
    assert_string_equal(e.column[0], "d:days");
    assert_string_equal(e.column[2], "d:month=2");
    assert_string_equal(e.column[13], "d:weekday=Tue");
    assert_string_equal(e.column[19], "d:hour=1");
    assert_ok(pboost_encoding_apply(x, NULL, &e, t, &err), err);
    assert_float_equal(x[0], 1.5, 0);
    assert_float_equal(x[1], 1970, 0);
    for (size_t j = 2; j < 13; j++) /* January */
        assert_float_equal(x[j], 0, 0);
    assert_float_equal(x[13 + 3], 1, 0);  /* Friday */
    assert_float_equal(x[19 + 11], 1, 0); /* noon */
    const double *second = x + 42;
    assert_float_equal(second[0], 19813, 0);
    assert_float_equal(second[2 + 1], 1, 0);  /* March */
    assert_float_equal(second[13 + 5], 1, 0); /* Sunday */
    for (size_t j = 19; j < 42; j++)          /* midnight */
        assert_float_equal(second[j], 0, 0);
    assert_float_equal(x[84], (1.5 + 19813) / 2, 1e-9); /* missing: the mean */
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

static void parts_are_named(void **unused)
{
    pboost_error err;
    unsigned date;
    (void)unused;

    assert_fails(
        pboost_date_parts_parse(&date, "days+noon", &err), PBOOST_INVALID, err,
        "'noon' is not a part of a date; the parts are days, year, month, weekday and hour");
    assert_fails(pboost_date_parts_parse(&date, "", &err), PBOOST_INVALID, err, "needs a part");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_c_library),
        cmocka_unit_test(refuses_what_is_no_date),
        cmocka_unit_test(become_features),
        cmocka_unit_test(parts_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

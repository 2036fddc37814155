/* Rows in and labels out: import, erasure, ids of both kinds. */
#include "ledger_testing.h"

/* ---- Import and erasure ---------------------------------------------------------------------- */

static void imports_are_all_or_nothing(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 4, NULL);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[] = {{NULL, 5}, {"six", 0}, {NULL, 7}};
    double label[] = {0, 1, 1};

    in.n = 3;
    in.id = id;
    in.label = label;
    id[2] = (pboost_id){"5", 0};
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA, err, "twice");
    assert_int_equal(report.bad_row, 2);
    id[2] = (pboost_id){"3", 0};
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA, err, "already");
    id[2] = (pboost_id){"", 0};
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA, err, "bytes");
    id[2] = (pboost_id){NULL, 7};
    const double wrong[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        label[1] = wrong[i];
        assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA, err,
                     "finite");
        in.clamp = !in.clamp;
    }
    in.clamp = false;
    label[1] = 1.5;
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA, err, "bounds");
    assert_null(strstr(err.message, "1.5")); /* a label is in no message */
    assert_int_equal(report.bad_row, 1);
    assert_int_equal(status_of(ledger).rows, 4);
    in.clamp = true;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    assert_int_equal(report.rows, 3);
    assert_int_equal(report.clamped, 1);
    assert_int_equal(report.bad_row, SIZE_MAX);
    in.unit = id;
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_INVALID, err, "units");

    pboost_token token = plain_token(ledger, "a");
    pboost_question q = PBOOST_QUESTION_INIT;
    const pboost_id asked[] = {{NULL, 5}, {"six", 0}, {"7", 0}, {"1", 0}};
    const size_t start[] = {0, 4};
    pboost_reply reply;
    q.token = &token;
    q.request_id = "r";
    q.n_bags = 1;
    q.start = start;
    q.id = asked;
    assert_ok(pboost_ledger_ask(&reply, ledger, &q, &err), err);
    assert_true(mean_of(&reply, 0) == 0.75);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* They are stored in another order than they come in: each keeps its label. */
static void rows_in_any_order_keep_their_labels(void **state)
{
    (void)state;
    enum { MANY = 5003, SIZE = 4 };
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_reply reply;
    static pboost_id id[MANY];
    static double label[MANY];
    int64_t row[SIZE];

    for (size_t i = 0; i < MANY; i++) {
        id[i] = (pboost_id){NULL, (int64_t)(1000000 + i * 2718 % MANY)};
        label[i] = id[i].number % 10 == 3;
    }
    in.n = MANY;
    in.id = id;
    in.label = label;
    label[4000] = 7; /* the rows that a message names are those of the file */
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA, err, "bounds");
    assert_int_equal(report.bad_row, 4000);
    label[4000] = id[4000].number % 10 == 3;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    pboost_token token = plain_token(ledger, "a");
    for (int64_t digit = 0; digit < 10; digit++) {
        char name[24];
        for (int64_t j = 0; j < SIZE; j++)
            row[j] = 1000000 + 10 * (99 * j + digit) + digit;
        snprintf(name, sizeof name, "digit-%d", (int)digit);
        assert_ok(ask(&reply, ledger, &token, name, row, SIZE, SIZE, NULL, &err), err);
        assert_true(mean_of(&reply, 0) == (digit == 3));
        pboost_reply_free(&reply);
    }
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* A row with a bad label can be asked about like any other, and counts as the public value. */
static void bad_labels_become_a_public_value(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_reply reply;
    const pboost_id id[] = {{NULL, 1}, {NULL, 2}, {NULL, 3}, {NULL, 4}};
    const double label[] = {(double)NAN, 2, -(double)INFINITY, 0};
    const int64_t row[] = {1, 2, 3, 4};

    in.n = 4;
    in.id = id;
    in.label = label;
    in.replace_bad = true;
    const double wrong[] = {2, -1, (double)NAN};
    for (int i = 0; i < 3; i++) {
        in.bad_label = wrong[i];
        assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_INVALID, err,
                     "within the bounds");
    }
    in.bad_label = 1;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    assert_int_equal(report.replaced, 3);
    assert_int_equal(report.clamped, 0);
    pboost_token token = plain_token(ledger, "a");
    assert_ok(ask(&reply, ledger, &token, "r", row, 4, 4, NULL, &err), err);
    assert_true(mean_of(&reply, 0) == 0.75);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void rows_and_erasures_of_another_process_are_seen(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *server = make_ledger(&t, &rules, 8, NULL), *admin = open_store(&t);
    pboost_token token = plain_token(admin, "a");
    pboost_error err = {0};
    pboost_reply reply;
    size_t forgotten;
    const int64_t row[] = {1, 2, 3, 4}, fresh[] = {5, 6, 9, 10}, rest[] = {7, 8, 11, 12};
    const pboost_id erased[] = {{NULL, 7}, {NULL, 1}, {"7", 0}}, wrong[] = {{NULL, 8}, {"x", 0}};

    assert_ok(ask(&reply, server, &token, "1", row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, admin, &token, "2", row, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
    import_rows(admin, 9, 4, NULL);
    assert_ok(ask(&reply, server, &token, "2", fresh, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_fails(forget_rows(&forgotten, admin, wrong, 2, &err), PBOOST_BAD_DATA, err, "'x'");
    assert_ok(forget_rows(&forgotten, admin, erased, 3, &err), err);
    assert_int_equal(forgotten, 2);
    assert_ok(forget_rows(&forgotten, admin, erased, 3, &err), err);
    assert_int_equal(forgotten, 0);
    assert_refused(ask(&reply, server, &token, "3", rest, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, err);
    pboost_reply_free(&reply);
    pboost_ledger_status status = status_of(server);
    assert_int_equal(status.spent, 9); /* 1 .. 4, 5, 6, 9, 10 and 7 */
    assert_int_equal(status.forgotten, 2);
    assert_int_equal(status.rows, 12);
    assert_sound(server);
    assert_sound(admin);
    pboost_ledger_close(server);
    pboost_ledger_close(admin);
    drop_store(&t);
}

/* Text ids that no other row has, near-integers among them. */
static void ids_are_integers_or_text(void **state)
{
    (void)state;
    static const char *const TEXT[] = {"0",
                                       "-0",
                                       "00",
                                       "12",
                                       "012",
                                       "+12",
                                       "1e1",
                                       " 12",
                                       "12 ",
                                       "-7",
                                       "--7",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "-9223372036854775808",
                                       "-9223372036854775809",
                                       "\xc3\xa9",
                                       "a'b\"c\\",
                                       "NULL"};
    enum { N = sizeof TEXT / sizeof *TEXT };
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[N];
    double label[N] = {0};
    bool available[N];

    for (int i = 0; i < N; i++)
        id[i] = (pboost_id){TEXT[i], 0};
    in.n = N;
    in.id = id;
    in.label = label;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    pboost_token token = plain_token(ledger, "a");
    assert_ok(pboost_ledger_available(available, ledger, &token, id, N, &err), err);
    for (int i = 0; i < N; i++)
        assert_true(available[i]);
    const pboost_id number[] = {{NULL, 0},         {NULL, 12}, {NULL, -7}, {NULL, INT64_MAX},
                                {NULL, INT64_MIN}, {NULL, 1},  {"13", 0},  {NULL, 7}};
    assert_ok(pboost_ledger_available(available, ledger, &token, number, 8, &err), err);
    for (int i = 0; i < 8; i++)
        assert_int_equal(available[i], i < 5);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_are_all_or_nothing),
        cmocka_unit_test(rows_in_any_order_keep_their_labels),
        cmocka_unit_test(bad_labels_become_a_public_value),
        cmocka_unit_test(rows_and_erasures_of_another_process_are_seen),
        cmocka_unit_test(ids_are_integers_or_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

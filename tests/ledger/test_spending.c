/* What the answers have cost: by learner, and of the row or unit that was used most. */
#include "ledger_testing.h"

/* Rows 1 .. n, of these units. */
static void import_units(pboost_ledger *ledger, size_t n, const int64_t *unit)
{
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[32], of[32];
    double label[32] = {0};

    for (size_t i = 0; i < n; i++) {
        id[i] = (pboost_id){NULL, (int64_t)i + 1};
        of[i] = (pboost_id){NULL, unit[i]};
    }
    in.n = n;
    in.id = id;
    in.unit = of;
    in.label = label;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
}

static void assert_uses(pboost_ledger *ledger, uint64_t most, uint64_t a, uint64_t b)
{
    pboost_error err = {0};
    pboost_token *token;
    uint64_t found, by_token[2];
    size_t n;

    assert_ok(pboost_token_list(&token, &n, ledger, &err), err);
    assert_int_equal(n, 2);
    assert_ok(pboost_ledger_uses(&found, by_token, ledger, token, n, &err), err);
    free(token);
    assert_int_equal(found, most);
    assert_int_equal(by_token[0], a);
    assert_int_equal(by_token[1], b);
}

static void answer(pboost_ledger *ledger, const pboost_token *token, const char *request,
                   int64_t first)
{
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {first, first + 1, first + 2, first + 3};

    assert_ok(ask(&reply, ledger, token, request, row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
}

static void rows_are_used_once(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 16, NULL);
    pboost_token a = plain_token(ledger, "a"), b = plain_token(ledger, "b");

    assert_uses(ledger, 0, 0, 0);
    answer(ledger, &b, "1", 1);
    answer(ledger, &b, "2", 5);
    assert_uses(ledger, 1, 0, 1);
    answer(ledger, &a, "1", 9);
    assert_uses(ledger, 1, 1, 1);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Unit 1 has a row in each of four bags, unit 2 in three, of which one is b's. */
static void units_are_used_by_several_learners(void **state)
{
    (void)state;
    const int64_t unit[] = {1, 2, 3, 4, 1, 2, 5, 6, 1, 7, 8, 9, 1, 2, 10, 11};
    pboost_ledger_rules rules = plain_rules();
    rules.units = true;
    rules.unit_rows = 4;
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    import_units(ledger, 16, unit);
    pboost_token a = plain_token(ledger, "a"), b = plain_token(ledger, "b");

    assert_uses(ledger, 0, 0, 0);
    answer(ledger, &a, "1", 1);
    assert_uses(ledger, 1, 1, 0);
    answer(ledger, &a, "2", 5);
    answer(ledger, &a, "3", 9);
    assert_uses(ledger, 3, 3, 0);
    answer(ledger, &b, "1", 13);
    assert_uses(ledger, 4, 3, 1);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_used_once),
        cmocka_unit_test(units_are_used_by_several_learners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

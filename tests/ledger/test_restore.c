/* Stores that were restored from a backup: what was answered since is spent, and nothing is
 * answered twice. */
#include "integrity_testing.h"

/* The store is put back to where it was after the first answer; then more rows were answered, one
 * label erased, a token revoked. */
static pboost_token restored_store(test_store *t, char head[PBOOST_HEAD_TEXT])
{
    pboost_token a;
    pboost_ledger *ledger = make_store(t, &a);
    pboost_error err = {0};
    pboost_reply reply;
    const pboost_id erased[] = {{NULL, 20}};
    size_t forgotten;

    answered(ledger, &a, "first", FIRST);
    back_up(t);
    answered(ledger, &a, "second", SECOND);
    assert_ok(forget_rows(&forgotten, ledger, erased, 1, &err), err);
    assert_ok(pboost_token_revoke(ledger, "b", &err), err);
    assert_ok(ask(&reply, ledger, &a, "third", THIRD, 4, 4, NULL, &err), err);
    head_of(head, &reply);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    put_back(t);
    return a;
}

static void a_restored_backup_is_refused_and_burned(void **state)
{
    (void)state;
    test_store t;
    char head[PBOOST_HEAD_TEXT];
    pboost_token a = restored_store(&t, head);
    pboost_error err = {0};
    pboost_restored restored;
    pboost_reply reply;

    assert_not_opened(&t, PBOOST_REFUSED, "priorboost oracle restore");
    assert_true(audit_finds(&t, "older than its witness"));
    assert_ok(pboost_ledger_restore(&restored, t.url, NULL, false, &err), err);
    assert_int_equal(restored.burned, 8); /* exactly those that were answered since */
    assert_int_equal(restored.erased, 1);
    assert_int_equal(restored.revoked, 1);
    assert_int_equal(restored.lost, 4);
    pboost_ledger *ledger = open_store(&t);
    assert_sound(ledger);
    spent(ledger, &a, FIRST);
    spent(ledger, &a, SECOND);
    spent(ledger, &a, THIRD);
    assert_int_equal(token_named(ledger, "a").rows_used, 12); /* the quota too */
    assert_int_equal(token_named(ledger, "b").state, PBOOST_TOKEN_REVOKED);
    const int64_t with_erased[] = {17, 18, 19, 20};
    assert_refused(ask(&reply, ledger, &a, "e", with_erased, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, err);
    pboost_reply_free(&reply);

    /* a learner that has seen a lost head goes on */
    assert_ok(ask(&reply, ledger, &a, "fourth", FOURTH, 4, 4, head, &err), err);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);

    /* the same backup once more: what was answered after the first restore is burned too */
    put_back(&t);
    assert_not_opened(&t, PBOOST_REFUSED, "older than its witness");
    assert_ok(pboost_ledger_restore(&restored, t.url, NULL, false, &err), err);
    assert_int_equal(restored.burned, 12);
    ledger = open_store(&t);
    assert_sound(ledger);
    spent(ledger, &a, THIRD);
    spent(ledger, &a, FOURTH);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Nothing is lost: a restore changes nothing. */
static void a_restore_of_a_whole_store_does_nothing(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};
    pboost_restored restored;

    answered(ledger, &a, "first", FIRST);
    uint64_t entries = status_of(ledger).entries;
    pboost_ledger_close(ledger);
    assert_ok(pboost_ledger_restore(&restored, t.url, NULL, false, &err), err);
    assert_int_equal(restored.lost, 0);
    ledger = open_store(&t);
    assert_int_equal(status_of(ledger).entries, entries);
    answered(ledger, &a, "second", SECOND);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void without_a_witness_every_row_is_burned(void **state)
{
    (void)state;
    test_store t;
    char head[PBOOST_HEAD_TEXT], path[500];
    pboost_token a = restored_store(&t, head);
    pboost_error err = {0};
    pboost_restored restored;

    witness_of(path, &t);
    assert_fails(pboost_ledger_restore(&restored, t.url, NULL, true, &err), PBOOST_REFUSED, err,
                 "exists already");
    assert_int_equal(unlink(path), 0);
    assert_not_opened(&t, PBOOST_REFUSED, "--without-witness");
    assert_true(audit_finds(&t, "missing"));
    assert_fails(pboost_ledger_restore(&restored, t.url, NULL, false, &err), PBOOST_REFUSED, err,
                 "is missing");
    assert_ok(pboost_ledger_restore(&restored, t.url, NULL, true, &err), err);
    assert_int_equal(restored.burned, N - 4);
    assert_int_equal(restored.revoked, 2);
    pboost_ledger *ledger = open_store(&t);
    assert_sound(ledger);
    assert_int_equal(status_of(ledger).spent, N);
    assert_int_equal(token_named(ledger, "a").state, PBOOST_TOKEN_REVOKED);

    /* new rows of new persons can be asked about, those of old persons cannot */
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[8], unit[8], scope[8];
    double label[8] = {0};
    for (int i = 0; i < 8; i++) {
        scope[i] = (pboost_id){i % 2 == 0 ? "north" : "south", 0};
        id[i] = (pboost_id){NULL, 500 + i};
        unit[i] = (pboost_id){NULL, i < 4 ? 100 + i : 900 + i};
    }
    in.n = 8;
    in.id = id;
    in.unit = unit;
    in.scope = scope;
    in.label = label;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    a = plain_token(ledger, "new");
    const int64_t old[] = {500, 501, 502, 503}, new[] = {504, 505, 506, 507};
    pboost_reply reply;
    assert_refused(ask(&reply, ledger, &a, "old", old, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_UNIT_SPENT, err);
    pboost_reply_free(&reply);
    answered(ledger, &a, "new", new);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Rows imported and spent after the backup cannot be imported again as new ones. */
static void lost_rows_cannot_be_imported_again(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_ledger(&t, &rules, 8, NULL);
    pboost_token a = plain_token(ledger, "a");
    pboost_error err = {0};
    pboost_restored restored;
    const int64_t late[] = {101, 102, 103, 104};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[2] = {{NULL, 105}, {NULL, 103}};
    double label[2] = {0};

    back_up(&t);
    import_rows(ledger, 101, 8, NULL);
    answered(ledger, &a, "late", late);
    pboost_ledger_close(ledger);
    put_back(&t);
    assert_ok(pboost_ledger_restore(&restored, t.url, NULL, false, &err), err);
    assert_int_equal(restored.burned, 0);
    assert_int_equal(restored.imports, 1);
    assert_int_equal(restored.banned, 4);
    ledger = open_store(&t);
    in.n = 2;
    in.id = id;
    in.label = label;
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_REFUSED, err, "'103'");
    assert_int_equal(report.bad_row, 1);
    import_rows(ledger, 105, 4, NULL);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    change_store(&t, "DELETE FROM ledger_lost_row");
    assert_not_opened(&t, PBOOST_BAD_DATA, "lost in a restore");
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restored_backup_is_refused_and_burned),
        cmocka_unit_test(a_restore_of_a_whole_store_does_nothing),
        cmocka_unit_test(without_a_witness_every_row_is_burned),
        cmocka_unit_test(lost_rows_cannot_be_imported_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

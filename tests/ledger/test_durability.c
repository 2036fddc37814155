/* What a store relies on for its commits to last: settings that it makes, or insists on. */
#include "ledger_testing.h"

static void change_server(const char *sql)
{
    PGconn *c = PQconnectdb(getenv("PBOOST_TEST_STORE"));
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s", PQerrorMessage(c));
    PQclear(r);
    PQfinish(c);
}

static pboost_status take_setting(void *user, const store_value *value, size_t n, pboost_error *err)
{
    (void)n, (void)err;
    if (value[0].kind == VALUE_NUMBER)
        snprintf(user, 64, "%lld", (long long)value[0].number);
    else
        snprintf(user, 64, "%s", (const char *)value[0].data);
    return PBOOST_OK;
}

static void assert_setting(store *s, const char *sql, const char *expected)
{
    pboost_error err = {0};
    char setting[64] = "";
    assert_ok(s->class->run(s, sql, NULL, 0, take_setting, setting, &err), err);
    assert_string_equal(setting, expected);
}

/* What another user of a pooled connection may have left there. */
static const char *const LEFT[] = {
    "SET synchronous_commit = off",          "SET synchronous_commit = local",
    "SET synchronous_commit = remote_write", "SET lock_timeout = 1",
    "SET search_path = pg_catalog",          "CREATE TEMPORARY TABLE ledger_entry (number INTEGER)",
};

static void check_transaction(store *s)
{
    pboost_error err = {0};

    assert_ok(pboost_store_begin(s, true, &err), err);
    if (on_postgresql()) {
        assert_setting(s, "SELECT current_setting('synchronous_commit')", "on");
        assert_setting(s, "SELECT current_setting('lock_timeout')", "30s");
        assert_setting(s, "SELECT count(*) FROM ledger_entry", "1"); /* ours */
    } else {
        assert_setting(s, "PRAGMA journal_mode", "wal");
        assert_setting(s, "PRAGMA synchronous", "1");        /* see test_syncs.c */
        assert_setting(s, "PRAGMA wal_autocheckpoint", "0"); /* it makes its own */
    }
    pboost_store_rollback(s);
}

static void each_transaction_syncs_what_it_commits(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;

    if (on_postgresql()) /* a default that must not matter */
        change_server("ALTER ROLE test SET synchronous_commit = off");
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    store *const side[] = {ledger->write.store, ledger->read.store};
    for (int i = 0; i < 2; i++) {
        check_transaction(side[i]);
        for (size_t j = 0; on_postgresql() && j < sizeof LEFT / sizeof *LEFT; j++) {
            pboost_error err = {0};
            assert_ok(side[i]->class->run(side[i], LEFT[j], NULL, 0, NULL, NULL, &err), err);
            check_transaction(side[i]);
        }
    }
    pboost_ledger_close(ledger);
    if (on_postgresql())
        change_server("ALTER ROLE test RESET synchronous_commit");
    drop_store(&t);
}

/* More than on is kept. */
static void a_role_may_ask_for_more(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    test_store t;

    if (!on_postgresql())
        skip();
    change_server("ALTER ROLE test SET synchronous_commit = remote_apply");
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    change_server("ALTER ROLE test RESET synchronous_commit");
    assert_ok(pboost_store_begin(ledger->write.store, true, &err), err);
    assert_setting(ledger->write.store, "SELECT current_setting('synchronous_commit')",
                   "remote_apply");
    pboost_store_rollback(ledger->write.store);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Two writers at a time could both read that a row is unspent. */
static void writers_take_turns(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    store *one = ledger->write.store, *other = ledger->read.store;

    assert_ok(other->class->set_wait(other, 1, &err), err);
    assert_ok(pboost_store_begin(one, true, &err), err);
    assert_fails(pboost_store_begin(other, true, &err), PBOOST_ORACLE, err, "in use");
    assert_ok(pboost_store_begin(other, false, &err), err); /* who only reads does not wait */
    pboost_store_rollback(other);
    pboost_store_rollback(one);
    assert_ok(pboost_store_begin(other, true, &err), err);
    pboost_store_rollback(other);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void restart_server(void)
{
    if (system("\"$PBOOST_TEST_CRASH\"") != 0)
        fail_msg("the server does not start again");
}

static void a_server_that_does_not_sync_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *wrong, *right, *words;
    } SETTINGS[] = {
        {"ALTER SYSTEM SET fsync = off", "ALTER SYSTEM RESET fsync", "fsync off"},
        {"ALTER SYSTEM SET full_page_writes = off", "ALTER SYSTEM RESET full_page_writes",
         "full_page_writes off"},
        {"ALTER SYSTEM SET data_sync_retry = on", "ALTER SYSTEM RESET data_sync_retry",
         "data_sync_retry on"},
    };
    pboost_ledger_rules rules = plain_rules();
    test_store t;

    if (!on_postgresql())
        skip();
    pboost_ledger_close(make_ledger(&t, &rules, 0, NULL));
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        pboost_error err = {0};
        pboost_ledger *ledger;
        pboost_ledger *running = open_store(&t);
        change_server(SETTINGS[i].wrong);
        restart_server();
        assert_fails(pboost_ledger_get_status(&(pboost_ledger_status){0}, running, &err),
                     PBOOST_ORACLE, err, "lost"); /* the connection, by the restart */
        assert_fails(pboost_ledger_get_status(&(pboost_ledger_status){0}, running, &err),
                     PBOOST_ORACLE, err, SETTINGS[i].words);
        pboost_ledger_close(running);
        assert_fails(pboost_ledger_open(&ledger, t.url, NULL, &err), PBOOST_ORACLE, err,
                     SETTINGS[i].words);
        change_server(SETTINGS[i].right);
        restart_server();
        pboost_ledger_close(open_store(&t));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_transaction_syncs_what_it_commits),
        cmocka_unit_test(a_role_may_ask_for_more),
        cmocka_unit_test(writers_take_turns),
        cmocka_unit_test(a_server_that_does_not_sync_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

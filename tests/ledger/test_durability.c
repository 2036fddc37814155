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

static void each_connection_syncs_what_it_commits(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;

    if (on_postgresql()) /* a default that must not matter */
        change_server("ALTER ROLE test SET synchronous_commit = off");
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    store *const side[] = {ledger->write.store, ledger->read.store};
    for (int i = 0; i < 2; i++) {
        if (on_postgresql()) {
            assert_setting(side[i], "SELECT current_setting('synchronous_commit')", "on");
            assert_setting(side[i], "SELECT current_setting('lock_timeout')", "30s");
        } else {
            assert_setting(side[i], "PRAGMA journal_mode", "wal");
            assert_setting(side[i], "PRAGMA synchronous", "2");
            assert_setting(side[i], "PRAGMA wal_autocheckpoint", "0"); /* it makes its own */
        }
    }
    pboost_ledger_close(ledger);
    if (on_postgresql())
        change_server("ALTER ROLE test RESET synchronous_commit");
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
        change_server(SETTINGS[i].wrong);
        restart_server();
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
        cmocka_unit_test(each_connection_syncs_what_it_commits),
        cmocka_unit_test(a_server_that_does_not_sync_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

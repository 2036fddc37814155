/* Stores that were exchanged or edited: each is noticed, and nothing is answered twice; and what an
 * exported ledger tells. */
#include "integrity_testing.h"

/* ---- A store that is exchanged under a running service --------------------------------------- */

typedef struct {
    char file[100], log[110], index[110], backup[110], moved[110];
} paths;

static void delete_and_copy(const paths *p)
{
    unlink(p->file);
    unlink(p->log);
    unlink(p->index);
    copy_file(p->backup, p->file);
}

static void move_away(const paths *p)
{
    assert_int_equal(rename(p->file, p->moved), 0);
}

static void replace(const paths *p)
{
    copy_file(p->backup, p->moved);
    assert_int_equal(rename(p->moved, p->file), 0);
}

/* By a file that says the same, now: what is answered from here on would not be in it. */
static void replace_by_the_same(const paths *p)
{
    copy_file(p->file, p->moved);
    assert_int_equal(rename(p->moved, p->file), 0);
}

static void overwrite(const paths *p)
{
    copy_file(p->backup, p->file);
}

static void delete_log(const paths *p)
{
    unlink(p->log);
}

static void an_exchanged_store_is_noticed(void **state)
{
    (void)state;
    static void (*const EXCHANGE[])(const paths *p) = {delete_and_copy,     move_away, replace,
                                                       replace_by_the_same, overwrite, delete_log};
    if (on_postgresql())
        skip();
    for (size_t i = 0; i < 2 * sizeof EXCHANGE / sizeof *EXCHANGE; i++) {
        bool by_question = i % 2 == 0; /* or by whoever looks at the page */
        test_store t;
        pboost_token a;
        pboost_ledger *ledger = make_store(&t, &a);
        pboost_error err = {0};
        pboost_reply reply;
        pboost_ledger_status status;
        paths p;

        snprintf(p.file, sizeof p.file, "%.60s/store.db", t.folder);
        snprintf(p.log, sizeof p.log, "%s-wal", p.file);
        snprintf(p.index, sizeof p.index, "%s-shm", p.file);
        snprintf(p.backup, sizeof p.backup, "%s.copy", p.file);
        snprintf(p.moved, sizeof p.moved, "%s.moved", p.file);
        pboost_ledger_close(ledger);
        copy_file(p.file, p.backup);
        ledger = open_store(&t);
        answered(ledger, &a, "first", FIRST);
        change_store(&t, "PRAGMA wal_checkpoint(TRUNCATE)");
        assert_ok(pboost_ledger_get_status(&status, ledger, &err), err);
        EXCHANGE[i / 2](&p);
        if (by_question)
            assert_fails(ask(&reply, ledger, &a, "second", SECOND, 4, 4, NULL, &err), PBOOST_ORACLE,
                         err, "while it was in use");
        else
            assert_fails(pboost_ledger_get_status(&status, ledger, &err), PBOOST_ORACLE, err,
                         "while it was in use");
        assert_true(pboost_ledger_broken(ledger));
        assert_fails(pboost_ledger_get_status(&status, ledger, &err), PBOOST_ORACLE, err,
                     "must end");
        pboost_ledger_close(ledger);
        unlink(p.moved);
        drop_store(&t);
    }
}

/* The work of other processes is no exchange. */
static void other_processes_are_no_exchange(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *ledger = make_store(&t, &a), *other = open_store(&t);
    pboost_error err = {0};

    answered(other, &a, "first", FIRST);
    if (!on_postgresql())
        change_store(&t, "PRAGMA wal_checkpoint(TRUNCATE)");
    answered(ledger, &a, "second", SECOND);
    assert_ok(pboost_token_revoke(other, "b", &err), err);
    pboost_ledger_close(other);
    answered(ledger, &a, "third", THIRD);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* PostgreSQL: the tables were dropped and restored, and the connections were ended. */
static void a_restored_database_is_noticed(void **state)
{
    (void)state;
    if (!on_postgresql())
        skip();
    for (int ended = 0; ended < 2; ended++) {
        test_store t;
        pboost_token a;
        pboost_ledger *ledger = make_store(&t, &a);
        pboost_error err = {0};
        pboost_reply reply;

        back_up(&t);
        answered(ledger, &a, "first", FIRST);
        put_back(&t);
        if (ended)
            change_store(&t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                             " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
        pboost_status st = ask(&reply, ledger, &a, "second", FIRST, 4, 4, NULL, &err);
        if (ended && st == PBOOST_ORACLE && !pboost_ledger_broken(ledger)) /* the lost connection */
            st = ask(&reply, ledger, &a, "second", FIRST, 4, 4, NULL, &err);
        assert_int_equal(st, PBOOST_ORACLE);
        assert_non_null(strstr(err.message, "exchanged"));
        assert_true(pboost_ledger_broken(ledger));
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
}

/* ---- A store that was edited ----------------------------------------------------------------- */

/* Noticed when a token is next looked at, under a running service. */
static void an_edited_token_stops_the_service(void **state)
{
    (void)state;
    static const char *const EDIT[] = {"UPDATE ledger_token SET state = 1 WHERE name = 'c'",
                                       "UPDATE ledger_token SET max_rows = 800 WHERE name = 'b'",
                                       "UPDATE ledger_token SET rows_used = 0 WHERE name = 'a'",
                                       "UPDATE ledger_token SET scope = NULL WHERE name = 'b'",
                                       "UPDATE ledger_token SET expires = 1 WHERE name = 'a'",
                                       "UPDATE ledger_token SET role = 1 WHERE name = 'a'"};

    for (size_t i = 0; i < sizeof EDIT / sizeof *EDIT; i++) {
        test_store t;
        pboost_token a, out;
        pboost_ledger *ledger = make_store(&t, &a);
        pboost_error err = {0};
        pboost_problem problem;

        answered(ledger, &a, "first", FIRST);
        change_store(&t, EDIT[i]);
        assert_fails(
            pboost_token_authenticate(&out, &problem, ledger, "guess", PBOOST_LEARNER, &err),
            PBOOST_ORACLE, err, "was changed in the store by another program");
        assert_true(pboost_ledger_broken(ledger));
        pboost_ledger_close(ledger);
        assert_not_opened(&t, PBOOST_BAD_DATA, "changed");
        assert_true(audit_finds(&t, "changed in the store"));
        drop_store(&t);
    }
}

/* Noticed when the store is opened. */
static void an_edited_store_is_not_opened(void **state)
{
    (void)state;
    static const char *const EDIT[] = {
        "DELETE FROM ledger_spent",
        "INSERT INTO ledger_spent SELECT block + 1, bits FROM ledger_spent",
        "UPDATE ledger_spent SET block = 1",
        "DELETE FROM ledger_unit_use WHERE unit = 2",
        "UPDATE ledger_unit SET id = 'other' WHERE unit = 3",
        "UPDATE ledger_scope SET name = 'east' WHERE scope = 0",
        "UPDATE ledger_row SET unit = 4 WHERE slot = 3",
        "UPDATE ledger_row SET scope = 1 WHERE slot = 4",
        "UPDATE ledger_row SET id = 'x' WHERE slot = 4",
        "DELETE FROM ledger_token WHERE name = 'c'",
        "INSERT INTO ledger_lost_head SELECT hash FROM ledger_entry WHERE number = 1",
    };

    for (size_t i = 0; i < sizeof EDIT / sizeof *EDIT; i++) {
        test_store t;
        pboost_token a;
        pboost_ledger *ledger = make_store(&t, &a);

        answered(ledger, &a, "first", FIRST);
        pboost_ledger_close(ledger);
        change_store(&t, EDIT[i]);
        pboost_error err = {0};
        if (pboost_ledger_open(&ledger, t.url, NULL, &err) != PBOOST_BAD_DATA)
            fail_msg("opened after: %s (%s)", EDIT[i], err.message);
        drop_store(&t);
    }
}

/* A row that is marked as spent without an entry would be lost to learners. */
static void a_spent_row_that_no_entry_claims_is_noticed(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};
    const uint32_t row = 20;
    store *s;

    answered(ledger, &a, "first", FIRST);
    pboost_ledger_close(ledger);
    assert_ok(pboost_store_open(&s, t.url, false, &err), err);
    assert_ok(pboost_store_begin(s, true, &err), err);
    assert_ok(pboost_claims_add(s, &row, 1, row + 1, &err), err);
    assert_ok(pboost_store_commit(s, &err), err);
    pboost_store_close(s);
    assert_not_opened(&t, PBOOST_BAD_DATA, "row 20 is spent, but no entry claims it");
    assert_true(audit_finds(&t, "no entry claims it"));
    drop_store(&t);
}

/* An old token, with the MAC that it had then, is what its row was, not what the chain says. */
static void an_old_token_is_not_put_back(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};

    back_up(&t);
    assert_ok(pboost_token_revoke(ledger, "b", &err), err);
    pboost_ledger_close(ledger);
    change_store(&t, "DELETE FROM ledger_token");
    change_store(&t, "INSERT INTO ledger_token SELECT * FROM saved_ledger_token");
    assert_not_opened(&t, PBOOST_BAD_DATA, "token 'b' is not as the ledger says");
    drop_store(&t);
}

/* Someone who can compute hashes, but has no key, appends an entry. */
static void a_forged_entry_is_noticed(void **state)
{
    (void)state;
    for (int running = 0; running < 2; running++) {
        test_store t;
        pboost_token a;
        pboost_ledger *ledger = make_store(&t, &a);
        pboost_error err = {0};
        pboost_reply reply;
        chain_entry entry = {"revoke", 1, 0, 0, "a", 2};
        chain_link link;
        ledger_keys other;
        store *s;

        assert_ok(pboost_keys_draw(&other, &err), err);
        assert_ok(pboost_store_open(&s, t.url, false, &err), err);
        s->keys = &ledger->keys;
        assert_ok(pboost_chain_last(&link, s, &err), err);
        link = pboost_chain_next(&link, &entry);
        s->keys = &other;
        assert_ok(pboost_chain_append(s, &link, &entry, NULL, 0, &err), err);
        pboost_store_close(s);
        if (running) {
            assert_fails(ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err), PBOOST_ORACLE,
                         err, "not written with this key file");
            assert_true(pboost_ledger_broken(ledger));
        }
        pboost_ledger_close(ledger);
        assert_not_opened(&t, PBOOST_ORACLE, "not written with this key file");
        drop_store(&t);
    }
}

/* ---- What an exported ledger tells ----------------------------------------------------------- */

static bool find_sum(void *user, const pboost_ledger_entry *entry)
{
    bool *found = user;

    if (strcmp(entry->kind, "answer") != 0)
        return true;
    const unsigned char *hash = entry->data + 8 + 2 * sizeof(digest);
    digest head;
    assert_true(pboost_digest_read(&head, entry->head));
    for (int64_t sum = 0; sum <= 4; sum++)
        for (int version = 1; version <= 2; version++) {
            unsigned char released[16] = {(unsigned char)sum, [8] = 4}, body[40],
                          nonce[NONCE_BYTES] = {0};
            double mean = (double)sum / 4;
            chain_link link = {.version = version, .hash = head};
            digest d = pboost_hash_released(version, nonce, released, sizeof released);
            memcpy(body, &mean, 8);
            memcpy(body + 8, head.byte, sizeof head.byte);
            *found = *found || memcmp(d.byte, hash, sizeof d.byte) == 0;
            pboost_chain_seal(&link, version == 1 ? NULL : nonce, body, sizeof body);
            *found = *found || memcmp(link.seal.byte, entry->seal, sizeof(digest)) == 0;
        }
    return true;
}

/* With no noise there are five possible sums of four labels: trying them must not tell which. */
static void sums_are_not_found_in_an_exported_ledger(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};
    bool found = false;

    answered(ledger, &a, "first", FIRST);
    answered(ledger, &a, "second", SECOND);
    assert_ok(pboost_ledger_entries(ledger, 0, UINT64_MAX, find_sum, &found, &err), err);
    assert_false(found);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchanged_store_is_noticed),
        cmocka_unit_test(other_processes_are_no_exchange),
        cmocka_unit_test(a_restored_database_is_noticed),
        cmocka_unit_test(an_edited_token_stops_the_service),
        cmocka_unit_test(an_edited_store_is_not_opened),
        cmocka_unit_test(a_spent_row_that_no_entry_claims_is_noticed),
        cmocka_unit_test(an_old_token_is_not_put_back),
        cmocka_unit_test(a_forged_entry_is_noticed),
        cmocka_unit_test(sums_are_not_found_in_an_exported_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

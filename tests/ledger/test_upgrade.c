/* A store of priorboost 0.2.0 is upgraded: it keeps all its records, and a store of another version
 * is not opened. */
#include "ledger_testing.h"

/* Its tokens, and what it was asked. */
#define LEARNER "pb_HSHHehDCEyNTPxtI6yGlI615tDHuUkgYKIOd4Ziswis"
#define LIMITED "pb_B1A_ncBbnjvHdPuGWzIGc0haZAWADqlGQ7ccYLRy2Tc"
#define REVOKED "pb_A22FG-S7-YZMvAxKpR_l159QEHOfQrf9p6MHnmIb_fk"
#define OPERATOR "pb_5U9SBFPr-m5ZgEcDeY1qMx8MfWPa6VzbJUrBBH35Y_Q"
static const char HEAD[] = "e65a412e6afc772b394e5f8ded040446e87f0e86667793f017758a3f8dfdf37d";

/* SQLite's dump in the words of PostgreSQL: X'..' is '\x..'. */
static char *read_dump(void)
{
    static const char *const CHANGE[][2] = {
        {"X'", "'\\x"}, {"BLOB", "BYTEA"}, {" WITHOUT ROWID", ""}};
    FILE *f = fopen(PBOOST_SOURCE "/tests/ledger/fixtures/version_1.sql", "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, 1 << 15, f) > 10000);
    fclose(f);
    for (size_t i = 0; on_postgresql() && i < sizeof CHANGE / sizeof *CHANGE; i++) {
        size_t old = strlen(CHANGE[i][0]), new = strlen(CHANGE[i][1]);
        for (char *at = text; (at = strstr(at, CHANGE[i][0])) != NULL; at += new) {
            memmove(at + new, at + old, strlen(at + old) + 1);
            memcpy(at, CHANGE[i][1], new);
        }
    }
    return text;
}

static void load(const test_store *t)
{
    char *text = read_dump(), *rest = NULL;
    pboost_error err = {0};
    store *s;

    assert_ok(pboost_store_open(&s, t->url, true, &err), err);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "CREATE", 6) == 0 || strncmp(line, "INSERT", 6) == 0)
            assert_ok(s->class->run(s, line, NULL, 0, NULL, NULL, &err), err);
    pboost_store_close(s);
    free(text);
}

static test_store old_store(void)
{
    test_store t = new_store();
    load(&t);
    return t;
}

static pboost_status recognise(pboost_token *out, pboost_ledger *ledger, const char *secret,
                               pboost_role role)
{
    pboost_problem problem;
    return pboost_token_authenticate(out, &problem, ledger, secret, PBOOST_MAY(role), NULL);
}

static void an_old_store_is_upgraded(void **state)
{
    (void)state;
    test_store t = old_store();
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_token token, limited, other;
    pboost_reply reply;
    int from = 0;

    assert_fails(pboost_ledger_open(&ledger, t.url, NULL, &err), PBOOST_BAD_DATA, err,
                 "priorboost oracle upgrade");
    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err);
    assert_int_equal(from, 1);
    ledger = open_store(&t);
    assert_sound(ledger);
    pboost_ledger_status status = status_of(ledger);
    assert_int_equal(status.rows, 24);
    assert_int_equal(status.spent, 18); /* 17 answered, and one of the two that were erased */
    assert_int_equal(status.forgotten, 2);
    assert_int_equal(status.entries, 12);

    /* tokens as they were */
    assert_ok(recognise(&token, ledger, LEARNER, PBOOST_LEARNER), err);
    assert_ok(recognise(&limited, ledger, LIMITED, PBOOST_LEARNER), err);
    assert_ok(recognise(&other, ledger, OPERATOR, PBOOST_OPERATOR), err);
    assert_int_equal(recognise(&other, ledger, REVOKED, PBOOST_LEARNER), PBOOST_REFUSED);
    assert_int_equal(token.rows_used, 13);
    assert_int_equal(limited.max_rows, 8);
    assert_string_equal(limited.scope, "north");

    /* spent rows stay spent, old heads and replies are known, new rows are answered */
    const int64_t spent[] = {1, 3, 4, 6}, fresh[] = {18, 19, 21, 22, 23, 24};
    assert_refused(ask(&reply, ledger, &token, "third", spent, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
    bool found = false;
    assert_ok(pboost_ledger_find(&reply, &found, ledger, &token, "first", &err), err);
    assert_true(found && reply.length > 100 &&
                memcmp(reply.body, "{\"request_id\":\"first\"", 20) == 0);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &token, "third", fresh, 6, 6, HEAD, &err), err);
    assert_true(mean_of(&reply, 0) == 0.5);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);

    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err); /* nothing is left to do */
    assert_int_equal(from, PBOOST_STORE_VERSION);
    ledger = open_store(&t);
    assert_int_equal(status_of(ledger).entries, 13);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* What version 1 did not cover is covered from the upgrade on. */
static void names_are_covered_after_the_upgrade(void **state)
{
    (void)state;
    static const char *const DAMAGE[] = {"UPDATE ledger_unit SET id = 'p99' WHERE unit = 2",
                                         "UPDATE ledger_scope SET name = 'east' WHERE scope = 0",
                                         "UPDATE ledger_token SET max_rows = 800 WHERE token = 2",
                                         "UPDATE ledger_token SET state = 1 WHERE token = 3",
                                         "UPDATE ledger_row SET id = 'x' WHERE slot = 7"};

    for (size_t i = 0; i < sizeof DAMAGE / sizeof *DAMAGE; i++) {
        test_store t = old_store();
        pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
        pboost_error err = {0};
        pboost_ledger *ledger;
        pboost_audit audit;
        int from;

        assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err);
        change_store(&t, DAMAGE[i]);
        options.without_labels = options.inspect = true;
        assert_ok(pboost_ledger_open(&ledger, t.url, &options, &err), err);
        assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
        if (audit.problems == 0)
            fail_msg("not found: %s", DAMAGE[i]);
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
}

/* A store that is not sound does not change, and can be upgraded after a repair. */
static void a_damaged_store_is_not_upgraded(void **state)
{
    (void)state;
    test_store t = old_store();
    pboost_error err = {0};
    pboost_ledger *ledger;
    int from;

    change_store(&t, "UPDATE ledger_row SET id = 'x' WHERE slot = 7");
    assert_fails(pboost_ledger_upgrade(&from, t.url, NULL, &err), PBOOST_BAD_DATA, err,
                 "left as it is");
    change_store(&t, "UPDATE ledger_row SET id = '8' WHERE slot = 7");
    change_store(&t, "UPDATE ledger_token SET revoked = 0 WHERE token = 3");
    assert_fails(pboost_ledger_upgrade(&from, t.url, NULL, &err), PBOOST_BAD_DATA, err,
                 "left as it is");
    change_store(&t, "UPDATE ledger_token SET revoked = 1 WHERE token = 3");
    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err);
    ledger = open_store(&t);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void a_newer_store_is_not_opened(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_ledger(&t, &rules, 4, NULL);
    pboost_error err = {0};
    int from;

    pboost_ledger_close(ledger);
    change_store(&t, "UPDATE ledger_meta SET value = '3' WHERE name = 'version'");
    assert_fails(pboost_ledger_open(&ledger, t.url, NULL, &err), PBOOST_BAD_DATA, err,
                 "newer priorboost");
    assert_fails(pboost_ledger_upgrade(&from, t.url, NULL, &err), PBOOST_BAD_DATA, err,
                 "newer priorboost");
    drop_store(&t);
}

/* ---- The key file ---------------------------------------------------------------------------- */

static pboost_ledger_options with_key(const char *path)
{
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    options.key_file = path;
    return options;
}

static void a_store_needs_its_key_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/pboost-key-XXXXXX", key[2][64], moved[64];
    assert_non_null(mkdtemp(folder));
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    pboost_ledger *ledger;
    test_store t[2];
    struct stat about;

    for (int i = 0; i < 2; i++) {
        t[i] = new_store();
        snprintf(key[i], sizeof key[i], "%s/%d.key", folder, i);
        pboost_ledger_options options = with_key(key[i]);
        assert_ok(pboost_ledger_create(t[i].url, &rules, &options, &err), err);
        assert_int_equal(stat(key[i], &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
        assert_ok(pboost_ledger_open(&ledger, t[i].url, &options, &err), err);
        pboost_ledger_close(ledger);
    }
    pboost_ledger_options right = with_key(key[0]), wrong = with_key(key[1]);
    assert_fails(pboost_ledger_open(&ledger, t[0].url, &wrong, &err), PBOOST_BAD_DATA, err,
                 "not of this one");
    assert_fails(pboost_ledger_open(&ledger, t[0].url, NULL, &err), PBOOST_BAD_DATA, err, "--key");
    assert_int_equal(chmod(key[0], 0640), 0);
    assert_fails(pboost_ledger_open(&ledger, t[0].url, &right, &err), PBOOST_REFUSED, err,
                 "chmod 600");
    assert_int_equal(chmod(key[0], 0600), 0);

    /* a key file is never overwritten, and a damaged one is named with its line */
    test_store third = new_store();
    assert_fails(pboost_ledger_create(third.url, &rules, &right, &err), PBOOST_REFUSED, err,
                 "key file of a store");
    assert_ok(pboost_ledger_create(third.url, &rules, NULL, &err), err);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    assert_int_equal(rename(key[0], moved), 0);
    FILE *f = fopen(key[0], "w");
    fputs("priorboost key 1\nstore 12\n", f);
    fclose(f);
    assert_int_equal(chmod(key[0], 0600), 0);
    assert_fails(pboost_ledger_open(&ledger, t[0].url, &right, &err), PBOOST_BAD_DATA, err,
                 "0.key:2");
    right.key_file = moved;
    assert_ok(pboost_ledger_open(&ledger, t[0].url, &right, &err), err);
    pboost_ledger_close(ledger);
    for (int i = 0; i < 2; i++) {
        unlink(key[i]);
        drop_store(&t[i]);
    }
    drop_store(&third);
    unlink(moved);
    rmdir(folder);
}

/* Label keys are added, numbered on, and read as they were written. */
static void label_keys_are_numbered(void **state)
{
    (void)state;
    char path[] = "/tmp/pboost-key-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    ledger_keys keys, again;
    pboost_error err = {0};

    assert_ok(pboost_keys_draw(&keys, &err), err);
    assert_ok(pboost_keys_write(&keys, path, false, &err), err);
    for (uint32_t i = 2; i <= LABEL_KEYS_MAX; i++) {
        assert_ok(pboost_keys_add_label(&keys, &err), err);
        assert_ok(pboost_keys_write(&keys, path, true, &err), err);
        assert_ok(pboost_keys_read(&again, path, &err), err);
        assert_int_equal(again.n_labels, i);
        assert_int_equal(again.label[i - 1].number, i);
        assert_memory_equal(&again, &keys, sizeof keys);
    }
    assert_fails(pboost_keys_add_label(&keys, &err), PBOOST_INVALID, err, "no room");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_store_is_upgraded),
        cmocka_unit_test(names_are_covered_after_the_upgrade),
        cmocka_unit_test(a_damaged_store_is_not_upgraded),
        cmocka_unit_test(a_newer_store_is_not_opened),
        cmocka_unit_test(a_store_needs_its_key_file),
        cmocka_unit_test(label_keys_are_numbered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

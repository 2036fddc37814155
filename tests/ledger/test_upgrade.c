/* Stores of older versions are upgraded: they keep all their records, and a store of another
 * version is not opened. */
#include <signal.h>
#include <sys/wait.h>

#include "ledger_testing.h"

/* Stores of older versions with the same rows, tokens and answers: secrets, a head, how many
 * entries they have after the upgrade, and how the reply to "first" begins. */
static const struct {
    const char *name, *learner, *limited, *revoked, *operator, * head, *reply;
    int version;
    size_t entries, reply_start;
    int64_t fresh; /* a row that was not asked about, as 19, 21, 22, 23 and 24 */
    double mean;   /* of these six */
} OLD[] = {
    {"version_1", "pb_HSHHehDCEyNTPxtI6yGlI615tDHuUkgYKIOd4Ziswis",
     "pb_B1A_ncBbnjvHdPuGWzIGc0haZAWADqlGQ7ccYLRy2Tc",
     "pb_A22FG-S7-YZMvAxKpR_l159QEHOfQrf9p6MHnmIb_fk",
     "pb_5U9SBFPr-m5ZgEcDeY1qMx8MfWPa6VzbJUrBBH35Y_Q",
     "e65a412e6afc772b394e5f8ded040446e87f0e86667793f017758a3f8dfdf37d",
     "{\"request_id\":\"first\"", 1, 12, 20, 18, 0.5},
    {"version_2", "pb_rCKwLohkEAOkd0qJzjaCFNuJ3fOdNKegarF3P5PCkSQ",
     "pb_jX00qEUKHOia4zva1Bkfs7fozwWydoWw9P3MwCTUwRs",
     "pb_rnsa24685Eh9XkvLMhYB7ethF09T0L4An3xwzfKLDPA",
     "pb_9EaMNyZNezgQhuwPfIvQ4ZFQNXW_-s_cn6hI-CT-k4s",
     "b12052e251b27e75624cbce4bfc7f2aff96ae90e1bf6ab3ee4e44ebbf340a2f0",
     "\0\0\0\0\0\0\340?\0\0\0\0\0\0\320?", 2, 11, 16, 17, 1.0 / 3}, /* the means 0.5 and 0.25 */
};
enum { N_OLD = sizeof OLD / sizeof *OLD };

/* SQLite's dump in the words of PostgreSQL: X'..' is '\x..'. */
static char *read_dump(const char *name)
{
    static const char *const CHANGE[][2] = {
        {"X'", "'\\x"}, {"BLOB", "BYTEA"}, {" WITHOUT ROWID", ""}};
    char path[500];

    snprintf(path, sizeof path, PBOOST_SOURCE "/tests/ledger/fixtures/%s.sql", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, 1 << 15, f) > 5000);
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

/* Key file or witness of a fixture, to where the store looks for it. */
static void put_file(const test_store *t, const char *name, const char *id, const char *ending)
{
    char from[500], *to;
    pboost_error err = {0};

    snprintf(from, sizeof from, PBOOST_SOURCE "/tests/ledger/fixtures/%s%s", name, ending);
    assert_ok(pboost_store_file(&to, NULL, t->url, id, ending, &err), err);
    copy_file(from, to);
    assert_int_equal(chmod(to, 0600), 0);
    free(to);
}

/* A store as the fixture has it. */
static test_store old_store(const char *name)
{
    test_store t = new_store();
    char *text = read_dump(name), *rest = NULL, id[STORE_WORD] = "";
    pboost_error err = {0};
    store *s;

    assert_ok(pboost_store_open(&s, t.url, true, &err), err);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "CREATE", 6) == 0 || strncmp(line, "INSERT", 6) == 0)
            assert_ok(s->class->run(s, line, NULL, 0, NULL, NULL, &err), err);
    if (strcmp(name, "version_1") != 0) {
        assert_ok(pboost_store_word(id, s, "store", &err), err);
        put_file(&t, name, id, ".key");
        put_file(&t, name, id, ".witness");
    }
    pboost_store_close(s);
    free(text);
    return t;
}

static pboost_status recognise(pboost_token *out, pboost_ledger *ledger, const char *secret,
                               pboost_role role)
{
    pboost_problem problem;
    return pboost_token_authenticate(out, &problem, ledger, secret, PBOOST_MAY(role), NULL);
}

static void upgrade_old(size_t o)
{
    test_store t = old_store(OLD[o].name);
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_token token, limited, other;
    pboost_reply reply;
    int from = 0;

    assert_fails(pboost_ledger_open(&ledger, t.url, NULL, &err), PBOOST_BAD_DATA, err,
                 "priorboost oracle upgrade");
    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err);
    assert_int_equal(from, OLD[o].version);
    ledger = open_store(&t);
    assert_sound(ledger);
    pboost_ledger_status status = status_of(ledger);
    assert_int_equal(status.rows, 24);
    assert_int_equal(status.spent, 18); /* 17 answered, and one of the two that were erased */
    assert_int_equal(status.forgotten, 2);
    assert_int_equal(status.entries, OLD[o].entries);

    /* tokens as they were */
    assert_ok(recognise(&token, ledger, OLD[o].learner, PBOOST_LEARNER), err);
    assert_ok(recognise(&limited, ledger, OLD[o].limited, PBOOST_LEARNER), err);
    assert_ok(recognise(&other, ledger, OLD[o].operator, PBOOST_OPERATOR), err);
    assert_int_equal(recognise(&other, ledger, OLD[o].revoked, PBOOST_LEARNER), PBOOST_REFUSED);
    assert_int_equal(token.rows_used, 13);
    assert_int_equal(limited.max_rows, 8);
    assert_string_equal(limited.scope, "north");

    /* spent rows stay spent, old heads and replies are known, new rows are answered */
    const int64_t spent[] = {1, 3, 4, 6}, fresh[] = {OLD[o].fresh, 19, 21, 22, 23, 24};
    assert_refused(ask(&reply, ledger, &token, "third", spent, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
    bool found = false;
    assert_ok(pboost_ledger_find(&reply, &found, ledger, &token, "first", &err), err);
    assert_true(found && reply.length > OLD[o].reply_start &&
                memcmp(reply.body, OLD[o].reply, OLD[o].reply_start) == 0);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &token, "third", fresh, 6, 6, OLD[o].head, &err), err);
    assert_true(mean_of(&reply, 0) == OLD[o].mean);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);

    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err); /* nothing is left to do */
    assert_int_equal(from, PBOOST_STORE_VERSION);
    ledger = open_store(&t);
    assert_int_equal(status_of(ledger).entries, OLD[o].entries + 1);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void an_old_store_is_upgraded(void **state)
{
    (void)state;
    for (size_t o = 0; o < N_OLD; o++)
        upgrade_old(o);
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
        test_store t = old_store("version_1");
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
    test_store t = old_store("version_1");
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

static void an_old_store_of_classes_is_upgraded(void **state)
{
    (void)state;
    test_store t = old_store("version_2_classes");
    pboost_error err = {0};
    pboost_question q = PBOOST_QUESTION_INIT;
    pboost_token token;
    pboost_reply reply;
    const int64_t spent[] = {5, 6, 7, 8}, fresh[] = {6, 7, 8, 9, 10};
    int from = 0;

    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err);
    assert_int_equal(from, 2);
    pboost_ledger *ledger = open_store(&t);
    assert_sound(ledger);
    assert_ok(
        recognise(&token, ledger, "pb_uGjs8yixYpvtgezuJIuWlWTm9y00mp0KNLu6XtZUTV4", PBOOST_LEARNER),
        err);
    q.token = &token;
    q.request_id = "second";
    q.answer = PBOOST_ANSWER_CLASSES;
    assert_refused(ask_as(&reply, ledger, q, spent, 4, 4, &err), reply, PBOOST_PROBLEM_ROW_SPENT,
                   err);
    pboost_reply_free(&reply);
    assert_ok(ask_as(&reply, ledger, q, fresh, 5, 5, &err), err);
    for (size_t j = 0; j < 3; j++)
        assert_true(mean_of(&reply, j) == (j == 1 ? 1 : 2));
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- Version 2: a row for each claim -----------------------------------------------------------
 */

enum { MANY = 3 * CLAIM_ROWS, ASKED = 1000 };

/* A store of today with rows in several blocks, and then the table of claims that version 2 had. */
static test_store many_claims(void)
{
    static const char *const BACK[] = {
        "CREATE TABLE ledger_claim (slot INTEGER PRIMARY KEY, entry INTEGER NOT NULL)",
        ("INSERT INTO ledger_claim SELECT slot, 3 FROM ledger_row WHERE slot % 23 = 0"
         " AND slot < 23000"),
        "DROP TABLE ledger_spent", "UPDATE ledger_meta SET value = '2' WHERE name = 'version'"};
    test_store t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_ledger(&t, &rules, MANY, NULL);
    pboost_token token = plain_token(ledger, "a");
    pboost_error err = {0};
    pboost_reply reply;
    int64_t row[ASKED];

    for (int64_t i = 0; i < ASKED; i++)
        row[i] = 1 + 23 * (i * 7 % ASKED);
    assert_ok(ask(&reply, ledger, &token, "first", row, ASKED, 10, NULL, &err), err);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    for (size_t i = 0; i < sizeof BACK / sizeof *BACK; i++)
        change_store(&t, BACK[i]);
    return t;
}

/* After the upgrade the rows are spent and no others. */
static void assert_upgraded(const test_store *t)
{
    pboost_ledger *ledger = open_store(t);

    assert_sound(ledger);
    for (uint32_t slot = 0; slot < MANY; slot++)
        assert_int_equal(pboost_labels_spent(&ledger->labels, slot),
                         slot % 23 == 0 && slot < 23 * ASKED);
    pboost_ledger_close(ledger);
}

static void claims_become_bits(void **state)
{
    (void)state;
    static const char *const DAMAGE[][2] = {
        {"DELETE FROM ledger_claim WHERE slot = 9200", "INSERT INTO ledger_claim VALUES (9200, 3)"},
        {"INSERT INTO ledger_claim VALUES (1, 3)", "DELETE FROM ledger_claim WHERE slot = 1"},
        {"INSERT INTO ledger_claim VALUES (24576, 3)",
         "DELETE FROM ledger_claim WHERE slot = 24576"},
        {"INSERT INTO ledger_claim VALUES (-1, 3)", "DELETE FROM ledger_claim WHERE slot = -1"}};
    test_store t = many_claims();
    pboost_error err = {0};
    int from;

    for (size_t i = 0; i < sizeof DAMAGE / sizeof *DAMAGE; i++) {
        change_store(&t, DAMAGE[i][0]);
        if (pboost_ledger_upgrade(&from, t.url, NULL, &err) != PBOOST_BAD_DATA)
            fail_msg("upgraded after: %s", DAMAGE[i][0]);
        change_store(&t, DAMAGE[i][1]);
    }
    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err);
    assert_upgraded(&t);
    drop_store(&t);
}

/* Killed at any moment, the store is as before or upgraded, and the next try succeeds. */
static void an_upgrade_may_be_killed(void **state)
{
    (void)state;
    test_store t = many_claims();
    pboost_error err = {0};
    int from, status;

    for (useconds_t wait = 200; wait < 10000000; wait += wait / 4) {
        pid_t child = fork();
        if (child == 0)
            _exit(pboost_ledger_upgrade(&from, t.url, NULL, NULL) != PBOOST_OK);
        usleep(wait);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
    }
    assert_ok(pboost_ledger_upgrade(&from, t.url, NULL, &err), err);
    assert_upgraded(&t);
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
    change_store(&t, "UPDATE ledger_meta SET value = '4' WHERE name = 'version'");
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
        cmocka_unit_test(an_old_store_of_classes_is_upgraded),
        cmocka_unit_test(claims_become_bits),
        cmocka_unit_test(an_upgrade_may_be_killed),
        cmocka_unit_test(a_newer_store_is_not_opened),
        cmocka_unit_test(a_store_needs_its_key_file),
        cmocka_unit_test(label_keys_are_numbered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The chain: an older copy is refused, one changed byte is found, the clock does not matter, and
 * what is exported holds no label. */
#include <fcntl.h>

#include "ledger_testing.h"

enum { N = 24 };

/* A store in which everything has happened; *heads gets the head after each of two answers. */
static pboost_ledger *lived_in(test_store *t, pboost_token *token, char heads[2][PBOOST_HEAD_TEXT])
{
    double label[N];
    for (int i = 0; i < N; i++)
        label[i] = i % 3 == 0;
    pboost_ledger_rules rules = plain_rules();
    rules.units = true;
    rules.unit_rows = 2;
    pboost_ledger *ledger = make_ledger(t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[N], unit[N];
    const int64_t row[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}};
    const pboost_id erased[] = {{NULL, 2}, {NULL, 20}};
    size_t forgotten;

    for (int i = 0; i < N; i++) {
        id[i] = (pboost_id){NULL, i + 1};
        unit[i] = (pboost_id){NULL, 100 + i % 16};
    }
    in.n = N;
    in.id = id;
    in.unit = unit;
    in.label = label;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    *token = plain_token(ledger, "a");
    for (int i = 0; i < 2; i++) {
        pboost_reply reply;
        if (i == 1) {
            char copy[520];
            snprintf(copy, sizeof copy, "%.500s.copy", ledger->witness.path);
            copy_file(ledger->witness.path, copy);
            back_up(t);
        }
        assert_ok(ask(&reply, ledger, token, i == 0 ? "first" : "second", row[i], 8, 4, NULL, &err),
                  err);
        head_of(heads[i], &reply);
        pboost_reply_free(&reply);
        if (i == 0)
            assert_ok(forget_rows(&forgotten, ledger, erased, 2, &err), err);
    }
    assert_sound(ledger);
    return ledger;
}

static void an_older_copy_is_refused(void **state)
{
    (void)state;
    test_store t;
    pboost_token token;
    char heads[2][PBOOST_HEAD_TEXT], never[PBOOST_HEAD_TEXT];
    pboost_ledger *ledger = lived_in(&t, &token, heads);
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {9, 10, 11, 12}, other[] = {17, 18, 19, 21};
    bool known;

    /* every head of the past is fine, in either case of letters; any other is not */
    assert_ok(ask(&reply, ledger, &token, "third", other, 4, 4, heads[0], &err), err);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &token, "third", other, 4, 4, heads[1], &err), err);
    assert_true(reply.retried);
    pboost_reply_free(&reply);
    strcpy(never, heads[1]);
    never[5] = never[5] == '0' ? '1' : '0';
    const char *const wrong[] = {never, "00", "x", heads[1] + 1};
    for (int i = 0; i < 4; i++)
        assert_refused(ask(&reply, ledger, &token, "third", other, 4, 4, wrong[i], &err), reply,
                       PBOOST_PROBLEM_LEDGER_ROLLBACK, err);
    char witness_file[500], copy[520];
    snprintf(witness_file, sizeof witness_file, "%s", ledger->witness.path);
    snprintf(copy, sizeof copy, "%s.copy", witness_file);
    pboost_ledger_close(ledger);

    /* the state before the second answer, and its witness too, which is a mistake */
    put_back(&t);
    assert_int_equal(rename(copy, witness_file), 0);
    ledger = open_store(&t);
    assert_sound(ledger); /* it is a true copy: only a client that has a later head can notice */
    assert_ok(pboost_ledger_knows(&known, ledger, heads[0], &err), err);
    assert_true(known);
    assert_ok(pboost_ledger_knows(&known, ledger, heads[1], &err), err);
    assert_false(known);
    assert_refused(ask(&reply, ledger, &token, "fourth", row, 4, 4, heads[1], &err), reply,
                   PBOOST_PROBLEM_LEDGER_ROLLBACK, err);
    assert_refused(ask(&reply, ledger, &token, "first", row, 4, 4, heads[1], &err), reply,
                   PBOOST_PROBLEM_LEDGER_ROLLBACK, err); /* also for what it remembers */
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* A service notices that its store was exchanged under it. */
static void a_rollback_under_a_running_service_breaks_it(void **state)
{
    (void)state;
    test_store t;
    pboost_token token;
    char heads[2][PBOOST_HEAD_TEXT];
    pboost_ledger *ledger = lived_in(&t, &token, heads);
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {9, 10, 11, 12};

    put_back(&t);
    assert_fails(ask(&reply, ledger, &token, "fourth", row, 4, 4, NULL, &err), PBOOST_ORACLE, err,
                 "older");
    assert_true(pboost_ledger_broken(ledger));
    assert_fails(ask(&reply, ledger, &token, "fourth", row, 4, 4, NULL, &err), PBOOST_ORACLE, err,
                 "must end");
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* The same, where others went on from the older copy, so that its numbers are larger again. */
static void a_rollback_that_went_on_breaks_it_too(void **state)
{
    (void)state;
    test_store t;
    pboost_token token;
    char heads[2][PBOOST_HEAD_TEXT], copy[520], request[16];
    pboost_ledger *ledger = lived_in(&t, &token, heads), *other;
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {9, 10, 11, 12};

    snprintf(copy, sizeof copy, "%.500s.copy", ledger->witness.path);
    put_back(&t);
    assert_int_equal(rename(copy, ledger->witness.path), 0);
    other = open_store(&t);
    for (int i = 0; i < 3; i++) { /* any entries */
        snprintf(request, sizeof request, "t%d", i);
        (void)plain_token(other, request);
    }
    pboost_ledger_close(other);
    assert_fails(ask(&reply, ledger, &token, "fourth", row, 4, 4, NULL, &err), PBOOST_ORACLE, err,
                 "older");
    assert_true(pboost_ledger_broken(ledger));
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- One changed byte ------------------------------------------------------------------------ */

typedef struct {
    const char *table, *key, *column;
    bool bytes;
} changed_column;

static const changed_column COLUMNS[] = {
    {"ledger_entry", "number", "time", false},    {"ledger_entry", "number", "rows", false},
    {"ledger_entry", "number", "bags", false},    {"ledger_entry", "number", "data", true},
    {"ledger_entry", "number", "hash", true},     {"ledger_entry", "number", "seal", true},
    {"ledger_entry", "number", "slots", true},    {"ledger_entry", "number", "mac", true},
    {"ledger_answer", "entry", "nonce", true},    {"ledger_answer", "entry", "token", false},
    {"ledger_answer", "entry", "question", true}, {"ledger_answer", "entry", "released", true},
    {"ledger_answer", "entry", "format", false},  {"ledger_answer", "entry", "body", true},
    {"ledger_spent", "block", "bits", true},      {"ledger_unit_use", "unit", "unit", false},
    {"ledger_row", "slot", "unit", false},        {"ledger_token", "token", "rows_used", false},
    {"ledger_token", "token", "max_rows", false}, {"ledger_token", "token", "expires", false},
    {"ledger_token", "token", "role", false},     {"ledger_token", "token", "state", false},
    {"ledger_token", "token", "created", false},  {"ledger_token", "token", "hash", true},
    {"ledger_token", "token", "mac", true},       {"ledger_row", "slot", "label", true},
    {"ledger_seal", "slot", "salt", true},
};

/* Adds 1 to a number, or flips a bit of byte `at` of bytes; returns whether there was something to
 * change. */
typedef struct {
    int64_t number;
    size_t length;
    unsigned char data[4096];
    bool null;
} cell;

static pboost_status take_cell(void *user, const store_value *value, size_t n, pboost_error *err)
{
    cell *c = user;
    (void)n, (void)err;
    c->null = value[0].kind == VALUE_NULL;
    c->number = value[0].number;
    c->length = value[0].length;
    if (value[0].kind == VALUE_BYTES)
        memcpy(c->data, value[0].data, value[0].length);
    return PBOOST_OK;
}

static bool change_cell(store *s, const changed_column *c, int64_t key, size_t at, bool back)
{
    char sql[200];
    cell was = {.null = true};
    pboost_error err = {0};

    snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s = $1", c->column, c->table, c->key);
    assert_ok(RUN(s, sql, take_cell, &was, &err, value_number(key)), err);
    if (was.null || (c->bytes && at >= was.length) || (!c->bytes && at > 0))
        return false;
    snprintf(sql, sizeof sql, "UPDATE %s SET %s = $1 WHERE %s = $2", c->table, c->column, c->key);
    if (c->bytes)
        was.data[at] ^= 0x10;
    else
        was.number += back ? -1000 : 1000;
    store_value value = c->bytes ? value_bytes(was.data, was.length) : value_number(was.number);
    assert_ok(RUN(s, sql, NULL, NULL, &err, value, value_number(key)), err);
    return true;
}

static bool found_by_audit(const test_store *t)
{
    pboost_error err = {0};
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    pboost_ledger *ledger;
    pboost_audit audit;

    options.without_labels = options.inspect = true;
    pboost_status st = pboost_ledger_open(&ledger, t->url, &options, &err);
    if (st == PBOOST_BAD_DATA) /* the rules */
        return true;
    assert_ok(st, err);
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    pboost_ledger_close(ledger);
    return audit.problems > 0;
}

static void one_changed_byte_is_found(void **state)
{
    (void)state;
    test_store t;
    pboost_token token;
    char heads[2][PBOOST_HEAD_TEXT];
    pboost_ledger_close(lived_in(&t, &token, heads));
    pboost_error err = {0};
    store *s;
    size_t changes = 0;

    assert_false(found_by_audit(&t));
    assert_ok(pboost_store_open(&s, t.url, false, &err), err);
    for (size_t c = 0; c < sizeof COLUMNS / sizeof *COLUMNS; c++) {
        size_t here = 0;
        for (int64_t key = 0; key < 8; key++)
            for (size_t at = 0; at < 300; at += on_postgresql() ? 29 : 1 + at % 7) {
                if (!change_cell(s, &COLUMNS[c], key, at, false))
                    break;
                if (!found_by_audit(&t))
                    fail_msg("a change of %s.%s in %lld at byte %zu is not found", COLUMNS[c].table,
                             COLUMNS[c].column, (long long)key, at);
                change_cell(s, &COLUMNS[c],
                            strcmp(COLUMNS[c].key, COLUMNS[c].column) == 0 ? key + 1000 : key, at,
                            true);
                here++;
            }
        if (here == 0)
            fail_msg("nothing to change in %s.%s", COLUMNS[c].table, COLUMNS[c].column);
        changes += here;
    }
    assert_true(changes > (on_postgresql() ? 60 : 200));
    pboost_store_close(s);
    assert_false(found_by_audit(&t)); /* all is as it was */

    /* Rows taken out or put in, and a label that no longer gives the answer. */
    static const char *const DAMAGE[][2] = {
        {"DELETE FROM ledger_spent", "INSERT INTO ledger_spent SELECT * FROM all_spent"},
        {"UPDATE ledger_spent SET block = 1", "UPDATE ledger_spent SET block = 0"},
        {"UPDATE ledger_row SET label = (SELECT label FROM ledger_row WHERE slot = 0) WHERE slot = "
         "8",
         "UPDATE ledger_row SET label = (SELECT s.label FROM saved_row s WHERE s.slot = 8) WHERE"
         " slot = 8"},
        {"UPDATE ledger_row SET label = (SELECT label FROM ledger_row WHERE slot = 0) WHERE slot = "
         "1",
         "UPDATE ledger_row SET label = NULL WHERE slot = 1"},
        {"UPDATE ledger_unit SET id = 'other' WHERE unit = 3",
         "UPDATE ledger_unit SET id = '103' WHERE unit = 3"},
        {"UPDATE ledger_token SET name = 'b'", "UPDATE ledger_token SET name = 'a'"},
        {"UPDATE ledger_token SET scope = 'b'", "UPDATE ledger_token SET scope = NULL"},
        {"UPDATE ledger_token SET created_by = 'b'", "UPDATE ledger_token SET created_by = ''"},
        {"UPDATE ledger_row SET id = 'other' WHERE slot = 23",
         "UPDATE ledger_row SET id = '24' WHERE slot = 23"},
    };
    change_store(&t, "CREATE TABLE all_spent AS SELECT * FROM ledger_spent");
    change_store(&t, "CREATE TABLE saved_row AS SELECT * FROM ledger_row");
    for (size_t i = 0; i < sizeof DAMAGE / sizeof *DAMAGE; i++) {
        change_store(&t, DAMAGE[i][0]);
        if (!found_by_audit(&t))
            fail_msg("not found: %s", DAMAGE[i][0]);
        change_store(&t, DAMAGE[i][1]);
        assert_false(found_by_audit(&t));
    }
    drop_store(&t);
}

/* ---- The clock ------------------------------------------------------------------------------- */

static int64_t clock_at;

static int64_t set_clock(void *user)
{
    (void)user;
    return clock_at;
}

/* Ten years forth and back: what is spent stays spent, retries get the same bytes, the chain holds.
 */
static void the_clock_changes_nothing(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger_close(make_ledger(&t, &rules, 40, NULL));
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    const int64_t year = 365 * 86400, moves[] = {0, 10 * year, -10 * year, -60 * year};
    pboost_ledger *ledger;
    pboost_error err = {0};
    pboost_reply first, again;
    const int64_t row[] = {1, 2, 3, 4};

    options.now = set_clock;
    clock_at = 50 * year;
    assert_ok(pboost_ledger_open(&ledger, t.url, &options, &err), err);
    pboost_token token = plain_token(ledger, "a");
    assert_ok(ask(&first, ledger, &token, "r", row, 4, 4, NULL, &err), err);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        char request[10];
        const int64_t fresh[] = {5 + 4 * (int64_t)i, 6 + 4 * (int64_t)i, 7 + 4 * (int64_t)i,
                                 8 + 4 * (int64_t)i};
        clock_at = 50 * year + moves[i];
        snprintf(request, sizeof request, "n%zu", i);
        assert_ok(ask(&again, ledger, &token, "r", row, 4, 4, NULL, &err), err);
        assert_true(again.retried);
        assert_memory_equal(again.body, first.body, first.length);
        pboost_reply_free(&again);
        assert_refused(ask(&again, ledger, &token, request, row, 4, 4, NULL, &err), again,
                       PBOOST_PROBLEM_ROW_SPENT, err);
        pboost_reply_free(&again);
        assert_ok(ask(&again, ledger, &token, request, fresh, 4, 4, NULL, &err), err);
        pboost_reply_free(&again);
        assert_sound(ledger);
        pboost_ledger_close(ledger);
        assert_ok(pboost_ledger_open(&ledger, t.url, &options, &err), err);
    }
    pboost_reply_free(&first);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- What is shown --------------------------------------------------------------------------- */

typedef struct {
    uint64_t entries, answers, claims, erased;
    char last[PBOOST_HEAD_TEXT];
} seen;

static bool see_entry(void *user, const pboost_ledger_entry *entry)
{
    seen *s = user;
    assert_int_equal(entry->number, s->entries);
    s->entries++;
    if (strcmp(entry->kind, "answer") == 0) {
        assert_string_equal(entry->token, "a");
        assert_string_equal(entry->request_id, s->answers == 0 ? "first" : "second");
        assert_int_equal(entry->rows, 8);
        assert_int_equal(entry->bags, 2);
        s->answers++;
    }
    strcpy(s->last, entry->head);
    return s->entries < 100;
}

static bool see_claim(void *user, const char *id, uint64_t entry)
{
    seen *s = user;
    assert_true((id == NULL || atoi(id) >= 1) && entry >= 3 && entry <= 5);
    s->erased += id == NULL;
    s->claims++;
    return true;
}

static void entries_and_claims_can_be_visited(void **state)
{
    (void)state;
    test_store t;
    pboost_token token;
    char heads[2][PBOOST_HEAD_TEXT];
    pboost_ledger *ledger = lived_in(&t, &token, heads);
    pboost_error err = {0};
    seen s = {0};

    assert_ok(pboost_ledger_entries(ledger, 0, UINT64_MAX, see_entry, &s, &err), err);
    assert_int_equal(s.entries, status_of(ledger).entries);
    assert_int_equal(s.answers, 2);
    assert_string_equal(s.last, heads[1]);
    assert_ok(pboost_ledger_claims(ledger, see_claim, &s, &err), err);
    assert_int_equal(s.claims, 17);
    assert_true(s.erased > 0);
    s.entries = 98;
    assert_ok(pboost_ledger_entries(ledger, 98, UINT64_MAX, see_entry, &s, &err), err);
    assert_int_equal(s.entries, 98);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Status is added up along the chain, whoever extends it; what was added is not read again, so that
 * it costs the same however long the chain is. */
static void totals_follow_the_chain(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_ledger(&t, &rules, 12, NULL), *other = open_store(&t);
    pboost_token token = plain_token(ledger, "a");
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {1, 2, 3, 4, 5, 6, 7, 8};

    assert_int_equal(status_of(ledger).rows, 12);
    change_store(&t, "UPDATE ledger_entry SET rows = rows + 1000 WHERE kind = 'import'");
    assert_ok(ask(&reply, other, &token, "one", row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_int_equal(status_of(ledger).rows, 12);
    assert_int_equal(status_of(ledger).spent, 4);
    change_store(&t, "UPDATE ledger_entry SET rows = rows - 1000 WHERE kind = 'import'");
    assert_ok(ask(&reply, ledger, &token, "two", row + 4, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    pboost_ledger_status a = status_of(ledger), b = status_of(other);
    assert_int_equal(a.answers, 2);
    assert_int_equal(a.spent, 8);
    assert_int_equal(a.entries, b.entries);
    assert_int_equal(a.rows, b.rows);
    assert_string_equal(a.head, b.head);
    pboost_ledger_close(ledger);
    pboost_ledger_close(other);

    /* Another chain is added up from its beginning, by who looks at a store that may be damaged. */
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    options.without_labels = options.inspect = true;
    assert_ok(pboost_ledger_open(&ledger, t.url, &options, &err), err);
    assert_int_equal(status_of(ledger).answers, 2);
    change_store(&t, "DELETE FROM ledger_entry WHERE kind = 'answer'");
    assert_int_equal(status_of(ledger).answers, 0);
    assert_int_equal(status_of(ledger).entries, a.entries - 2);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_copy_is_refused),
        cmocka_unit_test(totals_follow_the_chain),
        cmocka_unit_test(a_rollback_under_a_running_service_breaks_it),
        cmocka_unit_test(a_rollback_that_went_on_breaks_it_too),
        cmocka_unit_test(one_changed_byte_is_found),
        cmocka_unit_test(the_clock_changes_nothing),
        cmocka_unit_test(entries_and_claims_can_be_visited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Erasure: labels and ids are in no file of the store afterwards, and what was spent stays spent.
 */
#include <dirent.h>
#include <sqlite3.h>

#include "ledger_testing.h"

/* ---- The bytes of a store -------------------------------------------------------------------- */

static bool file_holds(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "rb");
    unsigned char *data = NULL;
    long length;
    bool found = false;

    if (f == NULL)
        return false;
    if (fseek(f, 0, SEEK_END) == 0 && (length = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0) {
        data = malloc((size_t)length);
        size_t got = fread(data, 1, (size_t)length, f);
        for (size_t i = 0; i + n <= got && !found; i++)
            found = data[i] == *(const unsigned char *)bytes && memcmp(data + i, bytes, n) == 0;
    }
    free(data);
    fclose(f);
    return found;
}

static bool folder_holds(const char *path, const void *bytes, size_t n)
{
    DIR *folder = opendir(path);
    bool found = false;

    if (folder == NULL)
        return file_holds(path, bytes, n);
    for (struct dirent *entry; !found && (entry = readdir(folder)) != NULL;) {
        char inner[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%.500s/%s", path, entry->d_name);
        found = folder_holds(inner, bytes, n);
    }
    closedir(folder);
    return found;
}

/* All files of the store; on PostgreSQL those of its tables, but not its write-ahead log. */
static bool store_holds(const test_store *t, const void *bytes, size_t n)
{
    if (!on_postgresql())
        return folder_holds(t->folder, bytes, n);
    char path[600];
    PGconn *c = PQconnectdb(t->url);
    PQclear(PQexec(c, "CHECKPOINT"));
    PGresult *r = PQexec(c, "SHOW data_directory");
    assert_int_equal(PQntuples(r), 1);
    snprintf(path, sizeof path, "%.500s/base", PQgetvalue(r, 0, 0));
    PQclear(r);
    PQfinish(c);
    return folder_holds(path, bytes, n);
}

static pboost_status take_bytes(void *user, const store_value *value, size_t n, pboost_error *err)
{
    (void)n, (void)err;
    assert_int_equal(value[0].length, SEALED_BYTES(1));
    memcpy(user, value[0].data, SEALED_BYTES(1));
    return PBOOST_OK;
}

/* The label of a row as it is on the disk. */
static void sealed_label(unsigned char out[SEALED_BYTES(1)], const test_store *t, const char *id)
{
    pboost_error err = {0};
    store *s;
    assert_ok(pboost_store_open(&s, t->url, false, &err), err);
    assert_ok(
        RUN(s, "SELECT label FROM ledger_row WHERE id = $1", take_bytes, out, &err, value_text(id)),
        err);
    pboost_store_close(s);
}

/* ---- Rows whose ids can be looked for -------------------------------------------------------- */

enum { ROWS = 20000, ID_BYTES = 60 };

#define MARK "-Marked"

/* Ids of random order and length, half of them marked. */
static bool name_row(char out[ID_BYTES], size_t i)
{
    uint64_t random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    random = (random ^ random >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    bool marked = (random >> 40 & 1) != 0;
    snprintf(out, ID_BYTES, "%08x-%.*s%s", (unsigned)(random >> 8 & UINT32_MAX),
             (int)(random >> 50) % 40, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
             marked ? MARK : "-kept");
    return marked;
}

/* The rows first to first + n - 1. */
static void import_named(pboost_ledger *ledger, size_t first, size_t n, bool units)
{
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    char(*text)[ID_BYTES] = calloc(n, sizeof *text);
    pboost_id *id = calloc(n, sizeof *id);
    double *label = calloc(n, sizeof *label);

    for (size_t i = 0; i < n; i++) {
        name_row(text[i], first + i);
        id[i].text = text[i];
        label[i] = 1;
    }
    in.n = n;
    in.id = id;
    in.label = label;
    in.unit = units ? id : NULL;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    free(text);
    free(id);
    free(label);
}

static pboost_status forget_marked(size_t *forgotten, pboost_ledger *ledger, size_t n,
                                   pboost_error *err)
{
    char(*text)[ID_BYTES] = calloc(n, sizeof *text);
    pboost_id *id = calloc(n, sizeof *id);
    size_t used = 0;

    for (size_t i = 0; i < n; i++)
        if (name_row(text[used], i)) {
            id[used].text = text[used];
            used++;
        }
    pboost_status st = forget_rows(forgotten, ledger, id, used, err);
    free(text);
    free(id);
    return st;
}

/* Each import is stored in the order of its ids, and falls between the rows of those before: SQLite
 * moves rows from page to page, which leaves copies behind. */
static void what_is_erased_is_in_no_file(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    rules.units = true;
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    unsigned char label[4][SEALED_BYTES(1)];
    size_t forgotten;

    for (size_t first = 0; first < ROWS; first += ROWS / 40)
        import_named(ledger, first, ROWS / 40, true);
    char name[ID_BYTES];
    for (size_t i = 0, row = 0; i < 4; row += 7)
        if (name_row(name, row))
            sealed_label(label[i++], &t, name);
    if (on_postgresql()) /* whose statistics would keep ids */
        change_store(&t, "ANALYZE");
    assert_true(store_holds(&t, MARK, strlen(MARK)));
    assert_true(store_holds(&t, label[1], SEALED_BYTES(1)));
    assert_ok(forget_marked(&forgotten, ledger, ROWS, &err), err);
    assert_true(forgotten > ROWS / 3);
    assert_false(store_holds(&t, MARK, strlen(MARK)));
    for (int i = 0; i < 4; i++)
        assert_false(store_holds(&t, label[i], SEALED_BYTES(1)));
    assert_true(store_holds(&t, "-kept", 5));
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Another process that reads the store keeps the old pages in its files: that is an error, not an
 * erasure; when the reader has ended, the same command erases. */
static void an_erasure_that_a_reader_blocks_fails(void **state)
{
    (void)state;
    if (on_postgresql())
        skip();
    pboost_ledger_rules rules = plain_rules();
    rules.claim_seconds = 1;
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    size_t forgotten;
    char path[100];
    sqlite3 *reader;

    import_named(ledger, 0, 10, false);
    snprintf(path, sizeof path, "%s/store.db", t.folder);
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM ledger_row", NULL, NULL, NULL),
        SQLITE_OK);
    assert_fails(forget_marked(&forgotten, ledger, 10, &err), PBOOST_ORACLE, err,
                 "run the same command again");
    assert_true(store_holds(&t, MARK, strlen(MARK)));
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    pboost_ledger_close(ledger);
    ledger = open_store(&t); /* the same command, which knows the ids by their digests */
    assert_ok(forget_marked(&forgotten, ledger, 10, &err), err);
    assert_int_equal(forgotten, 0);
    assert_false(store_holds(&t, MARK, strlen(MARK)));
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- What stays ------------------------------------------------------------------------------ */

static pboost_status import_one(pboost_ledger *ledger, const char *id, const char *unit,
                                pboost_error *err)
{
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    const double label = 1;
    const pboost_id row = {id, 0}, person = {unit, 0};

    in.n = 1;
    in.id = &row;
    in.label = &label;
    in.unit = &person;
    return pboost_ledger_import(&report, ledger, &in, err);
}

static pboost_status ask_names(pboost_reply *out, pboost_ledger *ledger, const pboost_token *token,
                               const char *request, const char *const *name, pboost_error *err)
{
    pboost_question q = PBOOST_QUESTION_INIT;
    pboost_id id[2] = {{name[0], 0}, {name[1], 0}};
    const size_t start[] = {0, 2};

    q.token = token;
    q.request_id = request;
    q.n_bags = 1;
    q.start = start;
    q.id = id;
    return pboost_ledger_ask(out, ledger, &q, err);
}

/* An erased person who comes again has the uses that it had; an erased row does not come again. */
static void what_was_used_stays_used(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    rules.units = true;
    rules.rules.min_bag = 2;
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_reply reply;
    size_t forgotten;
    const pboost_id ann = {"Ann, A.", 0};
    pboost_erasure person = PBOOST_ERASURE_INIT;
    person.unit = &ann;
    person.n_units = 1;

    assert_ok(import_one(ledger, "visit-1", "Ann, A.", &err), err);
    assert_ok(import_one(ledger, "visit-2", "Ann, A.", &err), err);
    assert_ok(import_one(ledger, "visit-3", "Bob", &err), err);
    assert_ok(import_one(ledger, "visit-4", "Cid", &err), err);
    pboost_token token = plain_token(ledger, "a");
    assert_ok(ask_names(&reply, ledger, &token, "1", (const char *[]){"visit-1", "visit-3"}, &err),
              err);
    pboost_reply_free(&reply);
    assert_ok(pboost_ledger_forget(&forgotten, ledger, &person, &err), err);
    assert_int_equal(forgotten, 2);
    for (int start = 0; start < 2; start++) { /* in this process, and in one that reads the store */
        assert_fails(import_one(ledger, "visit-1", "Dan", &err), PBOOST_BAD_DATA, err,
                     "was erased");
        assert_ok(pboost_ledger_forget(&forgotten, ledger, &person, &err), err);
        assert_int_equal(forgotten, 0);
        if (start == 0) {
            pboost_ledger_close(ledger);
            ledger = open_store(&t);
        }
    }
    assert_false(store_holds(&t, "visit-2", 7));
    assert_false(store_holds(&t, "Ann, A.", 7));
    assert_ok(import_one(ledger, "visit-5", "Ann, A.", &err), err);
    assert_refused(
        ask_names(&reply, ledger, &token, "2", (const char *[]){"visit-5", "visit-4"}, &err), reply,
        PBOOST_PROBLEM_UNIT_SPENT, err);
    pboost_reply_free(&reply);
    assert_refused(
        ask_names(&reply, ledger, &token, "2", (const char *[]){"visit-2", "visit-4"}, &err), reply,
        PBOOST_PROBLEM_UNKNOWN_ROW, err);
    pboost_reply_free(&reply);
    assert_ok(pboost_ledger_forget(&forgotten, ledger, &person, &err), err);
    assert_int_equal(forgotten, 1);
    assert_false(store_holds(&t, "visit-5", 7));
    assert_int_equal(status_of(ledger).forgotten, 3);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_erased_is_in_no_file),
        cmocka_unit_test(an_erasure_that_a_reader_blocks_fails),
        cmocka_unit_test(what_was_used_stays_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

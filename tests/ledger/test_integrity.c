/* Stores that were exchanged, restored or edited: each is noticed, and nothing is answered twice.
 *
 * The attacks are those of an administrator's mistake or of someone who can write to the database
 * but does not have the key file. */
#include <errno.h>
#include <fcntl.h>

#include "ledger_testing.h"

enum { N = 24 };

static const int64_t FIRST[] = {1, 2, 3, 4}, SECOND[] = {5, 6, 7, 8}, THIRD[] = {9, 10, 11, 12},
                     FOURTH[] = {13, 14, 15, 16};

static void answered(pboost_ledger *ledger, const pboost_token *token, const char *request,
                     const int64_t row[4])
{
    pboost_error err = {0};
    pboost_reply reply;
    assert_ok(ask(&reply, ledger, token, request, row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
}

static void spent(pboost_ledger *ledger, const pboost_token *token, const int64_t row[4])
{
    pboost_error err = {0};
    pboost_reply reply;
    assert_refused(ask(&reply, ledger, token, "again", row, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
}

static void assert_not_opened(const test_store *t, pboost_status status, const char *says)
{
    pboost_error err = {0};
    pboost_ledger *ledger;
    assert_fails(pboost_ledger_open(&ledger, t->url, NULL, &err), status, err, says);
}

static bool audit_finds(const test_store *t, const char *what)
{
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_audit audit;

    options.without_labels = options.inspect = true;
    assert_ok(pboost_ledger_open(&ledger, t->url, &options, &err), err);
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    pboost_ledger_close(ledger);
    return audit.problems > 0 && strstr(audit.first_problem, what) != NULL;
}

/* Rows 1 .. N of units with two rows each, scopes north and south, tokens a (all rows), b (quota of
 * 8) and c, which is revoked. */
static pboost_ledger *make_store(test_store *t, pboost_token *a)
{
    pboost_ledger_rules rules = plain_rules();
    rules.units = true;
    rules.unit_rows = 2;
    pboost_ledger *ledger = make_ledger(t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[N], unit[N], scope[N];
    double label[N];
    pboost_token_options b = PBOOST_TOKEN_OPTIONS_INIT;

    for (int i = 0; i < N; i++) {
        id[i] = (pboost_id){NULL, i + 1};
        unit[i] = (pboost_id){NULL, 100 + i % 12};
        scope[i] = (pboost_id){i % 2 == 0 ? "north" : "south", 0};
        label[i] = i % 3 == 0;
    }
    in.n = N;
    in.id = id;
    in.unit = unit;
    in.scope = scope;
    in.label = label;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    *a = plain_token(ledger, "a");
    b.name = "b";
    b.max_rows = 8;
    b.scope = "north";
    (void)token_for(ledger, &b);
    (void)plain_token(ledger, "c");
    assert_ok(pboost_token_revoke(ledger, "c", &err), err);
    return ledger;
}

static pboost_token token_named(pboost_ledger *ledger, const char *name)
{
    pboost_error err = {0};
    pboost_token *list, found = {0};
    size_t n;
    assert_ok(pboost_token_list(&list, &n, ledger, &err), err);
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            found = list[i];
    free(list);
    assert_true(found.id > 0);
    return found;
}

/* ---- A backup that was restored -------------------------------------------------------------- */

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

static void witness_of(char out[500], const test_store *t)
{
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_ledger *ledger;

    options.without_labels = options.inspect = true;
    assert_ok(pboost_ledger_open(&ledger, t->url, &options, &err), err);
    snprintf(out, 500, "%s", ledger->witness.path);
    pboost_ledger_close(ledger);
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

/* ---- The witness ----------------------------------------------------------------------------- */

static off_t size_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

/* A crash after the commit leaves the store ahead, by whole records or by part of one. */
static void a_witness_catches_up(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    char path[500];
    pboost_ledger *ledger = make_store(&t, &a);
    snprintf(path, sizeof path, "%s", ledger->witness.path);
    off_t before = size_of(path);
    answered(ledger, &a, "first", FIRST);
    off_t one = size_of(path);
    answered(ledger, &a, "second", SECOND);
    pboost_ledger_close(ledger);
    off_t both = size_of(path);
    assert_true(before < one && one < both);
    assert_int_equal(chmod(path, 0600), 0);
    for (off_t size = before; size < both; size += 13) {
        assert_int_equal(truncate(path, size), 0);
        ledger = open_store(&t);
        pboost_ledger_close(ledger);
        assert_int_equal(size_of(path), both);
    }
    FILE *f = fopen(path, "a"); /* part of a record that never was */
    fputs("some bytes that are not a record, as a crash may leave", f);
    fclose(f);
    ledger = open_store(&t);
    assert_int_equal(size_of(path), both);
    answered(ledger, &a, "third", THIRD);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    assert_true(size_of(path) > both);
    drop_store(&t);
}

static void a_damaged_witness_is_refused(void **state)
{
    (void)state;
    test_store t[2];
    pboost_token a;
    char path[2][500], moved[520];

    for (int i = 0; i < 2; i++) {
        pboost_ledger *ledger = make_store(&t[i], &a);
        snprintf(path[i], sizeof path[i], "%s", ledger->witness.path);
        answered(ledger, &a, "first", FIRST);
        pboost_ledger_close(ledger);
    }
    snprintf(moved, sizeof moved, "%s.moved", path[0]);
    int fd = open(path[0], O_RDWR);
    char byte = 0;
    assert_int_equal(pread(fd, &byte, 1, 100), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
    assert_not_opened(&t[0], PBOOST_BAD_DATA, "damaged at byte 64");
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
    close(fd);
    pboost_ledger_close(open_store(&t[0]));
    assert_int_equal(rename(path[0], moved), 0);
    assert_int_equal(link(path[1], path[0]), 0);
    assert_not_opened(&t[0], PBOOST_BAD_DATA, "not the witness of this store");
    assert_int_equal(rename(moved, path[0]), 0);
    pboost_ledger_close(open_store(&t[0]));
    drop_store(&t[0]);
    drop_store(&t[1]);
}

/* A witness that is taken away under a running service stops it before the reply. */
static void a_witness_that_is_gone_stops_the_service(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    char path[500], moved[520];
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};
    pboost_reply reply;

    snprintf(path, sizeof path, "%s", ledger->witness.path);
    snprintf(moved, sizeof moved, "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_fails(ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err), PBOOST_ORACLE, err,
                 "moved, deleted or replaced");
    assert_null(reply.body);
    assert_true(pboost_ledger_broken(ledger));
    assert_non_null(strstr(pboost_ledger_why_broken(ledger), "witness"));
    pboost_ledger_close(ledger);
    assert_int_equal(rename(moved, path), 0);
    ledger = open_store(&t); /* the answer that was committed is there for the retry */
    assert_ok(ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err), err);
    assert_true(reply.retried);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- A disk that fails under the witness ------------------------------------------------------
 */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
static int syncs_left = -1; /* until one fails; -1: none does */

int __wrap_fdatasync(int fd)
{
    if (syncs_left >= 0 && syncs_left-- == 0) {
        errno = EIO;
        return -1;
    }
    return __real_fdatasync(fd);
}

/* What is not on the disk is not answered, and the process must end. */
static void a_witness_that_cannot_be_synced_stops_the_service(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *ledger = make_store(&t, &a);
    pboost_error err = {0};
    pboost_reply reply;

    syncs_left = 0;
    pboost_status st = ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err);
    syncs_left = -1;
    assert_int_equal(st, PBOOST_ORACLE);
    assert_null(reply.body);
    assert_true(pboost_ledger_broken(ledger));
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    assert_ok(ask(&reply, ledger, &a, "first", FIRST, 4, 4, NULL, &err), err);
    assert_true(reply.retried);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Two services on one store write to one witness. */
static void a_witness_is_shared(void **state)
{
    (void)state;
    test_store t;
    pboost_token a;
    pboost_ledger *one = make_store(&t, &a), *two = open_store(&t);
    pboost_error err = {0};
    pboost_reply reply;
    bool found;

    answered(one, &a, "first", FIRST);
    assert_ok(pboost_ledger_find(&reply, &found, two, &a, "first", &err), err);
    assert_true(found);
    pboost_reply_free(&reply);
    answered(two, &a, "second", SECOND);
    answered(one, &a, "third", THIRD);
    assert_int_equal(one->witness.last.number, two->witness.last.number + 1);
    assert_int_equal(one->witness.last.number, one->labels.link.number);
    assert_sound(one);
    assert_sound(two);
    pboost_ledger_close(one);
    pboost_ledger_close(two);
    pboost_ledger_close(open_store(&t));
    drop_store(&t);
}

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
        "DELETE FROM ledger_claim WHERE slot = 2",
        "DELETE FROM ledger_claim",
        "INSERT INTO ledger_claim VALUES (20, 1)",
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
        cmocka_unit_test(a_restored_backup_is_refused_and_burned),
        cmocka_unit_test(a_restore_of_a_whole_store_does_nothing),
        cmocka_unit_test(without_a_witness_every_row_is_burned),
        cmocka_unit_test(lost_rows_cannot_be_imported_again),
        cmocka_unit_test(a_witness_catches_up),
        cmocka_unit_test(a_damaged_witness_is_refused),
        cmocka_unit_test(a_witness_that_is_gone_stops_the_service),
        cmocka_unit_test(a_witness_that_cannot_be_synced_stops_the_service),
        cmocka_unit_test(a_witness_is_shared),
        cmocka_unit_test(an_exchanged_store_is_noticed),
        cmocka_unit_test(other_processes_are_no_exchange),
        cmocka_unit_test(a_restored_database_is_noticed),
        cmocka_unit_test(an_edited_token_stops_the_service),
        cmocka_unit_test(an_edited_store_is_not_opened),
        cmocka_unit_test(an_old_token_is_not_put_back),
        cmocka_unit_test(a_forged_entry_is_noticed),
        cmocka_unit_test(sums_are_not_found_in_an_exported_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

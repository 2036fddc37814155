/* What the tests of the ledger share: an empty store, filled, opened, asked.
 *
 * Every test runs on SQLite, or, where $PBOOST_TEST_STORE is the URL of a PostgreSQL server, in a
 * schema of its own there: see with_postgresql.sh.  Where $PBOOST_TEST_DIRECT is the server behind
 * a pooler, which knows no schemas, it has a database of its own: see with_pgbouncer.sh. */
#ifndef PBOOST_LEDGER_TESTING_H
#define PBOOST_LEDGER_TESTING_H

#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include <libpq-fe.h>

#include <priorboost/ledger.h>

#include "state.h"

typedef struct {
    char folder[64]; /* of the SQLite file; "" on PostgreSQL */
    char url[400];
} test_store;

static inline bool on_postgresql(void)
{
    return getenv("PBOOST_TEST_STORE") != NULL;
}

static inline test_store new_store(void)
{
    static int count;
    test_store t = {.folder = ""};

    if (on_postgresql()) {
        const char *url = getenv("PBOOST_TEST_STORE"), *direct = getenv("PBOOST_TEST_DIRECT");
        char name[64], sql[100];
        snprintf(name, sizeof name, "t%d_%d", (int)getpid(), count++);
        snprintf(sql, sizeof sql, "CREATE %s %s", direct != NULL ? "DATABASE" : "SCHEMA", name);
        PGconn *c = PQconnectdb(direct != NULL ? direct : url);
        PGresult *r = PQexec(c, sql);
        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            fail_msg("%s", PQerrorMessage(c));
        PQclear(r);
        PQfinish(c);
        if (direct != NULL)
            snprintf(t.url, sizeof t.url, "postgresql:///%s%s", name, strchr(url, '?'));
        else
            snprintf(t.url, sizeof t.url, "%s&options=-csearch_path%%3D%s", url, name);
    } else {
        strcpy(t.folder, "/tmp/pboost-ledger-XXXXXX");
        assert_non_null(mkdtemp(t.folder));
        snprintf(t.url, sizeof t.url, "sqlite:%s/store.db", t.folder);
    }
    return t;
}

static inline void drop_store(const test_store *t)
{
    static const char *const END[] = {"",     "-wal",     "-shm",         ".copy",
                                      ".key", ".witness", ".witness.copy"};
    char path[100];

    if (t->folder[0] == '\0')
        return;
    for (size_t i = 0; i < sizeof END / sizeof *END; i++) {
        snprintf(path, sizeof path, "%.60s/store.db%s", t->folder, END[i]);
        unlink(path);
    }
    rmdir(t->folder);
}

/* 0/1 labels, bags of 4, no noise. */
static inline pboost_ledger_rules plain_rules(void)
{
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    rules.rules.min_bag = 4;
    rules.rules.bounded = true;
    rules.rules.upper = 1;
    rules.rules.step = 1;
    rules.no_noise = true;
    return rules;
}

static inline pboost_ledger *open_store(const test_store *t)
{
    pboost_error err = {0};
    pboost_ledger *ledger;
    assert_ok(pboost_ledger_open(&ledger, t->url, NULL, &err), err);
    return ledger;
}

/* Rows first .. first+n with the labels, or all 1 where label is NULL. */
static inline void import_rows(pboost_ledger *ledger, int64_t first, size_t n, const double *label)
{
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id *id = calloc(n, sizeof *id);
    double *ones = calloc(n, sizeof *ones);

    for (size_t i = 0; i < n; i++) {
        id[i].number = first + (int64_t)i;
        ones[i] = 1;
    }
    in.n = n;
    in.id = id;
    in.label = label != NULL ? label : ones;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    assert_int_equal(report.rows, n);
    free(id);
    free(ones);
}

static inline pboost_status forget_rows(size_t *forgotten, pboost_ledger *ledger,
                                        const pboost_id *id, size_t n, pboost_error *err)
{
    pboost_erasure erasure = PBOOST_ERASURE_INIT;
    erasure.id = id;
    erasure.n = n;
    return pboost_ledger_forget(forgotten, ledger, &erasure, err);
}

static inline pboost_token token_for(pboost_ledger *ledger, const pboost_token_options *options)
{
    pboost_error err = {0};
    char secret[PBOOST_TOKEN_TEXT];
    pboost_token token;
    pboost_problem problem;

    assert_ok(pboost_token_create(secret, ledger, options, &err), err);
    assert_ok(pboost_token_authenticate(&token, &problem, ledger, secret, PBOOST_MAY(options->role),
                                        &err),
              err);
    return token;
}

static inline pboost_token plain_token(pboost_ledger *ledger, const char *name)
{
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    options.name = name;
    return token_for(ledger, &options);
}

/* Makes a store with these rules and n rows, 1 .. n, and opens it. */
static inline pboost_ledger *make_ledger(test_store *t, const pboost_ledger_rules *rules, size_t n,
                                         const double *label)
{
    pboost_error err = {0};
    *t = new_store();
    assert_ok(pboost_ledger_create(t->url, rules, NULL, &err), err);
    pboost_ledger *ledger = open_store(t);
    if (n > 0)
        import_rows(ledger, 1, n, label);
    return ledger;
}

/* Asks about bags of `size` rows, row[0 .. size), row[size .. 2 size), ..., as q says otherwise. */
static inline pboost_status ask_as(pboost_reply *out, pboost_ledger *ledger, pboost_question q,
                                   const int64_t *row, size_t n, size_t size, pboost_error *err)
{
    size_t bags = (n + size - 1) / size;
    pboost_id *id = calloc(n + 1, sizeof *id);
    size_t *start = calloc(bags + 1, sizeof *start);

    for (size_t i = 0; i < n; i++)
        id[i].number = row[i];
    for (size_t b = 0; b <= bags; b++)
        start[b] = b * size < n ? b * size : n;
    q.n_bags = bags;
    q.start = start;
    q.id = id;
    pboost_status st = pboost_ledger_ask(out, ledger, &q, err);
    free(id);
    free(start);
    return st;
}

static inline pboost_status ask(pboost_reply *out, pboost_ledger *ledger, const pboost_token *token,
                                const char *request, const int64_t *row, size_t n, size_t size,
                                const char *head, pboost_error *err)
{
    pboost_question q = PBOOST_QUESTION_INIT;
    q.token = token;
    q.request_id = request;
    q.head = head;
    return ask_as(out, ledger, q, row, n, size, err);
}

static inline double mean_of(const pboost_reply *reply, size_t bag)
{
    double mean;
    memcpy(&mean, reply->body + 8 * bag, 8);
    return mean;
}

/* The head in a reply without a renderer of its own. */
static inline void head_of(char out[PBOOST_HEAD_TEXT], const pboost_reply *reply)
{
    sodium_bin2hex(out, PBOOST_HEAD_TEXT, reply->body + reply->length - 32, 32);
}

/* ask(...) is refused with this problem, whose only offenders are these. */
#define assert_refused(call, reply, expected, err)                                                 \
    do {                                                                                           \
        memset(&(err), 0, sizeof(err));                                                            \
        pboost_status assert_refused_status = (call);                                              \
        if (assert_refused_status != PBOOST_REFUSED || (reply).problem != (expected))              \
            fail_msg("%s, %s, not %s: %s", pboost_status_name(assert_refused_status),              \
                     pboost_problem_describe((reply).problem)->name,                               \
                     pboost_problem_describe(expected)->name, (err).message);                      \
        assert_null((reply).body);                                                                 \
    } while (0)

static inline pboost_ledger_status status_of(pboost_ledger *ledger)
{
    pboost_error err = {0};
    pboost_ledger_status status;
    assert_ok(pboost_ledger_get_status(&status, ledger, &err), err);
    return status;
}

static inline void assert_sound(pboost_ledger *ledger)
{
    pboost_error err = {0};
    pboost_audit audit;
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    if (audit.problems > 0)
        fail_msg("audit: %s", audit.first_problem);
}

/* Changes the store without the ledger. */
static inline void change_store(const test_store *t, const char *sql)
{
    pboost_error err = {0};
    store *s;
    assert_ok(pboost_store_open(&s, t->url, false, &err), err);
    assert_ok(s->class->run(s, sql, NULL, 0, NULL, NULL, &err), err);
    pboost_store_close(s);
}

/* A backup of every table, inside the store; putting it back is what a restore does. */
static const char *const LEDGER_TABLES[] = {
    "ledger_meta", "ledger_entry",     "ledger_answer",  "ledger_spent", "ledger_unit_use",
    "ledger_row",  "ledger_unit",      "ledger_scope",   "ledger_token", "ledger_refusal",
    "ledger_seal", "ledger_lost_head", "ledger_lost_row"};
enum { N_LEDGER_TABLES = sizeof LEDGER_TABLES / sizeof *LEDGER_TABLES };

/* A copy of the witness too, which nobody should have. */
static inline void copy_file(const char *from, const char *to)
{
    static char block[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb"); /* in place, where it is there */
    size_t n;

    assert_true(in != NULL && out != NULL);
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        assert_int_equal(fwrite(block, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static inline void back_up(const test_store *t)
{
    char sql[200];

    for (size_t i = 0; i < N_LEDGER_TABLES; i++) {
        snprintf(sql, sizeof sql, "CREATE TABLE saved_%s AS SELECT * FROM %s", LEDGER_TABLES[i],
                 LEDGER_TABLES[i]);
        change_store(t, sql);
    }
}

static inline void put_back(const test_store *t)
{
    char sql[200];

    for (size_t i = 0; i < N_LEDGER_TABLES; i++) {
        snprintf(sql, sizeof sql, "DELETE FROM %s", LEDGER_TABLES[i]);
        change_store(t, sql);
        snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM saved_%s", LEDGER_TABLES[i],
                 LEDGER_TABLES[i]);
        change_store(t, sql);
    }
}

#endif

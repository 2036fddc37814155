/* The store in a PostgreSQL database, through libpq.
 *
 * Writers take turns by a lock on the chain, so that what they read is still true when they commit;
 * the constraints hold even if that lock were missing.  When the connection is lost at commit, it
 * is not known whether the commit happened.  That does no harm: the caller fails, nothing in memory
 * was changed, the next transaction reads the new entries of the chain, and a retry of the question
 * finds the answer or is answered for the first time.  A server whose disk fails ends by itself. */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "store.h"

enum { SCHEMA_MAX = 2 * 64 + 3 };

typedef struct {
    store base;
    PGconn *connection;
    bool creating; /* there are no tables yet */
    bool found;    /* there were tables when it was opened */
    bool lost;     /* the connection must not be used again, even if libpq reports it as good */
    bool no_async_standby;   /* see check_standbys */
    unsigned wait;           /* seconds */
    char schema[SCHEMA_MAX]; /* that has the tables, quoted; "" before it is known */
} postgresql_store;

enum { OID_BYTEA = 17, OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25 };
enum { MAX_COLUMNS = 20 };

static postgresql_store *of(store *s)
{
    return (postgresql_store *)s;
}

/* ---- Failures -------------------------------------------------------------------------------- */

static const struct {
    const char *sqlstate; /* how it starts */
    pboost_status status;
    const char *message;
} FAILURES[] = {
    {"23", PBOOST_REFUSED, "the store's constraints forbid it"},
    {"55P03", PBOOST_ORACLE, "the store is in use by another process"},
    {"57014", PBOOST_ORACLE, "the store is in use by another process"},
    {"40", PBOOST_ORACLE, "the store is in use by another process"},
    {"53200", PBOOST_NO_MEMORY, "PostgreSQL is out of memory"},
    {"53", PBOOST_OUTPUT, NULL},
    {"22", PBOOST_BAD_DATA, NULL},
    {"42P01", PBOOST_BAD_DATA, "the database holds no ledger; 'priorboost oracle init' makes one"},
};

/* Only the first line of what PostgreSQL says: the details may show a row.  What comes without a
 * SQLSTATE is from libpq, which has no memory, and then no message either, or could not reach the
 * server, which it may notice before it calls the connection bad. */
static pboost_status failed(store *s, PGresult *result, pboost_error *err)
{
    const char *sqlstate = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *message =
        result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    of(s)->lost = sqlstate == NULL || PQstatus(of(s)->connection) != CONNECTION_OK;
    if (sqlstate == NULL && result != NULL && *PQresultErrorMessage(result) == '\0')
        return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    if (of(s)->lost || message == NULL)
        return pboost_fail(err, PBOOST_ORACLE, "the connection to PostgreSQL is lost");
    for (size_t i = 0; i < sizeof FAILURES / sizeof *FAILURES; i++)
        if (strncmp(sqlstate, FAILURES[i].sqlstate, strlen(FAILURES[i].sqlstate)) == 0)
            return pboost_fail(err, FAILURES[i].status, "%s",
                               FAILURES[i].message != NULL ? FAILURES[i].message : message);
    return pboost_fail(err, PBOOST_ORACLE, "PostgreSQL: %s (%s)", message, sqlstate);
}

static void say_nothing(void *user, const char *message)
{
    (void)user, (void)message;
}

/* ---- Statements ------------------------------------------------------------------------------ */

static void put_big_endian(unsigned char *out, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(number >> 8 * (bytes - 1 - i));
}

static int64_t big_endian(const char *data, int bytes)
{
    uint64_t number = (data[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)data[i];
    return (int64_t)number;
}

static pboost_status send(store *s, const char *sql, const store_value *argument, size_t n,
                          bool by_row, pboost_error *err)
{
    Oid type[MAX_COLUMNS] = {0};
    const char *data[MAX_COLUMNS] = {0};
    int length[MAX_COLUMNS] = {0}, format[MAX_COLUMNS] = {0};
    unsigned char number[MAX_COLUMNS][8];

    for (size_t i = 0; i < n; i++) {
        const store_value *v = &argument[i];
        type[i] = v->kind == VALUE_NUMBER  ? OID_INT8
                  : v->kind == VALUE_BYTES ? OID_BYTEA
                  : v->kind == VALUE_TEXT  ? OID_TEXT
                                           : 0; /* null is of any type */
        put_big_endian(number[i], (uint64_t)v->number, 8);
        data[i] = v->kind == VALUE_NUMBER                     ? (const char *)number[i]
                  : v->kind == VALUE_BYTES && v->data == NULL ? ""
                                                              : v->data;
        length[i] = v->kind == VALUE_NUMBER ? 8 : (int)v->length;
        format[i] = 1;
    }
    if (!PQsendQueryParams(of(s)->connection, sql, (int)n, type, data, length, format, 1) ||
        (by_row && !PQsetSingleRowMode(of(s)->connection)))
        return failed(s, NULL, err);
    return PBOOST_OK;
}

static void column(store_value *out, const PGresult *result, int row, int i)
{
    Oid type = PQftype(result, i);
    const char *data = PQgetvalue(result, row, i);
    int length = PQgetlength(result, row, i);

    if (PQgetisnull(result, row, i))
        *out = (store_value){VALUE_NULL, 0, NULL, 0};
    else if (type == OID_INT4 || type == OID_INT8)
        *out = value_number(big_endian(data, length));
    else
        *out = (store_value){type == OID_BYTEA ? VALUE_BYTES : VALUE_TEXT, 0, data, (size_t)length};
}

static pboost_status take_rows(const PGresult *result, store_row *row, void *user,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store_value value[MAX_COLUMNS];
    int columns = PQnfields(result);

    for (int r = 0; row != NULL && r < PQntuples(result); r++) {
        for (int i = 0; i < columns; i++)
            column(&value[i], result, r, i);
        TRY(row(user, value, (size_t)columns, err));
    }
done:
    return st;
}

/* Waits until PQgetResult need not.  libpq takes a lack of memory for the start of COPY for a
 * message that has not all come, and would wait for more of it without end; looked at again, it is
 * there. */
static PGresult *next_result(PGconn *connection)
{
    struct pollfd ready = {PQsocket(connection), POLLIN, 0};

    while (PQisBusy(connection)) {
        (void)poll(&ready, 1, 1000);
        if (!PQconsumeInput(connection))
            break;
    }
    return PQgetResult(connection);
}

/* Takes results until there is none: the connection is not free before.  The first failure
 * counts.  While the server waits for rows to copy there is no end of results. */
static pboost_status receive(store *s, store_row *row, void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (PGresult *result; (result = next_result(of(s)->connection)) != NULL; PQclear(result)) {
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COPY_IN) {
            PQclear(result);
            return st;
        }
        if (st != PBOOST_OK)
            continue;
        if (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK)
            st = take_rows(result, row, user, err);
        else if (status != PGRES_COMMAND_OK)
            st = failed(s, result, err);
    }
    if (st == PBOOST_OK && PQstatus(of(s)->connection) != CONNECTION_OK)
        st = failed(s, NULL, err);
    return st;
}

static pboost_status run(store *s, const char *sql, const store_value *argument, size_t n,
                         store_row *row, void *user, pboost_error *err)
{
    pboost_status st = send(s, sql, argument, n, row != NULL, err);
    return st == PBOOST_OK ? receive(s, row, user, err) : st;
}

/* ---- Bulk: binary COPY ----------------------------------------------------------------------- */

typedef struct {
    PGconn *connection;
    size_t used;
    unsigned char data[1 << 16];
} copy_buffer;

static pboost_status flush(copy_buffer *b, pboost_error *err)
{
    if (b->used > 0 && PQputCopyData(b->connection, (const char *)b->data, (int)b->used) != 1)
        return pboost_fail(err, PBOOST_ORACLE, "the connection to PostgreSQL is lost");
    b->used = 0;
    return PBOOST_OK;
}

static void put(copy_buffer *b, const void *data, size_t length)
{
    if (length > 0)
        memcpy(b->data + b->used, data, length);
    b->used += length;
}

static void put_number(copy_buffer *b, int64_t number, size_t bytes)
{
    put_big_endian(b->data + b->used, (uint64_t)number, bytes);
    b->used += bytes;
}

static void put_value(copy_buffer *b, const store_value *v, char type)
{
    size_t bytes = type == 'i' ? 4 : type == 'l' ? 8 : v->length;

    put_number(b, v->kind == VALUE_NULL ? -1 : (int64_t)bytes, 4);
    if (v->kind == VALUE_NUMBER)
        put_number(b, v->number, bytes);
    else if (v->kind != VALUE_NULL)
        put(b, v->data, bytes);
}

static pboost_status copy_rows(copy_buffer *b, const store_bulk *rows, pboost_error *err)
{
    static const unsigned char HEADER[19] = "PGCOPY\n\377\r\n";
    enum { LARGEST_ROW = 2048 };
    pboost_status st = PBOOST_OK;
    store_value value[MAX_COLUMNS];
    size_t columns = strlen(rows->types);

    put(b, HEADER, sizeof HEADER);
    for (size_t i = 0; i < rows->n; i++) {
        size_t bytes = 0;
        TRY(rows->row(rows->user, value, i, err));
        for (size_t c = 0; c < columns; c++)
            bytes += 12 + value[c].length;
        if (bytes > LARGEST_ROW)
            FAIL(err, PBOOST_INTERNAL, "a row of %zu bytes is too long for %s", bytes, rows->table);
        if (b->used + LARGEST_ROW > sizeof b->data)
            TRY(flush(b, err));
        put_number(b, (int64_t)columns, 2);
        for (size_t c = 0; c < columns; c++)
            put_value(b, &value[c], rows->types[c]);
    }
    put_number(b, -1, 2);
    TRY(flush(b, err));
done:
    return st;
}

static pboost_status bulk(store *s, const store_bulk *rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    copy_buffer *b = NULL;
    char sql[100];

    NEED(b = malloc(sizeof *b), err);
    b->connection = of(s)->connection;
    b->used = 0;
    snprintf(sql, sizeof sql, "COPY %s FROM STDIN BINARY", rows->table);
    TRY(run(s, sql, NULL, 0, NULL, NULL, err));
    st = copy_rows(b, rows, err);
    if (PQputCopyEnd(b->connection, st == PBOOST_OK ? NULL : "stopped") != 1 && st == PBOOST_OK)
        FAIL(err, PBOOST_ORACLE, "the connection to PostgreSQL is lost");
    pboost_status end = receive(s, NULL, NULL, st == PBOOST_OK ? err : NULL);
    if (st == PBOOST_OK)
        st = end;
done:
    free(b);
    return st;
}

/* ---- What the server must be like ------------------------------------------------------------ */

/* What commits that last rely on.  With data_sync_retry a server goes on after an fsync that
 * failed, although the kernel may report the next one as successful. */
static const char *const NEEDED[][2] = {
    {"fsync", "on"}, {"full_page_writes", "on"}, {"data_sync_retry", "off"}};
enum { N_NEEDED = sizeof NEEDED / sizeof *NEEDED };

/* The values of NEEDED. */
static pboost_status check_needed(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    (void)user, (void)n;

    for (size_t i = 0; i < N_NEEDED; i++)
        if (value[i].kind != VALUE_TEXT || strcmp(value[i].data, NEEDED[i][1]) != 0)
            FAIL(err, PBOOST_ORACLE,
                 "PostgreSQL has %s %s, so that its commits are not durable; it must be %s",
                 NEEDED[i][0],
                 value[i].kind == VALUE_TEXT ? (const char *)value[i].data : "unknown",
                 NEEDED[i][1]);
done:
    return st;
}

/* Settings for this transaction only, said in each one: a pooler gives a transaction any of its
 * connections, with the settings that the last user left there, and after a failover to another
 * server.  The tables are looked for where they were found when the store was opened; before that,
 * where the role and the database say.  Temporary tables come last: they could take the place of
 * ours. */
static pboost_status settle(store *s, pboost_error *err)
{
    char wait[24];

    snprintf(wait, sizeof wait, "%us", of(s)->wait);
    return RUN(s,
               "SELECT current_setting($1), current_setting($2), current_setting($3),"
               " set_config('lock_timeout', $4, true),"
               " set_config('search_path', CASE $5 WHEN '' THEN (SELECT reset_val FROM pg_settings"
               " WHERE name = 'search_path') ELSE $5 || ', pg_temp' END, true),"
               " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
               " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)",
               check_needed, NULL, err, value_text(NEEDED[0][0]), value_text(NEEDED[1][0]),
               value_text(NEEDED[2][0]), value_text(wait), value_text(of(s)->schema));
}

/* in recovery, standbys that commits do not wait for, whether they wait for any */
static pboost_status judge_standbys(void *user, const store_value *value, size_t n,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    (void)user, (void)n;

    if (value[0].number != 0)
        FAIL(err, PBOOST_ORACLE,
             "the PostgreSQL server is a standby; name the primary in --store, or several hosts "
             "with target_session_attrs=read-write");
    if (value[1].number > 0)
        FAIL(err, PBOOST_ORACLE,
             "PostgreSQL has %lld standby(s) or slots of standbys, and commits do not wait for "
             "%s: after a failover answered rows could be asked about again; name every standby in "
             "synchronous_standby_names, or accept the risk with --allow-async-standby",
             (long long)value[1].number, value[2].number != 0 ? "all of them" : "any");
done:
    return st;
}

/* A standby to which a failover may lead must hold every commit that was acknowledged.  Not
 * counted: logical replication and pg_basebackup, to which nothing fails over.  Who may not read
 * pg_stat_replication (pg_monitor may) sees that there are standbys, but not which are synchronous.
 */
static pboost_status look_for_standbys(store *s, pboost_error *err)
{
    return run(
        s,
        "SELECT pg_is_in_recovery()::int,"
        " (SELECT count(*) FROM pg_stat_replication r"
        "  LEFT JOIN pg_replication_slots l ON l.active_pid = r.pid"
        "  WHERE coalesce(l.slot_type = 'physical', true)"
        "  AND coalesce(l.slot_name NOT LIKE 'pg_basebackup_%', true)"
        "  AND coalesce(r.state <> 'backup', true)"
        "  AND (current_setting('synchronous_standby_names') = '' OR r.sync_state = 'async'))"
        " + (SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'physical'"
        "  AND NOT active AND current_setting('synchronous_standby_names') = ''),"
        " (current_setting('synchronous_standby_names') <> '')::int",
        NULL, 0, judge_standbys, NULL, err);
}

static pboost_status check_standbys(store *s, pboost_error *err)
{
    of(s)->no_async_standby = true;
    return look_for_standbys(s, err);
}

/* ---- Transactions ---------------------------------------------------------------------------- */

static pboost_status set_wait(store *s, unsigned seconds, pboost_error *err)
{
    (void)err;
    of(s)->wait = seconds;
    return PBOOST_OK;
}

static void rollback(store *s)
{
    (void)run(s, "ROLLBACK", NULL, 0, NULL, NULL, NULL);
}

/* A connection on which something is still under way, because libpq had no memory for its end, is
 * as good as lost; a new one ends what the old one began.  It may lead to another server. */
static pboost_status connect_again(store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    of(s)->lost = false;
    PQreset(of(s)->connection);
    s->touched = true;
    if (of(s)->no_async_standby)
        TRY(look_for_standbys(s, err));
done:
    return st;
}

static pboost_status start(store *s, const char *sql, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(run(s, sql, NULL, 0, NULL, NULL, err));
    st = settle(s, err);
    if (st != PBOOST_OK)
        rollback(s);
done:
    return st;
}

static pboost_status begin(store *s, bool write, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (of(s)->lost || PQstatus(of(s)->connection) != CONNECTION_OK ||
        PQtransactionStatus(of(s)->connection) != PQTRANS_IDLE)
        TRY(connect_again(s, err));
    TRY(start(s,
              write ? "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
                    : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
              err));
    if (write && !of(s)->creating)
        st = run(s, "LOCK TABLE ledger_entry IN EXCLUSIVE MODE", NULL, 0, NULL, NULL, err);
    if (st != PBOOST_OK)
        rollback(s);
done:
    return st;
}

/* A transaction that has failed is rolled back by COMMIT, and PostgreSQL does not call that an
 * error.  Every commit is durable: one that is not would be lost when the server crashes, while
 * this process, which has counted it, continues. */
static pboost_status commit(store *s, bool durable, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    (void)durable;

    if (PQtransactionStatus(of(s)->connection) == PQTRANS_INERROR)
        FAIL(err, PBOOST_INTERNAL, "commit of a transaction that has failed");
    TRY(run(s, "COMMIT", NULL, 0, NULL, NULL, err));
    of(s)->creating = false;
done:
    return st;
}

/* A statement outside a transaction gets one of its own, for the settings. */
static pboost_status run_settled(store *s, const char *sql, const store_value *argument, size_t n,
                                 store_row *row, void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (PQtransactionStatus(of(s)->connection) != PQTRANS_IDLE)
        return run(s, sql, argument, n, row, user, err);
    TRY(start(s, "BEGIN", err));
    st = run(s, sql, argument, n, row, user, err);
    if (st == PBOOST_OK)
        st = run(s, "COMMIT", NULL, 0, NULL, NULL, err);
    else
        rollback(s);
done:
    return st;
}

static pboost_status has_table(bool *out, store *s, const char *name, pboost_error *err)
{
    int64_t count = 0;
    const store_value argument = value_text(name);
    pboost_status st = run_settled(s, "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)",
                                   &argument, 1, pboost_store_number, &count, err);
    *out = count > 0;
    return st;
}

/* What was erased stays in a table's pages until the table is rewritten.  The write-ahead log of
 * the server and its archives are beyond this program: see docs/operating.md. */
static pboost_status scrub(store *s, pboost_error *err)
{
    static const char *const TABLES[] = {"ledger_row", "ledger_unit"};
    pboost_status st = PBOOST_OK;
    pboost_error why = {0};
    char sql[SCHEMA_MAX + 40];

    for (size_t i = 0; st == PBOOST_OK && i < sizeof TABLES / sizeof *TABLES; i++) {
        snprintf(sql, sizeof sql, "VACUUM FULL %s.%s", of(s)->schema, TABLES[i]);
        st = run(s, sql, NULL, 0, NULL, NULL, &why);
    }
    if (st != PBOOST_OK)
        FAIL(err, st,
             "the change is made, but old bytes are still in the files of the server (%s); run the"
             " same command again",
             why.message);
done:
    return st;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void close_store(store *s)
{
    PQfinish(of(s)->connection);
    free(s);
}

static const store_class POSTGRESQL = {.name = "postgresql",
                                       .bytes_type = "BYTEA",
                                       .table_end = "",
                                       .hide_ids = "ALTER id SET STATISTICS 0",
                                       .close = close_store,
                                       .set_wait = set_wait,
                                       .check_standbys = check_standbys,
                                       .begin = begin,
                                       .commit = commit,
                                       .rollback = rollback,
                                       .run = run_settled,
                                       .bulk = bulk,
                                       .has_table = has_table,
                                       .scrub = scrub,
                                       .discard = close_store};

/* The first line of libpq's message, which names host and cause but no password. */
static pboost_status no_connection(PGconn *connection, pboost_error *err)
{
    const char *message = PQerrorMessage(connection);
    return pboost_fail(err, PBOOST_ORACLE, "PostgreSQL: %.*s", (int)strcspn(message, "\n"),
                       message);
}

/* A command line can be read by every user of the machine. */
static pboost_status refuse_password(const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    PQconninfoOption *option = PQconninfoParse(url, NULL);

    for (const PQconninfoOption *o = option; o != NULL && o->keyword != NULL; o++)
        if (o->val != NULL &&
            (strcmp(o->keyword, "password") == 0 || strcmp(o->keyword, "sslpassword") == 0))
            FAIL(err, PBOOST_INVALID,
                 "the address of the store holds a password, which every user of this machine can "
                 "see; leave it out and put it into a file of mode 0600: ~/.pgpass or $PGPASSFILE "
                 "(HOST:PORT:DATABASE:USER:PASSWORD), or a service (postgresql:///?service=NAME)");
done:
    PQconninfoFree(option);
    return st;
}

/* schema, whether it has the tables */
static pboost_status take_schema(void *user, const store_value *value, size_t n, pboost_error *err)
{
    postgresql_store *s = user;
    (void)n;

    if (value[0].kind != VALUE_TEXT)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "the database has no schema in the search_path of this role");
    snprintf(s->schema, sizeof s->schema, "%s", (const char *)value[0].data);
    s->found = value[1].number != 0;
    return PBOOST_OK;
}

/* Where the tables are, or where they are to be made. */
static pboost_status find_schema(postgresql_store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_store_begin(&s->base, false, err));
    TRY(run(&s->base,
            "SELECT quote_ident(coalesce((SELECT n.nspname FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE c.oid = to_regclass('ledger_entry')),"
            " current_schema())), (to_regclass('ledger_entry') IS NOT NULL)::int",
            NULL, 0, take_schema, s, err));
    if (s->creating && s->found)
        FAIL(err, PBOOST_REFUSED,
             "the database holds a ledger already; the rules of a store cannot be changed");
    if (!s->creating && !s->found)
        FAIL(err, PBOOST_BAD_DATA,
             "the database holds no ledger; 'priorboost oracle init' makes one");
done:
    pboost_store_rollback(&s->base);
    return st;
}

pboost_status pboost_postgresql_open(store **out, const char *url, bool create, pboost_error *err)
{
    static const char *const KEYWORDS[] = {"dbname", "client_encoding", "connect_timeout",
                                           "fallback_application_name", NULL};
    const char *const values[] = {url, "UTF8", "10", "priorboost", NULL};
    pboost_status st = PBOOST_OK;
    postgresql_store *s = NULL;

    *out = NULL;
    TRY(refuse_password(url, err));
    NEED(s = calloc(1, sizeof *s), err);
    s->base.class = &POSTGRESQL;
    s->creating = create;
    s->wait = 30;
    NEED(s->connection = PQconnectdbParams(KEYWORDS, values, 1), err);
    if (PQstatus(s->connection) != CONNECTION_OK) {
        st = no_connection(s->connection, err);
        goto done;
    }
    PQsetNoticeProcessor(s->connection, say_nothing, NULL);
    TRY(find_schema(s, err));
    *out = &s->base;
done:
    if (*out == NULL && s != NULL)
        close_store(&s->base);
    return st;
}

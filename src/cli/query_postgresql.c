/* The rows of a query of a PostgreSQL database, in a transaction that can only read.
 *
 * A password in the source is refused, and no message repeats it: not the source, and not what
 * libpq says of one that it cannot read. */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "query_database.h"

enum { OID_BYTEA = 17 };

typedef struct {
    query_database base;
    char *url;
    PGconn *connection;
    PGresult *result; /* the row at hand; the first has the names of the columns */
    PGresult *header; /* keeps them */
    size_t n_columns;
    bool pending; /* result is the first row, which nobody took yet */
} postgresql_query;

static bool is_number(Oid type)
{
    static const Oid NUMBER[] = {20, 21, 23, 26, 700, 701, 1700}; /* int8 .. float8, numeric */
    for (size_t i = 0; i < sizeof NUMBER / sizeof *NUMBER; i++)
        if (NUMBER[i] == type)
            return true;
    return false;
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* What the database says, in one line. */
static pboost_status failed(const postgresql_query *q, const PGresult *result, pboost_error *err)
{
    const char *primary =
        result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    char text[300];

    snprintf(text, sizeof text, "%s", primary != NULL ? primary : PQerrorMessage(q->connection));
    for (size_t n = strlen(text); n > 0 && text[n - 1] == '\n'; n--)
        text[n - 1] = '\0';
    for (char *p = text; *p != '\0'; p++)
        *p = *p == '\n' || *p == '\t' ? ' ' : *p;
    return pboost_fail(err, PBOOST_BAD_DATA, "%.120s: PostgreSQL says: %s", q->base.name, text);
}

/* ---- The URL --------------------------------------------------------------------------------- */

static pboost_status refuse_url(pboost_error *err)
{
    return pboost_fail(err, PBOOST_INVALID,
                       "the source 'postgresql://...' cannot be read; it must be "
                       "postgresql://USER@HOST:PORT/DATABASE?query=SELECT ...");
}

/* A password that holds one of @ / ? unescaped would be taken for other parts of the URL, which
 * messages show.  There is then a second '@', or one behind the host. */
static bool has_stray_at(const char *url)
{
    const char *authority = strstr(url, "://") + 3, *at = strchr(authority, '@');
    return at != NULL && (at > authority + strcspn(authority, "/?") || strchr(at + 1, '@') != NULL);
}

static pboost_status refuse_password(const PQconninfoOption *option, pboost_error *err)
{
    for (; option->keyword != NULL; option++)
        if (option->val != NULL && *option->val != '\0' &&
            (strcmp(option->keyword, "password") == 0 ||
             strcmp(option->keyword, "sslpassword") == 0))
            return pboost_fail(err, PBOOST_INVALID,
                               "the source 'postgresql://...' holds a password, which every user "
                               "of this machine can read; keep it in ~/.pgpass or in a file that "
                               "PGPASSFILE names");
    return PBOOST_OK;
}

/* "postgresql://HOST:PORT/DATABASE" of the options that libpq made of the URL. */
static pboost_status name_source(char **out, const PQconninfoOption *option, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *host = "", *port = "", *database = "";
    size_t n;

    for (; option->keyword != NULL; option++) {
        const char *value = option->val != NULL ? option->val : "";
        host = strcmp(option->keyword, "host") == 0 ? value : host;
        port = strcmp(option->keyword, "port") == 0 ? value : port;
        database = strcmp(option->keyword, "dbname") == 0 ? value : database;
    }
    n = strlen(host) + strlen(port) + strlen(database) + 32;
    NEED(*out = malloc(n), err);
    snprintf(*out, n, "postgresql://%s%s%s/%s", host, *port != '\0' ? ":" : "", port, database);
done:
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void disconnect(postgresql_query *q)
{
    if (q->result != q->header)
        PQclear(q->result);
    PQclear(q->header);
    q->result = q->header = NULL;
    PQfinish(q->connection);
    q->connection = NULL;
}

static void say_nothing(void *user, const char *message)
{
    (void)user, (void)message;
}

static pboost_status connect(postgresql_query *q, pboost_error *err)
{
    static const char *const FIRST[] = {"SET extra_float_digits = 3", "SET datestyle = 'ISO'",
                                        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
    pboost_status st = PBOOST_OK;

    NEED(q->connection = PQconnectdb(q->url), err);
    if (PQstatus(q->connection) != CONNECTION_OK || PQsetClientEncoding(q->connection, "UTF8") != 0)
        TRY(failed(q, NULL, err));
    PQsetNoticeProcessor(q->connection, say_nothing, NULL);
    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++) {
        PGresult *done = PQexec(q->connection, FIRST[i]);
        if (PQresultStatus(done) != PGRES_COMMAND_OK)
            st = failed(q, done, err);
        PQclear(done);
        TRY(st);
    }
done:
    return st;
}

/* The next row, or the end of rows, in q->result. */
static pboost_status receive(postgresql_query *q, pboost_error *err)
{
    if (q->result != q->header)
        PQclear(q->result);
    q->result = PQgetResult(q->connection);
    ExecStatusType status = q->result != NULL ? PQresultStatus(q->result) : PGRES_FATAL_ERROR;
    if (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK)
        return PBOOST_OK;
    if (status == PGRES_COMMAND_OK || status == PGRES_COPY_OUT || status == PGRES_EMPTY_QUERY)
        return pboost_fail(err, PBOOST_INVALID,
                           "%.120s: '%.60s' gives no table; it must be a SELECT", q->base.name,
                           q->base.sql);
    return failed(q, q->result, err);
}

static pboost_status take_names(postgresql_query *q, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    q->header = q->result;
    q->n_columns = (size_t)PQnfields(q->header);
    if (q->n_columns == 0)
        FAIL(err, PBOOST_INVALID, "%.120s: the query gives no columns", q->base.name);
    TRY(query_database_reserve(&q->base, q->n_columns, err));
    for (size_t i = 0; i < q->n_columns; i++) {
        q->base.column[i] = PQfname(q->header, (int)i);
        if (PQftype(q->header, (int)i) == OID_BYTEA)
            FAIL(err, PBOOST_BAD_DATA,
                 "%.120s: column '%.60s' is bytea; it must be a number or text", q->base.name,
                 q->base.column[i]);
    }
done:
    return st;
}

/* The extended protocol takes one statement only. */
static pboost_status start(query_database *d, size_t *n_columns, const char *const **names,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    postgresql_query *q = (postgresql_query *)d;

    disconnect(q);
    TRY(connect(q, err));
    if (!PQsendQueryParams(q->connection, d->sql, 0, NULL, NULL, NULL, NULL, 0) ||
        !PQsetSingleRowMode(q->connection))
        TRY(failed(q, NULL, err));
    TRY(receive(q, err));
    TRY(take_names(q, err));
    q->pending = true;
    *n_columns = q->n_columns;
    *names = d->column;
done:
    return st;
}

static pboost_status next(query_database *d, const pboost_cell **cells, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    postgresql_query *q = (postgresql_query *)d;

    *cells = NULL;
    if (!q->pending)
        TRY(receive(q, err));
    q->pending = false;
    if (PQntuples(q->result) == 0)
        goto done;
    for (int i = 0; (size_t)i < q->n_columns; i++)
        d->cell[i] =
            (pboost_cell){.text = PQgetisnull(q->result, 0, i) ? NULL : PQgetvalue(q->result, 0, i),
                          .length = (size_t)PQgetlength(q->result, 0, i),
                          .is_text = !is_number(PQftype(q->result, i))};
    *cells = d->cell;
done:
    return st;
}

static void close_query(query_database *d)
{
    postgresql_query *q = (postgresql_query *)d;

    disconnect(q);
    free(q->url);
    query_database_free(d);
}

static const query_class POSTGRESQL = {start, next, close_query};

pboost_status query_postgresql_open(query_database **out, const char *place, const char *sql,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    postgresql_query *q = calloc(1, sizeof *q);
    PQconninfoOption *options = NULL;

    NEED(q, err);
    q->base.class = &POSTGRESQL;
    if (has_stray_at(place) || (options = PQconninfoParse(place, NULL)) == NULL)
        TRY(refuse_url(err));
    TRY(refuse_password(options, err));
    TRY(name_source(&q->base.name, options, err));
    NEED(q->base.sql = strdup(sql), err);
    NEED(q->url = strdup(place), err);
    *out = &q->base;
    q = NULL;
done:
    PQconninfoFree(options);
    if (q != NULL)
        close_query(&q->base);
    return st;
}

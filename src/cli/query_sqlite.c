/* The rows of a query of an SQLite file, which is opened for reading only. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "query_database.h"

enum { WAIT_MS = 10000, REAL_TEXT = 32 };

typedef struct {
    query_database base;
    sqlite3 *db;
    sqlite3_stmt *statement;
    size_t n_columns, row;
    char (*real)[REAL_TEXT]; /* by column: a number with a fraction, as text */
} sqlite_query;

void query_database_free(query_database *d)
{
    free(d->name);
    free(d->sql);
    free(d->column);
    free(d->cell);
    free(d);
}

pboost_status query_database_reserve(query_database *d, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    free(d->column);
    free(d->cell);
    d->cell = NULL;
    NEED(d->column = pboost_alloc(n, sizeof *d->column), err);
    NEED(d->cell = pboost_alloc(n, sizeof *d->cell), err);
done:
    return st;
}

static pboost_status failed(const sqlite_query *q, pboost_error *err)
{
    if (sqlite3_errcode(q->db) == SQLITE_NOMEM)
        return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    return pboost_fail(err, PBOOST_BAD_DATA, "%s: SQLite says: %s", q->base.name,
                       sqlite3_errmsg(q->db));
}

static pboost_status prepare(sqlite_query *q, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *rest = NULL;

    if (sqlite3_prepare_v2(q->db, q->base.sql, -1, &q->statement, &rest) != SQLITE_OK)
        TRY(failed(q, err));
    if (rest[strspn(rest, " \t\n\r;")] != '\0')
        FAIL(err, PBOOST_INVALID, "%s: the query has more than one statement: '%.60s'",
             q->base.name, rest);
    if (!sqlite3_stmt_readonly(q->statement) || sqlite3_column_count(q->statement) == 0)
        FAIL(err, PBOOST_INVALID, "%s: '%.60s' gives no table; it must be a SELECT", q->base.name,
             q->base.sql);
    q->n_columns = (size_t)sqlite3_column_count(q->statement);
    TRY(query_database_reserve(&q->base, q->n_columns, err));
    NEED(q->real = pboost_alloc(q->n_columns, sizeof *q->real), err);
done:
    return st;
}

static pboost_status start(query_database *d, size_t *n_columns, const char *const **names,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sqlite_query *q = (sqlite_query *)d;

    if (q->statement == NULL)
        TRY(prepare(q, err));
    sqlite3_reset(q->statement);
    q->row = 0;
    for (size_t i = 0; i < q->n_columns; i++)
        NEED(d->column[i] = sqlite3_column_name(q->statement, (int)i), err);
    *n_columns = q->n_columns;
    *names = d->column;
done:
    return st;
}

/* The fewest digits from which the same number is read back. */
static size_t print_real(char text[REAL_TEXT], double x)
{
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(text, REAL_TEXT, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    return (size_t)n;
}

static pboost_status take_cell(sqlite_query *q, size_t i, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int type = sqlite3_column_type(q->statement, (int)i);
    pboost_cell *cell = &q->base.cell[i];

    *cell = (pboost_cell){.is_text = type == SQLITE_TEXT};
    if (type == SQLITE_NULL)
        goto done;
    if (type == SQLITE_BLOB)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: row %zu: column '%.60s' is a blob; it must be a number or text", q->base.name,
             q->row, q->base.column[i]);
    if (type == SQLITE_FLOAT) {
        cell->text = q->real[i];
        cell->length = print_real(q->real[i], sqlite3_column_double(q->statement, (int)i));
        goto done;
    }
    NEED(cell->text = (const char *)sqlite3_column_text(q->statement, (int)i), err);
    cell->length = (size_t)sqlite3_column_bytes(q->statement, (int)i);
done:
    return st;
}

static pboost_status next(query_database *d, const pboost_cell **cells, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sqlite_query *q = (sqlite_query *)d;
    int code = sqlite3_step(q->statement);

    *cells = NULL;
    if (code == SQLITE_DONE)
        goto done;
    if (code != SQLITE_ROW)
        TRY(failed(q, err));
    q->row++;
    for (size_t i = 0; i < q->n_columns; i++)
        TRY(take_cell(q, i, err));
    *cells = d->cell;
done:
    return st;
}

static void close_query(query_database *d)
{
    sqlite_query *q = (sqlite_query *)d;

    sqlite3_finalize(q->statement);
    sqlite3_close(q->db);
    free(q->real);
    query_database_free(d);
}

static const query_class SQLITE = {start, next, close_query};

pboost_status query_sqlite_open(query_database **out, const char *place, const char *sql,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sqlite_query *q = calloc(1, sizeof *q);

    NEED(q, err);
    q->base.class = &SQLITE;
    NEED(q->base.name = strdup(place), err);
    NEED(q->base.sql = strdup(sql), err);
    if (sqlite3_open_v2(place + strlen("sqlite:"), &q->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        TRY(failed(q, err));
    sqlite3_busy_timeout(q->db, WAIT_MS);
    *out = &q->base;
    q = NULL;
done:
    if (q != NULL)
        close_query(&q->base);
    return st;
}

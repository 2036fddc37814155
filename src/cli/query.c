/* A table that a query of a database gives. */
#include "query.h"

#include <ctype.h>
#include <string.h>

#include "query_database.h"

struct query {
    query_database *database;
    pboost_rows rows;
};

/* ---- The text -------------------------------------------------------------------------------- */

static const struct {
    const char *prefix;
    pboost_status (*open)(query_database **out, const char *place, const char *sql,
                          pboost_error *err);
} KINDS[] = {{"sqlite:", query_sqlite_open},
             {"postgresql://", query_postgresql_open},
             {"postgres://", query_postgresql_open}};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

static size_t kind_of(const char *path)
{
    size_t i = 0;
    while (i < N_KINDS && strncmp(path, KINDS[i].prefix, strlen(KINDS[i].prefix)) != 0)
        i++;
    return i;
}

bool query_is(const char *path)
{
    return kind_of(path) < N_KINDS;
}

/* Where "query=" begins, after a '?' or '&'; NULL: nowhere. */
static const char *find_query(const char *url)
{
    for (const char *p = strstr(url, "query="); p != NULL; p = strstr(p + 1, "query="))
        if (p > url && (p[-1] == '?' || p[-1] == '&'))
            return p;
    return NULL;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10
                                        : -1;
}

/* A query with a blank in it was typed, and stays as it is: '%' and '+' are SQL.  One without was
 * written for a URL: %XX is a byte and '+' a blank. */
static pboost_status decode(char *sql, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *to = sql;

    if (strpbrk(sql, " \t\n\r") != NULL)
        return PBOOST_OK;
    for (const char *p = sql; *p != '\0'; p++) {
        bool escaped = *p == '%';
        int high = escaped ? hex_digit(p[1]) : 0, low = escaped && high >= 0 ? hex_digit(p[2]) : 0;
        if (high < 0 || low < 0 || (escaped && high + low == 0))
            FAIL(err, PBOOST_INVALID,
                 "the query has '%.3s'; in a query without blanks, %% must be followed by two "
                 "hexadecimal digits, not both 0 (%%25 is %% itself)",
                 p);
        *to++ = escaped ? (char)(16 * high + low) : *p == '+' ? ' ' : *p;
        p += escaped ? 2 : 0;
    }
    *to = '\0';
done:
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pboost_status start(void *self, size_t *n_columns, const char *const **names,
                           pboost_error *err)
{
    query_database *d = self;
    return d->class->start(d, n_columns, names, err);
}

static pboost_status next(void *self, const pboost_cell **cells, pboost_error *err)
{
    query_database *d = self;
    return d->class->next(d, cells, err);
}

pboost_status query_open(query **out, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t kind = kind_of(url);
    const char *begin = find_query(url);
    char *place = NULL, *sql = NULL;
    query *q = NULL;

    if (begin == NULL) /* url may hold a password, which is not repeated */
        FAIL(err, PBOOST_INVALID, "the source '%s...' has no query; write '%s...?query=SELECT ...'",
             KINDS[kind].prefix, KINDS[kind].prefix);
    NEED(place = strndup(url, (size_t)(begin - 1 - url)), err);
    NEED(sql = strdup(begin + strlen("query=")), err);
    TRY(decode(sql, err));
    if (sql[strspn(sql, " \t\n\r;")] == '\0')
        FAIL(err, PBOOST_INVALID, "the query of the source '%s...' is empty", KINDS[kind].prefix);
    NEED(q = calloc(1, sizeof *q), err);
    TRY(KINDS[kind].open(&q->database, place, sql, err));
    q->rows = (pboost_rows){q->database, start, next};
    *out = q;
    q = NULL;
done:
    query_close(q);
    free(place);
    free(sql);
    return st;
}

const pboost_rows *query_rows(const query *q)
{
    return &q->rows;
}

const char *query_name(const query *q)
{
    return q->database->name;
}

void query_close(query *q)
{
    if (q == NULL)
        return;
    if (q->database != NULL)
        q->database->class->close(q->database);
    free(q);
}

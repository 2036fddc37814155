/* Stores by URL, and the tables of a ledger.
 *
 * The rules that must hold whatever the programs do are constraints: a row is claimed once
 * (ledger_claim), a unit is used at most unit_rows times (ledger_unit_use), a request id of a token
 * has one answer (ledger_answer), an entry has one successor (ledger_entry), an id is one row
 * (ledger_row). */
#include "store.h"

#include <stdio.h>
#include <string.h>

store_value value_text(const char *text)
{
    if (text == NULL)
        return (store_value){VALUE_NULL, 0, NULL, 0};
    return (store_value){VALUE_TEXT, 0, text, strlen(text)};
}

pboost_status pboost_store_number(void *user, const store_value *value, size_t n, pboost_error *err)
{
    (void)n, (void)err;
    *(int64_t *)user = value[0].number;
    return PBOOST_OK;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* @ stands for the type of bytes, ~ for the end of a table, # for unit_rows. */
static const char *const TABLES[] = {
    "CREATE TABLE ledger_entry (number INTEGER PRIMARY KEY, kind TEXT NOT NULL,"
    " time BIGINT NOT NULL, rows BIGINT NOT NULL, bags BIGINT NOT NULL,"
    " data @ NOT NULL, hash @ NOT NULL UNIQUE, seal @ NOT NULL, slots @)",
    "CREATE TABLE ledger_answer (entry INTEGER PRIMARY KEY, token INTEGER NOT NULL,"
    " request TEXT NOT NULL, question @ NOT NULL, released @ NOT NULL,"
    " format BIGINT NOT NULL, body @ NOT NULL, UNIQUE (token, request))",
    "CREATE TABLE ledger_claim (slot INTEGER PRIMARY KEY, entry INTEGER NOT NULL)",
    "CREATE TABLE ledger_unit_use (unit INTEGER NOT NULL, use INTEGER NOT NULL"
    " CHECK (use >= 0 AND use < #), entry INTEGER NOT NULL, PRIMARY KEY (unit, use))~",
    "CREATE TABLE ledger_row (slot INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " unit INTEGER, scope INTEGER, label BIGINT)",
    "CREATE TABLE ledger_unit (unit INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
    "CREATE TABLE ledger_scope (scope INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE ledger_token (token INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " role INTEGER NOT NULL, hash @ NOT NULL UNIQUE, created BIGINT NOT NULL,"
    " expires BIGINT NOT NULL, max_rows BIGINT NOT NULL, rows_used BIGINT NOT NULL,"
    " scope TEXT, revoked INTEGER NOT NULL)",
    "CREATE TABLE ledger_refusal (token INTEGER NOT NULL, hour BIGINT NOT NULL,"
    " problem TEXT NOT NULL, count BIGINT NOT NULL, last BIGINT NOT NULL,"
    " PRIMARY KEY (token, hour, problem))~",
};

enum { SQL_MAX = 600 };

static void expand(char out[SQL_MAX], const char *sql, const store *s, size_t unit_rows)
{
    char number[24];
    size_t used = 0;

    snprintf(number, sizeof number, "%zu", unit_rows);
    for (; *sql != '\0' && used < SQL_MAX - 1; sql++) {
        const char letter[2] = {*sql, '\0'};
        const char *word = *sql == '@'   ? s->class->bytes_type
                           : *sql == '~' ? s->class->table_end
                           : *sql == '#' ? number
                                         : letter;
        used += (size_t)snprintf(out + used, SQL_MAX - used, "%s", word);
    }
}

pboost_status pboost_store_make_tables(store *s, size_t unit_rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char sql[SQL_MAX];

    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) {
        expand(sql, TABLES[i], s, unit_rows);
        TRY(s->class->run(s, sql, NULL, 0, NULL, NULL, err));
    }
done:
    return st;
}

/* ---- Opening --------------------------------------------------------------------------------- */

void pboost_store_close(store *s)
{
    if (s != NULL)
        s->class->close(s);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

pboost_status pboost_store_open(store **out, const char *url, bool create, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = NULL;
    if (starts_with(url, "postgresql:") || starts_with(url, "postgres:"))
        TRY(pboost_postgresql_open(out, url, create, err));
    else if (starts_with(url, "sqlite:"))
        TRY(pboost_sqlite_open(out, url + strlen("sqlite:"), create, err));
    else if (strstr(url, "://") != NULL || *url == '\0')
        FAIL(err, PBOOST_INVALID, "store is '%s'; it must be sqlite:FILE or postgresql://...", url);
    else
        TRY(pboost_sqlite_open(out, url, create, err));
done:
    return st;
}

/* ---- Transactions ---------------------------------------------------------------------------- */

pboost_status pboost_store_begin(store *s, bool write, pboost_error *err)
{
    pboost_status st = s->class->begin(s, write, err);
    s->open = st == PBOOST_OK;
    return st;
}

pboost_status pboost_store_commit(store *s, pboost_error *err)
{
    pboost_status st = s->class->commit(s, err);
    if (st == PBOOST_OK)
        s->open = false;
    return st;
}

void pboost_store_rollback(store *s)
{
    if (s != NULL && s->open) {
        s->class->rollback(s);
        s->open = false;
    }
}

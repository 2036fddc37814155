/* Opens stores by URL, and has the tables of a ledger.
 *
 * Rules that must hold even if a program is wrong are constraints of the database: a block of spent
 * rows is there once (ledger_spent, see claims.c), a unit is used at most unit_rows times
 * (ledger_unit_use), a request id of a token has one answer (ledger_answer), an entry has one
 * successor (ledger_entry), an id is one row (ledger_row).
 *
 * These are the tables of version 3; upgrade.c brings older ones to it.  Where a table changes its
 * meaning it gets another name, so that a program of an older version that still runs cannot write
 * to it.  A row or unit that was
 * erased has no id but a keyed digest of what it had, so that the chain can still be checked. */
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <priorboost/ledger.h>

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

pboost_status pboost_store_break(store *s, pboost_error *err, const char *format, ...)
{
    char message[sizeof s->why.message];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!s->broken)
        (void)pboost_fail(&s->why, PBOOST_ORACLE, "%s", message);
    s->broken = true;
    return pboost_fail(err, PBOOST_ORACLE, "%s", message);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* @ is replaced by the type of bytes, ~ by the end of a table, # by unit_rows. */
static const struct {
    const char *name, *columns;
} TABLES[] = {
    {"ledger_meta", "name TEXT PRIMARY KEY, value TEXT NOT NULL"},
    {"ledger_entry",
     "number INTEGER PRIMARY KEY, kind TEXT NOT NULL, time BIGINT NOT NULL, rows BIGINT NOT NULL,"
     " bags BIGINT NOT NULL, data @ NOT NULL, hash @ NOT NULL UNIQUE, seal @ NOT NULL, slots @,"
     " mac @ NOT NULL"},
    {"ledger_answer",
     "entry INTEGER PRIMARY KEY, token INTEGER NOT NULL, request TEXT NOT NULL,"
     " question @ NOT NULL, released @ NOT NULL, format BIGINT NOT NULL, body @ NOT NULL, nonce @,"
     " UNIQUE (token, request)"},
    {"ledger_spent", "block INTEGER PRIMARY KEY, bits @ NOT NULL CHECK (length(bits) = 1024)"},
    {"ledger_unit_use", "unit INTEGER NOT NULL, use INTEGER NOT NULL CHECK (use >= 0 AND use < #),"
                        " entry INTEGER NOT NULL, PRIMARY KEY (unit, use))~"},
    {"ledger_row",
     "slot INTEGER PRIMARY KEY, id TEXT UNIQUE, unit INTEGER, scope INTEGER, label @, digest @"},
    {"ledger_seal", "slot INTEGER PRIMARY KEY, rows INTEGER NOT NULL, label_key INTEGER NOT NULL, "
                    "salt @ NOT NULL"},
    {"ledger_unit", "unit INTEGER PRIMARY KEY, id TEXT UNIQUE, digest @"},
    {"ledger_scope", "scope INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE"},
    {"ledger_token",
     "token INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, role INTEGER NOT NULL,"
     " hash @ NOT NULL UNIQUE, created BIGINT NOT NULL, expires BIGINT NOT NULL,"
     " max_rows BIGINT NOT NULL, rows_used BIGINT NOT NULL, scope TEXT, state INTEGER NOT NULL,"
     " created_by TEXT NOT NULL, approved_by TEXT NOT NULL, public_key @ NOT NULL,"
     " approval @ NOT NULL, mac @ NOT NULL"},
    {"ledger_refusal",
     "token INTEGER NOT NULL, hour BIGINT NOT NULL, problem TEXT NOT NULL,"
     " count BIGINT NOT NULL, last BIGINT NOT NULL, PRIMARY KEY (token, hour, problem))~"},
    {"ledger_lost_head", "hash @ PRIMARY KEY"},
    {"ledger_new_label", "slot INTEGER PRIMARY KEY, label @ NOT NULL"},
    {"ledger_lost_row", "mark @ PRIMARY KEY"},
};

enum { SQL_MAX = 800 };

static void expand(char out[SQL_MAX], const char *sql, const store *s, size_t unit_rows)
{
    char number[24];
    size_t used = strlen(out);

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

/* A table whose columns end with ~ closes the parenthesis itself. */
static pboost_status make_table(store *s, size_t i, size_t unit_rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *columns = TABLES[i].columns;
    char sql[SQL_MAX];

    snprintf(sql, sizeof sql, "CREATE TABLE %s (", TABLES[i].name);
    expand(sql, columns, s, unit_rows);
    if (columns[strlen(columns) - 1] != '~')
        expand(sql, ")", s, unit_rows);
    TRY(s->class->run(s, sql, NULL, 0, NULL, NULL, err));
    if (s->class->hide_ids != NULL && strstr(columns, " id TEXT") != NULL) {
        snprintf(sql, sizeof sql, "ALTER TABLE %s %s", TABLES[i].name, s->class->hide_ids);
        TRY(s->class->run(s, sql, NULL, 0, NULL, NULL, err));
    }
done:
    return st;
}

pboost_status pboost_store_make_table(store *s, const char *name, size_t unit_rows,
                                      pboost_error *err)
{
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        if (strcmp(TABLES[i].name, name) == 0)
            return make_table(s, i, unit_rows, err);
    return pboost_fail(err, PBOOST_INTERNAL, "there is no table %s", name);
}

pboost_status pboost_store_make_tables(store *s, size_t unit_rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        TRY(make_table(s, i, unit_rows, err));
done:
    return st;
}

static pboost_status take_word(void *user, const store_value *value, size_t n, pboost_error *err)
{
    (void)n;
    if (value[0].kind != VALUE_TEXT || value[0].length >= STORE_WORD)
        return pboost_fail(err, PBOOST_BAD_DATA, "the store is damaged: ledger_meta is not valid");
    memcpy(user, value[0].data, value[0].length);
    ((char *)user)[value[0].length] = '\0';
    return PBOOST_OK;
}

pboost_status pboost_store_word(char out[STORE_WORD], store *s, const char *name, pboost_error *err)
{
    return RUN(s, "SELECT value FROM ledger_meta WHERE name = $1", take_word, out, err,
               value_text(name));
}

pboost_status pboost_store_set_word(store *s, const char *name, const char *value,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(RUN(s, "DELETE FROM ledger_meta WHERE name = $1", NULL, NULL, err, value_text(name)));
    TRY(RUN(s, "INSERT INTO ledger_meta VALUES ($1, $2)", NULL, NULL, err, value_text(name),
            value_text(value)));
done:
    return st;
}

/* Version 1 had no ledger_meta.  A newer version than this program knows is refused. */
pboost_status pboost_store_version(int64_t *out, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char version[STORE_WORD] = "";
    bool has_meta = false;

    *out = 1;
    TRY(s->class->has_table(&has_meta, s, "ledger_meta", err));
    if (has_meta)
        TRY(pboost_store_word(version, s, "version", err));
    if (has_meta && sscanf(version, "%" SCNd64, out) != 1)
        FAIL(err, PBOOST_BAD_DATA, "the store is damaged: its version is '%s'", version);
    if (*out > PBOOST_STORE_VERSION)
        FAIL(err, PBOOST_BAD_DATA,
             "the store has version %" PRId64 ", this program knows versions up to %d; install a"
             " newer priorboost",
             *out, PBOOST_STORE_VERSION);
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

static bool is_postgresql(const char *url)
{
    return starts_with(url, "postgresql:") || starts_with(url, "postgres:");
}

const char *pboost_store_path(const char *url)
{
    if (is_postgresql(url))
        return NULL;
    return starts_with(url, "sqlite:") ? url + strlen("sqlite:") : url;
}

pboost_status pboost_store_open(store **out, const char *url, bool create, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = NULL;
    if (is_postgresql(url))
        TRY(pboost_postgresql_open(out, url, create, err));
    else if (!starts_with(url, "sqlite:") && (strstr(url, "://") != NULL || *url == '\0'))
        FAIL(err, PBOOST_INVALID, "store is '%s'; it must be sqlite:FILE or postgresql://...", url);
    else
        TRY(pboost_sqlite_open(out, pboost_store_path(url), create, err));
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

static pboost_status commit(store *s, bool durable, pboost_error *err)
{
    pboost_status st = s->class->commit(s, durable, err);
    if (st == PBOOST_OK)
        s->open = false;
    return st;
}

pboost_status pboost_store_commit(store *s, pboost_error *err)
{
    return commit(s, true, err);
}

pboost_status pboost_store_commit_unsynced(store *s, pboost_error *err)
{
    return commit(s, false, err);
}

pboost_status pboost_store_sync(store *s, pboost_error *err)
{
    if (s->class->sync == NULL || s->class->sync(s))
        return PBOOST_OK;
    return pboost_store_break(s, err, "%s: %s", STORE_UNSYNCED, strerror(errno));
}

void pboost_store_rollback(store *s)
{
    if (s != NULL && s->open) {
        s->class->rollback(s);
        s->open = false;
    }
}

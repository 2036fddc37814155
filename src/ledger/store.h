/* What the ledger needs from a database: transactions, statements with parameters, bulk inserts,
 * and constraints that hold among all its users.
 *
 * SQL is written once, in the common part of both dialects; parameters are $1, $2, ... in order of
 * first use.  A violated constraint is PBOOST_REFUSED, a store that is busy or out of reach
 * PBOOST_ORACLE. */
#ifndef PBOOST_STORE_H
#define PBOOST_STORE_H

#include <stdatomic.h>

#include "try.h"

typedef enum { VALUE_NULL, VALUE_NUMBER, VALUE_TEXT, VALUE_BYTES } value_kind;

typedef struct {
    value_kind kind;
    int64_t number;
    const void *data; /* text ends with a zero that length does not count */
    size_t length;
} store_value;

static inline store_value value_number(int64_t number)
{
    return (store_value){VALUE_NUMBER, number, NULL, 0};
}

static inline store_value value_bytes(const void *data, size_t length)
{
    return (store_value){VALUE_BYTES, 0, data, length};
}

store_value value_text(const char *text); /* NULL is null */

/* Takes one row of a result.  It must not use the store. */
typedef pboost_status store_row(void *user, const store_value *value, size_t n, pboost_error *err);

/* Rows to be inserted at once; `row` fills in the values of row i, which last until the next. */
typedef struct {
    const char *table;
    const char *types; /* one letter by column: i 32-bit number, l 64-bit number, t text, b bytes
                        */
    size_t n;
    pboost_status (*row)(void *user, store_value *value, size_t i, pboost_error *err);
    void *user;
} store_bulk;

typedef struct store store;

typedef struct {
    const char *name;
    const char *bytes_type; /* what a column of bytes is declared as */
    const char *table_end;  /* after the columns of a table whose key is not one number */
    const char *hide_ids; /* what ALTER TABLE does so that ids are copied nowhere; NULL: nothing */
    void (*close)(store *s);
    pboost_status (*set_wait)(store *s, unsigned seconds, pboost_error *err);
    /* Refuses a server that may fail over to one that has not kept every commit, now and whenever
     * it is reached anew; NULL where there is no such thing. */
    pboost_status (*check_standbys)(store *s, pboost_error *err);
    /* A transaction that writes waits until no other one does, in any process. */
    pboost_status (*begin)(store *s, bool write, pboost_error *err);
    /* Unless `durable` is set, the store may leave it to `sync` to make the commit durable. */
    pboost_status (*commit)(store *s, bool durable, pboost_error *err);
    /* Makes durable what any process has committed before the call.  False, with errno: it is not
     * known what is on the disk, and the caller breaks the store.  It is called by any thread,
     * while others use the store.  NULL: every commit is durable. */
    bool (*sync)(store *s);
    void (*rollback)(store *s);
    pboost_status (*run)(store *s, const char *sql, const store_value *argument, size_t n,
                         store_row *row, void *user, pboost_error *err);
    pboost_status (*bulk)(store *s, const store_bulk *bulk, pboost_error *err);
    pboost_status (*has_table)(bool *out, store *s, const char *name, pboost_error *err);
    /* Removes copies of deleted data from the files that the store controls. */
    pboost_status (*scrub)(store *s, pboost_error *err);
    /* Closes a store that could not be made and leaves no trace of it. */
    void (*discard)(store *s);
} store_class;

/* The first member of every kind of store. */
struct store {
    const store_class *class;
    struct ledger_keys *keys; /* that authenticate what is in it; the ledger's, once it is open */
    const char *key_file;     /* that has them; NULL: not known */
    atomic_bool broken; /* what is on the disk is not known, or not ours: the process must end */
    pboost_error why;   /* it is broken: the first reason */
    bool open;          /* a transaction is */
    bool touched;       /* what holds it was changed or connected to anew: is it still the same? */
};

#define STORE_EXCHANGED                                                                            \
    "the store was exchanged for another or older one while it was in use; put back the right one" \
    " and start again, or run 'priorboost oracle restore'"

#define STORE_UNSYNCED "the store's log cannot be synced"

/* Breaks the store, for this reason; PBOOST_ORACLE. */
pboost_status pboost_store_break(store *s, pboost_error *err, const char *format, ...)
    PBOOST_PRINTF(3, 4);

/* The file of a store in SQLite, as named by its URL; NULL: it is elsewhere. */
const char *pboost_store_path(const char *url);

/* "sqlite:FILE", "FILE" or "postgresql://..."; create: there is none yet. */
pboost_status pboost_store_open(store **out, const char *url, bool create, pboost_error *err);
void pboost_store_close(store *s);

/* The ledger's tables, empty; or the one with this name. */
pboost_status pboost_store_make_tables(store *s, size_t unit_rows, pboost_error *err);
pboost_status pboost_store_make_table(store *s, const char *name, size_t unit_rows,
                                      pboost_error *err);

/* The version of its tables.  The number of the newest is PBOOST_STORE_VERSION. */
pboost_status pboost_store_version(int64_t *out, store *s, pboost_error *err);

/* A word that the store keeps about itself, such as "version"; *out stays as it is where there is
 * none. */
enum { STORE_WORD = 64 };
pboost_status pboost_store_word(char out[STORE_WORD], store *s, const char *name,
                                pboost_error *err);
pboost_status pboost_store_set_word(store *s, const char *name, const char *value,
                                    pboost_error *err);

pboost_status pboost_sqlite_open(store **out, const char *path, bool create, pboost_error *err);
pboost_status pboost_postgresql_open(store **out, const char *url, bool create, pboost_error *err);

pboost_status pboost_store_begin(store *s, bool write, pboost_error *err);
pboost_status pboost_store_commit(store *s, pboost_error *err);
/* Nobody may be told of what it commits before pboost_store_sync, or a witness of it. */
pboost_status pboost_store_commit_unsynced(store *s, pboost_error *err);
/* Waits until all commits so far are durable; a failure breaks the store. */
pboost_status pboost_store_sync(store *s, pboost_error *err);
void pboost_store_rollback(store *s); /* of the transaction that is open, if there is one */

/* RUN(s, sql, row, user, err, value...): one statement with at least one parameter. */
#define RUN(s, sql, row, user, err, ...)                                                           \
    (s)->class->run((s), (sql), (const store_value[]){__VA_ARGS__},                                \
                    sizeof((const store_value[]){__VA_ARGS__}) / sizeof(store_value), (row),       \
                    (user), (err))

/* A row function that keeps one number; user is an int64_t. */
store_row pboost_store_number;

#endif

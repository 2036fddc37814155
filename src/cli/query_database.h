/* What query.c needs from a database. */
#ifndef PBOOST_CLI_QUERY_DATABASE_H
#define PBOOST_CLI_QUERY_DATABASE_H

#include "cli.h"

typedef struct query_database query_database;

typedef struct {
    /* As in pboost_rows. */
    pboost_status (*start)(query_database *d, size_t *n_columns, const char *const **names,
                           pboost_error *err);
    pboost_status (*next)(query_database *d, const pboost_cell **cells, pboost_error *err);
    void (*close)(query_database *d);
} query_class;

/* The first member of every kind. */
struct query_database {
    const query_class *class;
    char *name; /* for messages */
    char *sql;
    const char **column; /* names, the database's */
    pboost_cell *cell;
};

/* Frees what all kinds have. */
void query_database_free(query_database *d);
/* Room for n columns. */
pboost_status query_database_reserve(query_database *d, size_t n, pboost_error *err);

/* place is what stands before the query: "sqlite:FILE", "postgresql://...". */
pboost_status query_sqlite_open(query_database **out, const char *place, const char *sql,
                                pboost_error *err);
pboost_status query_postgresql_open(query_database **out, const char *place, const char *sql,
                                    pboost_error *err);

#endif

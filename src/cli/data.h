/* From a file to features, labels and keys. */
#ifndef PBOOST_CLI_DATA_H
#define PBOOST_CLI_DATA_H

#include "cli.h"

/* What an option that takes a table may be given. */
#define DATA_TABLE                                                                                 \
    "CSV or NPY, - for standard input, or a query:\n"                                              \
    "'sqlite:FILE?query=SELECT ...' or\n"                                                          \
    "'postgresql://HOST/DATABASE?query=SELECT ...'"

/* The option --hash of commands that use a model. */
#define DATA_HASH "checked against that of the model; not needed"

/* Names that grow in number. */
typedef struct cli_names {
    size_t n, capacity;
    char **name;
} cli_names;

/* How a table is read: columns that are text, columns that are numbers, cells that are missing.  It
 * is freed after the table's reader. */
typedef struct table_reading {
    const cli_context *cli; /* shows progress; NULL: nobody does */
    cli_names text, numbers, unused;
    const char *const *missing; /* borrowed */
    size_t n_missing;
    bool only_named; /* other columns are not kept */
    bool svmlight;   /* the file is, whatever its name */
    bool has_base;   /* index_base is known */
    int index_base;
    size_t sparse_columns; /* 0: as the file says */
    pboost_table_options options;
    struct query *query; /* where the rows come from, if not from files */
} table_reading;

void table_reading_free(table_reading *t);
pboost_status table_reading_add(table_reading *t, const char *name, pboost_error *err);
/* The first n bytes of a name: a column of text, or of numbers. */
pboost_status table_reading_add_n(table_reading *t, const char *name, size_t n, bool text,
                                  pboost_error *err);
/* A column that need not be kept, unless it is among the others. */
pboost_status table_reading_leave_out(table_reading *t, const char *name, pboost_error *err);
/* The columns of an encoding. */
pboost_status table_reading_add_encoding(table_reading *t, const pboost_encoding *encoding,
                                         pboost_error *err);
/* What the rows of a model are made from: its columns, or entries of as many columns. */
pboost_status table_reading_add_sparse(table_reading *t, const pboost_model_sparse *sparse,
                                       pboost_error *err);
pboost_status table_reading_add_model(table_reading *t, const pboost_model *model,
                                      pboost_error *err);
/* path: a file, a pattern of files, "-", or a query of a database (query.h). */
pboost_status table_reading_read(pboost_table **out, table_reading *t, const char *path,
                                 pboost_error *err);
/* The same in blocks; `columns` is the number of features, which says how many rows a block has. */
typedef struct data_blocks {
    pboost_table_reader *reader;
    size_t rows;
} data_blocks;

pboost_status data_blocks_open(data_blocks *out, table_reading *t, const char *path, size_t columns,
                               pboost_error *err);
/* *out is NULL after the last block. */
pboost_status data_blocks_next(const pboost_table **out, data_blocks *blocks, pboost_error *err);
void data_blocks_close(data_blocks *blocks);

/* Everything below is allocated for the caller, one entry per row of the table. */

/* Features, rows by n_columns; unseen may be NULL. */
pboost_status data_features(double **out, pboost_unseen *unseen, const pboost_encoding *encoding,
                            const pboost_table *table, pboost_error *err);

/* Memory for so many columns of all rows. */
pboost_status data_room(double **out, size_t columns, const pboost_table *table, pboost_error *err);

/* The rows of a table as a model of sparse rows takes them: hashed, in *own, or the table's. */
pboost_status data_sparse(pboost_sparse *x, pboost_entries *own, const pboost_model_sparse *sparse,
                          const pboost_table *table, pboost_error *err);

/* Refuses bits other than those of the model, from the file `path`; 0: nothing was said. */
pboost_status data_check_hash(const pboost_model *model, size_t bits, const char *path,
                              pboost_error *err);

/* Cells of all blocks that hold a category that was not in training, and words about the first. */
typedef struct unseen_cells {
    size_t n;
    char first[400];
    bool trees; /* the model has some, or may have: they take such cells for missing */
} unseen_cells;

void unseen_cells_add(unseen_cells *all, const pboost_unseen *unseen,
                      const pboost_encoding *encoding, const pboost_table *table);
/* Says how many there are, if there are any. */
void unseen_cells_note(const cli_context *cli, const unseen_cells *all);

/* A column of numbers; name NULL gives NULL. */
pboost_status data_numbers(double **out, const pboost_table *table, const char *name,
                           pboost_error *err);

/* Weights: numbers of at least 0. */
pboost_status data_weights(double **out, const pboost_table *table, const char *name,
                           pboost_error *err);

/* A key (hash) for each id; ids must be unique; name NULL gives NULL. */
pboost_status data_row_keys(uint64_t **out, const pboost_table *table, const char *name,
                            pboost_error *err);

/* The keys of all blocks before, 9 to 18 bytes each, and half of that again while it grows. */
typedef struct key_set {
    uint64_t *slot; /* open addressing; 0: free */
    size_t n, n_slots;
} key_set;

/* Refuses ids of a block that occur twice, in it or in a block before; name NULL: there are none.
 */
pboost_status key_set_add_block(key_set *set, const pboost_table *table, const char *name,
                                pboost_error *err);
void key_set_free(key_set *set);

/* The model's mean response for each row of the table, whose encoded features are in samples. */
pboost_status data_mean(double *mean, const pboost_model *model, const pboost_table *table,
                        const pboost_samples *samples, int threads, pboost_error *err);

/* Loads a model and refuses one of classes: its predictions are no numbers. */
pboost_status data_model_of_numbers(pboost_model *out, const char *path, pboost_error *err);

/* By row of a table. */
typedef struct predictions {
    double *mean;
    double *lower, *upper; /* NULL: not wanted */
    pboost_unseen unseen;
} predictions;

void predictions_free(predictions *p);

/* The model's mean response for each row of the table and, with level > 0, its confidence interval;
 * the model must have a covariance then. */
pboost_status data_predict(predictions *out, const pboost_model *model, const pboost_table *table,
                           double level, int threads, pboost_error *err);

#endif

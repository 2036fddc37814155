/* From a file to features, labels and keys. */
#ifndef PBOOST_CLI_DATA_H
#define PBOOST_CLI_DATA_H

#include "cli.h"

/* Names that grow in number. */
typedef struct cli_names {
    size_t n, capacity;
    char **name;
} cli_names;

/* How a table is read: columns that are text, columns that are numbers, cells that are missing. */
typedef struct table_reading {
    cli_names text, numbers;
    const char *const *missing; /* borrowed */
    size_t n_missing;
} table_reading;

void table_reading_free(table_reading *t);
pboost_status table_reading_add(table_reading *t, const char *name, pboost_error *err);
/* The first n bytes of a name: a column of text, or of numbers. */
pboost_status table_reading_add_n(table_reading *t, const char *name, size_t n, bool text,
                                  pboost_error *err);
/* The columns of an encoding. */
pboost_status table_reading_add_encoding(table_reading *t, const pboost_encoding *encoding,
                                         pboost_error *err);
pboost_status table_reading_read(pboost_table **out, table_reading *t, const char *path,
                                 pboost_error *err);

/* Everything below is allocated for the caller, one entry per row of the table. */

/* Features, rows by n_columns; unseen may be NULL. */
pboost_status data_features(double **out, pboost_unseen *unseen, const pboost_encoding *encoding,
                            const pboost_table *table, pboost_error *err);

/* Says how many cells hold a category that was not in training, if there are any.  trees: the model
 * has some, or may have. */
void data_note_unseen(const cli_context *cli, const pboost_unseen *unseen,
                      const pboost_encoding *encoding, bool trees, const pboost_table *table);

/* Labels that are right for the family; with positive, 1 where the text is that level. */
pboost_status data_labels(double **out, const pboost_table *table, const char *name,
                          const char *positive, pboost_family family, pboost_error *err);

/* A column of numbers; name NULL gives NULL. */
pboost_status data_numbers(double **out, const pboost_table *table, const char *name,
                           pboost_error *err);

/* Weights: numbers of at least 0. */
pboost_status data_weights(double **out, const pboost_table *table, const char *name,
                           pboost_error *err);

/* A key (hash) for each id; ids must be unique; name NULL gives NULL. */
pboost_status data_row_keys(uint64_t **out, const pboost_table *table, const char *name,
                            pboost_error *err);

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

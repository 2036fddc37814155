/* priorboost train: which rows of the table take part. */
#ifndef PBOOST_CLI_TRAIN_ROWS_H
#define PBOOST_CLI_TRAIN_ROWS_H

#include "train.h"

/* The ids as the oracle knows them, with --oracle; the units as numbers, with --unit. */
pboost_status train_rows_load_ids(train_data *out, const pboost_table *table,
                                  const train_arguments *a, pboost_error *err);
pboost_status train_rows_load_units(train_data *out, const pboost_table *table,
                                    const train_arguments *a, pboost_error *err);
/* The oracle of each row, with --oracle-of. */
pboost_status train_rows_load_parts(train_data *out, const pboost_table *table,
                                    const train_arguments *a, pboost_error *err);

/* Keeps one of the rows with keep for each unit: the one with the least key.  Any bag of k rows
 * then has k units.  *dropped gets the number of rows that are left out. */
pboost_status train_rows_one_by_unit(bool *keep, size_t *dropped, const train_data *data,
                                     pboost_error *err);

/* Leaves only the rows with keep in the data. */
pboost_status train_rows_select(train_data *data, const bool *keep, pboost_error *err);

/* Makes row[i], for i < n, the i-th row of the data; the others leave it. */
pboost_status train_rows_arrange(train_data *data, const size_t *row, size_t n, pboost_error *err);

/* Sorts the rows by part, and leaves out those without keep. */
pboost_status train_rows_by_part(train_data *data, const bool *keep, size_t parts,
                                 pboost_error *err);

#endif

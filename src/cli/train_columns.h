/* priorboost train with several label columns: the bags are asked about once, and each column gets
 * a model of its own from its numbers in the answers. */
#ifndef PBOOST_CLI_TRAIN_COLUMNS_H
#define PBOOST_CLI_TRAIN_COLUMNS_H

#include "train_oracle.h"

void train_targets_free(train_targets *targets);

/* Refuses options that several label columns do not have, and those that need --labels. */
pboost_status train_columns_check(const train_arguments *a, pboost_error *err);

/* --labels and --family; columns that are text are told to the reader of the table. */
pboost_status train_columns_read(train_targets *out, table_reading *text, const train_arguments *a,
                                 pboost_error *err);
/* The columns that an oracle has: `names` one on each line. */
pboost_status train_columns_name(train_targets *out, const char *names, size_t n,
                                 const train_arguments *a, pboost_error *err);
pboost_status train_columns_text(table_reading *text, const train_targets *targets,
                                 pboost_error *err);
/* The labels of the table, and those of the test table. */
pboost_status train_columns_load(train_data *data, const cli_context *cli,
                                 const pboost_table *table, const train_arguments *a,
                                 pboost_error *err);
pboost_status train_columns_load_test(train_targets *targets, const pboost_table *table,
                                      pboost_error *err);

/* The rules of the oracle in the program: an answer has the mean of each column. */
pboost_status train_columns_rules(train_result *result, const train_data *data, pboost_error *err);

/* Asks once, fits a model for each column, writes and prints them.  Of result the settings are
 * used. */
pboost_status train_columns_run(train_result *result, cli_context *cli, const train_arguments *a,
                                train_data *data, const train_oracle *oracle, pboost_error *err);

#endif

/* priorboost train on sparse rows: svmlight files, and tables with --hash. */
#ifndef PBOOST_CLI_TRAIN_WIDE_H
#define PBOOST_CLI_TRAIN_WIDE_H

#include "train_oracle.h"

/* Sets a->wide, and the defaults of sparse rows; refuses options that are for other models, or for
 * sparse rows where there are none. */
pboost_status train_wide_check(train_arguments *a, pboost_error *err);

/* The rows of the table, which the data take over; use[col]: it has no other role. */
pboost_status train_wide_learn(train_data *out, const cli_context *cli, pboost_table *table,
                               bool *use, const train_arguments *a, pboost_error *err);
pboost_status train_wide_learn_test(train_data *out, pboost_table *table, pboost_error *err);

/* By row its place in the order of the columns of --bag-key, the first column first; rows with
 * equal cells have the same (train_wide_key.c).  Allocated for the caller. */
pboost_status train_wide_key(double **out, const train_data *data, const pboost_table *table,
                             const train_arguments *a, pboost_error *err);

/* The column that has this index in the svmlight file. */
pboost_status train_wide_find_index(uint32_t *out, const train_data *data, const char *text,
                                    pboost_error *err);

/* A few dense columns in place of all: what bags are made from.  *x refers to *sketch, which the
 * caller frees. */
pboost_status train_wide_sketch(float **sketch, pboost_matrix *x, const pboost_sparse *rows,
                                uint64_t seed, int threads, const pboost_cancel *cancel,
                                pboost_error *err);

/* What the command line leaves open. */
void train_wide_choose(train_result *result, const train_arguments *a);

/* Rounds, or a fit to given bags if oracle is NULL.  Afterwards data->wide_coef is the model, and
 * data->encoding and result->path name its heaviest weights. */
pboost_status train_wide_run(train_result *result, cli_context *cli, const train_arguments *a,
                             train_data *data, const train_oracle *oracle, pboost_error *err);

/* Refuses a column of --errors that there is not; before any label is spent. */
pboost_status train_wide_check_errors(const train_data *data, const train_arguments *a,
                                      pboost_error *err);

/* The columns with the heaviest weights and those of --errors, with their names and, with --errors,
 * their standard errors (train_wide_names.c).  answers are those of the last fit. */
pboost_status train_wide_name(train_data *data, train_result *result, const train_arguments *a,
                              const pboost_answers *answers, pboost_error *err);

#endif

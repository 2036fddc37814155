/* priorboost train: the oracle. */
#ifndef PBOOST_CLI_TRAIN_ORACLE_H
#define PBOOST_CLI_TRAIN_ORACLE_H

#include "train_remote.h"

typedef struct train_oracle {
    pboost_memory_oracle *labels; /* of the table */
    train_remote *remote;         /* or another party's */
    pboost_oracle interface;
} train_oracle;

/* Refuses options that contradict --oracle, or that need it. */
pboost_status train_oracle_check(const train_arguments *a, pboost_error *err);

/* The oracle of the run and, in result->rules, its rules.  Rows that cannot be asked about leave
 * the data. */
pboost_status train_oracle_open(train_oracle *out, cli_context *cli, const train_arguments *a,
                                train_data *data, train_result *result, pboost_error *err);
/* After the last round: the labels of the table are not needed any more. */
void train_oracle_free_labels(train_oracle *oracle);
void train_oracle_close(train_oracle *oracle);

#endif

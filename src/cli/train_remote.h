/* priorboost train --oracle: the labels stay with another party. */
#ifndef PBOOST_CLI_TRAIN_REMOTE_H
#define PBOOST_CLI_TRAIN_REMOTE_H

#include "train.h"

typedef struct train_remote train_remote;

/* Connects; *rules gets those of the oracle, with the learner's --min-bag if that is stricter. */
pboost_status train_remote_open(train_remote **out, pboost_rules *rules, cli_context *cli,
                                const train_arguments *a, pboost_error *err);
void train_remote_close(train_remote *remote);

/* The classes that the oracle has; its answers must be of the kind that the family needs. */
pboost_status train_remote_classes(class_names *out, const train_remote *remote, bool classes,
                                   pboost_error *err);

/* The names of the label columns that the oracle has, one on each line; NULL: it has one label. */
const char *train_remote_columns(const train_remote *remote);

/* Finds out which rows may be asked about, leaves the others out of the data, and says how many;
 * without --skip-unavailable they are an error.  A checkpoint that was begun holds the list. */
pboost_status train_remote_choose_rows(train_remote *remote, train_data *data, train_result *result,
                                       pboost_error *err);

/* Before the first question: refuses a training for which the token has too few rows left, and
 * begins the checkpoint. */
pboost_status train_remote_begin(train_remote *remote, const train_data *data, pboost_error *err);

/* If the trainer's next round was begun by an earlier start: makes it ask about the same bags. */
pboost_status train_remote_recall(train_remote *remote, pboost_trainer *trainer, pboost_error *err);

/* The folder that holds what this run asked and was answered so far; NULL: none. */
const char *train_remote_checkpoint(const train_remote *remote);

/* The run ended with this status.  The checkpoint is removed if the model file is written and
 * --checkpoint does not name it, or if the oracle refused the first question, so that nothing was
 * spent. Otherwise it stays, and a message says so. */
void train_remote_end(train_remote *remote, pboost_status status);

pboost_oracle train_remote_oracle(train_remote *remote);

#endif

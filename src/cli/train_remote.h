/* priorboost train --oracle: the labels stay with another party. */
#ifndef PBOOST_CLI_TRAIN_REMOTE_H
#define PBOOST_CLI_TRAIN_REMOTE_H

#include "train.h"

typedef struct train_remote train_remote;

/* Connects; *rules gets those of the oracle, with the learner's --min-bag if that is stricter. */
pboost_status train_remote_open(train_remote **out, pboost_rules *rules, cli_context *cli,
                                const train_arguments *a, pboost_error *err);
void train_remote_close(train_remote *remote);

/* Finds out which rows may be asked about, leaves the others out of the data, and says how many;
 * without --skip-unavailable they are an error. */
pboost_status train_remote_choose_rows(train_remote *remote, train_data *data, train_result *result,
                                       pboost_error *err);

pboost_oracle train_remote_oracle(train_remote *remote);

#endif

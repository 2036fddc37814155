/* priorboost train --oracle: what is kept in the checkpoint beside questions and answers. */
#ifndef PBOOST_CLI_TRAIN_CHECKPOINT_H
#define PBOOST_CLI_TRAIN_CHECKPOINT_H

#include "train.h"

typedef struct train_checkpoint {
    char folder[4096];  /* "": none is kept */
    bool temporary;     /* beside the model file: removed once that is written */
    bool begun;         /* the run has started: questions were sent, or may be sent now */
    pboost_rules rules; /* of the oracle; set them before the calls below */
} train_checkpoint;

/* The folder of the arguments, and whether a run is in it; --resume without one is an error. Writes
 * nothing. */
pboost_status train_checkpoint_find(train_checkpoint *out, const train_arguments *a,
                                    pboost_error *err);

/* If the checkpoint is begun: refuses it where it is of another table or of other options;
 * otherwise leaves in the data the rows that it was begun with, in their order. */
pboost_status train_checkpoint_recall(const train_checkpoint *c, const train_arguments *a,
                                      train_data *data, pboost_error *err);

/* Begins it with the rows that are in the data. */
pboost_status train_checkpoint_begin(train_checkpoint *c, const train_arguments *a,
                                     const train_data *data, pboost_error *err);

#endif

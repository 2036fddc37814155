/* The files that let a learner continue after it was killed at any moment: no row is asked about
 * twice, and the model is the same.
 *
 * DIR/run         the options of the run: a checkpoint of another run is refused
 * DIR/rows        the table it is of, and the rows that the run uses, in their order
 * DIR/ask-R       the bags of round R and their cut into questions; written before any is sent
 * DIR/answer-R-P  the reply to question P of round R, as it came; written before it is used
 *
 * Several oracles have a folder each for ask and answer: see group.h.
 *
 * Every file appears whole or not at all and is on the disk before the next step. */
#ifndef PBOOST_NET_CHECKPOINT_H
#define PBOOST_NET_CHECKPOINT_H

#include <priorboost/core.h>

/* Makes the folder if it is not there. */
pboost_status pboost_checkpoint_open(const char *folder, pboost_error *err);

/* Removes the files of a checkpoint and the folder, if it then is empty. */
pboost_status pboost_checkpoint_remove(const char *folder, pboost_error *err);

/* The file's bytes; *data is NULL if there is no such file.  An empty file is not NULL. */
pboost_status pboost_checkpoint_read(unsigned char **data, size_t *length, const char *folder,
                                     const char *name, pboost_error *err);
pboost_status pboost_checkpoint_write(const char *folder, const char *name,
                                      const unsigned char *data, size_t length, pboost_error *err);

#endif

/* What a learner must remember so that, killed at any moment, it can go on with no row asked about
 * twice and the same model in the end.
 *
 * DIR/run       what the run is about: a mismatch refuses to go on with another one's checkpoint
 * DIR/rows      one byte by row of the table: 1 where the run uses it
 * DIR/ask-N     question N, as it is sent; written before it is sent
 * DIR/answer-N  the reply to it, as it came
 *
 * Every file appears whole or not at all and is on the disk before the next step. */
#ifndef PBOOST_NET_CHECKPOINT_H
#define PBOOST_NET_CHECKPOINT_H

#include <priorboost/core.h>

/* Makes the folder if it is not there. */
pboost_status pboost_checkpoint_open(const char *folder, pboost_error *err);

/* The file's bytes; *data is NULL if there is no such file.  An empty file is not NULL. */
pboost_status pboost_checkpoint_read(unsigned char **data, size_t *length, const char *folder,
                                     const char *name, pboost_error *err);
pboost_status pboost_checkpoint_write(const char *folder, const char *name,
                                      const unsigned char *data, size_t length, pboost_error *err);

/* Writes the file if it is not there; otherwise *same says whether it has these bytes. */
pboost_status pboost_checkpoint_claim(bool *same, const char *folder, const char *name,
                                      const unsigned char *data, size_t length, pboost_error *err);

#endif

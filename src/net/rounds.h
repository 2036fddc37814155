/* A round as a learner asks about it: its bags, cut into questions that the oracle takes; and the
 * file of a checkpoint that holds them. */
#ifndef PBOOST_NET_ROUNDS_H
#define PBOOST_NET_ROUNDS_H

#include "wire.h"

typedef struct asked_round {
    wire_question all; /* its bags */
    size_t n_parts;    /* questions; 0: there is no such round */
    size_t *end;       /* part p ends before bag end[p], and begins where the part before it ends */
} asked_round;

void pboost_round_free(asked_round *round);

/* As few parts as there can be, of at most max_body bytes each, for a question of one bag at least.
 */
pboost_status pboost_round_cut(asked_round *round, size_t max_body, pboost_error *err);

/* The file ask-N of the folder: u32 number of parts, u32 by part: bags in it, and then all bags as
 * one question in binary form. */
pboost_status pboost_round_write(const asked_round *round, const char *folder, size_t number,
                                 pboost_error *err);
pboost_status pboost_round_read(asked_round *out, const char *folder, size_t number,
                                pboost_error *err);

/* Part p as a question of its own, with its request id. */
pboost_status pboost_round_part(wire_question *out, const asked_round *round, size_t p,
                                pboost_error *err);

#endif

/* The rows of one question, store by store.
 *
 * A row lies in the store that a hash of its id says, or of its unit where there are units, so that
 * the limit of a unit is kept by one store.  An oracle with one store has one shard with all rows.
 */
#ifndef PBOOST_LEDGER_SHARDS_H
#define PBOOST_LEDGER_SHARDS_H

#include "state.h"

typedef struct asking asking;

typedef struct {
    pboost_ledger *l;
    bool entered;        /* the writing side was entered, and must be left */
    size_t n;            /* rows in this store */
    uint32_t *position;  /* of them in the question; NULL: they are all there are */
    const size_t *start; /* by bag: its first row */
    size_t *own_start;   /* NULL: start is the question's */
    uint32_t *slot;      /* in the order of the question */
    uint32_t *sorted;    /* in the order of the store, where there are units */
    unsigned char *slot_bytes;
    int64_t *total; /* by bag, by number of an answer: the sum of its rows here */
    size_t n_totals;
    unsigned char *released; /* by bag: see RELEASED_BYTES */
    size_t released_length;
    unsigned char nonce[NONCE_BYTES];
    digest question;     /* hash of a range of its bags */
    chain_link link;     /* of the entry */
    int64_t entry;       /* that must be witnessed before the reply leaves; -1: none here */
    pboost_reply judged; /* what the rules forbid */
} shard;

/* Which of the question's rows are in this store, and their slots: NO_NUMBER for those that are
 * unknown or outside the token's scope.  The writing side is entered and up to date. */
pboost_status pboost_shard_find(shard *h, const pboost_token *token, const pboost_question *q,
                                pboost_error *err);

/* Room for what the claim writes; first: for the answer too. */
pboost_status pboost_shard_room(shard *h, const pboost_question *q, bool first, pboost_error *err);

/* Frees all but the ledger. */
void pboost_shard_clear(shard *h);

/* Where there are units, no hash tells the store of a row: those that no store has, or two of them,
 * are unknown. */
pboost_status pboost_shards_unknown(pboost_reply *out, const shard *h, size_t n_shards, size_t n,
                                    pboost_error *err);

/* Calls `work` for each shard, at the same time.  Where some fail, the result is that of one. */
typedef pboost_status shard_work(asking *a, shard *h, pboost_error *err);
pboost_status pboost_shards_each(asking *a, shard *h, size_t n, shard_work *work,
                                 pboost_error *err);

#endif

/* A connection to the store that many threads use, one at a time. */
#ifndef PBOOST_LEDGER_SIDE_H
#define PBOOST_LEDGER_SIDE_H

#include <pthread.h>

#include "chain.h"

/* Whoever waits first goes first: a mutex alone may be had again and again by one who comes back at
 * once, and the others would wait. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t turn;
    uint64_t next, serving; /* numbers, as in a queue at a counter */
    store *store;
    chain_link seen; /* an entry that is known to be in it; number -1: none */
} ledger_side;

void pboost_side_lock(ledger_side *side);
void pboost_side_unlock(ledger_side *side);

#endif

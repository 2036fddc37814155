/* The witness: a log outside the store of what the store must not forget.
 *
 * One record for each entry of the chain: its head, and what it takes to do without the entry: the
 * rows that it spent, the labels that it erased, the token that it revoked, the ids that it
 * imported.  An entry is committed, synced in the store, then witnessed, then answered.  So the
 * store may be ahead of its witness, by what was never answered, but never behind: a store that is
 * behind was restored.
 *
 * Records are only appended.  After a restore the log holds the heads that were lost and goes on
 * from the one before them.  Several processes may append; each holds a lock on the file while it
 * does, and first reads what others have appended. */
#ifndef PBOOST_LEDGER_WITNESS_H
#define PBOOST_LEDGER_WITNESS_H

#include <pthread.h>
#include <sys/types.h>

#include "chain.h"
#include "labels.h"
#include "side.h"

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t released;
    bool acquired; /* one thread uses all below */
    char *path;
    int fd; /* -1: there is none, so that nothing is witnessed */
    off_t size;
    const ledger_keys *keys;
    chain_link last;      /* of the last record */
    atomic_llong covered; /* number of the last entry that is known to be in the file, synced */
} witness;

/* Waits until no other thread has the witness, or has covered the entry.  False: it is covered;
 * otherwise the caller has the witness, and releases it. */
bool pboost_witness_acquire(witness *w, int64_t number);
void pboost_witness_release(witness *w);

/* One record. */
typedef struct {
    int64_t number;
    digest head;
    const char *kind;
    const unsigned char *data; /* slots, 32 bits each; of a revoked token the name; of an import the
                                  first slot and then ROW_MARK bytes for each row */
    size_t length;
    int64_t token; /* of an answer */
} witness_record;

enum { ROW_MARK = 16 };

/* How the witness knows a row: by a keyed digest of its id. */
void pboost_row_mark(unsigned char out[ROW_MARK], const ledger_keys *keys, pboost_id id);

/* An empty one that must not be there yet. */
pboost_status pboost_witness_create(const char *path, const ledger_keys *keys, pboost_error *err);

/* Opens it, reads to its end and shows each record to `visit`, if it is not NULL.  w->path is set
 * before and w->fd is -1. */
typedef pboost_status witness_visit(void *user, const witness_record *record, pboost_error *err);
pboost_status pboost_witness_open(witness *w, witness_visit *visit, void *user, pboost_error *err);
void pboost_witness_close(witness *w);

/* Whether its last record is an entry of this store's chain. */
pboost_status pboost_witness_check(const witness *w, store *s, pboost_error *err);

/* Makes the entries of the store after the last record durable there, appends them and syncs them.
 * The caller has the witness.  Without a file the store alone is synced.  The side is held only
 * while it is read, not while the disk works: those who commit meanwhile are covered by the next
 * two syncs, all at once. */
pboost_status pboost_witness_append(witness *w, ledger_side *from, pboost_error *err);

#endif

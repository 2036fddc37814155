/* An open ledger.
 *
 * It has two connections: one claims rows and holds the store's write lock for that, the other
 * reads at the same time.  Each has a mutex, under which everything that belongs to it is used. */
#ifndef PBOOST_LEDGER_STATE_H
#define PBOOST_LEDGER_STATE_H

#include <pthread.h>

#include "labels.h"
#include "oracle/mechanism.h"
#include "rules.h"
#include "witness.h"

struct pboost_ledger {
    pboost_ledger_rules rules;
    pboost_ledger_options options;
    ledger_keys keys;
    char *key_file; /* that has them */
    digest first;   /* hash of the chain's first entry */
    witness witness;
    char *url;
    answer_number *number; /* by number of an answer: grid and noise */
    ledger_side write, read;
    label_table labels; /* belongs to the writing side */
    /* Belong to the reading side: what the entries up to this link add up to. */
    pboost_ledger_status totals;
    chain_link totals_link;
    bool has_totals;
    /* Of an oracle with several stores this one has the tokens and replies; the others follow it,
     * by their numbers. */
    size_t n_others;
    pboost_ledger **other;
};

/* Store i of the oracle, from 0, which is the ledger itself. */
static inline pboost_ledger *pboost_ledger_store(pboost_ledger *l, size_t i)
{
    return i == 0 ? l : l->other[i - 1];
}

/* Takes the side's mutex and begins a transaction; pboost_side_leave ends both, undoing what was
 * not committed.  It is called in any case. */
pboost_status pboost_side_enter(pboost_ledger *ledger, ledger_side *side, bool write,
                                pboost_error *err);
void pboost_side_leave(ledger_side *side);

/* Parts of making and opening a ledger that an upgrade does too.  A ledger that was begun has no
 * store yet and is closed as any other. */
pboost_status pboost_ledger_begin(pboost_ledger **out, const pboost_ledger_options *options,
                                  pboost_error *err);
pboost_status pboost_ledger_open_stores(pboost_ledger *l, const char *url, pboost_error *err);
pboost_status pboost_ledger_read_keys(pboost_ledger *l, store *s, const char *url,
                                      pboost_error *err);
pboost_status pboost_ledger_read_rules(pboost_ledger *l, store *s, pboost_error *err);

/* Fails where the store is not the one that has the tokens. */
pboost_status pboost_ledger_check_first(const pboost_ledger *ledger, pboost_error *err);

/* Whether the stores of an oracle that were opened belong to each other as their chains say. */
pboost_status pboost_stores_check(pboost_ledger *ledger, pboost_error *err);

/* The files beside a new store: its key and an empty witness.  They come first: a store without its
 * key could never be opened.  remove: the store was not made. */
typedef struct {
    char *key, *witness;
} store_files;
pboost_status pboost_files_create(store_files *out, ledger_keys *keys, const char *url,
                                  const pboost_ledger_options *options, pboost_error *err);
void pboost_files_free(store_files *files, bool remove);

/* Audits inside a transaction of the writing side, and reads the labels.  Without replies: only
 * what must hold before the ledger may answer, which leaves out sums and replies. */
pboost_status pboost_ledger_audit_here(pboost_audit *out, pboost_ledger *ledger, bool replies,
                                       pboost_error *err);

/* Numbers and hashes of the heads and rows that were lost in restores. */
pboost_status pboost_lost_hash(record *out, store *s, pboost_error *err);

/* Makes sure that an entry is durable, in the store and in the witness, before anyone is told of
 * it; INT64_MAX: all there are. */
pboost_status pboost_ledger_cover(pboost_ledger *l, int64_t number, pboost_error *err);

int64_t pboost_ledger_now(const pboost_ledger *ledger);

/* A token by its number, and the checks before it may ask. */
pboost_status pboost_token_by_id(pboost_token *out, store *s, int64_t id, pboost_error *err);

/* Writes a token, new or changed, with its MAC. */
pboost_status pboost_token_put(store *s, const pboost_token *token, bool create, pboost_error *err);

/* Counts rows that it has had answered. */
pboost_status pboost_token_spend(store *s, pboost_token *token, uint64_t rows, pboost_error *err);

/* All tokens in the store, by number; free the array. */
pboost_status pboost_token_read(pboost_token **out, size_t *n, store *s, pboost_error *err);

/* What the MAC of a token covers, which is everything. */
digest pboost_token_digest(const pboost_token *token);

/* A token as its entry in the chain says; false if the entry is not valid. */
bool pboost_token_from_entry(pboost_token *out, const chain_entry *entry);
pboost_status pboost_token_by_name(pboost_token *out, store *s, const char *name,
                                   pboost_error *err);

/* Whose secret this is; id 0: nobody's. */
pboost_status pboost_token_recognise(pboost_token *out, store *s, const char *secret,
                                     pboost_error *err);

/* Whether a token may be used now, by one of these roles: also whether its approval is valid. */
pboost_status pboost_token_check(pboost_problem *problem, const pboost_ledger *ledger, store *s,
                                 const pboost_token *token, unsigned roles, int64_t now,
                                 pboost_error *err);

/* Appends an entry without rows, in the transaction that is open. */
pboost_status pboost_token_append(pboost_ledger *l, const chain_entry *entry, pboost_error *err);

/* Sets the problem and a message that names it. */
pboost_status pboost_refuse(pboost_problem *out, pboost_problem problem, pboost_error *err);

/* PBOOST_REFUSED, with the problem and the seconds to wait, where refusals have named as many rows
 * to the token in this hour as they may. */
pboost_status pboost_refusals_check(pboost_reply *out, const pboost_ledger *l,
                                    const pboost_token *token, pboost_error *err);
/* Records it and commits.  It is called in a transaction that has written nothing else. */
pboost_status pboost_refusal_record(const pboost_reply *refused, const pboost_ledger *l,
                                    const pboost_token *token, pboost_error *err);

#endif

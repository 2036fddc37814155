/* The rows of a store in memory: their labels, units and scopes, and which of them are spent.
 *
 * It is a copy: the store decides.  A caller that claims rows holds the store's write lock and has
 * called pboost_labels_refresh in the same transaction, so the copy is then up to date. */
#ifndef PBOOST_LABELS_H
#define PBOOST_LABELS_H

#include "chain.h"
#include "ids.h"

#define NO_LABEL INT64_MIN

typedef struct {
    id_map ids; /* the number of an id is its slot */
    size_t n, capacity;
    int64_t *label;  /* in steps of the grid; NO_LABEL: erased */
    uint32_t *unit;  /* NULL: there are no units */
    uint32_t *scope; /* NO_NUMBER: none */
    id_map scopes;
    uint64_t *spent; /* one bit by slot */
    size_t n_units, unit_capacity;
    uint32_t *uses; /* by unit: answered bags it was in */
    /* Used while a claim is checked; zero otherwise. */
    uint64_t *asked;    /* one bit by slot */
    uint32_t *new_uses; /* by unit */
    uint32_t *last_bag; /* by unit: 1 + the bag it was last seen in */
    bool units;
    bool valid;      /* false: must be read again */
    chain_link link; /* the last entry of the chain that the copy includes */
} label_table;

void pboost_labels_free(label_table *t);

/* Brings the table up to the end of the chain, inside a transaction. */
pboost_status pboost_labels_refresh(label_table *t, store *s, pboost_error *err);

static inline bool pboost_labels_spent(const label_table *t, uint32_t slot)
{
    return t->spent[slot / 64] >> slot % 64 & 1;
}

/* What an entry that was committed says: these rows are spent; answered: their units were used. */
void pboost_labels_spend(label_table *t, const uint32_t *slot, size_t n, bool answered);
void pboost_labels_erase(label_table *t, const uint32_t *slot, size_t n);

/* In the order of the store. */
void pboost_slots_sort(uint32_t *slot, size_t n);

/* A label as the store keeps it. */
enum { LABEL_BYTES = 8 };
void pboost_label_write(unsigned char out[LABEL_BYTES], int64_t label);
bool pboost_label_read(int64_t *out, const store_value *value); /* null: NO_LABEL */

/* A row as the chain of version 1 saw it: everything but its label. */
void pboost_hash_row(hasher *h, pboost_id id, uint32_t unit, uint32_t scope);

/* A row, unit or scope as the chain sees it: a keyed digest of everything but a label.  It can take
 * the place of an id that was erased, and it reveals nothing without the key. */
digest pboost_row_digest(const ledger_keys *keys, pboost_id id, uint32_t unit, uint32_t scope);
digest pboost_name_digest(const ledger_keys *keys, const char *table, pboost_id id);

#endif

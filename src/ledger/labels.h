/* The rows of a store in memory: their labels, units and scopes, and which of them are spent.
 *
 * It is a copy: the store decides.  A caller that claims rows holds the store's write lock and has
 * called pboost_labels_refresh in the same transaction, so the copy is then up to date. */
#ifndef PBOOST_LABELS_H
#define PBOOST_LABELS_H

#include "chain.h"
#include "claims.h"
#include "seal.h"
#include "shares.h"

#define NO_HOME (UINT32_MAX - 1) /* of a unit that has no row yet */

typedef struct {
    id_map ids; /* the number of an id is its slot */
    size_t n, capacity;
    int64_t
        *label; /* by slot, `columns` each: a class, or in steps of the grid; NO_LABEL: erased */
    uint32_t *unit;  /* NULL: there are no units */
    uint32_t *scope; /* NO_NUMBER: none */
    id_map scopes;
    uint64_t *spent; /* one bit by slot */
    uint64_t *gone;  /* one bit by slot: label and id were erased */
    bool any_gone;   /* some ids stand there as pboost_erased_text */
    unit_shares shares;
    uint32_t *share; /* by scope; NO_NUMBER: none */
    size_t n_units, unit_capacity;
    uint32_t *home; /* by unit: the scope of its first row */
    uint32_t *uses; /* by unit and share: answered bags it was in */
    /* Used while a claim is checked; zero otherwise. */
    uint64_t *asked;    /* one bit by slot */
    uint32_t *new_uses; /* by unit and share */
    uint32_t *last_bag; /* by unit: 1 + the bag it was last seen in */
    label_seals seals;  /* while rows are read */
    size_t columns;     /* labels of a row */
    int64_t classes;    /* of which a label is one; 0: labels are numbers */
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

static inline bool pboost_labels_gone(const label_table *t, uint32_t slot)
{
    return t->gone[slot / 64] >> slot % 64 & 1;
}

/* The slot of an id, also of one that was erased; NO_NUMBER: it was never there. */
uint32_t pboost_labels_find(const label_table *t, const ledger_keys *keys, pboost_id id);

/* Its labels. */
static inline const int64_t *pboost_labels_of(const label_table *t, uint32_t slot)
{
    return t->label + (size_t)slot * t->columns;
}

/* The share of a row, where there are units. */
static inline uint32_t pboost_labels_share(const label_table *t, uint32_t slot)
{
    return t->shares.named ? t->share[t->scope[slot]] : 0;
}

/* Where the uses of a row's unit, in the row's share, are counted. */
static inline size_t pboost_labels_use(const label_table *t, uint32_t slot)
{
    return (size_t)t->unit[slot] * t->shares.n + pboost_labels_share(t, slot);
}

/* How many uses that may become.  Without shares the unit's first row says which scope has them: a
 * store of an older version may hold a unit in two scopes. */
static inline uint32_t pboost_labels_most_uses(const label_table *t, uint32_t slot)
{
    if (!t->shares.named && t->scope[slot] != t->home[t->unit[slot]])
        return 0;
    return pboost_shares_rows(&t->shares, pboost_labels_share(t, slot));
}

/* What an entry that was committed says: these rows are spent; answered: their units were used. */
void pboost_labels_spend(label_table *t, const uint32_t *slot, size_t n, bool answered);
void pboost_labels_erase(label_table *t, const uint32_t *slot, size_t n);

/* In the order of the store. */
void pboost_slots_sort(uint32_t *slot, size_t n);

/* A row as the chain of version 1 saw it: everything but its label. */
void pboost_hash_row(hasher *h, pboost_id id, uint32_t unit, uint32_t scope);

/* The id of a row or unit, or a scope, as the chain sees it: a keyed digest.  It takes the place of
 * an id that was erased, and it reveals nothing without the key. */
enum { NAME_TABLE_MAX = 32 }; /* bytes of the name of its table, with the final zero */
digest pboost_name_digest(const ledger_keys *keys, const char *table, pboost_id id);

/* A row as the chain sees it: everything but its label. */
void pboost_hash_row_digest(hasher *h, const digest *id, uint32_t unit, uint32_t scope);

/* In a map of ids an erased one is this text, which begins with a character that is no part of any
 * id that means something: so numbers stay what they are, and the id is still recognised. */
enum { ERASED_TEXT = 2 + 2 * sizeof(digest) };
void pboost_erased_text(char out[ERASED_TEXT], const digest *d);
uint32_t pboost_erased_find(const id_map *map, const ledger_keys *keys, const char *table,
                            pboost_id id);

#endif

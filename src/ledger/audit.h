/* What the files of the audit share. */
#ifndef PBOOST_LEDGER_AUDIT_H
#define PBOOST_LEDGER_AUDIT_H

#include "notes.h"
#include "ranges.h"
#include "replay.h"
#include "state.h"

typedef struct {
    size_t n, capacity;
    name_range *range;
} range_list;

typedef struct auditing {
    pboost_audit *out;
    const pboost_ledger *ledger;
    bool replies;              /* released numbers and replies were read too */
    const label_table *labels; /* NULL: they could not be read */
    chain_link link;
    uint32_t *claimed; /* by slot: 1 + the entry that claimed it */
    uint32_t *uses;    /* by unit and share */
    uint32_t *bag;     /* by unit: 1 + number of the bag it was last in, over all answers */
    int64_t *sum;      /* by number of an answer: of a bag */
    range_list ranges[RANGE_KINDS]; /* of the imports */
    range_list old_rows;            /* of the imports of version 1 */
    token_replay tokens;            /* as the entries say */
    record lost;                    /* what the last restore says of lost heads and rows */
    claim_notes *notes; /* of the oracle's other stores; NULL: this one is looked at alone */
} auditing;

/* One more problem; the first is kept in words. */
PBOOST_PRINTF(2, 3) void pboost_audit_found(auditing *a, const char *format, ...);

/* Whether these are the slots that the chain hashed. */
bool pboost_audit_slots(const store_value *slots, const void *expected);

/* The entry claims a row; answered: nobody may have claimed it before. */
void pboost_audit_claim(auditing *a, int64_t entry, uint32_t slot, bool answered);

/* The columns of an entry, and of the answer or claim that belongs to it. */
enum { NUMBER, KIND, TIME, ROWS, BAGS, DATA, HASH, SEAL, SLOTS, MAC };
enum { TOKEN = MAC + 1, REQUEST, QUESTION, RELEASED, FORMAT, BODY, NONCE };

typedef pboost_status audit_kind(auditing *a, const store_value *value, pboost_error *err);
audit_kind pboost_audit_answer;  /* "answer" */
audit_kind pboost_audit_claimed; /* "claim": rows of an answer that the first store has */

#endif

/* What several stores of an oracle say about the same questions.
 *
 * The answer to a question is in the first store; another store that has rows of it has a "claim"
 * entry with the same token, request id and hash of the question.  A claim without an answer was
 * interrupted between the two commits, or its answer was lost in a restore: its rows stay spent.
 * An answer without all its claims is never made; only a restore of the other store explains it. */
#ifndef PBOOST_LEDGER_NOTES_H
#define PBOOST_LEDGER_NOTES_H

#include "chain.h"

/* One claim. */
typedef struct {
    uint64_t token;
    char *request;
    digest question;
    size_t store;
    uint64_t rows;
    bool answered;
    size_t n_bags;        /* 0: sizes and sums were not read */
    uint64_t *size;       /* by bag: its rows in that store */
    int64_t *sum;         /* by bag and number of an answer */
    unsigned char *known; /* by bag: the sum is one of all its labels */
} claim_note;

typedef struct {
    size_t n, capacity;
    claim_note *note;
    bool sorted;
    bool restored; /* a store had to be restored: claims may be lost */
} claim_notes;

void pboost_notes_free(claim_notes *notes);

/* From the data of a "claim" entry: see describe_answer in ledger.c.  *out may get sizes and sums.
 */
pboost_status pboost_notes_add(claim_note **out, claim_notes *notes, size_t number, uint64_t rows,
                               const void *data, size_t length, pboost_error *err);

/* The claims of an answer, from the data of its entry; they are marked as answered.  problem gets
 * what is wrong with them, or "". */
enum { NOTES_PROBLEM = 160 };
void pboost_notes_match(const claim_note **first, size_t *n, char problem[NOTES_PROBLEM],
                        claim_notes *notes, const void *data, size_t length);

/* Where there are units, whether an id is in two stores: PBOOST_REFUSED, and problem says which. */
pboost_status pboost_stores_find_twice(char problem[NOTES_PROBLEM], pboost_ledger *l);

/* Claims that no answer had. */
size_t pboost_notes_interrupted(const claim_notes *notes);

#endif

/* What may be asked: the rules as functions of a claim.
 *
 * They see slots, units and what is spent, never a label, so that refusals cannot depend on one. */
#ifndef PBOOST_LEDGER_RULES_H
#define PBOOST_LEDGER_RULES_H

#include "labels.h"

/* The rows of a question's bags that lie in one store, by slot. */
typedef struct {
    size_t n_bags, n;
    const size_t *start;
    const uint32_t *slot;     /* by row; NO_NUMBER: unknown, or outside the token's scope */
    const uint32_t *position; /* of these rows in the question; NULL: they are all there are */
    const size_t *whole;      /* where the question's bags begin; NULL: another store judges what
                                 concerns the whole question */
} claim;

/* Refuses what cannot be a ledger's rules and fills in the step. */
pboost_status pboost_ledger_rules_check(pboost_ledger_rules *rules, pboost_error *err);

/* What the chain's first entry says, and back. */
void pboost_first_entry_print(record *out, const pboost_ledger_rules *rules, const char *store_id);
pboost_status pboost_first_entry_parse(pboost_ledger_rules *out, const void *data, size_t length,
                                       pboost_error *err);

/* Whether request ids, names and the like are 1 to PBOOST_ID_MAX printable characters without
 * blanks. */
bool pboost_name_valid(const char *name);

/* The first problem and its offenders in `out`, by their position in the question, where a rule
 * forbids the claim.  quota: rows that the token may still have. */
pboost_status pboost_claim_judge(pboost_reply *out, const pboost_ledger_rules *rules,
                                 label_table *labels, const claim *c, uint64_t quota,
                                 pboost_error *err);

/* What two stores found, as if one had judged all; the result is in `out`. */
void pboost_claims_merge(pboost_reply *out, pboost_reply *other);

/* PBOOST_REFUSED with a message, where there is a problem. */
pboost_status pboost_claim_refuse(const pboost_reply *judged, pboost_error *err);

#endif

/* Tokens as the chain tells of them: who was made, approved and revoked, and who asked.
 *
 * It needs the entries alone.  `oracle audit` compares its result with the store; `verify-audit`
 * has nothing but the entries. */
#ifndef PBOOST_LEDGER_REPLAY_H
#define PBOOST_LEDGER_REPLAY_H

#include "state.h"

typedef struct {
    digest origin; /* hash of the first entry */
    bool require_approval;
    bool has_approver;
    size_t n, capacity;
    pboost_token *token; /* token i + 1, as it is after the last entry */
} token_replay;

/* Takes in the next entry.  *problem says what is wrong with it, or is "". */
enum { REPLAY_PROBLEM = 200 };
pboost_status pboost_replay_entry(token_replay *r, char problem[REPLAY_PROBLEM],
                                  const chain_entry *entry, const chain_link *link,
                                  pboost_error *err);
void pboost_replay_free(token_replay *r);

#endif

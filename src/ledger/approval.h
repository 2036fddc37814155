/* Approval: a proof that someone other than the store's owner allowed a token.
 *
 * The secret of an approver's token is the seed of an Ed25519 key.  Its public half is part of the
 * token in the chain; its secret half is kept nowhere.  To approve is to sign all that a token is,
 * and the signature is checked again whenever the token is used.  Whoever can write to the store,
 * or run every command on it, but does not hold the token of an approver cannot approve.
 *
 * The first approver of a store needs no approval.  Each later one is approved by an earlier one,
 * so that the store's owner cannot make an approver for itself. */
#ifndef PBOOST_LEDGER_APPROVAL_H
#define PBOOST_LEDGER_APPROVAL_H

#include "state.h"

/* The public half of an approver's key. */
void pboost_approver_key(unsigned char out[PBOOST_PUBLIC_KEY], const char *secret);

/* Whether a token may be used only after someone approved it; first: no approver is older. */
bool pboost_approval_needed(bool require_approval, const pboost_token *token, bool first);

/* origin: the hash of the chain's first entry. */
void pboost_approval_sign(pboost_token *token, const pboost_token *approver, const char *secret,
                          const digest *origin);
bool pboost_approval_valid(const pboost_token *token, const pboost_token *approver,
                           const digest *origin);

/* Follows the approvals of a token to the first approver; *problem is TOKEN_PENDING where one is
 * missing or is not valid. */
pboost_status pboost_approval_check(pboost_problem *problem, const pboost_ledger *ledger, store *s,
                                    const pboost_token *token, pboost_error *err);

#endif

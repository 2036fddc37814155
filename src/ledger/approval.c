/* Who allowed a token. */
#include "approval.h"

#include <string.h>

/* ---- Keys and signatures --------------------------------------------------------------------- */

static void approver_keys(unsigned char public_key[PBOOST_PUBLIC_KEY],
                          unsigned char secret_key[crypto_sign_SECRETKEYBYTES], const char *secret)
{
    hasher h;

    pboost_hash_start(&h, "priorboost approver 1");
    pboost_hash_block(&h, secret, strlen(secret));
    digest seed = pboost_hash_end(&h);
    crypto_sign_seed_keypair(public_key, secret_key, seed.byte);
    sodium_memzero(&h, sizeof h);
    sodium_memzero(&seed, sizeof seed);
}

void pboost_approver_key(unsigned char out[PBOOST_PUBLIC_KEY], const char *secret)
{
    unsigned char secret_key[crypto_sign_SECRETKEYBYTES];

    approver_keys(out, secret_key, secret);
    sodium_memzero(secret_key, sizeof secret_key);
}

/* All of a token that does not change while it lives, in this store, and who allows it. */
static digest describe(const pboost_token *t, const pboost_token *approver, const digest *origin)
{
    hasher h;

    pboost_hash_start(&h, "priorboost approval 1");
    pboost_hash_bytes(&h, origin->byte, sizeof origin->byte);
    pboost_hash_number(&h, (uint64_t)t->id);
    pboost_hash_block(&h, t->name, strlen(t->name));
    pboost_hash_number(&h, t->role);
    pboost_hash_bytes(&h, t->hash, sizeof t->hash);
    pboost_hash_number(&h, (uint64_t)t->created);
    pboost_hash_number(&h, (uint64_t)t->expires);
    pboost_hash_number(&h, t->max_rows);
    pboost_hash_number(&h, t->scoped);
    pboost_hash_block(&h, t->scope, strlen(t->scope));
    pboost_hash_block(&h, t->created_by, strlen(t->created_by));
    pboost_hash_bytes(&h, t->public_key, sizeof t->public_key);
    pboost_hash_block(&h, approver->name, strlen(approver->name));
    return pboost_hash_end(&h);
}

void pboost_approval_sign(pboost_token *token, const pboost_token *approver, const char *secret,
                          const digest *origin)
{
    unsigned char public_key[PBOOST_PUBLIC_KEY], secret_key[crypto_sign_SECRETKEYBYTES];
    digest d = describe(token, approver, origin);

    approver_keys(public_key, secret_key, secret);
    crypto_sign_detached(token->approval, NULL, d.byte, sizeof d.byte, secret_key);
    memcpy(token->approved_by, approver->name, sizeof token->approved_by);
    sodium_memzero(secret_key, sizeof secret_key);
}

/* An approver is approved by an older one, so no two approve each other. */
bool pboost_approval_valid(const pboost_token *token, const pboost_token *approver,
                           const digest *origin)
{
    digest d = describe(token, approver, origin);

    return strcmp(token->created_by, approver->name) != 0 &&
           (token->role != PBOOST_APPROVER || approver->id < token->id) &&
           crypto_sign_verify_detached(token->approval, d.byte, sizeof d.byte,
                                       approver->public_key) == 0;
}

/* ---- Checking -------------------------------------------------------------------------------- */

bool pboost_approval_needed(bool require_approval, const pboost_token *token, bool first)
{
    return (token->role == PBOOST_LEARNER && require_approval) ||
           (token->role == PBOOST_APPROVER && !first);
}

pboost_status pboost_approval_check(pboost_problem *problem, const pboost_ledger *ledger, store *s,
                                    const pboost_token *token, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_token at = *token, approver;
    int64_t first = 0;

    while (at.approved_by[0] != '\0') {
        TRY(pboost_token_by_name(&approver, s, at.approved_by, err));
        if (!pboost_approval_valid(&at, &approver, &ledger->first))
            TRY(pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_PENDING, err));
        at = approver;
    }
    if (at.role == PBOOST_APPROVER)
        TRY(RUN(s, "SELECT min(token) FROM ledger_token WHERE role = $1", pboost_store_number,
                &first, err, value_number(PBOOST_APPROVER)));
    if (pboost_approval_needed(ledger->rules.require_approval, &at, at.id == first))
        TRY(pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_PENDING, err));
done:
    return st;
}

/* ---- Approving ------------------------------------------------------------------------------- */

/* What the approver may not allow. */
static pboost_status judge(pboost_problem *problem, const pboost_token *token,
                           const pboost_token *approver, int64_t now, pboost_error *err)
{
    if (token->id == 0)
        return pboost_refuse(problem, PBOOST_PROBLEM_UNKNOWN_TOKEN, err);
    if (strcmp(token->created_by, approver->name) == 0 ||
        (token->role == PBOOST_APPROVER && approver->id >= token->id))
        return pboost_refuse(problem, PBOOST_PROBLEM_OWN_TOKEN, err);
    if (token->state != PBOOST_TOKEN_PENDING || (token->expires != 0 && now >= token->expires))
        return pboost_refuse(problem, PBOOST_PROBLEM_NOT_PENDING, err);
    return PBOOST_OK;
}

pboost_status pboost_token_approve(pboost_token *out, pboost_problem *problem,
                                   pboost_ledger *ledger, const char *name, const char *secret,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    pboost_token approver;
    int64_t now = pboost_ledger_now(ledger);
    record data = {0};

    *problem = PBOOST_PROBLEM_NONE;
    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(pboost_token_recognise(&approver, s, secret, err));
    TRY(pboost_token_check(problem, ledger, s, &approver, PBOOST_MAY(PBOOST_APPROVER), now, err));
    TRY(pboost_token_by_name(out, s, name, err));
    TRY(judge(problem, out, &approver, now, err));
    pboost_approval_sign(out, &approver, secret, &ledger->first);
    if (!pboost_approval_valid(out, &approver, &ledger->first))
        FAIL(err, PBOOST_INTERNAL, "the approval of '%s' is not valid", name);
    out->state = PBOOST_TOKEN_ACTIVE;
    TRY(pboost_token_put(s, out, false, err));
    pboost_record_text(&data, out->name);
    pboost_record_text(&data, approver.name);
    pboost_record_bytes(&data, out->approval, sizeof out->approval);
    TRY(pboost_token_append(ledger, &(chain_entry){"approve", now, 0, 0, data.byte, data.used},
                            err));
    TRY(pboost_store_commit(s, err));
done:
    pboost_side_leave(&ledger->write);
    if (st == PBOOST_OK)
        st = pboost_ledger_cover(ledger, INT64_MAX, err);
    return st;
}

/* Tokens as the chain tells of them. */
#include "replay.h"

#include <stdio.h>
#include <string.h>

#include "approval.h"

#define WRONG(...)                                                                                 \
    do {                                                                                           \
        snprintf(problem, REPLAY_PROBLEM, __VA_ARGS__);                                            \
        return PBOOST_OK;                                                                          \
    } while (0)

void pboost_replay_free(token_replay *r)
{
    free(r->token);
    *r = (token_replay){0};
}

static pboost_token *find(const token_replay *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->token[i].name, name) == 0)
            return &r->token[i];
    return NULL;
}

static bool alive(const pboost_token *token, int64_t time)
{
    return token->state == PBOOST_TOKEN_ACTIVE && (token->expires == 0 || time < token->expires);
}

/* ---- One function by kind of entry ----------------------------------------------------------- */

typedef pboost_status replay_kind(token_replay *r, char problem[REPLAY_PROBLEM],
                                  const chain_entry *e, const chain_link *link, pboost_error *err);

static pboost_status replay_init(token_replay *r, char problem[REPLAY_PROBLEM],
                                 const chain_entry *e, const chain_link *link, pboost_error *err)
{
    pboost_ledger_rules rules;
    pboost_status st = pboost_first_entry_parse(&rules, e->data, e->data_length, err);

    if (st == PBOOST_NO_MEMORY)
        return st;
    if (st != PBOOST_OK)
        WRONG("its rules cannot be read");
    r->origin = link->hash;
    r->require_approval = rules.require_approval;
    return PBOOST_OK;
}

static pboost_status replay_token(token_replay *r, char problem[REPLAY_PROBLEM],
                                  const chain_entry *e, const chain_link *link, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_token token;
    (void)link;

    if (!pboost_token_from_entry(&token, e) || token.id != (int64_t)r->n + 1 ||
        find(r, token.name) != NULL || token.approved_by[0] != '\0')
        WRONG("its token is not valid");
    if (token.state != PBOOST_TOKEN_PENDING &&
        pboost_approval_needed(r->require_approval, &token, !r->has_approver))
        WRONG("token '%.60s' needed approval and was made without", token.name);
    GROW(r->token, r->capacity, r->n + 1, err);
    r->token[r->n++] = token;
    r->has_approver = r->has_approver || token.role == PBOOST_APPROVER;
done:
    return st;
}

static pboost_status replay_approve(token_replay *r, char problem[REPLAY_PROBLEM],
                                    const chain_entry *e, const chain_link *link, pboost_error *err)
{
    record_reader reader = {e->data, e->data_length, false};
    pboost_token *token = find(r, pboost_read_text(&reader));
    const pboost_token *approver = find(r, pboost_read_text(&reader));
    (void)link, (void)err;

    if (reader.bad || reader.left != PBOOST_SIGNATURE || token == NULL || approver == NULL)
        WRONG("its approval is not valid");
    if (token->state != PBOOST_TOKEN_PENDING)
        WRONG("token '%.60s' was not waiting for approval", token->name);
    if (!alive(approver, e->time))
        WRONG("approver '%.60s' was pending, expired or revoked", approver->name);
    memcpy(token->approval, reader.byte, PBOOST_SIGNATURE);
    memcpy(token->approved_by, approver->name, sizeof token->approved_by);
    if (!pboost_approval_valid(token, approver, &r->origin))
        WRONG("the approval of token '%.60s' was not signed by approver '%.60s'", token->name,
              approver->name);
    token->state = PBOOST_TOKEN_ACTIVE;
    return PBOOST_OK;
}

static pboost_status replay_revoke(token_replay *r, char problem[REPLAY_PROBLEM],
                                   const chain_entry *e, const chain_link *link, pboost_error *err)
{
    record_reader reader = {e->data, e->data_length, false};
    pboost_token *token = find(r, pboost_read_text(&reader));
    (void)link, (void)err;

    if (reader.bad || reader.left != 0 || token == NULL || token->state == PBOOST_TOKEN_REVOKED)
        WRONG("its revocation is not valid");
    token->state = PBOOST_TOKEN_REVOKED;
    return PBOOST_OK;
}

/* Version 1 looked at the clock twice: the answer may be a moment later than the expiry. */
static pboost_status replay_answer(token_replay *r, char problem[REPLAY_PROBLEM],
                                   const chain_entry *e, const chain_link *link, pboost_error *err)
{
    record_reader reader = {e->data, e->data_length, false};
    uint64_t id = pboost_read_number(&reader);
    uint64_t rows = e->rows + pboost_rows_elsewhere(e->data, e->data_length);
    (void)err;

    if (reader.bad || id < 1 || id > r->n)
        WRONG("its answer is to no token");
    pboost_token *token = &r->token[id - 1];
    if (token->role != PBOOST_LEARNER || !alive(token, link->version > 1 ? e->time : 0))
        WRONG("token '%.60s' was answered, but is no learner's, pending, expired or revoked",
              token->name);
    token->rows_used += rows;
    if (token->max_rows != 0 && token->rows_used > token->max_rows)
        WRONG("token '%.60s' has had %llu rows of %llu", token->name,
              (unsigned long long)token->rows_used, (unsigned long long)token->max_rows);
    return PBOOST_OK;
}

/* Rows that a restore burnt count as used by the token that had asked about them. */
static pboost_status replay_burn(token_replay *r, char problem[REPLAY_PROBLEM],
                                 const chain_entry *e, const chain_link *link, pboost_error *err)
{
    record_reader reader = {e->data, e->data_length, false};
    uint64_t id = pboost_read_number(&reader);
    (void)link, (void)err;

    if (reader.bad)
        WRONG("its burnt rows make no sense");
    if (id >= 1 && id <= r->n)
        r->token[id - 1].rows_used += e->rows;
    return PBOOST_OK;
}

static const struct {
    const char *kind;
    replay_kind *replay;
} KINDS[] = {{"init", replay_init},     {"token", replay_token},   {"approve", replay_approve},
             {"revoke", replay_revoke}, {"answer", replay_answer}, {"burn", replay_burn},
             {"burn-all", replay_burn}};

pboost_status pboost_replay_entry(token_replay *r, char problem[REPLAY_PROBLEM],
                                  const chain_entry *entry, const chain_link *link,
                                  pboost_error *err)
{
    problem[0] = '\0';
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(KINDS[i].kind, entry->kind) == 0)
            return KINDS[i].replay(r, problem, entry, link, err);
    return PBOOST_OK;
}

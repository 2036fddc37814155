/* Tokens: 256 random bits, of which the store keeps a hash.
 *
 * A guess is hashed and compared to every token's hash in constant time, so that the time taken
 * tells nothing but how many tokens there are. */
#include <string.h>

#include "state.h"

/* ---- In the store ---------------------------------------------------------------------------- */

#define TOKEN_COLUMNS                                                                              \
    "token, name, role, created, expires, max_rows, rows_used, scope, revoked, hash"

static pboost_status take_token(pboost_token *out, const store_value *value, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (pboost_token){.id = value[0].number,
                          .role =
                              value[2].number == PBOOST_OPERATOR ? PBOOST_OPERATOR : PBOOST_LEARNER,
                          .created = value[3].number,
                          .expires = value[4].number,
                          .max_rows = (uint64_t)value[5].number,
                          .rows_used = (uint64_t)value[6].number,
                          .scoped = value[7].kind == VALUE_TEXT,
                          .revoked = value[8].number != 0};
    if (value[1].length > PBOOST_ID_MAX || value[7].length > PBOOST_ID_MAX)
        FAIL(err, PBOOST_BAD_DATA, "the store is damaged: a token makes no sense");
    memcpy(out->name, value[1].data, value[1].length);
    if (out->scoped)
        memcpy(out->scope, value[7].data, value[7].length);
done:
    return st;
}

static pboost_status take_one(void *user, const store_value *value, size_t n, pboost_error *err)
{
    (void)n;
    return take_token(user, value, err);
}

pboost_status pboost_token_by_id(pboost_token *out, store *s, int64_t id, pboost_error *err)
{
    *out = (pboost_token){.revoked = true};
    return RUN(s, "SELECT " TOKEN_COLUMNS " FROM ledger_token WHERE token = $1", take_one, out, err,
               value_number(id));
}

pboost_status pboost_token_check(pboost_problem *problem, const pboost_token *token,
                                 pboost_role role, int64_t now, pboost_error *err)
{
    if (token->revoked)
        return pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_INVALID, err);
    if (token->expires != 0 && now >= token->expires)
        return pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_EXPIRED, err);
    if (token->role != role)
        return pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_ROLE, err);
    return PBOOST_OK;
}

/* ---- Secrets --------------------------------------------------------------------------------- */

#define SECRET_PREFIX "pb_"

static digest hash_secret(const char *secret)
{
    hasher h;
    pboost_hash_start(&h, "priorboost token 1");
    pboost_hash_block(&h, secret, strnlen(secret, 1024));
    digest d = pboost_hash_end(&h);
    sodium_memzero(&h, sizeof h);
    return d;
}

static pboost_status draw_secret(char secret[PBOOST_TOKEN_TEXT], pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    rng_source source;
    uint64_t word[4] = {0};

    pboost_rng_source_system(&source);
    for (size_t i = 0; i < 4; i++)
        TRY(pboost_rng_next(&word[i], &source, err));
    memcpy(secret, SECRET_PREFIX, sizeof SECRET_PREFIX);
    sodium_bin2base64(secret + strlen(SECRET_PREFIX), PBOOST_TOKEN_TEXT - strlen(SECRET_PREFIX),
                      (const unsigned char *)word, sizeof word,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
done:
    pboost_rng_source_wipe(&source);
    sodium_memzero(word, sizeof word);
    return st;
}

/* ---- Making and revoking --------------------------------------------------------------------- */

static pboost_status check_options(const pboost_token_options *o, const pboost_ledger *l,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (o->struct_size != sizeof *o)
        FAIL(err, PBOOST_INVALID,
             "token options: struct_size is %zu, not %zu; start from PBOOST_TOKEN_OPTIONS_INIT",
             o->struct_size, sizeof *o);
    if (o->name == NULL || !pboost_name_valid(o->name))
        FAIL(err, PBOOST_INVALID,
             "a token's name must be 1 to %d printable characters without blanks", PBOOST_ID_MAX);
    if (o->scope != NULL && !pboost_id_valid((pboost_id){o->scope, 0}))
        FAIL(err, PBOOST_INVALID, "a token's scope must be 1 to %d bytes", PBOOST_ID_MAX);
    if (o->expires < 0 || o->max_rows > INT64_MAX)
        FAIL(err, PBOOST_INVALID, "a token's expiry and number of rows must not be negative");
    if (o->role == PBOOST_OPERATOR && (o->max_rows > 0 || o->scope != NULL))
        FAIL(err, PBOOST_INVALID, "an operator's token has no rows and no scope");
    if (o->scope != NULL && pboost_shares_find(&l->labels.shares, o->scope) == NO_NUMBER)
        FAIL(err, PBOOST_INVALID,
             "scope '%.60s' has no share in the store's rules, which are %.200s", o->scope,
             l->rules.scope_rows);
done:
    return st;
}

static pboost_status append_entry(pboost_ledger *l, const chain_entry *entry, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    chain_link last;

    TRY(pboost_chain_last(&last, s, err));
    chain_link link = pboost_chain_next(&last, entry);
    TRY(pboost_chain_append(s, &link, entry, NULL, 0, err));
done:
    return st;
}

pboost_status pboost_token_create(char secret[PBOOST_TOKEN_TEXT], pboost_ledger *ledger,
                                  const pboost_token_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    int64_t id = 0, taken = 0, now = pboost_ledger_now(ledger);
    record data = {0};

    secret[0] = '\0';
    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(check_options(options, ledger, err));
    TRY(RUN(s, "SELECT count(*) FROM ledger_token WHERE name = $1", pboost_store_number, &taken,
            err, value_text(options->name)));
    if (taken > 0)
        FAIL(err, PBOOST_INVALID, "there is a token '%s' already; names are used once",
             options->name);
    TRY(draw_secret(secret, err));
    digest hash = hash_secret(secret);
    TRY(s->class->run(s, "SELECT count(*) + 1 FROM ledger_token", NULL, 0, pboost_store_number, &id,
                      err));
    TRY(RUN(s, "INSERT INTO ledger_token VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0)", NULL, NULL,
            err, value_number(id), value_text(options->name), value_number(options->role),
            value_bytes(hash.byte, sizeof hash.byte), value_number(now),
            value_number(options->expires), value_number((int64_t)options->max_rows),
            value_text(options->scope)));
    pboost_record_text(&data, options->name);
    pboost_record_number(&data, (uint64_t)id);
    pboost_record_number(&data, (uint64_t)options->role);
    pboost_record_number(&data, (uint64_t)options->expires);
    pboost_record_number(&data, options->max_rows);
    pboost_record_bytes(&data, hash.byte, sizeof hash.byte);
    pboost_record_text(&data, options->scope != NULL ? options->scope : "");
    TRY(append_entry(ledger, &(chain_entry){"token", now, 0, 0, data.byte, data.used}, err));
    TRY(pboost_store_commit(s, err));
done:
    pboost_side_leave(&ledger->write);
    if (st != PBOOST_OK)
        sodium_memzero(secret, PBOOST_TOKEN_TEXT);
    return st;
}

pboost_status pboost_token_revoke(pboost_ledger *ledger, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    int64_t found = 0, now = pboost_ledger_now(ledger);
    record data = {0};

    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(RUN(s, "SELECT count(*) FROM ledger_token WHERE name = $1 AND revoked = 0",
            pboost_store_number, &found, err, value_text(name)));
    if (found == 0)
        FAIL(err, PBOOST_INVALID, "there is no token '%s', or it is revoked already", name);
    TRY(RUN(s, "UPDATE ledger_token SET revoked = 1 WHERE name = $1", NULL, NULL, err,
            value_text(name)));
    pboost_record_text(&data, name);
    TRY(append_entry(ledger, &(chain_entry){"revoke", now, 0, 0, data.byte, data.used}, err));
    TRY(pboost_store_commit(s, err));
done:
    pboost_side_leave(&ledger->write);
    return st;
}

/* ---- Listing and recognising ----------------------------------------------------------------- */

typedef struct {
    size_t n, capacity;
    pboost_token *token;
} token_list;

static pboost_status take_listed(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    token_list *list = user;
    (void)n;

    if (list->n == list->capacity) {
        size_t capacity = 2 * list->capacity + 8;
        pboost_token *token;
        NEED(token = realloc(list->token, capacity * sizeof *token), err);
        list->token = token;
        list->capacity = capacity;
    }
    TRY(take_token(&list->token[list->n], value, err));
    list->n++;
done:
    return st;
}

pboost_status pboost_token_list(pboost_token **out, size_t *n, pboost_ledger *ledger,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->read.store;
    token_list list = {0};

    *out = NULL;
    *n = 0;
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(s->class->run(s, "SELECT " TOKEN_COLUMNS " FROM ledger_token ORDER BY token", NULL, 0,
                      take_listed, &list, err));
    *out = list.token;
    *n = list.n;
    list.token = NULL;
done:
    pboost_side_leave(&ledger->read);
    free(list.token);
    return st;
}

typedef struct {
    digest hash;
    pboost_token *token;
} recognition;

/* Every token is compared, also after the right one. */
static pboost_status compare(void *user, const store_value *value, size_t n, pboost_error *err)
{
    recognition *r = user;
    pboost_token token;
    (void)n;

    pboost_status st = take_token(&token, value, err);
    if (st == PBOOST_OK && value[9].length == sizeof r->hash.byte &&
        sodium_memcmp(value[9].data, r->hash.byte, sizeof r->hash.byte) == 0)
        *r->token = token;
    return st;
}

pboost_status pboost_token_authenticate(pboost_token *out, pboost_problem *problem,
                                        pboost_ledger *ledger, const char *secret, pboost_role role,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->read.store;
    recognition r = {hash_secret(secret), out};

    *out = (pboost_token){.revoked = true};
    *problem = PBOOST_PROBLEM_NONE;
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(s->class->run(s, "SELECT " TOKEN_COLUMNS " FROM ledger_token", NULL, 0, compare, &r, err));
    TRY(pboost_token_check(problem, out, role, pboost_ledger_now(ledger), err));
done:
    pboost_side_leave(&ledger->read);
    if (st != PBOOST_OK)
        *out = (pboost_token){.revoked = true};
    return st;
}

/* Tokens: 256 random bits, of which the store keeps a hash.
 *
 * A guess is hashed and compared to every token's hash in constant time, so that the time taken
 * depends only on the number of tokens. */
#include <string.h>

#include "approval.h"
#include "state.h"

/* ---- Roles and states ------------------------------------------------------------------------ */

static const char *const ROLES[] = {"learner", "operator", "auditor", "approver"};
_Static_assert(sizeof ROLES / sizeof *ROLES == PBOOST_ROLES, "each role has a name");

const char *pboost_role_name(pboost_role role)
{
    return ROLES[role];
}

bool pboost_role_read(pboost_role *out, const char *name)
{
    for (int i = 0; i < PBOOST_ROLES; i++)
        if (strcmp(ROLES[i], name) == 0) {
            *out = (pboost_role)i;
            return true;
        }
    return false;
}

static const char *const STATES[] = {"pending", "active", "revoked"};
_Static_assert(sizeof STATES / sizeof *STATES == PBOOST_TOKEN_STATES, "each state has a name");

const char *pboost_token_state_name(pboost_token_state state)
{
    return STATES[state];
}

/* ---- In the store ---------------------------------------------------------------------------- */

#define TOKEN_COLUMNS                                                                              \
    "token, name, role, hash, created, expires, max_rows, rows_used, scope, state, created_by,"    \
    " approved_by, public_key, approval, mac"

enum {
    ID,
    NAME,
    ROLE,
    HASH,
    CREATED,
    EXPIRES,
    MAX_ROWS,
    ROWS_USED,
    SCOPE,
    STATE,
    BY,
    APPROVED,
    PUBLIC_KEY,
    APPROVAL,
    MAC
};

digest pboost_token_digest(const pboost_token *t)
{
    hasher h;

    pboost_hash_start(&h, "priorboost token row 2");
    pboost_hash_number(&h, (uint64_t)t->id);
    pboost_hash_block(&h, t->name, strlen(t->name));
    pboost_hash_number(&h, t->role);
    pboost_hash_bytes(&h, t->hash, sizeof t->hash);
    pboost_hash_number(&h, (uint64_t)t->created);
    pboost_hash_number(&h, (uint64_t)t->expires);
    pboost_hash_number(&h, t->max_rows);
    pboost_hash_number(&h, t->rows_used);
    pboost_hash_number(&h, t->scoped);
    pboost_hash_block(&h, t->scope, strlen(t->scope));
    pboost_hash_number(&h, t->state);
    pboost_hash_block(&h, t->created_by, strlen(t->created_by));
    pboost_hash_block(&h, t->approved_by, strlen(t->approved_by));
    pboost_hash_bytes(&h, t->public_key, sizeof t->public_key);
    pboost_hash_bytes(&h, t->approval, sizeof t->approval);
    return pboost_hash_end(&h);
}

static digest token_mac(const store *s, const pboost_token *token)
{
    digest d = pboost_token_digest(token);
    return pboost_keys_mac(s->keys, KEY_TOKEN, d.byte, sizeof d.byte);
}

static bool take_text(char out[PBOOST_ID_MAX + 1], const store_value *value)
{
    bool fits = value->kind != VALUE_BYTES && value->length <= PBOOST_ID_MAX;
    if (fits && value->kind == VALUE_TEXT)
        memcpy(out, value->data, value->length);
    return fits;
}

static bool take_bytes(unsigned char *out, size_t length, const store_value *value)
{
    bool fits = value->kind == VALUE_BYTES && value->length == length;
    if (fits)
        memcpy(out, value->data, length);
    return fits;
}

/* A token that was changed by other means than these functions stops the service. */
static pboost_status take_token(pboost_token *out, store *s, const store_value *value,
                                pboost_error *err)
{
    *out = (pboost_token){.id = value[ID].number,
                          .role = (pboost_role)value[ROLE].number,
                          .created = value[CREATED].number,
                          .expires = value[EXPIRES].number,
                          .max_rows = (uint64_t)value[MAX_ROWS].number,
                          .rows_used = (uint64_t)value[ROWS_USED].number,
                          .scoped = value[SCOPE].kind == VALUE_TEXT,
                          .state = (pboost_token_state)value[STATE].number};
    bool whole = take_text(out->name, &value[NAME]) && take_text(out->scope, &value[SCOPE]) &&
                 take_text(out->created_by, &value[BY]) &&
                 take_text(out->approved_by, &value[APPROVED]) &&
                 take_bytes(out->hash, sizeof out->hash, &value[HASH]) &&
                 take_bytes(out->public_key, sizeof out->public_key, &value[PUBLIC_KEY]) &&
                 take_bytes(out->approval, sizeof out->approval, &value[APPROVAL]) &&
                 value[MAC].length == sizeof(digest) && value[ROLE].number >= 0 &&
                 value[ROLE].number < PBOOST_ROLES && value[STATE].number >= 0 &&
                 value[STATE].number < PBOOST_TOKEN_STATES;
    digest mac = token_mac(s, out);
    if (!whole || sodium_memcmp(value[MAC].data, mac.byte, sizeof mac.byte) != 0)
        return pboost_store_break(s, err,
                                  "token '%.60s' was changed in the store by another program; run"
                                  " 'priorboost oracle audit'",
                                  out->name);
    return PBOOST_OK;
}

pboost_status pboost_token_put(store *s, const pboost_token *t, bool create, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    digest mac = token_mac(s, t);

    if (!create)
        TRY(RUN(s, "DELETE FROM ledger_token WHERE token = $1", NULL, NULL, err,
                value_number(t->id)));
    TRY(RUN(s,
            "INSERT INTO ledger_token VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,"
            " $13, $14, $15)",
            NULL, NULL, err, value_number(t->id), value_text(t->name), value_number(t->role),
            value_bytes(t->hash, sizeof t->hash), value_number(t->created),
            value_number(t->expires), value_number((int64_t)t->max_rows),
            value_number((int64_t)t->rows_used), value_text(t->scoped ? t->scope : NULL),
            value_number(t->state), value_text(t->created_by), value_text(t->approved_by),
            value_bytes(t->public_key, sizeof t->public_key),
            value_bytes(t->approval, sizeof t->approval), value_bytes(mac.byte, sizeof mac.byte)));
done:
    return st;
}

pboost_status pboost_token_spend(store *s, pboost_token *token, uint64_t rows, pboost_error *err)
{
    token->rows_used += rows;
    digest mac = token_mac(s, token);
    return RUN(s, "UPDATE ledger_token SET rows_used = $1, mac = $2 WHERE token = $3", NULL, NULL,
               err, value_number((int64_t)token->rows_used), value_bytes(mac.byte, sizeof mac.byte),
               value_number(token->id));
}

typedef struct {
    store *s;
    pboost_token *token;
} token_reader;

static pboost_status take_one(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const token_reader *r = user;
    (void)n;
    return take_token(r->token, r->s, value, err);
}

static const pboost_token NOBODY = {.state = PBOOST_TOKEN_REVOKED};

pboost_status pboost_token_by_id(pboost_token *out, store *s, int64_t id, pboost_error *err)
{
    token_reader r = {s, out};
    *out = NOBODY;
    return RUN(s, "SELECT " TOKEN_COLUMNS " FROM ledger_token WHERE token = $1", take_one, &r, err,
               value_number(id));
}

pboost_status pboost_token_by_name(pboost_token *out, store *s, const char *name, pboost_error *err)
{
    token_reader r = {s, out};
    *out = NOBODY;
    return RUN(s, "SELECT " TOKEN_COLUMNS " FROM ledger_token WHERE name = $1", take_one, &r, err,
               value_text(name));
}

pboost_status pboost_token_check(pboost_problem *problem, const pboost_ledger *ledger, store *s,
                                 const pboost_token *token, unsigned roles, int64_t now,
                                 pboost_error *err)
{
    if (token->state == PBOOST_TOKEN_REVOKED)
        return pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_INVALID, err);
    if (token->expires != 0 && now >= token->expires)
        return pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_EXPIRED, err);
    if (token->state == PBOOST_TOKEN_PENDING)
        return pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_PENDING, err);
    if ((PBOOST_MAY(token->role) & roles) == 0)
        return pboost_refuse(problem, PBOOST_PROBLEM_TOKEN_ROLE, err);
    return pboost_approval_check(problem, ledger, s, token, err);
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
    unsigned char byte[32];

    TRY(pboost_draw_bytes(byte, sizeof byte, err));
    memcpy(secret, SECRET_PREFIX, sizeof SECRET_PREFIX);
    sodium_bin2base64(secret + strlen(SECRET_PREFIX), PBOOST_TOKEN_TEXT - strlen(SECRET_PREFIX),
                      byte, sizeof byte, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
done:
    sodium_memzero(byte, sizeof byte);
    return st;
}

typedef struct {
    store *s;
    digest hash;
    pboost_token *token;
} recognition;

/* Every token is compared, also after the right one. */
static pboost_status compare(void *user, const store_value *value, size_t n, pboost_error *err)
{
    recognition *r = user;
    pboost_token token;
    (void)n;

    pboost_status st = take_token(&token, r->s, value, err);
    if (st == PBOOST_OK && sodium_memcmp(token.hash, r->hash.byte, sizeof r->hash.byte) == 0)
        *r->token = token;
    return st;
}

pboost_status pboost_token_recognise(pboost_token *out, store *s, const char *secret,
                                     pboost_error *err)
{
    recognition r = {s, hash_secret(secret), out};

    *out = NOBODY;
    return s->class->run(s, "SELECT " TOKEN_COLUMNS " FROM ledger_token", NULL, 0, compare, &r,
                         err);
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
    if (o->role != PBOOST_LEARNER && (o->max_rows > 0 || o->scope != NULL))
        FAIL(err, PBOOST_INVALID, "only a learner's token has rows and a scope, not one of role %s",
             pboost_role_name(o->role));
    if (o->scope != NULL && pboost_shares_find(&l->labels.shares, o->scope) == NO_NUMBER)
        FAIL(err, PBOOST_INVALID,
             "scope '%.60s' has no share in the store's rules, which are %.200s", o->scope,
             l->rules.scope_rows);
done:
    return st;
}

pboost_status pboost_token_append(pboost_ledger *l, const chain_entry *entry, pboost_error *err)
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

/* Everything about a token but the rows it has had.  Version 1 ended after the scope. */
static void describe_token(record *data, const pboost_token *t)
{
    data->used = 0;
    pboost_record_text(data, t->name);
    pboost_record_number(data, (uint64_t)t->id);
    pboost_record_number(data, t->role);
    pboost_record_number(data, (uint64_t)t->expires);
    pboost_record_number(data, t->max_rows);
    pboost_record_bytes(data, t->hash, sizeof t->hash);
    pboost_record_text(data, t->scoped ? t->scope : "");
    pboost_record_number(data, t->state);
    pboost_record_text(data, t->created_by);
    pboost_record_text(data, t->approved_by);
    pboost_record_bytes(data, t->public_key, sizeof t->public_key);
}

static void copy_name(char out[PBOOST_ID_MAX + 1], const char *text)
{
    size_t length = strnlen(text, PBOOST_ID_MAX);
    memcpy(out, text, length);
    out[length] = '\0';
}

bool pboost_token_from_entry(pboost_token *out, const chain_entry *entry)
{
    record_reader r = {entry->data, entry->data_length, false};

    *out = (pboost_token){.created = entry->time, .state = PBOOST_TOKEN_ACTIVE};
    copy_name(out->name, pboost_read_text(&r));
    out->id = (int64_t)pboost_read_number(&r);
    out->role = (pboost_role)pboost_read_number(&r);
    out->expires = (int64_t)pboost_read_number(&r);
    out->max_rows = pboost_read_number(&r);
    digest hash = pboost_read_digest(&r);
    memcpy(out->hash, hash.byte, sizeof out->hash);
    copy_name(out->scope, pboost_read_text(&r));
    out->scoped = out->scope[0] != '\0';
    if (r.left > 0) {
        out->state = (pboost_token_state)pboost_read_number(&r);
        copy_name(out->created_by, pboost_read_text(&r));
        copy_name(out->approved_by, pboost_read_text(&r));
        digest key = pboost_read_digest(&r);
        memcpy(out->public_key, key.byte, sizeof out->public_key);
    }
    return !r.bad && r.left == 0 && out->role < PBOOST_ROLES && out->state < PBOOST_TOKEN_STATES;
}

/* Who makes it: a token that may, or the label holder's command line. */
static pboost_status find_creator(char out[PBOOST_ID_MAX + 1], pboost_ledger *l, const char *secret,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_problem problem;
    pboost_token creator;

    if (secret == NULL)
        return PBOOST_OK;
    TRY(pboost_token_recognise(&creator, l->write.store, secret, err));
    TRY(pboost_token_check(&problem, l, l->write.store, &creator,
                           PBOOST_MAY(PBOOST_OPERATOR) | PBOOST_MAY(PBOOST_APPROVER),
                           pboost_ledger_now(l), err));
    copy_name(out, creator.name);
done:
    return st;
}

/* The token's number, its state and its creator; names are used once. */
static pboost_status place_token(pboost_token *t, pboost_ledger *l, const pboost_token_options *o,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    int64_t taken = 0, approvers = 0;

    TRY(RUN(s, "SELECT count(*) FROM ledger_token WHERE name = $1", pboost_store_number, &taken,
            err, value_text(o->name)));
    if (taken > 0)
        FAIL(err, PBOOST_INVALID, "a token '%s' exists already; a name cannot be used again",
             o->name);
    TRY(find_creator(t->created_by, l, o->creator, err));
    TRY(s->class->run(s, "SELECT count(*) + 1 FROM ledger_token", NULL, 0, pboost_store_number,
                      &t->id, err));
    TRY(RUN(s, "SELECT count(*) FROM ledger_token WHERE role = $1", pboost_store_number, &approvers,
            err, value_number(PBOOST_APPROVER)));
    if (o->pending && o->role == PBOOST_APPROVER && approvers == 0)
        FAIL(err, PBOOST_INVALID,
             "'%s' is the first approver, and there is nobody to approve it; make it without "
             "--pending",
             o->name);
    if (o->pending || pboost_approval_needed(l->rules.require_approval, t, approvers == 0))
        t->state = PBOOST_TOKEN_PENDING;
done:
    return st;
}

/* The hash of a secret, then the public key that an approver would have with it. */
static void register_secret(unsigned char out[sizeof(digest) + PBOOST_PUBLIC_KEY],
                            const char *secret)
{
    digest hash = hash_secret(secret);
    memcpy(out, hash.byte, sizeof hash.byte);
    pboost_approver_key(out + sizeof hash.byte, secret);
}

pboost_status pboost_token_prepare(char secret[PBOOST_TOKEN_TEXT],
                                   char registration[PBOOST_REGISTRATION_TEXT], pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char byte[sizeof(digest) + PBOOST_PUBLIC_KEY];

    if (sodium_init() < 0)
        FAIL(err, PBOOST_ORACLE, "libsodium cannot be used on this machine");
    TRY(draw_secret(secret, err));
    register_secret(byte, secret);
    sodium_bin2hex(registration, PBOOST_REGISTRATION_TEXT, byte, sizeof byte);
done:
    return st;
}

/* What the store keeps of the secret: one that is drawn here, or one that its holder prepared. */
static pboost_status take_secret(char secret[PBOOST_TOKEN_TEXT], pboost_token *t, store *s,
                                 const pboost_token_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char byte[sizeof(digest) + PBOOST_PUBLIC_KEY];
    size_t length = 0;
    int64_t taken = 0;

    if (o->registration == NULL) {
        TRY(draw_secret(secret, err));
        register_secret(byte, secret);
    } else if (strlen(o->registration) != 2 * sizeof byte ||
               sodium_hex2bin(byte, sizeof byte, o->registration, 2 * sizeof byte, NULL, &length,
                              NULL) != 0 ||
               length != sizeof byte)
        FAIL(
            err, PBOOST_INVALID,
            "the registration is '%.140s'; it has %zu hexadecimal digits, as 'oracle token prepare'"
            " prints them",
            o->registration, 2 * sizeof byte);
    memcpy(t->hash, byte, sizeof t->hash);
    if (t->role == PBOOST_APPROVER)
        memcpy(t->public_key, byte + sizeof t->hash, sizeof t->public_key);
    TRY(RUN(s, "SELECT count(*) FROM ledger_token WHERE hash = $1", pboost_store_number, &taken,
            err, value_bytes(t->hash, sizeof t->hash)));
    if (taken > 0)
        FAIL(err, PBOOST_INVALID, "another token has this registration; prepare a new one");
done:
    return st;
}

pboost_status pboost_token_create(char secret[PBOOST_TOKEN_TEXT], pboost_ledger *ledger,
                                  const pboost_token_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    pboost_token token = {.created = pboost_ledger_now(ledger), .state = PBOOST_TOKEN_ACTIVE};
    record data;

    secret[0] = '\0';
    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(pboost_ledger_check_first(ledger, err));
    TRY(check_options(options, ledger, err));
    copy_name(token.name, options->name);
    token.role = options->role;
    token.expires = options->expires;
    token.max_rows = options->max_rows;
    token.scoped = options->scope != NULL;
    copy_name(token.scope, token.scoped ? options->scope : "");
    TRY(place_token(&token, ledger, options, err));
    TRY(take_secret(secret, &token, s, options, err));
    TRY(pboost_token_put(s, &token, true, err));
    describe_token(&data, &token);
    TRY(pboost_token_append(
        ledger, &(chain_entry){"token", token.created, 0, 0, data.byte, data.used}, err));
    TRY(pboost_store_commit(s, err));
    if (options->made != NULL)
        *options->made = token;
done:
    pboost_side_leave(&ledger->write);
    if (st == PBOOST_OK)
        st = pboost_ledger_cover(ledger, INT64_MAX, err);
    if (st != PBOOST_OK)
        sodium_memzero(secret, PBOOST_TOKEN_TEXT);
    return st;
}

pboost_status pboost_token_revoke(pboost_ledger *ledger, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    pboost_token token;
    record data = {0};

    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(pboost_token_by_name(&token, s, name, err));
    if (token.state == PBOOST_TOKEN_REVOKED)
        FAIL(err, PBOOST_INVALID, "token '%s' does not exist, or is revoked already", name);
    token.state = PBOOST_TOKEN_REVOKED;
    TRY(pboost_token_put(s, &token, false, err));
    pboost_record_text(&data, name);
    TRY(pboost_token_append(
        ledger, &(chain_entry){"revoke", pboost_ledger_now(ledger), 0, 0, data.byte, data.used},
        err));
    TRY(pboost_store_commit(s, err));
done:
    pboost_side_leave(&ledger->write);
    if (st == PBOOST_OK)
        st = pboost_ledger_cover(ledger, INT64_MAX, err);
    return st;
}

/* ---- Listing and authenticating -------------------------------------------------------------- */

typedef struct {
    store *s;
    size_t n, capacity;
    pboost_token *token;
} token_list;

static pboost_status take_listed(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    token_list *list = user;
    (void)n;

    GROW(list->token, list->capacity, list->n + 1, err);
    TRY(take_token(&list->token[list->n], list->s, value, err));
    list->n++;
done:
    return st;
}

pboost_status pboost_token_read(pboost_token **out, size_t *n, store *s, pboost_error *err)
{
    token_list list = {.s = s};
    pboost_status st = s->class->run(s, "SELECT " TOKEN_COLUMNS " FROM ledger_token ORDER BY token",
                                     NULL, 0, take_listed, &list, err);
    if (st != PBOOST_OK) {
        free(list.token);
        list = (token_list){0};
    }
    *out = list.token;
    *n = list.n;
    return st;
}

pboost_status pboost_token_list(pboost_token **out, size_t *n, pboost_ledger *ledger,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = NULL;
    *n = 0;
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(pboost_token_read(out, n, ledger->read.store, err));
done:
    pboost_side_leave(&ledger->read);
    return st;
}

pboost_status pboost_token_authenticate(pboost_token *out, pboost_problem *problem,
                                        pboost_ledger *ledger, const char *secret, unsigned roles,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->read.store;

    *out = NOBODY;
    *problem = PBOOST_PROBLEM_NONE;
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(pboost_token_recognise(out, s, secret, err));
    TRY(pboost_token_check(problem, ledger, s, out, roles, pboost_ledger_now(ledger), err));
done:
    pboost_side_leave(&ledger->read);
    if (st != PBOOST_OK)
        *out = NOBODY;
    return st;
}

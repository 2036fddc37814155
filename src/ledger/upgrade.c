/* Stores of older versions, brought forward: one step by version, all in one transaction.
 *
 * A step makes the tables of its version out of those before; one that changes what is hashed
 * appends an "upgrade" entry.  Then the whole store is audited; it is kept only if it is sound. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ranges.h"
#include "state.h"

static pboost_status do_all(store *s, const char *const *sql, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < n; i++)
        TRY(s->class->run(s, sql[i], NULL, 0, NULL, NULL, err));
done:
    return st;
}
#define DO_ALL(s, sql, err) do_all((s), (sql), sizeof(sql) / sizeof *(sql), (err))

static pboost_status count_rows(int64_t *out, store *s, const char *table, pboost_error *err)
{
    char sql[64];

    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return s->class->run(s, sql, NULL, 0, pboost_store_number, out, err);
}

/* ---- Version 2: entries, tokens and names are authenticated -----------------------------------
 */

/* Columns that are read before they can be written: their types or MACs need this program. */
typedef struct {
    id_map ids;
    size_t n, capacity;
    int64_t *label;
    uint32_t *unit, *scope;
    label_seal seal;
    unsigned char label_bytes[SEALED_BYTES(1)];
    char text[24];
} old_rows;

static void free_rows(old_rows *r)
{
    pboost_ids_free(&r->ids);
    if (r->label != NULL)
        sodium_memzero(r->label, r->capacity * sizeof *r->label);
    free(r->label);
    free(r->unit);
    free(r->scope);
    sodium_memzero(&r->seal, sizeof r->seal);
}

/* slot, id, unit, scope, label */
static pboost_status take_row(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    old_rows *r = user;
    uint32_t slot;
    bool added;
    (void)n;

    TRY(pboost_ids_add(&slot, &added, &r->ids, (pboost_id){value[1].data, 0}, err));
    if (!added || slot != value[0].number || slot >= r->capacity)
        FAIL(err, PBOOST_BAD_DATA, "the store is damaged: row %lld is not valid",
             (long long)value[0].number);
    r->unit[slot] = value[2].kind == VALUE_NUMBER ? (uint32_t)value[2].number : NO_NUMBER;
    r->scope[slot] = value[3].kind == VALUE_NUMBER ? (uint32_t)value[3].number : NO_NUMBER;
    r->label[slot] = value[4].kind == VALUE_NUMBER ? value[4].number : NO_LABEL;
    r->n++;
done:
    return st;
}

static store_value number_or_null(uint32_t number)
{
    return number != NO_NUMBER ? value_number(number) : value_text(NULL);
}

static pboost_status put_row(void *user, store_value *value, size_t i, pboost_error *err)
{
    old_rows *r = user;
    (void)err;

    value[0] = value_number((int64_t)i);
    value[1] = value_text(pboost_ids_text(&r->ids, (uint32_t)i, r->text));
    value[2] = number_or_null(r->unit[i]);
    value[3] = number_or_null(r->scope[i]);
    pboost_label_seal(r->label_bytes, &r->seal, (int64_t)i, &r->label[i], 1);
    value[4] = r->label[i] != NO_LABEL ? value_bytes(r->label_bytes, sizeof r->label_bytes)
                                       : value_text(NULL);
    value[5] = value_text(NULL);
    return PBOOST_OK;
}

static pboost_status move_rows(store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    old_rows rows = {0};
    int64_t count = 0;

    TRY(count_rows(&count, s, "old_row", err));
    rows.capacity = (size_t)count;
    NEED(rows.label = pboost_alloc(rows.capacity, sizeof *rows.label), err);
    NEED(rows.unit = pboost_alloc(rows.capacity, sizeof *rows.unit), err);
    NEED(rows.scope = pboost_alloc(rows.capacity, sizeof *rows.scope), err);
    TRY(s->class->run(s, "SELECT slot, id, unit, scope, label FROM old_row ORDER BY slot", NULL, 0,
                      take_row, &rows, err));
    TRY(pboost_seal_make(&rows.seal, s, 0, count, err));
    store_bulk bulk = {"ledger_row", "itiibb", rows.n, put_row, &rows};
    TRY(s->class->bulk(s, &bulk, err));
done:
    free_rows(&rows);
    return st;
}

typedef struct {
    size_t n, capacity;
    chain_link *link;
} old_links;

static pboost_status take_link(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    old_links *l = user;
    (void)n;

    if (l->n == l->capacity || value[1].length != sizeof(digest) ||
        value[2].length != sizeof(digest))
        FAIL(err, PBOOST_BAD_DATA, "entry %lld of the ledger is damaged",
             (long long)value[0].number);
    chain_link *link = &l->link[l->n++];
    link->number = value[0].number;
    memcpy(link->hash.byte, value[1].data, sizeof(digest));
    memcpy(link->seal.byte, value[2].data, sizeof(digest));
done:
    return st;
}

/* Entries are moved with an empty MAC, which is then set. */
static pboost_status authenticate_entries(store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    old_links links = {0};
    int64_t count = 0;

    TRY(count_rows(&count, s, "ledger_entry", err));
    links.capacity = (size_t)count;
    NEED(links.link = pboost_alloc(links.capacity, sizeof *links.link), err);
    TRY(s->class->run(s, "SELECT number, hash, seal FROM ledger_entry ORDER BY number", NULL, 0,
                      take_link, &links, err));
    for (size_t i = 0; i < links.n; i++) {
        digest mac = pboost_chain_mac(s->keys, &links.link[i]);
        TRY(RUN(s, "UPDATE ledger_entry SET mac = $1 WHERE number = $2", NULL, NULL, err,
                value_bytes(mac.byte, sizeof mac.byte), value_number(links.link[i].number)));
    }
done:
    free(links.link);
    return st;
}

typedef struct {
    size_t n, capacity;
    pboost_token *token;
} old_tokens;

/* token, name, role, hash, created, expires, max_rows, rows_used, scope, revoked */
static pboost_status take_token(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    old_tokens *t = user;
    (void)n;

    if (t->n == t->capacity || value[1].length > PBOOST_ID_MAX || value[8].length > PBOOST_ID_MAX ||
        value[3].length != sizeof t->token->hash)
        FAIL(err, PBOOST_BAD_DATA, "the store is damaged: a token is not valid");
    pboost_token *token = &t->token[t->n++];
    *token =
        (pboost_token){.id = value[0].number,
                       .role = (pboost_role)value[2].number,
                       .created = value[4].number,
                       .expires = value[5].number,
                       .max_rows = (uint64_t)value[6].number,
                       .rows_used = (uint64_t)value[7].number,
                       .scoped = value[8].kind == VALUE_TEXT,
                       .state = value[9].number != 0 ? PBOOST_TOKEN_REVOKED : PBOOST_TOKEN_ACTIVE};
    memcpy(token->name, value[1].data, value[1].length);
    memcpy(token->hash, value[3].data, sizeof token->hash);
    if (token->scoped)
        memcpy(token->scope, value[8].data, value[8].length);
done:
    return st;
}

static pboost_status move_tokens(store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    old_tokens tokens = {0};
    int64_t count = 0;

    TRY(count_rows(&count, s, "old_token", err));
    tokens.capacity = (size_t)count;
    NEED(tokens.token = pboost_alloc(tokens.capacity, sizeof *tokens.token), err);
    TRY(s->class->run(
        s,
        "SELECT token, name, role, hash, created, expires, max_rows, rows_used, scope,"
        " revoked FROM old_token ORDER BY token",
        NULL, 0, take_token, &tokens, err));
    for (size_t i = 0; i < tokens.n; i++)
        TRY(pboost_token_put(s, &tokens.token[i], true, err));
done:
    free(tokens.token);
    return st;
}

/* The chain of version 1 did not cover the names of units and scopes; from here on it does. */
static pboost_status append_upgrade(store *s, int from, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    name_ranges ranges = {0};
    char id[STORE_ID_TEXT];
    record data = {0};
    chain_link last;

    pboost_store_id_text(id, s->keys);
    TRY(pboost_chain_last(&last, s, err));
    last.version = from;
    for (int k = 0; k < RANGE_KINDS; k++) {
        name_range *range = &ranges.of[k];
        range->version = CHAIN_VERSION;
        TRY(count_rows(&range->n, s, RANGES[k].table, err));
        TRY(pboost_ranges_hash(range, 1, &range->n, (range_kind)k, s, err));
    }
    pboost_record_number(&data, (uint64_t)from);
    pboost_record_number(&data, CHAIN_VERSION);
    pboost_ranges_write(&data, &ranges);
    pboost_record_text(&data, id);
    chain_entry entry = {"upgrade", (int64_t)time(NULL), 0, 0, data.byte, data.used};
    chain_link link = pboost_chain_next(&last, &entry);
    TRY(pboost_chain_append(s, &link, &entry, NULL, 0, err));
done:
    return st;
}

static pboost_status to_version_2(store *s, const pboost_ledger_rules *rules, pboost_error *err)
{
    static const char *const RENAME[] = {
        "ALTER TABLE ledger_entry RENAME TO old_entry",
        "ALTER TABLE ledger_answer RENAME TO old_answer",
        "ALTER TABLE ledger_unit_use RENAME TO old_unit_use",
        "ALTER TABLE ledger_unit RENAME TO old_unit",
        "ALTER TABLE ledger_row RENAME TO old_row",
        "ALTER TABLE ledger_token RENAME TO old_token",
    };
    static const char *const MAKE[] = {"ledger_meta",    "ledger_entry",     "ledger_answer",
                                       "ledger_row",     "ledger_unit",      "ledger_unit_use",
                                       "ledger_seal",    "ledger_new_label", "ledger_token",
                                       "ledger_refusal", "ledger_lost_head", "ledger_lost_row"};
    static const char *const MOVE[] = {
        "INSERT INTO ledger_entry SELECT number, kind, time, rows, bags, data, hash, seal, slots,"
        " hash FROM old_entry",
        "INSERT INTO ledger_answer SELECT entry, token, request, question, released, format, body,"
        " NULL FROM old_answer",
        "INSERT INTO ledger_unit_use SELECT unit, use, entry FROM old_unit_use",
        "INSERT INTO ledger_unit SELECT unit, id, NULL FROM old_unit",
    };
    static const char *const DROP[] = {"DROP TABLE old_entry",    "DROP TABLE old_answer",
                                       "DROP TABLE old_unit_use", "DROP TABLE old_unit",
                                       "DROP TABLE old_row",      "DROP TABLE old_token"};
    pboost_status st = PBOOST_OK;
    char id[STORE_ID_TEXT];

    pboost_store_id_text(id, s->keys);
    TRY(DO_ALL(s, RENAME, err));
    for (size_t i = 0; i < sizeof MAKE / sizeof *MAKE; i++)
        TRY(pboost_store_make_table(s, MAKE[i], rules->unit_rows, err));
    TRY(DO_ALL(s, MOVE, err));
    TRY(move_rows(s, err));
    TRY(move_tokens(s, err));
    TRY(authenticate_entries(s, err));
    TRY(DO_ALL(s, DROP, err));
    TRY(append_upgrade(s, 1, err));
    TRY(pboost_store_set_word(s, "store", id, err));
done:
    return st;
}

/* ---- Version 3: spent rows are bits in blocks, not a row each
 * ------------------------------------ */

typedef struct {
    int64_t rows;
    size_t n;
    uint32_t *slot;
} old_claims;

static pboost_status take_claim(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    old_claims *c = user;
    (void)n;

    if (value[0].number < 0 || value[0].number >= c->rows)
        FAIL(err, PBOOST_BAD_DATA, "the store is damaged: claim %lld is not valid",
             (long long)value[0].number);
    c->slot[c->n++] = (uint32_t)value[0].number;
done:
    return st;
}

static pboost_status to_version_3(store *s, const pboost_ledger_rules *rules, pboost_error *err)
{
    static const char *const DROP[] = {"DROP TABLE ledger_claim"};
    pboost_status st = PBOOST_OK;
    old_claims claims = {0};
    int64_t count = 0;

    TRY(count_rows(&claims.rows, s, "ledger_row", err));
    TRY(count_rows(&count, s, "ledger_claim", err));
    NEED(claims.slot = pboost_alloc((size_t)count, sizeof *claims.slot), err);
    TRY(s->class->run(s, "SELECT slot FROM ledger_claim ORDER BY slot", NULL, 0, take_claim,
                      &claims, err));
    TRY(pboost_store_make_table(s, "ledger_spent", rules->unit_rows, err));
    TRY(pboost_claims_add(s, claims.slot, claims.n, (size_t)claims.rows, err));
    TRY(DO_ALL(s, DROP, err));
done:
    free(claims.slot);
    return st;
}

/* ---- The steps ------------------------------------------------------------------------------- */

static const struct {
    int from;
    pboost_status (*step)(store *s, const pboost_ledger_rules *rules, pboost_error *err);
} STEPS[] = {{1, to_version_2}, {2, to_version_3}};

static pboost_status take_steps(pboost_ledger *l, int64_t from, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    char version[16];
    pboost_audit audit;

    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++)
        if (STEPS[i].from >= from)
            TRY(STEPS[i].step(s, &l->rules, err));
    snprintf(version, sizeof version, "%d", PBOOST_STORE_VERSION);
    TRY(pboost_store_set_word(s, "version", version, err));
    TRY(pboost_ledger_audit_here(&audit, l, true, err));
    if (audit.problems > 0)
        FAIL(err, PBOOST_BAD_DATA, "the store is not sound and was left as it is: %s",
             audit.first_problem);
done:
    return st;
}

pboost_status pboost_ledger_upgrade(int *from, const char *store_url,
                                    const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger *l = NULL;
    store_files files = {0};
    int64_t version = PBOOST_STORE_VERSION;
    bool needed = false; /* the files beside the store, which may have been changed */

    TRY(pboost_ledger_begin(&l, options, err));
    TRY(pboost_store_open(&l->write.store, store_url, false, err));
    store *s = l->write.store;
    TRY(pboost_store_begin(s, true, err));
    TRY(pboost_store_version(&version, s, err));
    if (version < PBOOST_STORE_VERSION) {
        TRY(pboost_ledger_read_rules(l, s, err));
        if (version > 1)
            TRY(pboost_ledger_read_keys(l, s, store_url, err));
        else
            TRY(pboost_files_create(&files, &l->keys, store_url, &l->options, err));
        s->keys = &l->keys;
        TRY(take_steps(l, version, err));
        needed = true;
        TRY(pboost_store_commit(s, err));
        TRY(s->class->scrub(s, err));
    }
done:
    *from = (int)version;
    if (l != NULL)
        pboost_store_rollback(l->write.store);
    pboost_files_free(&files, !needed);
    pboost_ledger_close(l);
    return st;
}

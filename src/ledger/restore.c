/* After a backup was put in the place of a store: what it does not know is burned.
 *
 * The witness lists what was done since.  Spent rows are claimed again, by "burn"
 * entries; labels that were erased are erased again, tokens that were revoked are revoked again;
 * rows that were imported and spent since then can never be imported again; and the heads that
 * are lost are kept, so that learners who have seen them are not refused.  A "restore" entry ends
 * it.  Without a witness nothing is known, so every row and every unit is burned and every token
 * revoked.
 *
 * The witness is written to last.  If anything fails before, the store still does not open, and
 * the restore can be run again: what was burned stays burned. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

typedef struct {
    int64_t first;
    size_t n;
    unsigned char *mark;
} lost_import;

typedef struct {
    pboost_restored *out;
    pboost_ledger *l;
    store *s;
    size_t n_entries, head_capacity;
    digest *head; /* of the store's entries, by number */
    int64_t fork; /* the last entry that both know; -1: none */
    size_t n_lost, lost_capacity;
    witness_record *lost; /* with copies of kind and data */
    size_t n_imports, import_capacity;
    lost_import *import;
    uint32_t *slot; /* for one entry */
    int64_t entry;  /* its number */
    uint32_t *erase;
    size_t n_erase, erase_capacity;
} restoring;

static void free_restoring(restoring *r)
{
    for (size_t i = 0; i < r->n_lost; i++) {
        free((void *)(uintptr_t)r->lost[i].kind);
        free((void *)(uintptr_t)r->lost[i].data);
    }
    free(r->lost);
    free(r->import);
    free(r->head);
    free(r->slot);
    free(r->erase);
}

/* ---- What was lost --------------------------------------------------------------------------- */

static pboost_status take_head(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    restoring *r = user;
    (void)n;

    if (value[0].number != (int64_t)r->n_entries || value[1].length != sizeof(digest))
        FAIL(err, PBOOST_BAD_DATA, "entry %lld of the ledger is damaged",
             (long long)value[0].number);
    GROW(r->head, r->head_capacity, r->n_entries + 1, err);
    memcpy(r->head[r->n_entries++].byte, value[1].data, sizeof(digest));
done:
    return st;
}

static pboost_status take_record(void *user, const witness_record *lost, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    restoring *r = user;
    witness_record copy = *lost;

    if (copy.number >= 0 && copy.number < (int64_t)r->n_entries &&
        pboost_digest_equal(&copy.head, &r->head[copy.number])) {
        r->fork = copy.number > r->fork ? copy.number : r->fork;
        return PBOOST_OK;
    }
    GROW(r->lost, r->lost_capacity, r->n_lost + 1, err);
    unsigned char *data = NULL;
    copy.data = NULL;
    copy.kind = NULL;
    NEED(data = malloc(lost->length + 1), err);
    if (lost->length > 0)
        memcpy(data, lost->data, lost->length);
    data[lost->length] = '\0';
    copy.data = data;
    r->lost[r->n_lost++] = copy;
    NEED(r->lost[r->n_lost - 1].kind = strdup(lost->kind), err);
done:
    return st;
}

/* ---- Burning --------------------------------------------------------------------------------- */

/* A row of an import that is lost too: it must not come back as a new one. */
static pboost_status ban_row(restoring *r, uint32_t slot, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t there = 0;

    for (size_t i = r->n_imports; i-- > 0;) {
        const lost_import *m = &r->import[i];
        if (slot < m->first || slot - m->first >= (int64_t)m->n)
            continue;
        store_value mark = value_bytes(m->mark + (slot - m->first) * ROW_MARK, ROW_MARK);
        TRY(RUN(r->s, "SELECT count(*) FROM ledger_lost_row WHERE mark = $1", pboost_store_number,
                &there, err, mark));
        if (there == 0)
            TRY(RUN(r->s, "INSERT INTO ledger_lost_row VALUES ($1)", NULL, NULL, err, mark));
        r->out->banned += there == 0;
        break;
    }
done:
    return st;
}

/* The uses of a unit in a share, as many more as are given and as it may have. */
static pboost_status use_unit(restoring *r, uint32_t unit, uint32_t share, size_t times,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const unit_shares *shares = &r->l->labels.shares;
    uint32_t *uses = &r->l->labels.uses[(size_t)unit * shares->n + share];

    for (; times > 0 && *uses < pboost_shares_rows(shares, share); times--, ++*uses)
        TRY(RUN(r->s, "INSERT INTO ledger_unit_use VALUES ($1, $2, $3)", NULL, NULL, err,
                value_number(unit), value_number((int64_t)shares->first[share] + *uses),
                value_number(r->entry)));
done:
    return st;
}

static pboost_status append(restoring *r, const char *kind, uint64_t rows, const record *data,
                            const void *slots, size_t length, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chain_link *last = &r->l->labels.link;
    chain_entry entry = {kind, pboost_ledger_now(r->l), rows, 0, data->byte, data->used};
    chain_link link = pboost_chain_next(last, &entry);

    TRY(pboost_chain_append(r->s, &link, &entry, slots, length, err));
    *last = link;
    r->entry = link.number + 1;
done:
    return st;
}

/* Claims r->slot[0 .. n) by a "burn" entry, or "burn-all" where nobody knows what was answered. */
static pboost_status burn(restoring *r, const char *kind, int64_t token, size_t n,
                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    label_table *t = &r->l->labels;
    bool all = strcmp(kind, "burn-all") == 0;
    unsigned char *bytes = NULL;
    record data = {0};

    NEED(bytes = pboost_alloc(n, SLOT_BYTES), err);
    pboost_slots_write(bytes, r->slot, n);
    TRY(pboost_claims_add(r->s, r->slot, n, t->n, err));
    for (size_t i = 0; t->units && !all && i < n; i++)
        TRY(use_unit(r, t->unit[r->slot[i]], pboost_labels_share(t, r->slot[i]), 1, err));
    for (uint32_t u = 0; t->units && all && u < t->n_units; u++)
        for (uint32_t share = 0; share < t->shares.n; share++)
            TRY(use_unit(r, u, share, r->l->rules.unit_rows, err));
    digest hash = pboost_slots_hash(bytes, SLOT_BYTES * n);
    pboost_record_number(&data, (uint64_t)token);
    pboost_record_bytes(&data, hash.byte, sizeof hash.byte);
    pboost_record_number(&data, t->n_units);
    TRY(append(r, kind, n, &data, bytes, SLOT_BYTES * n, err));
    pboost_labels_spend(t, r->slot, n, false);
    r->out->burned += n;
done:
    free(bytes);
    return st;
}

/* The rows count for the token that asked, where the store knows it. */
static pboost_status count_rows(restoring *r, int64_t id, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_token token;

    TRY(pboost_token_by_id(&token, r->s, id, err));
    if (token.id == id && id > 0)
        TRY(pboost_token_spend(r->s, &token, n, err));
done:
    return st;
}

static pboost_status redo_answer(restoring *r, const witness_record *lost, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const label_table *t = &r->l->labels;
    size_t n = 0;

    for (size_t i = 0; i < lost->length / SLOT_BYTES; i++) {
        uint32_t slot = pboost_slot_read(lost->data, i);
        if (slot >= t->n)
            TRY(ban_row(r, slot, err));
        else if (!pboost_labels_spent(t, slot))
            r->slot[n++] = slot;
    }
    if (n > 0) {
        TRY(burn(r, "burn", lost->token, n, err));
        TRY(count_rows(r, lost->token, n, err));
    }
done:
    return st;
}

/* Erased after the rest, as any erasure is. */
static pboost_status redo_forget(restoring *r, const witness_record *lost, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const label_table *t = &r->l->labels;

    GROW(r->erase, r->erase_capacity, r->n_erase + lost->length / SLOT_BYTES, err);
    for (size_t i = 0; i < lost->length / SLOT_BYTES; i++) {
        uint32_t slot = pboost_slot_read(lost->data, i);
        if (slot >= t->n)
            TRY(ban_row(r, slot, err));
        else if (!pboost_labels_gone(t, slot))
            r->erase[r->n_erase++] = slot;
    }
done:
    return st;
}

static pboost_status revoke_one(restoring *r, pboost_token *token, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    record data = {0};

    token->state = PBOOST_TOKEN_REVOKED;
    TRY(pboost_token_put(r->s, token, false, err));
    pboost_record_text(&data, token->name);
    TRY(append(r, "revoke", 0, &data, NULL, 0, err));
    r->out->revoked++;
done:
    return st;
}

/* The token with this name, or all where it is NULL. */
static pboost_status revoke_tokens(restoring *r, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_token *token = NULL;
    size_t n = 0;

    TRY(pboost_token_read(&token, &n, r->s, err));
    for (size_t i = 0; i < n; i++)
        if (token[i].state != PBOOST_TOKEN_REVOKED &&
            (name == NULL || strcmp(token[i].name, name) == 0))
            TRY(revoke_one(r, &token[i], err));
done:
    free(token);
    return st;
}

static pboost_status redo_revoke(restoring *r, const witness_record *lost, pboost_error *err)
{
    return revoke_tokens(r, (const char *)lost->data, err);
}

static pboost_status note_import(restoring *r, const witness_record *lost, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    record_reader reader = {lost->data, lost->length, false};

    GROW(r->import, r->import_capacity, r->n_imports + 1, err);
    int64_t first = (int64_t)pboost_read_number(&reader);
    r->import[r->n_imports++] =
        (lost_import){first, reader.left / ROW_MARK,
                      (unsigned char *)(uintptr_t)(lost->data + lost->length - reader.left)};
    r->out->imports++;
done:
    return st;
}

/* What is done about each kind of lost entry; nothing about others. */
static const struct {
    const char *kind;
    pboost_status (*redo)(restoring *r, const witness_record *lost, pboost_error *err);
} REDO[] = {
    {"answer", redo_answer}, {"burn", redo_answer},   {"burn-all", redo_answer},
    {"forget", redo_forget}, {"revoke", redo_revoke}, {"import", note_import},
    {"claim", redo_answer},
};

static pboost_status keep_head(restoring *r, const digest *head, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool known = false;

    TRY(pboost_chain_knows(&known, r->s, head, err));
    if (!known)
        TRY(RUN(r->s, "INSERT INTO ledger_lost_head VALUES ($1)", NULL, NULL, err,
                value_bytes(head->byte, sizeof head->byte)));
    r->out->lost++;
done:
    return st;
}

static pboost_status redo_lost(restoring *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < r->n_lost; i++) {
        TRY(keep_head(r, &r->lost[i].head, err));
        for (size_t k = 0; k < sizeof REDO / sizeof *REDO; k++)
            if (strcmp(REDO[k].kind, r->lost[i].kind) == 0)
                TRY(REDO[k].redo(r, &r->lost[i], err));
    }
done:
    return st;
}

static pboost_status burn_all(restoring *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const label_table *t = &r->l->labels;
    size_t n = 0;

    for (uint32_t slot = 0; slot < t->n; slot++)
        if (!pboost_labels_spent(t, slot))
            r->slot[n++] = slot;
    TRY(burn(r, "burn-all", 0, n, err));
    TRY(revoke_tokens(r, NULL, err));
done:
    return st;
}

/* ---- The restore ----------------------------------------------------------------------------- */

typedef struct {
    hasher h;
    uint64_t n;
} table_hash;

static pboost_status hash_value(void *user, const store_value *value, size_t n, pboost_error *err)
{
    table_hash *t = user;
    (void)n, (void)err;
    pboost_hash_block(&t->h, value[0].data, value[0].length);
    t->n++;
    return PBOOST_OK;
}

pboost_status pboost_lost_hash(record *out, store *s, pboost_error *err)
{
    static const char *const SQL[] = {"SELECT hash FROM ledger_lost_head ORDER BY hash",
                                      "SELECT mark FROM ledger_lost_row ORDER BY mark"};
    pboost_status st = PBOOST_OK;

    out->used = 0;
    for (size_t i = 0; i < 2; i++) {
        table_hash t = {.n = 0};
        pboost_hash_start(&t.h, "priorboost lost 2");
        TRY(s->class->run(s, SQL[i], NULL, 0, hash_value, &t, err));
        digest d = pboost_hash_end(&t.h);
        pboost_record_number(out, t.n);
        pboost_record_bytes(out, d.byte, sizeof d.byte);
    }
done:
    return st;
}

/* One transaction: burns, revokes, and says so in the chain. */
static pboost_status burn_lost(restoring *r, bool without_witness, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_audit audit;
    record data;

    TRY(pboost_side_enter(r->l, &r->l->write, true, err));
    TRY(pboost_ledger_audit_here(&audit, r->l, false, err));
    if (audit.problems > 0)
        FAIL(err, PBOOST_BAD_DATA,
             "the store was changed by another program: %s; put back a backup"
             " that is sound",
             audit.first_problem);
    r->entry = r->l->labels.link.number + 1;
    NEED(r->slot = pboost_alloc(r->l->labels.n, sizeof *r->slot), err);
    TRY(without_witness ? burn_all(r, err) : redo_lost(r, err));
    TRY(pboost_lost_hash(&data, r->s, err));
    TRY(append(r, "restore", 0, &data, NULL, 0, err));
    TRY(pboost_store_commit(r->s, err));
done:
    r->l->labels.valid = false;
    pboost_side_leave(&r->l->write);
    return st;
}

static pboost_status erase_lost(restoring *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const id_map *ids = &r->l->labels.ids; /* read anew by the erasure: the ids are copied */
    pboost_erasure erasure = PBOOST_ERASURE_INIT;
    char(*text)[PBOOST_ID_MAX + 1] = NULL, room[24];
    pboost_id *id = NULL;

    if (r->n_erase == 0)
        return PBOOST_OK;
    NEED(text = pboost_alloc(r->n_erase, sizeof *text), err);
    NEED(id = pboost_alloc(r->n_erase, sizeof *id), err);
    for (size_t i = 0; i < r->n_erase; i++) {
        snprintf(text[i], sizeof text[i], "%s", pboost_ids_text(ids, r->erase[i], room));
        id[i] = (pboost_id){text[i], 0};
    }
    erasure.id = id;
    erasure.n = r->n_erase;
    TRY(pboost_ledger_forget(&r->out->erased, r->l, &erasure, err));
done:
    free(text);
    free(id);
    return st;
}

static pboost_status read_lost(restoring *r, witness *w, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(r->s->class->run(r->s, "SELECT number, hash FROM ledger_entry ORDER BY number", NULL, 0,
                         take_head, r, err));
    TRY(pboost_witness_open(w, take_record, r, err));
done:
    return st;
}

pboost_status pboost_ledger_restore(pboost_restored *out, const char *store_url,
                                    const pboost_ledger_options *options, bool without_witness,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    restoring r = {.out = out, .fork = -1};
    witness *w;

    *out = (pboost_restored){0};
    TRY(pboost_ledger_begin(&r.l, options, err));
    TRY(pboost_ledger_open_stores(r.l, store_url, err));
    r.s = r.l->write.store;
    w = &r.l->witness;
    if (without_witness)
        TRY(pboost_witness_create(w->path, &r.l->keys, err));
    else
        TRY(read_lost(&r, w, err));
    if (without_witness || r.n_lost > 0) {
        int fd = w->fd;
        w->fd = -1; /* nothing is witnessed before all is done */
        st = burn_lost(&r, without_witness, err);
        if (st == PBOOST_OK)
            st = erase_lost(&r, err);
        w->fd = fd;
    }
    if (st == PBOOST_OK && without_witness)
        st = pboost_witness_open(w, NULL, NULL, err);
    if (st != PBOOST_OK && without_witness)
        (void)unlink(w->path);
    if (st == PBOOST_OK) {
        w->last = (chain_link){.number = r.fork};
        if (r.fork >= 0)
            w->last.hash = r.head[r.fork];
        st = pboost_ledger_cover(r.l, INT64_MAX, err);
    }
done:
    free_restoring(&r);
    pboost_ledger_close(r.l);
    return st;
}

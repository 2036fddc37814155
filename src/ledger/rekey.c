/* A new label key: all labels are encrypted anew, then the old keys are removed.
 *
 * At every moment the key file has the keys of all labels in the store.  The new key is in the
 * file, durably, before a label is encrypted with it; old keys leave the file after the transaction
 * that rewrote all labels has been committed.  The file is only changed under the store's write
 * lock, and an import reads it under that lock: so it never uses a key that is about to leave. */
#include <string.h>

#include "state.h"

typedef struct {
    const label_table *labels;
    const label_seal *seal;
    uint32_t *slot; /* those that have a label */
    size_t n;
    unsigned char bytes[SEALED_MAX];
} resealing;

static pboost_status put_label(void *user, store_value *value, size_t i, pboost_error *err)
{
    resealing *r = user;
    uint32_t slot = r->slot[i];
    (void)err;

    size_t columns = r->labels->columns;
    pboost_label_seal(r->bytes, r->seal, slot, pboost_labels_of(r->labels, slot), columns);
    value[0] = value_number(slot);
    value[1] = value_bytes(r->bytes, SEALED_BYTES(columns));
    return PBOOST_OK;
}

/* Labels go to a table of their own in bulk, and from there to their rows at once. */
static pboost_status reseal(size_t *rows, const label_table *t, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    label_seal seal = {0};
    resealing r = {.labels = t, .seal = &seal};

    NEED(r.slot = pboost_alloc(t->n, sizeof *r.slot), err);
    for (size_t i = 0; i < t->n; i++)
        if (*pboost_labels_of(t, (uint32_t)i) != NO_LABEL)
            r.slot[r.n++] = (uint32_t)i;
    TRY(s->class->run(s, "DELETE FROM ledger_seal", NULL, 0, NULL, NULL, err));
    TRY(pboost_seal_make(&seal, s, 0, (int64_t)t->n, err));
    store_bulk bulk = {"ledger_new_label", "ib", r.n, put_label, &r};
    TRY(s->class->bulk(s, &bulk, err));
    TRY(s->class->run(s,
                      "UPDATE ledger_row SET label = (SELECT n.label FROM ledger_new_label n"
                      " WHERE n.slot = ledger_row.slot)",
                      NULL, 0, NULL, NULL, err));
    TRY(s->class->run(s, "DELETE FROM ledger_new_label", NULL, 0, NULL, NULL, err));
    *rows = r.n;
done:
    sodium_memzero(&seal, sizeof seal);
    free(r.slot);
    return st;
}

typedef struct {
    const ledger_keys *all;
    ledger_keys *kept;
} keeping;

static pboost_status keep_key(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const keeping *k = user;
    (void)n, (void)err;

    for (size_t i = 0; i + 1 < k->all->n_labels; i++) /* the last is kept in any case */
        if (k->all->label[i].number == value[0].number)
            k->kept->label[k->kept->n_labels++] = k->all->label[i];
    return PBOOST_OK;
}

/* Keys that no label needs leave the file; the one in use stays the last.  Under the write lock. */
static pboost_status drop_keys(pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    ledger_keys kept = {0};
    keeping k = {&l->keys, &kept};

    TRY(pboost_keys_reload(&l->keys, s->key_file, err));
    kept = l->keys;
    kept.n_labels = 0;
    TRY(s->class->run(s, "SELECT DISTINCT label_key FROM ledger_seal ORDER BY label_key", NULL, 0,
                      keep_key, &k, err));
    kept.label[kept.n_labels++] = l->keys.label[l->keys.n_labels - 1];
    sodium_memzero(kept.label + kept.n_labels,
                   (LABEL_KEYS_MAX - kept.n_labels) * sizeof *kept.label);
    TRY(pboost_keys_write(&kept, s->key_file, true, err));
    l->keys = kept;
done:
    pboost_keys_wipe(&kept);
    return st;
}

/* One more key in the file, all labels under it, an entry that says so. */
static pboost_status change_key(size_t *rows, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    record data = {0};

    TRY(pboost_side_enter(l, &l->write, true, err));
    TRY(pboost_labels_refresh(&l->labels, s, err));
    TRY(drop_keys(l, err)); /* those that a crash has left */
    TRY(pboost_keys_add_label(&l->keys, err));
    TRY(pboost_keys_write(&l->keys, s->key_file, true, err));
    TRY(reseal(rows, &l->labels, s, err));
    pboost_record_number(&data, l->keys.label[l->keys.n_labels - 1].number);
    chain_entry entry = {"rekey", pboost_ledger_now(l), 0, 0, data.byte, data.used};
    chain_link link = pboost_chain_next(&l->labels.link, &entry);
    TRY(pboost_chain_append(s, &link, &entry, NULL, 0, err));
    TRY(pboost_store_commit(s, err));
    l->labels.link = link;
    TRY(s->class->scrub(s, err));
done:
    pboost_side_leave(&l->write);
    return st;
}

pboost_status pboost_ledger_rekey(size_t *rows, uint32_t *key, pboost_ledger *ledger,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *rows = 0;
    TRY(change_key(rows, ledger, err));
    TRY(pboost_ledger_cover(ledger, INT64_MAX, err));
    st = pboost_side_enter(ledger, &ledger->write, true, err);
    if (st == PBOOST_OK)
        st = drop_keys(ledger, err);
    *key = ledger->keys.label[ledger->keys.n_labels - 1].number;
    pboost_side_leave(&ledger->write);
done:
    return st;
}

/* Labels and ids out for good: an erasure is one transaction, and then the files are cleaned.
 *
 * The row stays, without label and id, so that its slot is spent for ever.  A keyed digest takes
 * the place of the id: the chain's hash of the import can still be computed, and the id cannot be
 * imported again, which would let its label be used twice.  A unit all of whose rows are erased
 * loses its id in the same way, and keeps its uses. */
#include <stdio.h>
#include <string.h>

#include "state.h"

typedef struct {
    uint32_t *erase, *spend; /* slots to be erased; those of them not spent before */
    size_t n_erase, n_spend;
    uint32_t *unit; /* units that have no row left, some perhaps twice */
    size_t n_units;
    unsigned char *bytes;
} forgetting;

/* The numbers of the units, in order. */
static pboost_status find_units(uint32_t *out, store *s, const pboost_erasure *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char number[24];
    digest d;

    for (size_t i = 0; i < e->n_units; i++) {
        int64_t unit = -1;
        snprintf(number, sizeof number, "%lld", (long long)e->unit[i].number);
        const char *text = e->unit[i].text != NULL ? e->unit[i].text : number;
        d = pboost_name_digest(s->keys, "ledger_unit", e->unit[i]);
        TRY(RUN(s, "SELECT unit FROM ledger_unit WHERE id = $1 OR digest = $2", pboost_store_number,
                &unit, err, value_text(text), value_bytes(d.byte, sizeof d.byte)));
        if (unit < 0)
            FAIL(err, PBOOST_BAD_DATA, "unit '%.60s' is not in the store; nothing was erased",
                 text);
        out[i] = (uint32_t)unit;
    }
    pboost_slots_sort(out, e->n_units);
done:
    return st;
}

static bool among(const uint32_t *sorted, size_t n, uint32_t number)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && sorted[low] == number;
}

/* The slots that are named, some perhaps twice, in f->erase. */
static pboost_status find_rows(forgetting *f, const label_table *t, store *s,
                               const pboost_erasure *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t *unit = NULL;
    size_t most = e->n + (e->n_units > 0 ? t->n : 0);

    NEED(unit = pboost_alloc(e->n_units, sizeof *unit), err);
    TRY(find_units(unit, s, e, err));
    NEED(f->erase = pboost_alloc(most, sizeof *f->erase), err);
    for (size_t i = 0; i < e->n; i++) {
        uint32_t slot = pboost_labels_find(t, s->keys, e->id[i]);
        if (slot == NO_NUMBER && e->id[i].text != NULL)
            FAIL(err, PBOOST_BAD_DATA, "id '%.60s' is not in the store; nothing was erased",
                 e->id[i].text);
        if (slot == NO_NUMBER)
            FAIL(err, PBOOST_BAD_DATA, "id %lld is not in the store; nothing was erased",
                 (long long)e->id[i].number);
        f->erase[f->n_erase++] = slot;
    }
    for (size_t slot = 0; e->n_units > 0 && slot < t->n; slot++)
        if (among(unit, e->n_units, t->unit[slot]))
            f->erase[f->n_erase++] = (uint32_t)slot;
done:
    free(unit);
    return st;
}

/* The units that lose their last row. */
static pboost_status choose_units(forgetting *f, const label_table *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t *left = NULL; /* rows by unit */

    NEED(left = calloc(t->n_units + 1, sizeof *left), err);
    NEED(f->unit = pboost_alloc(f->n_erase, sizeof *f->unit), err);
    for (uint32_t slot = 0; slot < t->n; slot++)
        left[t->unit[slot]] += !pboost_labels_gone(t, slot);
    for (size_t i = 0; i < f->n_erase; i++)
        if (--left[t->unit[f->erase[i]]] == 0)
            f->unit[f->n_units++] = t->unit[f->erase[i]];
done:
    free(left);
    return st;
}

/* Of the slots that are named those that are not erased yet. */
static pboost_status choose(forgetting *f, const label_table *t, store *s, const pboost_erasure *e,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t kept = 0;

    TRY(find_rows(f, t, s, e, err));
    NEED(f->spend = pboost_alloc(f->n_erase, sizeof *f->spend), err);
    NEED(f->bytes = pboost_alloc(f->n_erase, SLOT_BYTES), err);
    pboost_slots_sort(f->erase, f->n_erase);
    for (size_t i = 0; i < f->n_erase; i++) {
        uint32_t slot = f->erase[i];
        if ((kept > 0 && f->erase[kept - 1] == slot) || pboost_labels_gone(t, slot))
            continue;
        f->erase[kept++] = slot;
        if (!pboost_labels_spent(t, slot))
            f->spend[f->n_spend++] = slot;
    }
    f->n_erase = kept;
    pboost_slots_write(f->bytes, f->erase, kept);
    if (t->units)
        TRY(choose_units(f, t, err));
done:
    return st;
}

/* Label and id of the rows. */
static pboost_status erase_rows(const forgetting *f, const label_table *t, store *s,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char room[24];

    for (size_t i = 0; i < f->n_erase; i++) {
        const char *id = pboost_ids_text(&t->ids, f->erase[i], room);
        digest d = pboost_name_digest(s->keys, "ledger_row", (pboost_id){id, 0});
        TRY(RUN(s, "UPDATE ledger_row SET label = NULL, id = NULL, digest = $1 WHERE slot = $2",
                NULL, NULL, err, value_bytes(d.byte, sizeof d.byte), value_number(f->erase[i])));
    }
done:
    return st;
}

typedef struct {
    char text[PBOOST_ID_MAX + 1];
} unit_name;

static pboost_status take_unit_name(void *user, const store_value *value, size_t n,
                                    pboost_error *err)
{
    unit_name *name = user;
    (void)n, (void)err;
    if (value[0].kind == VALUE_TEXT && value[0].length <= PBOOST_ID_MAX)
        memcpy(name->text, value[0].data, value[0].length);
    return PBOOST_OK;
}

static pboost_status erase_units(const forgetting *f, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < f->n_units; i++) {
        unit_name name = {""};
        TRY(RUN(s, "SELECT id FROM ledger_unit WHERE unit = $1", take_unit_name, &name, err,
                value_number(f->unit[i])));
        if (*name.text == '\0') /* it was erased before */
            continue;
        digest d = pboost_name_digest(s->keys, "ledger_unit", (pboost_id){name.text, 0});
        TRY(RUN(s, "UPDATE ledger_unit SET id = NULL, digest = $1 WHERE unit = $2", NULL, NULL, err,
                value_bytes(d.byte, sizeof d.byte), value_number(f->unit[i])));
    }
done:
    return st;
}

static pboost_status erase(forgetting *f, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    record data = {0};

    TRY(pboost_claims_add(s, f->spend, f->n_spend, l->labels.n, err));
    TRY(erase_rows(f, &l->labels, s, err));
    TRY(erase_units(f, s, err));
    digest hash = pboost_slots_hash(f->bytes, SLOT_BYTES * f->n_erase);
    pboost_record_bytes(&data, hash.byte, sizeof hash.byte);
    chain_entry entry = {"forget", pboost_ledger_now(l), f->n_spend, 0, data.byte, data.used};
    chain_link link = pboost_chain_next(&l->labels.link, &entry);
    TRY(pboost_chain_append(s, &link, &entry, f->bytes, SLOT_BYTES * f->n_erase, err));
    TRY(pboost_store_commit(s, err));
    pboost_labels_spend(&l->labels, f->spend, f->n_spend, false);
    pboost_labels_erase(&l->labels, f->erase, f->n_erase);
    l->labels.link = link;
done:
    return st;
}

static pboost_status forget_here(size_t *forgotten, pboost_ledger *ledger,
                                 const pboost_erasure *erasure, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    forgetting f = {0};

    *forgotten = 0;
    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(pboost_labels_refresh(&ledger->labels, s, err));
    TRY(choose(&f, &ledger->labels, s, erasure, err));
    if (f.n_erase > 0) {
        TRY(erase(&f, ledger, err));
        *forgotten = f.n_erase;
    }
    pboost_store_rollback(s);
    TRY(s->class->scrub(s, err)); /* also where nothing is new: the last time it may have failed */
done:
    pboost_side_leave(&ledger->write);
    if (st == PBOOST_OK)
        st = pboost_ledger_cover(ledger, INT64_MAX, err);
    free(f.erase);
    free(f.spend);
    free(f.bytes);
    free(f.unit);
    return st;
}

/* ---- Several stores -------------------------------------------------------------------------- */

/* The store that has a row or unit; n_stores: none of those that are open. */
static size_t store_of(const pboost_ledger *l, pboost_id id, bool unit)
{
    size_t n = 1 + l->n_others, i = 0;

    for (; i < n; i++) {
        const pboost_ledger *here = i == 0 ? l : l->other[i - 1];
        if (l->rules.stores == 0 ||
            (l->rules.units && !unit
                 ? pboost_labels_find(&here->labels, &here->keys, id) != NO_NUMBER
                 : pboost_id_store(id, l->rules.stores) == here->rules.store - 1))
            break;
    }
    return i;
}

/* Whether what is named in this store is all there. */
static pboost_status check_here(pboost_ledger *l, const pboost_erasure *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forgetting f = {0};

    TRY(pboost_side_enter(l, &l->write, false, err));
    TRY(pboost_labels_refresh(&l->labels, l->write.store, err));
    TRY(find_rows(&f, &l->labels, l->write.store, e, err));
done:
    pboost_side_leave(&l->write);
    free(f.erase);
    return st;
}

/* Those of the rows, or units, that are in store i. */
static pboost_status choose_own(pboost_id **out, size_t *n, const pboost_ledger *l, size_t i,
                                const pboost_id *id, size_t all, bool units, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char number[24];

    NEED(*out = pboost_alloc(all, sizeof **out), err);
    for (size_t k = 0; k < all; k++) {
        size_t at = store_of(l, id[k], units);
        snprintf(number, sizeof number, "%lld", (long long)id[k].number);
        if (at > l->n_others)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s '%.60s' is in none of the stores that are given; nothing was erased",
                 units ? "unit" : "id", id[k].text != NULL ? id[k].text : number);
        if (at == i)
            (*out)[(*n)++] = id[k];
    }
done:
    return st;
}

/* What is named is looked for in all stores before any is changed.  If it ends in between, the same
 * call is to be made again: what is erased already is recognised. */
pboost_status pboost_ledger_forget(size_t *forgotten, pboost_ledger *ledger,
                                   const pboost_erasure *erasure, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_erasure own[PBOOST_STORES_MAX] = {{0}};
    pboost_id *id[PBOOST_STORES_MAX] = {NULL}, *unit[PBOOST_STORES_MAX] = {NULL};
    size_t n = 1 + ledger->n_others, here = 0;

    *forgotten = 0;
    if (erasure->struct_size != sizeof *erasure)
        FAIL(err, PBOOST_INVALID,
             "erasure: struct_size is %zu, not %zu; start from PBOOST_ERASURE_INIT",
             erasure->struct_size, sizeof *erasure);
    if (erasure->n_units > 0 && !ledger->rules.units)
        FAIL(err, PBOOST_INVALID,
             "units are to be erased, but the store was made without them (--unit at init)");
    for (size_t i = 0; i < n; i++) {
        own[i] = *erasure;
        own[i].n = own[i].n_units = 0;
        TRY(choose_own(&id[i], &own[i].n, ledger, i, erasure->id, erasure->n, false, err));
        TRY(choose_own(&unit[i], &own[i].n_units, ledger, i, erasure->unit, erasure->n_units, true,
                       err));
        own[i].id = id[i];
        own[i].unit = unit[i];
        if (n > 1)
            TRY(check_here(pboost_ledger_store(ledger, i), &own[i], err));
    }
    for (size_t i = 0; i < n; i++) {
        TRY(forget_here(&here, pboost_ledger_store(ledger, i), &own[i], err));
        *forgotten += here;
    }
done:
    for (size_t i = 0; i < n; i++) {
        free(id[i]);
        free(unit[i]);
    }
    return st;
}

/* The rows of a store in memory. */
#include "labels.h"

#include <string.h>

void pboost_labels_free(label_table *t)
{
    if (t->label != NULL)
        sodium_memzero(t->label, t->capacity * t->columns * sizeof *t->label);
    pboost_ids_free(&t->ids);
    pboost_ids_free(&t->scopes);
    free(t->label);
    free(t->unit);
    free(t->scope);
    free(t->spent);
    free(t->gone);
    free(t->share);
    free(t->home);
    free(t->uses);
    free(t->asked);
    free(t->new_uses);
    free(t->last_bag);
    label_table empty = {
        .units = t->units, .columns = t->columns, .classes = t->classes, .shares = t->shares};
    memcpy(t, &empty, sizeof empty);
}

static int by_slot(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void pboost_slots_sort(uint32_t *slot, size_t n)
{
    qsort(slot, n, sizeof *slot, by_slot);
}

void pboost_labels_spend(label_table *t, const uint32_t *slot, size_t n, bool answered)
{
    for (size_t i = 0; i < n; i++) {
        t->spent[slot[i] / 64] |= UINT64_C(1) << slot[i] % 64;
        if (answered && t->units)
            t->uses[pboost_labels_use(t, slot[i])]++;
    }
}

void pboost_labels_erase(label_table *t, const uint32_t *slot, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < t->columns; j++)
            t->label[(size_t)slot[i] * t->columns + j] = NO_LABEL;
        t->gone[slot[i] / 64] |= UINT64_C(1) << slot[i] % 64;
    }
}

void pboost_hash_row(hasher *h, pboost_id id, uint32_t unit, uint32_t scope)
{
    unsigned char canonical[ID_CANONICAL_MAX];
    pboost_hash_bytes(h, canonical, pboost_id_canonical(canonical, id));
    pboost_hash_number(h, (uint64_t)unit << 32 | scope);
}

digest pboost_name_digest(const ledger_keys *keys, const char *table, pboost_id id)
{
    unsigned char text[NAME_TABLE_MAX + ID_CANONICAL_MAX];
    size_t used = strlen(table) + 1;

    memcpy(text, table, used);
    used += pboost_id_canonical(text + used, id);
    return pboost_keys_mac(keys, KEY_ROW, text, used);
}

void pboost_hash_row_digest(hasher *h, const digest *id, uint32_t unit, uint32_t scope)
{
    pboost_hash_bytes(h, id->byte, sizeof id->byte);
    pboost_hash_number(h, (uint64_t)unit << 32 | scope);
}

void pboost_erased_text(char out[ERASED_TEXT], const digest *d)
{
    out[0] = '\1';
    sodium_bin2hex(out + 1, ERASED_TEXT - 1, d->byte, sizeof d->byte);
}

uint32_t pboost_erased_find(const id_map *map, const ledger_keys *keys, const char *table,
                            pboost_id id)
{
    digest d = pboost_name_digest(keys, table, id);
    char text[ERASED_TEXT];

    pboost_erased_text(text, &d);
    return pboost_ids_find(map, (pboost_id){text, 0});
}

uint32_t pboost_labels_find(const label_table *t, const ledger_keys *keys, pboost_id id)
{
    uint32_t slot = pboost_ids_find(&t->ids, id);
    return slot == NO_NUMBER && t->any_gone ? pboost_erased_find(&t->ids, keys, "ledger_row", id)
                                            : slot;
}

/* ---- Growth ---------------------------------------------------------------------------------- */

/* realloc to n items, the new ones zero. */
static pboost_status grow(void *array, size_t old, size_t n, size_t size, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    void *now, *grown;
    size_t bytes;

    memcpy(&now, array, sizeof now);
    if (__builtin_mul_overflow(n, size, &bytes))
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    NEED(grown = realloc(now, bytes), err);
    memset((char *)grown + old * size, 0, (n - old) * size);
    memcpy(array, &grown, sizeof grown);
done:
    return st;
}

static pboost_status reserve(label_table *t, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t old = t->capacity;

    if (n <= old)
        return PBOOST_OK;
    TRY(pboost_ids_reserve(&t->ids, n, err));
    size_t words = n / 64 + 1, old_words = old > 0 ? old / 64 + 1 : 0;
    TRY(grow(&t->label, old, n, t->columns * sizeof *t->label, err));
    TRY(grow(&t->scope, old, n, sizeof *t->scope, err));
    if (t->units)
        TRY(grow(&t->unit, old, n, sizeof *t->unit, err));
    TRY(grow(&t->spent, old_words, words, sizeof *t->spent, err));
    TRY(grow(&t->gone, old_words, words, sizeof *t->gone, err));
    TRY(grow(&t->asked, old_words, words, sizeof *t->asked, err));
    t->capacity = n;
done:
    return st;
}

static pboost_status reserve_units(label_table *t, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t old = t->unit_capacity;

    if (n <= old)
        return PBOOST_OK;
    TRY(grow(&t->home, old, n, sizeof *t->home, err));
    for (size_t i = old; i < n; i++)
        t->home[i] = NO_HOME;
    TRY(grow(&t->uses, old * t->shares.n, n * t->shares.n, sizeof *t->uses, err));
    TRY(grow(&t->new_uses, old * t->shares.n, n * t->shares.n, sizeof *t->new_uses, err));
    TRY(grow(&t->last_bag, old, n, sizeof *t->last_bag, err));
    t->unit_capacity = n;
done:
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static pboost_status damaged(pboost_error *err, const char *table, int64_t at)
{
    return pboost_fail(err, PBOOST_BAD_DATA, "the store is damaged: %s %lld is not valid", table,
                       (long long)at);
}

/* A row's scope is one of the store's, and has a share where there are shares. */
static bool scope_known(const label_table *t, const store_value *scope)
{
    if (scope->kind != VALUE_NUMBER)
        return !t->shares.named;
    return scope->number >= 0 && scope->number < (int64_t)t->scopes.n &&
           (!t->shares.named || t->share[scope->number] != NO_NUMBER);
}

/* The id of a row, or what stands for one that was erased; false: neither is there. */
static bool id_of_row(const char **out, char room[ERASED_TEXT], const store_value *id,
                      const store_value *stands)
{
    digest d;

    *out = room;
    if (id->kind == VALUE_TEXT)
        *out = id->data;
    else if (stands->length == sizeof d.byte)
        pboost_erased_text(room, memcpy(&d, stands->data, sizeof d.byte));
    else
        return false;
    return true;
}

/* slot, id, unit, scope, label, digest */
static pboost_status take_row(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    label_table *t = user;
    uint32_t slot;
    const char *id;
    char room[ERASED_TEXT];
    (void)n;

    if (value[0].number != (int64_t)t->n || !id_of_row(&id, room, &value[1], &value[5]) ||
        (value[1].kind != VALUE_TEXT && value[4].kind != VALUE_NULL) ||
        (value[2].kind == VALUE_NUMBER) != t->units || value[2].number < 0 ||
        value[2].number >= (int64_t)(t->units ? t->n_units : 1) || !scope_known(t, &value[3]))
        return damaged(err, "row", value[0].number);
    if (t->n == t->capacity)
        TRY(reserve(t, t->capacity + t->capacity / 2 + 64, err));
    TRY(pboost_ids_append(&slot, &t->ids, (pboost_id){id, 0}, err));
    if (id == room) {
        t->any_gone = true;
        pboost_labels_erase(t, &slot, 1);
    }
    if (!pboost_label_open(t->label + (size_t)slot * t->columns, t->columns, &t->seals,
                           value[0].number, &value[4]))
        FAIL(err, PBOOST_BAD_DATA,
             "the label of row %lld was changed, or belongs to another row or store: it cannot be"
             " decrypted",
             (long long)value[0].number);
    int64_t label = *pboost_labels_of(t, slot);
    if (t->classes > 0 && label != NO_LABEL && (label < 0 || label >= t->classes))
        return damaged(err, "row", value[0].number);
    t->scope[slot] = value[3].kind == VALUE_NUMBER ? (uint32_t)value[3].number : NO_NUMBER;
    if (t->units) {
        uint32_t unit = t->unit[slot] = (uint32_t)value[2].number;
        if (t->home[unit] == NO_HOME)
            t->home[unit] = t->scope[slot];
    }
    t->n++;
done:
    return st;
}

static pboost_status take_scope(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    label_table *t = user;
    uint32_t number;
    bool added;
    (void)n;

    TRY(pboost_ids_add(&number, &added, &t->scopes, (pboost_id){value[1].data, 0}, err));
    if (!added || number != value[0].number)
        return damaged(err, "scope", value[0].number);
    TRY(grow(&t->share, number, (size_t)number + 1, sizeof *t->share, err));
    t->share[number] = pboost_shares_find(&t->shares, value[1].data);
done:
    return st;
}

static pboost_status take_use(void *user, const store_value *value, size_t n, pboost_error *err)
{
    label_table *t = user;
    (void)n;

    uint32_t share = pboost_shares_of_use(&t->shares, value[1].number);
    if (value[0].number < 0 || value[0].number >= (int64_t)t->n_units || share == NO_NUMBER)
        return damaged(err, "unit", value[0].number);
    t->uses[(size_t)value[0].number * t->shares.n + share]++;
    return PBOOST_OK;
}

/* The rows that are not in the table yet. */
static pboost_status read_rows(label_table *t, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t units = 0, rows = 0;

    TRY(RUN(s, "SELECT count(*) FROM ledger_unit WHERE unit >= $1", pboost_store_number, &units,
            err, value_number((int64_t)t->n_units)));
    TRY(reserve_units(t, t->n_units + (size_t)units, err));
    t->n_units += (size_t)units;
    TRY(RUN(s, "SELECT scope, name FROM ledger_scope WHERE scope >= $1 ORDER BY scope", take_scope,
            t, err, value_number((int64_t)t->scopes.n)));
    TRY(RUN(s, "SELECT count(*) FROM ledger_row WHERE slot >= $1", pboost_store_number, &rows, err,
            value_number((int64_t)t->n)));
    TRY(reserve(t, t->n + (size_t)rows, err));
    TRY(pboost_seals_read(&t->seals, s, (int64_t)t->n, err));
    TRY(RUN(s,
            "SELECT slot, id, unit, scope, label, digest FROM ledger_row WHERE slot >= $1 ORDER BY "
            "slot",
            take_row, t, err, value_number((int64_t)t->n)));
    uint32_t twice = pboost_ids_index(&t->ids);
    if (twice != NO_NUMBER)
        st = damaged(err, "row", twice);
done:
    pboost_seals_free(&t->seals);
    return st;
}

static pboost_status read_all(label_table *t, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    pboost_labels_free(t);
    TRY(read_rows(t, s, err));
    if (t->n > 0)
        TRY(pboost_claims_read(t->spent, t->n, s, err));
    TRY(s->class->run(s, "SELECT unit, use FROM ledger_unit_use", NULL, 0, take_use, t, err));
done:
    return st;
}

/* ---- Following the chain --------------------------------------------------------------------- */

/* kind, slots of an entry by another process */
static pboost_status take_entry(void *user, const store_value *value, size_t n, pboost_error *err)
{
    label_table *t = user;
    const unsigned char *byte = value[1].data;
    const char *kind = value[0].data;
    bool erased = strcmp(kind, "forget") == 0;
    (void)n;

    for (size_t i = 0; i < value[1].length / SLOT_BYTES; i++) {
        uint32_t slot = pboost_slot_read(byte, i);
        if (slot >= t->n)
            return damaged(err, "row", slot);
        pboost_labels_spend(t, &slot, 1, !erased);
        if (erased)
            pboost_labels_erase(t, &slot, 1);
    }
    for (size_t u = 0; strcmp(kind, "burn-all") == 0 && u < t->n_units * t->shares.n; u++)
        t->uses[u] = INT32_MAX;
    return PBOOST_OK;
}

/* What other processes did since.  An entry that was the last one must still be there. */
static pboost_status read_new(label_table *t, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chain_link mine;
    int64_t imports = 0;

    TRY(pboost_chain_at(&mine, s, t->link.number, err));
    if (mine.number < 0 || !pboost_digest_equal(&mine.hash, &t->link.hash))
        return pboost_store_break(s, err, "%s", STORE_EXCHANGED);
    TRY(RUN(s, "SELECT count(*) FROM ledger_entry WHERE number > $1 AND kind = 'import'",
            pboost_store_number, &imports, err, value_number(t->link.number)));
    if (imports > 0)
        TRY(read_rows(t, s, err));
    TRY(RUN(s,
            "SELECT kind, slots FROM ledger_entry WHERE number > $1 AND slots IS NOT NULL"
            " ORDER BY number",
            take_entry, t, err, value_number(t->link.number)));
done:
    return st;
}

pboost_status pboost_labels_refresh(label_table *t, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chain_link last;

    TRY(pboost_chain_last(&last, s, err));
    if (t->valid && last.number == t->link.number && pboost_digest_equal(&last.hash, &t->link.hash))
        return PBOOST_OK;
    bool follow = t->valid;
    t->valid = false; /* a failure in between leaves it half done */
    TRY(follow ? read_new(t, s, err) : read_all(t, s, err));
    t->link = last;
    t->valid = true;
done:
    return st;
}

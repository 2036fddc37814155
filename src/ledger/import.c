/* Rows in, and labels out for good: import and erasure.  Each is one transaction. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ranges.h"
#include "state.h"

/* ---- Import ---------------------------------------------------------------------------------- */

typedef struct {
    const pboost_import *in;
    pboost_import_report *report;
    const pboost_ledger *ledger;
    size_t first; /* slot of the first new row */
    id_map seen;  /* ids of this import */
    id_map units; /* of the store and of this import */
    id_map scopes;
    size_t old_units, old_scopes;
    uint32_t *unit, *scope; /* by row */
    uint32_t *home;         /* by unit: the scope of its first row */
    int64_t *label;
    char text[24];
    unsigned char label_bytes[LABEL_BYTES];
} importing;

static void free_importing(importing *m)
{
    pboost_ids_free(&m->seen);
    pboost_ids_free(&m->units);
    pboost_ids_free(&m->scopes);
    free(m->unit);
    free(m->scope);
    free(m->home);
    if (m->label != NULL)
        sodium_memzero(m->label, m->in->n * sizeof *m->label);
    free(m->label);
}

static pboost_status take_known(void *user, const store_value *value, size_t n, pboost_error *err)
{
    uint32_t number;
    bool added;
    (void)n;
    return pboost_ids_add(&number, &added, user, (pboost_id){value[0].data, 0}, err);
}

static pboost_status check_import(const pboost_import *in, const pboost_ledger *l,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (in->struct_size != sizeof *in)
        FAIL(err, PBOOST_INVALID,
             "import: struct_size is %zu, not %zu; start from "
             "PBOOST_IMPORT_INIT",
             in->struct_size, sizeof *in);
    if (in->n == 0)
        FAIL(err, PBOOST_BAD_DATA, "there are no rows to import");
    if (l->rules.units && in->unit == NULL)
        FAIL(err, PBOOST_INVALID, "the store's rules speak of units, but the import has none");
    if (!l->rules.units && in->unit != NULL)
        FAIL(err, PBOOST_INVALID,
             "the import has units, but the store was made without them (--unit at init)");
    if (in->replace_bad &&
        !(in->bad_label >= l->rules.rules.lower && in->bad_label <= l->rules.rules.upper))
        FAIL(err, PBOOST_INVALID,
             "the value for bad labels (--bad-label) is %g; it must lie within the bounds [%g, %g]",
             in->bad_label, l->rules.rules.lower, l->rules.rules.upper);
done:
    return st;
}

/* The id must be new, to the store and to this import. */
static pboost_status take_id(importing *m, pboost_id id, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t number;
    bool added;
    char buffer[24];

    if (!pboost_id_valid(id))
        FAIL(err, PBOOST_BAD_DATA, "an id must be 1 to %d bytes", PBOOST_ID_MAX);
    TRY(pboost_ids_add(&number, &added, &m->seen, id, err));
    if (!added)
        FAIL(err, PBOOST_BAD_DATA, "id '%.60s' is there twice",
             pboost_ids_text(&m->seen, number, buffer));
    if (pboost_ids_find(&m->ledger->labels.ids, id) != NO_NUMBER)
        FAIL(err, PBOOST_BAD_DATA, "id '%.60s' is in the store already",
             pboost_ids_text(&m->seen, number, buffer));
done:
    return st;
}

/* The label itself is in no message. */
static pboost_status take_label(importing *m, size_t i, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_rules *rules = &m->ledger->rules.rules;
    double label = m->in->label[i];
    bool outside = label < rules->lower || label > rules->upper;

    if (m->in->replace_bad && (!isfinite(label) || (outside && !m->in->clamp))) {
        label = m->in->bad_label;
        outside = false;
        m->report->replaced++;
    }
    if (!isfinite(label))
        FAIL(err, PBOOST_BAD_DATA, "the label is missing or not a finite number");
    if (outside && !m->in->clamp)
        FAIL(err, PBOOST_BAD_DATA, "the label lies outside the bounds [%g, %g]; it may be clamped",
             rules->lower, rules->upper);
    m->report->clamped += outside;
    m->label[i] = pboost_grid_place(&m->ledger->grid, label);
done:
    return st;
}

static pboost_status take_name(uint32_t *out, id_map *map, pboost_id id, const char *what,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool added;

    if (!pboost_id_valid(id))
        FAIL(err, PBOOST_BAD_DATA, "the %s is empty or longer than %d bytes", what, PBOOST_ID_MAX);
    TRY(pboost_ids_add(out, &added, map, id, err));
done:
    return st;
}

/* What is asked about a unit in one scope must not be seen in another: each scope has a share of
 * its own, or the unit's rows lie in one scope. */
static pboost_status check_scope(importing *m, size_t i, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const unit_shares *shares = &m->ledger->labels.shares;
    uint32_t scope = m->in->scope != NULL ? m->scope[i] : NO_NUMBER;
    char room[24], other[24];
    const char *name = scope != NO_NUMBER ? pboost_ids_text(&m->scopes, scope, room) : "";

    if (shares->named && scope == NO_NUMBER)
        FAIL(err, PBOOST_BAD_DATA,
             "the row has no scope, but the store's rules have shares: %.200s",
             m->ledger->rules.scope_rows);
    if (shares->named && pboost_shares_find(shares, name) == NO_NUMBER)
        FAIL(err, PBOOST_BAD_DATA, "scope '%.60s' has no share in the store's rules: %.200s", name,
             m->ledger->rules.scope_rows);
    if (shares->named || m->in->unit == NULL)
        goto done;
    uint32_t *home = &m->home[m->unit[i]];
    if (*home == NO_HOME)
        *home = scope;
    if (*home != scope)
        FAIL(
            err, PBOOST_BAD_DATA,
            "unit '%.60s' has rows in two scopes; to allow that, make the store with --scope-rows, "
            "which divides a unit's answers between them",
            pboost_ids_text(&m->units, m->unit[i], other));
done:
    return st;
}

static pboost_status take_rows(importing *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_import *in = m->in;

    NEED(m->label = pboost_alloc(in->n, sizeof *m->label), err);
    NEED(m->unit = pboost_alloc(in->unit != NULL ? in->n : 0, sizeof *m->unit), err);
    NEED(m->scope = pboost_alloc(in->scope != NULL ? in->n : 0, sizeof *m->scope), err);
    size_t units = in->unit != NULL ? m->old_units + in->n : 0;
    NEED(m->home = pboost_alloc(units, sizeof *m->home), err);
    for (size_t u = 0; u < units; u++)
        m->home[u] = u < m->old_units ? m->ledger->labels.home[u] : NO_HOME;
    TRY(pboost_ids_reserve(&m->seen, in->n, err));
    for (size_t i = 0; i < in->n; i++) {
        m->report->bad_row = i;
        m->report->bad_part = "id";
        TRY(take_id(m, in->id[i], err));
        m->report->bad_part = "label";
        TRY(take_label(m, i, err));
        m->report->bad_part = "unit";
        if (in->unit != NULL)
            TRY(take_name(&m->unit[i], &m->units, in->unit[i], "unit", err));
        m->report->bad_part = "scope";
        if (in->scope != NULL)
            TRY(take_name(&m->scope[i], &m->scopes, in->scope[i], "scope", err));
        TRY(check_scope(m, i, err));
    }
    m->report->bad_row = SIZE_MAX;
    m->report->bad_part = NULL;
done:
    return st;
}

static pboost_status put_row(void *user, store_value *value, size_t i, pboost_error *err)
{
    importing *m = user;
    const pboost_import *in = m->in;

    if (i % 65536 == 0 && in->progress != NULL && !in->progress(in->user, i, in->n))
        return pboost_fail(err, PBOOST_CANCELLED, "the import was stopped; nothing was imported");
    value[0] = value_number((int64_t)(m->first + i));
    value[1] = value_text(pboost_ids_text(&m->seen, (uint32_t)i, m->text));
    value[2] = in->unit != NULL ? value_number(m->unit[i]) : value_text(NULL);
    value[3] = in->scope != NULL ? value_number(m->scope[i]) : value_text(NULL);
    pboost_label_write(m->label_bytes, m->label[i]);
    value[4] = value_bytes(m->label_bytes, LABEL_BYTES);
    value[5] = value_text(NULL);
    return PBOOST_OK;
}

static pboost_status put_unit(void *user, store_value *value, size_t i, pboost_error *err)
{
    importing *m = user;
    (void)err;
    value[0] = value_number((int64_t)(m->old_units + i));
    value[1] = value_text(pboost_ids_text(&m->units, (uint32_t)(m->old_units + i), m->text));
    value[2] = value_text(NULL);
    return PBOOST_OK;
}

static pboost_status put_scope(void *user, store_value *value, size_t i, pboost_error *err)
{
    importing *m = user;
    (void)err;
    value[0] = value_number((int64_t)(m->old_scopes + i));
    value[1] = value_text(pboost_ids_text(&m->scopes, (uint32_t)(m->old_scopes + i), m->text));
    return PBOOST_OK;
}

/* Which rows, units and scopes came, not their labels: a hash of few possible labels would tell
 * them. */
static void hash_ranges(name_ranges *out, const importing *m)
{
    const ledger_keys *keys = &m->ledger->keys;
    char text[24];
    hasher h;
    digest d;

    out->of[RANGE_ROWS] = (name_range){.first = (int64_t)m->first, .n = (int64_t)m->in->n};
    pboost_hash_start(&h, RANGES[RANGE_ROWS].what);
    for (size_t i = 0; i < m->in->n; i++) {
        d = pboost_row_digest(keys, m->in->id[i], m->in->unit != NULL ? m->unit[i] : NO_NUMBER,
                              m->in->scope != NULL ? m->scope[i] : NO_NUMBER);
        pboost_hash_bytes(&h, d.byte, sizeof d.byte);
    }
    out->of[RANGE_ROWS].hash = pboost_hash_end(&h);
    const struct {
        const id_map *map;
        size_t first;
    } names[] = {
        [RANGE_UNITS] = {&m->units, m->old_units}, [RANGE_SCOPES] = {&m->scopes, m->old_scopes}};
    for (int k = RANGE_UNITS; k <= RANGE_SCOPES; k++) {
        pboost_hash_start(&h, RANGES[k].what);
        for (size_t i = names[k].first; i < names[k].map->n; i++) {
            const char *name = pboost_ids_text(names[k].map, (uint32_t)i, text);
            d = pboost_name_digest(keys, RANGES[k].table, (pboost_id){name, 0});
            pboost_hash_bytes(&h, d.byte, sizeof d.byte);
        }
        out->of[k] = (name_range){.first = (int64_t)names[k].first,
                                  .n = (int64_t)(names[k].map->n - names[k].first),
                                  .hash = pboost_hash_end(&h)};
    }
}

static pboost_status store_import(importing *m, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store_bulk units = {"ledger_unit", "itb", m->units.n - m->old_units, put_unit, m};
    store_bulk scopes = {"ledger_scope", "it", m->scopes.n - m->old_scopes, put_scope, m};
    store_bulk rows = {"ledger_row", "itiibb", m->in->n, put_row, m};
    record data = {0};
    name_ranges ranges;

    TRY(s->class->bulk(s, &units, err));
    TRY(s->class->bulk(s, &scopes, err));
    TRY(s->class->bulk(s, &rows, err));
    hash_ranges(&ranges, m);
    pboost_ranges_write(&data, &ranges);
    chain_entry entry = {"import", pboost_ledger_now(m->ledger), m->in->n, 0, data.byte, data.used};
    chain_link link = pboost_chain_next(&m->ledger->labels.link, &entry);
    TRY(pboost_chain_append(s, &link, &entry, NULL, 0, err));
done:
    return st;
}

pboost_status pboost_ledger_import(pboost_import_report *out, pboost_ledger *ledger,
                                   const pboost_import *in, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    label_table *t = &ledger->labels;
    importing m = {.in = in, .report = out, .ledger = ledger};

    *out = (pboost_import_report){.bad_row = SIZE_MAX};
    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(check_import(in, ledger, err));
    TRY(pboost_labels_refresh(t, s, err));
    m.first = t->n;
    TRY(pboost_grid_check_rows(&ledger->grid, t->n + in->n, err));
    TRY(s->class->run(s, "SELECT id FROM ledger_unit ORDER BY unit", NULL, 0, take_known, &m.units,
                      err));
    TRY(s->class->run(s, "SELECT name FROM ledger_scope ORDER BY scope", NULL, 0, take_known,
                      &m.scopes, err));
    m.old_units = m.units.n;
    m.old_scopes = m.scopes.n;
    TRY(take_rows(&m, err));
    TRY(store_import(&m, s, err));
    TRY(pboost_store_commit(s, err));
    if (in->progress != NULL)
        (void)in->progress(in->user, in->n, in->n);
    out->rows = in->n;
done:
    pboost_side_leave(&ledger->write);
    free_importing(&m);
    if (st != PBOOST_OK)
        out->clamped = out->replaced = 0;
    return st;
}

/* ---- Erasure --------------------------------------------------------------------------------- */

typedef struct {
    uint32_t *erase, *spend; /* slots that had a label; those of them not spent before */
    size_t n_erase, n_spend;
    int64_t entry;
    unsigned char *bytes;
} forgetting;

/* The numbers of the units, in order. */
static pboost_status find_units(uint32_t *out, store *s, const pboost_erasure *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char number[24];

    for (size_t i = 0; i < e->n_units; i++) {
        int64_t unit = -1;
        snprintf(number, sizeof number, "%lld", (long long)e->unit[i].number);
        const char *text = e->unit[i].text != NULL ? e->unit[i].text : number;
        TRY(RUN(s, "SELECT unit FROM ledger_unit WHERE id = $1", pboost_store_number, &unit, err,
                value_text(text)));
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
        uint32_t slot = pboost_ids_find(&t->ids, e->id[i]);
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

/* Of the slots that are named those that have a label. */
static pboost_status choose(forgetting *f, const label_table *t, store *s, const pboost_erasure *e,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t kept = 0;

    TRY(find_rows(f, t, s, e, err));
    NEED(f->spend = pboost_alloc(f->n_erase, sizeof *f->spend), err);
    NEED(f->bytes = pboost_alloc(f->n_erase, 4), err);
    pboost_slots_sort(f->erase, f->n_erase);
    for (size_t i = 0; i < f->n_erase; i++) {
        uint32_t slot = f->erase[i];
        if ((kept > 0 && f->erase[kept - 1] == slot) || t->label[slot] == NO_LABEL)
            continue;
        f->erase[kept++] = slot;
        if (!pboost_labels_spent(t, slot))
            f->spend[f->n_spend++] = slot;
    }
    f->n_erase = kept;
    for (size_t i = 0; i < kept; i++)
        for (int b = 0; b < 4; b++)
            f->bytes[4 * i + b] = (unsigned char)(f->erase[i] >> 8 * b);
done:
    return st;
}

static pboost_status spend_row(void *user, store_value *value, size_t i, pboost_error *err)
{
    const forgetting *f = user;
    (void)err;
    value[0] = value_number(f->spend[i]);
    value[1] = value_number(f->entry);
    return PBOOST_OK;
}

static pboost_status erase(forgetting *f, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    store_bulk claims = {"ledger_claim", "ii", f->n_spend, spend_row, f};
    record data = {0};
    hasher h;

    f->entry = l->labels.link.number + 1;
    TRY(s->class->bulk(s, &claims, err));
    for (size_t i = 0; i < f->n_erase; i++)
        TRY(RUN(s, "UPDATE ledger_row SET label = NULL WHERE slot = $1", NULL, NULL, err,
                value_number(f->erase[i])));
    pboost_hash_start(&h, "priorboost slots 1");
    pboost_hash_block(&h, f->bytes, 4 * f->n_erase);
    digest hash = pboost_hash_end(&h);
    pboost_record_bytes(&data, hash.byte, sizeof hash.byte);
    chain_entry entry = {"forget", pboost_ledger_now(l), f->n_spend, 0, data.byte, data.used};
    chain_link link = pboost_chain_next(&l->labels.link, &entry);
    TRY(pboost_chain_append(s, &link, &entry, f->bytes, 4 * f->n_erase, err));
    TRY(pboost_store_commit(s, err));
    pboost_labels_spend(&l->labels, f->spend, f->n_spend, false);
    pboost_labels_erase(&l->labels, f->erase, f->n_erase);
    l->labels.link = link;
done:
    return st;
}

pboost_status pboost_ledger_forget(size_t *forgotten, pboost_ledger *ledger,
                                   const pboost_erasure *erasure, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    forgetting f = {0};

    *forgotten = 0;
    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    if (erasure->struct_size != sizeof *erasure)
        FAIL(err, PBOOST_INVALID,
             "erasure: struct_size is %zu, not %zu; start from PBOOST_ERASURE_INIT",
             erasure->struct_size, sizeof *erasure);
    if (erasure->n_units > 0 && !ledger->rules.units)
        FAIL(err, PBOOST_INVALID,
             "units are to be erased, but the store was made without them (--unit at init)");
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
    free(f.erase);
    free(f.spend);
    free(f.bytes);
    return st;
}

/* Import of rows: one transaction. */
#include <math.h>
#include <string.h>

#include "ranges.h"
#include "state.h"

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
    size_t columns;         /* labels of a row */
    pboost_rules *bounds;   /* by column: which labels may be there */
    int64_t *label;
    size_t *order; /* by slot, from `first`: the row; NULL: as they come */
    char text[24];
    label_seal seal;
    unsigned char label_bytes[SEALED_MAX];
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
        sodium_memzero(m->label, m->in->n * m->columns * sizeof *m->label);
    free(m->label);
    free(m->order);
    free(m->bounds);
    sodium_memzero(&m->seal, sizeof m->seal);
}

/* name, and where it was erased its digest */
static pboost_status take_known(void *user, const store_value *value, size_t n, pboost_error *err)
{
    uint32_t number;
    bool added;
    char room[ERASED_TEXT];
    const char *name = value[0].data;
    digest d;

    if (value[0].kind != VALUE_TEXT) {
        if (n < 2 || value[1].length != sizeof d.byte)
            return pboost_fail(err, PBOOST_BAD_DATA, "the store is damaged: a name is missing");
        pboost_erased_text(room, memcpy(&d, value[1].data, sizeof d.byte));
        name = room;
    }
    return pboost_ids_add(&number, &added, user, (pboost_id){name, 0}, err);
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
        FAIL(err, PBOOST_INVALID, "the store has units, but the import names none (--unit)");
    if (!l->rules.units && in->unit != NULL)
        FAIL(err, PBOOST_INVALID,
             "the import names units, but the store has none (oracle init --unit)");
done:
    return st;
}

/* The labels that may be there; a class is a number from 0. */
static pboost_status set_bounds(importing *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules core = pboost_ledger_rules_core(&m->ledger->rules);
    bool classes = core.answer == PBOOST_ANSWER_CLASSES;

    m->columns = m->ledger->labels.columns;
    NEED(m->bounds = pboost_alloc(m->columns, sizeof *m->bounds), err);
    for (size_t j = 0; j < m->columns; j++) {
        pboost_rules *b = &m->bounds[j];
        TRY(pboost_rules_number(b, &core, j, err));
        if (classes)
            b->upper = (double)(core.width - 1);
        if (m->in->replace_bad && !(m->in->bad_label >= b->lower && m->in->bad_label <= b->upper))
            FAIL(err, PBOOST_INVALID,
                 "the value for bad labels (--bad-label) is %g; it must lie within the bounds "
                 "[%g, %g]",
                 m->in->bad_label, b->lower, b->upper);
        if (m->in->clamp && classes)
            FAIL(err, PBOOST_INVALID, "labels are classes, which cannot be moved to bounds");
        /* a bag's sum is that of all stores */
        size_t stores = m->ledger->rules.stores > 0 ? m->ledger->rules.stores : 1;
        TRY(pboost_grid_check_rows(&m->ledger->number[j].grid, (m->first + m->in->n) * stores,
                                   err));
    }
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
        FAIL(err, PBOOST_BAD_DATA, "id '%.60s' occurs twice",
             pboost_ids_text(&m->seen, number, buffer));
    uint32_t slot = pboost_labels_find(&m->ledger->labels, &m->ledger->keys, id);
    if (slot != NO_NUMBER && pboost_labels_gone(&m->ledger->labels, slot))
        FAIL(err, PBOOST_BAD_DATA,
             "id '%.60s' was erased from the store; it cannot be imported again, because its label"
             " may have been used",
             pboost_ids_text(&m->seen, number, buffer));
    if (slot != NO_NUMBER)
        FAIL(err, PBOOST_BAD_DATA, "id '%.60s' is already in the store",
             pboost_ids_text(&m->seen, number, buffer));
done:
    return st;
}

/* Label j of row i.  The label itself is in no message. */
static pboost_status take_label(importing *m, size_t i, size_t j, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_rules *rules = &m->bounds[j];
    double label = m->in->label[i * m->columns + j];
    bool classes = m->ledger->labels.classes > 0;
    bool outside = label < rules->lower || label > rules->upper ||
                   (classes && isfinite(label) && label != floor(label));

    if (m->in->replace_bad && (!isfinite(label) || (outside && !m->in->clamp))) {
        label = m->in->bad_label;
        outside = false;
        m->report->replaced++;
    }
    if (!isfinite(label))
        FAIL(err, PBOOST_BAD_DATA, "the label is missing or not a finite number");
    if (outside && classes)
        FAIL(err, PBOOST_BAD_DATA, "the label is none of the store's classes");
    if (outside && !m->in->clamp)
        FAIL(err, PBOOST_BAD_DATA,
             "the label is outside the bounds [%g, %g]; --clamp moves it to the nearest",
             rules->lower, rules->upper);
    m->report->clamped += outside;
    m->label[i * m->columns + j] =
        classes ? (int64_t)label : pboost_grid_place(&m->ledger->number[j].grid, label);
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

/* A unit that was erased and comes again is the same unit, with the uses that it has. */
static pboost_status take_unit(importing *m, size_t i, pboost_error *err)
{
    pboost_id id = m->in->unit[i];

    if (m->ledger->labels.any_gone && pboost_id_valid(id) &&
        pboost_ids_find(&m->units, id) == NO_NUMBER) {
        m->unit[i] = pboost_erased_find(&m->units, &m->ledger->keys, "ledger_unit", id);
        if (m->unit[i] != NO_NUMBER)
            return PBOOST_OK;
    }
    return take_name(&m->unit[i], &m->units, id, "unit", err);
}

static pboost_status take_rows(importing *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_import *in = m->in;

    NEED(m->label = pboost_alloc(in->n, m->columns * sizeof *m->label), err);
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
        for (size_t j = 0; j < m->columns; j++) {
            m->report->bad_column = j;
            TRY(take_label(m, i, j, err));
        }
        m->report->bad_part = "unit";
        if (in->unit != NULL)
            TRY(take_unit(m, i, err));
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

/* Rows that were spent and that a restore lost. */
static pboost_status check_lost(importing *m, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t lost = 0, here = 0;

    TRY(s->class->run(s, "SELECT count(*) FROM ledger_lost_row", NULL, 0, pboost_store_number,
                      &lost, err));
    for (size_t i = 0; lost > 0 && i < m->in->n; i++) {
        unsigned char mark[ROW_MARK];
        pboost_row_mark(mark, &m->ledger->keys, m->in->id[i]);
        TRY(RUN(s, "SELECT count(*) FROM ledger_lost_row WHERE mark = $1", pboost_store_number,
                &here, err, value_bytes(mark, sizeof mark)));
        m->report->bad_row = here > 0 ? i : SIZE_MAX;
        m->report->bad_part = "id";
        if (here > 0)
            FAIL(err, PBOOST_REFUSED,
                 "id '%.60s' was spent or erased before the store was restored; leave the"
                 " row out",
                 pboost_ids_text(&m->seen, (uint32_t)i, m->text));
    }
done:
    return st;
}

/* The row that gets slot first + i. */
static size_t row_at(const importing *m, size_t i)
{
    return m->order != NULL ? m->order[i] : i;
}

static pboost_status put_row(void *user, store_value *value, size_t i, pboost_error *err)
{
    importing *m = user;
    const pboost_import *in = m->in;
    size_t row = row_at(m, i);

    if (i % 65536 == 0 && in->progress != NULL && !in->progress(in->user, i, in->n))
        return pboost_fail(err, PBOOST_CANCELLED, "the import was stopped; nothing was imported");
    value[0] = value_number((int64_t)(m->first + i));
    value[1] = value_text(pboost_ids_text(&m->seen, (uint32_t)row, m->text));
    value[2] = in->unit != NULL ? value_number(m->unit[row]) : value_text(NULL);
    value[3] = in->scope != NULL ? value_number(m->scope[row]) : value_text(NULL);
    pboost_label_seal(m->label_bytes, &m->seal, (int64_t)(m->first + i),
                      m->label + row * m->columns, m->columns);
    value[4] = value_bytes(m->label_bytes, SEALED_BYTES(m->columns));
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

/* Hashes of the rows, units and scopes, not of the labels: a hash of few possible labels would
 * reveal them. */
static void hash_ranges(name_ranges *out, const importing *m)
{
    const ledger_keys *keys = &m->ledger->keys;
    char text[24];
    hasher h;
    digest d;

    out->of[RANGE_ROWS] = (name_range){.first = (int64_t)m->first, .n = (int64_t)m->in->n};
    pboost_hash_start(&h, RANGES[RANGE_ROWS].what);
    for (size_t i = 0; i < m->in->n; i++) {
        size_t row = row_at(m, i);
        d = pboost_name_digest(keys, RANGES[RANGE_ROWS].table, m->in->id[row]);
        pboost_hash_row_digest(&h, &d, m->in->unit != NULL ? m->unit[row] : NO_NUMBER,
                               m->in->scope != NULL ? m->scope[row] : NO_NUMBER);
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

    TRY(pboost_ids_order(&m->order, &m->seen, err));
    TRY(pboost_seal_make(&m->seal, s, (int64_t)m->first, (int64_t)m->in->n, err));
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

/* ---- Several stores -------------------------------------------------------------------------- */

/* The rows of an import that belong to one store. */
typedef struct {
    pboost_ledger *ledger;
    const pboost_import *whole;
    pboost_import in; /* of them */
    size_t *position; /* in the whole; NULL: they are all there are */
    pboost_id *id, *unit, *scope;
    double *label;
    size_t before; /* rows of the stores before */
    pboost_import_report report;
    importing m;
    bool entered;
} division;

static void free_division(division *d)
{
    if (d->entered)
        pboost_side_leave(&d->ledger->write);
    free_importing(&d->m);
    free(d->position);
    free(d->id);
    free(d->unit);
    free(d->scope);
    if (d->label != NULL)
        sodium_memzero(d->label, d->in.n * d->ledger->labels.columns * sizeof *d->label);
    free(d->label);
}

static bool tell_progress(void *user, size_t done, size_t total)
{
    const division *d = user;
    (void)total;
    return d->whole->progress(d->whole->user, d->before + done, d->whole->n);
}

static void copy_row(division *d, size_t i, size_t columns)
{
    const pboost_import *in = d->whole;
    size_t n = d->in.n++;

    d->position[n] = i;
    d->id[n] = in->id[i];
    memcpy(d->label + n * columns, in->label + i * columns, columns * sizeof *d->label);
    if (in->unit != NULL)
        d->unit[n] = in->unit[i];
    if (in->scope != NULL)
        d->scope[n] = in->scope[i];
}

/* The rows whose unit, or else id, belongs to the store; those of stores that are not open are left
 * out. */
static pboost_status divide(division *d, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_import *in = d->whole;
    const pboost_id *by = in->unit != NULL ? in->unit : in->id;
    size_t stores = d->ledger->rules.stores, number = d->ledger->rules.store - 1, n = 0;
    size_t columns = d->ledger->labels.columns;

    d->in = *in;
    if (stores == 0 || in->struct_size != sizeof *in)
        goto done;
    d->in.n = 0;
    for (size_t i = 0; i < in->n; i++)
        n += !pboost_id_valid(by[i]) || pboost_id_store(by[i], stores) == number;
    NEED(d->position = pboost_alloc(n, sizeof *d->position), err);
    NEED(d->id = pboost_alloc(n, sizeof *d->id), err);
    NEED(d->label = pboost_alloc(n, columns * sizeof *d->label), err);
    if (in->unit != NULL)
        NEED(d->unit = pboost_alloc(n, sizeof *d->unit), err);
    if (in->scope != NULL)
        NEED(d->scope = pboost_alloc(n, sizeof *d->scope), err);
    for (size_t i = 0; i < in->n; i++)
        if (!pboost_id_valid(by[i]) || pboost_id_store(by[i], stores) == number)
            copy_row(d, i, columns);
    d->in.id = d->id;
    d->in.label = d->label;
    d->in.unit = d->unit;
    d->in.scope = d->scope;
    d->in.progress = in->progress != NULL ? tell_progress : NULL;
    d->in.user = d;
done:
    return st;
}

/* All but the commit.  A store of several may have no row of a small import. */
static pboost_status begin_import(division *d, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger *ledger = d->ledger;
    store *s = ledger->write.store;
    label_table *t = &ledger->labels;
    importing *m = &d->m;

    d->report = (pboost_import_report){.bad_row = SIZE_MAX};
    *m = (importing){.in = &d->in, .report = &d->report, .ledger = ledger};
    d->entered = true;
    TRY(pboost_side_enter(ledger, &ledger->write, true, err));
    TRY(check_import(d->whole, ledger, err));
    TRY(pboost_labels_refresh(t, s, err));
    TRY(divide(d, err));
    if (d->in.n == 0)
        goto done;
    m->first = t->n;
    TRY(set_bounds(m, err));
    TRY(s->class->run(s, "SELECT id, digest FROM ledger_unit ORDER BY unit", NULL, 0, take_known,
                      &m->units, err));
    TRY(s->class->run(s, "SELECT name FROM ledger_scope ORDER BY scope", NULL, 0, take_known,
                      &m->scopes, err));
    m->old_units = m->units.n;
    m->old_scopes = m->scopes.n;
    TRY(take_rows(m, err));
    TRY(check_lost(m, s, err));
    TRY(store_import(m, s, err));
done:
    return st;
}

/* An id is in one store only.  Without units its own hash says which; with them two units may name
 * it, so the other stores and their parts of this import are looked at. */
static pboost_status check_elsewhere(division *d, const division *other, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char room[24];

    for (size_t i = 0; d->in.unit != NULL && i < d->in.n; i++) {
        if (pboost_labels_find(&other->ledger->labels, &other->ledger->keys, d->in.id[i]) ==
                NO_NUMBER &&
            pboost_ids_find(&other->m.seen, d->in.id[i]) == NO_NUMBER)
            continue;
        d->report.bad_row = i;
        d->report.bad_part = "id";
        FAIL(err, PBOOST_BAD_DATA, "id '%.60s' is already in another store of the oracle",
             pboost_ids_text(&d->m.seen, (uint32_t)i, room));
    }
done:
    return st;
}

static pboost_status begin_all(division *d, size_t n, size_t *bad, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < n; i++) {
        *bad = i;
        d[i].before = i > 0 ? d[i - 1].before + d[i - 1].in.n : 0;
        TRY(begin_import(&d[i], err));
        for (size_t j = 0; j < i; j++)
            TRY(check_elsewhere(&d[i], &d[j], err));
    }
done:
    return st;
}

static pboost_status commit_all(division *d, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_error why = {0};

    for (size_t i = 0; i < n; i++) {
        if (d[i].in.n == 0)
            continue;
        st = pboost_store_commit(d[i].ledger->write.store, &why);
        if (st != PBOOST_OK && i > 0)
            FAIL(
                err, st,
                "%s; the rows of the %zu stores before are imported: repeat the import with --store"
                " for each of the others",
                why.message, i);
        if (st != PBOOST_OK)
            FAIL(err, st, "%s", why.message);
    }
done:
    return st;
}

/* Each store has its rows in a transaction, and all are committed when all are right. */
pboost_status pboost_ledger_import(pboost_import_report *out, pboost_ledger *ledger,
                                   const pboost_import *in, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = 1 + ledger->n_others, bad = 0;
    division *d = NULL;

    *out = (pboost_import_report){.bad_row = SIZE_MAX};
    NEED(d = calloc(n, sizeof *d), err);
    for (size_t i = 0; i < n; i++) {
        d[i].ledger = pboost_ledger_store(ledger, i);
        d[i].whole = in;
    }
    TRY(begin_all(d, n, &bad, err));
    TRY(commit_all(d, n, err));
    if (in->progress != NULL)
        (void)in->progress(in->user, in->n, in->n);
    for (size_t i = 0; i < n; i++) {
        out->rows += d[i].in.n;
        out->clamped += d[i].report.clamped;
        out->replaced += d[i].report.replaced;
    }
done:
    if (st != PBOOST_OK && d != NULL && d[bad].report.bad_row != SIZE_MAX && d[bad].entered) {
        *out = d[bad].report;
        if (d[bad].position != NULL)
            out->bad_row = d[bad].position[out->bad_row];
    }
    for (size_t i = n; d != NULL && i-- > 0;)
        free_division(&d[i]);
    free(d);
    for (size_t i = 0; st == PBOOST_OK && i < n; i++)
        st = pboost_ledger_cover(pboost_ledger_store(ledger, i), INT64_MAX, err);
    if (st != PBOOST_OK)
        out->clamped = out->replaced = 0;
    return st;
}

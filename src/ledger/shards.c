/* Dividing a question among stores, and working on all of them at once. */
#include "shards.h"

#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

void pboost_shard_clear(shard *h)
{
    free(h->position);
    free(h->own_start);
    free(h->slot);
    free(h->sorted);
    free(h->slot_bytes);
    if (h->total != NULL)
        sodium_memzero(h->total, h->n_totals * sizeof *h->total);
    free(h->total);
    free(h->released);
    pboost_reply_free(&h->judged);
    *h = (shard){.l = h->l, .entry = h->entry};
}

pboost_status pboost_shard_room(shard *h, const pboost_question *q, bool first, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = h->l->rules.rules.width;
    size_t bag_bytes = first ? RELEASED_BYTES(width, h->l->rules.stores) : 8;

    h->n_totals = q->n_bags * width;
    h->released_length = q->n_bags * bag_bytes;
    if (h->l->rules.units)
        NEED(h->sorted = pboost_alloc(h->n, sizeof *h->sorted), err);
    NEED(h->slot_bytes = pboost_alloc(h->n, SLOT_BYTES), err);
    NEED(h->total = pboost_alloc(q->n_bags, width * sizeof *h->total), err);
    NEED(h->released = pboost_alloc(q->n_bags, bag_bytes), err);
done:
    return st;
}

/* ---- Dividing -------------------------------------------------------------------------------- */

/* The slots of the ids that the token may ask about; NO_NUMBER for all others. */
static void find_slots(uint32_t *slot, const label_table *t, const pboost_token *token,
                       const pboost_id *id, size_t n)
{
    uint32_t scope = NO_NUMBER;

    if (token->scoped)
        scope = pboost_ids_find(&t->scopes, (pboost_id){token->scope, 0});
    pboost_ids_find_all(slot, &t->ids, id, n);
    for (size_t i = 0; i < n; i++) {
        if (slot[i] != NO_NUMBER &&
            (*pboost_labels_of(t, slot[i]) == NO_LABEL ||
             (token->scoped && (scope == NO_NUMBER || t->scope[slot[i]] != scope))))
            slot[i] = NO_NUMBER;
    }
}

/* Keeps row i of the question, or not: a branch would be guessed wrong every other time. */
static inline void keep_row(shard *h, size_t i, bool kept)
{
    h->position[h->n] = (uint32_t)i;
    h->n += kept;
}

/* Their ids say which rows are here. */
static pboost_status find_by_hash(shard *h, const pboost_token *token, const pboost_question *q,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t stores = h->l->rules.stores, number = h->l->rules.store - 1;
    pboost_id *id = NULL;

    for (size_t b = 0; b < q->n_bags; b++) {
        h->own_start[b] = h->n;
        for (size_t i = q->start[b]; i < q->start[b + 1]; i++)
            keep_row(h, i, pboost_id_store(q->id[i], stores) == number);
    }
    NEED(id = pboost_alloc(h->n, sizeof *id), err);
    for (size_t i = 0; i < h->n; i++)
        id[i] = q->id[h->position[i]];
    find_slots(h->slot, &h->l->labels, token, id, h->n);
done:
    free(id);
    return st;
}

/* Where there are units, the rows that are here are those that are found. */
static void find_by_looking(shard *h, const pboost_token *token, const pboost_question *q)
{
    find_slots(h->slot, &h->l->labels, token, q->id, q->start[q->n_bags]);
    for (size_t b = 0; b < q->n_bags; b++) {
        h->own_start[b] = h->n;
        for (size_t i = q->start[b]; i < q->start[b + 1]; i++) {
            uint32_t slot = h->slot[i];
            h->slot[h->n] = slot;
            keep_row(h, i, slot != NO_NUMBER);
        }
    }
}

pboost_status pboost_shard_find(shard *h, const pboost_token *token, const pboost_question *q,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = q->start[q->n_bags];

    NEED(h->slot = pboost_alloc(n, sizeof *h->slot), err);
    if (h->l->rules.stores == 0) {
        find_slots(h->slot, &h->l->labels, token, q->id, n);
        h->start = q->start;
        h->n = n;
        goto done;
    }
    NEED(h->position = pboost_alloc(n + 1, sizeof *h->position), err);
    NEED(h->own_start = pboost_alloc(q->n_bags + 1, sizeof *h->own_start), err);
    h->start = h->own_start;
    if (h->l->rules.units)
        find_by_looking(h, token, q);
    else
        TRY(find_by_hash(h, token, q, err));
    h->own_start[q->n_bags] = h->n;
done:
    return st;
}

pboost_status pboost_shards_unknown(pboost_reply *out, const shard *h, size_t n_shards, size_t n,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *stores = NULL; /* by position: how many have the row */

    NEED(stores = calloc(n + 1, 1), err);
    for (size_t s = 0; s < n_shards; s++)
        for (size_t i = 0; i < h[s].n; i++)
            stores[h[s].position[i]]++;
    for (size_t i = 0; i < n; i++) {
        if (stores[i] == 1)
            continue;
        if (out->offender == NULL)
            NEED(out->offender = pboost_alloc(PBOOST_MAX_OFFENDERS, sizeof *out->offender), err);
        out->problem = PBOOST_PROBLEM_UNKNOWN_ROW;
        if (out->n_listed < PBOOST_MAX_OFFENDERS)
            out->offender[out->n_listed++] = i;
        out->n_offenders++;
    }
done:
    free(stores);
    return st;
}

/* ---- At once --------------------------------------------------------------------------------- */

typedef struct {
    asking *a;
    shard *h;
    shard_work *work;
    pboost_status st;
    pboost_error err;
    pthread_t thread;
    bool started;
} task;

static void *run_task(void *user)
{
    task *t = user;
    t->st = t->work(t->a, t->h, &t->err);
    return NULL;
}

/* The last one is done here; so is one for which there is no thread. */
pboost_status pboost_shards_each(asking *a, shard *h, size_t n, shard_work *work, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    task *t = NULL, *failed = NULL;

    if (n == 1)
        return work(a, h, err);
    NEED(t = calloc(n + 1, sizeof *t), err);
    for (size_t i = 0; i < n; i++) {
        t[i] = (task){.a = a, .h = &h[i], .work = work};
        t[i].started = i + 1 < n && pthread_create(&t[i].thread, NULL, run_task, &t[i]) == 0;
        if (!t[i].started)
            (void)run_task(&t[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (t[i].started)
            pthread_join(t[i].thread, NULL);
        if (t[i].st != PBOOST_OK && (failed == NULL || failed->st == PBOOST_REFUSED))
            failed = &t[i];
    }
    if (failed != NULL)
        FAIL(err, failed->st, "%s", failed->err.message);
done:
    free(t);
    return st;
}

/* ---- What is left ---------------------------------------------------------------------------- */

/* has[i]: stores that have the row.  A row that two stores have is available in none. */
static pboost_status available_here(bool *available, unsigned char *has, pboost_ledger *l,
                                    const pboost_token *token, const pboost_id *id, size_t n,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const label_table *t = &l->labels;
    uint32_t *slot = NULL;

    TRY(pboost_side_enter(l, &l->write, false, err));
    NEED(slot = pboost_alloc(n, sizeof *slot), err);
    TRY(pboost_labels_refresh(&l->labels, l->write.store, err));
    find_slots(slot, t, token, id, n);
    for (size_t i = 0; i < n; i++)
        if (slot[i] != NO_NUMBER)
            available[i] = ++has[i] == 1 && !pboost_labels_spent(t, slot[i]) &&
                           (!t->units || t->uses[pboost_labels_use(t, slot[i])] <
                                             pboost_labels_most_uses(t, slot[i]));
done:
    pboost_side_leave(&l->write);
    free(slot);
    return st;
}

pboost_status pboost_ledger_available(bool *available, pboost_ledger *ledger,
                                      const pboost_token *token, const pboost_id *id, size_t n,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *has = NULL;

    memset(available, 0, n * sizeof *available);
    NEED(has = calloc(n + 1, 1), err);
    for (size_t i = 0; i <= ledger->n_others; i++)
        TRY(available_here(available, has, pboost_ledger_store(ledger, i), token, id, n, err));
done:
    free(has);
    return st;
}

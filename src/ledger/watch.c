/* Looking at a ledger: status, entries, claims.  Nothing here reads a label. */
#include <string.h>

#include "state.h"

/* Enters the reading side.  What is read, up to *last, is on the disk before anyone is told of it:
 * the head of an entry that a power failure could undo would later be unknown. */
static pboost_status enter(chain_link *last, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_side_enter(l, &l->read, false, err));
    TRY(pboost_chain_last(last, l->read.store, err));
    if (last->number > l->witness.covered)
        TRY(pboost_store_sync(l->read.store, err));
done:
    return st;
}

/* ---- Status ---------------------------------------------------------------------------------- */

/* kind, entries, rows, bags, bytes of slots */
static pboost_status take_sums(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_ledger_status *out = user;
    const char *kind = value[0].data;
    (void)n, (void)err;

    out->entries += (uint64_t)value[1].number;
    if (strcmp(kind, "import") == 0) {
        out->rows += (uint64_t)value[2].number;
    } else if (strcmp(kind, "answer") == 0) {
        out->answers += (uint64_t)value[1].number;
        out->spent += (uint64_t)value[2].number;
        out->bags += (uint64_t)value[3].number;
    } else if (strcmp(kind, "burn") == 0 || strcmp(kind, "burn-all") == 0 ||
               strcmp(kind, "claim") == 0) {
        out->spent += (uint64_t)value[2].number;
    } else if (strcmp(kind, "forget") == 0) {
        out->spent += (uint64_t)value[2].number;
        out->forgotten += (uint64_t)value[4].number / 4;
    }
    return PBOOST_OK;
}

/* Whether the totals are of this chain: their last entry must still be there. */
static pboost_status totals_hold(bool *out, const pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const chain_link *link = &ledger->totals_link;
    chain_link now;

    *out = false;
    if (!ledger->has_totals)
        return PBOOST_OK;
    TRY(pboost_chain_at(&now, ledger->read.store, link->number, err));
    *out = now.number == link->number && pboost_digest_equal(&now.hash, &link->hash);
done:
    return st;
}

/* Entries never change, so only those that are new since the last call are read: what a call costs
 * does not grow with the ledger. */
static pboost_status follow_totals(pboost_ledger *ledger, const chain_link *last, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->read.store;
    pboost_ledger_status totals = {.store = s->class->name};
    bool hold;

    TRY(totals_hold(&hold, ledger, err));
    if (hold && last->number == ledger->totals_link.number)
        goto done;
    if (hold)
        totals = ledger->totals;
    TRY(RUN(s,
            "SELECT kind, count(*), CAST(sum(rows) AS BIGINT), CAST(sum(bags) AS BIGINT),"
            " CAST(coalesce(sum(length(slots)), 0) AS BIGINT)"
            " FROM ledger_entry WHERE number > $1 GROUP BY kind",
            take_sums, &totals, err, value_number(hold ? ledger->totals_link.number : -1)));
    pboost_digest_text(totals.head, &last->hash);
    ledger->totals = totals;
    ledger->totals_link = *last;
    ledger->has_totals = true;
done:
    return st;
}

static pboost_status status_here(pboost_ledger_status *out, pboost_ledger *ledger,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chain_link last;

    *out = (pboost_ledger_status){.store = ledger->read.store->class->name};
    TRY(enter(&last, ledger, err));
    TRY(follow_totals(ledger, &last, err));
    *out = ledger->totals;
done:
    pboost_side_leave(&ledger->read);
    return st;
}

/* Rows of all stores; answers, entries and the head of the first. */
pboost_status pboost_ledger_get_status(pboost_ledger_status *out, pboost_ledger *ledger,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_status other;

    TRY(status_here(out, ledger, err));
    for (size_t i = 0; i < ledger->n_others; i++) {
        TRY(status_here(&other, ledger->other[i], err));
        out->rows += other.rows;
        out->spent += other.spent;
        out->forgotten += other.forgotten;
    }
done:
    return st;
}

pboost_status pboost_ledger_knows(bool *out, pboost_ledger *ledger, const char *head,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    digest hash;

    *out = false;
    if (!pboost_digest_read(&hash, head))
        return PBOOST_OK;
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(pboost_chain_knows(out, ledger->read.store, &hash, err));
done:
    pboost_side_leave(&ledger->read);
    return st;
}

/* ---- Visits ---------------------------------------------------------------------------------- */

typedef struct {
    pboost_entry_visit *entry;
    pboost_claim_visit *claim;
    void *user;
} visitor;

/* number, kind, time, rows, bags, hash, data, seal, token's name, request */
static pboost_status visit_entry(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const visitor *v = user;
    digest hash;
    const char *kind = value[1].data;
    (void)n;

    if (value[5].length != sizeof hash.byte || value[7].length != sizeof hash.byte)
        return pboost_fail(err, PBOOST_BAD_DATA, "entry %lld of the ledger is damaged",
                           (long long)value[0].number);
    memcpy(hash.byte, value[5].data, sizeof hash.byte);
    pboost_ledger_entry entry = {.number = (uint64_t)value[0].number,
                                 .kind = kind,
                                 .time = value[2].number,
                                 .token = value[8].kind == VALUE_TEXT ? value[8].data : NULL,
                                 .request_id = value[9].kind == VALUE_TEXT ? value[9].data : NULL,
                                 .rows = (uint64_t)value[3].number,
                                 .bags = (uint64_t)value[4].number,
                                 .data = value[6].data,
                                 .data_length = value[6].length,
                                 .seal = value[7].data};
    pboost_digest_text(entry.head, &hash);
    if ((strcmp(kind, "token") == 0 || strcmp(kind, "approve") == 0 ||
         strcmp(kind, "revoke") == 0) &&
        memchr(entry.data, '\0', entry.data_length) != NULL)
        entry.token = (const char *)entry.data;
    return v->entry(v->user, &entry) ? PBOOST_OK : PBOOST_CANCELLED;
}

pboost_status pboost_ledger_entries(pboost_ledger *ledger, uint64_t first, uint64_t most,
                                    pboost_entry_visit *visit, void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    visitor v = {.entry = visit, .user = user};
    int64_t from = first < INT32_MAX ? (int64_t)first : INT32_MAX;
    int64_t to = most < INT32_MAX ? from + (int64_t)most - 1 : INT32_MAX;
    chain_link last;

    TRY(enter(&last, ledger, err));
    TRY(RUN(ledger->read.store,
            "SELECT e.number, e.kind, e.time, e.rows, e.bags, e.hash, e.data, e.seal, t.name,"
            " a.request FROM ledger_entry e LEFT JOIN ledger_answer a ON a.entry = e.number"
            " LEFT JOIN ledger_token t ON t.token = a.token WHERE e.number BETWEEN $1 AND $2"
            " ORDER BY e.number",
            visit_entry, &v, err, value_number(from),
            value_number(to < INT32_MAX ? to : INT32_MAX)));
done:
    pboost_side_leave(&ledger->read);
    return st == PBOOST_CANCELLED ? PBOOST_OK : st;
}

/* Who claimed each row. */
typedef struct {
    int64_t rows;
    uint32_t *entry; /* by slot: 1 + the number of the entry; 0: none */
    const visitor *visitor;
} claimants;

/* number, slots.  The first that names a row has claimed it: an erasure may name spent rows. */
static pboost_status take_claims(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const claimants *c = user;
    (void)n, (void)err;

    for (size_t i = 0; i < value[1].length / SLOT_BYTES; i++) {
        uint32_t slot = pboost_slot_read(value[1].data, i);
        if (slot < c->rows && c->entry[slot] == 0)
            c->entry[slot] = (uint32_t)value[0].number + 1;
    }
    return PBOOST_OK;
}

/* slot, id */
static pboost_status visit_claim(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const claimants *c = user;
    const visitor *v = c->visitor;
    (void)n, (void)err;

    if (value[0].number < 0 || value[0].number >= c->rows || c->entry[value[0].number] == 0)
        return PBOOST_OK;
    return v->claim(v->user, value[1].data, c->entry[value[0].number] - 1) ? PBOOST_OK
                                                                           : PBOOST_CANCELLED;
}

pboost_status pboost_ledger_claims(pboost_ledger *ledger, pboost_claim_visit *visit, void *user,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->read.store;
    visitor v = {.claim = visit, .user = user};
    claimants c = {.visitor = &v};
    chain_link last;

    TRY(enter(&last, ledger, err));
    TRY(s->class->run(s, "SELECT count(*) FROM ledger_row", NULL, 0, pboost_store_number, &c.rows,
                      err));
    NEED(c.entry = calloc((size_t)c.rows + 1, sizeof *c.entry), err);
    TRY(s->class->run(s,
                      "SELECT number, slots FROM ledger_entry WHERE slots IS NOT NULL"
                      " ORDER BY number",
                      NULL, 0, take_claims, &c, err));
    TRY(s->class->run(s, "SELECT slot, id FROM ledger_row ORDER BY slot", NULL, 0, visit_claim, &c,
                      err));
done:
    pboost_side_leave(&ledger->read);
    free(c.entry);
    return st == PBOOST_CANCELLED ? PBOOST_OK : st;
}

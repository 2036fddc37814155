/* The audit: everything that the store records is computed again.
 *
 * The chain is followed from the rules to the head; each answer's claims, sizes, released numbers
 * and reply are compared to what the chain hashed; claims, uses of units, tokens and the names of
 * rows, units and scopes to what the entries add up to; and where there is no noise, sums to the
 * labels.  Labels under noise cannot be checked: the chain holds no hash of them, because a hash of
 * a few possible values would reveal the value. */
#include "audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pboost_audit_found(auditing *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (a->out->problems++ == 0)
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): wrong when it reads several files */
        vsnprintf(a->out->first_problem, sizeof a->out->first_problem, format, args);
    va_end(args);
}

bool pboost_audit_slots(const store_value *slots, const void *expected)
{
    digest d = pboost_slots_hash(slots->data, slots->length);
    return memcmp(d.byte, expected, sizeof d.byte) == 0;
}

/* ---- Other entries --------------------------------------------------------------------------- */

static pboost_status not_valid(auditing *a, const store_value *value)
{
    pboost_audit_found(a, "entry %lld, %.20s, is not valid", (long long)value[NUMBER].number,
                       (const char *)value[KIND].data);
    return PBOOST_OK;
}

static pboost_status audit_forget(auditing *a, const store_value *value, pboost_error *err)
{
    int64_t entry = value[NUMBER].number;
    (void)err;

    if (value[DATA].length != sizeof(digest) ||
        !pboost_audit_slots(&value[SLOTS], value[DATA].data)) {
        pboost_audit_found(a, "the erasure of entry %lld differs from the one in the chain",
                           (long long)entry);
        return PBOOST_OK;
    }
    for (size_t i = 0; a->labels != NULL && i < value[SLOTS].length / 4; i++) {
        uint32_t slot = pboost_slot_read(value[SLOTS].data, i);
        pboost_audit_claim(a, entry, slot, false);
        if (slot < a->labels->n && *pboost_labels_of(a->labels, slot) != NO_LABEL)
            pboost_audit_found(a, "a label that entry %lld erased is still in the store",
                               (long long)entry);
    }
    return PBOOST_OK;
}

static pboost_status add_range(range_list *list, name_range range, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(list->range, list->capacity, list->n + 1, err);
    list->range[list->n++] = range;
done:
    return st;
}

static pboost_status add_ranges(auditing *a, record_reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    name_ranges ranges = pboost_ranges_read(r);

    for (int k = 0; !r->bad && k < RANGE_KINDS; k++)
        TRY(add_range(&a->ranges[k], ranges.of[k], err));
done:
    return st;
}

static pboost_status audit_import(auditing *a, const store_value *value, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    record_reader r = {value[DATA].data, value[DATA].length, false};

    if (a->link.version > 1) {
        TRY(add_ranges(a, &r, err));
    } else {
        name_range rows = {.first = (int64_t)pboost_read_number(&r),
                           .n = value[ROWS].number,
                           .hash = pboost_read_digest(&r),
                           .version = 1};
        TRY(add_range(&a->old_rows, rows, err));
    }
    if (r.bad || r.left > 0)
        return not_valid(a, value);
done:
    return st;
}

/* From version 1: the entry covers all rows, units and scopes that there were. */
static pboost_status audit_upgrade(auditing *a, const store_value *value, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    record_reader r = {value[DATA].data, value[DATA].length, false};

    (void)pboost_read_number(&r);
    (void)pboost_read_number(&r);
    TRY(add_ranges(a, &r, err));
    (void)pboost_read_text(&r);
    if (r.bad || r.left > 0)
        return not_valid(a, value);
done:
    return st;
}

/* One more use of the row's unit, unless it has all that it may have. */
static void burn_use(auditing *a, uint32_t slot)
{
    const label_table *t = a->labels;

    if (!t->units || slot >= t->n)
        return;
    uint32_t *uses = &a->uses[pboost_labels_use(t, slot)];
    *uses += *uses < pboost_shares_rows(&t->shares, pboost_labels_share(t, slot));
}

/* token, hash of slots, units that there were */
static pboost_status audit_burn(auditing *a, const store_value *value, pboost_error *err)
{
    record_reader r = {value[DATA].data, value[DATA].length, false};
    int64_t entry = value[NUMBER].number;
    (void)err;

    (void)pboost_read_number(&r); /* the token, whose rows the replay counts */
    digest hash = pboost_read_digest(&r);
    uint64_t n_units = pboost_read_number(&r);
    if (r.bad || r.left > 0 || !pboost_audit_slots(&value[SLOTS], hash.byte))
        return not_valid(a, value);
    for (size_t i = 0; a->labels != NULL && i < value[SLOTS].length / 4; i++) {
        uint32_t slot = pboost_slot_read(value[SLOTS].data, i);
        pboost_audit_claim(a, entry, slot, true);
        burn_use(a, slot);
    }
    bool all = strcmp(value[KIND].data, "burn-all") == 0;
    for (size_t u = 0; a->labels != NULL && all && u < n_units && u < a->labels->n_units; u++)
        for (uint32_t share = 0; share < a->labels->shares.n; share++)
            a->uses[u * a->labels->shares.n + share] =
                pboost_shares_rows(&a->labels->shares, share);
    return PBOOST_OK;
}

/* The last one says which heads and rows were lost. */
static pboost_status audit_restore(auditing *a, const store_value *value, pboost_error *err)
{
    (void)err;
    if (value[DATA].length > sizeof a->lost.byte)
        return not_valid(a, value);
    if (a->notes != NULL)
        a->notes->restored = true;
    a->lost.used = 0;
    pboost_record_bytes(&a->lost, value[DATA].data, value[DATA].length);
    return PBOOST_OK;
}

static pboost_status audit_nothing(auditing *a, const store_value *value, pboost_error *err)
{
    (void)a, (void)value, (void)err;
    return PBOOST_OK;
}

/* Every kind of entry, and what it says about the tables. */
static const struct {
    const char *kind;
    audit_kind *audit;
} ENTRIES[] = {
    {"init", audit_nothing},         {"answer", pboost_audit_answer}, {"forget", audit_forget},
    {"import", audit_import},        {"token", audit_nothing},        {"approve", audit_nothing},
    {"revoke", audit_nothing},       {"upgrade", audit_upgrade},      {"burn", audit_burn},
    {"burn-all", audit_burn},        {"restore", audit_restore},      {"rekey", audit_nothing},
    {"claim", pboost_audit_claimed},
};

/* Goes on as the store does where a link is wrong, to count what is wrong beyond. */
static void follow_link(auditing *a, const store_value *value, const chain_entry *entry)
{
    int64_t number = value[NUMBER].number;
    chain_link link = pboost_chain_next(&a->link, entry);
    const unsigned char *nonce = a->replies ? value[NONCE].data : NULL;

    if (a->replies)
        pboost_chain_seal(&link, value[NONCE].length == NONCE_BYTES ? nonce : NULL,
                          value[BODY].data, value[BODY].length);
    if (number != link.number)
        pboost_audit_found(a, "entry %lld of the chain is missing", (long long)link.number);
    else if (value[HASH].length != sizeof(digest) || value[SEAL].length != sizeof(digest) ||
             memcmp(value[HASH].data, link.hash.byte, sizeof(digest)) != 0)
        pboost_audit_found(a, "entry %lld was changed: its hash differs", (long long)number);
    else if (a->replies && memcmp(value[SEAL].data, link.seal.byte, sizeof(digest)) != 0)
        pboost_audit_found(a, "the reply of entry %lld was changed: its seal differs",
                           (long long)number);
    link.number = number;
    if (value[HASH].length == sizeof(digest))
        memcpy(link.hash.byte, value[HASH].data, sizeof(digest));
    if (value[SEAL].length == sizeof(digest))
        memcpy(link.seal.byte, value[SEAL].data, sizeof(digest));
    digest mac = pboost_chain_mac(&a->ledger->keys, &link);
    if (value[MAC].length != sizeof mac.byte ||
        sodium_memcmp(value[MAC].data, mac.byte, sizeof mac.byte) != 0)
        pboost_audit_found(a, "entry %lld was not written with the store's key", (long long)number);
    a->link = link;
}

static pboost_status audit_entry(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    auditing *a = user;
    char problem[REPLAY_PROBLEM];
    const char *kind = value[KIND].kind == VALUE_TEXT ? value[KIND].data : "";
    chain_entry entry = {kind,
                         value[TIME].number,
                         (uint64_t)value[ROWS].number,
                         (uint64_t)value[BAGS].number,
                         value[DATA].data,
                         value[DATA].length};
    (void)n;

    follow_link(a, value, &entry);
    a->out->entries++;
    TRY(pboost_replay_entry(&a->tokens, problem, &entry, &a->link, err));
    if (problem[0] != '\0')
        pboost_audit_found(a, "entry %lld: %s", (long long)value[NUMBER].number, problem);
    if (a->replies && pboost_kind_answers(kind) != (value[TOKEN].kind == VALUE_NUMBER)) {
        pboost_audit_found(a, "entry %lld and its answer do not belong together",
                           (long long)value[NUMBER].number);
        return PBOOST_OK;
    }
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++)
        if (strcmp(ENTRIES[i].kind, kind) == 0)
            return ENTRIES[i].audit(a, value, err);
    return not_valid(a, value);
done:
    return st;
}

/* ---- What the entries add up to -------------------------------------------------------------- */

/* The spent rows of the store, which were just read, against those that the entries name. */
static void audit_spent(auditing *a)
{
    size_t missing = 0;

    for (uint32_t slot = 0; slot < a->labels->n; slot++) {
        bool spent = pboost_labels_spent(a->labels, slot);
        if (spent && a->claimed[slot] == 0)
            pboost_audit_found(a, "row %u is spent, but no entry claims it", slot);
        missing += !spent && a->claimed[slot] != 0;
    }
    if (missing > 0)
        pboost_audit_found(a, "%zu rows of answers are not marked as claimed", missing);
}

static pboost_status audit_use(void *user, const store_value *value, size_t n, pboost_error *err)
{
    auditing *a = user;
    const unit_shares *shares = &a->labels->shares;
    uint32_t share = pboost_shares_of_use(shares, value[1].number);
    (void)n, (void)err;

    if (value[0].number < 0 || value[0].number >= (int64_t)a->labels->n_units ||
        share == NO_NUMBER || a->uses[(size_t)value[0].number * shares->n + share]-- == 0)
        pboost_audit_found(a, "unit %lld was not used as often as the store says",
                           (long long)value[0].number);
    return PBOOST_OK;
}

/* Whether what was read was edited: an audit reports that and continues. */
static bool is_damage(pboost_status st, store *s)
{
    bool damage = st == PBOOST_BAD_DATA || (st == PBOOST_ORACLE && s->broken);
    s->broken = s->broken && !damage;
    return damage;
}

/* The rows or names of one table against the imports that brought them. */
static pboost_status audit_ranges(auditing *a, const range_list *list, range_kind kind, bool whole,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    range_list now = {0};
    int64_t total = 0, imported = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (list->range[i].first != imported)
            pboost_audit_found(a, "an import into %s does not follow the one before",
                               RANGES[kind].table);
        imported += list->range[i].n;
        TRY(add_range(&now, list->range[i], err));
    }
    TRY(pboost_ranges_hash(now.range, now.n, &total, kind, a->ledger->write.store, err));
    for (size_t i = 0; i < list->n; i++)
        if (!pboost_digest_equal(&now.range[i].hash, &list->range[i].hash) &&
            !(now.range[i].version == 1 && now.range[i].erased))
            pboost_audit_found(a, "%s from %lld on is not as it was imported", RANGES[kind].table,
                               (long long)list->range[i].first);
        else if (kind == RANGE_ROWS && whole)
            a->out->rows_imported += (uint64_t)list->range[i].n;
    if (whole && total != imported)
        pboost_audit_found(a, "%s has %lld rows, but %lld were imported", RANGES[kind].table,
                           (long long)total, (long long)imported);
done:
    free(now.range);
    return st;
}

static pboost_status audit_tokens(auditing *a, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_error why = {0};
    pboost_token *token = NULL;
    size_t n = 0;

    st = pboost_token_read(&token, &n, s, &why);
    if (is_damage(st, s)) {
        pboost_audit_found(a, "%s", why.message);
        return PBOOST_OK;
    }
    if (st != PBOOST_OK)
        FAIL(err, st, "%s", why.message);
    if (n != a->tokens.n)
        pboost_audit_found(a, "the store has %zu tokens, but %zu were created", n, a->tokens.n);
    for (size_t i = 0; i < n && i < a->tokens.n; i++) {
        digest here = pboost_token_digest(&token[i]),
               there = pboost_token_digest(&a->tokens.token[i]);
        if (!pboost_digest_equal(&here, &there))
            pboost_audit_found(a,
                               "token '%.60s' is not as the ledger says (%llu rows used, not %llu)",
                               token[i].name, (unsigned long long)token[i].rows_used,
                               (unsigned long long)a->tokens.token[i].rows_used);
    }
done:
    free(token);
    return st;
}

static pboost_status audit_lost(auditing *a, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    record now;

    TRY(pboost_lost_hash(&now, s, err));
    record_reader r = {now.byte, now.used, false};
    uint64_t heads = pboost_read_number(&r);
    (void)pboost_read_digest(&r);
    if (a->lost.used == 0
            ? heads + pboost_read_number(&r) != 0
            : now.used != a->lost.used || memcmp(now.byte, a->lost.byte, now.used) != 0)
        pboost_audit_found(
            a, "heads or rows that were lost in a restore are not those that the chain knows");
done:
    return st;
}

static pboost_status audit_sums(auditing *a, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (a->old_rows.n > 0) /* or every row would be read for nothing */
        TRY(audit_ranges(a, &a->old_rows, RANGE_ROWS, false, err));
    for (int k = 0; k < RANGE_KINDS; k++)
        TRY(audit_ranges(a, &a->ranges[k], (range_kind)k, true, err));
    TRY(audit_tokens(a, s, err));
    TRY(audit_lost(a, s, err));
    if (a->labels == NULL)
        goto done;
    audit_spent(a);
    TRY(s->class->run(s, "SELECT unit, use FROM ledger_unit_use", NULL, 0, audit_use, a, err));
    for (size_t u = 0; u < a->labels->n_units * a->labels->shares.n; u++)
        if (a->uses[u] != 0) {
            pboost_audit_found(a, "uses of unit %zu are missing", u / a->labels->shares.n);
            break;
        }
done:
    return st;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* A store whose rows cannot be read is still followed along its chain. */
static pboost_status load_labels(auditing *a, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_error why = {0};

    l->labels.valid = false;
    st = pboost_labels_refresh(&l->labels, l->write.store, &why);
    if (is_damage(st, l->write.store)) {
        pboost_audit_found(a, "%s", why.message);
        return PBOOST_OK;
    }
    if (st != PBOOST_OK)
        FAIL(err, st, "%s", why.message);
    a->labels = &l->labels;
    NEED(a->sum = calloc(l->rules.rules.width, sizeof *a->sum), err);
    NEED(a->claimed = calloc(l->labels.n + 1, sizeof *a->claimed), err);
    NEED(a->uses = calloc(l->labels.n_units * l->labels.shares.n + 1, sizeof *a->uses), err);
    NEED(a->bag = calloc(l->labels.n_units + 1, sizeof *a->bag), err);
done:
    return st;
}

#define ENTRY_COLUMNS                                                                              \
    "SELECT e.number, e.kind, e.time, e.rows, e.bags, e.data, e.hash, e.seal, e.slots, e.mac"

/* notes: what the other stores say, or are to be told; NULL: nothing. */
static pboost_status audit_store(pboost_audit *out, pboost_ledger *ledger, bool replies,
                                 claim_notes *notes, pboost_error *err)
{
    static const char *const SQL[] = {
        ENTRY_COLUMNS " FROM ledger_entry e ORDER BY e.number",
        ENTRY_COLUMNS ", a.token, a.request, a.question, a.released, a.format, a.body, a.nonce"
                      " FROM ledger_entry e LEFT JOIN ledger_answer a ON a.entry = e.number"
                      " ORDER BY e.number"};
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    auditing a = {
        .out = out, .ledger = ledger, .replies = replies, .link = {.number = -1}, .notes = notes};

    *out = (pboost_audit){0};
    TRY(load_labels(&a, ledger, err));
    TRY(s->class->run(s, SQL[replies], NULL, 0, audit_entry, &a, err));
    TRY(audit_sums(&a, s, err));
done:
    free(a.sum);
    free(a.claimed);
    free(a.uses);
    free(a.bag);
    for (int k = 0; k < RANGE_KINDS; k++)
        free(a.ranges[k].range);
    free(a.old_rows.range);
    pboost_replay_free(&a.tokens);
    return st;
}

pboost_status pboost_ledger_audit_here(pboost_audit *out, pboost_ledger *ledger, bool replies,
                                       pboost_error *err)
{
    return audit_store(out, ledger, replies, NULL, err);
}

/* A ledger that is only inspected has not opened its witness. */
static pboost_status audit_witness(pboost_audit *out, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_error why = {0};
    auditing a = {.out = out};

    (void)pboost_witness_acquire(&l->witness, INT64_MAX);
    if (l->witness.fd < 0)
        st = pboost_witness_open(&l->witness, NULL, NULL, &why);
    if (st == PBOOST_OK)
        st = pboost_witness_check(&l->witness, l->write.store, &why);
    pboost_witness_release(&l->witness);
    if (st == PBOOST_REFUSED || is_damage(st, l->write.store)) {
        pboost_audit_found(&a, "%s", why.message);
        return PBOOST_OK;
    }
    if (st != PBOOST_OK)
        FAIL(err, st, "%s", why.message);
done:
    return st;
}

static pboost_status audit_other(pboost_audit *out, pboost_ledger *l, claim_notes *notes,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_side_enter(l, &l->write, false, err));
    TRY(audit_store(out, l, true, notes, err));
    TRY(audit_witness(out, l, err));
done:
    pboost_side_leave(&l->write);
    return st;
}

/* Answers and bags are those of the first store. */
static void add_audit(pboost_audit *sum, const pboost_audit *other, size_t number)
{
    sum->entries += other->entries;
    sum->rows += other->rows;
    sum->rows_imported += other->rows_imported;
    if (sum->problems == 0 && other->problems > 0)
        snprintf(sum->first_problem, sizeof sum->first_problem, "store %zu: %.200s", number,
                 other->first_problem);
    sum->problems += other->problems;
}

/* Where stores are missing each is looked at alone. */
static pboost_status audit_others(pboost_audit *out, claim_notes *notes, pboost_ledger *l,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool whole = pboost_ledger_check_whole(l, NULL) == PBOOST_OK;
    pboost_audit other;

    for (size_t i = 0; i < l->n_others; i++) {
        TRY(audit_other(&other, l->other[i], whole ? notes : NULL, err));
        add_audit(out, &other, l->other[i]->rules.store);
    }
done:
    return st;
}

/* The first store is read as it was before the others, whose claims come before its answers. */
pboost_status pboost_ledger_audit(pboost_audit *out, pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    claim_notes notes = {0};
    pboost_audit others = {0};
    char problem[NOTES_PROBLEM];
    bool several = ledger->n_others > 0 && pboost_ledger_check_whole(ledger, NULL) == PBOOST_OK;
    int64_t entries = 0;

    TRY(pboost_side_enter(ledger, &ledger->write, false, err));
    TRY(ledger->write.store->class->run(ledger->write.store, "SELECT count(*) FROM ledger_entry",
                                        NULL, 0, pboost_store_number, &entries, err));
    TRY(audit_others(&others, &notes, ledger, err));
    TRY(audit_store(out, ledger, true, several ? &notes : NULL, err));
    TRY(audit_witness(out, ledger, err));
    add_audit(out, &others, 0);
    if (others.problems > 0 && out->problems == others.problems)
        memcpy(out->first_problem, others.first_problem, sizeof out->first_problem);
    out->interrupted = pboost_notes_interrupted(&notes);
    if (several && pboost_stores_find_twice(problem, ledger) != PBOOST_OK && out->problems++ == 0)
        snprintf(out->first_problem, sizeof out->first_problem, "%s", problem);
done:
    pboost_side_leave(&ledger->write);
    pboost_notes_free(&notes);
    return st;
}

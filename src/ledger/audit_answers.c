/* The audit of answers, and of claims for answers that another store has. */
#include <string.h>

#include "audit.h"

static bool is_released(const store_value *value, int version, const void *expected)
{
    const unsigned char *nonce = value[NONCE].data;

    if ((value[NONCE].length == NONCE_BYTES) != (version > 1))
        return false;
    digest d = pboost_hash_released(version, nonce, value[RELEASED].data, value[RELEASED].length);
    return memcmp(d.byte, expected, sizeof d.byte) == 0;
}

/* The parts of an answer against the hashes in its entry: see describe_answer in ledger.c.
 * counted: the entry ends with the rows that other stores have. */
static bool parts_agree(const store_value *value, int version, bool counted)
{
    const unsigned char *data = value[DATA].data;
    size_t fixed = 8 + 3 * sizeof(digest) + 8;

    return value[TOKEN].kind == VALUE_NUMBER && value[REQUEST].kind == VALUE_TEXT &&
           value[QUESTION].length == sizeof(digest) &&
           value[DATA].length == fixed + value[REQUEST].length + 1 + 8 * counted &&
           pboost_get_number(data, 8) == (uint64_t)value[TOKEN].number &&
           memcmp(data + 8, value[QUESTION].data, sizeof(digest)) == 0 &&
           pboost_audit_slots(&value[SLOTS], data + 8 + sizeof(digest)) &&
           is_released(value, version, data + 8 + 2 * sizeof(digest)) &&
           pboost_get_number(data + fixed - 8, 8) == (uint64_t)value[FORMAT].number &&
           memcmp(data + fixed, value[REQUEST].data, value[REQUEST].length + 1) == 0;
}

void pboost_audit_claim(auditing *a, int64_t entry, uint32_t slot, bool answered)
{
    const label_table *t = a->labels;

    if (slot >= t->n) {
        pboost_audit_found(a, "entry %lld claims a row that is not in the store", (long long)entry);
        return;
    }
    if (a->claimed[slot] != 0 && answered)
        pboost_audit_found(a, "a label was used in two answers, by entries %u and %lld",
                           a->claimed[slot] - 1, (long long)entry);
    if (a->claimed[slot] == 0)
        a->claimed[slot] = (uint32_t)entry + 1;
}

static void count_use(auditing *a, int64_t entry, uint32_t slot)
{
    const label_table *t = a->labels;

    if (t->units && slot < t->n &&
        ++a->uses[pboost_labels_use(t, slot)] >
            pboost_shares_rows(&t->shares, pboost_labels_share(t, slot)))
        pboost_audit_found(a, "a unit was used more often than the rules allow, last by entry %lld",
                           (long long)entry);
}

static void use_unit(auditing *a, int64_t entry, uint32_t slot)
{
    const label_table *t = a->labels;

    count_use(a, entry, slot);
    if (!t->units || slot >= t->n)
        return;
    uint32_t unit = t->unit[slot];
    if (a->bag[unit] == a->out->bags + 1)
        pboost_audit_found(a, "a bag of entry %lld holds two rows of one unit", (long long)entry);
    a->bag[unit] = (uint32_t)a->out->bags + 1;
}

/* The rows of one bag that are in this store; a->sum gets their sums.  Whether those are known: no
 * label is erased. */
static bool audit_rows(auditing *a, int64_t entry, const unsigned char *slots, size_t size)
{
    const label_table *t = a->labels;
    bool known = a->ledger->rules.no_noise;

    memset(a->sum, 0, a->ledger->rules.rules.width * sizeof *a->sum);
    for (size_t i = 0; i < size; i++) {
        uint32_t slot = pboost_slot_read(slots, i);
        pboost_audit_claim(a, entry, slot, true);
        use_unit(a, entry, slot);
        known = known && slot < t->n && *pboost_labels_of(t, slot) != NO_LABEL;
        for (size_t j = 0; known && j < t->columns; j++) {
            int64_t label = pboost_labels_of(t, slot)[j];
            if (a->ledger->rules.rules.answer == PBOOST_ANSWER_CLASSES)
                a->sum[label]++;
            else
                a->sum[j] += label;
        }
    }
    a->out->bags++;
    return known;
}

/* The rows of bag b that other stores claimed, and their sums.  False: not all are known. */
static bool add_claims(auditing *a, size_t *size, const claim_note *note, size_t n, size_t b)
{
    size_t width = a->ledger->rules.rules.width;
    bool known = true;

    for (size_t i = 0; i < n; i++) {
        if (b >= note[i].n_bags)
            return false;
        *size += note[i].size[b];
        known = known && note[i].known[b];
        for (size_t j = 0; j < width; j++)
            a->sum[j] += note[i].sum[b * width + j];
    }
    return known;
}

/* One bag of an answer: its size, its rows, and its sum where that can be known. */
static void audit_bag(auditing *a, int64_t entry, const unsigned char *slots, size_t own,
                      const unsigned char *released, const claim_note *note, size_t n_notes,
                      size_t b)
{
    const pboost_rules *rules = &a->ledger->rules.rules;
    size_t size = (size_t)pboost_get_number(released + 8 * rules->width, 8), here = own;
    bool same = true, known = audit_rows(a, entry, slots, own);

    known = add_claims(a, &here, note, n_notes, b) && known && here == size;
    if (size < rules->min_bag)
        pboost_audit_found(a, "a bag of entry %lld has %zu rows", (long long)entry, size);
    if (a->notes != NULL ? here > size || (here < size && !a->notes->restored) : own > size)
        pboost_audit_found(a, "a bag of entry %lld has %zu rows, but its stores have claimed %zu",
                           (long long)entry, size, here);
    for (size_t j = 0; j < rules->width; j++)
        same = same && a->sum[j] == (int64_t)pboost_get_number(released + 8 * j, 8);
    if (known && !same)
        pboost_audit_found(a,
                           "a bag of entry %lld was answered with another sum than its labels have",
                           (long long)entry);
    a->out->sums += known;
}

/* Without replies: its claims and uses, as the chain hashed them. */
static void audit_claims(auditing *a, const store_value *value)
{
    const unsigned char *data = value[DATA].data, *slots = value[SLOTS].data;
    int64_t entry = value[NUMBER].number;

    if (value[DATA].length < 8 + 2 * sizeof(digest) ||
        !pboost_audit_slots(&value[SLOTS], data + 8 + sizeof(digest)) ||
        value[SLOTS].length != 4 * (uint64_t)value[ROWS].number) {
        pboost_audit_found(a, "the answer of entry %lld differs from the one in the chain",
                           (long long)entry);
        return;
    }
    for (size_t i = 0; a->labels != NULL && i < value[SLOTS].length / 4; i++) {
        uint32_t slot = pboost_slot_read(slots, i);
        pboost_audit_claim(a, entry, slot, true);
        count_use(a, entry, slot);
    }
}

/* The claims of an answer in other stores. */
static void match_notes(auditing *a, const claim_note **note, size_t *n, const store_value *value)
{
    char problem[NOTES_PROBLEM] = "";

    *note = NULL;
    *n = 0;
    if (a->notes != NULL && a->ledger->rules.stores > 0)
        pboost_notes_match(note, n, problem, a->notes, value[DATA].data, value[DATA].length);
    if (*problem != '\0')
        pboost_audit_found(a, "entry %lld: %s", (long long)value[NUMBER].number, problem);
}

pboost_status pboost_audit_answer(auditing *a, const store_value *value, pboost_error *err)
{
    int64_t entry = value[NUMBER].number;
    bool several = a->ledger->rules.stores > 0;
    size_t width = a->ledger->rules.rules.width, bag_bytes = RELEASED_BYTES(width, several);
    size_t rows = value[SLOTS].length / 4, bags = value[RELEASED].length / bag_bytes, at = 0, n;
    const unsigned char *released = value[RELEASED].data, *slots = value[SLOTS].data;
    const claim_note *note;

    (void)err;
    if (!a->replies) {
        audit_claims(a, value);
        return PBOOST_OK;
    }
    if (!parts_agree(value, a->link.version, several) || rows != (uint64_t)value[ROWS].number ||
        bags != (uint64_t)value[BAGS].number || value[SLOTS].length % 4 != 0 ||
        value[RELEASED].length % bag_bytes != 0) {
        pboost_audit_found(a, "the answer of entry %lld differs from the one in the chain",
                           (long long)entry);
        return PBOOST_OK;
    }
    a->out->answers++;
    a->out->rows += rows;
    match_notes(a, &note, &n, value);
    if (a->labels == NULL)
        return PBOOST_OK;
    for (size_t b = 0; b < bags; b++) {
        uint64_t own = pboost_get_number(released + (b + 1) * bag_bytes - 8, 8);
        if (own > rows - at) {
            pboost_audit_found(a, "the bags of entry %lld have more rows than it claims",
                               (long long)entry);
            return PBOOST_OK;
        }
        audit_bag(a, entry, slots + 4 * at, own, released + b * bag_bytes, note, n, b);
        at += own;
    }
    if (at != rows)
        pboost_audit_found(a, "entry %lld claims more rows than its bags have", (long long)entry);
    return PBOOST_OK;
}

/* Sizes and sums of a claim for the audit of the answer; the rows are audited here. */
static pboost_status note_bags(auditing *a, claim_note *note, const store_value *value,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = a->ledger->rules.rules.width, bags = value[RELEASED].length / 8, at = 0;
    size_t rows = value[SLOTS].length / 4;

    NEED(note->size = calloc(bags + 1, sizeof *note->size), err);
    NEED(note->sum = calloc(bags * width + 1, sizeof *note->sum), err);
    NEED(note->known = calloc(bags + 1, 1), err);
    note->n_bags = bags;
    for (size_t b = 0; b < bags; b++) {
        uint64_t own = pboost_get_number((const unsigned char *)value[RELEASED].data + 8 * b, 8);
        if (own > rows - at)
            break;
        note->known[b] = audit_rows(a, value[NUMBER].number,
                                    (const unsigned char *)value[SLOTS].data + 4 * at, own);
        memcpy(note->sum + b * width, a->sum, width * sizeof *a->sum);
        note->size[b] = own;
        at += own;
    }
    if (at != rows)
        pboost_audit_found(a, "the bags of entry %lld do not have the rows that it claims",
                           (long long)value[NUMBER].number);
done:
    return st;
}

/* Rows of an answer that the first store has. */
pboost_status pboost_audit_claimed(auditing *a, const store_value *value, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    claim_notes alone = {0}, *notes = a->notes != NULL ? a->notes : &alone;
    claim_note *note;

    if (!a->replies) {
        audit_claims(a, value);
        return PBOOST_OK;
    }
    if (!parts_agree(value, a->link.version, false) ||
        value[SLOTS].length != 4 * (uint64_t)value[ROWS].number ||
        value[RELEASED].length != 8 * (uint64_t)value[BAGS].number) {
        pboost_audit_found(a, "the claim of entry %lld differs from the one in the chain",
                           (long long)value[NUMBER].number);
        return PBOOST_OK;
    }
    a->out->rows += (uint64_t)value[ROWS].number;
    TRY(pboost_notes_add(&note, notes, a->ledger->rules.store, (uint64_t)value[ROWS].number,
                         value[DATA].data, value[DATA].length, err));
    if (a->labels != NULL)
        TRY(note_bags(a, note, value, err));
done:
    pboost_notes_free(&alone);
    return st;
}

/* Claims and answers of several stores, compared. */
#include "notes.h"

#include <stdio.h>
#include <string.h>

#include "state.h"

void pboost_notes_free(claim_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++) {
        free(notes->note[i].request);
        free(notes->note[i].size);
        free(notes->note[i].sum);
        free(notes->note[i].known);
    }
    free(notes->note);
    *notes = (claim_notes){0};
}

/* Token, question and request id of an entry; the request is borrowed, and "" where it is bad. */
static claim_note read_note(const void *data, size_t length)
{
    record_reader r = {data, length, false};
    claim_note note = {.token = pboost_read_number(&r)};

    note.question = pboost_read_digest(&r);
    (void)pboost_read_digest(&r);
    (void)pboost_read_digest(&r);
    (void)pboost_read_number(&r);
    note.request = (char *)(uintptr_t)pboost_read_text(&r);
    return note;
}

pboost_status pboost_notes_add(claim_note **out, claim_notes *notes, size_t number, uint64_t rows,
                               const void *data, size_t length, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    claim_note note = read_note(data, length);

    *out = NULL;
    GROW(notes->note, notes->capacity, notes->n + 1, err);
    note.store = number;
    note.rows = rows;
    NEED(note.request = strdup(note.request), err);
    notes->note[notes->n] = note;
    *out = &notes->note[notes->n++];
    notes->sorted = false;
done:
    return st;
}

static int by_request(const void *a, const void *b)
{
    const claim_note *x = a, *y = b;
    return x->token != y->token ? (x->token > y->token) - (x->token < y->token)
                                : strcmp(x->request, y->request);
}

void pboost_notes_match(const claim_note **first, size_t *n, char problem[NOTES_PROBLEM],
                        claim_notes *notes, const void *data, size_t length)
{
    claim_note answer = read_note(data, length);
    uint64_t elsewhere = pboost_rows_elsewhere(data, length), rows = 0;
    size_t low = 0, high = notes->n;

    if (!notes->sorted && notes->n > 0)
        qsort(notes->note, notes->n, sizeof *notes->note, by_request);
    notes->sorted = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_request(&notes->note[middle], &answer) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *problem = '\0';
    *first = notes->note + low;
    for (*n = 0; low + *n < notes->n && by_request(&notes->note[low + *n], &answer) == 0; ++*n) {
        claim_note *note = &notes->note[low + *n];
        note->answered = true;
        rows += note->rows;
        if (!pboost_digest_equal(&note->question, &answer.question))
            snprintf(problem, NOTES_PROBLEM, "store %zu claimed rows for another question",
                     note->store);
    }
    if (*problem == '\0' && (rows > elsewhere || (rows < elsewhere && !notes->restored)))
        snprintf(problem, NOTES_PROBLEM,
                 "it has %llu rows in other stores, which have claimed %llu for it",
                 (unsigned long long)elsewhere, (unsigned long long)rows);
}

size_t pboost_notes_interrupted(const claim_notes *notes)
{
    size_t n = 0;
    for (size_t i = 0; i < notes->n; i++)
        n += !notes->note[i].answered;
    return n;
}

/* ---- When an oracle is opened ---------------------------------------------------------------- */

typedef struct {
    claim_notes notes;
    size_t store;
} reading;

/* kind, rows, data */
static pboost_status take_claim(void *user, const store_value *value, size_t n, pboost_error *err)
{
    reading *r = user;
    claim_note *note;
    (void)n;

    if (strcmp(value[0].data, "restore") == 0) {
        r->notes.restored = true;
        return PBOOST_OK;
    }
    return pboost_notes_add(&note, &r->notes, r->store, (uint64_t)value[1].number, value[2].data,
                            value[2].length, err);
}

/* number, data */
static pboost_status take_answer(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reading *r = user;
    const claim_note *first;
    size_t claims;
    char problem[NOTES_PROBLEM];
    (void)n;

    pboost_notes_match(&first, &claims, problem, &r->notes, value[1].data, value[1].length);
    if (*problem != '\0')
        FAIL(err, PBOOST_BAD_DATA,
             "the stores do not belong together as they are: entry %lld of store 1: %s ('priorboost"
             " oracle audit' with all stores says more)",
             (long long)value[0].number, problem);
done:
    return st;
}

static pboost_status read_claims(reading *r, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->read.store;

    r->store = l->rules.store;
    TRY(pboost_side_enter(l, &l->read, false, err));
    TRY(s->class->run(
        s, "SELECT kind, rows, data FROM ledger_entry WHERE kind IN ('claim', 'restore')", NULL, 0,
        take_claim, r, err));
done:
    pboost_side_leave(&l->read);
    return st;
}

/* With units an id may have come into two stores by two imports that knew nothing of each other. */
pboost_status pboost_stores_find_twice(char problem[NOTES_PROBLEM], pboost_ledger *l)
{
    char room[24];

    *problem = '\0';
    for (size_t i = 1; l->rules.units && i <= l->n_others; i++) {
        const id_map *ids = &pboost_ledger_store(l, i)->labels.ids;
        for (size_t j = 0; j < i; j++)
            for (uint32_t slot = 0; slot < ids->n; slot++) {
                const char *id = pboost_ids_text(ids, slot, room);
                if (pboost_ids_find(&pboost_ledger_store(l, j)->labels.ids, (pboost_id){id, 0}) ==
                    NO_NUMBER)
                    continue;
                snprintf(problem, NOTES_PROBLEM, "id '%.60s' is in two stores", id);
                return PBOOST_REFUSED;
            }
    }
    return PBOOST_OK;
}

/* The transaction of the first store begins first: other processes may be answering, and the claims
 * of an answer are committed before it. */
pboost_status pboost_stores_check(pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->read.store;
    reading r = {0};
    chain_link last;
    char problem[NOTES_PROBLEM];

    if (pboost_ledger_check_whole(ledger, NULL) != PBOOST_OK)
        return PBOOST_OK; /* what is missing cannot be compared */
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(pboost_chain_last(&last, s, err));
    for (size_t i = 0; i < ledger->n_others; i++)
        TRY(read_claims(&r, ledger->other[i], err));
    TRY(s->class->run(s, "SELECT number, data FROM ledger_entry WHERE kind = 'answer'", NULL, 0,
                      take_answer, &r, err));
    if (pboost_stores_find_twice(problem, ledger) != PBOOST_OK)
        FAIL(err, PBOOST_BAD_DATA,
             "%s, so that its label could be used twice; erase it from one of them, with "
             "'priorboost oracle"
             " forget' and that --store alone",
             problem);
done:
    pboost_side_leave(&ledger->read);
    pboost_notes_free(&r.notes);
    return st;
}

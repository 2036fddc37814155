/* A question, answered in one transaction.
 *
 * Claim the rows, sum, draw noise, store the reply's bytes, append to the chain, commit; then write
 * to the witness; only then is the reply sent.  A failure before the commit undoes all of it.  The
 * noise that was drawn is then lost together with its claim, so a client never sees two draws for
 * one question.
 *
 * Rows are checked twice.  The copy in memory, brought up to date under the store's write lock,
 * says which rows are at fault; the store's own record (claims.c) forbids a second claim even if
 * the copy is wrong. */
#include <string.h>

#include "state.h"

pboost_status pboost_refuse(pboost_problem *out, pboost_problem problem, pboost_error *err)
{
    const pboost_problem_info *info = pboost_problem_describe(problem);
    *out = problem;
    return pboost_fail(err, PBOOST_REFUSED, "%s: %s", info->name, info->title);
}

void pboost_reply_free(pboost_reply *reply)
{
    free(reply->body);
    free(reply->offender);
    memset(reply, 0, sizeof *reply);
}

/* ---- The question ---------------------------------------------------------------------------- */

/* Everything one question needs; allocated before the transaction begins. */
typedef struct {
    const pboost_question *q;
    size_t n; /* rows */
    digest hash;
    pboost_token token;
    uint32_t *slot;   /* in the order of the question */
    uint32_t *sorted; /* in the order of the store, where there are units */
    unsigned char *slot_bytes;
    size_t width; /* numbers in an answer */
    size_t *size;
    double *value;
    int64_t *total;          /* by number: the sum of the bag that is answered */
    unsigned char *released; /* by bag: each S + Z, and the size, 64 bits each */
    unsigned char nonce[NONCE_BYTES];
    int64_t now;   /* when the token was found to be valid, and of the entry */
    int64_t entry; /* of the answer, new or stored */
} asking;

static void free_asking(asking *a)
{
    free(a->slot);
    free(a->sorted);
    free(a->slot_bytes);
    free(a->size);
    free(a->value);
    if (a->total != NULL)
        sodium_memzero(a->total, a->width * sizeof *a->total);
    free(a->total);
    free(a->released);
}

static bool well_formed(const pboost_question *q)
{
    if (q->struct_size != sizeof *q || q->token == NULL || q->request_id == NULL ||
        !pboost_name_valid(q->request_id) || q->n_bags == 0 || q->n_bags > INT32_MAX ||
        q->start[0] != 0)
        return false;
    for (size_t b = 0; b < q->n_bags; b++)
        if (q->start[b + 1] < q->start[b] || q->start[b + 1] > INT32_MAX)
            return false;
    for (size_t i = 0; i < q->start[q->n_bags]; i++)
        if (!pboost_id_valid(q->id[i]))
            return false;
    return true;
}

/* Two questions are the same if they have the same format, bags and ids in order.  The head does
 * not count: it changes with every answer. */
static digest hash_question(const pboost_question *q)
{
    unsigned char canonical[ID_CANONICAL_MAX];
    hasher h;

    pboost_hash_start(&h, "priorboost question 1");
    pboost_hash_number(&h, q->format);
    pboost_hash_number(&h, q->n_bags);
    for (size_t b = 0; b < q->n_bags; b++)
        pboost_hash_number(&h, q->start[b + 1]);
    for (size_t i = 0; i < q->start[q->n_bags]; i++)
        pboost_hash_bytes(&h, canonical, pboost_id_canonical(canonical, q->id[i]));
    return pboost_hash_end(&h);
}

static pboost_status prepare(asking *a, const pboost_ledger *l, pboost_reply *out,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_question *q = a->q;

    if (!well_formed(q)) {
        st = pboost_refuse(&out->problem, PBOOST_PROBLEM_MALFORMED, err);
        goto done;
    }
    a->n = q->start[q->n_bags];
    a->width = l->rules.rules.width;
    a->hash = hash_question(q);
    NEED(a->slot = pboost_alloc(a->n, sizeof *a->slot), err);
    if (l->rules.units)
        NEED(a->sorted = pboost_alloc(a->n, sizeof *a->sorted), err);
    NEED(a->slot_bytes = pboost_alloc(a->n, sizeof *a->slot), err);
    NEED(a->size = pboost_alloc(q->n_bags, sizeof *a->size), err);
    NEED(a->value = pboost_alloc(q->n_bags, a->width * sizeof *a->value), err);
    NEED(a->total = calloc(a->width, sizeof *a->total), err);
    NEED(a->released = pboost_alloc(q->n_bags, RELEASED_BYTES(a->width)), err);
done:
    return st;
}

/* ---- Asked before? --------------------------------------------------------------------------- */

typedef struct {
    pboost_reply *reply;
    digest hash;
    int64_t entry;
    bool found;
} stored_answer;

/* question, format, body, entry */
static pboost_status take_answer(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    stored_answer *answer = user;
    (void)n;

    if (value[0].length != sizeof answer->hash.byte)
        FAIL(err, PBOOST_BAD_DATA, "the store is damaged: an answer is not valid");
    memcpy(answer->hash.byte, value[0].data, sizeof answer->hash.byte);
    NEED(answer->reply->body = pboost_alloc(value[2].length, 1), err);
    if (value[2].length > 0)
        memcpy(answer->reply->body, value[2].data, value[2].length);
    answer->reply->length = value[2].length;
    answer->reply->format = (uint32_t)value[1].number;
    answer->reply->retried = true;
    answer->entry = value[3].number;
    answer->found = true;
done:
    return st;
}

static pboost_status find_answer(stored_answer *out, store *s, int64_t token,
                                 const char *request_id, pboost_error *err)
{
    return RUN(s,
               "SELECT question, format, body, entry FROM ledger_answer"
               " WHERE token = $1 AND request = $2",
               take_answer, out, err, value_number(token), value_text(request_id));
}

/* The token as it is now, the head that the client has seen, and an earlier answer. */
static pboost_status recall(bool *answered, pboost_reply *out, asking *a, pboost_ledger *l,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    stored_answer stored = {.reply = out};
    digest head;
    bool known = false;

    TRY(pboost_token_by_id(&a->token, s, a->q->token->id, err));
    a->now = pboost_ledger_now(l);
    TRY(pboost_token_check(&out->problem, l, s, &a->token, PBOOST_MAY(PBOOST_LEARNER), a->now,
                           err));
    if (a->q->head != NULL && *a->q->head != '\0') {
        if (pboost_digest_read(&head, a->q->head))
            TRY(pboost_chain_knows(&known, s, &head, err));
        if (!known)
            TRY(pboost_refuse(&out->problem, PBOOST_PROBLEM_LEDGER_ROLLBACK, err));
    }
    if (a->q->answer != l->rules.rules.answer)
        TRY(pboost_refuse(&out->problem, PBOOST_PROBLEM_ANSWER_KIND, err));
    TRY(find_answer(&stored, s, a->token.id, a->q->request_id, err));
    *answered = stored.found;
    a->entry = stored.entry;
    if (stored.found && !pboost_digest_equal(&stored.hash, &a->hash)) {
        pboost_reply_free(out);
        TRY(pboost_refuse(&out->problem, PBOOST_PROBLEM_REQUEST_CONFLICT, err));
    }
done:
    return st;
}

/* ---- Claiming -------------------------------------------------------------------------------- */

/* The slots of the ids in this token's scope; NO_NUMBER for all others. */
static void find_slots(uint32_t *slot, const pboost_ledger *ledger, const pboost_token *token,
                       const pboost_id *id, size_t n)
{
    const label_table *t = &ledger->labels;
    uint32_t scope = NO_NUMBER;

    if (token->scoped)
        scope = pboost_ids_find(&t->scopes, (pboost_id){token->scope, 0});
    for (size_t i = 0; i < n; i++) {
        slot[i] = pboost_ids_find(&t->ids, id[i]);
        if (slot[i] != NO_NUMBER &&
            (*pboost_labels_of(t, slot[i]) == NO_LABEL ||
             (token->scoped && (scope == NO_NUMBER || t->scope[slot[i]] != scope))))
            slot[i] = NO_NUMBER;
    }
}

typedef struct {
    const asking *a;
    label_table *labels;
    int64_t entry;
} claiming;

/* New uses of a unit are numbered after those it has in the row's share; new_uses counts them, and
 * the caller sets it to zero afterwards. */
static pboost_status use_row(void *user, store_value *value, size_t i, pboost_error *err)
{
    const claiming *c = user;
    label_table *t = c->labels;
    uint32_t slot = c->a->sorted[i];
    size_t at = pboost_labels_use(t, slot);
    (void)err;
    value[0] = value_number(t->unit[slot]);
    value[1] = value_number((int64_t)t->shares.first[pboost_labels_share(t, slot)] + t->uses[at] +
                            t->new_uses[at]++);
    value[2] = value_number(c->entry);
    return PBOOST_OK;
}

static pboost_status claim_rows(asking *a, pboost_ledger *l, int64_t entry, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    label_table *t = &l->labels;
    claiming c = {a, t, entry};
    store_bulk uses = {"ledger_unit_use", "iii", a->n, use_row, &c};

    TRY(pboost_claims_add(s, a->slot, a->n, t->n, err));
    if (t->units) {
        memcpy(a->sorted, a->slot, a->n * sizeof *a->slot);
        pboost_slots_sort(a->sorted, a->n);
        st = s->class->bulk(s, &uses, err);
        for (size_t i = 0; i < a->n; i++)
            t->new_uses[pboost_labels_use(t, a->slot[i])] = 0;
    }
done:
    return st;
}

/* ---- Answering ------------------------------------------------------------------------------- */

/* The sums of a bag: of each label column, or how many rows each class has. */
static void sum_bag(int64_t *total, const pboost_ledger *l, const uint32_t *slot, size_t size)
{
    const label_table *t = &l->labels;

    memset(total, 0, l->rules.rules.width * sizeof *total);
    if (l->rules.rules.answer == PBOOST_ANSWER_CLASSES)
        for (size_t i = 0; i < size; i++)
            total[*pboost_labels_of(t, slot[i])]++;
    else
        for (size_t i = 0; i < size; i++)
            for (size_t j = 0; j < t->columns; j++)
                total[j] += pboost_labels_of(t, slot[i])[j];
}

/* S + Z of every number of every bag.  The sums of all rows of a store are below 2^62 (see import),
 * and so is noise. */
static pboost_status answer_bags(asking *a, const pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const size_t *start = a->q->start;
    bool counts = l->rules.rules.answer == PBOOST_ANSWER_CLASSES;
    rng_source source;

    pboost_rng_source_system(&source);
    for (size_t b = 0; b < a->q->n_bags; b++) {
        unsigned char *released = a->released + b * RELEASED_BYTES(a->width);
        a->size[b] = start[b + 1] - start[b];
        sum_bag(a->total, l, a->slot + start[b], a->size[b]);
        for (size_t j = 0; j < a->width; j++) {
            TRY(pboost_number_release(&a->total[j], &l->number[j], &source, err));
            a->value[b * a->width + j] =
                counts ? (double)a->total[j]
                       : pboost_grid_mean(&l->number[j].grid, a->total[j], a->size[b]);
            pboost_put_number(released + 8 * j, (uint64_t)a->total[j], 8);
        }
        pboost_put_number(released + 8 * a->width, a->size[b], 8);
    }
done:
    pboost_rng_source_wipe(&source);
    return st;
}

/* Values as little-endian doubles, then the head. */
static pboost_status render_plain(void *user, unsigned char **body, size_t *length,
                                  const pboost_ledger_answer *answer, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    digest head;
    (void)user;

    size_t n = answer->n_bags * answer->width;
    *length = 8 * n + sizeof head.byte;
    NEED(*body = malloc(*length), err);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &answer->value[i], 8);
        pboost_put_number(*body + 8 * i, bits, 8);
    }
    if (!pboost_digest_read(&head, answer->head))
        FAIL(err, PBOOST_INTERNAL, "the head of the chain is not a hash");
    memcpy(*body + 8 * n, head.byte, sizeof head.byte);
done:
    return st;
}

static pboost_status render(pboost_reply *out, const asking *a, const pboost_ledger *l,
                            const digest *hash, pboost_error *err)
{
    pboost_render *with = a->q->render != NULL ? a->q->render : render_plain;
    char head[PBOOST_HEAD_TEXT];
    pboost_ledger_answer answer = {.request_id = a->q->request_id,
                                   .n_bags = a->q->n_bags,
                                   .size = a->size,
                                   .answer = l->rules.rules.answer,
                                   .width = a->width,
                                   .value = a->value,
                                   .dp = !l->rules.no_noise,
                                   .epsilon = l->rules.rules.epsilon,
                                   .head = head};

    pboost_digest_text(head, hash);
    out->format = a->q->format;
    return with(a->q->user, &out->body, &out->length, &answer, err);
}

static void describe_answer(record *data, const asking *a)
{
    digest slots = pboost_slots_hash(a->slot_bytes, SLOT_BYTES * a->n);
    digest released = pboost_hash_released(CHAIN_VERSION, a->nonce, a->released,
                                           RELEASED_BYTES(a->width) * a->q->n_bags);

    data->used = 0;
    pboost_record_number(data, (uint64_t)a->token.id);
    pboost_record_bytes(data, a->hash.byte, sizeof a->hash.byte);
    pboost_record_bytes(data, slots.byte, sizeof slots.byte);
    pboost_record_bytes(data, released.byte, sizeof released.byte);
    pboost_record_number(data, a->q->format);
    pboost_record_text(data, a->q->request_id);
}

static pboost_status store_answer(const pboost_reply *out, const asking *a, store *s,
                                  const chain_link *link, const chain_entry *entry,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_chain_append(s, link, entry, a->slot_bytes, SLOT_BYTES * a->n, err));
    TRY(RUN(s, "INSERT INTO ledger_answer VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", NULL, NULL, err,
            value_number(link->number), value_number(a->token.id), value_text(a->q->request_id),
            value_bytes(a->hash.byte, sizeof a->hash.byte),
            value_bytes(a->released, RELEASED_BYTES(a->width) * a->q->n_bags),
            value_number(a->q->format), value_bytes(out->body, out->length),
            value_bytes(a->nonce, NONCE_BYTES)));
    pboost_token token = a->token;
    TRY(pboost_token_spend(s, &token, a->n, err));
done:
    return st;
}

/* ---- The transaction ------------------------------------------------------------------------- */

static pboost_status judge_claim(pboost_reply *out, asking *a, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_token *token = &a->token;
    uint64_t quota = token->max_rows == 0                 ? UINT64_MAX
                     : token->max_rows > token->rows_used ? token->max_rows - token->rows_used
                                                          : 0;
    claim c = {a->q->n_bags, a->n, a->q->start, a->slot};

    TRY(pboost_refusals_check(out, l, token, err));
    find_slots(a->slot, l, token, a->q->id, a->n);
    TRY(pboost_claim_judge(out, &l->rules, &l->labels, &c, quota, err));
done:
    return st;
}

static pboost_status answer_question(pboost_reply *out, asking *a, pboost_ledger *l,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    record data;

    TRY(judge_claim(out, a, l, err));
    TRY(claim_rows(a, l, l->labels.link.number + 1, err));
    TRY(answer_bags(a, l, err));
    TRY(pboost_draw_bytes(a->nonce, NONCE_BYTES, err));
    pboost_slots_write(a->slot_bytes, a->slot, a->n);
    describe_answer(&data, a);
    chain_entry entry = {"answer", a->now, a->n, a->q->n_bags, data.byte, data.used};
    chain_link link = pboost_chain_next(&l->labels.link, &entry);
    TRY(render(out, a, l, &link.hash, err));
    pboost_chain_seal(&link, a->nonce, out->body, out->length);
    TRY(store_answer(out, a, s, &link, &entry, err));
    TRY(pboost_store_commit(s, err));
    pboost_labels_spend(&l->labels, a->slot, a->n, true);
    l->labels.link = link;
    a->entry = link.number;
done:
    return st;
}

/* Whether the refusal is one to be recorded; what the limit itself refuses would only cost writes.
 */
static bool is_recorded(const pboost_reply *out)
{
    return out->problem != PBOOST_PROBLEM_NONE && out->problem != PBOOST_PROBLEM_REFUSAL_LIMIT;
}

/* A constraint that forbids what the rules allow means that the copy in memory is wrong. */
static pboost_status ask_once(pboost_reply *out, asking *a, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool answered = false;

    TRY(pboost_side_enter(l, &l->write, true, err));
    TRY(pboost_labels_refresh(&l->labels, l->write.store, err));
    if (l->labels.link.number < l->witness.covered) {
        st = pboost_store_break(l->write.store, err, "%s", STORE_EXCHANGED);
        goto done;
    }
    TRY(recall(&answered, out, a, l, err));
    if (!answered)
        TRY(answer_question(out, a, l, err));
done:
    if (st == PBOOST_REFUSED && out->problem == PBOOST_PROBLEM_NONE)
        l->labels.valid = false;
    if (st == PBOOST_REFUSED && is_recorded(out)) {
        pboost_status recorded = pboost_refusal_record(out, l, &a->token, err);
        if (recorded != PBOOST_OK) { /* then it is not told */
            st = recorded;
            pboost_reply_free(out);
        }
    }
    pboost_side_leave(&l->write);
    return st;
}

pboost_status pboost_ledger_ask(pboost_reply *out, pboost_ledger *ledger,
                                const pboost_question *question, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    asking a = {.q = question};

    *out = (pboost_reply){0};
    TRY(prepare(&a, ledger, out, err));
    st = ask_once(out, &a, ledger, err);
    if (st == PBOOST_REFUSED && out->problem == PBOOST_PROBLEM_NONE) {
        pboost_reply_free(out);
        st = ask_once(out, &a, ledger, err);
    }
    if (st == PBOOST_REFUSED && out->problem == PBOOST_PROBLEM_NONE)
        FAIL(err, PBOOST_INTERNAL, "the store forbids what the rules allow");
    if (st == PBOOST_OK)
        TRY(pboost_ledger_cover(ledger, a.entry, err));
done:
    if (st != PBOOST_OK) {
        free(out->body);
        out->body = NULL;
        out->length = 0;
    }
    free_asking(&a);
    return st;
}

/* ---- Looking up ------------------------------------------------------------------------------ */

pboost_status pboost_ledger_find_length(size_t *out, pboost_ledger *ledger,
                                        const pboost_token *token, const char *request_id,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t length = 0;

    *out = 0;
    if (!pboost_name_valid(request_id))
        return PBOOST_OK;
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(RUN(ledger->read.store,
            "SELECT CAST(length(body) AS BIGINT) FROM ledger_answer"
            " WHERE token = $1 AND request = $2",
            pboost_store_number, &length, err, value_number(token->id), value_text(request_id)));
    *out = (size_t)length;
done:
    pboost_side_leave(&ledger->read);
    return st;
}

pboost_status pboost_ledger_find(pboost_reply *out, bool *found, pboost_ledger *ledger,
                                 const pboost_token *token, const char *request_id,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    stored_answer stored = {.reply = out};

    *out = (pboost_reply){0};
    *found = false;
    if (!pboost_name_valid(request_id))
        return PBOOST_OK;
    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(find_answer(&stored, ledger->read.store, token->id, request_id, err));
    *found = stored.found;
done:
    pboost_side_leave(&ledger->read);
    if (st == PBOOST_OK && *found)
        st = pboost_ledger_cover(ledger, stored.entry, err);
    if (st != PBOOST_OK)
        pboost_reply_free(out);
    return st;
}

pboost_status pboost_ledger_available(bool *available, pboost_ledger *ledger,
                                      const pboost_token *token, const pboost_id *id, size_t n,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const label_table *t = &ledger->labels;
    uint32_t *slot = NULL;

    memset(available, 0, n * sizeof *available);
    TRY(pboost_side_enter(ledger, &ledger->write, false, err));
    NEED(slot = pboost_alloc(n, sizeof *slot), err);
    TRY(pboost_labels_refresh(&ledger->labels, ledger->write.store, err));
    find_slots(slot, ledger, token, id, n);
    for (size_t i = 0; i < n; i++)
        available[i] = slot[i] != NO_NUMBER && !pboost_labels_spent(t, slot[i]) &&
                       (!t->units || t->uses[pboost_labels_use(t, slot[i])] <
                                         pboost_labels_most_uses(t, slot[i]));
done:
    pboost_side_leave(&ledger->write);
    free(slot);
    return st;
}

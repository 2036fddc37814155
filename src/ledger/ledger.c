/* A question, answered in one transaction.
 *
 * Claim the rows, sum, draw noise, store the reply's bytes, append to the chain, commit; then sync
 * the store, write to the witness and sync it; only then is the reply sent.  A failure before the
 * commit undoes all of it, and so does a power failure before the sync.  The noise that was drawn
 * is then lost together with its claim, so a client never sees two draws for one question.
 *
 * The store is not locked while the disk works, so that clients who wait at the same time share the
 * syncs (pboost_ledger_cover).  A retry that finds the answer waits in the same way.
 *
 * Where the oracle has several stores, each claims its own rows in a thread of its own, and the
 * sums of all meet in memory before the noise is drawn, once.  The other stores commit their claims
 * first, durably, the store with the reply last.  So an answer that exists has all its claims; if
 * the process ends in between, the claims that were committed stay, the question has no answer, and
 * a retry is refused, because nobody could tell whether an answer was once there.
 *
 * Rows are checked twice.  The copy in memory, brought up to date under the store's write lock,
 * says which rows are at fault; the store's own record (claims.c) forbids a second claim even if
 * the copy is wrong. */
#include <string.h>

#include "shards.h"
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
struct asking {
    const pboost_question *q;
    size_t n; /* rows */
    digest hash;
    pboost_token token;
    size_t n_shards;
    shard *shard; /* by store; the first one has the reply */
    size_t width; /* numbers in an answer */
    size_t *size;
    double *value;
    int64_t now; /* when the token was found to be valid, and of the entry */
};

static void free_asking(asking *a)
{
    for (size_t i = 0; i < a->n_shards; i++)
        pboost_shard_clear(&a->shard[i]);
    free(a->shard);
    free(a->size);
    free(a->value);
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

/* Work that needs no store is divided by bags: the first of the range of shard i. */
static size_t range_start(const asking *a, size_t i)
{
    return a->q->n_bags * i / a->n_shards;
}

/* A range of the bags, as many as there are threads: see hash_question. */
static pboost_status hash_range(asking *a, shard *h, pboost_error *err)
{
    const pboost_question *q = a->q;
    size_t range = (size_t)(h - a->shard);
    size_t first = range_start(a, range), end = range_start(a, range + 1);
    unsigned char canonical[ID_CANONICAL_MAX];
    hasher s;
    (void)err;

    pboost_hash_start(&s, "priorboost question 1");
    pboost_hash_number(&s, q->format);
    pboost_hash_number(&s, end - first);
    for (size_t b = first; b < end; b++)
        pboost_hash_number(&s, q->start[b + 1]);
    for (size_t i = q->start[first]; i < q->start[end]; i++)
        pboost_hash_bytes(&s, canonical, pboost_id_canonical(canonical, q->id[i]));
    h->question = pboost_hash_end(&s);
    return PBOOST_OK;
}

/* Two questions are the same if they have the same format, bags and ids in order.  The head does
 * not count: it changes with every answer.  An oracle with several stores hashes as many ranges of
 * the bags, and then their hashes. */
static pboost_status hash_question(asking *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    hasher s;

    TRY(pboost_shards_each(a, a->shard, a->n_shards, hash_range, err));
    a->hash = a->shard->question;
    if (a->n_shards == 1)
        goto done;
    pboost_hash_start(&s, "priorboost question 2");
    pboost_hash_number(&s, a->q->n_bags);
    for (size_t i = 0; i < a->n_shards; i++)
        pboost_hash_bytes(&s, a->shard[i].question.byte, sizeof(digest));
    a->hash = pboost_hash_end(&s);
done:
    return st;
}

static pboost_status prepare(asking *a, pboost_ledger *l, pboost_reply *out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_question *q = a->q;

    if (!well_formed(q)) {
        st = pboost_refuse(&out->problem, PBOOST_PROBLEM_MALFORMED, err);
        goto done;
    }
    a->n = q->start[q->n_bags];
    a->width = l->rules.rules.width;
    NEED(a->size = pboost_alloc(q->n_bags, sizeof *a->size), err);
    NEED(a->value = pboost_alloc(q->n_bags, a->width * sizeof *a->value), err);
    NEED(a->shard = calloc(1 + l->n_others, sizeof *a->shard), err);
    a->n_shards = 1 + l->n_others;
    for (size_t i = 0; i < a->n_shards; i++)
        a->shard[i] = (shard){.l = pboost_ledger_store(l, i), .entry = -1};
    TRY(hash_question(a, err));
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
    for (size_t i = 0; stored.found && i < a->n_shards; i++) /* the claims came before */
        a->shard[i].entry = i == 0 ? stored.entry : INT64_MAX;
    if (stored.found && !pboost_digest_equal(&stored.hash, &a->hash)) {
        pboost_reply_free(out);
        TRY(pboost_refuse(&out->problem, PBOOST_PROBLEM_REQUEST_CONFLICT, err));
    }
done:
    return st;
}

/* ---- Claiming -------------------------------------------------------------------------------- */

typedef struct {
    const shard *h;
    label_table *labels;
    int64_t entry;
} claiming;

/* New uses of a unit are numbered after those it has in the row's share; new_uses counts them, and
 * the caller sets it to zero afterwards. */
static pboost_status use_row(void *user, store_value *value, size_t i, pboost_error *err)
{
    const claiming *c = user;
    label_table *t = c->labels;
    uint32_t slot = c->h->sorted[i];
    size_t at = pboost_labels_use(t, slot);
    (void)err;
    value[0] = value_number(t->unit[slot]);
    value[1] = value_number((int64_t)t->shares.first[pboost_labels_share(t, slot)] + t->uses[at] +
                            t->new_uses[at]++);
    value[2] = value_number(c->entry);
    return PBOOST_OK;
}

static pboost_status claim_rows(const shard *h, int64_t entry, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = h->l->write.store;
    label_table *t = &h->l->labels;
    claiming c = {h, t, entry};
    store_bulk uses = {"ledger_unit_use", "iii", h->n, use_row, &c};

    TRY(pboost_claims_add(s, h->slot, h->n, t->n, err));
    if (t->units) {
        memcpy(h->sorted, h->slot, h->n * sizeof *h->slot);
        pboost_slots_sort(h->sorted, h->n);
        st = s->class->bulk(s, &uses, err);
        for (size_t i = 0; i < h->n; i++)
            t->new_uses[pboost_labels_use(t, h->slot[i])] = 0;
    }
done:
    return st;
}

/* ---- Answering ------------------------------------------------------------------------------- */

/* The sums of a bag's rows in this store: of each label column, or how many rows each class has. */
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

/* S + Z of every number of every bag.  The sums of all rows of all stores are below 2^62 (see
 * import), and so is noise.  The sums of one store leave this process in no form.  Each thread has
 * a range of the bags to itself. */
static pboost_status answer_bags(asking *a, shard *h, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const shard *own = a->shard;
    const pboost_ledger *l = own->l;
    size_t bag_bytes = RELEASED_BYTES(a->width, l->rules.stores), range = (size_t)(h - own);
    size_t first = range_start(a, range), end = range_start(a, range + 1);
    bool counts = l->rules.rules.answer == PBOOST_ANSWER_CLASSES;
    rng_source source;

    pboost_rng_source_system(&source);
    for (size_t b = first; b < end; b++) {
        unsigned char *released = own->released + b * bag_bytes;
        a->size[b] = a->q->start[b + 1] - a->q->start[b];
        for (size_t j = 0; j < a->width; j++) {
            int64_t *total = &own->total[b * a->width + j];
            for (size_t i = 1; i < a->n_shards; i++)
                *total += a->shard[i].total[b * a->width + j];
            TRY(pboost_number_release(total, &l->number[j], &source, err));
            a->value[b * a->width + j] =
                counts ? (double)*total : pboost_grid_mean(&l->number[j].grid, *total, a->size[b]);
            pboost_put_number(released + 8 * j, (uint64_t)*total, 8);
        }
        pboost_put_number(released + 8 * a->width, a->size[b], 8);
        if (l->rules.stores > 0)
            pboost_put_number(released + 8 * (a->width + 1), own->start[b + 1] - own->start[b], 8);
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

/* An answer's entry, or the one of another store that has rows of it; the answer counts the rows
 * that other stores have. */
static void describe_answer(record *data, const asking *a, const shard *h)
{
    digest slots = pboost_slots_hash(h->slot_bytes, SLOT_BYTES * h->n);
    digest released =
        pboost_hash_released(CHAIN_VERSION, h->nonce, h->released, h->released_length);

    data->used = 0;
    pboost_record_number(data, (uint64_t)a->token.id);
    pboost_record_bytes(data, a->hash.byte, sizeof a->hash.byte);
    pboost_record_bytes(data, slots.byte, sizeof slots.byte);
    pboost_record_bytes(data, released.byte, sizeof released.byte);
    pboost_record_number(data, a->q->format);
    pboost_record_text(data, a->q->request_id);
    if (h->l->rules.stores > 0 && h == a->shard)
        pboost_record_number(data, a->n - h->n);
}

static pboost_status store_answer(const pboost_reply *out, const asking *a, const shard *h,
                                  const chain_entry *entry, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = h->l->write.store;

    TRY(pboost_chain_append(s, &h->link, entry, h->slot_bytes, SLOT_BYTES * h->n, err));
    TRY(RUN(s, "INSERT INTO ledger_answer VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", NULL, NULL, err,
            value_number(h->link.number), value_number(a->token.id), value_text(a->q->request_id),
            value_bytes(a->hash.byte, sizeof a->hash.byte),
            value_bytes(h->released, h->released_length), value_number(a->q->format),
            value_bytes(out->body, out->length), value_bytes(h->nonce, NONCE_BYTES)));
done:
    return st;
}

/* ---- The transaction ------------------------------------------------------------------------- */

static pboost_status enter(pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_side_enter(l, &l->write, true, err));
    TRY(pboost_labels_refresh(&l->labels, l->write.store, err));
    if (l->labels.link.number < l->witness.covered)
        st = pboost_store_break(l->write.store, err, "%s", STORE_EXCHANGED);
done:
    return st;
}

/* The first store has recalled the request already. */
static pboost_status judge_shard(asking *a, shard *h, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool first = h == a->shard;
    const pboost_token *token = &a->token;
    uint64_t quota = token->max_rows == 0                 ? UINT64_MAX
                     : token->max_rows > token->rows_used ? token->max_rows - token->rows_used
                                                          : 0;
    int64_t begun = 0;

    if (!first) {
        h->entered = true;
        TRY(enter(h->l, err));
        TRY(RUN(h->l->write.store,
                "SELECT count(*) FROM ledger_answer WHERE token = $1 AND request = $2",
                pboost_store_number, &begun, err, value_number(token->id),
                value_text(a->q->request_id)));
        if (begun > 0) {
            h->judged.problem = PBOOST_PROBLEM_REQUEST_INCOMPLETE;
            return PBOOST_OK;
        }
    }
    TRY(pboost_shard_find(h, token, a->q, err));
    claim c = {a->q->n_bags, h->n, h->start, h->slot, h->position, first ? a->q->start : NULL};
    TRY(pboost_claim_judge(&h->judged, &h->l->rules, &h->l->labels, &c, quota, err));
done:
    return st;
}

/* Nothing is written before all stores have agreed. */
static pboost_status claim_shard(asking *a, shard *h, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_reply nothing = {0};
    record data;

    TRY(pboost_shard_room(h, a->q, h == a->shard, err));
    TRY(claim_rows(h, h->l->labels.link.number + 1, err));
    for (size_t b = 0; b < a->q->n_bags; b++)
        sum_bag(h->total + b * a->width, h->l, h->slot + h->start[b],
                h->start[b + 1] - h->start[b]);
    pboost_slots_write(h->slot_bytes, h->slot, h->n);
    TRY(pboost_draw_bytes(h->nonce, NONCE_BYTES, err));
    if (h == a->shard || h->n == 0)
        goto done;
    for (size_t b = 0; b < a->q->n_bags; b++)
        pboost_put_number(h->released + 8 * b, h->start[b + 1] - h->start[b], 8);
    describe_answer(&data, a, h);
    chain_entry entry = {"claim", a->now, h->n, a->q->n_bags, data.byte, data.used};
    h->link = pboost_chain_next(&h->l->labels.link, &entry);
    pboost_chain_seal(&h->link, h->nonce, NULL, 0);
    TRY(store_answer(&nothing, a, h, &entry, err));
done:
    return st;
}

static pboost_status commit_shard(asking *a, shard *h, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = h->l->write.store;

    if (h->n == 0 && h != a->shard)
        return PBOOST_OK;
    TRY(h == a->shard ? pboost_store_commit_unsynced(s, err) : pboost_store_commit(s, err));
    pboost_labels_spend(&h->l->labels, h->slot, h->n, true);
    h->l->labels.link = h->link;
    h->entry = h->link.number;
done:
    return st;
}

/* Before the reply leaves, each store and its witness have its entry on the disk. */
static pboost_status cover_shard(asking *a, shard *h, pboost_error *err)
{
    (void)a;
    return pboost_ledger_cover(h->l, h->entry, err);
}

/* What all stores found, and rows that none of them has, or two. */
static pboost_status judge_claim(pboost_reply *out, asking *a, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_refusals_check(out, l, &a->token, err));
    TRY(pboost_shards_each(a, a->shard, a->n_shards, judge_shard, err));
    if (a->n_shards > 1 && l->rules.units)
        TRY(pboost_shards_unknown(out, a->shard, a->n_shards, a->n, err));
    for (size_t i = 0; i < a->n_shards; i++)
        pboost_claims_merge(out, &a->shard[i].judged);
    TRY(pboost_claim_refuse(out, err));
done:
    return st;
}

static pboost_status answer_question(pboost_reply *out, asking *a, pboost_ledger *l,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    shard *own = a->shard;
    pboost_token token = a->token;
    record data;

    TRY(judge_claim(out, a, l, err));
    TRY(pboost_shards_each(a, own, a->n_shards, claim_shard, err));
    TRY(pboost_shards_each(a, own, a->n_shards, answer_bags, err));
    describe_answer(&data, a, own);
    chain_entry entry = {"answer", a->now, own->n, a->q->n_bags, data.byte, data.used};
    own->link = pboost_chain_next(&l->labels.link, &entry);
    TRY(render(out, a, l, &own->link.hash, err));
    pboost_chain_seal(&own->link, own->nonce, out->body, out->length);
    TRY(store_answer(out, a, own, &entry, err));
    TRY(pboost_token_spend(l->write.store, &token, a->n, err));
    TRY(pboost_shards_each(a, own + 1, a->n_shards - 1, commit_shard, err));
    TRY(commit_shard(a, own, err));
done:
    return st;
}

/* Whether the refusal is one to be recorded; what the limit itself refuses would only cost writes.
 */
static bool is_recorded(const pboost_reply *out)
{
    return out->problem != PBOOST_PROBLEM_NONE && out->problem != PBOOST_PROBLEM_REFUSAL_LIMIT;
}

static void leave(asking *a, bool reread)
{
    for (size_t i = a->n_shards; i-- > 0;) {
        shard *h = &a->shard[i];
        if (reread)
            h->l->labels.valid = false;
        if (h->entered)
            pboost_side_leave(&h->l->write);
        pboost_shard_clear(h);
    }
}

/* A constraint that forbids what the rules allow means that the copy in memory is wrong. */
static pboost_status ask_once(pboost_reply *out, asking *a, pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool answered = false;

    a->shard->entered = true;
    TRY(enter(l, err));
    TRY(recall(&answered, out, a, l, err));
    if (!answered)
        TRY(answer_question(out, a, l, err));
done:
    if (st == PBOOST_REFUSED && is_recorded(out)) {
        pboost_status recorded = pboost_refusal_record(out, l, &a->token, err);
        if (recorded != PBOOST_OK) { /* then it is not told */
            st = recorded;
            pboost_reply_free(out);
        }
    }
    leave(a, st == PBOOST_REFUSED && out->problem == PBOOST_PROBLEM_NONE);
    return st;
}

pboost_status pboost_ledger_ask(pboost_reply *out, pboost_ledger *ledger,
                                const pboost_question *question, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    asking a = {.q = question};

    *out = (pboost_reply){0};
    TRY(pboost_ledger_check_whole(ledger, err));
    TRY(prepare(&a, ledger, out, err));
    st = ask_once(out, &a, ledger, err);
    if (st == PBOOST_REFUSED && out->problem == PBOOST_PROBLEM_NONE) {
        pboost_reply_free(out);
        st = ask_once(out, &a, ledger, err);
    }
    if (st == PBOOST_REFUSED && out->problem == PBOOST_PROBLEM_NONE)
        FAIL(err, PBOOST_INTERNAL, "the store forbids what the rules allow");
    if (st == PBOOST_OK)
        TRY(pboost_shards_each(&a, a.shard, a.n_shards, cover_shard, err));
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
    for (size_t i = ledger->n_others; st == PBOOST_OK && *found && i > 0; i--)
        st = pboost_ledger_cover(pboost_ledger_store(ledger, i), INT64_MAX, err);
    if (st == PBOOST_OK && *found)
        st = pboost_ledger_cover(ledger, stored.entry, err);
    if (st != PBOOST_OK)
        pboost_reply_free(out);
    return st;
}

/* The audit: everything the store says about itself, computed again.
 *
 * The chain is followed from the rules to the head; each answer's claims, sizes, released numbers
 * and reply are compared to what the chain hashed; claims, uses of units and quotas to what the
 * answers add up to; and where there is no noise, sums to the labels.  Labels under noise cannot be
 * checked: the chain holds no hash of them, since a hash of a few possible values would tell
 * which. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

typedef struct {
    int64_t first, n;
    digest rows;
} import_entry;

typedef struct {
    pboost_audit *out;
    const pboost_ledger *ledger;
    const label_table *labels; /* NULL: they could not be read */
    chain_link link;
    uint32_t *claimed; /* by slot: 1 + the entry that claimed it */
    uint32_t *uses;    /* by unit and share */
    uint32_t *bag;     /* by unit: 1 + number of the bag it was last in, over all answers */
    uint64_t n_claimed;
    import_entry *import;
    size_t n_imports, import_capacity;
    size_t at_import; /* while rows are read again */
    hasher rows;
    uint64_t token_rows; /* while tokens are read */
} auditing;

PBOOST_PRINTF(2, 3) static void found(auditing *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (a->out->problems++ == 0)
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): wrong when it reads several files */
        vsnprintf(a->out->first_problem, sizeof a->out->first_problem, format, args);
    va_end(args);
}

static uint64_t number_at(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number |= (uint64_t)byte[i] << 8 * i;
    return number;
}

static bool hashes_to(const char *what, const store_value *bytes, const void *expected)
{
    hasher h;
    pboost_hash_start(&h, what);
    pboost_hash_block(&h, bytes->data, bytes->length);
    digest d = pboost_hash_end(&h);
    return memcmp(d.byte, expected, sizeof d.byte) == 0;
}

/* ---- Answers --------------------------------------------------------------------------------- */

enum { NUMBER, KIND, TIME, ROWS, BAGS, DATA, HASH, SEAL, SLOTS };
enum { TOKEN = SLOTS + 1, REQUEST, QUESTION, RELEASED, FORMAT, BODY };
enum { RELEASED_BYTES = 16 };

/* The parts of an answer against the hashes in its entry: see describe_answer in ledger.c. */
static bool parts_agree(const store_value *value)
{
    const unsigned char *data = value[DATA].data;
    size_t fixed = 8 + 3 * sizeof(digest) + 8;

    return value[TOKEN].kind == VALUE_NUMBER && value[REQUEST].kind == VALUE_TEXT &&
           value[QUESTION].length == sizeof(digest) &&
           value[DATA].length == fixed + value[REQUEST].length + 1 &&
           number_at(data, 8) == (uint64_t)value[TOKEN].number &&
           memcmp(data + 8, value[QUESTION].data, sizeof(digest)) == 0 &&
           hashes_to("priorboost slots 1", &value[SLOTS], data + 8 + sizeof(digest)) &&
           hashes_to("priorboost released 1", &value[RELEASED], data + 8 + 2 * sizeof(digest)) &&
           number_at(data + fixed - 8, 8) == (uint64_t)value[FORMAT].number &&
           memcmp(data + fixed, value[REQUEST].data, value[REQUEST].length + 1) == 0;
}

static void claim_slot(auditing *a, int64_t entry, uint32_t slot, bool answered)
{
    const label_table *t = a->labels;

    if (slot >= t->n) {
        found(a, "entry %lld claims a row that is not in the store", (long long)entry);
        return;
    }
    if (a->claimed[slot] != 0 && answered)
        found(a, "a row was answered for twice, by entries %u and %lld", a->claimed[slot] - 1,
              (long long)entry);
    if (a->claimed[slot] == 0) {
        a->claimed[slot] = (uint32_t)entry + 1;
        a->n_claimed++;
    }
}

static void use_unit(auditing *a, int64_t entry, uint32_t slot)
{
    const label_table *t = a->labels;

    if (!t->units || slot >= t->n)
        return;
    uint32_t unit = t->unit[slot];
    if (++a->uses[pboost_labels_use(t, slot)] >
        pboost_shares_rows(&t->shares, pboost_labels_share(t, slot)))
        found(a, "a unit was used more often than the rules allow, last by entry %lld",
              (long long)entry);
    if (a->bag[unit] == a->out->bags + 1)
        found(a, "a bag of entry %lld holds two rows of one unit", (long long)entry);
    a->bag[unit] = (uint32_t)a->out->bags + 1;
}

/* One bag: its size, its rows, and its sum where that can be known. */
static void audit_bag(auditing *a, int64_t entry, const unsigned char *slots, size_t size,
                      int64_t released)
{
    const label_table *t = a->labels;
    bool known = a->ledger->rules.no_noise;
    int64_t sum = 0;

    if (size < a->ledger->rules.rules.min_bag)
        found(a, "a bag of entry %lld has %zu rows", (long long)entry, size);
    for (size_t i = 0; i < size; i++) {
        uint32_t slot = (uint32_t)number_at(slots + 4 * i, 4);
        claim_slot(a, entry, slot, true);
        use_unit(a, entry, slot);
        known = known && slot < t->n && t->label[slot] != NO_LABEL;
        if (known)
            sum += t->label[slot];
    }
    if (known && sum != released)
        found(a, "a bag of entry %lld was answered with another sum than its labels have",
              (long long)entry);
    a->out->sums += known;
    a->out->bags++;
}

static void audit_answer(auditing *a, const store_value *value)
{
    int64_t entry = value[NUMBER].number;
    size_t rows = value[SLOTS].length / 4, bags = value[RELEASED].length / RELEASED_BYTES, at = 0;
    const unsigned char *released = value[RELEASED].data, *slots = value[SLOTS].data;

    if (!parts_agree(value) || rows != (uint64_t)value[ROWS].number ||
        bags != (uint64_t)value[BAGS].number || value[SLOTS].length % 4 != 0 ||
        value[RELEASED].length % RELEASED_BYTES != 0) {
        found(a, "the answer of entry %lld is not the one that the chain knows", (long long)entry);
        return;
    }
    a->out->answers++;
    a->out->rows += rows;
    if (a->labels == NULL)
        return;
    for (size_t b = 0; b < bags; b++) {
        uint64_t size = number_at(released + b * RELEASED_BYTES + 8, 8);
        if (size > rows - at) {
            found(a, "the bags of entry %lld have more rows than it claims", (long long)entry);
            return;
        }
        audit_bag(a, entry, slots + 4 * at, size,
                  (int64_t)number_at(released + b * RELEASED_BYTES, 8));
        at += size;
    }
    if (at != rows)
        found(a, "entry %lld claims more rows than its bags have", (long long)entry);
}

/* ---- Other entries --------------------------------------------------------------------------- */

static void audit_forget(auditing *a, const store_value *value)
{
    int64_t entry = value[NUMBER].number;

    if (value[DATA].length != sizeof(digest) ||
        !hashes_to("priorboost slots 1", &value[SLOTS], value[DATA].data)) {
        found(a, "the erasure of entry %lld is not the one that the chain knows", (long long)entry);
        return;
    }
    for (size_t i = 0; a->labels != NULL && i < value[SLOTS].length / 4; i++) {
        uint32_t slot = (uint32_t)number_at((const char *)value[SLOTS].data + 4 * i, 4);
        claim_slot(a, entry, slot, false);
        if (slot < a->labels->n && a->labels->label[slot] != NO_LABEL)
            found(a, "a label that entry %lld erased is there", (long long)entry);
    }
}

static pboost_status audit_import(auditing *a, const store_value *value, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (value[DATA].length != 8 + sizeof(digest)) {
        found(a, "the import of entry %lld makes no sense", (long long)value[NUMBER].number);
        return PBOOST_OK;
    }
    if (a->n_imports == a->import_capacity) {
        size_t capacity = 2 * a->import_capacity + 16;
        import_entry *import;
        NEED(import = realloc(a->import, capacity * sizeof *import), err);
        a->import = import;
        a->import_capacity = capacity;
    }
    import_entry *import = &a->import[a->n_imports++];
    import->first = (int64_t)number_at(value[DATA].data, 8);
    import->n = value[ROWS].number;
    memcpy(import->rows.byte, (const char *)value[DATA].data + 8, sizeof(digest));
done:
    return st;
}

static pboost_status audit_entry(void *user, const store_value *value, size_t n, pboost_error *err)
{
    auditing *a = user;
    int64_t number = value[NUMBER].number;
    const char *kind = value[KIND].kind == VALUE_TEXT ? value[KIND].data : "";
    chain_entry entry = {kind,
                         value[TIME].number,
                         (uint64_t)value[ROWS].number,
                         (uint64_t)value[BAGS].number,
                         value[DATA].data,
                         value[DATA].length};
    chain_link link = pboost_chain_next(&a->link, &entry);
    (void)n;

    pboost_chain_seal(&link, value[BODY].data, value[BODY].length);
    if (number != link.number)
        found(a, "entry %lld of the chain is missing", (long long)link.number);
    else if (value[HASH].length != sizeof(digest) || value[SEAL].length != sizeof(digest) ||
             memcmp(value[HASH].data, link.hash.byte, sizeof(digest)) != 0)
        found(a, "entry %lld was changed: its hash is another", (long long)number);
    else if (memcmp(value[SEAL].data, link.seal.byte, sizeof(digest)) != 0)
        found(a, "the reply of entry %lld was changed: its seal is another", (long long)number);
    link.number = number; /* go on as the store does, to count what is wrong beyond */
    if (value[HASH].length == sizeof(digest))
        memcpy(link.hash.byte, value[HASH].data, sizeof(digest));
    if (value[SEAL].length == sizeof(digest))
        memcpy(link.seal.byte, value[SEAL].data, sizeof(digest));
    a->link = link;
    a->out->entries++;
    if ((strcmp(kind, "answer") == 0) != (value[TOKEN].kind == VALUE_NUMBER))
        found(a, "entry %lld and its answer do not belong together", (long long)number);
    else if (strcmp(kind, "answer") == 0)
        audit_answer(a, value);
    else if (strcmp(kind, "forget") == 0)
        audit_forget(a, value);
    else if (strcmp(kind, "import") == 0)
        return audit_import(a, value, err);
    return PBOOST_OK;
}

/* ---- What the entries add up to -------------------------------------------------------------- */

static pboost_status audit_claim(void *user, const store_value *value, size_t n, pboost_error *err)
{
    auditing *a = user;
    int64_t slot = value[0].number;
    (void)n, (void)err;

    if (slot < 0 || slot >= (int64_t)a->labels->n ||
        a->claimed[slot] != (uint32_t)value[1].number + 1)
        found(a, "the claim of row %lld is not that of an entry", (long long)slot);
    else
        a->n_claimed--;
    return PBOOST_OK;
}

static pboost_status audit_use(void *user, const store_value *value, size_t n, pboost_error *err)
{
    auditing *a = user;
    const unit_shares *shares = &a->labels->shares;
    uint32_t share = pboost_shares_of_use(shares, value[1].number);
    (void)n, (void)err;

    if (value[0].number < 0 || value[0].number >= (int64_t)a->labels->n_units ||
        share == NO_NUMBER || a->uses[(size_t)value[0].number * shares->n + share]-- == 0)
        found(a, "unit %lld was not used as often as the store says", (long long)value[0].number);
    return PBOOST_OK;
}

/* slot, id, unit, scope: each import's rows must hash to what its entry says. */
static pboost_status audit_row(void *user, const store_value *value, size_t n, pboost_error *err)
{
    auditing *a = user;
    (void)n, (void)err;

    while (a->at_import < a->n_imports &&
           value[0].number >= a->import[a->at_import].first + a->import[a->at_import].n)
        a->at_import++;
    if (a->at_import == a->n_imports || value[0].number < a->import[a->at_import].first ||
        value[1].kind != VALUE_TEXT) {
        found(a, "row %lld was never imported", (long long)value[0].number);
        return PBOOST_OK;
    }
    const import_entry *import = &a->import[a->at_import];
    if (value[0].number == import->first)
        pboost_hash_start(&a->rows, "priorboost rows 1");
    pboost_hash_row(&a->rows, (pboost_id){value[1].data, 0},
                    value[2].kind == VALUE_NUMBER ? (uint32_t)value[2].number : NO_NUMBER,
                    value[3].kind == VALUE_NUMBER ? (uint32_t)value[3].number : NO_NUMBER);
    if (value[0].number == import->first + import->n - 1) {
        digest d = pboost_hash_end(&a->rows);
        if (!pboost_digest_equal(&d, &import->rows))
            found(a, "the rows from %lld on are not those that were imported",
                  (long long)import->first);
        a->out->rows_imported += (uint64_t)import->n;
    }
    return PBOOST_OK;
}

/* name, rows_used, rows answered for */
static pboost_status audit_token(void *user, const store_value *value, size_t n, pboost_error *err)
{
    auditing *a = user;
    (void)n, (void)err;

    if (value[1].number != value[2].number)
        found(a, "token %.60s has had %lld rows, not %lld", (const char *)value[0].data,
              (long long)value[2].number, (long long)value[1].number);
    return PBOOST_OK;
}

static pboost_status audit_sums(auditing *a, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t imported = 0;

    for (size_t i = 0; i < a->n_imports; i++)
        imported += (uint64_t)a->import[i].n;
    TRY(s->class->run(s, "SELECT slot, id, unit, scope FROM ledger_row ORDER BY slot", NULL, 0,
                      audit_row, a, err));
    if (a->out->rows_imported != imported)
        found(a, "the store lacks rows that were imported");
    TRY(s->class->run(s,
                      "SELECT t.name, t.rows_used, CAST(coalesce((SELECT sum(e.rows) FROM"
                      " ledger_entry e JOIN ledger_answer a ON a.entry = e.number"
                      " WHERE a.token = t.token), 0) AS BIGINT) FROM ledger_token t",
                      NULL, 0, audit_token, a, err));
    if (a->labels == NULL)
        goto done;
    TRY(s->class->run(s, "SELECT slot, entry FROM ledger_claim", NULL, 0, audit_claim, a, err));
    if (a->n_claimed != 0)
        found(a, "%llu rows of answers are not marked as claimed",
              (unsigned long long)a->n_claimed);
    TRY(s->class->run(s, "SELECT unit, use FROM ledger_unit_use", NULL, 0, audit_use, a, err));
    for (size_t u = 0; u < a->labels->n_units * a->labels->shares.n; u++)
        if (a->uses[u] != 0) {
            found(a, "uses of unit %zu are missing", u / a->labels->shares.n);
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
    if (st == PBOOST_BAD_DATA) {
        found(a, "%s", why.message);
        return PBOOST_OK;
    }
    if (st != PBOOST_OK)
        FAIL(err, st, "%s", why.message);
    a->labels = &l->labels;
    NEED(a->claimed = calloc(l->labels.n + 1, sizeof *a->claimed), err);
    NEED(a->uses = calloc(l->labels.n_units * l->labels.shares.n + 1, sizeof *a->uses), err);
    NEED(a->bag = calloc(l->labels.n_units + 1, sizeof *a->bag), err);
done:
    return st;
}

pboost_status pboost_ledger_audit(pboost_audit *out, pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = ledger->write.store;
    auditing a = {.out = out, .ledger = ledger, .link = {.number = -1}};

    *out = (pboost_audit){0};
    TRY(pboost_side_enter(ledger, &ledger->write, false, err));
    TRY(load_labels(&a, ledger, err));
    TRY(s->class->run(s,
                      "SELECT e.number, e.kind, e.time, e.rows, e.bags, e.data, e.hash, e.seal,"
                      " e.slots, a.token, a.request, a.question, a.released, a.format, a.body"
                      " FROM ledger_entry e LEFT JOIN ledger_answer a ON a.entry = e.number"
                      " ORDER BY e.number",
                      NULL, 0, audit_entry, &a, err));
    TRY(audit_sums(&a, s, err));
done:
    pboost_side_leave(&ledger->write);
    free(a.claimed);
    free(a.uses);
    free(a.bag);
    free(a.import);
    return st;
}

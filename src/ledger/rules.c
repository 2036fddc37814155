/* What may be asked: one small function for each rule, in a fixed order. */
#include "rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer_rules.h"
#include "oracle/mechanism.h"
#include "utf8.h"

/* ---- Problems -------------------------------------------------------------------------------- */

static const pboost_problem_info PROBLEMS[] = {
    {PBOOST_PROBLEM_NONE, "none", "no problem", 200, false},
    {PBOOST_PROBLEM_MALFORMED, "malformed-request", "the request cannot be understood", 400, false},
    {PBOOST_PROBLEM_TOKEN_INVALID, "token-invalid", "the token is not known or was revoked", 401,
     false},
    {PBOOST_PROBLEM_TOKEN_EXPIRED, "token-expired", "the token has expired", 401, false},
    {PBOOST_PROBLEM_TOKEN_ROLE, "token-role", "the token is not for this purpose", 403, false},
    {PBOOST_PROBLEM_LEDGER_ROLLBACK, "ledger-rollback",
     "the ledger has never had this head: it was restored from an older copy", 409, false},
    {PBOOST_PROBLEM_REQUEST_CONFLICT, "request-conflict",
     "the request id was used for another question", 409, false},
    {PBOOST_PROBLEM_ANSWER_KIND, "answer-kind",
     "the oracle's answers are of a kind that the question does not expect", 409, false},
    {PBOOST_PROBLEM_REQUEST_INCOMPLETE, "request-incomplete",
     "the request was interrupted between two stores: its rows there are spent, and it has no "
     "answer",
     409, false},
    {PBOOST_PROBLEM_BAG_TOO_SMALL, "bag-too-small", "a bag has too few rows", 422, true},
    {PBOOST_PROBLEM_DUPLICATE_ROW, "duplicate-row", "a row is named twice", 422, false},
    {PBOOST_PROBLEM_UNKNOWN_ROW, "unknown-row", "a row is not known", 422, false},
    {PBOOST_PROBLEM_ROW_SPENT, "row-spent",
     "a row is spent: its label was used in an earlier answer", 409, false},
    {PBOOST_PROBLEM_UNIT_REPEATED, "unit-repeated", "a bag holds two rows of one unit", 422, false},
    {PBOOST_PROBLEM_UNIT_SPENT, "unit-spent",
     "a unit is spent: it was in as many answered bags as it may be", 409, false},
    {PBOOST_PROBLEM_QUOTA_EXCEEDED, "quota-exceeded", "the token has too few rows left", 403,
     false},
    {PBOOST_PROBLEM_TOKEN_PENDING, "token-pending", "the token waits for approval", 403, false},
    {PBOOST_PROBLEM_UNKNOWN_TOKEN, "unknown-token", "there is no token of this name", 404, false},
    {PBOOST_PROBLEM_NOT_PENDING, "not-pending", "the token does not wait for approval", 409, false},
    {PBOOST_PROBLEM_OWN_TOKEN, "own-token",
     "someone other than its creator, and no younger approver, must approve the token", 403, false},
    {PBOOST_PROBLEM_REFUSAL_LIMIT, "refusal-limit",
     "refusals have named too many rows to this token in this hour", 429, false},
};

const pboost_problem_info *pboost_problem_describe(pboost_problem problem)
{
    for (size_t i = 0; i < sizeof PROBLEMS / sizeof *PROBLEMS; i++)
        if (PROBLEMS[i].problem == problem)
            return &PROBLEMS[i];
    return &PROBLEMS[0];
}

/* ---- A store's rules ------------------------------------------------------------------------- */

bool pboost_name_valid(const char *name)
{
    size_t length = 0;
    for (; length <= PBOOST_ID_MAX && name[length] > ' ' && name[length] < 127; length++)
        ;
    return length > 0 && length <= PBOOST_ID_MAX && name[length] == '\0';
}

/* A field that is long or not one line of text is refused. */
static pboost_status check_field(size_t field, const char *text, pboost_error *err)
{
    static const char *const NAMES[] = PBOOST_SHEET_NAMES;
    pboost_status st = PBOOST_OK;

    if (strnlen(text, PBOOST_SHEET_TEXT) == PBOOST_SHEET_TEXT)
        FAIL(err, PBOOST_INVALID, "the data sheet's %s is longer than %d bytes", NAMES[field],
             PBOOST_SHEET_TEXT - 1);
    if (!pboost_utf8_printable(text))
        FAIL(err, PBOOST_INVALID,
             "the data sheet's %s must be one line of UTF-8 text without control characters",
             NAMES[field]);
done:
    return st;
}

pboost_status pboost_sheet_set(pboost_sheet *sheet, size_t field, const char *text,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(check_field(field, text, err));
    memset(sheet->text[field], 0, PBOOST_SHEET_TEXT);
    memcpy(sheet->text[field], text, strlen(text));
done:
    return st;
}

static bool sheet_is_empty(const pboost_sheet *sheet)
{
    bool empty = true;
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++)
        empty = empty && sheet->text[i][0] == '\0';
    return empty;
}

/* The epsilon that a row, or a unit in all its bags, can lose. */
static double most_epsilon(const pboost_ledger_rules *rules)
{
    return pboost_rules_epsilon(&rules->rules, rules->unit_rows);
}

static bool is_weak(const pboost_ledger_rules *rules)
{
    const pboost_rational epsilon = rules->rules.epsilon;

    if (rules->rules.mechanism == PBOOST_GAUSSIAN)
        return most_epsilon(rules) > PBOOST_EPSILON_MOST;
    return (pboost_u128)epsilon.num * rules->unit_rows >
           (pboost_u128)PBOOST_EPSILON_MOST * epsilon.den;
}

/* Whoever knows the other labels of a bag and holds two values of the last one equally likely is
 * at most exp(epsilon) / (1 + exp(epsilon)) sure of it after the answer. */
static pboost_status check_weak_privacy(const pboost_ledger_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double epsilon = most_epsilon(rules);

    if (is_weak(rules) && !rules->weak_privacy)
        FAIL(err, PBOOST_INVALID,
             "epsilon is %g for each %s; someone who knows the other labels of a bag can then be"
             " %.7g %% sure of the last one, so the noise protects almost nothing; choose at most"
             " %d (1 is usual), or confirm with --weak-privacy '%s'",
             epsilon, rules->units ? "unit (--unit-rows times --epsilon)" : "row",
             100 / (1 + exp(-epsilon)), PBOOST_EPSILON_MOST, PBOOST_WEAK_WORDS);
    if (!is_weak(rules) && rules->weak_privacy)
        FAIL(err, PBOOST_INVALID,
             "weak privacy is confirmed (--weak-privacy), but no epsilon above %d asks for that",
             PBOOST_EPSILON_MOST);
done:
    return st;
}

/* Which of the oracle's stores it is. */
static pboost_status check_stores(const pboost_ledger_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool several = rules->stores > 0;

    if (several ? rules->stores < 2 || rules->stores > PBOOST_STORES_MAX || rules->store < 1 ||
                      rules->store > rules->stores ||
                      strnlen(rules->oracle, PBOOST_ORACLE_TEXT) != PBOOST_ORACLE_TEXT - 1
                : rules->store != 0 || *rules->oracle != '\0')
        FAIL(err, PBOOST_INVALID,
             "store %zu of %zu: an oracle has 1 store, or 2 to %d with numbers from 1 and an id of"
             " %d hexadecimal digits",
             rules->store, rules->stores, PBOOST_STORES_MAX, PBOOST_ORACLE_TEXT - 1);
done:
    return st;
}

pboost_status pboost_ledger_rules_check(pboost_ledger_rules *rules, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unit_shares shares = {0};

    if (rules->struct_size != sizeof *rules)
        FAIL(err, PBOOST_INVALID,
             "ledger rules: struct_size is %zu, not %zu; start from PBOOST_LEDGER_RULES_INIT",
             rules->struct_size, sizeof *rules);
    if (rules->rules.min_bag < 2 || rules->rules.min_bag > INT32_MAX)
        FAIL(err, PBOOST_INVALID, "min_bag is %zu; for an oracle it must be at least 2",
             rules->rules.min_bag);
    if (!rules->rules.bounded && rules->rules.answer != PBOOST_ANSWER_CLASSES)
        FAIL(err, PBOOST_INVALID, "labels need bounds; for labels of 0 and 1 they are 0,1");
    if (rules->rules.round)
        FAIL(err, PBOOST_INVALID, "an oracle with a store does not round its answers");
    if (rules->rules.epsilon.den == 0 && !rules->no_noise)
        FAIL(err, PBOOST_INVALID,
             "epsilon is missing; give --epsilon, or --no-noise for exact means");
    if (rules->rules.epsilon.den != 0 && rules->no_noise)
        FAIL(err, PBOOST_INVALID,
             "--epsilon and --no-noise contradict each other; leave one of them out");
    if (rules->unit_rows < 1 || rules->unit_rows > 1000000)
        FAIL(err, PBOOST_INVALID, "unit_rows is %zu; it must be between 1 and 1000000",
             rules->unit_rows);
    if (!rules->units && rules->unit_rows != 1)
        FAIL(err, PBOOST_INVALID, "unit_rows is %zu, but rows have no units", rules->unit_rows);
    if (rules->claim_seconds < 1 || rules->claim_seconds > 3600)
        FAIL(err, PBOOST_INVALID, "claim_seconds is %u; it must be between 1 and 3600",
             rules->claim_seconds);
    if (memchr(rules->scope_rows, '\0', sizeof rules->scope_rows) == NULL)
        FAIL(err, PBOOST_INVALID, "scope_rows has more than %zu bytes",
             sizeof rules->scope_rows - 1);
    if (!rules->units && *rules->scope_rows != '\0')
        FAIL(err, PBOOST_INVALID, "scope_rows is '%.60s', but rows have no units",
             rules->scope_rows);
    TRY(pboost_shares_parse(&shares, rules->scope_rows, rules->unit_rows, err));
    TRY(check_stores(rules, err));
    TRY(pboost_answer_check(rules, err));
    TRY(check_weak_privacy(rules, err));
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++)
        TRY(check_field(i, rules->sheet.text[i], err));
done:
    pboost_shares_free(&shares);
    return st;
}

enum { RULES_TEXT = 600 + PBOOST_SCOPE_ROWS_TEXT + ANSWER_TEXT };
static const char STORES[] = " store ";
static const char APPROVAL[] = " require_approval", SCOPE_ROWS[] = " scope_rows ";

/* Bounds and step as the bits of a double, exact in any locale. */
static void print_rules(char text[RULES_TEXT], const pboost_ledger_rules *rules, int version)
{
    const pboost_rules *r = &rules->rules;
    uint64_t bits[3];
    char answer[ANSWER_TEXT], stores[100] = "";

    pboost_answer_print(answer, rules);
    if (rules->stores > 0)
        snprintf(stores, sizeof stores, "%s%zu/%zu oracle %s", STORES, rules->store, rules->stores,
                 rules->oracle);
    memcpy(&bits[0], &r->lower, 8);
    memcpy(&bits[1], &r->upper, 8);
    memcpy(&bits[2], &r->step, 8);
    snprintf(text, RULES_TEXT,
             "rules %d min_bag %zu epsilon %" PRIu64 "/%" PRIu64 " lower %016" PRIx64
             " upper %016" PRIx64 " step %016" PRIx64
             " units %d unit_rows %zu claim_seconds %u%s%s%s%s%s",
             version, r->min_bag, r->epsilon.num, r->epsilon.den, bits[0], bits[1], bits[2],
             rules->units, rules->unit_rows, rules->claim_seconds, answer, stores,
             rules->require_approval ? APPROVAL : "", *rules->scope_rows != '\0' ? SCOPE_ROWS : "",
             rules->scope_rows);
}

/* The text of the rules alone; nothing of it is checked yet. */
static pboost_status parse_rules(pboost_ledger_rules *rules, int *version, const char *text,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules *r = &rules->rules;
    uint64_t bits[3];
    int units = 0, used = 0;
    const char *scope_rows, *stores;

    if (sscanf(text,
               "rules %d min_bag %zu epsilon %" SCNu64 "/%" SCNu64 " lower %" SCNx64
               " upper %" SCNx64 " step %" SCNx64 " units %d unit_rows %zu claim_seconds %u%n",
               version, &r->min_bag, &r->epsilon.num, &r->epsilon.den, &bits[0], &bits[1], &bits[2],
               &units, &rules->unit_rows, &rules->claim_seconds, &used) != 10 ||
        *version < 1 || *version > CHAIN_VERSION)
        FAIL(err, PBOOST_BAD_DATA,
             "the store's rules cannot be read; was it made by a newer "
             "version?");
    memcpy(&r->lower, &bits[0], 8);
    memcpy(&r->upper, &bits[1], 8);
    memcpy(&r->step, &bits[2], 8);
    r->bounded = true;
    rules->units = units == 1;
    pboost_answer_read(rules, text + used);
    if ((stores = strstr(text, STORES)) != NULL)
        (void)sscanf(stores + strlen(STORES), "%zu/%zu oracle %32[0-9a-f]", &rules->store,
                     &rules->stores, rules->oracle);
    if ((scope_rows = strstr(text, SCOPE_ROWS)) != NULL)
        snprintf(rules->scope_rows, sizeof rules->scope_rows, "%s",
                 scope_rows + strlen(SCOPE_ROWS));
    rules->no_noise = r->epsilon.den == 0;
    rules->weak_privacy = is_weak(rules);
    rules->require_approval = *version > 1 && strstr(text, APPROVAL) != NULL;
done:
    return st;
}

/* The rules, the store's id, names of classes or columns, and the data sheet, if there are any. */
void pboost_first_entry_print(record *out, const pboost_ledger_rules *rules, const char *store_id)
{
    char text[RULES_TEXT];

    print_rules(text, rules, CHAIN_VERSION);
    out->used = 0;
    pboost_record_text(out, text);
    pboost_record_text(out, store_id);
    if (pboost_answer_has_names(rules))
        pboost_names_write(out, rules);
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS && !sheet_is_empty(&rules->sheet); i++)
        pboost_record_text(out, rules->sheet.text[i]);
}

/* Version 1 had the rules alone. */
pboost_status pboost_first_entry_parse(pboost_ledger_rules *out, const void *data, size_t length,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    record_reader r = {data, length, false};
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    int version = 0;
    char again[RULES_TEXT];
    const char *text = pboost_read_text(&r);

    TRY(parse_rules(&rules, &version, text, err));
    if (version > 1)
        (void)pboost_read_text(&r);
    if (version > 1 && pboost_answer_has_names(&rules))
        pboost_names_read(&rules, &r);
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS && version > 1 && r.left > 0; i++)
        TRY(pboost_sheet_set(&rules.sheet, i, pboost_read_text(&r), err));
    if (r.bad || r.left > 0)
        FAIL(err, PBOOST_BAD_DATA, "the store's rules are damaged");
    TRY(pboost_ledger_rules_check(&rules, err));
    print_rules(again, &rules, version);
    if (strcmp(again, text) != 0)
        FAIL(err, PBOOST_BAD_DATA, "the store's rules are damaged");
    *out = rules;
done:
    return st;
}

/* ---- Judging a claim ------------------------------------------------------------------------- */

typedef struct {
    const pboost_ledger_rules *rules;
    label_table *labels;
    const claim *claim;
    uint64_t quota;
    size_t n_offenders;
    size_t *offender; /* the first PBOOST_MAX_OFFENDERS */
} judge;

/* A bag or a position in the question. */
static void add_offender(judge *j, size_t at)
{
    if (j->n_offenders < PBOOST_MAX_OFFENDERS)
        j->offender[j->n_offenders] = at;
    j->n_offenders++;
}

/* Row i of the claim. */
static void offend(judge *j, size_t i)
{
    add_offender(j, j->claim->position != NULL ? j->claim->position[i] : i);
}

static void small_bags(judge *j)
{
    const size_t *whole = j->claim->whole;

    for (size_t b = 0; whole != NULL && b < j->claim->n_bags; b++)
        if (whole[b + 1] - whole[b] < j->rules->rules.min_bag)
            add_offender(j, b);
}

static void unknown_rows(judge *j)
{
    for (size_t i = 0; i < j->claim->n; i++)
        if (j->claim->slot[i] == NO_NUMBER)
            offend(j, i);
}

static void repeated_rows(judge *j)
{
    uint64_t *asked = j->labels->asked;

    for (size_t i = 0; i < j->claim->n; i++) {
        uint32_t slot = j->claim->slot[i];
        if (asked[slot / 64] >> slot % 64 & 1)
            offend(j, i);
        asked[slot / 64] |= UINT64_C(1) << slot % 64;
    }
    for (size_t i = 0; i < j->claim->n; i++)
        asked[j->claim->slot[i] / 64] = 0;
}

static void spent_rows(judge *j)
{
    for (size_t i = 0; i < j->claim->n; i++)
        if (pboost_labels_spent(j->labels, j->claim->slot[i]))
            offend(j, i);
}

/* Bags count from 1 here: 0 is "not seen". */
static void repeated_units(judge *j)
{
    label_table *t = j->labels;

    if (!t->units)
        return;
    for (size_t b = 0; b < j->claim->n_bags; b++)
        for (size_t i = j->claim->start[b]; i < j->claim->start[b + 1]; i++) {
            uint32_t unit = t->unit[j->claim->slot[i]];
            if (t->last_bag[unit] == b + 1)
                offend(j, i);
            t->last_bag[unit] = (uint32_t)b + 1;
        }
    for (size_t i = 0; i < j->claim->n; i++)
        t->last_bag[t->unit[j->claim->slot[i]]] = 0;
}

static void spent_units(judge *j)
{
    label_table *t = j->labels;

    if (!t->units)
        return;
    for (size_t i = 0; i < j->claim->n; i++) {
        size_t at = pboost_labels_use(t, j->claim->slot[i]);
        if (t->uses[at] + t->new_uses[at] >= pboost_labels_most_uses(t, j->claim->slot[i]))
            offend(j, i);
        else
            t->new_uses[at]++;
    }
    for (size_t i = 0; i < j->claim->n; i++)
        t->new_uses[pboost_labels_use(t, j->claim->slot[i])] = 0;
}

static void over_quota(judge *j)
{
    const size_t *whole = j->claim->whole;

    for (size_t i = (size_t)j->quota; whole != NULL && i < whole[j->claim->n_bags]; i++)
        add_offender(j, i);
}

/* In this order: a rule relies on those above it.  The rule about unknown rows comes first among
 * those about rows, so that no message reveals anything about a row outside the token's scope. */
static const struct {
    pboost_problem problem;
    void (*find)(judge *j);
} RULES[] = {
    {PBOOST_PROBLEM_BAG_TOO_SMALL, small_bags},     {PBOOST_PROBLEM_UNKNOWN_ROW, unknown_rows},
    {PBOOST_PROBLEM_DUPLICATE_ROW, repeated_rows},  {PBOOST_PROBLEM_ROW_SPENT, spent_rows},
    {PBOOST_PROBLEM_UNIT_REPEATED, repeated_units}, {PBOOST_PROBLEM_UNIT_SPENT, spent_units},
    {PBOOST_PROBLEM_QUOTA_EXCEEDED, over_quota},
};

/* Where a problem stands in the order; what is no rule of a claim comes before all. */
static size_t rank_of(pboost_problem problem)
{
    size_t rank = sizeof RULES / sizeof *RULES;

    while (rank > 0 && RULES[rank - 1].problem != problem)
        rank--;
    return rank;
}

static int by_position(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

void pboost_claims_merge(pboost_reply *out, pboost_reply *other)
{
    size_t all[2 * PBOOST_MAX_OFFENDERS], n = 0;

    if (other->problem == PBOOST_PROBLEM_NONE)
        return;
    if (out->problem == PBOOST_PROBLEM_NONE || rank_of(other->problem) < rank_of(out->problem)) {
        pboost_reply_free(out);
        *out = *other;
        *other = (pboost_reply){0};
    } else if (other->problem == out->problem && out->n_listed > 0) {
        for (size_t i = 0; i < out->n_listed; i++)
            all[n++] = out->offender[i];
        for (size_t i = 0; i < other->n_listed; i++)
            all[n++] = other->offender[i];
        qsort(all, n, sizeof *all, by_position);
        out->n_offenders += other->n_offenders;
        out->n_listed = n < PBOOST_MAX_OFFENDERS ? n : PBOOST_MAX_OFFENDERS;
        memcpy(out->offender, all, out->n_listed * sizeof *all);
    }
}

pboost_status pboost_claim_refuse(const pboost_reply *judged, pboost_error *err)
{
    const pboost_problem_info *info = pboost_problem_describe(judged->problem);

    if (judged->problem == PBOOST_PROBLEM_NONE)
        return PBOOST_OK;
    if (judged->n_offenders == 0)
        return pboost_fail(err, PBOOST_REFUSED, "%s: %s", info->name, info->title);
    return pboost_fail(err, PBOOST_REFUSED, "%s: %s (%zu in this question)", info->name,
                       info->title, judged->n_offenders);
}

pboost_status pboost_claim_judge(pboost_reply *out, const pboost_ledger_rules *rules,
                                 label_table *labels, const claim *c, uint64_t quota,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    judge j = {rules, labels, c, quota, 0, NULL};

    NEED(j.offender = pboost_alloc(PBOOST_MAX_OFFENDERS, sizeof *j.offender), err);
    for (size_t r = 0; r < sizeof RULES / sizeof *RULES; r++) {
        RULES[r].find(&j);
        if (j.n_offenders == 0)
            continue;
        out->problem = RULES[r].problem;
        out->offender = j.offender;
        out->n_offenders = j.n_offenders;
        out->n_listed = j.n_offenders < PBOOST_MAX_OFFENDERS ? j.n_offenders : PBOOST_MAX_OFFENDERS;
        j.offender = NULL;
        break;
    }
done:
    free(j.offender);
    return st;
}

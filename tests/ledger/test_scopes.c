/* What a token learns about persons: nothing about what another scope asks. */
#include "ledger_testing.h"

enum { PERSONS = 40, ROWS = 2 * PERSONS };

/* Row i of person unit[i] in scope[i]; NULL: none.  All labels are 1. */
static pboost_status import_persons(pboost_ledger *ledger, int64_t first, size_t n,
                                    const int64_t *unit, const char *const *scope,
                                    pboost_error *err)
{
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[ROWS], units[ROWS], scopes[ROWS];
    double label[ROWS];

    for (size_t i = 0; i < n; i++) {
        id[i] = (pboost_id){NULL, first + (int64_t)i};
        units[i] = (pboost_id){NULL, unit[i]};
        scopes[i] = (pboost_id){scope != NULL ? scope[i] : NULL, 0};
        label[i] = 1;
    }
    in.n = n;
    in.id = id;
    in.label = label;
    in.unit = units;
    in.scope = scope != NULL ? scopes : NULL;
    return pboost_ledger_import(&report, ledger, &in, err);
}

static pboost_token scoped_token(pboost_ledger *ledger, const char *name)
{
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    options.name = options.scope = name;
    return token_for(ledger, &options);
}

static pboost_ledger_rules shared_rules(size_t unit_rows, const char *scope_rows)
{
    pboost_ledger_rules rules = plain_rules();
    rules.units = true;
    rules.unit_rows = unit_rows;
    snprintf(rules.scope_rows, sizeof rules.scope_rows, "%s", scope_rows);
    return rules;
}

/* Everything that scope B can see of its rows 41 .. 80 without spending any: which are available,
 * and how questions are refused that are above the token's quota of 3 rows.  Returns how many
 * persons look used. */
static size_t look_from_b(pboost_ledger *ledger, const pboost_token *token)
{
    pboost_error err = {0};
    pboost_id id[PERSONS];
    bool available[PERSONS];
    size_t seen = 0;

    for (int i = 0; i < PERSONS; i++)
        id[i] = (pboost_id){NULL, PERSONS + 1 + i};
    assert_ok(pboost_ledger_available(available, ledger, token, id, PERSONS, &err), err);
    for (int i = 0; i < PERSONS; i++) {
        int64_t row[4];
        pboost_reply reply;
        for (int k = 0; k < 4; k++)
            row[k] = PERSONS + 1 + (i + k) % PERSONS;
        (void)ask(&reply, ledger, token, "look", row, 4, 4, NULL, &err);
        seen += !available[i] || reply.problem != PBOOST_PROBLEM_QUOTA_EXCEEDED;
        pboost_reply_free(&reply);
    }
    return seen;
}

/* Persons 1 .. 40 have a row in A and one in B.  A asks about every second person; B must not see
 * who they were, and all of B's own rows can be asked about. */
static void a_scope_learns_nothing_of_another(void **state)
{
    (void)state;
    int64_t unit[ROWS], asked[PERSONS / 2], own[PERSONS];
    const char *scope[ROWS];
    for (int i = 0; i < ROWS; i++) {
        unit[i] = 1 + i % PERSONS;
        scope[i] = i < PERSONS ? "A" : "B";
    }
    for (int i = 0; i < PERSONS / 2; i++)
        asked[i] = 1 + 2 * i;
    for (int i = 0; i < PERSONS; i++)
        own[i] = PERSONS + 1 + i;
    pboost_ledger_rules rules = shared_rules(2, "A=1,B=1");
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_reply reply;
    assert_ok(import_persons(ledger, 1, ROWS, unit, scope, &err), err);
    pboost_token_options small = PBOOST_TOKEN_OPTIONS_INIT;
    small.name = "small";
    small.scope = "B";
    small.max_rows = 3;
    pboost_token a = scoped_token(ledger, "A"), b = scoped_token(ledger, "B"),
                 spy = token_for(ledger, &small);
    assert_int_equal(pboost_ledger_unit_rows(ledger, &b), 1);
    assert_ok(ask(&reply, ledger, &a, "1", asked, PERSONS / 2, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_int_equal(look_from_b(ledger, &spy), 0);
    pboost_ledger *other = open_store(&t); /* reads the uses from the store */
    assert_int_equal(look_from_b(other, &spy), 0);
    pboost_ledger_close(other);
    assert_ok(ask(&reply, ledger, &b, "1", own, PERSONS, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void a_unit_in_two_scopes_needs_shares(void **state)
{
    (void)state;
    const int64_t unit[] = {1, 2, 1};
    static const char *const TWO[] = {"A", "B", "B"}, *const ONE[] = {"A", "B", "A"},
                             *const NEW[] = {"C", "C", "C"};
    pboost_ledger_rules rules = shared_rules(2, "");
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};

    assert_fails(import_persons(ledger, 1, 3, unit, TWO, &err), PBOOST_BAD_DATA, err,
                 "unit '1' has rows in two scopes");
    assert_ok(import_persons(ledger, 1, 3, unit, ONE, &err), err);
    assert_fails(import_persons(ledger, 11, 3, unit, NEW, &err), PBOOST_BAD_DATA, err,
                 "two scopes");
    assert_fails(import_persons(ledger, 11, 3, unit, NULL, &err), PBOOST_BAD_DATA, err,
                 "two scopes");
    assert_ok(import_persons(ledger, 11, 3, unit, ONE, &err), err);
    /* A store of an older version may hold such a unit: its uses belong to its first row's scope.
     */
    bool available;
    const pboost_id third = {NULL, 3};
    pboost_token b = scoped_token(ledger, "B");
    ledger->labels.scope[2] = 1;
    assert_ok(pboost_ledger_available(&available, ledger, &b, &third, 1, &err), err);
    assert_false(available);
    pboost_ledger_close(ledger);
    drop_store(&t);

    rules = shared_rules(2, "A=1,B=1");
    ledger = make_ledger(&t, &rules, 0, NULL);
    assert_fails(import_persons(ledger, 1, 3, unit, NEW, &err), PBOOST_BAD_DATA, err,
                 "scope 'C' has no share");
    assert_fails(import_persons(ledger, 1, 3, unit, NULL, &err), PBOOST_BAD_DATA, err,
                 "has no scope");
    assert_ok(import_persons(ledger, 1, 3, unit, TWO, &err), err);
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    char secret[PBOOST_TOKEN_TEXT];
    options.name = options.scope = "C";
    assert_fails(pboost_token_create(secret, ledger, &options, &err), PBOOST_INVALID, err,
                 "no share");
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static pboost_problem problem_of(pboost_ledger *ledger, const pboost_token *token,
                                 const char *request, int64_t person_row, int64_t others)
{
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {person_row, others, others + 1, others + 2};
    (void)ask(&reply, ledger, token, request, row, 4, 4, NULL, &err);
    pboost_problem problem = reply.problem;
    pboost_reply_free(&reply);
    return problem;
}

/* Person 1 has rows 1 .. 4 in A and 5 .. 7 in B; rows 8 .. 31 in A and 32 .. 55 in B are others. */
static void each_scope_has_its_share(void **state)
{
    (void)state;
    int64_t unit[55];
    const char *scope[55];
    for (int i = 0; i < 55; i++) {
        unit[i] = i < 7 ? 1 : i + 1;
        scope[i] = i < 4 || (i >= 7 && i < 31) ? "A" : "B";
    }
    pboost_ledger_rules rules = shared_rules(4, "A=2,B=1");
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    assert_ok(import_persons(ledger, 1, 55, unit, scope, &err), err);
    pboost_token a = scoped_token(ledger, "A"), b = scoped_token(ledger, "B"),
                 all = plain_token(ledger, "all");

    assert_int_equal(pboost_ledger_unit_rows(ledger, &a), 2);
    assert_int_equal(pboost_ledger_unit_rows(ledger, &all), 4);
    assert_int_equal(problem_of(ledger, &b, "1", 5, 32), PBOOST_PROBLEM_NONE);
    assert_int_equal(problem_of(ledger, &b, "2", 6, 35), PBOOST_PROBLEM_UNIT_SPENT);
    assert_int_equal(problem_of(ledger, &a, "1", 1, 8), PBOOST_PROBLEM_NONE);
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    assert_string_equal(pboost_ledger_get_rules(ledger)->scope_rows, "A=2,B=1");
    assert_int_equal(problem_of(ledger, &all, "1", 2, 11), PBOOST_PROBLEM_NONE);
    assert_int_equal(problem_of(ledger, &all, "2", 3, 14), PBOOST_PROBLEM_UNIT_SPENT);
    assert_int_equal(problem_of(ledger, &all, "3", 6, 38), PBOOST_PROBLEM_UNIT_SPENT);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void shares_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } WRONG[] = {
        {"A=2,B=2", "4 rows in all"},
        {"A", "'A'"},
        {"A=0", "'A=0'"},
        {"A=1,", "''"},
        {"=1", "'=1'"},
        {"A=1,A=1", "twice"},
        {"A=1x", "'A=1x'"},
        {"A=-1", "'A=-1'"},
        {"A B=1", "'A B=1'"},
        {",", "''"},
        {"A=B=1", "'A=B=1'"},
        {"A=99999999999999999999", "99"},
        {"A= 1", "'A= 1'"},
        {"A=2,B=1,C=1", "in all"},
    };
    pboost_error err = {0};
    test_store t = new_store();

    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        pboost_ledger_rules rules = shared_rules(3, WRONG[i].text);
        assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err,
                     WRONG[i].says);
    }
    pboost_ledger_rules rules = shared_rules(3, "A=2,B=1");
    rules.units = false;
    rules.unit_rows = 1;
    assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err, "no units");
    drop_store(&t);
}

/* ---- Within a scope -------------------------------------------------------------------------- */

static int64_t hour_of(void *user)
{
    return *(const int64_t *)user * 3600 + 600;
}

enum { LINKED = 20 };

/* Asks about each pair of rows 1 .. 40, above the token's quota, so that no question is answered
 * and nothing is spent; a pair of one person is refused by another name.  Returns how many pairs
 * are found before the limit. */
static size_t find_links(pboost_ledger *ledger, const pboost_token *token, unsigned *retry_after)
{
    pboost_error err = {0};
    size_t links = 0;

    *retry_after = 0;
    for (int64_t i = 1; i <= 2 * LINKED; i++)
        for (int64_t j = i + 1; j <= 2 * LINKED; j++) {
            const int64_t row[] = {i, j};
            pboost_reply reply;
            assert_int_equal(ask(&reply, ledger, token, "look", row, 2, 2, NULL, &err),
                             PBOOST_REFUSED);
            links += reply.problem == PBOOST_PROBLEM_UNIT_REPEATED;
            if (reply.problem == PBOOST_PROBLEM_REFUSAL_LIMIT) {
                assert_int_equal(reply.n_offenders, 0);
                *retry_after = reply.retry_after;
            }
            pboost_reply_free(&reply);
        }
    return links;
}

typedef struct {
    size_t n;
    uint64_t count;
    bool known;
} seen_refusals;

static bool see_refusal(void *user, const pboost_refusal *refusal)
{
    seen_refusals *seen = user;
    seen->n++;
    seen->count += refusal->count;
    seen->known = strcmp(refusal->token, "spy") == 0 && refusal->last == refusal->hour + 600;
    return true;
}

/* Refused questions find all links between persons; with a limit only a few in an hour, also after
 * a restart, and they are recorded. */
static void refusals_are_recorded_and_limited(void **state)
{
    (void)state;
    int64_t unit[2 * LINKED], hour = 1000;
    for (int i = 0; i < 2 * LINKED; i++)
        unit[i] = 1 + (7 * i) % LINKED;
    pboost_ledger_rules rules = shared_rules(2, "");
    rules.rules.min_bag = 2;
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    unsigned wait;
    assert_ok(import_persons(ledger, 1, 2 * LINKED, unit, NULL, &err), err);
    pboost_token_options spying = PBOOST_TOKEN_OPTIONS_INIT;
    spying.name = "spy";
    spying.max_rows = 1;
    pboost_token spy = token_for(ledger, &spying), other = plain_token(ledger, "other");
    pboost_ledger_close(ledger);

    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    options.now = hour_of;
    options.user = &hour;
    assert_ok(pboost_ledger_open(&ledger, t.url, &options, &err), err);
    assert_int_equal(find_links(ledger, &spy, &wait), LINKED);
    assert_int_equal(wait, 0);
    pboost_ledger_close(ledger);

    hour++;
    options.refusal_rows = 100;
    for (int start = 0; start < 2; start++) {
        assert_ok(pboost_ledger_open(&ledger, t.url, &options, &err), err);
        size_t links = find_links(ledger, &spy, &wait);
        assert_true(start == 0 ? links < LINKED / 2 : links == 0);
        assert_int_equal(wait, 3000);
        seen_refusals seen = {0};
        assert_ok(pboost_ledger_refusals(ledger, hour * 3600, see_refusal, &seen, &err), err);
        assert_int_equal(seen.count, 100);
        assert_true(seen.known && seen.n <= 2); /* unit-repeated and quota-exceeded */
        if (start == 0)
            pboost_ledger_close(ledger);
    }
    /* Others, answers and the next hour are not touched. */
    const int64_t row[] = {1, 2};
    pboost_reply reply;
    assert_ok(ask(&reply, ledger, &other, "1", row, 2, 2, NULL, &err), err);
    pboost_reply_free(&reply);
    hour++;
    assert_int_equal(ask(&reply, ledger, &spy, "look", row, 2, 2, NULL, &err), PBOOST_REFUSED);
    assert_int_equal(reply.problem, PBOOST_PROBLEM_ROW_SPENT);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_learns_nothing_of_another),
        cmocka_unit_test(a_unit_in_two_scopes_needs_shares),
        cmocka_unit_test(each_scope_has_its_share),
        cmocka_unit_test(shares_are_checked),
        cmocka_unit_test(refusals_are_recorded_and_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

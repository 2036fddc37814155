/* An oracle with several stores. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "ledger_testing.h"

enum { STORES = 2, ROWS = 200, SIZE = 20 };

typedef struct {
    test_store at[3];
    size_t n;
    const char *url[3];
} test_oracle;

static test_oracle new_oracle(const pboost_ledger_rules *rules, size_t n)
{
    pboost_error err = {0};
    test_oracle t = {.n = n};

    for (size_t i = 0; i < n; i++)
        t.at[i] = new_store();
    const char *url[3] = {t.at[0].url, t.at[1].url, t.at[2].url};
    assert_ok(pboost_ledger_create_all(url, n, rules, NULL, &err), err);
    return t;
}

static void set_urls(test_oracle *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->url[i] = t->at[i].url;
}

static pboost_ledger *open_oracle(test_oracle *t)
{
    pboost_error err = {0};
    pboost_ledger *ledger;

    set_urls(t);
    assert_ok(pboost_ledger_open_all(&ledger, t->url, t->n, NULL, &err), err);
    return ledger;
}

static void drop_oracle(const test_oracle *t)
{
    for (size_t i = 0; i < t->n; i++)
        drop_store(&t->at[i]);
}

/* Rows 1 .. n with the label 1, in two stores. */
static pboost_ledger *make_oracle(test_oracle *t, const pboost_ledger_rules *rules, size_t n)
{
    *t = new_oracle(rules, STORES);
    pboost_ledger *ledger = open_oracle(t);
    if (n > 0)
        import_rows(ledger, 1, n, NULL);
    return ledger;
}

/* A row of store i, from 0, from `first` on. */
static int64_t row_in(size_t i, int64_t first)
{
    while (pboost_id_store((pboost_id){NULL, first}, STORES) != i)
        first++;
    return first;
}

static void row_numbers(int64_t *row, int64_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        row[i] = first + (int64_t)i;
}

static uint64_t entries_of(const char *url, const char *kind)
{
    pboost_error err = {0};
    store *s;
    int64_t n = 0;

    assert_ok(pboost_store_open(&s, url, false, &err), err);
    assert_ok(RUN(s, "SELECT count(*) FROM ledger_entry WHERE kind = $1", pboost_store_number, &n,
                  &err, value_text(kind)),
              err);
    pboost_store_close(s);
    return (uint64_t)n;
}

/* Where rows lie must never change: docs/formats.md has the hash. */
static void a_row_lies_where_its_id_says(void **state)
{
    static const struct {
        pboost_id id;
        size_t stores, at;
    } ROW[] = {{{NULL, 1}, 2, 0},
               {{NULL, 2}, 2, 0},
               {{NULL, 3}, 2, 0},
               {{NULL, -4}, 2, 0},
               {{NULL, 1099511627776}, 2, 0},
               {{NULL, 1}, 64, 16},
               {{NULL, 2}, 64, 7},
               {{NULL, 3}, 64, 28},
               {{"17", 0}, 64, 10},
               {{"patient-7", 0}, 64, 46},
               {{"a", 0}, 64, 23},
               {{"012", 0}, 64, 28},
               {{"0123456789abcdefg", 0}, 64, 4}};
    (void)state;

    for (size_t i = 0; i < sizeof ROW / sizeof *ROW; i++)
        assert_int_equal(pboost_id_store(ROW[i].id, ROW[i].stores), ROW[i].at);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void a_bag_of_both_stores_has_one_answer(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_oracle(&t, &rules, 0);
    pboost_error err = {0};
    pboost_reply reply, again;
    double label[ROWS];
    int64_t row[ROWS];
    (void)state;

    for (size_t i = 0; i < ROWS; i++)
        label[i] = (double)(i % 3 == 0);
    import_rows(ledger, 1, ROWS, label);
    row_numbers(row, 1, ROWS);
    pboost_token token = plain_token(ledger, "lab");
    assert_ok(ask(&reply, ledger, &token, "r1", row, ROWS, SIZE, NULL, &err), err);
    for (size_t b = 0; b < ROWS / SIZE; b++) {
        double sum = 0;
        for (size_t i = b * SIZE; i < (b + 1) * SIZE; i++)
            sum += label[i];
        assert_true(fabs(mean_of(&reply, b) - sum / SIZE) < 1e-12);
    }
    assert_int_equal(entries_of(t.at[0].url, "answer"), 1);
    assert_int_equal(entries_of(t.at[0].url, "claim"), 0);
    assert_int_equal(entries_of(t.at[1].url, "answer"), 0);
    assert_int_equal(entries_of(t.at[1].url, "claim"), 1);
    pboost_ledger_status status = status_of(ledger);
    assert_int_equal(status.rows, ROWS);
    assert_int_equal(status.spent, ROWS);
    assert_int_equal(status.answers, 1);
    pboost_audit audit;
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    assert_int_equal(audit.problems, 0);
    assert_int_equal(audit.sums, ROWS / SIZE); /* also of bags in both stores */
    assert_int_equal(audit.rows, ROWS);
    pboost_ledger_close(ledger);

    ledger = open_oracle(&t); /* a retry gets the same bytes, also from a new process */
    assert_ok(ask(&again, ledger, &token, "r1", row, ROWS, SIZE, NULL, &err), err);
    assert_true(again.retried && again.length == reply.length);
    assert_memory_equal(again.body, reply.body, reply.length);
    pboost_reply_free(&again);
    assert_refused(ask(&again, ledger, &token, "r2", row, SIZE, SIZE, NULL, &err), again,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    assert_int_equal(again.n_listed, SIZE);
    for (size_t i = 0; i < SIZE; i++) /* positions in the question, in order */
        assert_int_equal(again.offender[i], i);
    pboost_reply_free(&again);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_oracle(&t);
}

/* What one store would say of each question, in the same order. */
static void rules_hold_across_stores(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_oracle(&t, &rules, 40);
    pboost_error err = {0};
    pboost_reply reply;
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    (void)state;

    options.name = "lab";
    options.max_rows = 6;
    pboost_token token = token_for(ledger, &options);
    /* three rows of one bag, whatever store they are in, are too few */
    assert_refused(ask(&reply, ledger, &token, "a", (int64_t[]){1, 2, 3}, 3, 3, NULL, &err), reply,
                   PBOOST_PROBLEM_BAG_TOO_SMALL, err);
    pboost_reply_free(&reply);
    int64_t unknown[] = {row_in(0, 1), row_in(0, 100), row_in(1, 1), row_in(1, 100), 99999};
    assert_refused(ask(&reply, ledger, &token, "b", unknown, 5, 5, NULL, &err), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, err);
    assert_int_equal(reply.n_listed, 3);
    assert_int_equal(reply.offender[0], 1);
    assert_int_equal(reply.offender[1], 3);
    assert_int_equal(reply.offender[2], 4);
    pboost_reply_free(&reply);
    int64_t twice[] = {row_in(1, 1), 1, 2, row_in(1, 1)};
    if (twice[0] <= 2)
        twice[0] = twice[3] = row_in(1, 5);
    assert_refused(ask(&reply, ledger, &token, "c", twice, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_DUPLICATE_ROW, err);
    assert_int_equal(reply.offender[0], 3);
    pboost_reply_free(&reply);
    int64_t seven[7];
    row_numbers(seven, 1, 7);
    assert_refused(ask(&reply, ledger, &token, "d", seven, 7, 7, NULL, &err), reply,
                   PBOOST_PROBLEM_QUOTA_EXCEEDED, err);
    pboost_reply_free(&reply);
    assert_int_equal(status_of(ledger).spent, 0); /* refusals spend nothing in any store */
    assert_ok(ask(&reply, ledger, &token, "e", seven, 6, 6, NULL, &err), err);
    pboost_reply_free(&reply);
    pboost_token *list;
    size_t n;
    assert_ok(pboost_token_list(&list, &n, ledger, &err), err);
    assert_int_equal(list[0].rows_used, 6); /* also those in the other store */
    free(list);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_oracle(&t);
}

/* Var Z of one draw; two draws, one for each store, would have twice as much. */
static void noise_is_drawn_once(void **state)
{
    enum { BAGS = 3000, PER_BAG = 4 };
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    pboost_reply reply;
    double sum = 0, squares = 0;
    int64_t *row = calloc(BAGS * PER_BAG, sizeof *row);
    (void)state;

    rules.no_noise = false;
    rules.rules.epsilon = (pboost_rational){1, 1};
    pboost_ledger *ledger = make_oracle(&t, &rules, BAGS * PER_BAG);
    pboost_token token = plain_token(ledger, "lab");
    row_numbers(row, 1, BAGS * PER_BAG);
    assert_ok(ask(&reply, ledger, &token, "r", row, BAGS * PER_BAG, PER_BAG, NULL, &err), err);
    for (size_t b = 0; b < BAGS; b++) {
        double z = PER_BAG * (mean_of(&reply, b) - 1);
        sum += z;
        squares += z * z;
    }
    /* discrete Laplace of scale 1: variance 2 e / (e - 1)^2 = 1.841, kurtosis near 6 */
    double variance = squares / BAGS, expected = 2 * exp(1.0) / pow(exp(1.0) - 1, 2);
    assert_true(fabs(sum / BAGS) < 5 * sqrt(expected / BAGS));
    assert_true(fabs(variance - expected) < 5 * expected * sqrt(5.0 / BAGS));
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_oracle(&t);
    free(row);
}

/* ---- Units ----------------------------------------------------------------------------------- */

static pboost_status import_units(pboost_ledger *ledger, const int64_t *id, const int64_t *unit,
                                  size_t n, pboost_error *err)
{
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id ids[64], units[64];
    double label[64];

    for (size_t i = 0; i < n; i++) {
        ids[i] = (pboost_id){NULL, id[i]};
        units[i] = (pboost_id){NULL, unit[i]};
        label[i] = 1;
    }
    in.n = n;
    in.id = ids;
    in.unit = units;
    in.label = label;
    return pboost_ledger_import(&report, ledger, &in, err);
}

static void a_unit_lies_in_one_store(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    pboost_reply reply;
    int64_t id[40], unit[40];
    (void)state;

    rules.units = true;
    pboost_ledger *ledger = make_oracle(&t, &rules, 0);
    for (int64_t i = 0; i < 40; i++) {
        id[i] = i + 1;
        unit[i] = 1000 + i / 2; /* two rows each */
    }
    assert_ok(import_units(ledger, id, unit, 40, &err), err);
    pboost_token token = plain_token(ledger, "lab");
    /* both rows of a unit in one bag; then the second row after the first */
    assert_refused(ask(&reply, ledger, &token, "a", (int64_t[]){1, 2, 3, 5}, 4, 4, NULL, &err),
                   reply, PBOOST_PROBLEM_UNIT_REPEATED, err);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &token, "b", (int64_t[]){1, 3, 5, 7, 9, 11}, 6, 6, NULL, &err),
              err);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "c", (int64_t[]){2, 13, 15, 17}, 4, 4, NULL, &err),
                   reply, PBOOST_PROBLEM_UNIT_SPENT, err);
    assert_int_equal(reply.offender[0], 0);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "d", (int64_t[]){13, 900, 15, 17}, 4, 4, NULL, &err),
                   reply, PBOOST_PROBLEM_UNKNOWN_ROW, err);
    assert_int_equal(reply.offender[0], 1);
    pboost_reply_free(&reply);
    assert_true(ledger->labels.n > 0 && ledger->other[0]->labels.n > 0);
    assert_int_equal(ledger->labels.n + ledger->other[0]->labels.n, 40);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_oracle(&t);
}

/* Two units may name one id: it must not come into two stores, where its label could be used twice.
 */
static void an_id_is_in_one_store(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    int64_t one = row_in(0, 1), two = row_in(1, 1);
    (void)state;

    rules.units = true;
    pboost_ledger *ledger = make_oracle(&t, &rules, 0);
    const int64_t seven[] = {7, 7}, both[] = {one, two};
    assert_fails(import_units(ledger, seven, both, 2, &err), PBOOST_BAD_DATA, err,
                 "in another store");
    assert_ok(import_units(ledger, seven, &one, 1, &err), err);
    assert_fails(import_units(ledger, seven, &two, 1, &err), PBOOST_BAD_DATA, err,
                 "in another store");
    pboost_ledger_close(ledger);

    /* an import that has one store only cannot see the other; the oracle then does not open */
    ledger = open_store(&t.at[1]);
    assert_ok(import_units(ledger, (int64_t[]){7}, (int64_t[]){two}, 1, &err), err);
    pboost_ledger_close(ledger);
    set_urls(&t);
    assert_fails(pboost_ledger_open_all(&ledger, t.url, 2, NULL, &err), PBOOST_BAD_DATA, err,
                 "'7' is in two stores");
    drop_oracle(&t);
}

/* ---- Stores that do not belong together ------------------------------------------------------ */

static void only_a_whole_oracle_answers(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_oracle(&t, &rules, 40), *other;
    pboost_error err = {0};
    pboost_reply reply;
    pboost_token token = plain_token(ledger, "lab");
    int64_t row[4];
    (void)state;

    pboost_ledger_close(ledger);
    for (size_t i = 0; i < 2; i++) { /* a sum of one store's rows alone is no answer */
        ledger = open_store(&t.at[i]);
        row[0] = row_in(i, 1);
        for (size_t j = 1; j < 4; j++)
            row[j] = row_in(i, row[j - 1] + 1);
        assert_fails(ask(&reply, ledger, &token, "r", row, 4, 4, NULL, &err), PBOOST_INVALID, err,
                     "has 2 stores");
        assert_int_equal(status_of(ledger).spent, 0);
        pboost_ledger_close(ledger);
    }
    ledger = open_store(&t.at[1]); /* tokens are in the first */
    char secret[PBOOST_TOKEN_TEXT];
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    options.name = "more";
    assert_fails(pboost_token_create(secret, ledger, &options, &err), PBOOST_INVALID, err, "");
    pboost_ledger_close(ledger);

    const char *same[] = {t.at[0].url, t.at[0].url};
    assert_fails(pboost_ledger_open_all(&other, same, 2, NULL, &err), PBOOST_INVALID, err, "");
    const char *turned[] = {t.at[1].url, t.at[0].url}; /* any order */
    assert_ok(pboost_ledger_open_all(&other, turned, 2, NULL, &err), err);
    row_numbers(row, 1, 4);
    assert_ok(ask(&reply, other, &token, "r", row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    pboost_ledger_close(other);
    test_oracle u = new_oracle(&rules, 2); /* another oracle's store with the same rules */
    const char *mixed[] = {t.at[0].url, u.at[1].url};
    assert_fails(pboost_ledger_open_all(&other, mixed, 2, NULL, &err), PBOOST_BAD_DATA, err,
                 "same oracle");
    drop_oracle(&u);
    drop_oracle(&t);
}

static void rules_must_be_the_same(void **state)
{
    test_oracle t = {.n = 2};
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger;
    pboost_error err = {0};
    (void)state;

    strcpy(rules.oracle, "00112233445566778899aabbccddeeff");
    rules.stores = 2;
    for (size_t i = 0; i < 2; i++) {
        rules.store = i + 1;
        rules.rules.min_bag += i; /* 4 and 5 */
        t.at[i] = new_store();
        assert_ok(pboost_ledger_create(t.at[i].url, &rules, NULL, &err), err);
    }
    set_urls(&t);
    assert_fails(pboost_ledger_open_all(&ledger, t.url, 2, NULL, &err), PBOOST_BAD_DATA, err,
                 "different rules");
    drop_oracle(&t);
}

/* ---- Interrupted between two commits --------------------------------------------------------- */

static pboost_status killed_commit(store *s, bool durable, pboost_error *err)
{
    (void)s, (void)durable, (void)err;
    raise(SIGKILL);
    return PBOOST_INTERNAL;
}

/* Asks in a child that is killed when the other store has committed and the first has not. */
static void interrupt(test_oracle *t, const pboost_token *token, const char *request,
                      const int64_t *row, size_t n)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        pboost_error err = {0};
        pboost_reply reply;
        pboost_ledger *ledger = open_oracle(t);
        store_class stopped = *ledger->write.store->class;
        stopped.commit = killed_commit;
        ledger->write.store->class = &stopped;
        (void)ask(&reply, ledger, token, request, row, n, SIZE, NULL, &err);
        _exit(1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

static void what_was_committed_in_part_stays_spent(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_oracle(&t, &rules, ROWS);
    pboost_error err = {0};
    pboost_reply reply;
    pboost_audit audit;
    pboost_token token = plain_token(ledger, "lab");
    int64_t row[SIZE], mine[SIZE];
    size_t here = 0;
    (void)state;

    row_numbers(row, 1, SIZE);
    pboost_ledger_close(ledger);
    interrupt(&t, &token, "r", row, SIZE);
    assert_int_equal(entries_of(t.at[0].url, "answer"), 0);
    assert_int_equal(entries_of(t.at[1].url, "claim"), 1);

    ledger = open_oracle(&t);
    for (int again = 0; again < 2; again++) { /* a retry spends nothing more, however often */
        uint64_t spent = status_of(ledger).spent;
        assert_refused(ask(&reply, ledger, &token, "r", row, SIZE, SIZE, NULL, &err), reply,
                       PBOOST_PROBLEM_REQUEST_INCOMPLETE, err);
        assert_int_equal(status_of(ledger).spent, spent);
        pboost_reply_free(&reply);
    }
    /* another question under the same id, also one that needs the first store alone */
    for (int64_t r = 1; here < 4; r++)
        if (pboost_id_store((pboost_id){NULL, r}, STORES) == 0)
            mine[here++] = r;
    assert_refused(ask(&reply, ledger, &token, "r", mine, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_REQUEST_INCOMPLETE, err);
    pboost_reply_free(&reply);
    /* the rows of the other store are spent, those of the first are not */
    assert_refused(ask(&reply, ledger, &token, "s", row, SIZE, SIZE, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    size_t gone = 0;
    for (size_t i = 0; i < SIZE; i++)
        gone += pboost_id_store((pboost_id){NULL, row[i]}, STORES) == 1;
    assert_int_equal(reply.n_listed, gone);
    for (size_t i = 0; i < gone; i++)
        assert_int_equal(pboost_id_store((pboost_id){NULL, row[reply.offender[i]]}, STORES), 1);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &token, "u", mine, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_int_equal(status_of(ledger).spent, gone + 4);
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    assert_int_equal(audit.problems, 0);
    assert_int_equal(audit.interrupted, 1);
    pboost_ledger_close(ledger);
    drop_oracle(&t);
}

/* ---- One store of an older time -------------------------------------------------------------- */

static void file_of(char out[120], const test_store *t, const char *end)
{
    snprintf(out, 120, "%.60s/store.db%s", t->folder, end);
}

/* Store 2 and its witness are put back together, so that neither says anything. */
static void an_answer_without_its_claims_is_found(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_oracle(&t, &rules, ROWS);
    pboost_error err = {0};
    pboost_reply reply;
    pboost_audit audit;
    pboost_token token = plain_token(ledger, "lab");
    int64_t row[SIZE];
    char log_file[120], copy[120], now[120];
    (void)state;

    pboost_ledger_close(ledger);
    if (on_postgresql()) { /* where the witness has another place */
        drop_oracle(&t);
        skip();
    }
    file_of(log_file, &t.at[1], ".witness");
    file_of(copy, &t.at[1], ".witness.copy");
    file_of(now, &t.at[1], ".copy");
    back_up(&t.at[1]);
    copy_file(log_file, copy);
    ledger = open_oracle(&t);
    row_numbers(row, 1, SIZE);
    assert_ok(ask(&reply, ledger, &token, "r", row, SIZE, SIZE, NULL, &err), err);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    copy_file(log_file, now);
    put_back(&t.at[1]);
    copy_file(copy, log_file);
    assert_fails(pboost_ledger_open_all(&ledger, t.url, 2, NULL, &err), PBOOST_BAD_DATA, err,
                 "rows in other stores");
    pboost_ledger_options options[2] = {PBOOST_LEDGER_OPTIONS_INIT, PBOOST_LEDGER_OPTIONS_INIT};
    options[0].inspect = options[1].inspect = true;
    assert_ok(pboost_ledger_open_all(&ledger, t.url, 2, options, &err), err);
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    assert_true(audit.problems > 0);
    assert_non_null(strstr(audit.first_problem, "rows in other stores"));
    pboost_ledger_close(ledger);

    /* with its own witness the restore spends what was answered, and the oracle opens again */
    pboost_restored restored;
    copy_file(now, log_file);
    assert_ok(pboost_ledger_restore(&restored, t.at[1].url, NULL, false, &err), err);
    assert_true(restored.burned > 0);
    ledger = open_oracle(&t);
    assert_refused(ask(&reply, ledger, &token, "s", row, SIZE, SIZE, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    assert_int_equal(reply.n_listed, SIZE);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_oracle(&t);
}

/* ---- Rows in and out ------------------------------------------------------------------------- */

static void a_store_takes_its_own_rows(void **state)
{
    test_oracle t;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger = make_oracle(&t, &rules, 0);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[60];
    double label[60];
    size_t total = 0;
    (void)state;

    pboost_ledger_close(ledger);
    for (size_t i = 0; i < 60; i++) {
        id[i] = (pboost_id){NULL, (int64_t)i + 1};
        label[i] = 1;
    }
    in.n = 60;
    in.id = id;
    in.label = label;
    for (size_t s = 0; s < 2; s++) { /* one after the other, as after a crash between them */
        ledger = open_store(&t.at[s]);
        assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
        assert_true(report.rows > 10 && report.rows < 50);
        total += report.rows;
        pboost_ledger_close(ledger);
    }
    assert_int_equal(total, 60);
    ledger = open_oracle(&t);
    assert_int_equal(status_of(ledger).rows, 60);
    label[59] = 7; /* one bad label: nothing comes into any store */
    for (size_t i = 0; i < 60; i++)
        id[i].number += 100;
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_BAD_DATA, err, "");
    assert_int_equal(report.bad_row, 59);
    assert_int_equal(status_of(ledger).rows, 60);

    size_t forgotten;
    const pboost_id none[] = {{NULL, 1}, {NULL, 2}, {NULL, 500}};
    assert_fails(forget_rows(&forgotten, ledger, none, 3, &err), PBOOST_BAD_DATA, err, "");
    assert_int_equal(status_of(ledger).forgotten, 0);
    const pboost_id both[] = {{NULL, row_in(0, 1)}, {NULL, row_in(1, 1)}};
    assert_ok(forget_rows(&forgotten, ledger, both, 2, &err), err);
    assert_int_equal(forgotten, 2);
    bool available[2];
    pboost_token token = plain_token(ledger, "lab");
    assert_ok(pboost_ledger_available(available, ledger, &token, both, 2, &err), err);
    assert_false(available[0] || available[1]);
    const pboost_id left[] = {{NULL, row_in(0, both[0].number + 1)},
                              {NULL, row_in(1, both[1].number + 1)}};
    assert_ok(pboost_ledger_available(available, ledger, &token, left, 2, &err), err);
    assert_true(available[0] && available[1]);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_oracle(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_lies_where_its_id_says),
        cmocka_unit_test(a_bag_of_both_stores_has_one_answer),
        cmocka_unit_test(rules_hold_across_stores),
        cmocka_unit_test(noise_is_drawn_once),
        cmocka_unit_test(a_unit_lies_in_one_store),
        cmocka_unit_test(an_id_is_in_one_store),
        cmocka_unit_test(only_a_whole_oracle_answers),
        cmocka_unit_test(rules_must_be_the_same),
        cmocka_unit_test(what_was_committed_in_part_stays_spent),
        cmocka_unit_test(an_answer_without_its_claims_is_found),
        cmocka_unit_test(a_store_takes_its_own_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Each rule of the ledger: what is answered, what is refused and by which name, and that a refusal
 * spends nothing. */
#include "ledger_testing.h"

/* ---- Answers --------------------------------------------------------------------------------- */

static void answers_are_the_means_of_the_bags(void **state)
{
    (void)state;
    const double label[] = {0, 1, 1, 1, 0, 0, 0, 1};
    const int64_t row[] = {1, 2, 3, 4, 5, 6, 7, 8};
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 8, label);
    pboost_token token = plain_token(ledger, "a");
    pboost_error err = {0};
    pboost_reply reply;
    char head[PBOOST_HEAD_TEXT];

    assert_ok(ask(&reply, ledger, &token, "r", row, 8, 4, NULL, &err), err);
    assert_int_equal(reply.length, 2 * 8 + 32);
    assert_true(mean_of(&reply, 0) == 0.75 && mean_of(&reply, 1) == 0.25);
    assert_false(reply.retried);
    head_of(head, &reply);
    pboost_ledger_status status = status_of(ledger);
    assert_string_equal(status.head, head);
    assert_int_equal(status.rows, 8);
    assert_int_equal(status.spent, 8);
    assert_int_equal(status.answers, 1);
    assert_int_equal(status.bags, 2);
    assert_string_equal(status.store, on_postgresql() ? "postgresql" : "sqlite");
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* With noise, what is released is a whole number of steps. */
static void noise_stays_on_the_grid(void **state)
{
    (void)state;
    enum { N = 4000 };
    double label[N];
    int64_t row[N];
    pboost_ledger_rules rules = plain_rules();
    rules.no_noise = false;
    rules.rules.epsilon = (pboost_rational){1, 2};
    rules.rules.lower = -1;
    rules.rules.step = 0.25;
    for (int i = 0; i < N; i++) {
        label[i] = 0.25 * (i % 9 - 4);
        row[i] = i + 1;
    }
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, N, label);
    pboost_token token = plain_token(ledger, "a");
    pboost_error err = {0};
    pboost_reply reply;
    double square = 0;
    int off = 0;

    assert_ok(ask(&reply, ledger, &token, "r", row, N, 4, NULL, &err), err);
    for (size_t b = 0; b < N / 4; b++) {
        double steps = mean_of(&reply, b) * 4 / 0.25, sum = 0;
        assert_true(steps == floor(steps));
        for (size_t i = 0; i < 4; i++)
            sum += label[4 * b + i] / 0.25;
        square += (steps - sum) * (steps - sum);
        off += steps != sum;
    }
    /* scale 8 / (1/2) = 16 steps: variance about 512; a thousand draws are within 30 % of it */
    assert_true(square / (N / 4) > 350 && square / (N / 4) < 700);
    assert_true(off > 900);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static pboost_status render_text(void *user, unsigned char **body, size_t *length,
                                 const pboost_ledger_answer *answer, pboost_error *err)
{
    char text[300];
    (void)err;
    if (user != NULL)
        return pboost_fail(err, PBOOST_INTERNAL, "no rendering today");
    *length = (size_t)snprintf(text, sizeof text, "%s %zu %zu %g %d %g %s", answer->request_id,
                               answer->n_bags, answer->size[0], answer->value[0], answer->dp,
                               pboost_rational_value(answer->epsilon), answer->head);
    *body = (unsigned char *)strdup(text);
    return PBOOST_OK;
}

static void a_renderer_makes_the_bytes(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 8, NULL);
    pboost_token token = plain_token(ledger, "a");
    pboost_question q = PBOOST_QUESTION_INIT;
    const pboost_id id[] = {{"1", 0}, {NULL, 2}, {"3", 0}, {NULL, 4}};
    const size_t start[] = {0, 4};
    pboost_error err = {0};
    pboost_reply reply;
    char expected[300];
    bool found;

    q.token = &token;
    q.request_id = "r";
    q.n_bags = 1;
    q.start = start;
    q.id = id;
    q.format = 7;
    q.render = render_text;
    q.user = &q; /* fails: nothing is spent */
    assert_fails(pboost_ledger_ask(&reply, ledger, &q, &err), PBOOST_INTERNAL, err, "no rendering");
    assert_int_equal(status_of(ledger).spent, 0);
    q.user = NULL;
    assert_ok(pboost_ledger_ask(&reply, ledger, &q, &err), err);
    snprintf(expected, sizeof expected, "r 1 4 1 0 inf %s", status_of(ledger).head);
    assert_int_equal(reply.length, strlen(expected));
    assert_memory_equal(reply.body, expected, reply.length);
    pboost_reply_free(&reply);
    assert_ok(pboost_ledger_find(&reply, &found, ledger, &token, "r", &err), err);
    assert_true(found);
    assert_int_equal(reply.format, 7);
    assert_memory_equal(reply.body, expected, reply.length);
    pboost_reply_free(&reply);
    assert_ok(pboost_ledger_find(&reply, &found, ledger, &token, "other", &err), err);
    assert_false(found);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void each_rule_refuses_by_name(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 40, NULL);
    pboost_token token = plain_token(ledger, "a");
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t first[] = {1, 2, 3, 4}, small[] = {5, 6, 7, 8, 9, 10, 11},
                  twice[] = {5, 6, 7, 8, 9, 6, 10, 11}, unknown[] = {5, 6, 99, 8},
                  spent[] = {5, 6, 3, 8, 9, 10, 11, 1}, good[] = {5, 6, 7, 8};

    assert_ok(ask(&reply, ledger, &token, "1", first, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "2", small, 7, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_BAG_TOO_SMALL, err);
    assert_int_equal(reply.n_offenders, 1);
    assert_int_equal(reply.offender[0], 1); /* the second bag */
    assert_true(pboost_problem_describe(reply.problem)->of_bags);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "2", twice, 8, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_DUPLICATE_ROW, err);
    assert_int_equal(reply.n_offenders, 1);
    assert_int_equal(reply.offender[0], 5);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "2", unknown, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, err);
    assert_int_equal(reply.offender[0], 2);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "2", spent, 8, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    assert_int_equal(reply.n_offenders, 2);
    assert_int_equal(reply.offender[0], 2);
    assert_int_equal(reply.offender[1], 7);
    pboost_reply_free(&reply);
    assert_int_equal(status_of(ledger).spent, 4); /* all or nothing */
    assert_ok(ask(&reply, ledger, &token, "2", good, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_int_equal(status_of(ledger).spent, 8);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void what_makes_no_sense_is_malformed(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 8, NULL);
    pboost_token token = plain_token(ledger, "a");
    pboost_error err = {0};
    pboost_reply reply;
    char longest[PBOOST_ID_MAX + 2];
    const int64_t row[] = {1, 2, 3, 4};

    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *const wrong[] = {"", "a b", "a\n", "\xc3\xa9", longest};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(ask(&reply, ledger, &token, wrong[i], row, 4, 4, NULL, &err), reply,
                       PBOOST_PROBLEM_MALFORMED, err);
    assert_refused(ask(&reply, ledger, &token, "r", row, 0, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_MALFORMED, err);
    assert_ok(ask(&reply, ledger, &token, longest + 1, row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);

    const size_t backwards[] = {0, 4, 2}, late[] = {1, 5};
    const pboost_id id[] = {{NULL, 1}, {NULL, 2}, {NULL, 3}, {NULL, 4}, {"", 0}};
    pboost_question q = PBOOST_QUESTION_INIT;
    q.token = &token;
    q.request_id = "r";
    q.id = id;
    q.n_bags = 2;
    q.start = backwards;
    assert_refused(pboost_ledger_ask(&reply, ledger, &q, &err), reply, PBOOST_PROBLEM_MALFORMED,
                   err);
    q.n_bags = 1;
    q.start = late;
    assert_refused(pboost_ledger_ask(&reply, ledger, &q, &err), reply, PBOOST_PROBLEM_MALFORMED,
                   err);
    q.start = (const size_t[]){0, 5}; /* the last id is empty */
    assert_refused(pboost_ledger_ask(&reply, ledger, &q, &err), reply, PBOOST_PROBLEM_MALFORMED,
                   err);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void a_retry_gets_the_same_bytes_for_ever(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    rules.no_noise = false;
    rules.rules.epsilon = (pboost_rational){1, 100};
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 16, NULL);
    pboost_token token = plain_token(ledger, "a"), other = plain_token(ledger, "b");
    pboost_error err = {0};
    pboost_reply first, again;
    const int64_t row[] = {1, 2, 3, 4, 5, 6, 7, 8}, changed[] = {1, 2, 3, 4, 5, 6, 7, 9},
                  more[] = {9, 10, 11, 12};

    assert_ok(ask(&first, ledger, &token, "r", row, 8, 4, NULL, &err), err);
    for (int i = 0; i < 3; i++) {
        assert_ok(ask(&again, ledger, &token, "r", row, 8, 4, NULL, &err), err);
        assert_true(again.retried);
        assert_int_equal(again.length, first.length);
        assert_memory_equal(again.body, first.body, first.length);
        pboost_reply_free(&again);
        assert_refused(ask(&again, ledger, &token, "r", changed, 8, 4, NULL, &err), again,
                       PBOOST_PROBLEM_REQUEST_CONFLICT, err);
        assert_refused(ask(&again, ledger, &token, "r", row, 8, 8, NULL, &err), again,
                       PBOOST_PROBLEM_REQUEST_CONFLICT, err);
        pboost_ledger_close(ledger);
        ledger = open_store(&t);
    }
    /* request ids belong to the token */
    assert_refused(ask(&again, ledger, &other, "r", row, 8, 4, NULL, &err), again,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&again);
    assert_ok(ask(&again, ledger, &other, "r", more, 4, 4, NULL, &err), err);
    pboost_reply_free(&again);
    assert_int_equal(status_of(ledger).spent, 12);
    pboost_reply_free(&first);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- Units ----------------------------------------------------------------------------------- */

/* Rows 1 .. n; unit of row i is unit[i-1]. */
static void import_units(pboost_ledger *ledger, size_t n, const int64_t *unit)
{
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[64], units[64];
    double label[64];

    for (size_t i = 0; i < n; i++) {
        id[i] = (pboost_id){NULL, (int64_t)i + 1};
        units[i] = (pboost_id){NULL, unit[i]};
        label[i] = 1;
    }
    in.n = n;
    in.id = id;
    in.label = label;
    assert_fails(pboost_ledger_import(&report, ledger, &in, &err), PBOOST_INVALID, err, "units");
    in.unit = units;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
}

static void a_unit_is_used_as_often_as_allowed(void **state)
{
    (void)state;
    /* unit 50 has rows 1, 5, 9, 13; every other row is a unit of its own */
    const int64_t unit[] = {50, 2, 3, 4, 50, 6, 7, 8, 50, 10, 11, 12, 50, 14, 15, 16};
    const int64_t both[] = {1, 2, 3, 5}, one[] = {1, 2, 3, 4}, two[] = {5, 6, 7, 8},
                  pair[] = {5, 6, 7, 8, 9, 10, 11, 12}, three[] = {9, 10, 11, 12};
    pboost_error err = {0};
    pboost_reply reply;
    bool available[2];
    const pboost_id asked[] = {{NULL, 9}, {NULL, 10}};

    for (size_t unit_rows = 1; unit_rows <= 2; unit_rows++) {
        pboost_ledger_rules rules = plain_rules();
        rules.units = true;
        rules.unit_rows = unit_rows;
        test_store t;
        pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
        import_units(ledger, 16, unit);
        pboost_token token = plain_token(ledger, "a");

        assert_refused(ask(&reply, ledger, &token, "1", both, 4, 4, NULL, &err), reply,
                       PBOOST_PROBLEM_UNIT_REPEATED, err);
        assert_int_equal(reply.offender[0], 3);
        pboost_reply_free(&reply);
        assert_ok(ask(&reply, ledger, &token, "1", one, 4, 4, NULL, &err), err);
        pboost_reply_free(&reply);
        pboost_ledger_close(ledger); /* what was used is read back */
        ledger = open_store(&t);
        assert_refused(ask(&reply, ledger, &token, "2", pair, 8, 4, NULL, &err), reply,
                       PBOOST_PROBLEM_UNIT_SPENT, err);
        assert_int_equal(reply.n_offenders, 3 - unit_rows);
        pboost_reply_free(&reply);
        if (unit_rows == 2) {
            assert_ok(ask(&reply, ledger, &token, "2", two, 4, 4, NULL, &err), err);
            pboost_reply_free(&reply);
        }
        assert_refused(ask(&reply, ledger, &token, "3", three, 4, 4, NULL, &err), reply,
                       PBOOST_PROBLEM_UNIT_SPENT, err);
        pboost_reply_free(&reply);
        assert_ok(pboost_ledger_available(available, ledger, &token, asked, 2, &err), err);
        assert_false(available[0]);
        assert_true(available[1]);
        assert_sound(ledger);
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
}

/* The rules read a copy in memory.  If the copy is wrong, the store's own constraints refuse, the
 * copy is read again, and the offenders are named as usual. */
static void the_store_refuses_even_where_the_copy_is_wrong(void **state)
{
    (void)state;
    const int64_t unit[] = {1, 2, 3, 4, 1, 6, 7, 8};
    const int64_t one[] = {1, 2, 3, 4}, overlap[] = {4, 6, 7, 8}, same_unit[] = {5, 6, 7, 8};

    for (int units = 0; units <= 1; units++) {
        pboost_ledger_rules rules = plain_rules();
        rules.units = units == 1;
        test_store t;
        pboost_ledger *ledger = make_ledger(&t, &rules, rules.units ? 0 : 8, NULL);
        if (rules.units)
            import_units(ledger, 8, unit);
        pboost_token token = plain_token(ledger, "a");
        pboost_error err = {0};
        pboost_reply reply;

        assert_ok(ask(&reply, ledger, &token, "1", one, 4, 4, NULL, &err), err);
        pboost_reply_free(&reply);
        if (rules.units) {
            memset(ledger->labels.uses, 0, ledger->labels.n_units * sizeof *ledger->labels.uses);
            assert_refused(ask(&reply, ledger, &token, "2", same_unit, 4, 4, NULL, &err), reply,
                           PBOOST_PROBLEM_UNIT_SPENT, err);
        } else {
            ledger->labels.spent[0] = 0;
            assert_refused(ask(&reply, ledger, &token, "2", overlap, 4, 4, NULL, &err), reply,
                           PBOOST_PROBLEM_ROW_SPENT, err);
        }
        assert_int_equal(reply.n_offenders, 1);
        pboost_reply_free(&reply);
        assert_int_equal(status_of(ledger).spent, 4);
        assert_sound(ledger);
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
}

/* ---- Attacks --------------------------------------------------------------------------------- */

/* Repeat, overlap, difference, k-1, repeated ids under several names: each is refused, so no label
 * can be computed from two sums. */
static void differences_cannot_be_asked_for(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 12, NULL);
    pboost_token token = plain_token(ledger, "a"), second = plain_token(ledger, "b");
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t bag[] = {1, 2, 3, 4, 5}, less[] = {1, 2, 3, 4}, more[] = {1, 2, 3, 4, 5, 6},
                  few[] = {10, 11, 12};

    assert_ok(ask(&reply, ledger, &token, "1", bag, 5, 5, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "2", bag, 5, 5, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "2", less, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &second, "2", more, 6, 6, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    assert_int_equal(reply.n_offenders, 5);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &second, "2", few, 3, 3, NULL, &err), reply,
                   PBOOST_PROBLEM_BAG_TOO_SMALL, err);
    pboost_reply_free(&reply);

    const pboost_id padded[] = {{NULL, 10}, {"10", 0}, {NULL, 11}, {"12", 0}};
    const size_t start[] = {0, 4};
    pboost_question q = PBOOST_QUESTION_INIT;
    q.token = &token;
    q.request_id = "3";
    q.n_bags = 1;
    q.start = start;
    q.id = padded;
    assert_refused(pboost_ledger_ask(&reply, ledger, &q, &err), reply, PBOOST_PROBLEM_DUPLICATE_ROW,
                   err);
    assert_int_equal(reply.offender[0], 1);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void rules_are_said_in_full_and_never_change(void **state)
{
    (void)state;
    pboost_error err = {0};
    test_store t = new_store();
    pboost_ledger_rules rules = plain_rules(), wrong;
    pboost_ledger *ledger;

    wrong = rules;
    wrong.no_noise = false;
    assert_fails(pboost_ledger_create(t.url, &wrong, NULL, &err), PBOOST_INVALID, err,
                 "--no-noise");
    wrong.no_noise = true;
    wrong.rules.epsilon = (pboost_rational){1, 1};
    assert_fails(pboost_ledger_create(t.url, &wrong, NULL, &err), PBOOST_INVALID, err, "epsilon");
    for (size_t k = 0; k < 2; k++) {
        wrong = rules;
        wrong.rules.min_bag = k;
        assert_fails(pboost_ledger_create(t.url, &wrong, NULL, &err), PBOOST_INVALID, err,
                     "at least 2");
    }
    wrong = rules;
    wrong.rules.bounded = false;
    wrong.rules.step = 0;
    assert_fails(pboost_ledger_create(t.url, &wrong, NULL, &err), PBOOST_INVALID, err, "bounds");
    wrong = rules;
    wrong.rules.round = true;
    assert_fails(pboost_ledger_create(t.url, &wrong, NULL, &err), PBOOST_INVALID, err, "round");
    wrong = rules;
    wrong.unit_rows = 2;
    assert_fails(pboost_ledger_create(t.url, &wrong, NULL, &err), PBOOST_INVALID, err, "units");
    assert_int_not_equal(pboost_ledger_open(&ledger, t.url, NULL, &err), PBOOST_OK);
    assert_ok(pboost_ledger_create(t.url, &rules, NULL, &err), err);
    wrong = rules;
    wrong.rules.min_bag = 2;
    assert_fails(pboost_ledger_create(t.url, &wrong, NULL, &err), PBOOST_REFUSED, err,
                 "cannot be changed");
    ledger = open_store(&t);
    assert_int_equal(pboost_ledger_get_rules(ledger)->rules.min_bag, 4);
    pboost_ledger_close(ledger);
    change_store(
        &t,
        on_postgresql()
            ? "UPDATE ledger_entry SET data = set_byte(data, 16, 50) WHERE number = 0" /* k = 2 */
            : "UPDATE ledger_entry SET data = CAST(replace(CAST(data AS TEXT),"
              " 'min_bag 4', 'min_bag 2') || x'00' AS BLOB) WHERE number = 0");
    assert_fails(pboost_ledger_open(&ledger, t.url, NULL, &err), PBOOST_BAD_DATA, err,
                 "rules were changed");
    drop_store(&t);
}

/* An epsilon above 10, of a row or of a unit in all its bags, is confirmed; nothing else is. */
static void weak_privacy_is_confirmed(void **state)
{
    (void)state;
    static const struct {
        pboost_rational epsilon;
        size_t unit_rows; /* 0: no units */
        bool weak;
    } CASES[] = {{{10, 1}, 0, false},      {{100000001, 10000000}, 0, true},
                 {{12, 1}, 0, true},       {{UINT64_MAX, 1}, 0, true},
                 {{5, 1}, 2, false},       {{6, 1}, 2, true},
                 {{1, 100}, 1000, false},  {{1, 100}, 1001, true},
                 {{0, 0}, 1000000, false}, {{1, 2}, 0, false}};

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pboost_error err = {0};
        test_store t = new_store();
        pboost_ledger_rules rules = plain_rules();
        pboost_ledger *ledger;

        rules.rules.epsilon = CASES[i].epsilon;
        rules.no_noise = CASES[i].epsilon.den == 0;
        rules.units = CASES[i].unit_rows > 0;
        rules.unit_rows = rules.units ? CASES[i].unit_rows : 1;
        rules.rules.upper = 10000000; /* a grid on which every epsilon has noise */
        rules.weak_privacy = !CASES[i].weak;
        assert_fails(pboost_ledger_create(t.url, &rules, NULL, &err), PBOOST_INVALID, err,
                     "--weak-privacy");
        rules.weak_privacy = CASES[i].weak;
        assert_ok(pboost_ledger_create(t.url, &rules, NULL, &err), err);
        ledger = open_store(&t);
        assert_int_equal(pboost_ledger_get_rules(ledger)->weak_privacy, CASES[i].weak);
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
}

static void a_data_sheet_is_part_of_the_rules(void **state)
{
    (void)state;
    pboost_error err = {0};
    test_store t = new_store();
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger *ledger;
    char novel[PBOOST_SHEET_TEXT + 1];

    memset(novel, 'a', sizeof novel);
    novel[PBOOST_SHEET_TEXT] = '\0';
    assert_fails(pboost_sheet_set(&rules.sheet, PBOOST_SHEET_OWNER, novel, &err), PBOOST_INVALID,
                 err, "owner is longer than 200 bytes");
    assert_fails(pboost_sheet_set(&rules.sheet, PBOOST_SHEET_CONTACT, "a\nb", &err), PBOOST_INVALID,
                 err, "contact must be one line");
    assert_fails(pboost_sheet_set(&rules.sheet, PBOOST_SHEET_LABEL, "\xff", &err), PBOOST_INVALID,
                 err, "label must be one line");
    novel[PBOOST_SHEET_TEXT - 1] = '\0';
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++) /* all as long as they may be */
        assert_ok(pboost_sheet_set(&rules.sheet, i, novel, &err), err);
    assert_ok(pboost_sheet_set(&rules.sheet, PBOOST_SHEET_PURPOSE, "", &err), err);
    assert_ok(pboost_ledger_create(t.url, &rules, NULL, &err), err);
    ledger = open_store(&t);
    assert_memory_equal(&pboost_ledger_get_rules(ledger)->sheet, &rules.sheet, sizeof rules.sheet);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_the_means_of_the_bags),
        cmocka_unit_test(noise_stays_on_the_grid),
        cmocka_unit_test(a_renderer_makes_the_bytes),
        cmocka_unit_test(each_rule_refuses_by_name),
        cmocka_unit_test(what_makes_no_sense_is_malformed),
        cmocka_unit_test(a_retry_gets_the_same_bytes_for_ever),
        cmocka_unit_test(a_unit_is_used_as_often_as_allowed),
        cmocka_unit_test(the_store_refuses_even_where_the_copy_is_wrong),
        cmocka_unit_test(differences_cannot_be_asked_for),
        cmocka_unit_test(rules_are_said_in_full_and_never_change),
        cmocka_unit_test(weak_privacy_is_confirmed),
        cmocka_unit_test(a_data_sheet_is_part_of_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

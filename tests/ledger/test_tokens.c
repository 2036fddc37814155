/* Who may ask about what: tokens, quotas, scopes; and which replies must be the same. */
#include "ledger_testing.h"

/* ---- Tokens ---------------------------------------------------------------------------------- */

static int64_t clock_at;

static int64_t set_clock(void *user)
{
    (void)user;
    return clock_at;
}

static void tokens_expire_are_revoked_and_have_a_role(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    pboost_token_options learner = PBOOST_TOKEN_OPTIONS_INIT;
    test_store t;
    pboost_ledger_close(make_ledger(&t, &rules, 16, NULL));
    pboost_error err = {0};
    pboost_ledger *ledger;
    char secret[PBOOST_TOKEN_TEXT], operator[PBOOST_TOKEN_TEXT], wrong[PBOOST_TOKEN_TEXT];
    pboost_token token;
    pboost_problem problem;
    pboost_reply reply;
    const int64_t row[] = {1, 2, 3, 4};

    clock_at = 1000;
    options.now = set_clock;
    assert_ok(pboost_ledger_open(&ledger, t.url, &options, &err), err);
    learner.name = "a";
    learner.expires = 2000;
    assert_ok(pboost_token_create(secret, ledger, &learner, &err), err);
    assert_int_equal(strlen(secret), 46);
    assert_fails(pboost_token_create(wrong, ledger, &learner, &err), PBOOST_INVALID, err,
                 "already");
    learner.name = "two words";
    assert_fails(pboost_token_create(wrong, ledger, &learner, &err), PBOOST_INVALID, err, "name");
    learner.name = "boss";
    learner.role = PBOOST_OPERATOR;
    assert_ok(pboost_token_create(operator, ledger, &learner, &err), err);
    assert_string_not_equal(secret, operator);

    assert_ok(pboost_token_authenticate(&token, &problem, ledger, secret,
                                        PBOOST_MAY(PBOOST_LEARNER), &err),
              err);
    assert_string_equal(token.name, "a");
    assert_int_equal(pboost_token_authenticate(&token, &problem, ledger, secret,
                                               PBOOST_MAY(PBOOST_OPERATOR), &err),
                     PBOOST_REFUSED);
    assert_int_equal(problem, PBOOST_PROBLEM_TOKEN_ROLE);
    assert_int_equal(pboost_token_authenticate(&token, &problem, ledger, operator,
                                               PBOOST_MAY(PBOOST_LEARNER), &err),
                     PBOOST_REFUSED);
    assert_int_equal(problem, PBOOST_PROBLEM_TOKEN_ROLE);
    for (size_t i = 0; i <= strlen(secret); i += 5) { /* cut or changed anywhere */
        strcpy(wrong, secret);
        wrong[i] = i < strlen(secret) && wrong[i] != 'A' ? 'A' : '\0';
        if (i == strlen(secret))
            wrong[i - 1] = '\0';
        assert_int_equal(pboost_token_authenticate(&token, &problem, ledger, wrong,
                                                   PBOOST_MAY(PBOOST_LEARNER), &err),
                         PBOOST_REFUSED);
        assert_int_equal(problem, PBOOST_PROBLEM_TOKEN_INVALID);
        assert_int_equal(token.state, PBOOST_TOKEN_REVOKED);
    }
    assert_ok(pboost_token_authenticate(&token, &problem, ledger, secret,
                                        PBOOST_MAY(PBOOST_LEARNER), &err),
              err);
    pboost_token old = token;
    clock_at = 2000;
    assert_int_equal(pboost_token_authenticate(&token, &problem, ledger, secret,
                                               PBOOST_MAY(PBOOST_LEARNER), &err),
                     PBOOST_REFUSED);
    assert_int_equal(problem, PBOOST_PROBLEM_TOKEN_EXPIRED);
    assert_refused(ask(&reply, ledger, &old, "r", row, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_TOKEN_EXPIRED, err);
    clock_at = 1999;
    assert_ok(pboost_token_revoke(ledger, "a", &err), err);
    assert_fails(pboost_token_revoke(ledger, "a", &err), PBOOST_INVALID, err, "revoked");
    assert_fails(pboost_token_revoke(ledger, "nobody", &err), PBOOST_INVALID, err, "nobody");
    assert_int_equal(pboost_token_authenticate(&token, &problem, ledger, secret,
                                               PBOOST_MAY(PBOOST_LEARNER), &err),
                     PBOOST_REFUSED);
    assert_int_equal(problem, PBOOST_PROBLEM_TOKEN_INVALID);
    assert_refused(ask(&reply, ledger, &old, "r", row, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_TOKEN_INVALID, err);
    assert_int_equal(status_of(ledger).spent, 0);
    pboost_token *list;
    size_t n;
    assert_ok(pboost_token_list(&list, &n, ledger, &err), err);
    assert_int_equal(n, 2);
    assert_int_equal(list[0].state, PBOOST_TOKEN_REVOKED);
    assert_true(list[1].state == PBOOST_TOKEN_ACTIVE && list[1].role == PBOOST_OPERATOR);
    free(list);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static void a_token_has_its_quota(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 32, NULL);
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

    options.name = "a";
    options.max_rows = 11;
    pboost_token token = token_for(ledger, &options);
    assert_refused(ask(&reply, ledger, &token, "1", row, 12, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_QUOTA_EXCEEDED, err);
    assert_int_equal(reply.n_offenders, 1);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &token, "1", row, 8, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &token, "1", row, 8, 4, NULL, &err), err); /* costs nothing */
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &token, "2", row + 8, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_QUOTA_EXCEEDED, err);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- Scopes; replies that must be the same --------------------------------------------------- */

/* Rows 1 .. 16, the first half in scope "north"; label[i]. */
static void import_scopes(pboost_ledger *ledger, const double *label)
{
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[16], scope[16];

    for (int i = 0; i < 16; i++) {
        id[i] = (pboost_id){NULL, i + 1};
        scope[i] = (pboost_id){i < 8 ? "north" : "south", 0};
    }
    in.n = 16;
    in.id = id;
    in.label = label;
    in.scope = scope;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
}

static void unknown_erased_and_forbidden_rows_look_alike(void **state)
{
    (void)state;
    double label[16];
    for (int i = 0; i < 16; i++)
        label[i] = i % 2;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    import_scopes(ledger, label);
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    options.name = "north";
    options.scope = "north";
    pboost_token north = token_for(ledger, &options), all = plain_token(ledger, "all");
    options.name = "nowhere";
    options.scope = "nowhere";
    pboost_token nowhere = token_for(ledger, &options);
    pboost_error err = {0}, other = {0};
    pboost_reply reply;
    size_t forgotten;
    const pboost_id erased[] = {{NULL, 4}};
    const int64_t mine[] = {1, 2, 3, 5}, theirs[] = {1, 2, 3, 9}, strange[] = {1, 2, 3, 99},
                  gone[] = {1, 2, 3, 4}, spent[] = {9, 10, 11, 12};

    assert_ok(forget_rows(&forgotten, ledger, erased, 1, &err), err);
    assert_int_equal(forgotten, 1);
    assert_refused(ask(&reply, ledger, &north, "1", theirs, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, err);
    assert_int_equal(reply.offender[0], 3);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &north, "1", strange, 4, 4, NULL, &other), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, other);
    assert_string_equal(err.message, other.message);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &north, "1", gone, 4, 4, NULL, &other), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, other);
    assert_string_equal(err.message, other.message);
    pboost_reply_free(&reply);
    assert_ok(ask(&reply, ledger, &all, "1", spent, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &north, "1", theirs, 4, 4, NULL, &other), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, other); /* not "spent" */
    pboost_reply_free(&reply);
    assert_refused(ask(&reply, ledger, &nowhere, "1", mine, 4, 4, NULL, &other), reply,
                   PBOOST_PROBLEM_UNKNOWN_ROW, other);
    pboost_reply_free(&reply);
    bool available[5];
    const pboost_id asked[] = {{NULL, 1}, {NULL, 4}, {NULL, 9}, {NULL, 99}, {"1", 0}};
    assert_ok(pboost_ledger_available(available, ledger, &north, asked, 5, &err), err);
    assert_true(available[0] && available[4]);
    assert_false(available[1] || available[2] || available[3]);
    assert_ok(ask(&reply, ledger, &north, "1", mine, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Two stores that differ in every label refuse with the same bytes. */
static void refusals_do_not_depend_on_labels(void **state)
{
    (void)state;
    double label[16];
    pboost_error err[2][64];
    size_t offenders[2][64], n = 0;
    const int64_t question[][8] = {{1, 2, 3, 4, 5, 6, 7, 8},     {1, 2, 3, 4, 0, 0, 0, 0},
                                   {1, 1, 2, 3, 4, 5, 6, 7},     {99, 98, 1, 2, 3, 4, 5, 6},
                                   {1, 2, 3, 9, 10, 11, 12, 13}, {9, 10, 11, 12, 13, 14, 15, 16},
                                   {13, 14, 15, 16, 1, 2, 3, 4}, {9, 9, 9, 9, 9, 9, 9, 9}};

    memset(err, 0, sizeof err);
    for (int swapped = 0; swapped < 2; swapped++) {
        for (int i = 0; i < 16; i++)
            label[i] = (i % 2) ^ swapped;
        pboost_ledger_rules rules = plain_rules();
        test_store t;
        pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
        import_scopes(ledger, label);
        pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
        options.name = "a";
        options.scope = "south";
        options.max_rows = 9;
        pboost_token token = token_for(ledger, &options);
        n = 0;
        for (size_t round = 0; round < 3; round++)
            for (size_t i = 0; i < sizeof question / sizeof *question; i++) {
                char request[20];
                pboost_reply reply;
                snprintf(request, sizeof request, "r%zu", i);
                ask(&reply, ledger, &token, request, question[i], 8, round == 1 ? 3 : 4, NULL,
                    &err[swapped][n]);
                offenders[swapped][n++] = reply.n_offenders * 100 + (size_t)reply.problem;
                pboost_reply_free(&reply);
            }
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(err[0][i].message, err[1][i].message);
        assert_int_equal(offenders[0][i], offenders[1][i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_expire_are_revoked_and_have_a_role),
        cmocka_unit_test(a_token_has_its_quota),
        cmocka_unit_test(unknown_erased_and_forbidden_rows_look_alike),
        cmocka_unit_test(refusals_do_not_depend_on_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tokens that wait for approval: who can approve, and that nobody else can. */
#include "ledger_testing.h"

#include "approval.h"

static const int64_t ROWS[] = {1, 2, 3, 4, 5, 6, 7, 8};

typedef struct {
    char secret[PBOOST_TOKEN_TEXT];
    pboost_token token;
} holder;

static holder make(pboost_ledger *ledger, const char *name, pboost_role role, bool pending,
                   const holder *creator)
{
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_error err = {0};
    holder h;

    options.name = name;
    options.role = role;
    options.pending = pending;
    options.creator = creator != NULL ? creator->secret : NULL;
    options.made = &h.token;
    assert_ok(pboost_token_create(h.secret, ledger, &options, &err), err);
    return h;
}

static void assert_not_approved(pboost_ledger *ledger, const char *name, const holder *by,
                                pboost_problem expected)
{
    pboost_error err = {0};
    pboost_problem problem;
    pboost_token token;

    assert_int_equal(pboost_token_approve(&token, &problem, ledger, name, by->secret, &err),
                     PBOOST_REFUSED);
    if (problem != expected)
        fail_msg("%s: %s instead of %s", name, pboost_problem_describe(problem)->name,
                 pboost_problem_describe(expected)->name);
}

static void approve(pboost_ledger *ledger, const char *name, const holder *by)
{
    pboost_error err = {0};
    pboost_problem problem;
    pboost_token token;

    assert_ok(pboost_token_approve(&token, &problem, ledger, name, by->secret, &err), err);
    assert_int_equal(token.state, PBOOST_TOKEN_ACTIVE);
    assert_string_equal(token.approved_by, by->token.name);
}

/* The holder cannot log in and cannot ask, and nothing is spent. */
static void assert_pending(pboost_ledger *ledger, const holder *h)
{
    pboost_error err = {0};
    pboost_problem problem;
    pboost_token token;
    pboost_reply reply;
    uint64_t spent = status_of(ledger).spent;

    assert_int_equal(pboost_token_authenticate(&token, &problem, ledger, h->secret,
                                               PBOOST_MAY(h->token.role), &err),
                     PBOOST_REFUSED);
    assert_int_equal(problem, PBOOST_PROBLEM_TOKEN_PENDING);
    if (h->token.role == PBOOST_LEARNER)
        assert_refused(ask(&reply, ledger, &h->token, "pending", ROWS + 4, 4, 4, NULL, &err), reply,
                       PBOOST_PROBLEM_TOKEN_PENDING, err);
    assert_int_equal(status_of(ledger).spent, spent);
}

static void assert_answered(pboost_ledger *ledger, const holder *h, const int64_t *row)
{
    pboost_error err = {0};
    pboost_problem problem;
    pboost_token token;
    pboost_reply reply;

    assert_ok(pboost_token_authenticate(&token, &problem, ledger, h->secret,
                                        PBOOST_MAY(PBOOST_LEARNER), &err),
              err);
    assert_ok(ask(&reply, ledger, &token, "r", row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
}

static void a_pending_token_does_nothing_until_it_is_approved(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 8, NULL);
    pboost_error err = {0};
    pboost_token_options first = PBOOST_TOKEN_OPTIONS_INIT;
    char unused[PBOOST_TOKEN_TEXT];
    first.name = "first";
    first.role = PBOOST_APPROVER;
    first.pending = true;
    assert_fails(pboost_token_create(unused, ledger, &first, &err), PBOOST_INVALID, err,
                 "nobody to approve it");
    holder boss = make(ledger, "boss", PBOOST_APPROVER, false, NULL);
    holder lab = make(ledger, "lab", PBOOST_LEARNER, true, NULL);
    holder plain = make(ledger, "plain", PBOOST_LEARNER, false, NULL);
    holder operator= make(ledger, "operator", PBOOST_OPERATOR, false, NULL);
    holder gone = make(ledger, "gone", PBOOST_LEARNER, true, NULL);
    holder nobody = boss;

    assert_int_equal(lab.token.state, PBOOST_TOKEN_PENDING);
    assert_int_equal(plain.token.state, PBOOST_TOKEN_ACTIVE);
    assert_pending(ledger, &lab);
    nobody.secret[10] ^= 1;
    assert_not_approved(ledger, "lab", &nobody, PBOOST_PROBLEM_TOKEN_INVALID);
    assert_not_approved(ledger, "lab", &lab, PBOOST_PROBLEM_TOKEN_PENDING);
    assert_not_approved(ledger, "lab", &plain, PBOOST_PROBLEM_TOKEN_ROLE);
    assert_not_approved(ledger, "lab", &operator, PBOOST_PROBLEM_TOKEN_ROLE);
    assert_not_approved(ledger, "nobody", &boss, PBOOST_PROBLEM_UNKNOWN_TOKEN);
    assert_not_approved(ledger, "plain", &boss, PBOOST_PROBLEM_NOT_PENDING);
    assert_ok(pboost_token_revoke(ledger, "gone", &err), err);
    assert_not_approved(ledger, "gone", &boss, PBOOST_PROBLEM_NOT_PENDING);
    assert_pending(ledger, &lab);

    approve(ledger, "lab", &boss);
    assert_not_approved(ledger, "lab", &boss, PBOOST_PROBLEM_NOT_PENDING);
    assert_answered(ledger, &lab, ROWS);
    assert_ok(pboost_token_revoke(ledger, "boss", &err), err); /* what it approved stays */
    assert_answered(ledger, &lab, ROWS);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    (void)gone;
    drop_store(&t);
}

static void the_creator_cannot_approve(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 8, NULL);
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_error err = {0};
    char secret[PBOOST_TOKEN_TEXT];
    holder anna = make(ledger, "anna", PBOOST_APPROVER, false, NULL);
    holder bob = make(ledger, "bob", PBOOST_APPROVER, false, NULL);
    holder lab = make(ledger, "lab", PBOOST_LEARNER, true, &anna);

    assert_string_equal(lab.token.created_by, "anna");
    assert_not_approved(ledger, "lab", &anna, PBOOST_PROBLEM_OWN_TOKEN);
    assert_int_equal(bob.token.state, PBOOST_TOKEN_PENDING); /* only the first approver is not */
    assert_not_approved(ledger, "lab", &bob, PBOOST_PROBLEM_TOKEN_PENDING);
    assert_not_approved(ledger, "bob", &bob, PBOOST_PROBLEM_TOKEN_PENDING);
    approve(ledger, "bob", &anna);
    approve(ledger, "lab", &bob);
    assert_answered(ledger, &lab, ROWS);
    options.name = "more";
    options.creator = lab.secret; /* a learner creates nothing */
    assert_fails(pboost_token_create(secret, ledger, &options, &err), PBOOST_REFUSED, err,
                 "token-role");
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* An approver who makes its secret itself: the label holder sees what does not tell it. */
static void the_holder_can_prepare_its_secret(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 8, NULL);
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_error err = {0};
    char registration[PBOOST_REGISTRATION_TEXT], secret[PBOOST_TOKEN_TEXT];
    holder anna, lab;

    assert_ok(pboost_token_prepare(anna.secret, registration, &err), err);
    assert_null(strstr(registration, anna.secret + 3));
    options.name = "anna";
    options.role = PBOOST_APPROVER;
    options.registration = registration;
    options.made = &anna.token;
    assert_ok(pboost_token_create(secret, ledger, &options, &err), err);
    assert_string_equal(secret, "");
    options.name = "twin";
    assert_fails(pboost_token_create(secret, ledger, &options, &err), PBOOST_INVALID, err,
                 "another token");
    registration[20] = 'x';
    assert_fails(pboost_token_create(secret, ledger, &options, &err), PBOOST_INVALID, err,
                 "128 hexadecimal digits");
    lab = make(ledger, "lab", PBOOST_LEARNER, true, NULL);
    approve(ledger, "lab", &anna);
    assert_answered(ledger, &lab, ROWS);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

static pboost_ledger *strict_ledger(test_store *t)
{
    pboost_ledger_rules rules = plain_rules();
    rules.require_approval = true;
    pboost_ledger *ledger = make_ledger(t, &rules, 8, NULL);
    assert_true(pboost_ledger_get_rules(ledger)->require_approval);
    return ledger;
}

static void a_store_can_require_approval(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger *ledger = strict_ledger(&t);
    holder early = make(ledger, "early", PBOOST_LEARNER, false, NULL);
    holder anna = make(ledger, "anna", PBOOST_APPROVER, false, NULL);
    holder auditor = make(ledger, "auditor", PBOOST_AUDITOR, false, NULL);

    assert_int_equal(auditor.token.state, PBOOST_TOKEN_ACTIVE);
    assert_pending(ledger, &early);
    approve(ledger, "early", &anna);
    assert_answered(ledger, &early, ROWS);
    assert_sound(ledger);
    pboost_ledger_close(ledger);
    ledger = open_store(&t);
    assert_answered(ledger, &early, ROWS);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* ---- Attacks --------------------------------------------------------------------------------- */

/* What the store's owner can do: it has the key file, so its rows are taken for the program's own.
 */
static void forge(pboost_ledger *ledger, const pboost_token *token)
{
    pboost_error err = {0};
    assert_ok(pboost_side_enter(ledger, &ledger->write, true, &err), err);
    assert_ok(pboost_token_put(ledger->write.store, token, false, &err), err);
    assert_ok(pboost_store_commit(ledger->write.store, &err), err);
    pboost_side_leave(&ledger->write);
}

static void assert_not_sound(pboost_ledger *ledger)
{
    pboost_error err = {0};
    pboost_audit audit;
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    assert_true(audit.problems > 0);
}

static pboost_token stored(pboost_ledger *ledger, const char *name)
{
    pboost_error err = {0};
    pboost_token token;
    assert_ok(pboost_side_enter(ledger, &ledger->read, false, &err), err);
    assert_ok(pboost_token_by_name(&token, ledger->read.store, name, &err), err);
    pboost_side_leave(&ledger->read);
    return token;
}

static void access_to_the_store_is_not_approval(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger *ledger = strict_ledger(&t);
    holder anna = make(ledger, "anna", PBOOST_APPROVER, false, NULL);
    holder good = make(ledger, "good", PBOOST_LEARNER, false, NULL);
    holder bad = make(ledger, "bad", PBOOST_LEARNER, false, NULL);
    holder fake = make(ledger, "fake", PBOOST_APPROVER, false, NULL);
    holder young = make(ledger, "young", PBOOST_APPROVER, false, NULL);
    holder own = make(ledger, "own", PBOOST_LEARNER, false, &anna);
    approve(ledger, "good", &anna);
    const pboost_token was = stored(ledger, "bad"), approved = stored(ledger, "good"),
                       pending_fake = stored(ledger, "fake");
    pboost_token forged;

    forged = was; /* 1: just call it active */
    forged.state = PBOOST_TOKEN_ACTIVE;
    forge(ledger, &forged);
    assert_pending(ledger, &bad);
    assert_not_sound(ledger);

    forged.approved_by[0] = 'x'; /* 2: approved by someone who does not exist */
    forge(ledger, &forged);
    assert_pending(ledger, &bad);

    memcpy(forged.approved_by, approved.approved_by, sizeof forged.approved_by);
    forge(ledger, &forged); /* 3: without a signature */
    assert_pending(ledger, &bad);

    memcpy(forged.approval, approved.approval, sizeof forged.approval);
    forge(ledger, &forged); /* 4: the signature of another token */
    assert_pending(ledger, &bad);

    pboost_approval_sign(&forged, &anna.token, fake.secret, &ledger->first);
    forge(ledger, &forged); /* 5: signed by another secret */
    assert_pending(ledger, &bad);

    pboost_approval_sign(&forged, &fake.token, fake.secret, &ledger->first);
    forge(ledger, &forged); /* 6: by an approver whom nobody approved */
    assert_pending(ledger, &bad);

    pboost_token active = pending_fake; /* 7: who is called active */
    active.state = PBOOST_TOKEN_ACTIVE;
    forge(ledger, &active);
    assert_pending(ledger, &bad);
    assert_not_approved(ledger, "bad", &fake, PBOOST_PROBLEM_TOKEN_PENDING);

    pboost_approval_sign(&active, &fake.token, fake.secret, &ledger->first);
    forge(ledger, &active); /* 8: and approves itself */
    assert_pending(ledger, &bad);
    assert_not_sound(ledger);

    forge(ledger, &pending_fake);
    forge(ledger, &was);
    assert_sound(ledger);

    forged = own.token; /* 9: its creator approves, whatever the program says */
    pboost_approval_sign(&forged, &anna.token, anna.secret, &ledger->first);
    forged.state = PBOOST_TOKEN_ACTIVE;
    forge(ledger, &forged);
    assert_pending(ledger, &own);
    forge(ledger, &own.token);
    assert_sound(ledger);

    approve(ledger, "young", &anna); /* 10: an approver is approved by an older one only */
    assert_not_approved(ledger, "fake", &young, PBOOST_PROBLEM_OWN_TOKEN);
    forged = pending_fake;
    pboost_approval_sign(&forged, &young.token, young.secret, &ledger->first);
    forged.state = PBOOST_TOKEN_ACTIVE;
    forge(ledger, &forged);
    assert_pending(ledger, &fake);
    forge(ledger, &pending_fake);
    assert_sound(ledger);

    forged = anna.token; /* 11: another key for the approver: the audit knows the first one */
    memcpy(forged.public_key, fake.token.public_key, sizeof forged.public_key);
    forge(ledger, &forged);
    assert_not_sound(ledger);
    forge(ledger, &anna.token);
    assert_answered(ledger, &good, ROWS);

    forged = stored(ledger, "good"); /* 12: more than was approved */
    forged.expires = forged.created + 1000000000;
    forge(ledger, &forged);
    assert_pending(ledger, &good);
    assert_not_sound(ledger);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

/* Without the key file not even that: the store is found to be edited. */
static void an_edited_row_stops_the_service(void **state)
{
    (void)state;
    test_store t;
    pboost_ledger *ledger = strict_ledger(&t);
    holder lab = make(ledger, "lab", PBOOST_LEARNER, false, NULL);
    pboost_error err = {0};
    pboost_reply reply;

    change_store(&t, "UPDATE ledger_token SET state = 1");
    assert_int_not_equal(ask(&reply, ledger, &lab.token, "r", ROWS, 4, 4, NULL, &err), PBOOST_OK);
    assert_null(reply.body);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pending_token_does_nothing_until_it_is_approved),
        cmocka_unit_test(the_creator_cannot_approve),
        cmocka_unit_test(the_holder_can_prepare_its_secret),
        cmocka_unit_test(a_store_can_require_approval),
        cmocka_unit_test(access_to_the_store_is_not_approval),
        cmocka_unit_test(an_edited_row_stops_the_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

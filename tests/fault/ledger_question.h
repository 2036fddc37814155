/* One question to a ledger during a failure, and what must hold after any failure: the question has
 * one answer, and its rows are spent once. */
#ifndef PBOOST_LEDGER_QUESTION_H
#define PBOOST_LEDGER_QUESTION_H

#include <time.h>

#include "fault/inject.h"
#include "ledger/ledger_testing.h"

/* A store with units, so that everything there is gets written: 12 rows, bags of 4. */
static inline void make_question_store(test_store *t, pboost_token *token)
{
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[12], unit[12];
    double label[12];

    rules.no_noise = false;
    rules.rules.epsilon = (pboost_rational){1, 1};
    rules.units = true;
    for (int i = 0; i < 12; i++) {
        id[i] = (pboost_id){NULL, i + 1};
        unit[i] = (pboost_id){NULL, i / 4 * 100 + i};
        label[i] = i % 2;
    }
    in.n = 12;
    in.id = id;
    in.unit = unit;
    in.label = label;
    pboost_ledger *ledger = make_ledger(t, &rules, 0, NULL);
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    *token = plain_token(ledger, "a");
    pboost_ledger_close(ledger);
}

/* Rows 1 to 8 in two bags. */
static inline pboost_status put_question(pboost_reply *reply, pboost_ledger *ledger,
                                         const pboost_token *token, pboost_error *err)
{
    static const size_t START[] = {0, 4, 8};
    pboost_id id[8]; /* nothing is allocated on this side of the call */
    pboost_question q = PBOOST_QUESTION_INIT;

    for (int i = 0; i < 8; i++)
        id[i] = (pboost_id){NULL, i + 1};
    q.token = token;
    q.request_id = "r";
    q.n_bags = 2;
    q.start = START;
    q.id = id;
    return pboost_ledger_ask(reply, ledger, &q, err);
}

/* Makes the call again while the store is out of reach, as a client does: a server may be on its
 * way up. */
#define PATIENTLY(st, call)                                                                        \
    for (int patience = 1200; ((st) = (call)) == PBOOST_ORACLE && patience > 0; patience--)        \
    nanosleep(&(struct timespec){0, 50000000}, NULL)

static inline void settle_question(pboost_ledger *ledger, const pboost_token *token,
                                   const pboost_reply *before)
{
    pboost_error err = {0};
    pboost_reply reply, again;
    pboost_ledger_status status;
    pboost_audit audit;
    pboost_status st;
    const int64_t overlap[] = {8, 9, 10, 11};

    PATIENTLY(st, put_question(&reply, ledger, token, &err));
    assert_ok(st, err);
    if (before->body != NULL) {
        assert_true(reply.retried);
        assert_int_equal(reply.length, before->length);
        assert_memory_equal(reply.body, before->body, reply.length);
    }
    PATIENTLY(st, put_question(&again, ledger, token, &err));
    assert_ok(st, err);
    assert_true(again.retried);
    assert_memory_equal(reply.body, again.body, reply.length);
    pboost_reply_free(&reply);
    pboost_reply_free(&again);
    PATIENTLY(st, ask(&reply, ledger, token, "other", overlap, 4, 4, NULL, &err));
    assert_refused(st, reply, PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
    PATIENTLY(st, pboost_ledger_get_status(&status, ledger, &err));
    assert_ok(st, err);
    assert_int_equal(status.spent, 8);
    PATIENTLY(st, pboost_ledger_audit(&audit, ledger, &err));
    assert_ok(st, err);
    if (audit.problems > 0)
        fail_msg("audit: %s", audit.first_problem);
}

/* The same process and a new one find one answer.  That is the end of the store. */
static inline void settle_twice(pboost_ledger *ledger, const test_store *t,
                                const pboost_token *token, pboost_reply *reply)
{
    assert_false(pboost_ledger_broken(ledger));
    settle_question(ledger, token, reply);
    pboost_ledger_close(ledger);
    ledger = open_store(t);
    settle_question(ledger, token, reply);
    pboost_reply_free(reply);
    pboost_ledger_close(ledger);
    drop_store(t);
}

/* Puts the question to fresh stores, each time with one more allocation before one that fails;
 * returns how many failures it did not survive. */
static inline long fail_allocations(pboost_ledger *(*fresh)(test_store *t, pboost_token *token))
{
    long refused = 0;

    for (long n = 1; n == 1 || injected(); n++) {
        test_store t;
        pboost_token token;
        pboost_ledger *ledger = fresh(&t, &token);
        pboost_error err = {0};
        pboost_reply reply;

        inject_allocation(n);
        pboost_status st = put_question(&reply, ledger, &token, &err);
        inject_nothing();
        if (st != PBOOST_OK) {
            refused++;
            assert_true(injected());
            assert_int_equal(st, PBOOST_NO_MEMORY);
        }
        settle_twice(ledger, &t, &token, &reply);
    }
    return refused;
}

#endif

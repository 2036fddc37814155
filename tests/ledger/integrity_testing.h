/* A store to attack, for the tests of restores, of the witness and of edited stores.
 *
 * The attacks are those of an administrator's mistake or of someone who can write to the database
 * but does not have the key file. */
#ifndef INTEGRITY_TESTING_H
#define INTEGRITY_TESTING_H

#include "ledger_testing.h"

enum { N = 24 };

static const int64_t FIRST[] = {1, 2, 3, 4}, SECOND[] = {5, 6, 7, 8}, THIRD[] = {9, 10, 11, 12},
                     FOURTH[] = {13, 14, 15, 16};

static inline void answered(pboost_ledger *ledger, const pboost_token *token, const char *request,
                            const int64_t row[4])
{
    pboost_error err = {0};
    pboost_reply reply;
    assert_ok(ask(&reply, ledger, token, request, row, 4, 4, NULL, &err), err);
    pboost_reply_free(&reply);
}

static inline void spent(pboost_ledger *ledger, const pboost_token *token, const int64_t row[4])
{
    pboost_error err = {0};
    pboost_reply reply;
    assert_refused(ask(&reply, ledger, token, "again", row, 4, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_ROW_SPENT, err);
    pboost_reply_free(&reply);
}

static inline void assert_not_opened(const test_store *t, pboost_status status, const char *says)
{
    pboost_error err = {0};
    pboost_ledger *ledger;
    assert_fails(pboost_ledger_open(&ledger, t->url, NULL, &err), status, err, says);
}

static inline bool audit_finds(const test_store *t, const char *what)
{
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_audit audit;

    options.without_labels = options.inspect = true;
    assert_ok(pboost_ledger_open(&ledger, t->url, &options, &err), err);
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    pboost_ledger_close(ledger);
    return audit.problems > 0 && strstr(audit.first_problem, what) != NULL;
}

/* Rows 1 .. N of units with two rows each, scopes north and south, tokens a (all rows), b (quota of
 * 8) and c, which is revoked. */
static inline pboost_ledger *make_store(test_store *t, pboost_token *a)
{
    pboost_ledger_rules rules = plain_rules();
    rules.units = true;
    rules.unit_rows = 2;
    pboost_ledger *ledger = make_ledger(t, &rules, 0, NULL);
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id id[N], unit[N], scope[N];
    double label[N];
    pboost_token_options b = PBOOST_TOKEN_OPTIONS_INIT;

    for (int i = 0; i < N; i++) {
        id[i] = (pboost_id){NULL, i + 1};
        unit[i] = (pboost_id){NULL, 100 + i % 12};
        scope[i] = (pboost_id){i % 2 == 0 ? "north" : "south", 0};
        label[i] = i % 3 == 0;
    }
    in.n = N;
    in.id = id;
    in.unit = unit;
    in.scope = scope;
    in.label = label;
    assert_ok(pboost_ledger_import(&report, ledger, &in, &err), err);
    *a = plain_token(ledger, "a");
    b.name = "b";
    b.max_rows = 8;
    b.scope = "north";
    (void)token_for(ledger, &b);
    (void)plain_token(ledger, "c");
    assert_ok(pboost_token_revoke(ledger, "c", &err), err);
    return ledger;
}

static inline pboost_token token_named(pboost_ledger *ledger, const char *name)
{
    pboost_error err = {0};
    pboost_token *list, found = {0};
    size_t n;
    assert_ok(pboost_token_list(&list, &n, ledger, &err), err);
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            found = list[i];
    free(list);
    assert_true(found.id > 0);
    return found;
}

static inline void witness_of(char out[500], const test_store *t)
{
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_ledger *ledger;

    options.without_labels = options.inspect = true;
    assert_ok(pboost_ledger_open(&ledger, t->url, &options, &err), err);
    snprintf(out, 500, "%s", ledger->witness.path);
    pboost_ledger_close(ledger);
}

#endif

/* Refusals by token, hour and problem: recorded before they are told, and limited in an hour.
 *
 * A refusal tells the learner something about rows: that one is unknown or spent, or that two
 * belong to one person.  Nothing is spent for it, so the number of rows that refusals may name is
 * limited. The limit is looked at before a question is judged: otherwise whether a question meets
 * the limit or another refusal would tell what the limit hides. */
#include <stdio.h>
#include <string.h>

#include "state.h"

enum { HOUR = 3600, KEPT_HOURS = 90 * 24 };

pboost_status pboost_refusals_check(pboost_reply *out, const pboost_ledger *l,
                                    const pboost_token *token, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t now = pboost_ledger_now(l), named = 0;

    if (l->options.refusal_rows == 0)
        return PBOOST_OK;
    TRY(RUN(l->write.store,
            "SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM ledger_refusal"
            " WHERE token = $1 AND hour = $2",
            pboost_store_number, &named, err, value_number(token->id), value_number(now / HOUR)));
    if (named >= 0 && (uint64_t)named < l->options.refusal_rows)
        return PBOOST_OK;
    out->retry_after = (unsigned)(HOUR - now % HOUR);
    TRY(pboost_refuse(&out->problem, PBOOST_PROBLEM_REFUSAL_LIMIT, err));
done:
    return st;
}

pboost_status pboost_refusal_record(const pboost_reply *refused, const pboost_ledger *l,
                                    const pboost_token *token, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->write.store;
    const pboost_problem_info *info = pboost_problem_describe(refused->problem);
    int64_t now = pboost_ledger_now(l);
    size_t named = info->of_bags || refused->n_listed == 0 ? 1 : refused->n_listed;

    TRY(RUN(s, "DELETE FROM ledger_refusal WHERE hour < $1", NULL, NULL, err,
            value_number(now / HOUR - KEPT_HOURS)));
    TRY(RUN(s,
            "INSERT INTO ledger_refusal VALUES ($1, $2, $3, $4, $5) ON CONFLICT (token, hour,"
            " problem) DO UPDATE SET count = ledger_refusal.count + excluded.count,"
            " last = excluded.last",
            NULL, NULL, err, value_number(token->id), value_number(now / HOUR),
            value_text(info->name), value_number((int64_t)named), value_number(now)));
    TRY(pboost_store_commit(s, err));
done:
    return st;
}

typedef struct {
    pboost_refusal_visit *visit;
    void *user;
} visitor;

/* name, problem, hour, count, last */
static pboost_status visit_refusal(void *user, const store_value *value, size_t n,
                                   pboost_error *err)
{
    const visitor *v = user;
    pboost_refusal refusal = {.token = value[0].data,
                              .problem = value[1].data,
                              .hour = value[2].number * HOUR,
                              .count = (uint64_t)value[3].number,
                              .last = value[4].number};
    (void)n, (void)err;
    return v->visit(v->user, &refusal) ? PBOOST_OK : PBOOST_CANCELLED;
}

pboost_status pboost_ledger_refusals(pboost_ledger *ledger, int64_t since,
                                     pboost_refusal_visit *visit, void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    visitor v = {visit, user};

    TRY(pboost_side_enter(ledger, &ledger->read, false, err));
    TRY(RUN(ledger->read.store,
            "SELECT t.name, r.problem, r.hour, r.count, r.last FROM ledger_refusal r"
            " JOIN ledger_token t ON t.token = r.token WHERE r.last >= $1"
            " ORDER BY r.last DESC, t.name, r.problem",
            visit_refusal, &v, err, value_number(since)));
done:
    pboost_side_leave(&ledger->read);
    return st == PBOOST_CANCELLED ? PBOOST_OK : st;
}

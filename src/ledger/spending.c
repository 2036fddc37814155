/* How much was spent: the most answered bags that any row, or unit, was in. */
#include "state.h"

typedef struct {
    uint64_t *by_token;
    size_t n;
} uses_of_tokens;

/* token, most uses of one unit */
static pboost_status take_uses(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const uses_of_tokens *u = user;
    (void)n, (void)err;

    if (value[0].number >= 1 && (uint64_t)value[0].number <= u->n &&
        u->by_token[value[0].number - 1] < (uint64_t)value[1].number)
        u->by_token[value[0].number - 1] = (uint64_t)value[1].number;
    return PBOOST_OK;
}

/* A row is in one answered bag, so rows without units need no count. */
static void rows_once(uint64_t *most, uint64_t *by_token, const pboost_token *token, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        by_token[i] = token[i].rows_used > 0;
        *most = by_token[i] > *most ? by_token[i] : *most;
    }
}

/* A unit lies in one store. */
static pboost_status uses_here(uint64_t *most, uses_of_tokens *uses, pboost_ledger *l,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    store *s = l->read.store;
    int64_t largest = 0;

    TRY(pboost_side_enter(l, &l->read, false, err));
    TRY(s->class->run(s,
                      "SELECT token, max(uses) FROM (SELECT a.token AS token, count(*) AS uses"
                      " FROM ledger_unit_use u JOIN ledger_answer a ON a.entry = u.entry"
                      " GROUP BY a.token, u.unit) AS t GROUP BY token",
                      NULL, 0, take_uses, uses, err));
    TRY(s->class->run(s,
                      "SELECT coalesce(max(uses), 0) FROM (SELECT count(*) AS uses"
                      " FROM ledger_unit_use GROUP BY unit) AS t",
                      NULL, 0, pboost_store_number, &largest, err));
    *most = (uint64_t)largest > *most ? (uint64_t)largest : *most;
done:
    pboost_side_leave(&l->read);
    return st;
}

pboost_status pboost_ledger_uses(uint64_t *most, uint64_t *by_token, pboost_ledger *ledger,
                                 const pboost_token *token, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uses_of_tokens uses = {by_token, n};

    *most = 0;
    if (!ledger->rules.units) {
        rows_once(most, by_token, token, n);
        return PBOOST_OK;
    }
    for (size_t i = 0; i < n; i++)
        by_token[i] = 0;
    for (size_t i = 0; i <= ledger->n_others; i++)
        TRY(uses_here(most, &uses, pboost_ledger_store(ledger, i), err));
done:
    return st;
}

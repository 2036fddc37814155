/* Questions, their stored replies, and which rows are left. */
#include <string.h>

#include "service.h"

static pboost_status render(void *user, unsigned char **body, size_t *length,
                            const pboost_ledger_answer *answer, pboost_error *err)
{
    const request *r = user;
    return pboost_wire_write_answer(body, length, r->format, answer, err);
}

/* Hands the ledger's bytes over to the reply. */
static void send_stored(request *r, pboost_reply *stored)
{
    pboost_reply_take(r, 200, pboost_wire_type((wire_format)stored->format), stored->body,
                      stored->length);
    stored->body = NULL;
}

/* What can be read is answered or refused; what cannot is malformed. */
static bool malformed(request *r, pboost_status *st, const pboost_error *err)
{
    if (*st != PBOOST_BAD_DATA)
        return false;
    pboost_refusal_reply(r, PBOOST_PROBLEM_MALFORMED, err->message, NULL, NULL);
    *st = PBOOST_OK;
    return true;
}

pboost_status pboost_handle_query(request *r, pboost_error *err)
{
    wire_question q = {0};
    pboost_reply out = {0};
    pboost_question question = PBOOST_QUESTION_INIT;
    pboost_status st = pboost_wire_read_question(&q, r->format, r->body, r->length, err);

    if (malformed(r, &st, err) || st != PBOOST_OK)
        goto done;
    question.token = &r->token;
    question.request_id = q.request_id;
    question.n_bags = q.n_bags;
    question.start = q.start;
    question.id = q.id;
    question.head = q.head;
    question.answer = q.answer;
    question.format = r->format;
    question.render = render;
    question.user = r;
    st = pboost_ledger_ask(&out, r->service->ledger, &question, err);
    if (st == PBOOST_REFUSED) {
        r->retry_after = out.retry_after;
        pboost_refusal_reply(r, out.problem, err->message, &q, &out);
        st = PBOOST_OK;
    } else if (st == PBOOST_OK) {
        r->bags = q.n_bags;
        r->rows = q.n_rows;
        r->retried = out.retried;
        send_stored(r, &out);
    }
done:
    pboost_reply_free(&out);
    pboost_wire_question_free(&q);
    return st;
}

pboost_status pboost_handle_find(request *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_reply out = {0};
    bool found = false;
    size_t length;

    TRY(pboost_ledger_find_length(&length, r->service->ledger, &r->token, r->tail, err));
    if (!pboost_share_bytes(r, 2 * length)) { /* the database's copy and ours */
        pboost_problem_reply(r, 503, "unavailable", "The oracle cannot answer now",
                             "Replies that were not read hold too many bytes; read them first.");
        goto done;
    }
    TRY(pboost_ledger_find(&out, &found, r->service->ledger, &r->token, r->tail, err));
    if (found)
        send_stored(r, &out);
    else
        pboost_problem_reply(r, 404, "unknown-request", "No such request was answered",
                             "Nothing was spent under this request id.");
done:
    pboost_reply_free(&out);
    return st;
}

pboost_status pboost_handle_available(request *r, pboost_error *err)
{
    wire_question q = {0};
    bool *available = NULL;
    unsigned char *body;
    size_t length;
    pboost_status st = pboost_wire_read_rows(&q, r->body, r->length, err);

    if (malformed(r, &st, err) || st != PBOOST_OK)
        goto done;
    NEED(available = pboost_alloc(q.n_rows, sizeof *available), err);
    TRY(pboost_ledger_available(available, r->service->ledger, &r->token, q.id, q.n_rows, err));
    TRY(pboost_wire_write_available(&body, &length, q.id, available, q.n_rows, err));
    pboost_reply_take(r, 200, WIRE_JSON_TYPE, body, length);
done:
    free(available);
    pboost_wire_question_free(&q);
    return st;
}

/* Problem documents (RFC 9457).
 *
 * What a document says depends on the question and on which rows are spent, never on a label or on
 * the moment: the same refusal has the same bytes. */
#include <stdio.h>
#include <string.h>

#include "service.h"

static void send_problem(request *r, unsigned status, const char *name, json_t *document)
{
    char type[96];
    unsigned char *text;
    size_t length;

    r->problem = name;
    snprintf(type, sizeof type, "urn:priorboost:problem:%s", name);
    if (document != NULL && json_object_set_new(document, "type", json_string(type)) == 0 &&
        pboost_json_print(&text, &length, document, JSON_SORT_KEYS, NULL) == PBOOST_OK)
        pboost_reply_take(r, status, "application/problem+json", text, length);
    else
        pboost_reply_lend(r, 503, "application/problem+json",
                          "{\"problem\":\"unavailable\",\"status\":503,\"title\":\"Out of memory\","
                          "\"type\":\"urn:priorboost:problem:unavailable\"}");
    json_decref(document);
}

/* NULL: out of memory. */
static json_t *describe(unsigned status, const char *name, const char *title, const char *detail)
{
    json_t *document =
        json_pack("{s:i, s:s, s:s}", "status", (int)status, "problem", name, "title", title);
    if (document == NULL || detail == NULL || *detail == '\0' ||
        json_object_set_new(document, "detail", json_string(detail)) == 0)
        return document;
    json_decref(document);
    return NULL;
}

void pboost_problem_reply(request *r, unsigned status, const char *name, const char *title,
                          const char *detail)
{
    send_problem(r, status, name, describe(status, name, title, detail));
}

/* Rows by id, bags by number and size. */
static json_t *list_offenders(const wire_question *q, const pboost_reply *o, bool of_bags)
{
    json_t *list = json_array();
    char room[24];

    for (size_t i = 0; list != NULL && i < o->n_listed; i++) {
        size_t at = o->offender[i];
        json_t *item = of_bags ? json_pack("{s:I, s:I}", "bag", (json_int_t)at, "size",
                                           (json_int_t)(q->start[at + 1] - q->start[at]))
                               : json_string(pboost_wire_id_text(room, &q->id[at]));
        if (json_array_append_new(list, item) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

void pboost_refusal_reply(request *r, pboost_problem problem, const char *detail,
                          const wire_question *q, const pboost_reply *offenders)
{
    const pboost_problem_info *info = pboost_problem_describe(problem);
    unsigned status = (unsigned)info->http_status;
    json_t *document = describe(status, info->name, info->title, detail);

    if (document != NULL && offenders != NULL && offenders->n_offenders > 0 &&
        (json_object_set_new(document, info->of_bags ? "bags" : "rows",
                             list_offenders(q, offenders, info->of_bags)) != 0 ||
         json_object_set_new(document, "offenders",
                             json_integer((json_int_t)offenders->n_offenders)) != 0)) {
        json_decref(document);
        document = NULL;
    }
    send_problem(r, status, info->name, document);
}

void pboost_failure_reply(request *r, pboost_status status, const pboost_error *err)
{
    /* Failures that may pass: a full disk (PBOOST_OUTPUT) may have room later. */
    bool passing = status == PBOOST_NO_MEMORY || status == PBOOST_OUTPUT ||
                   status == PBOOST_ORACLE || status == PBOOST_CANCELLED;

    pboost_log_event("error", "failure", "%s", err->message);
    if (passing)
        pboost_problem_reply(r, 503, "unavailable", "The oracle cannot answer now",
                             "Send the same request again; it is never answered twice.");
    else
        pboost_problem_reply(r, 500, "internal", "The oracle failed",
                             "The operator finds the reason in the log.");
}

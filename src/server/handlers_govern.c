/* For those who check and those who allow: the audit file, approvals. */
#include <string.h>

#include "service.h"
#include "wire_audit.h"

/* ---- The audit file, in pages ---------------------------------------------------------------- */

static bool add_line(void *user, const pboost_ledger_entry *e)
{
    pboost_buffer *b = user;
    pboost_wire_write_audit_entry(b, e);
    return !b->failed;
}

/* The number in the address; false where it is none. */
static bool read_number(uint64_t *out, const char *text)
{
    size_t digits = strlen(text);
    *out = strtoull(text, NULL, 10);
    return digits > 0 && digits < 10 && strspn(text, "0123456789") == digits;
}

pboost_status pboost_handle_audit(request *r, pboost_error *err)
{
    enum { MOST_ENTRIES = 5000 }; /* a few megabytes */
    pboost_status st = PBOOST_OK;
    pboost_buffer b = {0};
    pboost_signed_head head = {0};
    uint64_t first;
    unsigned char *body;
    size_t length;

    if (read_number(&first, r->tail))
        TRY(pboost_ledger_audit_file(&head, r->service->ledger, first, MOST_ENTRIES, add_line, &b,
                                     err));
    if (head.entries == 0 && !b.failed) {
        pboost_problem_reply(r, 404, "not-found", "There is no such entry",
                             "The address ends with the number of the first entry wanted.");
        goto done;
    }
    pboost_wire_write_audit_head(&b, &head);
    TRY(pboost_buffer_take(&body, &length, &b, err));
    pboost_reply_take(r, 200, WIRE_AUDIT_TYPE, body, length);
done:
    pboost_buffer_free(&b);
    return st;
}

/* ---- Approvals ------------------------------------------------------------------------------- */

pboost_status pboost_handle_approve(request *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_problem problem;
    pboost_token token;
    json_t *document = NULL;
    unsigned char *body;
    size_t length;

    st = pboost_token_approve(&token, &problem, r->service->ledger, r->tail, r->secret, err);
    if (st == PBOOST_REFUSED) {
        pboost_refusal_reply(r, problem, err->message, NULL, NULL);
        return PBOOST_OK;
    }
    TRY(st);
    NEED(document = pboost_describe_token(&token), err);
    TRY(pboost_json_print(&body, &length, document, 0, err));
    pboost_reply_take(r, 200, WIRE_JSON_TYPE, body, length);
done:
    json_decref(document);
    return st;
}

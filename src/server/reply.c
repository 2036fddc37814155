/* What a request is answered with. */
#include <stdint.h>
#include <string.h>

#include "service.h"

void pboost_reply_take(request *r, unsigned status, const char *type, unsigned char *body,
                       size_t length)
{
    if (!r->reply.lent)
        free(r->reply.body);
    r->reply = (reply){status, type, body, length, false};
}

void pboost_reply_lend(request *r, unsigned status, const char *type, const char *text)
{
    pboost_reply_take(r, status, type, (unsigned char *)(uintptr_t)text, strlen(text));
    r->reply.lent = true;
}

pboost_status pboost_reply_json(request *r, unsigned status, json_t *document, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *text =
        document != NULL ? json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;

    NEED(text, err);
    pboost_reply_take(r, status, WIRE_JSON_TYPE, (unsigned char *)text, strlen(text));
done:
    json_decref(document);
    return st;
}

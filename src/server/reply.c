/* Replies to requests. */
#include <stdint.h>
#include <string.h>

#include "buffer.h"
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

static int append(const char *text, size_t n, void *buffer)
{
    pboost_buffer_bytes(buffer, text, n);
    return 0;
}

pboost_status pboost_json_print(unsigned char **text, size_t *length, const json_t *document,
                                size_t flags, pboost_error *err)
{
    pboost_buffer b = {0};

    if (json_dump_callback(document, append, &b, JSON_COMPACT | flags) != 0) {
        pboost_buffer_free(&b);
        b.failed = true;
    }
    return pboost_buffer_take(text, length, &b, err);
}

/* Where a request ends must have one answer.
 *
 * libmicrohttpd takes the first Content-Length of several, and Transfer-Encoding before any;
 * whoever stands between may take another, and then sees other requests than we do.  So whatever
 * has two readings is refused and the connection is closed. */
#include <string.h>
#include <strings.h>

#include "service.h"

typedef struct {
    size_t lengths, encodings, hosts;
    const char *length, *encoding;
    const char *fault;
} framing;

/* The characters of a header's name (RFC 9110, token). */
static bool is_token(const char *text, size_t n)
{
    static const char TOKEN[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return n > 0 && strspn(text, TOKEN) == n;
}

static bool is_value(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static enum MHD_Result look(void *user, enum MHD_ValueKind kind, const char *name, size_t n,
                            const char *value, size_t value_length)
{
    framing *f = user;
    (void)kind;

    if (value == NULL)
        value = "";
    /* A line that goes on in the next is taken for a name that was moved behind its value. */
    if (!is_token(name, n) || (value_length > 0 && (uintptr_t)value < (uintptr_t)name))
        f->fault = "A header's name has other characters than letters, digits and !#$%&'*+-.^_`|~, "
                   "or its value goes on in the next line.";
    else if (!is_value(value, value_length))
        f->fault = "A header's value has a control character.";
    if (strcasecmp(name, "Content-Length") == 0) {
        f->lengths++;
        f->length = value;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        f->encodings++;
        f->encoding = value;
    } else if (strcasecmp(name, "Host") == 0) {
        f->hosts++;
    }
    return MHD_YES;
}

const char *pboost_framing_fault(bool *has_body, struct MHD_Connection *http, const char *version)
{
    framing f = {0};

    MHD_get_connection_values_n(http, MHD_HEADER_KIND, look, &f);
    *has_body = f.encodings > 0 || (f.lengths > 0 && strtoull(f.length, NULL, 10) > 0);
    if (f.fault != NULL)
        return f.fault;
    if (f.lengths > 1)
        return "Content-Length is there more than once; it must be there once.";
    if (f.encodings > 0 && f.lengths > 0)
        return "Transfer-Encoding and Content-Length are both there; send one of them.";
    if (f.encodings > 1 || (f.encodings == 1 && strcasecmp(f.encoding, "chunked") != 0))
        return "Transfer-Encoding must be there once and be 'chunked'.";
    if (f.encodings > 0 && strcmp(version, "HTTP/1.1") != 0)
        return "Transfer-Encoding needs HTTP/1.1.";
    if (f.hosts > 1)
        return "Host is there more than once; it must be there once.";
    return NULL;
}

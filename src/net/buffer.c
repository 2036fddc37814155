/* Text or bytes that grow. */
#include "buffer.h"

#include <endian.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "try.h"

void pboost_buffer_free(pboost_buffer *b)
{
    free(b->data);
    *b = (pboost_buffer){0};
}

/* Room for n more bytes and a zero after them. */
static bool reserve(pboost_buffer *b, size_t n)
{
    size_t need, capacity = b->capacity;

    if (b->failed)
        return false;
    if (__builtin_add_overflow(b->length, n, &need) || need >= SIZE_MAX / 2) {
        need = 0;
    } else if (need < capacity) {
        return true;
    } else {
        capacity = 2 * capacity > need + 1 ? 2 * capacity : need + 256;
    }
    unsigned char *grown = need > 0 ? realloc(b->data, capacity) : NULL;
    if (grown == NULL) {
        pboost_buffer_free(b);
        b->failed = true;
        return false;
    }
    b->data = grown;
    b->capacity = capacity;
    return true;
}

void pboost_buffer_bytes(pboost_buffer *b, const void *data, size_t n)
{
    if (n == 0 || !reserve(b, n))
        return;
    memcpy(b->data + b->length, data, n);
    b->length += n;
}

void pboost_buffer_text(pboost_buffer *b, const char *text)
{
    pboost_buffer_bytes(b, text, strlen(text));
}

void pboost_buffer_format(pboost_buffer *b, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text) {
        pboost_buffer_free(b);
        b->failed = true;
        return;
    }
    pboost_buffer_bytes(b, text, (size_t)n);
}

void pboost_buffer_json(pboost_buffer *b, const char *text)
{
    pboost_buffer_bytes(b, "\"", 1);
    while (*text != '\0') {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        pboost_buffer_bytes(b, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        if (*text == '"' || *text == '\\')
            pboost_buffer_format(b, "\\%c", *text);
        else
            pboost_buffer_format(b, "\\u%04x", (unsigned char)*text);
        text++;
    }
    pboost_buffer_bytes(b, "\"", 1);
}

void pboost_buffer_number(pboost_buffer *b, double value)
{
    if (isfinite(value))
        pboost_buffer_format(b, "%.17g", value);
    else
        pboost_buffer_text(b, "null");
}

void pboost_buffer_u32(pboost_buffer *b, uint32_t value)
{
    value = htole32(value);
    pboost_buffer_bytes(b, &value, sizeof value);
}

void pboost_buffer_u64(pboost_buffer *b, uint64_t value)
{
    value = htole64(value);
    pboost_buffer_bytes(b, &value, sizeof value);
}

pboost_status pboost_buffer_take(unsigned char **data, size_t *length, pboost_buffer *b,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *data = NULL;
    *length = 0;
    if (b->failed || !reserve(b, 0))
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    b->data[b->length] = '\0';
    *data = b->data;
    *length = b->length;
    *b = (pboost_buffer){0};
done:
    pboost_buffer_free(b);
    return st;
}

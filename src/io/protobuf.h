/* The wire format of protocol buffers, as far as writing a file needs it.
 *
 * A message grows in memory.  After a failed allocation it takes nothing more, and `failed` says so
 * at the end; a message that was put into a failed one is freed all the same. */
#ifndef PBOOST_PROTOBUF_H
#define PBOOST_PROTOBUF_H

#include <string.h>

#include "try.h"

typedef struct {
    unsigned char *data;
    size_t n, capacity;
    bool failed;
} message;

static inline void put_raw(message *m, const void *data, size_t n)
{
    unsigned char *grown = m->failed ? NULL : pboost_grown(m->data, &m->capacity, m->n + n, 1);
    m->failed = grown == NULL;
    if (m->failed)
        return;
    m->data = grown;
    if (n > 0)
        memcpy(m->data + m->n, data, n);
    m->n += n;
}

static inline void put_varint(message *m, uint64_t v)
{
    unsigned char byte[10];
    size_t n = 0;
    for (; v >= 128; v >>= 7)
        byte[n++] = (unsigned char)(v | 128);
    byte[n++] = (unsigned char)v;
    put_raw(m, byte, n);
}

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static inline void put_number(message *m, unsigned field, int64_t v)
{
    put_varint(m, field << 3 | WIRE_VARINT);
    put_varint(m, (uint64_t)v);
}

static inline void put_bytes(message *m, unsigned field, const void *data, size_t n)
{
    put_varint(m, field << 3 | WIRE_BYTES);
    put_varint(m, n);
    put_raw(m, data, n);
}

static inline void put_string(message *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

/* Frees the inner message. */
static inline void put_message(message *m, unsigned field, message *inner)
{
    put_bytes(m, field, inner->data, inner->n);
    m->failed = m->failed || inner->failed;
    free(inner->data);
    *inner = (message){0};
}

#endif

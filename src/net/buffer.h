/* Text or bytes that grow.  After a failed allocation it stays empty and says so at the end, so
 * that a writer need not look after every piece. */
#ifndef PBOOST_NET_BUFFER_H
#define PBOOST_NET_BUFFER_H

#include <priorboost/core.h>

typedef struct pboost_buffer {
    unsigned char *data;
    size_t length, capacity;
    bool failed;
} pboost_buffer;

void pboost_buffer_free(pboost_buffer *b);
void pboost_buffer_bytes(pboost_buffer *b, const void *data, size_t n);
void pboost_buffer_text(pboost_buffer *b, const char *text);
void pboost_buffer_format(pboost_buffer *b, const char *format, ...) PBOOST_PRINTF(2, 3);
/* A JSON string with its quotes; text is UTF-8. */
void pboost_buffer_json(pboost_buffer *b, const char *text);
/* A JSON number that reads back as the same double; null where not finite. */
void pboost_buffer_number(pboost_buffer *b, double value);
/* Little-endian integers. */
void pboost_buffer_u32(pboost_buffer *b, uint32_t value);
void pboost_buffer_u64(pboost_buffer *b, uint64_t value);

/* Hands the bytes over, or says that memory ran out; the buffer is empty afterwards. */
pboost_status pboost_buffer_take(unsigned char **data, size_t *length, pboost_buffer *b,
                                 pboost_error *err);

#endif

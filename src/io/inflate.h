/* Compressed files, recognised by their first bytes: gzip and zstd. */
#ifndef PBOOST_INFLATE_H
#define PBOOST_INFLATE_H

#include <priorboost/core.h>

typedef struct inflater inflater;

/* Reads compressed bytes: at most n of them, 0 at the end. */
typedef pboost_status inflate_read(void *from, char *data, size_t n, size_t *got,
                                   pboost_error *err);

/* What unpacks a file that begins with these bytes, which it takes over; *out is NULL where the
 * file is not compressed. */
pboost_status pboost_inflater_open(inflater **out, const char *name, const char *head, size_t n,
                                   pboost_error *err);

/* Fills data with up to n bytes; *got is 0 only at the end.  A file that is cut or damaged is an
 * error. */
pboost_status pboost_inflater_read(inflater *i, char *data, size_t n, size_t *got,
                                   inflate_read *read, void *from, pboost_error *err);

void pboost_inflater_close(inflater *i);

#endif

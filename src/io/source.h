/* Bytes from a file, standard input or memory through a window that slides over them.  Files that
 * are packed with gzip or zstd are unpacked on the way.
 *
 * A reader looks at data[begin .. end), takes what it has used by moving begin, and asks for more.
 * Bytes not yet taken stay in sight, so a record may be longer than the window, and a file may be
 * longer than memory.  SOURCE_SLACK bytes past end may be loaded, but mean nothing. */
#ifndef PBOOST_SOURCE_H
#define PBOOST_SOURCE_H

#include "inflate.h"

enum { SOURCE_SLACK = 16 };

/* How many bytes were read, of all files of a table. */
typedef struct source_progress {
    const pboost_cancel *cancel; /* told about it; NULL: nobody */
    double done, total;          /* 0: not known */
} source_progress;

typedef struct source {
    const char *name; /* borrowed, for messages */
    char *data;
    size_t begin, end, capacity;
    bool eof; /* there is nothing after end */

    int fd;       /* -1: memory */
    bool owns_fd; /* standard input is not closed */
    bool regular; /* a regular file, which can be read again */
    bool sized;   /* and not packed; size is then what remained when it was opened */
    size_t size;
    bool started;       /* its first bytes were looked at */
    inflater *inflater; /* NULL: it is not packed */
    const char *memory; /* what is left of it */
    size_t memory_left;
    source_progress *progress; /* NULL: not counted */
} source;

/* "-" is standard input.  What cannot be opened is an error with the system's reason. */
pboost_status pboost_source_open(source *out, const char *path, pboost_error *err);

/* Reads from memory, at first through a window of `window` bytes. */
pboost_status pboost_source_memory(source *out, const char *name, const void *data, size_t n,
                                   size_t window, pboost_error *err);

/* Asks for more until there are n bytes in sight or eof. */
pboost_status pboost_source_need(source *s, size_t n, pboost_error *err);

void pboost_source_close(source *s);

#endif

/* Reads JSON from the front to the back without building a tree: a body of a million ids takes no
 * more memory than its ids.  Strings are checked, unescaped and ended by a zero; The
 * grammar is a subset of RFC 8259's; the caller says which element must come next. */
#ifndef PBOOST_NET_SCAN_H
#define PBOOST_NET_SCAN_H

#include <priorboost/core.h>

typedef struct pboost_scan {
    const unsigned char *begin, *at, *end;
    char
        *text; /* where the next string is put; as many bytes as the input has are enough for all */
} pboost_scan;

/* Takes the character if it comes next, after white space. */
bool pboost_scan_take(pboost_scan *s, char c);
pboost_status pboost_scan_expect(pboost_scan *s, char c, pboost_error *err);
/* A string in UTF-8 without zeros. */
pboost_status pboost_scan_string(const char **out, pboost_scan *s, pboost_error *err);
/* Whether null comes next; takes it. */
bool pboost_scan_null(pboost_scan *s);
/* Nothing but white space is left. */
pboost_status pboost_scan_finish(pboost_scan *s, pboost_error *err);

/* Bytes of the UTF-8 character at `at` (not a zero); 0 if it is none. */
size_t pboost_utf8_length(const unsigned char *at, const unsigned char *end);

#endif

/* Whether bytes are text. */
#ifndef PBOOST_UTF8_H
#define PBOOST_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* *valid = how many of the first bytes are whole UTF-8 characters other than NUL.  True if the byte
 * there can begin no such character; false if all are valid or the last character is only cut. */
bool pboost_utf8_bad(size_t *valid, const char *text, size_t n);

/* Whether text is UTF-8 without control characters: one line that a terminal shows as it is. */
bool pboost_utf8_printable(const char *text);

#endif

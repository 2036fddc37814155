/* Names of enumerated choices: a table of strings indexed by the value. */
#ifndef PBOOST_NAMES_H
#define PBOOST_NAMES_H

#include <priorboost/core.h>

/* The index of name in names[0 .. n); otherwise an error such as
 * "algorithm 'foo' is unknown; it must be one of priorboost, oneshot, pbprefix". */
pboost_status pboost_name_parse(size_t *out, const char *const *names, size_t n, const char *what,
                                const char *name, pboost_error *err);

/* names[value], or "unknown" outside the table. */
const char *pboost_name_of(const char *const *names, size_t n, size_t value);

#endif

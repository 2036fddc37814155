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

/* Defines T_name and T_parse of an enum T, whose names are an array in the order of its members. */
#define PBOOST_NAMES(T, names, what)                                                               \
    const char *T##_name(T value)                                                                  \
    {                                                                                              \
        return pboost_name_of(names, sizeof(names) / sizeof *(names), (size_t)value);              \
    }                                                                                              \
    pboost_status T##_parse(T *out, const char *name, pboost_error *err)                           \
    {                                                                                              \
        size_t i = 0;                                                                              \
        pboost_status st =                                                                         \
            pboost_name_parse(&i, names, sizeof(names) / sizeof *(names), what, name, err);        \
        *out = (T)i;                                                                               \
        return st;                                                                                 \
    }

#endif

/* Strings numbered in order of appearance. */
#ifndef PBOOST_DICTIONARY_H
#define PBOOST_DICTIONARY_H

#include <priorboost/core.h>

#define DICTIONARY_NONE UINT32_MAX

typedef struct dictionary {
    size_t n;      /* strings */
    size_t *start; /* string i is bytes + start[i], with a NUL behind it */
    char *bytes;
    uint32_t *slot; /* open addressing; DICTIONARY_NONE: free */
    size_t n_slots; /* a power of two, or 0 */
    size_t start_capacity, bytes_used, bytes_capacity;
} dictionary;

/* The number of text[0 .. n), which holds no NUL; a new string gets the next number. */
pboost_status pboost_dictionary_add(uint32_t *out, dictionary *d, const char *text, size_t n,
                                    pboost_error *err);

/* The same without adding; DICTIONARY_NONE if it is not there. */
uint32_t pboost_dictionary_find(const dictionary *d, const char *text, size_t n);

static inline const char *pboost_dictionary_get(const dictionary *d, uint32_t i)
{
    return d->bytes + d->start[i];
}

void pboost_dictionary_free(dictionary *d);

#endif

/* A copy of a string. */
#ifndef PBOOST_COPY_H
#define PBOOST_COPY_H

#include <stdlib.h>
#include <string.h>

/* strdup, but with an allocation that tests can make fail. */
static inline char *pboost_copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);

    if (copy != NULL)
        memcpy(copy, text, n);
    return copy;
}

#endif

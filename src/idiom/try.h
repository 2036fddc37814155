/* The one idiom for failure, used in the whole project.
 *
 *     pboost_status f(..., pboost_error *err)
 *     {
 *         pboost_status st = PBOOST_OK;
 *         double *work = NULL;
 *
 *         if (k == 0)
 *             FAIL(err, PBOOST_INVALID, "min_bag is 0; it must be at least 1");
 *         NEED(work = pboost_alloc(n, sizeof *work), err);
 *         TRY(g(..., err));
 *     done:
 *         free(work);
 *         return st;
 *     }
 */
#ifndef PBOOST_TRY_H
#define PBOOST_TRY_H

#include <stdlib.h>

#include <priorboost/core.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        st = (call);                                                                               \
        if (st != PBOOST_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

#define FAIL(err, status, ...)                                                                     \
    do {                                                                                           \
        st = pboost_fail((err), (status), __VA_ARGS__);                                            \
        goto done;                                                                                 \
    } while (0)

#define NEED(pointer, err)                                                                         \
    do {                                                                                           \
        if ((pointer) == NULL)                                                                     \
            FAIL((err), PBOOST_NO_MEMORY, "out of memory");                                        \
    } while (0)

/* malloc of n items that fails on overflow and never returns NULL for n == 0. */
static inline void *pboost_alloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    return malloc(bytes > 0 ? bytes : 1);
}

/* The array with room for `need` items, at least twice as many as *capacity where that is not
 * enough; NULL: out of memory, and the array is as it was. */
static inline void *pboost_grown(void *array, size_t *capacity, size_t need, size_t size)
{
    size_t n = *capacity > need / 2 && *capacity <= SIZE_MAX / 2 ? 2 * *capacity : need, bytes;
    if (need <= *capacity)
        return array;
    n = n < 16 ? 16 : n;
    void *grown = __builtin_mul_overflow(n, size, &bytes) ? NULL : realloc(array, bytes);
    *capacity = grown != NULL ? n : *capacity;
    return grown;
}

#define GROW(array, capacity, need, err)                                                           \
    do {                                                                                           \
        void *grown_ = pboost_grown((array), &(capacity), (need), sizeof *(array));                \
        NEED(grown_, (err));                                                                       \
        (array) = grown_;                                                                          \
    } while (0)

#endif

/* Memory for large arrays.
 *
 * The kernel hands out fresh memory page by page; at 4 KiB each that costs as much as the work done
 * in it.  Large arrays are therefore aligned to huge pages and the kernel is asked to use them.
 * Free with free(). */
#ifndef PBOOST_LARGE_H
#define PBOOST_LARGE_H

#include <stdlib.h>

#include "try.h"

#define LARGE_PAGE ((size_t)1 << 21)

/* Asks for large pages under this memory.  Only speed depends on the answer. */
void pboost_system_large_pages(void *memory, size_t bytes); /* src/core/base/system.c */

static inline void *pboost_alloc_large(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes < 2 * LARGE_PAGE ||
        bytes > SIZE_MAX - LARGE_PAGE)
        return pboost_alloc(n, size);
    bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *memory = aligned_alloc(LARGE_PAGE, bytes);
    if (memory != NULL)
        pboost_system_large_pages(memory, bytes);
    return memory;
}

#endif

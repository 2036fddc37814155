/* Memory that is kept from one round of training to the next.  See workspace.h. */
#include "base/workspace.h"

#include <stdlib.h>
#include <string.h>

#include "large.h"

void pboost_workspace_free(pboost_workspace *work)
{
    for (size_t i = 0; i < work->n_blocks; i++)
        free(work->block[i].memory);
    *work = (pboost_workspace){0};
}

/* The smallest free block of at least this many bytes or, with any, the largest free block;
 * WORKSPACE_BLOCKS: none. */
static size_t find(const pboost_workspace *work, size_t bytes, bool any)
{
    size_t found = WORKSPACE_BLOCKS;
    for (size_t i = 0; i < work->n_blocks; i++) {
        size_t has = work->block[i].bytes;
        if (work->block[i].taken || (has < bytes && !any))
            continue;
        if (found == WORKSPACE_BLOCKS ||
            (any ? has > work->block[found].bytes : has < work->block[found].bytes))
            found = i;
    }
    return found;
}

/* A block of this many bytes and an eighth more, for slices that are a little longer.  It replaces
 * a block that is too small, which the same caller used before. */
static size_t make(pboost_workspace *work, size_t bytes)
{
    size_t at = find(work, bytes, true), more = bytes / 8;
    void *memory = bytes <= SIZE_MAX - more ? pboost_alloc_large(bytes + more, 1) : NULL;
    if (memory == NULL)
        return WORKSPACE_BLOCKS;
    if (at == WORKSPACE_BLOCKS)
        at = work->n_blocks++;
    else
        free(work->block[at].memory);
    work->block[at].memory = memory;
    work->block[at].bytes = bytes + more;
    return at;
}

void *pboost_acquire(pboost_workspace *work, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    if (work == NULL)
        return pboost_alloc_large(n, size);
    size_t at = find(work, bytes, false);
    if (at == WORKSPACE_BLOCKS && work->n_blocks == WORKSPACE_BLOCKS &&
        find(work, bytes, true) == WORKSPACE_BLOCKS)
        return pboost_alloc_large(n, size); /* all are taken: this one will not be kept */
    if (at == WORKSPACE_BLOCKS)
        at = make(work, bytes);
    if (at == WORKSPACE_BLOCKS)
        return NULL;
    work->block[at].taken = true;
    return work->block[at].memory;
}

void *pboost_acquire_zeros(pboost_workspace *work, size_t n, size_t size)
{
    void *memory = pboost_acquire(work, n, size);
    if (memory != NULL)
        memset(memory, 0, n * size);
    return memory;
}

void pboost_release(pboost_workspace *work, void *memory)
{
    if (memory == NULL)
        return;
    for (size_t i = 0; work != NULL && i < work->n_blocks; i++)
        if (work->block[i].memory == memory) {
            work->block[i].taken = false;
            return;
        }
    free(memory);
}

/* Memory that is kept from one round of training to the next.
 *
 * What a round needs depends only on its slice, and slices have similar sizes.  So a workspace
 * keeps released memory and uses it again, and later rounds allocate nothing from the system.  The
 * trainer owns a workspace for bags, the model one for scores and fits.  A single call has none
 * (NULL): its memory is allocated from the system and freed. */
#ifndef PBOOST_WORKSPACE_H
#define PBOOST_WORKSPACE_H

#include <priorboost/core.h>

#define WORKSPACE_BLOCKS 40 /* more than a round holds at once */

typedef struct pboost_workspace {
    size_t n_blocks;
    struct {
        void *memory;
        size_t bytes;
        bool taken;
    } block[WORKSPACE_BLOCKS];
} pboost_workspace;

/* Frees everything, taken or not. */
void pboost_workspace_free(pboost_workspace *work);

/* n items of uninitialised memory, at least one byte; NULL if there is none.  Not for several
 * threads at a time. */
void *pboost_acquire(pboost_workspace *work, size_t n, size_t size);
/* The same, all zeros. */
void *pboost_acquire_zeros(pboost_workspace *work, size_t n, size_t size);
/* Releases what was acquired; memory that is not the workspace's is freed.  NULL is ignored. */
void pboost_release(pboost_workspace *work, void *memory);

#endif

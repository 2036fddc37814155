/* Memory that is kept from one round of training to the next.
 *
 * What a round needs depends on its slice alone, and slices are alike: a workspace keeps what was
 * given back and hands it out again, so that rounds after the first of their kind take nothing from
 * the system.  Whoever repeats owns one: the trainer for bags, the model for scores and fits.  A
 * single call has none, NULL: it takes memory from the system and gives it back there. */
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

/* n items of uninitialised memory, at least one byte; NULL where there is none to be had.  Not for
 * several threads at once. */
void *pboost_acquire(pboost_workspace *work, size_t n, size_t size);
/* The same, all zeros. */
void *pboost_acquire_zeros(pboost_workspace *work, size_t n, size_t size);
/* Gives back what was taken; memory from elsewhere is freed.  NULL is let through. */
void pboost_release(pboost_workspace *work, void *memory);

#endif

/* Threads, in one place.
 *
 * Work is cut into chunks whose number and borders depend on the problem alone, never on the number
 * of threads; a chunk writes only its own results and the caller reduces them in order.  That is
 * what makes results equal to the last bit for any number of threads. */
#ifndef PBOOST_PARALLEL_H
#define PBOOST_PARALLEL_H

#include <stddef.h>

/* The number of threads that `threads` asks for; 0 means one per core. */
int pboost_threads(int threads);

/* Calls body(context, chunk, worker) for chunk = 0 .. n_chunks-1 in any order; worker is less than
 * the number of threads and no two calls with the same worker overlap. */
void pboost_parallel(size_t n_chunks, int threads,
                     void (*body)(void *context, size_t chunk, int worker), void *context);

#endif

/* Threads, in one place.
 *
 * Work is cut into chunks whose number and borders depend on the problem alone, never on the number
 * of threads; a chunk writes only its own results and the caller reduces them in order.  That is
 * what makes results equal to the last bit for any number of threads. */
#ifndef PBOOST_PARALLEL_H
#define PBOOST_PARALLEL_H

#include <stddef.h>

#include <priorboost/core.h>

/* The number of threads that `threads` asks for; 0 means one per core. */
int pboost_threads(int threads);

/* As many of these as are worth starting for work that takes one thread so many nanoseconds,
 * roughly: each must have ten times as much to do as it takes to start it. */
int pboost_threads_for(int threads, double nanoseconds);

/* Calls body(context, chunk, worker) for chunk = 0 .. n_chunks-1 in any order; worker is less than
 * the number of threads and no two calls with the same worker overlap. */
void pboost_parallel(size_t n_chunks, int threads,
                     void (*body)(void *context, size_t chunk, int worker), void *context);

/* The same for jobs that can fail.  After a failure no later job is begun, and the first job that
 * fails is the one that is reported, whatever the number of threads. */
typedef pboost_status pboost_job(void *context, size_t job, int worker, pboost_error *err);
pboost_status pboost_parallel_try(size_t n_jobs, int threads, pboost_job *job, void *context,
                                  pboost_error *err);

#endif

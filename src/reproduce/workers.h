/* Jobs on threads. */
#ifndef PBOOST_REPRODUCE_WORKERS_H
#define PBOOST_REPRODUCE_WORKERS_H

#include <priorboost/core.h>

/* The number of threads that `threads` asks for; 0 means one per core. */
int repro_threads(int threads);

/* Calls job(context, i) for i = 0 .. n-1, started in that order, on several threads.  After a
 * failure no further job is started, and the first one to fail is reported. */
pboost_status repro_workers(size_t n, int threads,
                            pboost_status (*job)(void *context, size_t i, pboost_error *err),
                            void *context, pboost_error *err);

#endif

/* The only file that knows OpenMP. */
#include "parallel.h"

#include <omp.h>

int pboost_threads(int threads)
{
    return threads > 0 ? threads : omp_get_num_procs();
}

void pboost_parallel(size_t n_chunks, int threads,
                     void (*body)(void *context, size_t chunk, int worker), void *context)
{
    int n_workers = pboost_threads(threads);
    if ((size_t)n_workers > n_chunks)
        n_workers = (int)n_chunks;
    if (n_workers <= 1) {
        for (size_t chunk = 0; chunk < n_chunks; chunk++)
            body(context, chunk, 0);
        return;
    }
#pragma omp parallel for num_threads(n_workers) schedule(dynamic, 1)
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        body(context, chunk, omp_get_thread_num());
}

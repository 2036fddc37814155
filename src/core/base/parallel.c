/* The only file that starts threads.
 *
 * Threads live as long as one call: the caller works too, takes chunks from a common counter, and
 * sleeps until the others are done.  Starting a thread takes some ten microseconds, so callers ask
 * for no more threads than their work is worth (pboost_threads_for).  In return no thread spins on
 * a busy machine, a forked child misses nothing, and there is no state between calls. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/system.h"

enum { MOST_WORKERS = 1024 };
#ifdef PBOOST_EAGER_THREADS /* so that the small problems of tests have threads too */
#define WORTH_A_THREAD 1e-9
#else
#define WORTH_A_THREAD 3e5 /* nanoseconds */
#endif

int pboost_threads(int threads)
{
    if (threads <= 0)
        threads = pboost_system_processors();
    return threads < MOST_WORKERS ? threads : MOST_WORKERS;
}

int pboost_threads_for(int threads, double nanoseconds)
{
    int most = pboost_threads(threads);
    double worth = nanoseconds / WORTH_A_THREAD;
    return worth >= most ? most : worth > 1.0 ? (int)worth : 1;
}

typedef struct {
    size_t n_chunks;
    void (*body)(void *context, size_t chunk, int worker);
    void *context;
    atomic_size_t next;
    atomic_int workers;
} team;

static void *work(void *argument)
{
    team *t = argument;
    int worker = atomic_fetch_add(&t->workers, 1);
    size_t chunk;
    while ((chunk = atomic_fetch_add(&t->next, 1)) < t->n_chunks)
        t->body(t->context, chunk, worker);
    return NULL;
}

void pboost_parallel(size_t n_chunks, int threads,
                     void (*body)(void *context, size_t chunk, int worker), void *context)
{
    pthread_t helper[MOST_WORKERS];
    team t = {.n_chunks = n_chunks, .body = body, .context = context};
    size_t n_workers = (size_t)pboost_threads(threads), n_helpers = 0;

    if (n_workers > n_chunks)
        n_workers = n_chunks;
    while (n_helpers + 1 < n_workers && pthread_create(&helper[n_helpers], NULL, work, &t) ==
                                            0) /* the work can be done with fewer */
        n_helpers++;
    work(&t);
    for (size_t i = 0; i < n_helpers; i++)
        pthread_join(helper[i], NULL);
}

typedef struct {
    pboost_job *job;
    void *context;
    atomic_size_t failed; /* the first job that failed; SIZE_MAX: none */
    pthread_mutex_t lock; /* of changes to it and of all below */
    pboost_status status;
    pboost_error error;
} attempt;

/* Jobs before one that failed are still run, so that the failure which is returned does not depend
 * on chance. */
static void try_job(void *context, size_t i, int worker)
{
    attempt *a = context;
    pboost_error error = {0};

    if (i > atomic_load(&a->failed))
        return;
    pboost_status st = a->job(a->context, i, worker, &error);
    if (st == PBOOST_OK)
        return;
    pthread_mutex_lock(&a->lock);
    if (i < atomic_load(&a->failed)) {
        atomic_store(&a->failed, i);
        a->status = st;
        a->error = error;
    }
    pthread_mutex_unlock(&a->lock);
}

pboost_status pboost_parallel_try(size_t n_jobs, int threads, pboost_job *job, void *context,
                                  pboost_error *err)
{
    attempt a = {.job = job, .context = context, .failed = SIZE_MAX};

    pthread_mutex_init(&a.lock, NULL);
    pboost_parallel(n_jobs, threads, try_job, &a);
    pthread_mutex_destroy(&a.lock);
    if (a.status != PBOOST_OK && err != NULL)
        *err = a.error;
    return a.status;
}

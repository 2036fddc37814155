/* Jobs on threads, each job on one.
 *
 * Threads take jobs as they become free, so which thread runs what is left to chance; a job writes
 * nothing but its own results, so these are not. */
#include "workers.h"

#include <pthread.h>
#include <unistd.h>

#include "try.h"

typedef struct {
    pthread_mutex_t lock;
    size_t next, n;
    pboost_status status;
    pboost_error error;
    pboost_status (*job)(void *context, size_t i, pboost_error *err);
    void *context;
} queue;

int repro_threads(int threads)
{
    if (threads > 0)
        return threads;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}

static bool take(queue *q, size_t *job)
{
    pthread_mutex_lock(&q->lock);
    bool any = q->next < q->n && q->status == PBOOST_OK;
    if (any)
        *job = q->next++;
    pthread_mutex_unlock(&q->lock);
    return any;
}

static void *work(void *argument)
{
    queue *q = argument;
    size_t i;

    while (take(q, &i)) {
        pboost_error err = {0};
        pboost_status st = q->job(q->context, i, &err);
        pthread_mutex_lock(&q->lock);
        if (st != PBOOST_OK && q->status == PBOOST_OK) {
            q->status = st;
            q->error = err;
        }
        pthread_mutex_unlock(&q->lock);
    }
    return NULL;
}

pboost_status repro_workers(size_t n, int threads,
                            pboost_status (*job)(void *context, size_t i, pboost_error *err),
                            void *context, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    queue q = {.n = n, .job = job, .context = context};
    pthread_t *thread = NULL;
    size_t n_threads = (size_t)repro_threads(threads), started = 0;

    pthread_mutex_init(&q.lock, NULL);
    if (n_threads > n)
        n_threads = n;
    NEED(thread = pboost_alloc(n_threads, sizeof *thread), err);
    while (started + 1 < n_threads && pthread_create(&thread[started], NULL, work, &q) == 0)
        started++;
    work(&q); /* this thread is one of them, and the only one where no other can be had */
    for (size_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    st = q.status;
    if (st != PBOOST_OK && err != NULL)
        *err = q.error;
done:
    pthread_mutex_destroy(&q.lock);
    free(thread);
    return st;
}

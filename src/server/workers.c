/* A few threads that may wait for the ledger, so that the threads of connections never wait. */
#include "service.h"

static void *run(void *self)
{
    workers *w = self;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->first == NULL && !w->stop)
            pthread_cond_wait(&w->wake, &w->lock);
        request *r = w->first;
        if (r == NULL)
            break;
        w->first = r->next;
        if (w->first == NULL)
            w->last = NULL;
        pthread_mutex_unlock(&w->lock);
        w->work(r);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

pboost_status pboost_workers_start(workers *w, void (*work)(request *r), pboost_error *err)
{
    w->work = work;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    for (w->n = 0; w->n < N_WORKERS; w->n++)
        if (pthread_create(&w->thread[w->n], NULL, run, w) != 0)
            return pboost_fail(err, PBOOST_NO_MEMORY, "cannot start a thread");
    return PBOOST_OK;
}

bool pboost_workers_submit(workers *w, request *r)
{
    r->next = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->stop) {
        pthread_mutex_unlock(&w->lock);
        return false;
    }
    MHD_suspend_connection(r->http); /* the worker that resumes it waits for the lock */
    if (w->last != NULL)
        w->last->next = r;
    else
        w->first = r;
    w->last = r;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    return true;
}

void pboost_workers_stop(workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->n; i++)
        pthread_join(w->thread[i], NULL);
    w->n = 0;
}

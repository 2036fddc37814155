/* A few threads that may wait for the ledger, so that the threads of connections never wait.
 *
 * A token may have as many of them as are free, alone half of them, and so may the strangers. */
#include "service.h"

/* The first request whose owner may have another thread, taken off the queue; NULL: none. */
static request *take_next(workers *w)
{
    request *before = NULL, *r = w->first;

    while (r != NULL && !w->stop && r->on->owner->working + 1 > N_WORKERS - w->busy) {
        before = r;
        r = r->next;
    }
    if (r == NULL)
        return NULL;
    if (before != NULL)
        before->next = r->next;
    else
        w->first = r->next;
    if (w->last == r)
        w->last = before;
    return r;
}

static void *run(void *self)
{
    workers *w = self;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        request *r;
        while ((r = take_next(w)) == NULL && !(w->stop && w->first == NULL))
            pthread_cond_wait(&w->wake, &w->lock);
        if (r == NULL)
            break;
        shares *all = &r->service->shares;
        account *owner = r->on->owner; /* may be another when the token was looked at */
        pboost_account_hold(all, owner);
        owner->working++;
        w->busy++;
        pthread_mutex_unlock(&w->lock);
        w->work(r);
        pthread_mutex_lock(&w->lock);
        w->busy--;
        owner->working--;
        pboost_account_leave(all, owner);
        pthread_cond_signal(&w->wake); /* more than one may be allowed to go on now */
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

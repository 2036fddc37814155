/* Running all series of a plan.
 *
 * Each series runs on one thread.  Those that need the same data follow one another, the longest
 * first; the data are made once, by the first series that needs them.  At the end of a realization
 * some threads have nothing left to do there and begin the next: two are in memory at a time. */
#include "run.h"

#include <pthread.h>
#include <string.h>

#include "base/parallel.h"
#include "try.h"

enum { MOST_REALIZATIONS = 2 }; /* in memory at a time */

typedef struct {
    data_key key;
    size_t left; /* series that are not done yet */
    bool made;
    repro_data data;
} realization;

typedef struct {
    repro_series *series;
    realization *needs;
} job;

typedef struct {
    const repro_settings *settings;
    const repro_host *host;
    job *job;
    realization *realization;
    size_t n_jobs, n_realizations;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    double done, total; /* work: done, of all */
    double start;       /* seconds */
    size_t in_memory;   /* realizations */
    bool making;        /* of data, with all threads */
    pboost_status status;
    pboost_error error;
} run;

/* ---- One series ------------------------------------------------------------------------------ */

typedef struct {
    run *run;
    const repro_series *series;
} watched;

static bool advance(void *user, double share)
{
    const watched *w = user;
    run *r = w->run;

    pthread_mutex_lock(&r->lock);
    r->done += share * w->series->work;
    double rate = r->done / (r->host->seconds() - r->start);
    r->host->progress(r->host->user, r->done, r->total, (r->total - r->done) / rate);
    bool go_on = !r->host->interrupted(r->host->user);
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

/* ---- Data ------------------------------------------------------------------------------------ */

/* Has the data of a realization made unless they are there; waits for room. */
static pboost_status borrow(run *r, realization *needed, pboost_error *err)
{
    pthread_mutex_lock(&r->lock);
    while (r->status == PBOOST_OK && !needed->made &&
           (r->making || r->in_memory == MOST_REALIZATIONS))
        pthread_cond_wait(&r->changed, &r->lock);
    pboost_status st = r->status;
    if (st != PBOOST_OK)
        *err = r->error;
    if (st == PBOOST_OK && !needed->made) {
        r->making = true;
        pthread_mutex_unlock(&r->lock);
        st = repro_data_make(&needed->data, &needed->key, r->settings->threads, err);
        pthread_mutex_lock(&r->lock);
        r->making = false;
        needed->made = st == PBOOST_OK;
        r->in_memory += needed->made;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return st;
}

static void give_back(run *r, realization *used)
{
    pthread_mutex_lock(&r->lock);
    if (--used->left == 0) {
        repro_data_free(&used->data);
        used->made = false;
        r->in_memory--;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Lets those who wait know that it is over. */
static void give_up(run *r, pboost_status status, const pboost_error *err)
{
    pthread_mutex_lock(&r->lock);
    if (r->status == PBOOST_OK) {
        r->status = status;
        r->error = *err;
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static pboost_status run_one(void *context, size_t i, int worker, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    run *r = context;
    repro_series *series = r->job[i].series;
    realization *needs = r->job[i].needs;
    watched w = {r, series};
    const series_host host = {advance, &w};

    (void)worker;
    TRY(borrow(r, needs, err));
    TRY(repro_series_run(series, r->settings, &needs->data, &host, err));
    give_back(r, needs);
done:
    if (st != PBOOST_OK)
        give_up(r, st, err);
    return st;
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static bool same_data(const data_key *a, const data_key *b)
{
    return a->rows == b->rows && a->test_rows == b->test_rows && a->features == b->features &&
           a->noise == b->noise && a->seed == b->seed;
}

/* By realization, then the longest first. */
static int in_turn(const void *a, const void *b)
{
    const job *left = a, *right = b;
    if (left->needs != right->needs)
        return left->needs < right->needs ? -1 : 1;
    return (left->series->work < right->series->work) - (left->series->work > right->series->work);
}

static realization *find_realization(run *r, const data_key *key)
{
    for (size_t i = 0; i < r->n_realizations; i++)
        if (same_data(&r->realization[i].key, key))
            return &r->realization[i];
    r->realization[r->n_realizations] = (realization){.key = *key};
    return &r->realization[r->n_realizations++];
}

/* The series of the plan, in the order in which they are begun. */
static pboost_status line_up(run *r, repro_plan *plan, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(r->job = pboost_alloc(plan->n, sizeof *r->job), err);
    NEED(r->realization = pboost_alloc(plan->n, sizeof *r->realization), err);
    for (size_t i = 0; i < plan->n; i++) {
        repro_series *series = &plan->series[i];
        data_key key = repro_series_data(series, r->settings);
        r->total += series->work;
        realization *needs = find_realization(r, &key);
        needs->left++;
        r->job[r->n_jobs++] = (job){series, needs};
    }
    qsort(r->job, r->n_jobs, sizeof *r->job, in_turn);
done:
    return st;
}

pboost_status repro_run(repro_plan *plan, const repro_settings *settings, const repro_host *host,
                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    run r = {.settings = settings, .host = host, .start = host->seconds()};

    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    TRY(line_up(&r, plan, err));
    TRY(pboost_parallel_try(r.n_jobs, settings->threads, run_one, &r, err));
done:
    host->progress(host->user, r.total, r.total, 0.0);
    for (size_t i = 0; i < r.n_realizations; i++)
        repro_data_free(&r.realization[i].data);
    free(r.realization);
    free(r.job);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    return st;
}

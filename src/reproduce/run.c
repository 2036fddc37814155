/* Running all series of a plan.
 *
 * Series that need the same data run together, each on one thread, the longest first; the data are
 * made once and only one realization is in memory at a time. */
#include "run.h"

#include <pthread.h>
#include <string.h>

#include "try.h"
#include "workers.h"

typedef struct {
    const repro_settings *settings;
    const repro_watch *watch;
    repro_store *store;
    pthread_mutex_t lock;       /* of the store and all below */
    double done, total, before; /* work: done, of all; seconds before this start */
    double start, done_at_start;
    const repro_data *data;
    repro_series **batch; /* the series that `data` is for */
} run;

static double elapsed(const run *r)
{
    return r->watch->seconds() - r->start;
}

/* ---- One series -------------------------------------------------------------------------------- */

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
    double rate = (r->done - r->done_at_start) / elapsed(r);
    r->watch->progress(r->watch->user, r->done, r->total, (r->total - r->done) / rate);
    bool go_on = !r->watch->interrupted(r->watch->user);
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

static pboost_status run_one(void *context, size_t i, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    run *r = context;
    repro_series *series = r->batch[i];
    watched w = {r, series};
    const series_watch watch = {advance, &w};

    TRY(repro_series_run(series, r->settings, r->data, &watch, err));
    pthread_mutex_lock(&r->lock);
    st = repro_store_add(r->store, series, r->before + elapsed(r), err);
    pthread_mutex_unlock(&r->lock);
done:
    return st;
}

/* ---- Batches ----------------------------------------------------------------------------------- */

static bool same_data(const data_key *a, const data_key *b)
{
    return a->rows == b->rows && a->test_rows == b->test_rows && a->features == b->features &&
           a->noise == b->noise && a->seed == b->seed;
}

static int longest_first(const void *a, const void *b)
{
    const repro_series *left = *(const repro_series *const *)a;
    const repro_series *right = *(const repro_series *const *)b;
    return (left->work < right->work) - (left->work > right->work);
}

/* The undone series that need the same data as the first of them; returns their number. */
static size_t next_batch(repro_series **batch, data_key *key, const repro_plan *plan,
                         const repro_settings *settings)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n; i++) {
        repro_series *s = &plan->series[i];
        data_key needed = repro_series_data(s, settings);
        if (s->done)
            continue;
        if (n == 0)
            *key = needed;
        if (same_data(key, &needed))
            batch[n++] = s;
    }
    qsort(batch, n, sizeof(*batch), longest_first);
    return n;
}

static pboost_status run_batch(run *r, size_t n, const data_key *key, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_data data = {0};

    TRY(repro_data_make(&data, key, r->settings->threads, err));
    r->data = &data; /* cppcheck-suppress autoVariables */
    TRY(repro_workers(n, r->settings->threads, run_one, r, err));
done:
    repro_data_free(&data);
    return st;
}

pboost_status repro_run(repro_plan *plan, const repro_settings *settings, repro_store *store,
                        const repro_watch *watch, double *seconds, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    run r = {.settings = settings, .watch = watch, .store = store, .before = *seconds};
    data_key key = {0};

    pthread_mutex_init(&r.lock, NULL);
    NEED(r.batch = pboost_alloc(plan->n, sizeof(*r.batch)), err);
    for (size_t i = 0; i < plan->n; i++) {
        r.total += plan->series[i].work;
        r.done += plan->series[i].done ? plan->series[i].work : 0.0;
    }
    r.done_at_start = r.done;
    r.start = watch->seconds();
    for (size_t n; (n = next_batch(r.batch, &key, plan, settings)) > 0;)
        TRY(run_batch(&r, n, &key, err));
    *seconds = r.before + elapsed(&r);
done:
    watch->progress(watch->user, r.total, r.total, 0.0);
    free(r.batch);
    pthread_mutex_destroy(&r.lock);
    return st;
}

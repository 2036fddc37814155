/* Counters, for Prometheus and for the operator's page.  They count requests and rows, never
 * labels. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "buffer.h"
#include "service.h"

static const unsigned STATUSES[] = {200, 400, 401, 403, 404, 405, 409,
                                    413, 415, 422, 429, 500, 503, 0};
#define N_STATUSES (sizeof STATUSES / sizeof *STATUSES)
_Static_assert(N_STATUSES <= MAX_STATUSES, "metrics have no room");
static const double BUCKETS[N_BUCKETS] = {0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

/* The last one is for any other status. */
static size_t status_index(unsigned status)
{
    size_t i = 0;
    while (i < N_STATUSES - 1 && STATUSES[i] != status)
        i++;
    return i;
}

static size_t rate_slot(metrics *m, int64_t minute)
{
    size_t slot = (size_t)(minute % RATE_MINUTES);
    if (m->minute[slot] != minute) {
        m->minute[slot] = minute;
        m->minute_rows[slot] = m->minute_answers[slot] = 0;
    }
    return slot;
}

static int64_t this_minute(void)
{
    return (int64_t)(pboost_service_now() / 60) + RATE_MINUTES;
}

static void count_answer(metrics *m, const request *r)
{
    if (r->retried) {
        m->retries++;
        return;
    }
    size_t slot = rate_slot(m, this_minute());
    m->minute_rows[slot] += r->rows;
    m->minute_answers[slot]++;
    m->rows += r->rows;
    m->bags += r->bags;
}

void pboost_metrics_count(metrics *m, const request *r, unsigned status, double seconds)
{
    pthread_mutex_lock(&m->lock);
    if (status == 0)
        m->aborted++;
    if (r->route != NULL) {
        size_t at = (size_t)(r->route - pboost_routes), bucket = 0;
        while (bucket < N_BUCKETS && seconds > BUCKETS[bucket])
            bucket++;
        m->requests[at][status_index(status)]++;
        m->duration_count[at][bucket]++;
        m->duration_sum[at] += seconds;
    }
    for (int p = 1; r->problem != NULL && p < PBOOST_PROBLEMS; p++)
        if (strcmp(pboost_problem_describe((pboost_problem)p)->name, r->problem) == 0)
            m->refusals[p]++;
    if (status == 200 && r->bags > 0)
        count_answer(m, r);
    pthread_mutex_unlock(&m->lock);
}

json_t *pboost_metrics_rate(metrics *m)
{
    json_t *rows = json_array(), *answers = json_array();
    int64_t now = this_minute();
    bool failed = false;

    pthread_mutex_lock(&m->lock);
    for (int64_t minute = now - RATE_MINUTES + 1; minute <= now; minute++) {
        size_t slot = (size_t)(minute % RATE_MINUTES);
        bool same = m->minute[slot] == minute;
        failed |= json_array_append_new(
                      rows, json_integer(same ? (json_int_t)m->minute_rows[slot] : 0)) != 0;
        failed |= json_array_append_new(
                      answers, json_integer(same ? (json_int_t)m->minute_answers[slot] : 0)) != 0;
    }
    pthread_mutex_unlock(&m->lock);
    json_t *rate =
        failed ? NULL
               : json_pack("{s:O, s:O}", "rows_per_minute", rows, "answers_per_minute", answers);
    json_decref(rows);
    json_decref(answers);
    return rate;
}

json_t *pboost_metrics_refusals(metrics *m)
{
    json_t *counts = json_object();
    bool failed = false;

    pthread_mutex_lock(&m->lock);
    for (int p = 1; p < PBOOST_PROBLEMS; p++)
        if (m->refusals[p] > 0)
            failed |= json_object_set_new(counts, pboost_problem_describe((pboost_problem)p)->name,
                                          json_integer((json_int_t)m->refusals[p])) != 0;
    pthread_mutex_unlock(&m->lock);
    if (!failed)
        return counts;
    json_decref(counts);
    return NULL;
}

/* ---- As Prometheus reads them ---------------------------------------------------------------- */

static void print_one(pboost_buffer *b, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    pboost_buffer_format(
        b, "# HELP priorboost_%s %s\n# TYPE priorboost_%s %s\npriorboost_%s %" PRIu64 "\n", name,
        help, name, type, name, value);
}

static void print_requests(pboost_buffer *b, const metrics *m)
{
    pboost_buffer_text(b, "# HELP priorboost_requests_total Requests by route and status.\n"
                          "# TYPE priorboost_requests_total counter\n");
    for (size_t i = 0; i < pboost_n_routes; i++) {
        for (size_t j = 0; j < N_STATUSES; j++) {
            if (m->requests[i][j] == 0)
                continue;
            pboost_buffer_format(b, "priorboost_requests_total{route=\"%s\",status=\"",
                                 pboost_routes[i].name);
            if (STATUSES[j] == 0)
                pboost_buffer_text(b, "other");
            else
                pboost_buffer_format(b, "%u", STATUSES[j]);
            pboost_buffer_format(b, "\"} %" PRIu64 "\n", m->requests[i][j]);
        }
    }
}

static void print_durations(pboost_buffer *b, const metrics *m)
{
    pboost_buffer_text(b, "# HELP priorboost_request_seconds Time from header to reply.\n"
                          "# TYPE priorboost_request_seconds histogram\n");
    for (size_t i = 0; i < pboost_n_routes; i++) {
        const char *name = pboost_routes[i].name;
        uint64_t total = 0;
        for (size_t j = 0; j <= N_BUCKETS; j++)
            total += m->duration_count[i][j];
        uint64_t below = 0;
        for (size_t j = 0; total > 0 && j < N_BUCKETS; j++) {
            below += m->duration_count[i][j];
            pboost_buffer_format(
                b, "priorboost_request_seconds_bucket{route=\"%s\",le=\"%g\"} %" PRIu64 "\n", name,
                BUCKETS[j], below);
        }
        if (total > 0)
            pboost_buffer_format(
                b,
                "priorboost_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
                "priorboost_request_seconds_sum{route=\"%s\"} %.6f\n"
                "priorboost_request_seconds_count{route=\"%s\"} %" PRIu64 "\n",
                name, total, name, m->duration_sum[i], name, total);
    }
}

static void print_refusals(pboost_buffer *b, const metrics *m)
{
    pboost_buffer_text(b, "# HELP priorboost_refusals_total Questions refused, by problem.\n"
                          "# TYPE priorboost_refusals_total counter\n");
    for (int p = 1; p < PBOOST_PROBLEMS; p++)
        pboost_buffer_format(b, "priorboost_refusals_total{problem=\"%s\"} %" PRIu64 "\n",
                             pboost_problem_describe((pboost_problem)p)->name, m->refusals[p]);
}

pboost_status pboost_metrics_print(unsigned char **body, size_t *length, service *s,
                                   const pboost_ledger_status *ledger, pboost_error *err)
{
    pboost_buffer b = {0};
    metrics *m = &s->metrics;

    pboost_buffer_format(&b,
                         "# HELP priorboost_build_info The version that runs.\n"
                         "# TYPE priorboost_build_info gauge\n"
                         "priorboost_build_info{version=\"%s\",store=\"%s\"} 1\n",
                         pboost_version(), ledger->store);
    print_one(&b, "ledger_rows", "gauge", "Rows ever imported.", ledger->rows);
    print_one(&b, "ledger_rows_spent", "gauge", "Rows whose label was used or erased.",
              ledger->spent);
    print_one(&b, "ledger_rows_forgotten", "gauge", "Rows erased on request.", ledger->forgotten);
    print_one(&b, "ledger_answers", "gauge", "Questions ever answered.", ledger->answers);
    print_one(&b, "ledger_bags", "gauge", "Bags ever answered.", ledger->bags);
    print_one(&b, "ledger_entries", "gauge", "Entries of the chain.", ledger->entries);
    print_one(&b, "connections", "gauge", "Open connections.",
              pboost_connections_count(&s->connections));
    print_one(&b, "connections_displaced_total", "counter",
              "Strangers' connections that were closed to make room.",
              pboost_connections_displaced(&s->connections));
    print_one(&b, "request_bytes", "gauge", "Bytes that requests and replies hold.",
              pboost_shares_bytes(&s->shares));
    print_one(&b, "requests_running", "gauge",
              "Requests begun and not completed, this one included.", atomic_load(&s->running));
    pthread_mutex_lock(&m->lock);
    print_one(&b, "rows_answered_total", "counter", "Rows answered since the start.", m->rows);
    print_one(&b, "bags_answered_total", "counter", "Bags answered since the start.", m->bags);
    print_one(&b, "retries_total", "counter", "Questions that had been answered before.",
              m->retries);
    print_one(&b, "aborted_total", "counter", "Requests whose client went away.", m->aborted);
    print_refusals(&b, m);
    print_requests(&b, m);
    print_durations(&b, m);
    pthread_mutex_unlock(&m->lock);
    return pboost_buffer_take(body, length, &b, err);
}

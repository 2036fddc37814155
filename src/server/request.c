/* The life of a request.
 *
 * Threads of libmicrohttpd receive and send; work that may wait for the ledger runs on a worker
 * while the connection is suspended, so a long question does not delay other clients.  The token is
 * checked before the body is read: a client without a token cannot make the service hold bytes.
 *
 *     header -> AUTHENTICATING -> RECEIVING -> WORKING -> REPLYING
 *
 * If the reply is known early (no such page, token refused), the body is still read and dropped: a
 * client that is still sending would see a closed connection instead of the reply. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "service.h"

double pboost_service_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Connections ----------------------------------------------------------------------------- */

void pboost_on_connection(void *self, struct MHD_Connection *http, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    service *s = self;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        pboost_connection_remove(&s->connections, *context);
        *context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
    double deadline = pboost_service_now() + s->options.header_seconds;
    *context =
        info != NULL ? pboost_connection_add(&s->connections, info->connect_fd, deadline) : NULL;
}

static connection *connection_of(struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static void give_time(request *r, double seconds)
{
    pboost_connection_expect(&r->service->connections, r->on, pboost_service_now() + seconds);
}

/* ---- Headers --------------------------------------------------------------------------------- */

static const char *header(request *r, const char *name)
{
    return MHD_lookup_connection_value(r->http, MHD_HEADER_KIND, name);
}

/* The secret after "Bearer "; empty if there is none or it is longer than any. */
static void read_secret(request *r)
{
    const char *value = header(r, "Authorization");

    if (value == NULL || strncasecmp(value, "Bearer ", 7) != 0)
        return;
    value += 7;
    while (*value == ' ')
        value++;
    if (strlen(value) < sizeof r->secret)
        memcpy(r->secret, value, strlen(value) + 1);
}

/* Whether the media type, without its parameters, is one of the route's. */
static bool read_type(request *r)
{
    const char *value = header(r, "Content-Type");
    size_t n = value != NULL ? strcspn(value, "; \t") : 0;

    if (r->route->content_types == NULL)
        return true;
    r->format = WIRE_JSON;
    if (n == strlen(WIRE_JSON_TYPE) && strncasecmp(value, WIRE_JSON_TYPE, n) == 0)
        return true;
    r->format = WIRE_BINARY;
    return n == strlen(WIRE_BINARY_TYPE) && strncasecmp(value, WIRE_BINARY_TYPE, n) == 0 &&
           strstr(r->route->content_types, WIRE_BINARY_TYPE) != NULL;
}

static unsigned long long announced_length(request *r)
{
    const char *length = header(r, "Content-Length");
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}

static void reply_too_large(request *r)
{
    char detail[96];
    snprintf(detail, sizeof detail, "A body may have %zu bytes.", r->service->options.max_body);
    pboost_problem_reply(r, 413, "body-too-large", "The body is too large", detail);
}

/* Replies at once if the header is wrong. */
static void check_header(request *r, const char *method, const char *url)
{
    const char *tail = NULL;

    r->route = pboost_route_find(&tail, r->allow, sizeof r->allow, method, url);
    if (r->route == NULL && r->allow[0] == '\0') {
        pboost_problem_reply(r, 404, "not-found", "There is nothing at this address",
                             "/v1/openapi.json lists the addresses.");
        return;
    }
    if (r->route == NULL) {
        pboost_problem_reply(r, 405, "method-not-allowed", "This address does not take this method",
                             r->allow);
        return;
    }
    if (tail != NULL && strlen(tail) > PBOOST_ID_MAX) {
        pboost_problem_reply(r, 404, "unknown-request", "No such request was answered", NULL);
        return;
    }
    if (tail != NULL)
        memcpy(r->tail, tail, strlen(tail) + 1);
    if (!read_type(r)) {
        pboost_problem_reply(r, 415, "unsupported-media-type",
                             "The type of the body is not supported here", r->route->content_types);
        return;
    }
    if (announced_length(r) > r->service->options.max_body)
        reply_too_large(r);
    read_secret(r);
}

/* ---- The body -------------------------------------------------------------------------------- */

/* All bodies together may take as much as four of the largest. */
static bool reserve_body(request *r, size_t more)
{
    service *s = r->service;
    size_t capacity = r->capacity;

    if (r->length + more <= capacity)
        return true;
    capacity = 2 * capacity > r->length + more ? 2 * capacity : r->length + more;
    size_t grown_by = capacity - r->capacity;
    if (atomic_fetch_add(&s->body_bytes, grown_by) + grown_by >
        4 * s->options.max_body + (1 << 20)) {
        atomic_fetch_sub(&s->body_bytes, grown_by);
        return false;
    }
    unsigned char *grown = realloc(r->body, capacity);
    if (grown == NULL) {
        atomic_fetch_sub(&s->body_bytes, grown_by);
        return false;
    }
    r->body = grown;
    r->capacity = capacity;
    return true;
}

static void free_body(request *r)
{
    free(r->body);
    atomic_fetch_sub(&r->service->body_bytes, r->capacity);
    r->body = NULL;
    r->capacity = 0;
}

/* Keeps the next piece of the body, or drops it, within a limit of bytes. */
static enum MHD_Result receive(request *r, const char *data, size_t length)
{
    size_t most = r->service->options.max_body;

    r->too_large = r->too_large || (r->stage == RECEIVING && r->length + length > most);
    r->no_room = r->no_room || (r->stage == RECEIVING && !r->too_large && !reserve_body(r, length));
    if (r->stage == RECEIVING && !r->too_large && !r->no_room)
        memcpy(r->body + r->length, data, length);
    r->length += length;
    return r->length > 2 * most ? MHD_NO : MHD_YES;
}

/* ---- Work ------------------------------------------------------------------------------------ */

static void authenticate(request *r)
{
    pboost_error err = {0};
    pboost_problem problem = PBOOST_PROBLEM_TOKEN_INVALID;
    pboost_status st = PBOOST_REFUSED;
    pboost_ledger *ledger = r->service->ledger;
    const char *detail =
        r->secret[0] == '\0' ? "Send a token as 'Authorization: Bearer TOKEN'." : NULL;

    if (r->secret[0] != '\0')
        st = pboost_token_authenticate(&r->token, &problem, ledger, r->secret, r->route->roles,
                                       &err);
    r->has_token = st == PBOOST_OK;
    if (st == PBOOST_REFUSED)
        pboost_refusal_reply(r, problem, detail, NULL, NULL);
    else if (st != PBOOST_OK)
        pboost_failure_reply(r, st, &err);
}

static void find_reply(request *r)
{
    pboost_error err = {0};

    if (r->too_large) {
        reply_too_large(r);
    } else if (r->no_room) {
        pboost_problem_reply(r, 503, "unavailable", "The oracle cannot answer now",
                             "Too many large bodies come in; send the same request again.");
    } else {
        pboost_status st = r->route->handle(r, &err);
        if (st != PBOOST_OK)
            pboost_failure_reply(r, st, &err);
    }
    explicit_bzero(r->secret, sizeof r->secret); /* only an approval needs it */
}

static void report_broken(service *s)
{
    uint64_t one = 1;
    if (pboost_ledger_broken(s->ledger) && !atomic_exchange(&s->broken, true) &&
        write(s->wake, &one, sizeof one) < 0)
        abort(); /* the process must end, whatever happens */
}

void pboost_request_work(request *r)
{
    struct MHD_Connection *http = r->http;

    if (r->stage == AUTHENTICATING)
        authenticate(r);
    else
        find_reply(r);
    report_broken(r->service);
    r->stage = r->stage == AUTHENTICATING && r->reply.status == 0 ? RECEIVING : REPLYING;
    give_time(r, r->service->options.body_seconds);
    MHD_resume_connection(http); /* r may be gone from here on */
}

/* A connection that comes after the workers were stopped is closed. */
static enum MHD_Result hand_over(request *r, stage next)
{
    r->stage = next;
    give_time(r, INFINITY);
    return pboost_workers_submit(&r->service->workers, r) ? MHD_YES : MHD_NO;
}

/* ---- Replies --------------------------------------------------------------------------------- */

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "        \
    "'self'; "                                                                                     \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static bool add_headers(struct MHD_Response *response, const request *r)
{
    bool ok = MHD_add_response_header(response, "Content-Type", r->reply.type) == MHD_YES &&
              MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
              MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
              MHD_add_response_header(response, "Referrer-Policy", "no-referrer") == MHD_YES &&
              MHD_add_response_header(response, "Content-Security-Policy", POLICY) == MHD_YES;
    if (r->reply.status == 401)
        ok = ok && MHD_add_response_header(response, "WWW-Authenticate", "Bearer") == MHD_YES;
    if (r->reply.status == 405)
        ok = ok && MHD_add_response_header(response, "Allow", r->allow) == MHD_YES;
    if (r->retry_after > 0) {
        char seconds[24];
        snprintf(seconds, sizeof seconds, "%u", r->retry_after);
        ok = ok && MHD_add_response_header(response, "Retry-After", seconds) == MHD_YES;
    } else if (r->reply.status == 503)
        ok = ok && MHD_add_response_header(response, "Retry-After", "1") == MHD_YES;
    if (atomic_load(&r->service->draining))
        ok = ok && MHD_add_response_header(response, "Connection", "close") == MHD_YES;
    return ok;
}

/* Counted and logged before it is sent: a client that has the reply finds it in the metrics. */
static void record(request *r, unsigned status)
{
    double seconds = pboost_service_now() - r->began;

    r->recorded = true;
    pboost_metrics_count(&r->service->metrics, r, status, seconds);
    pboost_log_request(r, status, seconds);
}

static enum MHD_Result send_reply(request *r)
{
    record(r, r->reply.status);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        r->reply.length, r->reply.body,
        r->reply.lent ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);

    if (response == NULL)
        return MHD_NO;
    r->reply.lent = true; /* the response frees it */
    enum MHD_Result sent =
        add_headers(response, r) ? MHD_queue_response(r->http, r->reply.status, response) : MHD_NO;
    MHD_destroy_response(response);
    return sent;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static enum MHD_Result begin(service *s, struct MHD_Connection *http, const char *method,
                             const char *url, void **state)
{
    request *r = calloc(1, sizeof *r);

    if (r == NULL)
        return MHD_NO;
    *state = r;
    r->service = s;
    r->http = http;
    r->on = connection_of(http);
    r->began = pboost_service_now();
    atomic_fetch_add(&s->running, 1);
    give_time(r, s->options.body_seconds);
    check_header(r, method, url);
    if (r->reply.status != 0 || r->route->roles == ANYONE) {
        r->header_done = true;
        r->stage = r->reply.status != 0 ? REPLYING : RECEIVING;
        /* The service does not wait for a body that is announced as too large. */
        return announced_length(r) > 2 * s->options.max_body ? send_reply(r) : MHD_YES;
    }
    return hand_over(r, AUTHENTICATING);
}

enum MHD_Result pboost_on_request(void *self, struct MHD_Connection *http, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_length, void **state)
{
    request *r = *state;
    (void)version;

    if (r == NULL)
        return begin(self, http, method, url, state);
    if (*data_length > 0) {
        size_t length = *data_length;
        *data_length = 0;
        return receive(r, data, length);
    }
    if (!r->header_done) { /* the token was looked at; the last call comes after the body */
        r->header_done = true;
        return MHD_YES;
    }
    if (r->stage == REPLYING)
        return send_reply(r);
    if (!r->route->waits) {
        find_reply(r);
        r->stage = REPLYING;
        return send_reply(r);
    }
    return hand_over(r, WORKING);
}

void pboost_on_completed(void *self, struct MHD_Connection *http, void **state,
                         enum MHD_RequestTerminationCode how)
{
    service *s = self;
    request *r = *state;
    (void)http;
    (void)how;

    if (r == NULL)
        return;
    if (!r->recorded)
        record(r, 0); /* the client went away */
    pboost_connection_expect(&s->connections, r->on,
                             pboost_service_now() + s->options.header_seconds);
    free_body(r);
    if (!r->reply.lent)
        free(r->reply.body);
    explicit_bzero(r->secret, sizeof r->secret);
    free(r);
    *state = NULL;
    atomic_fetch_sub(&s->running, 1);
}

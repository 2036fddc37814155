/* The life of a request.
 *
 * Threads of libmicrohttpd receive and send; work that may wait for the ledger runs on a worker
 * while the connection is suspended, so a long question does not delay other clients.  The token is
 * checked before the body is read, and what a request holds (body, what reading it takes, reply)
 * counts in the token's share: a client without a token cannot make the service hold bytes.
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

/* Bytes of a body that nobody wants.  Many clients read no reply before they have sent it all. */
enum { LET_BY = 1 << 20 };

double pboost_service_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Connections ----------------------------------------------------------------------------- */

/* A service that stops takes nobody in.  (MHD_quiesce_daemon would say the same, but may abort the
 * process when a connection closes at that moment.) */
enum MHD_Result pboost_on_accept(void *self, const struct sockaddr *address, socklen_t length)
{
    const listener *l = self;
    service *s = l->service;
    (void)length;

    if (atomic_load(&s->draining))
        return MHD_NO;
    return l->monitoring || pboost_address_admits(&s->addresses, address) ? MHD_YES : MHD_NO;
}

static connection *begin_connection(listener *l, struct MHD_Connection *http)
{
    service *s = l->service;
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const union MHD_ConnectionInfo *session =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    double deadline = pboost_service_now() + s->options.header_seconds;
    connection *c =
        fd != NULL ? pboost_connection_add(&s->connections, &s->shares, fd->connect_fd, deadline)
                   : NULL;

    if (c == NULL)
        return NULL;
    if (from != NULL && !l->monitoring)
        c->from = pboost_address_connect(&s->addresses, from->client_addr);
    if (session != NULL && session->tls_session != NULL)
        c->files = pboost_tls_begin(&s->tls, session->tls_session);
    return c;
}

void pboost_on_connection(void *self, struct MHD_Connection *http, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    listener *l = self;
    service *s = l->service;
    connection *c = *context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = begin_connection(l, http);
        return;
    }
    *context = NULL;
    if (c == NULL)
        return;
    pboost_address_disconnect(&s->addresses, c->from);
    pboost_tls_end(&s->tls, c->files);
    pboost_connection_remove(&s->connections, &s->shares, c);
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

static void reply_no_room(request *r, const char *detail)
{
    pboost_problem_reply(r, 503, "unavailable", "The oracle cannot answer now", detail);
}

/* Replies at once, and closes the connection before a body comes in. */
static void check_framing(request *r, const char *version)
{
    service *s = r->service;
    bool is_stranger = r->on->owner == &s->shares.strangers, has_body;
    const char *fault = pboost_framing_fault(&has_body, r->http, version);

    r->counted = is_stranger && !r->monitoring;
    if (r->counted && !pboost_address_request(&s->addresses, r->on->from))
        pboost_problem_reply(r, 429, "too-many-requests", "This address sends too many requests",
                             "Send the same request again after a second.");
    else if (fault != NULL)
        pboost_refusal_reply(r, PBOOST_PROBLEM_MALFORMED, fault, NULL, NULL);
    else if (has_body && r->route != NULL && r->route->content_types == NULL)
        pboost_problem_reply(r, 413, "body-too-large", "The body is too large",
                             "This address takes no body.");
    else
        return;
    r->closes = true;
}

/* Replies at once if the header is wrong. */
static void check_header(request *r, const char *method, const char *url)
{
    const char *tail = NULL;

    r->route = pboost_route_find(&tail, r->allow, sizeof r->allow, method, url);
    if (r->monitoring && r->route != NULL && !r->route->for_monitoring)
        r->route = NULL;
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

static bool reserve_body(request *r, size_t more)
{
    size_t capacity = r->capacity;

    if (r->length + more <= capacity)
        return true;
    capacity = 2 * capacity > r->length + more ? 2 * capacity : r->length + more;
    if (!pboost_share_bytes(r, capacity))
        return false;
    unsigned char *grown = realloc(r->body, capacity);
    if (grown == NULL)
        return false;
    r->body = grown;
    r->capacity = capacity;
    return true;
}

static void free_body(request *r)
{
    free(r->body);
    r->body = NULL;
    r->capacity = 0;
}

/* Keeps the next piece of the body, or drops it, within a limit of bytes. */
static enum MHD_Result receive(request *r, const char *data, size_t length)
{
    r->too_large = r->too_large ||
                   (r->stage == RECEIVING && r->length + length > r->service->options.max_body);
    r->no_room = r->no_room || (r->stage == RECEIVING && !r->too_large && !reserve_body(r, length));
    if (r->stage == RECEIVING && !r->too_large && !r->no_room) {
        memcpy(r->body + r->length, data, length);
        r->length += length;
        return MHD_YES;
    }
    free_body(r);
    pboost_share_bytes(r, 0);
    r->ignored += length;
    return r->ignored > LET_BY + (r->has_token ? r->service->options.max_body : 0) ? MHD_NO
                                                                                   : MHD_YES;
}

/* ---- Work ------------------------------------------------------------------------------------ */

/* The connection leaves the strangers for the token's share. */
static void admit(request *r)
{
    service *s = r->service;

    if (r->counted)
        pboost_address_refund(&s->addresses, r->on->from);
    if (pboost_share_connection(&s->shares, r->on, r->token.id))
        return;
    r->closes = true;
    reply_no_room(r, "This token has too many connections; send the same request again.");
}

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
    else
        admit(r);
}

/* Whether there is room for what reading the body and finding the reply takes; else a reply. */
static bool has_room(request *r)
{
    bool is_read = !r->too_large && !r->no_room && r->route->content_types != NULL;
    size_t width = pboost_ledger_get_rules(r->service->ledger)->rules.width;
    size_t bytes = r->capacity;

    if (is_read)
        bytes += pboost_wire_cost(r->format, r->body, r->length, width);

    if (r->too_large)
        reply_too_large(r);
    else if (bytes > pboost_share_most(&r->service->shares))
        pboost_problem_reply(r, 413, "body-too-large", "The body is too large",
                             "It names more rows and bags than the service has memory for; ask "
                             "about fewer at a time.");
    else if (r->no_room || !pboost_share_bytes(r, bytes))
        reply_no_room(r,
                      "Requests of this token, or of all, hold too many bytes; read the replies, "
                      "then send the same request again.");
    else
        return true;
    return false;
}

static void find_reply(request *r)
{
    pboost_error err = {0};

    if (has_room(r)) {
        pboost_status st = r->route->handle(r, &err);
        if (st != PBOOST_OK)
            pboost_failure_reply(r, st, &err);
    }
    free_body(r);
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
    } else if (r->reply.status == 503 || r->reply.status == 429)
        ok = ok && MHD_add_response_header(response, "Retry-After", "1") == MHD_YES;
    if (r->closes || atomic_load(&r->service->draining))
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

/* A reply is held until the client has read it, so it counts. */
static enum MHD_Result send_reply(request *r)
{
    if (!pboost_share_bytes(r, r->reply.lent ? 0 : r->reply.length)) {
        r->problem = "unavailable";
        pboost_reply_lend(r, 503, "application/problem+json",
                          "{\"detail\":\"Replies that were not read hold too many bytes.\","
                          "\"problem\":\"unavailable\",\"status\":503,\"title\":\"The oracle "
                          "cannot answer now\",\"type\":\"urn:priorboost:problem:unavailable\"}");
        pboost_share_bytes(r, 0);
    }
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

static enum MHD_Result begin(const listener *l, struct MHD_Connection *http, const char *method,
                             const char *url, const char *version, void **state)
{
    service *s = l->service;
    connection *on = connection_of(http);
    request *r = on != NULL ? calloc(1, sizeof *r) : NULL;

    if (r == NULL)
        return MHD_NO;
    *state = r;
    r->service = s;
    r->http = http;
    r->on = on;
    r->monitoring = l->monitoring;
    r->began = pboost_service_now();
    atomic_fetch_add(&s->running, 1);
    give_time(r, s->options.body_seconds);
    check_header(r, method, url);
    check_framing(r, version);
    if (r->closes)
        return send_reply(r);
    if (r->reply.status != 0 || r->route->roles == ANYONE || r->monitoring) {
        r->header_done = true;
        r->stage = r->reply.status != 0 ? REPLYING : RECEIVING;
        /* The service does not wait for a body that is announced as too large. */
        return announced_length(r) > LET_BY ? send_reply(r) : MHD_YES;
    }
    return hand_over(r, AUTHENTICATING);
}

enum MHD_Result pboost_on_request(void *self, struct MHD_Connection *http, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_length, void **state)
{
    request *r = *state;

    if (r == NULL)
        return begin(self, http, method, url, version, state);
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
    service *s = ((listener *)self)->service;
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
    pboost_share_bytes(r, 0);
    if (!r->reply.lent)
        free(r->reply.body);
    explicit_bzero(r->secret, sizeof r->secret);
    free(r);
    *state = NULL;
    atomic_fetch_sub(&s->running, 1);
}

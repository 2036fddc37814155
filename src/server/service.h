/* What the files of the service share. */
#ifndef PBOOST_SERVICE_H
#define PBOOST_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <jansson.h>
#include <microhttpd.h>

#include "server.h"
#include "try.h"
#include "wire.h"

typedef struct service service;
typedef struct request request;

/* ---- Routes ---------------------------------------------------------------------------------- */

/* Whose token a route takes: a set of roles. */
enum {
    ANYONE = 0, /* also without a token */
    LEARNER = PBOOST_MAY(PBOOST_LEARNER),
    OPERATOR = PBOOST_MAY(PBOOST_OPERATOR),
    AUDITOR = PBOOST_MAY(PBOOST_AUDITOR),
    APPROVER = PBOOST_MAY(PBOOST_APPROVER),
    AUDITORS = AUDITOR | OPERATOR,
    ANY_TOKEN = LEARNER | OPERATOR | AUDITOR | APPROVER
};

/* Fills r->reply, or fails; then the reply is a problem document. */
typedef pboost_status handler(request *r, pboost_error *err);

typedef struct route {
    const char *method, *path; /* a path that ends in '/' (but "/") takes one more segment */
    const char *name;          /* in logs and metrics */
    unsigned roles;            /* that it is for */
    bool waits; /* may wait for the ledger: not on a thread that serves connections */
    const char *content_types; /* of the body; NULL: there is none */
    handler *handle;
} route;

extern const route pboost_routes[];
extern const size_t pboost_n_routes;

/* The route of a request, and where its last segment starts (NULL: none).  NULL if there is none;
 * then *allow lists the methods that the path knows, or is empty. */
const route *pboost_route_find(const char **tail, char *allow, size_t size, const char *method,
                               const char *path);

handler pboost_handle_query, pboost_handle_find, pboost_handle_available, pboost_handle_config,
    pboost_handle_status, pboost_handle_healthy, pboost_handle_ready, pboost_handle_metrics,
    pboost_handle_openapi, pboost_handle_page, pboost_handle_page_css, pboost_handle_page_js,
    pboost_handle_icon, pboost_handle_audit, pboost_handle_approve;

/* ---- Requests -------------------------------------------------------------------------------- */

typedef struct reply {
    unsigned status;
    const char *type;
    unsigned char *body;
    size_t length;
    bool lent; /* the body is constant */
} reply;

typedef struct connection connection;

typedef enum stage {
    AUTHENTICATING, /* a worker looks at the token */
    RECEIVING,      /* the body comes in */
    WORKING,        /* a worker finds the reply */
    REPLYING
} stage;

struct request {
    service *service;
    connection *on;
    struct MHD_Connection *http;
    const route *route;
    char allow[32]; /* for 405 */
    stage stage;
    wire_format format; /* of the body */
    unsigned char *body;
    size_t length, capacity;
    bool header_done, too_large, no_room;
    char secret[2 * PBOOST_TOKEN_TEXT];
    char tail[PBOOST_ID_MAX + 1];
    pboost_token token;
    bool has_token;
    reply reply;
    unsigned retry_after; /* seconds; 0: not said */
    /* for the log and the metrics */
    const char *problem;
    size_t bags, rows;
    bool retried, recorded;
    double began;
    request *next; /* in the queue */
};

/* ---- Replies --------------------------------------------------------------------------------- */

void pboost_reply_take(request *r, unsigned status, const char *type, unsigned char *body,
                       size_t length);
void pboost_reply_lend(request *r, unsigned status, const char *type, const char *text);
/* The document as text.  json_dumps does not notice every lack of memory. */
pboost_status pboost_json_print(unsigned char **text, size_t *length, const json_t *document,
                                size_t flags, pboost_error *err);

/* A token without its secret.  NULL: out of memory. */
json_t *pboost_describe_token(const pboost_token *token);

/* Problem documents (RFC 9457). */
void pboost_problem_reply(request *r, unsigned status, const char *name, const char *title,
                          const char *detail);
/* A rule that was broken; q and offenders may be NULL. */
void pboost_refusal_reply(request *r, pboost_problem problem, const char *detail,
                          const wire_question *q, const pboost_reply *offenders);
/* A call that failed through no fault of the client; the message goes to the log only. */
void pboost_failure_reply(request *r, pboost_status status, const pboost_error *err);

/* ---- Metrics --------------------------------------------------------------------------------- */

enum { MAX_ROUTES = 16, MAX_STATUSES = 20, N_BUCKETS = 11, RATE_MINUTES = 60 };

typedef struct metrics {
    pthread_mutex_t lock;
    uint64_t requests[MAX_ROUTES][MAX_STATUSES];
    uint64_t duration_count[MAX_ROUTES][N_BUCKETS + 1];
    double duration_sum[MAX_ROUTES];
    uint64_t refusals[PBOOST_PROBLEMS];
    uint64_t aborted, rows, bags, retries;
    int64_t minute[RATE_MINUTES]; /* which minute the slot counts */
    uint64_t minute_rows[RATE_MINUTES], minute_answers[RATE_MINUTES];
} metrics;

void pboost_metrics_count(metrics *m, const request *r, unsigned status, double seconds);
/* Rows and answers of the last hour by minute, the present one last.  NULL: out of memory. */
json_t *pboost_metrics_rate(metrics *m);
json_t *pboost_metrics_refusals(metrics *m);
pboost_status pboost_metrics_print(unsigned char **body, size_t *length, service *s,
                                   const pboost_ledger_status *ledger, pboost_error *err);

/* ---- Logs ------------------------------------------------------------------------------------ */

void pboost_log_event(const char *level, const char *event, const char *format, ...)
    PBOOST_PRINTF(3, 4);
void pboost_log_request(const request *r, unsigned status, double seconds);

/* ---- Connections ----------------------------------------------------------------------------- */

/* Each connection has a deadline for what it is doing, also if it sends single bytes; one thread
 * ends connections after their deadline. */
struct connection {
    connection *before, *after;
    int fd;
    double deadline; /* infinite while the oracle is at work */
};

typedef struct connections {
    pthread_mutex_t lock;
    connection *first;
    size_t n;
} connections;

connection *pboost_connection_add(connections *all, int fd, double deadline);
void pboost_connection_remove(connections *all, connection *c);
void pboost_connection_expect(connections *all, connection *c, double deadline);
void pboost_connections_end_late(connections *all, double now);
size_t pboost_connections_count(connections *all);

/* ---- Workers --------------------------------------------------------------------------------- */

enum { N_WORKERS = 8 };

typedef struct workers {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    request *first, *last;
    bool stop;
    size_t n;
    pthread_t thread[N_WORKERS];
    void (*work)(request *r);
} workers;

pboost_status pboost_workers_start(workers *w, void (*work)(request *r), pboost_error *err);
/* Suspends the connection of r until a worker has done it; false after pboost_workers_stop: then
 * nothing was done.  (A connection that stays suspended would abort MHD_stop_daemon.) */
bool pboost_workers_submit(workers *w, request *r);
void pboost_workers_stop(workers *w); /* after what is queued is done */

/* ---- The service ----------------------------------------------------------------------------- */

struct service {
    pboost_ledger *ledger;
    pboost_server_options options;
    metrics metrics;
    connections connections;
    workers workers;
    struct MHD_Daemon *daemon;
    char *cert, *key;
    int wake; /* an eventfd: the main thread must look */
    atomic_bool broken, draining;
    atomic_size_t running;    /* requests begun and not completed */
    atomic_size_t body_bytes; /* held for requests that come in */
    int64_t started;
};

double pboost_service_now(void); /* seconds of a monotonic clock */

/* Callbacks of libmicrohttpd. */
enum MHD_Result pboost_on_request(void *self, struct MHD_Connection *http, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_length, void **state);
void pboost_on_completed(void *self, struct MHD_Connection *http, void **state,
                         enum MHD_RequestTerminationCode how);
void pboost_on_connection(void *self, struct MHD_Connection *http, void **context,
                          enum MHD_ConnectionNotificationCode what);
void pboost_request_work(request *r);

/* ---- Listening ------------------------------------------------------------------------------- */

/* A listening socket for "HOST:PORT" or "unix:PATH"; url gets what a client uses. */
pboost_status pboost_listen(int *fd, char *url, size_t size, const pboost_server_options *options,
                            pboost_error *err);

/* ---- Constant files (made from the files of those names) ------------------------------------- */

extern const char pboost_asset_page_html[], pboost_asset_page_css[], pboost_asset_page_js[],
    pboost_asset_icon_svg[], pboost_asset_openapi_json[];

#endif

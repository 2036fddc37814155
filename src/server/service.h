/* What the files of the service share. */
#ifndef PBOOST_SERVICE_H
#define PBOOST_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <gnutls/gnutls.h>
#include <jansson.h>
#include <microhttpd.h>

#include "server.h"
#include "try.h"
#include "wire.h"

typedef struct service service;
typedef struct request request;
typedef struct connection connection;

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
    bool for_monitoring;       /* also at --metrics-listen, for anyone there */
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
    size_t ignored; /* bytes of the body that were let go by */
    size_t bytes;   /* held in the share of the connection's owner */
    bool header_done, too_large, no_room;
    bool closes;     /* the connection, after the reply */
    bool counted;    /* as a stranger's request */
    bool monitoring; /* came in at --metrics-listen */
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

/* ---- Shares ---------------------------------------------------------------------------------- */

enum { SPARE_PART = 8 }; /* of all connections, kept free of strangers */

/* What one token has, or all strangers together. */
typedef struct account account;
struct account {
    account *next;
    int64_t token;
    size_t users; /* that point here */
    size_t bytes, connections;
    size_t working; /* workers; under the workers' lock */
};

typedef struct shares {
    pthread_mutex_t lock;
    size_t most_bytes, most_connections;
    size_t bytes;       /* held by requests */
    size_t connections; /* of tokens */
    account strangers, *tokens;
} shares;

void pboost_shares_init(shares *s, const pboost_server_options *options);
void pboost_account_hold(shares *s, account *a);
void pboost_account_leave(shares *s, account *a);
/* The connection is the token's from here on; false: the token has too many. */
bool pboost_share_connection(shares *s, connection *c, int64_t token);
void pboost_share_connection_end(shares *s, connection *c);
/* The request holds this many bytes from here on, more or fewer than before.  False: there is no
 * room for more, and it holds what it held. */
bool pboost_share_bytes(request *r, size_t bytes);
size_t pboost_share_most(const shares *s); /* bytes that a token can have where nobody else is */
size_t pboost_shares_bytes(shares *s);

/* ---- Addresses ------------------------------------------------------------------------------- */

enum { ADDRESS_CHAINS = 1024 };

typedef struct source source; /* an address that is or was connected */

typedef struct addresses {
    pthread_mutex_t lock;
    size_t most_connections, most_requests; /* 0: the default */
    uint64_t secret;
    source *chain[ADDRESS_CHAINS];
} addresses;

pboost_status pboost_addresses_init(addresses *all, const pboost_server_options *options,
                                    pboost_error *err);
void pboost_addresses_free(addresses *all);
/* Whether the address may connect once more. */
bool pboost_address_admits(addresses *all, const struct sockaddr *address);
source *pboost_address_connect(addresses *all,
                               const struct sockaddr *address); /* NULL: no limits */
void pboost_address_disconnect(addresses *all, source *s);
/* Whether it may send a request without a valid token; refunded where the token was valid. */
bool pboost_address_request(addresses *all, source *s);
void pboost_address_refund(addresses *all, source *s);

/* ---- Connections ----------------------------------------------------------------------------- */

typedef struct tls_files tls_files;

/* Each connection has a deadline for what it is doing, also if it sends single bytes; one thread
 * ends connections after their deadline. */
struct connection {
    connection *before, *after;
    int fd;
    double deadline; /* infinite while the oracle is at work */
    bool ended;      /* the socket is shut down */
    account *_Atomic owner;
    source *from;
    tls_files *files;
};

typedef struct connections {
    pthread_mutex_t lock;
    connection *first, *last; /* the newest, the oldest */
    size_t n, n_ended;
    uint64_t n_displaced; /* strangers that had to go */
} connections;

connection *pboost_connection_add(connections *all, shares *s, int fd, double deadline);
void pboost_connection_remove(connections *all, shares *s, connection *c);
void pboost_connection_expect(connections *all, connection *c, double deadline);
void pboost_connections_end_late(connections *all, double now);
size_t pboost_connections_count(connections *all);
uint64_t pboost_connections_displaced(connections *all);

/* What is wrong with a request's framing, or NULL. */
const char *pboost_framing_fault(bool *has_body, struct MHD_Connection *http, const char *version);

/* ---- TLS ------------------------------------------------------------------------------------- */

/* Certificate, key and authority as they were read; each connection keeps those it began with. */
typedef struct tls {
    pthread_mutex_t lock;
    tls_files *now;
} tls;

/* Reads the files of the options; where that fails, those of before stay. */
pboost_status pboost_tls_load(tls *t, const pboost_server_options *options, pboost_error *err);
void pboost_tls_free(tls *t);
const char *pboost_tls_cert(const tls *t); /* PEM */
const char *pboost_tls_key(const tls *t);
tls_files *pboost_tls_begin(tls *t, gnutls_session_t session);
void pboost_tls_end(tls *t, tls_files *files);

/* ---- Workers --------------------------------------------------------------------------------- */

enum { N_WORKERS = 8 };

typedef struct workers {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    request *first, *last;
    bool stop;
    size_t n, busy;
    pthread_t thread[N_WORKERS];
    void (*work)(request *r);
} workers;

pboost_status pboost_workers_start(workers *w, void (*work)(request *r), pboost_error *err);
/* Suspends the connection of r until a worker has done it; false after pboost_workers_stop: then
 * nothing was done.  (A connection that stays suspended would abort MHD_stop_daemon.) */
bool pboost_workers_submit(workers *w, request *r);
void pboost_workers_stop(workers *w); /* after what is queued is done */

/* ---- The service ----------------------------------------------------------------------------- */

/* A socket that clients connect to. */
typedef struct listener {
    service *service;
    bool monitoring; /* --metrics-listen */
    int fd;
    char url[512];
    struct MHD_Daemon *daemon;
} listener;

struct service {
    pboost_ledger *ledger;
    pboost_server_options options;
    metrics metrics;
    shares shares;
    addresses addresses;
    connections connections;
    tls tls;
    workers workers;
    listener main, monitor;
    int wake; /* an eventfd: the main thread must look */
    atomic_bool broken, draining;
    atomic_size_t running; /* requests begun and not completed */
    int64_t started;
};

double pboost_service_now(void); /* seconds of a monotonic clock */

/* Callbacks of libmicrohttpd; self is the listener. */
enum MHD_Result pboost_on_accept(void *self, const struct sockaddr *address, socklen_t length);
enum MHD_Result pboost_on_request(void *self, struct MHD_Connection *http, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_length, void **state);
void pboost_on_completed(void *self, struct MHD_Connection *http, void **state,
                         enum MHD_RequestTerminationCode how);
void pboost_on_connection(void *self, struct MHD_Connection *http, void **context,
                          enum MHD_ConnectionNotificationCode what);
void pboost_request_work(request *r);

/* ---- Listening ------------------------------------------------------------------------------- */

/* A listening socket for "HOST:PORT" or "unix:PATH", the value of an option; plain: without TLS, so
 * on loopback only.  url gets what a client uses. */
pboost_status pboost_listen(listener *l, const char *option, const char *address, bool plain,
                            pboost_error *err);
void pboost_listen_end(listener *l, const char *address);
bool pboost_is_loopback(const struct sockaddr *address);

/* ---- Constant files (made from the files of those names) ------------------------------------- */

extern const char pboost_asset_page_html[], pboost_asset_page_css[], pboost_asset_page_js[],
    pboost_asset_icon_svg[], pboost_asset_openapi_json[];

#endif

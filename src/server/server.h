/* The oracle as a service: HTTP in front of a ledger. */
#ifndef PBOOST_SERVER_H
#define PBOOST_SERVER_H

#include <priorboost/ledger.h>

typedef struct pboost_server_options {
    size_t struct_size;
    const char *listen;             /* HOST:PORT (port 0: any that is free) or unix:PATH */
    const char *tls_cert, *tls_key; /* PEM files; needed but for unix: and insecure_http */
    const char *client_ca;          /* PEM file: clients need a certificate of this authority */
    bool insecure_http;             /* without TLS; loopback addresses only */
    const char *metrics_listen;     /* health and metrics for anyone there; loopback or unix:PATH */
    size_t max_body;                /* bytes of a request */
    size_t max_memory;              /* bytes that all requests hold; 0: 8 * max_body, >= 64 MiB */
    size_t max_connections;
    size_t address_connections; /* of one address; 0: 256, and no limit on loopback */
    size_t address_requests;    /* a second without a valid token; 0: 100, likewise */
    unsigned header_seconds;    /* to send a request's header, and that a connection may idle */
    unsigned body_seconds;      /* to send its body and to fetch the reply */
    unsigned drain_seconds;     /* that running requests get after the signal to stop */
    /* Called once requests are taken; url is what a client uses. */
    void (*ready)(void *user, const char *url);
    void *user;
} pboost_server_options;

#define PBOOST_SERVER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        .struct_size = sizeof(pboost_server_options), .max_body = (size_t)64 << 20,                \
        .max_connections = 4096, .header_seconds = 20, .body_seconds = 300, .drain_seconds = 30    \
    }

/* Serves until SIGTERM or SIGINT (then PBOOST_OK) or until the ledger is broken; SIGHUP reads the
 * certificates again.  Logs to stderr, one JSON object a line.  The process can make no core dump
 * from here on. */
pboost_status pboost_server_run(pboost_ledger *ledger, const pboost_server_options *options,
                                pboost_error *err);

#endif

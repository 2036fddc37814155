/* The oracle as a service: HTTP in front of a ledger. */
#ifndef PBOOST_SERVER_H
#define PBOOST_SERVER_H

#include <priorboost/ledger.h>

typedef struct pboost_server_options {
    size_t struct_size;
    const char *listen;             /* HOST:PORT (port 0: any that is free) or unix:PATH */
    const char *tls_cert, *tls_key; /* PEM files; needed but for unix: and insecure_http */
    bool insecure_http;             /* without TLS; loopback addresses only */
    size_t max_body;                /* bytes of a request */
    size_t max_connections;
    unsigned header_seconds; /* to send a request's header, and that a connection may idle */
    unsigned body_seconds;   /* to send its body and to fetch the reply */
    unsigned drain_seconds;  /* that running requests get after the signal to stop */
    /* Called once requests are taken; url is what a client uses. */
    void (*ready)(void *user, const char *url);
    void *user;
} pboost_server_options;

#define PBOOST_SERVER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pboost_server_options), NULL, NULL, NULL, false, (size_t)64 << 20, 4096, 20, 300,   \
            30, NULL, NULL                                                                         \
    }

/* Serves until SIGTERM or SIGINT (then PBOOST_OK) or until the ledger is broken.  Logs to stderr,
 * one JSON object a line.  The process can make no core dump from here on. */
pboost_status pboost_server_run(pboost_ledger *ledger, const pboost_server_options *options,
                                pboost_error *err);

#endif

/* HTTP for the learner: time-outs, retries with back-off, certificates that are checked. */
#ifndef PBOOST_NET_HTTP_H
#define PBOOST_NET_HTTP_H

#include <priorboost/core.h>

typedef struct http_client http_client;

typedef struct http_options {
    const char *token; /* sent as a bearer token; NULL: none */
    const char *ca;    /* PEM file of authorities to trust instead of the system's */
    const char *client_cert, *client_key; /* PEM files for an oracle that asks; NULL: none */
    double patience;                      /* seconds over which a failing request is tried again */
    bool (*stop)(void *user);             /* asked between tries; may be NULL */
    void (*note)(void *user,
                 const char *message); /* gets the reason of each new try; may be NULL */
    void (*warn)(void *user, const char *message); /* what the user should know; may be NULL */
    void *user;
} http_options;

/* url: https://..., http:// on loopback, or unix:PATH. */
pboost_status pboost_http_open(http_client **out, const char *url, const http_options *options,
                               pboost_error *err);
void pboost_http_close(http_client *client);

typedef struct http_reply {
    long status;
    char type[96];
    unsigned char *body; /* ends in a zero that length does not count */
    size_t length;
} http_reply;

void pboost_http_reply_free(http_reply *reply);

/* Sends body (NULL: GET) to the path and gets a reply of at most `most` bytes.  A reply in the 5xx
 * range, 429 (too many requests) and a connection that fails are tried again while patience lasts;
 * whatever else the server says is the result.  PBOOST_ORACLE if there was no reply. */
pboost_status pboost_http_send(http_reply *out, http_client *client, const char *path,
                               const char *type, const unsigned char *body, size_t length,
                               size_t most, pboost_error *err);

#endif

/* HTTP for the learner, on libcurl.
 *
 * A request may be sent again without harm: the oracle answers the same request id with the same
 * bytes.  So every temporary failure is tried again, with growing, jittered pauses; a reply in the
 * 4xx range is final, because a second one would be the same; only 429, "too many requests", is
 * temporary. */
#include "http.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>
#include <sodium.h>

#include "try.h"

struct http_client {
    CURL *curl;
    char *base; /* scheme and host */
    char *name; /* as the user gave it, for messages */
    bool is_unix;
    char *authorization;
    http_options options;
    char reason[CURL_ERROR_SIZE];
};

/* ---- Replies --------------------------------------------------------------------------------- */

void pboost_http_reply_free(http_reply *reply)
{
    free(reply->body);
    *reply = (http_reply){0};
}

typedef struct {
    unsigned char *body;
    size_t length, capacity, most;
    bool too_long, no_memory;
} incoming;

static size_t receive(char *data, size_t size, size_t n, void *user)
{
    incoming *in = user;
    size_t more = size * n, need = in->length + more;

    if (need > in->most) {
        in->too_long = true;
        return 0;
    }
    if (need + 1 > in->capacity) {
        size_t capacity = 2 * need + 1024;
        unsigned char *grown = realloc(in->body, capacity);
        if (grown == NULL) {
            in->no_memory = true;
            return 0;
        }
        in->body = grown;
        in->capacity = capacity;
    }
    memcpy(in->body + in->length, data, more);
    in->length = need;
    in->body[need] = '\0';
    return more;
}

/* ---- Tries ----------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Failures that a second try cannot repair. */
static bool is_final(CURLcode code)
{
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WRITE_ERROR: /* the reply was too long */
        return true;
    default:
        return false;
    }
}

static struct curl_slist *make_headers(const http_client *c, const char *type, bool has_body)
{
    char text[160];
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"), *more = list;

    if (more != NULL && c->authorization != NULL)
        more = curl_slist_append(list, c->authorization);
    if (more != NULL && has_body) {
        snprintf(text, sizeof text, "Content-Type: %s", type);
        more = curl_slist_append(list, text);
    }
    if (more == NULL) {
        curl_slist_free_all(list);
        return NULL;
    }
    return list;
}

static CURLcode try_once(http_reply *out, http_client *c, const char *url,
                         struct curl_slist *headers, const unsigned char *body, size_t length,
                         incoming *in)
{
    CURL *curl = c->curl;
    char *type = NULL;

    in->length = 0;
    c->reason[0] = '\0';
    if (curl_easy_setopt(curl, CURLOPT_URL, url) != CURLE_OK)
        return CURLE_OUT_OF_MEMORY; /* or it would use the last URL */
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, in);
    if (body != NULL) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    } else {
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    }
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK) {
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->status);
        curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
        snprintf(out->type, sizeof out->type, "%s", type != NULL ? type : "");
    }
    return code;
}

/* Waits before the next try: twice as long each time, and not in step with others. */
static void pause_before(size_t tries, double most)
{
    double seconds = fmin(10.0, 0.1 * ldexp(1.0, (int)(tries < 16 ? tries : 16)));
    seconds *= 0.5 + 0.5 * (double)randombytes_uniform(1 << 16) / (1 << 16);
    seconds = fmax(0.0, fmin(seconds, most));
    struct timespec pause = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&pause, NULL);
}

/* What to do about a failure whose reason says too little. */
static const char *advice(const http_client *c, CURLcode code)
{
    bool tls = strncasecmp(c->base, "https:", 6) == 0;
    /* With TLS 1.3 the server judges the client after the handshake, while the request is on its
       way. Which of these the client sees is a matter of time. */
    bool ended = code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
                 code == CURLE_GOT_NOTHING || code == CURLE_SSL_CONNECT_ERROR;

    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return " (if the oracle or your organisation made its certificate itself, name the "
               "certificate or its authority as the one to trust: --ca FILE)";
    if (tls && c->options.client_cert == NULL && ended)
        return " (an oracle that asks for client certificates ends connections without one)";
    if (!tls && !c->is_unix && ended)
        return " (does the oracle use TLS? Its address then begins with https://)";
    return "";
}

static void describe_failure(char *text, size_t size, const http_client *c, CURLcode code,
                             const http_reply *reply)
{
    if (code == CURLE_OK)
        snprintf(text, size, "%s answered with status %ld", c->name, reply->status);
    else if (code == CURLE_COULDNT_CONNECT && c->is_unix)
        snprintf(text, size, "%s: no service listens there", c->name);
    else
        snprintf(text, size, "%s: %s%s", c->name,
                 c->reason[0] != '\0' ? c->reason : curl_easy_strerror(code), advice(c, code));
}

pboost_status pboost_http_send(http_reply *out, http_client *c, const char *path, const char *type,
                               const unsigned char *body, size_t length, size_t most,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char url[2048], failure[CURL_ERROR_SIZE + 200];
    struct curl_slist *headers = NULL;
    incoming in = {.most = most};
    double until = now() + c->options.patience;

    *out = (http_reply){0};
    snprintf(url, sizeof url, "%s%s", c->base, path);
    NEED(headers = make_headers(c, type, body != NULL), err);
    for (size_t tries = 0;; tries++) {
        CURLcode code = try_once(out, c, url, headers, body, length, &in);
        if (in.too_long)
            FAIL(err, PBOOST_ORACLE, "%s sent more than the %zu bytes that an answer can have",
                 c->name, most);
        if (in.no_memory || code == CURLE_OUT_OF_MEMORY)
            FAIL(err, PBOOST_NO_MEMORY, "out of memory");
        if (code == CURLE_OK && out->status < 500 && out->status != 429)
            break;
        describe_failure(failure, sizeof failure, c, code, out);
        if (is_final(code))
            FAIL(err, PBOOST_ORACLE, "%s", failure);
        double left = until - now();
        if (left <= 0.0)
            FAIL(err, PBOOST_ORACLE, "%s (tried %zu times)", failure, tries + 1);
        if (c->options.stop != NULL && c->options.stop(c->options.user))
            FAIL(err, PBOOST_CANCELLED, "stopped; %s", failure);
        if (c->options.note != NULL)
            c->options.note(c->options.user, failure);
        pause_before(tries, left);
    }
    out->body = in.body;
    out->length = in.length;
    in.body = NULL;
done:
    curl_slist_free_all(headers);
    free(in.body);
    return st;
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* "http://127.0.0.1:80/..." and the like: a token may go there without TLS. */
static bool is_loopback(const char *after_scheme)
{
    static const char *const names[] = {"127.0.0.1", "[::1]", "localhost"};
    size_t n = strcspn(after_scheme, "/");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (n >= length && strncasecmp(after_scheme, names[i], length) == 0 &&
            (n == length || after_scheme[length] == ':'))
            return true;
    }
    return false;
}

static pboost_status set_address(http_client *c, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (strncmp(url, "unix:", 5) == 0) {
        if (curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, url + 5) != CURLE_OK)
            FAIL(err, PBOOST_INVALID,
                 "the oracle's address is '%s', which is not the path of a socket", url);
        NEED(c->base = strdup("http://oracle"), err);
        c->is_unix = true;
        return PBOOST_OK;
    }
    bool is_http = strncasecmp(url, "http://", 7) == 0;
    if (!is_http && strncasecmp(url, "https://", 8) != 0)
        FAIL(err, PBOOST_INVALID,
             "the oracle's address is '%s'; it must be https://HOST[:PORT] or unix:PATH", url);
    if (strlen(url) > 1024 || strpbrk(url, "@ \r\n") != NULL)
        FAIL(err, PBOOST_INVALID, "'%.60s' is not the address of an oracle", url);
    if (is_http && !is_loopback(url + 7))
        FAIL(err, PBOOST_INVALID,
             "'%s' would send the token without encryption; use https, or http on 127.0.0.1 only",
             url);
    NEED(c->base = strdup(url), err);
    while (c->base[strlen(c->base) - 1] == '/')
        c->base[strlen(c->base) - 1] = '\0';
done:
    return st;
}

/* libcurl would find out later, and take it for a failure that may pass. */
static pboost_status check_file(const char *what, const char *path, pboost_error *err)
{
    if (path != NULL && access(path, R_OK) != 0)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s %s: %s", what, path, strerror(errno));
    return PBOOST_OK;
}

/* Options that are text are copied, for which there may be no memory: without them a proxy or
 * another authority could come in. */
static pboost_status set_options(http_client *c, pboost_error *err)
{
    CURL *curl = c->curl;

    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, c->reason);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 600L);
    if (curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "priorboost") != CURLE_OK ||
        (c->options.ca != NULL &&
         curl_easy_setopt(curl, CURLOPT_CAINFO, c->options.ca) != CURLE_OK) ||
        (c->options.client_cert != NULL &&
         (curl_easy_setopt(curl, CURLOPT_SSLCERT, c->options.client_cert) != CURLE_OK ||
          curl_easy_setopt(curl, CURLOPT_SSLKEY, c->options.client_key) != CURLE_OK)))
        return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    return PBOOST_OK;
}

pboost_status pboost_http_open(http_client **out, const char *url, const http_options *options,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    http_client *c = NULL;

    *out = NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || sodium_init() < 0)
        FAIL(err, PBOOST_INTERNAL, "libcurl or libsodium does not start");
    NEED(c = calloc(1, sizeof *c), err);
    c->options = *options;
    TRY(check_file("client certificate", options->client_cert, err));
    TRY(check_file("client key", options->client_key, err));
    NEED(c->curl = curl_easy_init(), err);
    NEED(c->name = strndup(url, 1024), err);
    TRY(set_address(c, url, err));
    TRY(set_options(c, err));
    if (options->token != NULL) {
        size_t size = strlen(options->token) + sizeof "Authorization: Bearer ";
        NEED(c->authorization = malloc(size), err);
        snprintf(c->authorization, size, "Authorization: Bearer %s", options->token);
    }
    *out = c;
    c = NULL;
done:
    pboost_http_close(c);
    return st;
}

void pboost_http_close(http_client *client)
{
    if (client == NULL)
        return;
    if (client->curl != NULL)
        curl_easy_cleanup(client->curl);
    if (client->authorization != NULL)
        explicit_bzero(client->authorization, strlen(client->authorization));
    free(client->authorization);
    free(client->base);
    free(client->name);
    free(client);
}

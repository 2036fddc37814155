/* priorboost serve: the oracle as a service. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "oracle.h"
#include "server.h"

static const cli_usage USAGE = {
    .synopsis = "--store S --listen HOST:PORT --tls-cert FILE --tls-key FILE [--client-ca FILE]\n"
                "       priorboost serve --store S --listen unix:PATH\n"
                "       priorboost serve --store S --listen 127.0.0.1:PORT --insecure-http",
    .text = "Answers questions about bags of rows under the rules of the store, until SIGTERM.\n"
            "An oracle with several stores needs all of them, each by its own --store.\n"
            "SIGHUP reads the certificates again; requests that run are not disturbed.\n"
            "GET /v1/openapi.json describes the interface; / is a page for the operator."};

/* Notifies systemd, if it waits for that. */
static void notify_manager(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path == NULL || strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path));
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    sendto(fd, "READY=1", 7, 0, (const struct sockaddr *)&address, length);
    close(fd);
}

static void on_ready(void *user, const char *url)
{
    const cli_context *cli = user;

    if (cli->json)
        cli_print_json(json_pack("{s:s}", "listening", url), NULL);
    else if (!cli->quiet)
        printf("listening on %s\n", url);
    cli_flush(NULL);
    notify_manager();
}

pboost_status cli_serve(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_server_options o = PBOOST_SERVER_OPTIONS_INIT;
    pboost_ledger_options ledger_options[PBOOST_STORES_MAX];
    pboost_ledger *ledger = NULL;
    oracle_place place = {0};
    bool allow_async_standby = false;
    size_t refusal_rows = 1000, header_seconds = o.header_seconds, body_seconds = o.body_seconds,
           drain_seconds = o.drain_seconds;
    const cli_option options[] = {
        ORACLE_PLACE(place),
        {"--listen", "ADDRESS", cli_read_text, &o.listen, NULL,
         "HOST:PORT, [ADDRESS]:PORT or unix:PATH; port 0 is any free"},
        {"--tls-cert", "FILE", cli_read_text, &o.tls_cert, NULL, "certificate chain, PEM"},
        {"--tls-key", "FILE", cli_read_text, &o.tls_key, NULL, "its key, PEM"},
        {"--client-ca", "FILE", cli_read_text, &o.client_ca, NULL,
         "clients need a certificate of this authority, PEM"},
        {"--insecure-http", NULL, NULL, &o.insecure_http, NULL,
         "without TLS, on a loopback address only"},
        {"--metrics-listen", "ADDRESS", cli_read_text, &o.metrics_listen, NULL,
         "health and metrics without a token: 127.0.0.1:PORT or unix:PATH"},
        {"--max-body", "BYTES", cli_read_count, &o.max_body, NULL,
         "largest request; default 67108864"},
        {"--max-memory", "BYTES", cli_read_count, &o.max_memory, NULL,
         "that all requests hold; default 8 times --max-body, at least 67108864"},
        {"--max-connections", "N", cli_read_count, &o.max_connections, NULL, "default 4096"},
        {"--address-connections", "N", cli_read_count, &o.address_connections, NULL,
         "of one address; default 256, and no limit on loopback"},
        {"--address-requests", "N", cli_read_count, &o.address_requests, NULL,
         "a second without a valid token, of one address; default 100, likewise"},
        {"--refusal-rows", "N", cli_read_count, &refusal_rows, NULL,
         "rows that refusals may name to a token in an hour;\ndefault 1000"},
        {"--header-seconds", "S", cli_read_count, &header_seconds, NULL,
         "to send a request's header; default 20"},
        {"--body-seconds", "S", cli_read_count, &body_seconds, NULL,
         "to send its body and to fetch the reply; default 300"},
        {"--drain-seconds", "S", cli_read_count, &drain_seconds, NULL,
         "for running requests after SIGTERM; default 30"},
        {"--allow-async-standby", NULL, NULL, &allow_async_standby, NULL,
         "PostgreSQL: start although a failover could lose answers"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (place.store.n == 0 || o.listen == NULL)
        FAIL(err, PBOOST_INVALID, "%s is required; see 'priorboost serve --help'",
             place.store.n == 0 ? "--store" : "--listen");
    const struct {
        const char *name;
        size_t value, least, most;
    } limits[] = {{"--header-seconds", header_seconds, 1, 86400},
                  {"--body-seconds", body_seconds, 1, 86400},
                  {"--drain-seconds", drain_seconds, 1, 86400},
                  {"--max-connections", o.max_connections, 1, 1000000},
                  {"--max-body", o.max_body, 1024, SIZE_MAX}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].value < limits[i].least || limits[i].value > limits[i].most) {
            bool low = limits[i].value < limits[i].least;
            FAIL(err, PBOOST_INVALID, "%s is %zu; it must be at %s %zu", limits[i].name,
                 limits[i].value, low ? "least" : "most", low ? limits[i].least : limits[i].most);
        }
    o.header_seconds = (unsigned)header_seconds;
    o.body_seconds = (unsigned)body_seconds;
    o.drain_seconds = (unsigned)drain_seconds;
    o.ready = on_ready;
    o.user = cli;
    TRY(oracle_options(ledger_options, cli, &place, err));
    for (size_t i = 0; i < place.store.n; i++) {
        ledger_options[i].check_standbys = !allow_async_standby;
        ledger_options[i].refusal_rows = refusal_rows;
    }
    TRY(pboost_ledger_open_all(&ledger, place.store.item, place.store.n, ledger_options, err));
    TRY(pboost_ledger_check_whole(ledger, err));
    TRY(pboost_server_run(ledger, &o, err));
done:
    pboost_ledger_close(ledger);
    return st;
}

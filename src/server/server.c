/* Start, watch, stop. */
#include "server.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "service.h"

/* ---- The process ----------------------------------------------------------------------------- */

/* Labels are in memory: no core dump may hold them, no other process of the user read them. */
static pboost_status close_memory(pboost_error *err)
{
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return pboost_fail(err, PBOOST_INTERNAL, "cannot forbid core dumps: %s", strerror(errno));
    return PBOOST_OK;
}

/* As many descriptors as the system allows, because each connection needs one. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ---- Options ----------------------------------------------------------------------------------
 */

static pboost_status check_options(const pboost_server_options *o, pboost_error *err)
{
    bool is_unix = strncmp(o->listen, "unix:", 5) == 0;
    bool has_tls = o->tls_cert != NULL && o->tls_key != NULL;

    if ((o->tls_cert != NULL) != (o->tls_key != NULL))
        return pboost_fail(err, PBOOST_INVALID, "--tls-cert and --tls-key must be given together");
    if (has_tls && (is_unix || o->insecure_http))
        return pboost_fail(err, PBOOST_INVALID,
                           "--tls-cert cannot be used with unix: or --insecure-http");
    if (!has_tls && !is_unix && !o->insecure_http)
        return pboost_fail(
            err, PBOOST_INVALID,
            "--listen %s needs --tls-cert and --tls-key; without TLS use unix:PATH or, on "
            "a loopback address, --insecure-http",
            o->listen);
    if (o->client_ca != NULL && !has_tls)
        return pboost_fail(err, PBOOST_INVALID, "--client-ca needs --tls-cert and --tls-key");
    if (o->max_memory / 8 < o->max_body)
        return pboost_fail(err, PBOOST_INVALID,
                           "--max-memory is %zu; it must be at least 8 times --max-body, %zu",
                           o->max_memory, 8 * o->max_body);
    return PBOOST_OK;
}

/* Bodies and replies come and go in one piece each: their memory goes back to the system.  (Else
 * glibc keeps what was freed, up to 32 MiB a piece.) */
static void return_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

/* ---- The daemon ------------------------------------------------------------------------------ */

static void log_http(void *user, const char *format, va_list args) PBOOST_PRINTF(2, 0);
static void log_http(void *user, const char *format, va_list args)
{
    char text[400];
    (void)user;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    pboost_log_event("warning", "http", "%s", text);
}

/* Each connection has keys of its own that nobody can find later (ECDHE), and what is changed on
 * the way is noticed (AEAD). */
#define PRIORITIES                                                                                 \
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:"   \
    "+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD"

/* One daemon, for a main listener or for one that monitors. */
static pboost_status start_daemon(listener *l, pboost_error *err)
{
    service *s = l->service;
    const pboost_server_options *o = &s->options;
    bool has_tls = s->tls.now != NULL && !l->monitoring;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (has_tls ? MHD_USE_TLS : 0);
    struct MHD_OptionItem certificate[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)pboost_tls_cert(&s->tls)},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)pboost_tls_key(&s->tls)},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)PRIORITIES},
        {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};

    l->daemon = MHD_start_daemon(
        flags, 0, pboost_on_accept, l, pboost_on_request, l, MHD_OPTION_EXTERNAL_LOGGER, log_http,
        NULL, MHD_OPTION_LISTEN_SOCKET, l->fd, MHD_OPTION_THREAD_POOL_SIZE, l->monitoring ? 0U : 2U,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_CONNECTION_LIMIT,
        l->monitoring ? 16U : (unsigned)o->max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
        o->header_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)64 << 10,
        MHD_OPTION_NOTIFY_COMPLETED, pboost_on_completed, l, MHD_OPTION_NOTIFY_CONNECTION,
        pboost_on_connection, l, MHD_OPTION_ARRAY, has_tls ? certificate : none, MHD_OPTION_END);
    if (l->daemon == NULL)
        return pboost_fail(err, PBOOST_INVALID, "the service does not start on %s", l->url);
    pboost_log_event("info", "listening", l->monitoring ? "%s, health and metrics" : "%s", l->url);
    return PBOOST_OK;
}

static void stop_daemon(listener *l)
{
    if (l->daemon == NULL)
        return;
    MHD_stop_daemon(l->daemon);
    l->daemon = NULL;
    l->fd = -1; /* it closes the socket */
}

/* ---- Run ------------------------------------------------------------------------------------- */

/* Set by the handler.  A handler rather than blocked signals: libraries have threads that block no
 * signal, and any of them may receive it.  The flag is atomic, because volatile sig_atomic_t is
 * only for a handler in the thread that reads the flag. */
static atomic_bool stop_asked, reload_asked;
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a handler may not wait for a lock");

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stop_asked, true);
}

static void ask_to_reload(int signal_number)
{
    (void)signal_number;
    atomic_store(&reload_asked, true);
}

static void take_signals(void)
{
    struct sigaction stop = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART},
                     reload = {.sa_handler = ask_to_reload, .sa_flags = SA_RESTART},
                     ignore = {.sa_handler = SIG_IGN};
    atomic_store(&stop_asked, false);
    atomic_store(&reload_asked, false);
    sigaction(SIGHUP, &reload, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

/* Files that cannot be used change nothing: the service goes on with those it has. */
static void reload(service *s)
{
    pboost_error err = {0};

    if (pboost_tls_load(&s->tls, &s->options, &err) != PBOOST_OK)
        pboost_log_event("error", "reload", "%s; the files of before stay in use", err.message);
    else if (s->options.tls_cert != NULL)
        pboost_log_event("info", "reload", "new connections use the files as they are now");
    else
        pboost_log_event("info", "reload", "there are no certificates to read");
}

/* Waits for a signal or a broken ledger, and ends connections after their deadline. */
static void watch(service *s)
{
    struct pollfd wait = {s->wake, POLLIN, 0};

    while (!atomic_load(&s->broken) && !atomic_load(&stop_asked)) {
        poll(&wait, 1, 100);
        if (atomic_exchange(&reload_asked, false))
            reload(s);
        pboost_connections_end_late(&s->connections, pboost_service_now());
    }
}

/* Lets running requests finish. */
static void drain(service *s)
{
    double until = pboost_service_now() + s->options.drain_seconds;

    atomic_store(&s->draining, true);
    pboost_log_event("info", "draining", "%zu requests run", atomic_load(&s->running));
    while (atomic_load(&s->running) > 0 && !atomic_load(&s->broken) &&
           pboost_service_now() < until) {
        pboost_connections_end_late(&s->connections, pboost_service_now());
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

static pboost_status serve(service *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_workers_start(&s->workers, pboost_request_work, err));
    TRY(start_daemon(&s->main, err));
    if (s->options.metrics_listen != NULL)
        TRY(start_daemon(&s->monitor, err));
    if (s->options.ready != NULL)
        s->options.ready(s->options.user, s->main.url);
    watch(s);
    drain(s);
done:
    pboost_workers_stop(&s->workers); /* resumes every connection */
    stop_daemon(&s->main);
    stop_daemon(&s->monitor);
    if (atomic_load(&s->broken))
        st = pboost_fail(err, PBOOST_OUTPUT,
                         "%s.  The service stops; started again, it continues from what is on the"
                         " disk",
                         pboost_ledger_why_broken(s->ledger));
    pboost_log_event(st == PBOOST_OK ? "info" : "error", "stopped", "%s",
                     st == PBOOST_OK ? "all requests are done" : err->message);
    return st;
}

static pboost_status make_service(service **out, pboost_ledger *ledger,
                                  const pboost_server_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    enum { LEAST_MEMORY = 64 << 20 };
    service *s;

    NEED(s = *out = calloc(1, sizeof *s), err);
    s->ledger = ledger;
    s->options = *options;
    if (s->options.max_memory == 0)
        s->options.max_memory =
            options->max_body > LEAST_MEMORY / 8 ? 8 * options->max_body : LEAST_MEMORY;
    s->started = time(NULL);
    s->main = (listener){.service = s, .fd = -1};
    s->monitor = (listener){.service = s, .fd = -1, .monitoring = true};
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake < 0)
        FAIL(err, PBOOST_INTERNAL, "cannot wait: %s", strerror(errno));
    pthread_mutex_init(&s->metrics.lock, NULL);
    pthread_mutex_init(&s->connections.lock, NULL);
    pthread_mutex_init(&s->tls.lock, NULL);
    pboost_shares_init(&s->shares, &s->options);
    TRY(pboost_addresses_init(&s->addresses, &s->options, err));
    TRY(check_options(&s->options, err));
    TRY(pboost_tls_load(&s->tls, &s->options, err));
done:
    return st;
}

static void free_service(service *s)
{
    if (s == NULL)
        return;
    pboost_listen_end(&s->main, s->options.listen);
    pboost_listen_end(&s->monitor, s->options.metrics_listen);
    if (s->wake >= 0)
        close(s->wake);
    pboost_addresses_free(&s->addresses);
    pboost_tls_free(&s->tls);
    free(s);
}

pboost_status pboost_server_run(pboost_ledger *ledger, const pboost_server_options *options,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_status totals;
    service *s = NULL;

    TRY(close_memory(err));
    raise_descriptors();
    return_memory();
    TRY(make_service(&s, ledger, options, err));
    TRY(pboost_ledger_get_status(&totals, ledger, err)); /* the long way, before anyone waits */
    take_signals();
    TRY(pboost_listen(&s->main, "--listen", options->listen, options->insecure_http, err));
    if (options->metrics_listen != NULL)
        TRY(pboost_listen(&s->monitor, "--metrics-listen", options->metrics_listen, true, err));
    TRY(serve(s, err));
done:
    free_service(s);
    return st;
}

/* Start, watch, stop. */
#include "server.h"

#include <errno.h>
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

/* ---- TLS ------------------------------------------------------------------------------------- */

static pboost_status read_pem(char **out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    enum { MOST = 1 << 20 };
    char *text = NULL;
    FILE *file = fopen(path, "re");

    if (file == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    NEED(text = calloc(1, MOST), err);
    size_t n = fread(text, 1, MOST - 1, file);
    if (n == 0 || ferror(file) || strstr(text, "-----BEGIN") == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s holds no PEM text", path);
    *out = text;
    text = NULL;
done:
    if (text != NULL)
        explicit_bzero(text, MOST);
    free(text);
    if (file != NULL)
        fclose(file);
    return st;
}

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
    return PBOOST_OK;
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

static pboost_status start_daemon(service *s, int fd, pboost_error *err)
{
    const pboost_server_options *o = &s->options;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (s->cert != NULL ? MHD_USE_TLS : 0);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, s->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0,
         (void *)(uintptr_t) "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};

    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, pboost_on_request, s, MHD_OPTION_EXTERNAL_LOGGER, log_http, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, 2U, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)o->max_connections, MHD_OPTION_CONNECTION_TIMEOUT, o->header_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)64 << 10, MHD_OPTION_NOTIFY_COMPLETED,
        pboost_on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, pboost_on_connection, s,
        MHD_OPTION_ARRAY, s->cert != NULL ? tls : none, MHD_OPTION_END);
    if (s->daemon == NULL)
        return pboost_fail(
            err, PBOOST_INVALID,
            s->cert != NULL
                ? "the service does not start; check that certificate and key belong together"
                : "the service does not start");
    return PBOOST_OK;
}

/* ---- Run ------------------------------------------------------------------------------------- */

/* Set by the handler.  A handler rather than blocked signals: libraries have threads that block no
 * signal, and any of them may receive it.  The flag is atomic, because volatile sig_atomic_t is
 * only for a handler in the thread that reads the flag. */
static atomic_bool stop_asked;
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a handler may not wait for a lock");

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stop_asked, true);
}

static void take_signals(void)
{
    struct sigaction stop = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART},
                     ignore = {.sa_handler = SIG_IGN};
    atomic_store(&stop_asked, false);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

/* Waits for a signal or a broken ledger, and ends connections after their deadline. */
static void watch(service *s)
{
    struct pollfd wait = {s->wake, POLLIN, 0};

    while (!atomic_load(&s->broken) && !atomic_load(&stop_asked)) {
        poll(&wait, 1, 100);
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

static pboost_status serve(service *s, int fd, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_workers_start(&s->workers, pboost_request_work, err));
    TRY(start_daemon(s, fd, err));
    pboost_log_event("info", "listening", "%s", url);
    if (s->options.ready != NULL)
        s->options.ready(s->options.user, url);
    watch(s);
    int listening = MHD_quiesce_daemon(s->daemon);
    if (listening >= 0)
        drain(s);
done:
    pboost_workers_stop(&s->workers); /* resumes every connection */
    if (s->daemon != NULL)
        MHD_stop_daemon(s->daemon);
    if (atomic_load(&s->broken))
        st = pboost_fail(err, PBOOST_OUTPUT,
                         "%s.  The service stops; started again, it continues from what is on the"
                         " disk",
                         pboost_ledger_why_broken(s->ledger));
    pboost_log_event(st == PBOOST_OK ? "info" : "error", "stopped", "%s",
                     st == PBOOST_OK ? "all requests are done" : err->message);
    return st;
}

pboost_status pboost_server_run(pboost_ledger *ledger, const pboost_server_options *options,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int fd = -1;
    char url[512];
    service *s = NULL;

    TRY(check_options(options, err));
    TRY(close_memory(err));
    raise_descriptors();
    NEED(s = calloc(1, sizeof *s), err);
    s->ledger = ledger;
    s->options = *options;
    s->started = time(NULL);
    s->wake = -1;
    pthread_mutex_init(&s->metrics.lock, NULL);
    pthread_mutex_init(&s->connections.lock, NULL);
    if (options->tls_cert != NULL) {
        TRY(read_pem(&s->cert, options->tls_cert, err));
        TRY(read_pem(&s->key, options->tls_key, err));
    }
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake < 0)
        FAIL(err, PBOOST_INTERNAL, "cannot wait: %s", strerror(errno));
    take_signals();
    TRY(pboost_listen(&fd, url, sizeof url, &s->options, err));
    TRY(serve(s, fd, url, err));
done:
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && strncmp(options->listen, "unix:", 5) == 0)
        unlink(options->listen + 5);
    if (s != NULL) {
        if (s->wake >= 0)
            close(s->wake);
        free(s->cert);
        if (s->key != NULL)
            explicit_bzero(s->key, strlen(s->key));
        free(s->key);
    }
    free(s);
    return st;
}

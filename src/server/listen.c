/* Where the service listens.
 *
 * Without TLS it listens on a Unix socket that only its own user can open, or, with
 * --insecure-http and for --metrics-listen, on a loopback address. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "service.h"

/* A reply that is not read waits here, where it counts, and not in the system's buffers. */
enum { BACKLOG = 1024, UNSENT = 128 << 10 };

/* ---- unix:PATH ------------------------------------------------------------------------------- */

/* Removes a socket on which no process listens any more; any other file stays. */
static pboost_status clear_path(const struct sockaddr_un *address, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct stat info;
    int probe = -1;

    if (lstat(address->sun_path, &info) != 0)
        return PBOOST_OK;
    if (!S_ISSOCK(info.st_mode))
        FAIL(err, PBOOST_INVALID, "%s exists and is not a socket", address->sun_path);
    probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) == 0)
        FAIL(err, PBOOST_INVALID, "another service listens on %s", address->sun_path);
    unlink(address->sun_path);
done:
    if (probe >= 0)
        close(probe);
    return st;
}

static pboost_status listen_unix(int *fd, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) == 0 || strlen(path) >= sizeof address.sun_path)
        FAIL(err, PBOOST_INVALID, "the path of the socket has %zu bytes; it must have 1 to %zu",
             strlen(path), sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path));
    TRY(clear_path(&address, err));
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    mode_t mask = umask(0177); /* the socket is 0600 from its first moment */
    bool bound = *fd >= 0 && bind(*fd, (const struct sockaddr *)&address, sizeof address) == 0;
    int reason = errno;
    umask(mask);
    if (!bound || listen(*fd, BACKLOG) != 0)
        FAIL(err, PBOOST_INVALID, "cannot listen on %s: %s", path,
             strerror(bound ? errno : reason));
done:
    return st;
}

/* ---- HOST:PORT ------------------------------------------------------------------------------- */

bool pboost_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
               127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Splits "host:port" or "[host]:port". */
static bool split(char *host, size_t size, const char **port, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;

    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    } else if (memchr(text, ':', n) != NULL) {
        return false;
    }
    if (colon == NULL || n == 0 || n >= size || colon[1] == '\0')
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    *port = colon + 1;
    return true;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)(const void *)&address)->sin6_port
                     : ((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

static pboost_status listen_tcp(listener *l, const char *option, const char *address, bool plain,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char host[256];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int one = 1, unsent = UNSENT;

    if (!split(host, sizeof host, &port, address))
        FAIL(err, PBOOST_INVALID, "%s is '%s'; it must be HOST:PORT, [ADDRESS]:PORT or unix:PATH",
             option, address);
    int reason = getaddrinfo(host, port, &hints, &found);
    if (reason != 0)
        FAIL(err, PBOOST_INVALID, "%s is '%s': %s", option, address, gai_strerror(reason));
    if (plain && !pboost_is_loopback(found->ai_addr))
        FAIL(
            err, PBOOST_INVALID,
            "%s is '%s': without TLS it must be a loopback address such as 127.0.0.1, or unix:PATH",
            option, address);
    l->fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0 || setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        setsockopt(l->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent) != 0 ||
        bind(l->fd, found->ai_addr, found->ai_addrlen) != 0 || listen(l->fd, BACKLOG) != 0)
        FAIL(err, PBOOST_INVALID, "cannot listen on %s: %s", address, strerror(errno));
    snprintf(l->url, sizeof l->url, strchr(host, ':') != NULL ? "%s://[%s]:%u" : "%s://%s:%u",
             plain ? "http" : "https", host, port_of(l->fd));
done:
    if (found != NULL)
        freeaddrinfo(found);
    return st;
}

pboost_status pboost_listen(listener *l, const char *option, const char *address, bool plain,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    l->fd = -1;
    if (strncmp(address, "unix:", 5) == 0) {
        TRY(listen_unix(&l->fd, address + 5, err));
        snprintf(l->url, sizeof l->url, "%s", address);
    } else {
        TRY(listen_tcp(l, option, address, plain, err));
    }
done:
    if (st != PBOOST_OK && l->fd >= 0) {
        close(l->fd);
        l->fd = -1;
    }
    return st;
}

void pboost_listen_end(listener *l, const char *address)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    if (l->url[0] != '\0' && strncmp(address, "unix:", 5) == 0)
        unlink(address + 5);
}

/* The open connections, each with a deadline for what it is doing.
 *
 * libmicrohttpd ends connections that are silent; one that sends a byte from time to time could
 * stay open without end.  And when the limit of connections is reached, it accepts nobody: so the
 * oldest stranger is ended before that.  A socket is shut down here, under the lock, only while it
 * is listed, and it is taken off the list before its number can be used again. */
#include <math.h>
#include <sys/socket.h>

#include "service.h"

/* Under the lock: the oldest first. */
static void end_strangers(connections *all, const shares *s)
{
    size_t spare = s->most_connections / SPARE_PART > 0 ? s->most_connections / SPARE_PART : 1;

    for (connection *c = all->last;
         c != NULL && all->n - all->n_ended + 1 + spare > s->most_connections; c = c->before) {
        if (c->owner != &s->strangers || c->ended || isinf(c->deadline))
            continue;
        shutdown(c->fd, SHUT_RDWR);
        c->ended = true;
        all->n_ended++;
        all->n_displaced++;
    }
}

connection *pboost_connection_add(connections *all, shares *s, int fd, double deadline)
{
    connection *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->fd = fd;
    c->deadline = deadline;
    c->owner = &s->strangers;
    pboost_account_hold(s, c->owner);
    pthread_mutex_lock(&all->lock);
    end_strangers(all, s);
    c->after = all->first;
    if (all->first != NULL)
        all->first->before = c;
    else
        all->last = c;
    all->first = c;
    all->n++;
    pthread_mutex_unlock(&all->lock);
    return c;
}

void pboost_connection_remove(connections *all, shares *s, connection *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&all->lock);
    if (c->before != NULL)
        c->before->after = c->after;
    else
        all->first = c->after;
    if (c->after != NULL)
        c->after->before = c->before;
    else
        all->last = c->before;
    all->n--;
    all->n_ended -= c->ended;
    pthread_mutex_unlock(&all->lock);
    pboost_share_connection_end(s, c);
    free(c);
}

void pboost_connection_expect(connections *all, connection *c, double deadline)
{
    pthread_mutex_lock(&all->lock);
    c->deadline = deadline;
    pthread_mutex_unlock(&all->lock);
}

void pboost_connections_end_late(connections *all, double now)
{
    pthread_mutex_lock(&all->lock);
    for (connection *c = all->first; c != NULL; c = c->after) {
        if (now > c->deadline && !c->ended) {
            shutdown(c->fd, SHUT_RDWR);
            c->ended = true;
            all->n_ended++;
        }
    }
    pthread_mutex_unlock(&all->lock);
}

size_t pboost_connections_count(connections *all)
{
    pthread_mutex_lock(&all->lock);
    size_t n = all->n;
    pthread_mutex_unlock(&all->lock);
    return n;
}

uint64_t pboost_connections_displaced(connections *all)
{
    pthread_mutex_lock(&all->lock);
    uint64_t n = all->n_displaced;
    pthread_mutex_unlock(&all->lock);
    return n;
}

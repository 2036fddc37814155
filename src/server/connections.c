/* The open connections, each with a deadline for what it is doing.
 *
 * libmicrohttpd ends connections that are silent; one that sends a byte from time to time could
 * stay open without end.  A socket is shut down here, under the lock, only while it is listed, and
 * it is taken off the list before its number can be used again. */
#include <sys/socket.h>

#include "service.h"

connection *pboost_connection_add(connections *all, int fd, double deadline)
{
    connection *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->fd = fd;
    c->deadline = deadline;
    pthread_mutex_lock(&all->lock);
    c->after = all->first;
    if (all->first != NULL)
        all->first->before = c;
    all->first = c;
    all->n++;
    pthread_mutex_unlock(&all->lock);
    return c;
}

void pboost_connection_remove(connections *all, connection *c)
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
    all->n--;
    pthread_mutex_unlock(&all->lock);
    free(c);
}

void pboost_connection_expect(connections *all, connection *c, double deadline)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&all->lock);
    c->deadline = deadline;
    pthread_mutex_unlock(&all->lock);
}

void pboost_connections_end_late(connections *all, double now)
{
    pthread_mutex_lock(&all->lock);
    for (connection *c = all->first; c != NULL; c = c->after)
        if (now > c->deadline)
            shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_unlock(&all->lock);
}

size_t pboost_connections_count(connections *all)
{
    pthread_mutex_lock(&all->lock);
    size_t n = all->n;
    pthread_mutex_unlock(&all->lock);
    return n;
}

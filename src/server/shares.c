/* Shares: what one token, and all strangers together, may have of the service.
 *
 * A token may have as much as would still be free: alone half of everything, beside one greedy
 * token a quarter.  Whatever the others do, something is left for the next.  Strangers, who sent no
 * valid token, have a small fixed share of the bytes. */
#include "service.h"

void pboost_shares_init(shares *s, const pboost_server_options *options)
{
    pthread_mutex_init(&s->lock, NULL);
    s->most_bytes = options->max_memory;
    s->most_connections = options->max_connections;
}

/* ---- Accounts -------------------------------------------------------------------------------- */

/* Under the lock.  An account lives as long as something counts on it. */
static void leave(shares *s, account *a)
{
    if (--a->users > 0 || a == &s->strangers)
        return;
    account **at = &s->tokens;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    free(a);
}

void pboost_account_hold(shares *s, account *a)
{
    pthread_mutex_lock(&s->lock);
    a->users++;
    pthread_mutex_unlock(&s->lock);
}

void pboost_account_leave(shares *s, account *a)
{
    pthread_mutex_lock(&s->lock);
    leave(s, a);
    pthread_mutex_unlock(&s->lock);
}

/* Under the lock.  NULL: out of memory. */
static account *account_of(shares *s, int64_t token)
{
    account *a = s->tokens;

    while (a != NULL && a->token != token)
        a = a->next;
    if (a != NULL || (a = calloc(1, sizeof *a)) == NULL)
        return a;
    a->token = token;
    a->next = s->tokens;
    s->tokens = a;
    return a;
}

/* ---- Connections ----------------------------------------------------------------------------- */

bool pboost_share_connection(shares *s, connection *c, int64_t token)
{
    pthread_mutex_lock(&s->lock);
    account *a = account_of(s, token);
    /* One is always allowed: strangers make room for it. */
    bool ok = a != NULL && (a == c->owner || a->connections == 0 ||
                            a->connections + 1 <= s->most_connections - s->connections);
    if (a != NULL)
        a->users++;
    if (ok && a != c->owner) {
        bool was_token = c->owner != &s->strangers;
        c->owner->connections -= was_token;
        s->connections -= was_token;
        leave(s, c->owner);
        c->owner = a;
        a->users++;
        a->connections++;
        s->connections++;
    }
    if (a != NULL)
        leave(s, a);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void pboost_share_connection_end(shares *s, connection *c)
{
    pthread_mutex_lock(&s->lock);
    if (c->owner != &s->strangers) {
        c->owner->connections--;
        s->connections--;
    }
    leave(s, c->owner);
    pthread_mutex_unlock(&s->lock);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

size_t pboost_share_most(const shares *s)
{
    return s->most_bytes / 2;
}

static bool fits(const shares *s, const account *a, size_t more)
{
    size_t free_bytes = s->most_bytes - s->bytes;

    return more <= free_bytes && a->bytes + more <= free_bytes - more;
}

bool pboost_share_bytes(request *r, size_t bytes)
{
    shares *s = &r->service->shares;
    account *a = r->on->owner;

    pthread_mutex_lock(&s->lock);
    bool ok = bytes <= r->bytes || fits(s, a, bytes - r->bytes);
    if (ok) {
        a->bytes += bytes - r->bytes; /* unsigned: right also where it is less */
        s->bytes += bytes - r->bytes;
        r->bytes = bytes;
    }
    pthread_mutex_unlock(&s->lock);
    return ok;
}

size_t pboost_shares_bytes(shares *s)
{
    pthread_mutex_lock(&s->lock);
    size_t bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

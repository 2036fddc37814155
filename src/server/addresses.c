/* How much one address may do: connections at a time, and requests without a valid token per
 * second.
 *
 * An address is a whole IPv4 address, or the first 64 bits of an IPv6 address: a customer of a
 * provider has all the others.  A Unix socket is open to one user only and has no limits; loopback
 * has those that were asked for, because a proxy may stand there. */
#include <math.h>
#include <netinet/in.h>
#include <string.h>

#include "entropy.h"
#include "service.h"

struct source {
    source *next; /* in the chain */
    uint64_t key;
    size_t connections;
    double allowance; /* requests, as of the time `at` */
    double at;
    bool loopback;
};

enum { CONNECTIONS = 256, REQUESTS = 100 }; /* where no option says otherwise */

/* After this many seconds of silence the allowance is full again and the source can be forgotten.
 */
enum { FORGET_SECONDS = 2 };

pboost_status pboost_addresses_init(addresses *all, const pboost_server_options *o,
                                    pboost_error *err)
{
    pthread_mutex_init(&all->lock, NULL);
    all->most_connections = o->address_connections;
    all->most_requests = o->address_requests;
    if (getentropy(&all->secret, sizeof all->secret) != 0)
        return pboost_fail(err, PBOOST_INTERNAL, "the system gives no random bytes");
    return PBOOST_OK;
}

void pboost_addresses_free(addresses *all)
{
    for (size_t i = 0; i < ADDRESS_CHAINS; i++) {
        while (all->chain[i] != NULL) {
            source *next = all->chain[i]->next;
            free(all->chain[i]);
            all->chain[i] = next;
        }
    }
}

/* Whether the address can have limits; then key tells it from others. */
static bool read_key(uint64_t *key, const struct sockaddr *address)
{
    const struct sockaddr_in6 *six = (const void *)address;
    /* An IPv4 address stands behind four bytes that begin no sender's IPv6 address. */
    unsigned char byte[sizeof *key] = {0xff, 0xff, 0xff, 0xff};

    if (address == NULL || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return false;
    if (address->sa_family == AF_INET)
        memcpy(byte + 4, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        memcpy(byte + 4, six->sin6_addr.s6_addr + 12, 4);
    else
        memcpy(byte, &six->sin6_addr, sizeof byte);
    memcpy(key, byte, sizeof *key);
    return true;
}

/* The option, or its default, from which loopback is excepted. */
static double limit(const source *s, size_t option, size_t otherwise)
{
    return option > 0 ? (double)option : s->loopback ? INFINITY : (double)otherwise;
}

/* Under the lock.  Finds the source or makes one, and drops those of its chain that are forgotten.
 * The secret keeps strangers from choosing addresses of one chain.  NULL: out of memory. */
static source *find(addresses *all, uint64_t key, const struct sockaddr *address)
{
    uint64_t mixed = (key ^ all->secret) * UINT64_C(0x9e3779b97f4a7c15);
    source **at = &all->chain[(mixed ^ all->secret) * UINT64_C(0xff51afd7ed558ccd) >> 32 &
                              (ADDRESS_CHAINS - 1)],
           *found = NULL;
    double now = pboost_service_now();

    while (*at != NULL) {
        source *s = *at;
        if (s->key == key)
            found = s;
        if (s != found && s->connections == 0 && now - s->at > FORGET_SECONDS) {
            *at = s->next;
            free(s);
        } else {
            at = &s->next;
        }
    }
    if (found != NULL || (found = calloc(1, sizeof *found)) == NULL)
        return found;
    found->key = key;
    found->loopback = pboost_is_loopback(address);
    found->allowance = limit(found, all->most_requests, REQUESTS);
    found->at = now;
    return *at = found;
}

bool pboost_address_admits(addresses *all, const struct sockaddr *address)
{
    uint64_t key;

    if (!read_key(&key, address))
        return true;
    pthread_mutex_lock(&all->lock);
    const source *s = find(all, key, address);
    bool ok = s != NULL && (double)s->connections < limit(s, all->most_connections, CONNECTIONS);
    pthread_mutex_unlock(&all->lock);
    return ok;
}

source *pboost_address_connect(addresses *all, const struct sockaddr *address)
{
    uint64_t key;

    if (!read_key(&key, address))
        return NULL;
    pthread_mutex_lock(&all->lock);
    source *s = find(all, key, address);
    if (s != NULL)
        s->connections++;
    pthread_mutex_unlock(&all->lock);
    return s;
}

void pboost_address_disconnect(addresses *all, source *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&all->lock);
    s->connections--;
    pthread_mutex_unlock(&all->lock);
}

bool pboost_address_request(addresses *all, source *s)
{
    if (s == NULL)
        return true;
    pthread_mutex_lock(&all->lock);
    double now = pboost_service_now(), most = limit(s, all->most_requests, REQUESTS);
    s->allowance = fmin(most, s->allowance + (now - s->at) * most);
    s->at = now;
    bool ok = s->allowance >= 1;
    s->allowance -= ok;
    pthread_mutex_unlock(&all->lock);
    return ok;
}

void pboost_address_refund(addresses *all, source *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&all->lock);
    s->allowance += 1;
    pthread_mutex_unlock(&all->lock);
}

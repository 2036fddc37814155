/* Failures on demand.  Programs in tests/fault are linked with --wrap, so that every allocation and
 * every getentropy of the library passes here.  Include it once per program.
 *
 *     for (long n = 1; n == 1 || injected(); n++) {
 *         inject_allocation(n);         the n-th allocation from here on fails, once
 *         st = ...;
 *         inject_nothing();
 *         ...
 *     }
 */
#ifndef PBOOST_INJECT_H
#define PBOOST_INJECT_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_getentropy(void *buffer, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_getentropy(void *buffer, size_t bytes);

static struct {
    long allocation; /* calls until one fails; 0: none will */
    long entropy;
    int entropy_errno;
    bool entropy_for_good;
    bool hit;
} inject;

/* What the library has allocated since the program began. */
static struct {
    size_t calls, bytes;
} allocated;

static inline void inject_nothing(void)
{
    bool hit = inject.hit;
    memset(&inject, 0, sizeof inject);
    inject.hit = hit;
}

/* Whether the last failure asked for has happened. */
static inline bool injected(void)
{
    return inject.hit;
}

static inline void inject_allocation(long n)
{
    memset(&inject, 0, sizeof inject);
    inject.allocation = n;
}

/* The n-th getentropy fails, and every later one too if for_good. */
static inline void inject_entropy(long n, int error, bool for_good)
{
    memset(&inject, 0, sizeof inject);
    inject.entropy = n;
    inject.entropy_errno = error;
    inject.entropy_for_good = for_good;
}

static inline bool allocation_fails(size_t bytes)
{
    allocated.calls++;
    allocated.bytes += bytes;
    if (inject.allocation == 0 || --inject.allocation > 0)
        return false;
    inject.hit = true;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return allocation_fails(n * bytes) ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return allocation_fails(bytes) ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return allocation_fails(bytes) ? NULL : __real_aligned_alloc(alignment, bytes);
}

int __wrap_getentropy(void *buffer, size_t bytes)
{
    if (inject.entropy > 0 && --inject.entropy == 0) {
        inject.hit = true;
        inject.entropy = inject.entropy_for_good ? 1 : 0;
        errno = inject.entropy_errno;
        return -1;
    }
    return __real_getentropy(buffer, bytes);
}

#endif

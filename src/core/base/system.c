/* See system.h. */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity; NOLINT(bugprone-reserved-identifier) */
#include <sched.h>
#endif
#include "base/system.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "entropy.h"
#include "large.h"

int pboost_system_entropy(void *buffer, size_t bytes)
{
    enum { MOST = 256 }; /* that getentropy gives at once: all of them or none */
    unsigned char *to = buffer;

    for (size_t done = 0, part; done < bytes; done += part) {
        part = bytes - done < MOST ? bytes - done : MOST;
        if (getentropy(to + done, part) != 0)
            return errno != 0 ? errno : EIO;
    }
    return 0;
}

/* A compiler may leave out memset where the memory is not read again, but not a call through a
 * pointer of which it cannot know the value. */
static void *(*const volatile set)(void *, int, size_t) = memset;

void pboost_system_wipe(void *buffer, size_t bytes)
{
    set(buffer, 0, bytes);
}

int pboost_system_processors(void)
{
#ifdef __linux__ /* fewer than the machine has, in many containers */
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

void pboost_system_large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

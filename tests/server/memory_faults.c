/* Preloaded into the service or the learner: the n-th allocation of any library fails.
 *
 * $FAULT_MEMORY is a file of two 32-bit numbers that the test maps too: allocations until one fails
 * (0: none will), and how often one has failed.  Not for programs with a sanitizer, which bring
 * their own malloc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

static struct {
    atomic_int left, hits;
} * order;

__attribute__((constructor)) static void map_order(void)
{
    const char *path = getenv("FAULT_MEMORY");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        order = at;
    close(fd);
}

static int fails(void)
{
    if (order == NULL || atomic_load(&order->left) <= 0 || atomic_fetch_sub(&order->left, 1) != 1)
        return 0;
    atomic_fetch_add(&order->hits, 1);
    errno = ENOMEM;
    return 1;
}

EXPORTED void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

EXPORTED void *calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(n, bytes);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

/* Preloaded into a PostgreSQL server: its disk fails on demand.
 *
 * $FAULT_FILE is mapped by every process of the server and by the test that gives the orders; see
 * postgresql_faults.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "postgresql_faults.h"

#define EXPORTED __attribute__((visibility("default")))

static fault_order *order(void)
{
    static fault_order *mapped;
    const char *path = getenv("FAULT_FILE");

    if (mapped == NULL && path != NULL) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        void *at =
            fd >= 0 ? mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : NULL;
        if (at != MAP_FAILED)
            mapped = at;
        if (fd >= 0)
            close(fd);
    }
    return mapped;
}

/* Whether this operation is the one that was ordered to fail. */
static int fails(int what)
{
    fault_order *o = order();

    if (o == NULL || atomic_load(&o->what) != what || atomic_fetch_sub(&o->left, 1) != 1)
        return 0;
    atomic_fetch_add(&o->hits, 1);
    errno = what == FAULT_SPACE ? ENOSPC : EIO;
    return 1;
}

EXPORTED ssize_t pwrite(int fd, const void *data, size_t n, off_t at);
EXPORTED ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    if (fails(FAULT_WRITE)) { /* half of it arrives */
        (void)syscall(SYS_pwrite64, fd, data, n / 2, at);
        errno = EIO;
        return -1;
    }
    return fails(FAULT_SPACE) ? -1 : syscall(SYS_pwrite64, fd, data, n, at);
}

EXPORTED ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at);
EXPORTED ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    return pwrite(fd, data, n, at);
}

static ssize_t write_vector(int fd, const struct iovec *part, int n, off_t at)
{
    if (fails(FAULT_WRITE) || fails(FAULT_SPACE))
        return -1;
    return syscall(SYS_pwritev, fd, part, n, at, 0);
}

EXPORTED ssize_t pwritev(int fd, const struct iovec *part, int n, off_t at);
EXPORTED ssize_t pwritev(int fd, const struct iovec *part, int n, off_t at)
{
    return write_vector(fd, part, n, at);
}

EXPORTED ssize_t pwritev64(int fd, const struct iovec *part, int n, off64_t at);
EXPORTED ssize_t pwritev64(int fd, const struct iovec *part, int n, off64_t at)
{
    return write_vector(fd, part, n, at);
}

static int allocate(int fd, off_t at, off_t n)
{
    if (fails(FAULT_SPACE))
        return ENOSPC;
    return syscall(SYS_fallocate, fd, 0, at, n) == 0 ? 0 : errno;
}

EXPORTED int posix_fallocate(int fd, off_t at, off_t n);
EXPORTED int posix_fallocate(int fd, off_t at, off_t n)
{
    return allocate(fd, at, n);
}

EXPORTED int posix_fallocate64(int fd, off64_t at, off64_t n);
EXPORTED int posix_fallocate64(int fd, off64_t at, off64_t n)
{
    return allocate(fd, at, n);
}

EXPORTED int fsync(int fd)
{
    return fails(FAULT_SYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

EXPORTED int fdatasync(int fd)
{
    return fails(FAULT_SYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

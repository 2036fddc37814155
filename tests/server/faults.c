/* Preloaded into the service: entropy or the disk fails while a file says so.
 *
 * $FAULT_FOLDER/entropy: getrandom and getentropy fail; $FAULT_FOLDER/sync: fsync and fdatasync
 * fail; $FAULT_FOLDER/space: there is no space to write to a place in a file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(const char *what)
{
    char path[4096];
    const char *folder = getenv("FAULT_FOLDER");

    if (folder == NULL)
        return 0;
    snprintf(path, sizeof path, "%s/%s", folder, what);
    if (access(path, F_OK) != 0)
        return 0;
    errno = EIO;
    return 1;
}

__attribute__((visibility("default"))) ssize_t getrandom(void *buffer, size_t length,
                                                         unsigned flags)
{
    return fails("entropy") ? -1 : syscall(SYS_getrandom, buffer, length, flags);
}

__attribute__((visibility("default"))) int getentropy(void *buffer, size_t length)
{
    return getrandom(buffer, length, 0) == (ssize_t)length ? 0 : -1;
}

static ssize_t write_at(int fd, const void *data, size_t length, long at)
{
    if (!fails("space"))
        return syscall(SYS_pwrite64, fd, data, length, at);
    errno = ENOSPC;
    return -1;
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *data, size_t length,
                                                      off_t at)
{
    return write_at(fd, data, length, at);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *data, size_t length,
                                                        off64_t at)
{
    return write_at(fd, data, length, at);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    return fails("sync") ? -1 : (int)syscall(SYS_fsync, fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    return fails("sync") ? -1 : (int)syscall(SYS_fdatasync, fd);
}

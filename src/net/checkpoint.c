/* A folder of small files, each written whole. */
#include "checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "try.h"

/* The name is durable once the folder is. */
static bool sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

/* The folder that holds this one. */
static bool sync_parent(const char *folder)
{
    char parent[4096];

    snprintf(parent, sizeof parent, "%s/..", folder);
    return sync_folder(parent);
}

pboost_status pboost_checkpoint_open(const char *folder, pboost_error *err)
{
    struct stat info;

    if (mkdir(folder, 0700) == 0 && sync_parent(folder))
        return PBOOST_OK;
    if (errno == EEXIST) {
        if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
            return PBOOST_OK;
        errno = ENOTDIR;
    }
    return pboost_fail(err, PBOOST_OUTPUT, "checkpoint %s: %s", folder, strerror(errno));
}

static pboost_status read_all(unsigned char **data, size_t *length, int fd, const char *path,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct stat info;
    size_t n = 0;

    if (fstat(fd, &info) != 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    NEED(*data = malloc((size_t)info.st_size + 1), err);
    while (n < (size_t)info.st_size) {
        ssize_t got = read(fd, *data + n, (size_t)info.st_size - n);
        if (got <= 0)
            FAIL(err, PBOOST_BAD_DATA, "%s: %s", path,
                 got < 0 ? strerror(errno) : "the file is cut short");
        n += (size_t)got;
    }
    *length = n;
done:
    return st;
}

pboost_status pboost_checkpoint_read(unsigned char **data, size_t *length, const char *folder,
                                     const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char path[4096];
    int fd;

    *data = NULL;
    *length = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return PBOOST_OK;
    if (fd < 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    TRY(read_all(data, length, fd, path, err));
done:
    if (fd >= 0)
        close(fd);
    if (st != PBOOST_OK) {
        free(*data);
        *data = NULL;
        *length = 0;
    }
    return st;
}

static bool write_all(int fd, const unsigned char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0)
            return false;
        data += n;
        length -= (size_t)n;
    }
    return fsync(fd) == 0;
}

pboost_status pboost_checkpoint_write(const char *folder, const char *name,
                                      const unsigned char *data, size_t length, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char path[4096], unfinished[4096 + 8];
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !write_all(fd, data, length) || rename(unfinished, path) != 0 ||
        !sync_folder(folder))
        FAIL(err, PBOOST_OUTPUT, "%s: %s", path, strerror(errno));
done:
    if (fd >= 0)
        close(fd);
    if (st != PBOOST_OK && fd >= 0)
        unlink(unfinished);
    return st;
}

static bool is_of_checkpoint(const char *name)
{
    return strcmp(name, "run") == 0 || strcmp(name, "rows") == 0 || strncmp(name, "ask-", 4) == 0 ||
           strncmp(name, "answer-", 7) == 0 || strncmp(name, "round-", 6) == 0;
}

/* The folder of one of several oracles. */
static bool is_of_oracle(const char *name)
{
    return strncmp(name, "oracle-", 7) == 0;
}

pboost_status pboost_checkpoint_remove(const char *folder, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct dirent *entry;
    DIR *files = opendir(folder);
    char path[4096];

    if (files == NULL)
        FAIL(err, PBOOST_OUTPUT, "checkpoint %s: %s", folder, strerror(errno));
    while ((entry = readdir(files)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (is_of_oracle(entry->d_name))
            TRY(pboost_checkpoint_remove(path, err));
        if (is_of_checkpoint(entry->d_name) && unlinkat(dirfd(files), entry->d_name, 0) != 0)
            FAIL(err, PBOOST_OUTPUT, "%s: %s", path, strerror(errno));
    }
    if (rmdir(folder) != 0 && errno != ENOTEMPTY && errno != EEXIST)
        FAIL(err, PBOOST_OUTPUT, "checkpoint %s: %s", folder, strerror(errno));
done:
    if (files != NULL)
        closedir(files);
    return st;
}

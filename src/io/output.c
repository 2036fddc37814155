/* A file that appears under its name only when it is complete.
 *
 * Bytes go to a file with a random name in the same directory.  Commit flushes it to the disk,
 * then renames it, so at any moment the file of this name has the old content or all of the new
 * one.  A symbolic link is followed first, so that the link stays.  A device, a pipe or standard
 * output cannot be replaced and is written as it is. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <priorboost/io.h>

#include "copy.h"
#include "entropy.h"
#include "try.h"

enum { MAX_LINKS = 40, MAX_TRIES = 100 };

struct pboost_output {
    FILE *stream;
    char *name;      /* as the caller gave it, for messages */
    char *target;    /* what the name leads to; NULL: written directly */
    char *temporary; /* where the bytes are until commit */
    bool created;    /* temporary is there */
};

/* The directory part of path with its last slash: "" where there is none. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* directory (its first n bytes) and name as one string. */
static char *join(const char *directory, size_t n, const char *name)
{
    size_t length = strlen(name);
    char *path = malloc(n + length + 1);

    if (path != NULL) {
        memcpy(path, directory, n);
        memcpy(path + n, name, length + 1);
    }
    return path;
}

static pboost_status refuse(const pboost_output *o, int reason, pboost_error *err)
{
    return pboost_fail(err, PBOOST_OUTPUT, "cannot write %s: %s", o->name,
                       reason != 0 ? strerror(reason) : "a write failed");
}

/* One step along a symbolic link: *path becomes what it points to. */
static pboost_status follow_link(const pboost_output *o, char **path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char to[4096], *next;
    ssize_t n = readlink(*path, to, sizeof to - 1);

    if (n < 0)
        TRY(refuse(o, errno, err));
    to[n] = '\0';
    next = join(*path, to[0] == '/' ? 0 : directory_length(*path), to);
    NEED(next, err);
    free(*path);
    *path = next;
done:
    return st;
}

/* Follows links from the name to the file it means; *info is about that file, *exists if it is. */
static pboost_status resolve(pboost_output *o, struct stat *info, bool *exists, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(o->target = pboost_copy(o->name), err);
    for (int links = 0;; links++) {
        *exists = lstat(o->target, info) == 0;
        if (!*exists && errno != ENOENT)
            TRY(refuse(o, errno, err));
        if (!*exists || !S_ISLNK(info->st_mode))
            break;
        if (links == MAX_LINKS)
            TRY(refuse(o, ELOOP, err));
        TRY(follow_link(o, &o->target, err));
    }
done:
    return st;
}

/* Creates a file beside the target under a name that nobody has. */
static pboost_status create_temporary(pboost_output *o, int *fd, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char name[40];
    uint64_t word;

    for (int tries = 0;; tries++) {
        if (getentropy(&word, sizeof word) != 0)
            TRY(refuse(o, errno, err));
        snprintf(name, sizeof name, ".priorboost-%016llx", (unsigned long long)word);
        free(o->temporary);
        NEED(o->temporary = join(o->target, directory_length(o->target), name), err);
        *fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*fd >= 0)
            break;
        if (errno != EEXIST || tries == MAX_TRIES)
            TRY(refuse(o, errno, err));
    }
    o->created = true;
done:
    return st;
}

static pboost_status open_file(pboost_output *o, int *fd, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct stat info;
    bool exists;

    TRY(resolve(o, &info, &exists, err));
    if (!exists && directory_length(o->target) == strlen(o->target))
        TRY(refuse(o, o->target[0] == '\0' ? ENOENT : EISDIR, err));
    if (exists && !S_ISREG(info.st_mode)) { /* for a directory this fails as it should */
        *fd = open(o->target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (*fd < 0)
            TRY(refuse(o, errno, err));
        free(o->target);
        o->target = NULL;
        goto done;
    }
    /* rename would replace a file that its owner has made read-only */
    if (exists && access(o->target, W_OK) != 0)
        TRY(refuse(o, errno, err));
    TRY(create_temporary(o, fd, err));
    if (exists && fchmod(*fd, info.st_mode & 07777) != 0)
        TRY(refuse(o, errno, err));
done:
    return st;
}

static void close_output(pboost_output *o)
{
    if (o->stream != NULL && o->stream != stdout)
        fclose(o->stream);
    if (o->created)
        unlink(o->temporary);
    free(o->temporary);
    free(o->target);
    free(o->name);
    free(o);
}

pboost_status pboost_output_open(pboost_output **out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool standard = strcmp(path, "-") == 0;
    pboost_output *o = NULL;
    int fd = -1;

    NEED(o = calloc(1, sizeof *o), err);
    NEED(o->name = pboost_copy(standard ? "standard output" : path), err);
    if (standard) {
        o->stream = stdout;
    } else {
        TRY(open_file(o, &fd, err));
        NEED(o->stream = fdopen(fd, "w"), err);
        fd = -1;
    }
done:
    if (fd >= 0)
        close(fd);
    if (st != PBOOST_OK) {
        pboost_output_discard(o);
        o = NULL;
    }
    *out = o;
    return st;
}

FILE *pboost_output_stream(pboost_output *output)
{
    return output->stream;
}

/* The rename is durable once its directory is.  Not every file system can sync one, and the file
 * itself is whole by now, so there is nothing to report. */
static void sync_directory(const char *path)
{
    size_t n = directory_length(path);
    char *directory = n > 0 ? join(path, n, "") : pboost_copy(".");
    int fd = directory != NULL ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(directory);
}

pboost_status pboost_output_commit(pboost_output *output, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    FILE *stream = output->stream;
    int failed;

    errno = 0;
    if (fflush(stream) != 0 || ferror(stream))
        TRY(refuse(output, errno, err));
    if (output->created && fsync(fileno(stream)) != 0)
        TRY(refuse(output, errno, err));
    if (stream != stdout) {
        output->stream = NULL;
        failed = fclose(stream);
        if (failed != 0)
            TRY(refuse(output, errno, err));
    }
    if (output->created) {
        if (rename(output->temporary, output->target) != 0)
            TRY(refuse(output, errno, err));
        output->created = false;
        sync_directory(output->target);
    }
done:
    close_output(output);
    return st;
}

void pboost_output_discard(pboost_output *output)
{
    if (output != NULL)
        close_output(output);
}

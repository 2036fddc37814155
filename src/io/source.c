/* The sliding window of source.h, over read(2) or over memory. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "try.h"

enum { WINDOW = 1 << 20, MAX_READ = 1 << 30 };

static pboost_status make_window(source *s, size_t window, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    s->capacity = window;
    NEED(s->data = pboost_alloc(window + SOURCE_SLACK, 1), err);
    memset(s->data, 0, window + SOURCE_SLACK);
done:
    return st;
}

pboost_status pboost_source_open(source *out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct stat info;

    *out = (source){.name = path, .fd = STDIN_FILENO};
    if (strcmp(path, "-") == 0)
        out->name = "standard input";
    else {
        out->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (out->fd < 0)
            FAIL(err, PBOOST_BAD_DATA, "cannot open %s: %s", path, strerror(errno));
        out->owns_fd = true;
    }
    if (fstat(out->fd, &info) != 0)
        FAIL(err, PBOOST_BAD_DATA, "cannot read %s: %s", out->name, strerror(errno));
    if (S_ISREG(info.st_mode)) {
        off_t at = lseek(out->fd, 0, SEEK_CUR);
        out->sized = at >= 0;
        out->size = at >= 0 && info.st_size > at ? (size_t)(info.st_size - at) : 0;
    }
    TRY(make_window(out, WINDOW, err));
done:
    if (st != PBOOST_OK)
        pboost_source_close(out);
    return st;
}

pboost_status pboost_source_memory(source *out, const char *name, const void *data, size_t n,
                                   size_t window, pboost_error *err)
{
    *out = (source){.name = name, .fd = -1, .memory = data, .memory_left = n};
    return make_window(out, window > 0 ? window : 1, err);
}

/* Makes room behind end: what is left moves to the front, and a full window doubles. */
static pboost_status make_room(source *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t left = s->end - s->begin;

    if (s->begin > 0) {
        memmove(s->data, s->data + s->begin, left);
        s->begin = 0;
        s->end = left;
    }
    if (s->end == s->capacity) {
        char *grown = NULL;
        if (s->capacity <= (SIZE_MAX - SOURCE_SLACK) / 2)
            grown = realloc(s->data, 2 * s->capacity + SOURCE_SLACK);
        NEED(grown, err);
        memset(grown + s->end, 0, s->capacity + SOURCE_SLACK);
        s->data = grown;
        s->capacity *= 2;
    }
done:
    return st;
}

/* Brings in at least one byte or sets eof.  Pointers into data are void afterwards. */
static pboost_status read_more(source *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t room;
    ssize_t got;

    if (s->eof)
        goto done;
    TRY(make_room(s, err));
    room = s->capacity - s->end;
    if (s->fd < 0) {
        size_t n = s->memory_left < room ? s->memory_left : room;
        if (n > 0)
            memcpy(s->data + s->end, s->memory, n);
        s->memory = n > 0 ? s->memory + n : s->memory;
        s->memory_left -= n;
        got = (ssize_t)n;
    } else {
        do
            got = read(s->fd, s->data + s->end, room < MAX_READ ? room : MAX_READ);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            FAIL(err, PBOOST_BAD_DATA, "cannot read %s: %s", s->name, strerror(errno));
    }
    s->end += (size_t)got;
    s->eof = got == 0;
done:
    return st;
}

pboost_status pboost_source_need(source *s, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    while (!s->eof && s->end - s->begin < n)
        TRY(read_more(s, err));
done:
    return st;
}

void pboost_source_close(source *s)
{
    if (s->owns_fd)
        close(s->fd);
    free(s->data);
    *s = (source){.fd = -1, .eof = true};
}

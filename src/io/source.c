/* The sliding window of source.h, over read(2) or over memory. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "try.h"

enum { WINDOW = 1 << 20, MAX_READ = 1 << 30, MAGIC_BYTES = 4 };

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
        out->regular = out->sized = at >= 0;
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

/* Doubles the window. */
static pboost_status widen(source *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *grown = NULL;

    if (s->capacity <= (SIZE_MAX - SOURCE_SLACK) / 2)
        grown = realloc(s->data, 2 * s->capacity + SOURCE_SLACK);
    NEED(grown, err);
    memset(grown + s->end, 0, 2 * s->capacity - s->end + SOURCE_SLACK);
    s->data = grown;
    s->capacity *= 2;
done:
    return st;
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
    if (s->end == s->capacity)
        TRY(widen(s, err));
done:
    return st;
}

static void count(const source *s, size_t got)
{
    source_progress *p = s->progress;

    if (p == NULL || p->cancel == NULL || p->cancel->progress == NULL)
        return;
    p->done += (double)got;
    p->cancel->progress(p->cancel->user, "reading", p->done, p->total);
}

/* Bytes as the file has them. */
static pboost_status read_raw(void *from, char *data, size_t room, size_t *got, pboost_error *err)
{
    source *s = from;
    ssize_t n;

    *got = 0;
    if (s->fd < 0) {
        *got = s->memory_left < room ? s->memory_left : room;
        if (*got > 0)
            memcpy(data, s->memory, *got);
        s->memory = *got > 0 ? s->memory + *got : s->memory;
        s->memory_left -= *got;
        return PBOOST_OK;
    }
    do
        n = read(s->fd, data, room < MAX_READ ? room : MAX_READ);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return pboost_fail(err, PBOOST_BAD_DATA, "cannot read %s: %s", s->name, strerror(errno));
    *got = (size_t)n;
    count(s, *got);
    return PBOOST_OK;
}

/* Looks at the first bytes: what is packed is unpacked from here on. */
static pboost_status start(source *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char head[MAGIC_BYTES];
    size_t n = 0, got = 1;

    s->started = true;
    while (n < sizeof head && got > 0) {
        TRY(read_raw(s, head + n, sizeof head - n, &got, err));
        n += got;
    }
    TRY(pboost_inflater_open(&s->inflater, s->name, head, n, err));
    if (s->inflater != NULL) {
        s->sized = false;
        goto done;
    }
    while (s->capacity < n)
        TRY(widen(s, err));
    memcpy(s->data, head, n);
    s->end = n;
done:
    return st;
}

/* Brings in at least one byte or sets eof.  Pointers into data are void afterwards. */
static pboost_status read_more(source *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t got = 0;

    if (s->eof)
        goto done;
    if (!s->started) {
        TRY(start(s, err));
        if (s->end > 0)
            goto done;
    }
    TRY(make_room(s, err));
    if (s->inflater != NULL)
        TRY(pboost_inflater_read(s->inflater, s->data + s->end, s->capacity - s->end, &got,
                                 read_raw, s, err));
    else
        TRY(read_raw(s, s->data + s->end, s->capacity - s->end, &got, err));
    s->end += got;
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
    pboost_inflater_close(s->inflater);
    free(s->data);
    *s = (source){.fd = -1, .eof = true};
}

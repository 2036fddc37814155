/* gzip through zlib and zstd through libzstd: one row of a table each. */
#include "inflate.h"

#include <limits.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "try.h"

enum { INPUT_BYTES = 1 << 18 };

/* What a step did. */
typedef enum { STEP_GOES_ON, STEP_STREAM_ENDED, STEP_DAMAGED } step_result;

typedef struct {
    const char *name;
    const char *magic;
    size_t magic_length;
    bool (*open)(inflater *i);
    /* Unpacks from input into data, and moves begin and *got on. */
    step_result (*step)(inflater *i, char *data, size_t n, size_t *got);
    void (*close)(inflater *i);
} inflate_format;

struct inflater {
    const inflate_format *format;
    const char *name; /* of the file, borrowed */
    bool ended;       /* a stream has ended: what follows is another, or nothing */
    size_t begin, end;
    z_stream gzip;
    ZSTD_DStream *zstd;
    char input[INPUT_BYTES];
};

/* ---- gzip ------------------------------------------------------------------------------------ */

static bool open_gzip(inflater *i)
{
    return inflateInit2(&i->gzip, 16 + MAX_WBITS) == Z_OK; /* 16: with gzip's header */
}

static step_result step_gzip(inflater *i, char *data, size_t n, size_t *got)
{
    z_stream *z = &i->gzip;

    if (i->ended && inflateReset(z) != Z_OK)
        return STEP_DAMAGED;
    z->next_in = (unsigned char *)i->input + i->begin;
    z->avail_in = (uInt)(i->end - i->begin);
    z->next_out = (unsigned char *)data;
    z->avail_out = n < UINT_MAX ? (uInt)n : UINT_MAX;
    size_t room = z->avail_out;
    int code = inflate(z, Z_NO_FLUSH);
    i->begin = i->end - z->avail_in;
    *got = room - z->avail_out;
    return code == Z_STREAM_END                  ? STEP_STREAM_ENDED
           : code == Z_OK || code == Z_BUF_ERROR ? STEP_GOES_ON
                                                 : STEP_DAMAGED;
}

static void close_gzip(inflater *i)
{
    inflateEnd(&i->gzip);
}

/* ---- zstd ------------------------------------------------------------------------------------ */

static bool open_zstd(inflater *i)
{
    i->zstd = ZSTD_createDStream();
    return i->zstd != NULL;
}

static step_result step_zstd(inflater *i, char *data, size_t n, size_t *got)
{
    ZSTD_inBuffer in = {i->input + i->begin, i->end - i->begin, 0};
    ZSTD_outBuffer out = {data, n, 0};
    size_t code = ZSTD_decompressStream(i->zstd, &out, &in);

    i->begin += in.pos;
    *got = out.pos;
    return ZSTD_isError(code) ? STEP_DAMAGED : code == 0 ? STEP_STREAM_ENDED : STEP_GOES_ON;
}

static void close_zstd(inflater *i)
{
    ZSTD_freeDStream(i->zstd);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static const inflate_format FORMAT[] = {
    {"gzip", "\x1f\x8b", 2, open_gzip, step_gzip, close_gzip},
    {"zstd", "\x28\xb5\x2f\xfd", 4, open_zstd, step_zstd, close_zstd},
};

pboost_status pboost_inflater_open(inflater **out, const char *name, const char *head, size_t n,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const inflate_format *format = NULL;
    inflater *i = NULL;

    *out = NULL;
    for (size_t k = 0; k < sizeof FORMAT / sizeof *FORMAT; k++)
        if (n >= FORMAT[k].magic_length &&
            memcmp(head, FORMAT[k].magic, FORMAT[k].magic_length) == 0)
            format = &FORMAT[k];
    if (format == NULL)
        goto done;
    NEED(i = calloc(1, sizeof *i), err);
    i->name = name;
    NEED(format->open(i) ? i : NULL, err);
    i->format = format;
    i->end = n < INPUT_BYTES ? n : INPUT_BYTES;
    memcpy(i->input, head, i->end);
    *out = i;
    i = NULL;
done:
    free(i);
    return st;
}

pboost_status pboost_inflater_read(inflater *i, char *data, size_t n, size_t *got,
                                   inflate_read *read, void *from, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool eof = false;

    *got = 0;
    while (*got == 0 && n > 0) {
        if (i->begin == i->end) {
            i->begin = 0;
            TRY(read(from, i->input, INPUT_BYTES, &i->end, err));
            eof = i->end == 0;
        }
        if (eof && i->ended)
            goto done;
        step_result result = i->format->step(i, data, n, got);
        i->ended = result == STEP_STREAM_ENDED;
        if (result == STEP_DAMAGED)
            FAIL(err, PBOOST_BAD_DATA, "%s is damaged: it begins like %s, but cannot be unpacked",
                 i->name, i->format->name);
        if (eof && *got == 0 && !i->ended)
            FAIL(err, PBOOST_BAD_DATA, "%s is cut: the end of its %s data is missing", i->name,
                 i->format->name);
    }
done:
    return st;
}

void pboost_inflater_close(inflater *i)
{
    if (i == NULL)
        return;
    i->format->close(i);
    free(i);
}

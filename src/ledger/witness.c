/* The witness of a store: records of fixed form with a MAC each.
 *
 *     64 bits   bytes of the record after these
 *     64 bits   number of the entry
 *     32 bytes  head
 *     text      kind, with its final zero
 *     64 bits   token of an answer, otherwise 0
 *     bytes     slots, name or marks
 *     32 bytes  MAC of all that
 *
 * A record that was not written to its end by a crash is cut off: its entry was not answered.
 */
#include "witness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 64, RECORD_MIN = 8 + 32 + 2 + 8 + 32 };

void pboost_row_mark(unsigned char out[ROW_MARK], const ledger_keys *keys, pboost_id id)
{
    digest d = pboost_name_digest(keys, "lost row", id);
    memcpy(out, d.byte, ROW_MARK);
}

static void first_line(char out[HEAD_BYTES + 1], const ledger_keys *keys)
{
    char id[STORE_ID_TEXT];
    pboost_store_id_text(id, keys);
    snprintf(out, HEAD_BYTES + 1, "priorboost witness 1 of %32s       \n", id);
}

static pboost_status file_error(const witness *w, pboost_error *err)
{
    return pboost_fail(err, PBOOST_ORACLE, "witness %s: %s", w->path, strerror(errno));
}

bool pboost_witness_acquire(witness *w, int64_t number)
{
    pthread_mutex_lock(&w->mutex);
    while (w->acquired && number > w->covered)
        pthread_cond_wait(&w->released, &w->mutex);
    bool needed = number > w->covered;
    if (needed)
        w->acquired = true;
    pthread_mutex_unlock(&w->mutex);
    return needed;
}

void pboost_witness_release(witness *w)
{
    pthread_mutex_lock(&w->mutex);
    w->acquired = false;
    pthread_cond_broadcast(&w->released);
    pthread_mutex_unlock(&w->mutex);
}

/* ---- Making and opening ---------------------------------------------------------------------- */

pboost_status pboost_witness_create(const char *path, const ledger_keys *keys, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char head[HEAD_BYTES + 1];
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

    first_line(head, keys);
    if (fd < 0 && errno == EEXIST)
        FAIL(err, PBOOST_REFUSED,
             "%s exists already; it is the witness of a store.  If that store is gone, move the"
             " file away",
             path);
    if (fd < 0 || write(fd, head, HEAD_BYTES) != HEAD_BYTES || fsync(fd) != 0 ||
        !pboost_sync_folder(path)) {
        st = pboost_fail(err, PBOOST_OUTPUT, "witness %s: %s", path, strerror(errno));
        if (fd >= 0)
            (void)unlink(path);
    }
done:
    if (fd >= 0)
        close(fd);
    return st;
}

void pboost_witness_close(witness *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    free(w->path);
    w->path = NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static pboost_status read_at(const witness *w, void *out, size_t bytes, off_t at, pboost_error *err)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(w->fd, (char *)out + done, bytes - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return file_error(w, err);
        done += (size_t)n;
    }
    return PBOOST_OK;
}

static uint64_t number_at(const unsigned char *byte)
{
    record_reader r = {byte, 8, false};
    return pboost_read_number(&r);
}

/* False where the MAC or the form is wrong. */
static bool parse(witness_record *out, const witness *w, const unsigned char *byte, size_t length)
{
    record_reader r = {byte + 8, length - sizeof(digest) - 8, false};
    digest mac = pboost_keys_mac(w->keys, KEY_WITNESS, byte, length - sizeof mac.byte);

    out->number = (int64_t)pboost_read_number(&r);
    out->head = pboost_read_digest(&r);
    out->kind = pboost_read_text(&r);
    out->token = (int64_t)pboost_read_number(&r);
    out->data = r.byte;
    out->length = r.left;
    return !r.bad && sodium_memcmp(mac.byte, byte + length - sizeof mac.byte, sizeof mac.byte) == 0;
}

/* Reads what was appended since w->size; the caller has the lock.  What is left at the end is cut
 * off. */
static pboost_status read_new(witness *w, witness_visit *visit, void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *byte = NULL, length[8];
    witness_record one;
    struct stat about;

    if (fstat(w->fd, &about) != 0) {
        st = file_error(w, err);
        goto done;
    }
    if (about.st_size < w->size)
        FAIL(err, PBOOST_ORACLE, "the witness %s was cut or exchanged while it was in use",
             w->path);
    while (about.st_size - w->size >= 8) {
        TRY(read_at(w, length, 8, w->size, err));
        uint64_t rest = number_at(length), whole = rest + 8;
        bool fits = rest >= RECORD_MIN && rest <= (uint64_t)(about.st_size - w->size - 8);
        if (fits) {
            free(byte);
            NEED(byte = malloc(whole), err);
            TRY(read_at(w, byte, whole, w->size, err));
        }
        bool last = !fits || w->size + (off_t)whole == about.st_size;
        if (!fits || !parse(&one, w, byte, whole)) {
            if (last)
                break; /* not written to its end */
            FAIL(err, PBOOST_BAD_DATA,
                 "the witness %s is damaged at byte %lld: it was edited, or it belongs to another"
                 " store",
                 w->path, (long long)w->size);
        }
        if (visit != NULL)
            TRY(visit(user, &one, err));
        w->size += (off_t)whole;
        w->last = (chain_link){.number = one.number, .hash = one.head};
    }
    if (about.st_size != w->size && ftruncate(w->fd, w->size) != 0)
        st = file_error(w, err);
done:
    free(byte);
    return st;
}

static pboost_status missing(const witness *w, pboost_error *err)
{
    return pboost_fail(
        err, PBOOST_REFUSED,
        "the store's witness %s is missing, so it cannot be told whether the store is an old copy. "
        " Put it back, or name it with --witness.  If it is lost: 'priorboost oracle restore"
        " --without-witness'",
        w->path);
}

pboost_status pboost_witness_open(witness *w, witness_visit *visit, void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char head[HEAD_BYTES + 1], there[HEAD_BYTES];
    struct stat about;

    first_line(head, w->keys);
    w->size = HEAD_BYTES;
    w->last = (chain_link){.number = -1};
    w->fd = open(w->path, O_RDWR | O_CLOEXEC);
    if (w->fd < 0 && errno == ENOENT) {
        st = missing(w, err);
        goto done;
    }
    if (w->fd < 0 || flock(w->fd, LOCK_EX) != 0 || fstat(w->fd, &about) != 0) {
        st = file_error(w, err);
        goto done;
    }
    if (about.st_size < HEAD_BYTES)
        FAIL(err, PBOOST_BAD_DATA, "%s is not a witness", w->path);
    TRY(read_at(w, there, HEAD_BYTES, 0, err));
    if (memcmp(head, there, HEAD_BYTES) != 0)
        FAIL(err, PBOOST_BAD_DATA, "%s is not the witness of this store", w->path);
    TRY(read_new(w, visit, user, err));
done:
    if (w->fd >= 0)
        (void)flock(w->fd, LOCK_UN);
    return st;
}

pboost_status pboost_witness_check(const witness *w, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chain_link here;

    if (w->last.number < 0)
        return PBOOST_OK;
    TRY(pboost_chain_at(&here, s, w->last.number, err));
    if (here.number < 0 || !pboost_digest_equal(&here.hash, &w->last.hash))
        FAIL(err, PBOOST_REFUSED,
             "the store is older than its witness %s, which has seen entry %lld: a backup was put"
             " in its place.  Run 'priorboost oracle restore', which spends the rows that were"
             " answered since",
             w->path, (long long)w->last.number);
done:
    return st;
}

/* ---- Appending ------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *byte;
    size_t used, capacity;
} buffer;

static bool add(buffer *b, const void *data, size_t length)
{
    if (b->capacity - b->used < length) {
        size_t capacity = 2 * b->capacity + length + 256;
        unsigned char *grown = realloc(b->byte, capacity);
        if (grown == NULL)
            return false;
        b->byte = grown;
        b->capacity = capacity;
    }
    if (length > 0)
        memcpy(b->byte + b->used, data, length);
    b->used += length;
    return true;
}

static bool add_number(buffer *b, uint64_t number)
{
    unsigned char byte[8];
    pboost_put_number(byte, number, sizeof byte);
    return add(b, byte, sizeof byte);
}

typedef struct {
    const witness *w;
    store *s;
    buffer out;
    chain_link last;
    bool found;                /* it, in the store */
    size_t start;              /* of the record that is being made */
    int64_t first_row, n_rows; /* of an import, whose marks are still to come */
} appending;

static bool begin_record(appending *a, int64_t number, const store_value *value)
{
    record_reader data = {value[3].data, value[3].length, false};
    const char *kind = value[1].data;
    bool answer = pboost_kind_answers(kind);

    a->start = a->out.used;
    return add_number(&a->out, 0) && add_number(&a->out, (uint64_t)number) &&
           add(&a->out, value[2].data, sizeof(digest)) && add(&a->out, kind, strlen(kind) + 1) &&
           add_number(&a->out, answer ? pboost_read_number(&data) : 0);
}

/* The length, which is known only now, and the MAC. */
static bool end_record(appending *a)
{
    size_t length = a->out.used - a->start;

    pboost_put_number(a->out.byte + a->start, length - 8 + sizeof(digest), 8);
    digest mac = pboost_keys_mac(a->w->keys, KEY_WITNESS, a->out.byte + a->start, length);
    return add(&a->out, mac.byte, sizeof mac.byte);
}

/* number, kind, hash, data, slots, rows, seal, mac.  The marks of an import come from another
 * query, so it is the last entry that is taken before that. */
static pboost_status take_entry(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    appending *a = user;
    (void)n;

    if (a->n_rows >= 0)
        return PBOOST_OK;
    if (value[0].number == a->last.number && !a->found) { /* the last record is of this store */
        a->found = value[2].length == sizeof(digest) &&
                   memcmp(value[2].data, a->last.hash.byte, sizeof(digest)) == 0;
        return a->found ? PBOOST_OK : pboost_store_break(a->s, err, "%s", STORE_EXCHANGED);
    }
    chain_link link;
    if (value[0].number != a->last.number + 1 || value[1].kind != VALUE_TEXT)
        FAIL(err, PBOOST_BAD_DATA, "entry %lld of the ledger is damaged",
             (long long)a->last.number + 1);
    const store_value columns[] = {value[0], value[2], value[6], value[7]};
    TRY(pboost_chain_take(&link, a->s, columns, err));
    const char *kind = value[1].data;
    bool whole = begin_record(a, value[0].number, value);
    a->last = link;
    if (strcmp(kind, "import") == 0) {
        record_reader r = {value[3].data, value[3].length, false};
        a->first_row = (int64_t)pboost_read_number(&r);
        a->n_rows = value[5].number;
        whole = whole && add_number(&a->out, (uint64_t)a->first_row);
    } else if (strcmp(kind, "revoke") == 0) {
        whole = whole && add(&a->out, value[3].data, value[3].length) && end_record(a);
    } else {
        whole = whole && add(&a->out, value[4].data, value[4].length) && end_record(a);
    }
    NEED(whole ? a : NULL, err);
done:
    return st;
}

static pboost_status take_row(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    appending *a = user;
    unsigned char mark[ROW_MARK] = {0};
    (void)n;

    if (value[0].kind == VALUE_TEXT)
        pboost_row_mark(mark, a->w->keys, (pboost_id){value[0].data, 0});
    NEED(add(&a->out, mark, sizeof mark) ? a : NULL, err);
done:
    return st;
}

static pboost_status collect(appending *a, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_store_begin(s, false, err));
    do {
        a->n_rows = -1;
        a->found = a->last.number < 0;
        TRY(RUN(s,
                "SELECT number, kind, hash, data, slots, rows, seal, mac FROM ledger_entry"
                " WHERE number >= $1 ORDER BY number",
                take_entry, a, err, value_number(a->last.number)));
        if (!a->found) {
            st = pboost_store_break(s, err, "%s", STORE_EXCHANGED);
            goto done;
        }
        if (a->n_rows >= 0) {
            TRY(RUN(s, "SELECT id FROM ledger_row WHERE slot >= $1 AND slot < $2 ORDER BY slot",
                    take_row, a, err, value_number(a->first_row),
                    value_number(a->first_row + a->n_rows)));
            NEED(end_record(a) ? a : NULL, err);
        }
    } while (a->n_rows >= 0);
done:
    pboost_store_rollback(s);
    return st;
}

/* The side is held only to break its store. */
static pboost_status sync_store(ledger_side *from, pboost_error *err)
{
    store *s = from->store;

    if (s->class->sync == NULL || s->class->sync(s))
        return PBOOST_OK;
    int code = errno;
    pboost_side_lock(from);
    pboost_status st = pboost_store_break(s, err, "%s: %s", STORE_UNSYNCED, strerror(code));
    pboost_side_unlock(from);
    return st;
}

static pboost_status append_failed(const witness *w, ledger_side *from, const char *what,
                                   pboost_error *err)
{
    pboost_side_lock(from);
    pboost_status st = pboost_store_break(from->store, err, "witness %s: %s", w->path, what);
    pboost_side_unlock(from);
    return st;
}

/* What did not reach the disk whole is cut off again.  After a failed fsync it is not known what is
 * on the disk. */
static pboost_status write_out(witness *w, const buffer *out, ledger_side *from, pboost_error *err)
{
    for (size_t done = 0; done < out->used;) {
        ssize_t n = pwrite(w->fd, out->byte + done, out->used - done, w->size + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            pboost_status st =
                pboost_fail(err, PBOOST_OUTPUT, "witness %s: %s", w->path, strerror(errno));
            return ftruncate(w->fd, w->size) == 0 ? st
                                                  : append_failed(w, from, "it is damaged", err);
        }
        done += (size_t)n;
    }
    if (fdatasync(w->fd) != 0)
        return append_failed(w, from, strerror(errno), err);
    w->size += (off_t)out->used;
    return PBOOST_OK;
}

/* The file that is open is still the one with this name. */
static bool still_there(const witness *w)
{
    struct stat open_file, named;
    return fstat(w->fd, &open_file) == 0 && stat(w->path, &named) == 0 &&
           open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

pboost_status pboost_witness_append(witness *w, ledger_side *from, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    appending a = {.w = w, .s = from->store};

    if (w->fd < 0)
        return sync_store(from, err);
    if (flock(w->fd, LOCK_EX) != 0) {
        st = file_error(w, err);
        goto done;
    }
    if (!still_there(w)) {
        st = append_failed(w, from, "it was moved, deleted or replaced while it was in use", err);
        goto done;
    }
    TRY(read_new(w, NULL, NULL, err));
    a.last = w->last;
    pboost_side_lock(from);
    st = collect(&a, from->store, err);
    if (st == PBOOST_OK)
        from->seen = a.last;
    pboost_side_unlock(from);
    TRY(st);
    TRY(sync_store(from, err));
    TRY(write_out(w, &a.out, from, err));
    w->last = a.last;
    w->covered = a.last.number;
done:
    (void)flock(w->fd, LOCK_UN);
    free(a.out.byte);
    return st;
}

/* The store in one SQLite file.
 *
 * WAL with synchronous=NORMAL: SQLite syncs the log and the file at a checkpoint, in the order that
 * keeps them consistent, but not the log at a commit.  That is done here, so that the commits of
 * several clients can share a sync.  After a power failure SQLite finds the commits up to some one
 * of them, which is not before the last sync of the log: what a checkpoint has moved out of the log
 * is synced in the file before the log is written from its start again.
 *
 * SQLite ignores what goes wrong in the checkpoints that it starts by itself, so they are started
 * here: after a failed fsync the kernel may report the next one as successful although pages are
 * lost.  For the same reason a failed write or sync breaks the store until the process ends, and
 * opening begins with a checkpoint: frames that recovery finds in the page cache may never have
 * reached the disk, and the checkpoint writes their pages again and syncs them. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key.h"
#include "store.h"

typedef struct {
    store base;
    sqlite3 *db;
    sqlite3_stmt *undo; /* ROLLBACK, made ready beforehand: it must work when memory is short */
    char *path, *log;   /* the file and its write-ahead log */
    int log_fd;         /* the log, only to sync it; SQLite takes no locks on it */
    pthread_mutex_t sync_mutex;
    bool sync_failed;           /* a sync has, under that mutex */
    struct stat file, log_file; /* as they were when last looked at */
    int wal_pages;              /* in the write-ahead log after the last commit */
} sqlite_store;

/* 16 MiB: a round of 1e6 rows writes a third of that, and waits for a checkpoint two or three times
 * in ten. */
enum { CHECKPOINT_PAGES = 4096 };

static sqlite_store *of(store *s)
{
    return (sqlite_store *)s;
}

/* After these errors the content of the disk is not certain. */
static bool is_breaking(int code)
{
    int primary = code & 0xff;
    return primary == SQLITE_IOERR || primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB ||
           primary == SQLITE_PROTOCOL;
}

static pboost_status failed(store *s, int code, pboost_error *err)
{
    int primary = code & 0xff;
    const char *path = of(s)->path;

    if (code == SQLITE_IOERR_NOMEM || primary == SQLITE_NOMEM)
        return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    if (is_breaking(code))
        return pboost_store_break(s, err, "the store %s failed: %s", path, sqlite3_errstr(code));
    if (primary == SQLITE_CONSTRAINT)
        return pboost_fail(err, PBOOST_REFUSED, "the store's constraints forbid it");
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return pboost_fail(err, PBOOST_ORACLE, "the store %s is in use by another process", path);
    if (primary == SQLITE_FULL)
        return pboost_fail(err, PBOOST_OUTPUT, "the store %s: the disk is full", path);
    if (primary == SQLITE_READONLY || primary == SQLITE_PERM || primary == SQLITE_CANTOPEN)
        return pboost_fail(err, PBOOST_ORACLE, "the store %s cannot be written: %s", path,
                           sqlite3_errstr(code));
    return pboost_fail(err, PBOOST_INTERNAL, "the store %s: %s", path, sqlite3_errmsg(of(s)->db));
}

/* ---- Statements ------------------------------------------------------------------------------ */

static int bind(sqlite3_stmt *statement, int i, const store_value *v)
{
    switch (v->kind) {
    case VALUE_NUMBER:
        return sqlite3_bind_int64(statement, i, v->number);
    case VALUE_TEXT:
        return sqlite3_bind_text64(statement, i, v->data, v->length, SQLITE_STATIC, SQLITE_UTF8);
    case VALUE_BYTES: /* no bytes are not null */
        return sqlite3_bind_blob64(statement, i, v->length > 0 ? v->data : "", v->length,
                                   SQLITE_STATIC);
    default:
        return sqlite3_bind_null(statement, i);
    }
}

static bool column(store_value *out, sqlite3_stmt *statement, int i)
{
    *out = (store_value){VALUE_NULL, 0, NULL, 0};
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
        *out = value_number(sqlite3_column_int64(statement, i));
        return true;
    case SQLITE_TEXT:
        *out = (store_value){VALUE_TEXT, 0, sqlite3_column_text(statement, i), 0};
        break;
    case SQLITE_BLOB:
        *out = (store_value){VALUE_BYTES, 0, sqlite3_column_blob(statement, i), 0};
        break;
    default:
        return true;
    }
    out->length = (size_t)sqlite3_column_bytes(statement, i);
    return out->data != NULL || (out->kind == VALUE_BYTES && out->length == 0);
}

enum { MAX_COLUMNS = 20 };

static pboost_status run(store *s, const char *sql, const store_value *argument, size_t n,
                         store_row *row, void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sqlite3_stmt *statement = NULL;
    store_value value[MAX_COLUMNS] = {{0}};

    int code = sqlite3_prepare_v2(of(s)->db, sql, -1, &statement, NULL);
    for (size_t i = 0; code == SQLITE_OK && i < n; i++)
        code = bind(statement, (int)i + 1, &argument[i]);
    if (code != SQLITE_OK) {
        st = failed(s, code, err);
        goto done;
    }
    int columns = sqlite3_column_count(statement);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++)
            if (!column(&value[i], statement, i))
                FAIL(err, PBOOST_NO_MEMORY, "out of memory");
        if (row != NULL)
            TRY(row(user, value, (size_t)columns, err));
    }
    if (code != SQLITE_DONE)
        st = failed(s, code, err);
done:
    sqlite3_finalize(statement);
    return st;
}

static pboost_status bulk(store *s, const store_bulk *b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sqlite3_stmt *statement = NULL;
    store_value value[MAX_COLUMNS];
    size_t columns = strlen(b->types);
    char sql[200];

    snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?%.*s)", b->table, 2 * ((int)columns - 1),
             ",?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?");
    int code = sqlite3_prepare_v2(of(s)->db, sql, -1, &statement, NULL);
    for (size_t i = 0; code == SQLITE_OK && i < b->n; i++) {
        TRY(b->row(b->user, value, i, err));
        for (size_t c = 0; code == SQLITE_OK && c < columns; c++)
            code = bind(statement, (int)c + 1, &value[c]);
        if (code == SQLITE_OK)
            code = sqlite3_step(statement);
        if (code == SQLITE_DONE)
            code = sqlite3_reset(statement);
    }
    if (code != SQLITE_OK)
        st = failed(s, code, err);
done:
    sqlite3_finalize(statement);
    return st;
}

static pboost_status has_table(bool *out, store *s, const char *name, pboost_error *err)
{
    int64_t count = 0;
    pboost_status st =
        RUN(s, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1",
            pboost_store_number, &count, err, value_text(name));
    *out = count > 0;
    return st;
}

/* ---- Transactions ---------------------------------------------------------------------------- */

/* Moves the log into the file.  Readers of other processes may keep it from all of it, which is no
 * failure. */
static pboost_status checkpoint(store *s, int mode, pboost_error *err)
{
    int code = sqlite3_wal_checkpoint_v2(of(s)->db, "main", mode, NULL, NULL);
    if (code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return PBOOST_OK;
    return failed(s, code, err);
}

static int count_pages(void *self, sqlite3 *db, const char *name, int pages)
{
    (void)db, (void)name;
    ((sqlite_store *)self)->wal_pages = pages;
    return SQLITE_OK;
}

/* The files by these names are still those that are open.  SQLite would go on with files that were
 * moved or deleted, and with pages that it remembers.  Only checkpoints write to the file itself,
 * of any process; so when it was written to, the ledger looks whether it is still its own. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_untouched(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The log exists as long as someone has the store open.  Who opened it first has made it, so its
 * name is synced too: a sync of the log alone need not do that. */
static pboost_status look(store *s, pboost_error *err)
{
    of(s)->log_fd = open(of(s)->log, O_RDONLY | O_CLOEXEC);
    if (of(s)->log_fd < 0 || fstat(of(s)->log_fd, &of(s)->log_file) != 0 ||
        stat(of(s)->path, &of(s)->file) != 0 || !pboost_sync_folder(of(s)->log))
        return pboost_fail(err, PBOOST_ORACLE, "the store %s cannot be opened: %s", of(s)->path,
                           strerror(errno));
    return PBOOST_OK;
}

static pboost_status check_files(store *s, pboost_error *err)
{
    struct stat file, log_file;

    if (stat(of(s)->path, &file) != 0 || stat(of(s)->log, &log_file) != 0 ||
        !is_same(&file, &of(s)->file) || !is_same(&log_file, &of(s)->log_file))
        return pboost_store_break(
            s, err,
            "the store %s was moved, deleted or replaced while it was in use; put"
            " back the right one and start again, or run 'priorboost oracle"
            " restore'",
            of(s)->path);
    s->touched = s->touched || !is_untouched(&file, &of(s)->file);
    of(s)->file = file;
    return PBOOST_OK;
}

static pboost_status begin(store *s, bool write, pboost_error *err)
{
    pboost_status st = check_files(s, err);
    return st != PBOOST_OK ? st
                           : run(s, write ? "BEGIN IMMEDIATE" : "BEGIN", NULL, 0, NULL, NULL, err);
}

/* The kernel reports a failed write to one sync of an open file.  So there is one at a time, and
 * none is tried after one that failed. */
static bool sync_log(store *s)
{
    pthread_mutex_lock(&of(s)->sync_mutex);
    errno = EIO;
    if (!of(s)->sync_failed)
        of(s)->sync_failed = fdatasync(of(s)->log_fd) != 0;
    bool synced = !of(s)->sync_failed;
    pthread_mutex_unlock(&of(s)->sync_mutex);
    return synced;
}

/* A checkpoint that runs out of memory is left to the next commit; one that fails on the disk
 * breaks the store, but what is durable in the log is still told. */
static pboost_status commit(store *s, bool durable, pboost_error *err)
{
    pboost_status st = run(s, "COMMIT", NULL, 0, NULL, NULL, err);
    if (st == PBOOST_OK && durable)
        st = pboost_store_sync(s, err);
    if (st == PBOOST_OK && of(s)->wal_pages > CHECKPOINT_PAGES) {
        of(s)->wal_pages = 0;
        (void)checkpoint(s, SQLITE_CHECKPOINT_PASSIVE, NULL);
        (void)stat(of(s)->path, &of(s)->file);
    }
    return st;
}

/* SQLite rolls some failures back by itself. */
static void rollback(store *s)
{
    if (sqlite3_get_autocommit(of(s)->db) != 0)
        return;
    (void)sqlite3_step(of(s)->undo);
    (void)sqlite3_reset(of(s)->undo);
    if (sqlite3_get_autocommit(of(s)->db) == 0)
        (void)pboost_store_break(s, NULL, "the store %s: a transaction cannot be undone",
                                 of(s)->path);
}

/* secure_delete overwrites what is deleted, but SQLite leaves copies of rows that it moved between
 * pages, so the file is written anew.  The log holds the old pages until it has been moved into the
 * file as a whole: a reader that is in the way of that is a failure here, unlike at a commit. */
static pboost_status scrub(store *s, pboost_error *err)
{
    int code = sqlite3_exec(of(s)->db, "VACUUM", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_wal_checkpoint_v2(of(s)->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (code == SQLITE_OK)
        return PBOOST_OK;
    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
        return pboost_fail(
            err, PBOOST_ORACLE,
            "the change is made, but old bytes are still in %s or %s-wal because another"
            " process is reading the store; end it ('fuser %s' names it) and run the"
            " same command again",
            of(s)->path, of(s)->path, of(s)->path);
    return failed(s, code, err);
}

static pboost_status set_wait(store *s, unsigned seconds, pboost_error *err)
{
    (void)err;
    sqlite3_busy_timeout(of(s)->db, (int)seconds * 1000);
    return PBOOST_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* The last to close moves the log into the file, which a broken store must not do. */
static void close_store(store *s)
{
    if (s->broken && of(s)->db != NULL)
        sqlite3_db_config(of(s)->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_finalize(of(s)->undo);
    sqlite3_close_v2(of(s)->db);
    if (of(s)->log_fd >= 0)
        close(of(s)->log_fd);
    free(of(s)->path);
    free(of(s)->log);
    pthread_mutex_destroy(&of(s)->sync_mutex);
    free(s);
}

static void discard(store *s)
{
    static const char *const END[] = {"-wal", "-shm", ""};
    char *path = of(s)->path;
    size_t size = strlen(path) + 5;
    char *name = malloc(size);

    of(s)->path = NULL;
    close_store(s);
    for (size_t i = 0; name != NULL && i < sizeof END / sizeof *END; i++) {
        snprintf(name, size, "%s%s", path, END[i]);
        (void)unlink(name);
    }
    free(name);
    free(path);
}

static const store_class SQLITE = {.name = "sqlite",
                                   .bytes_type = "BLOB",
                                   .table_end = " WITHOUT ROWID",
                                   .close = close_store,
                                   .set_wait = set_wait,
                                   .begin = begin,
                                   .commit = commit,
                                   .sync = sync_log,
                                   .rollback = rollback,
                                   .run = run,
                                   .bulk = bulk,
                                   .has_table = has_table,
                                   .scrub = scrub,
                                   .discard = discard};

/* Only the owner may read a new file, and it must not be there: SQLite itself would take an
 * existing one.  Its log gets the same mode. */
static pboost_status make_file(const char *path, pboost_error *err)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    if (fd < 0 && errno == EEXIST)
        return pboost_fail(err, PBOOST_REFUSED,
                           "%s exists already; the rules of a store cannot be changed", path);
    if (fd < 0)
        return pboost_fail(err, PBOOST_OUTPUT, "%s: %s", path, strerror(errno));
    return PBOOST_OK;
}

static pboost_status same_text(void *user, const store_value *value, size_t n, pboost_error *err)
{
    (void)n, (void)err;
    const char *want = user;
    if (value[0].kind == VALUE_TEXT && strcmp(value[0].data, want) == 0)
        return PBOOST_OK;
    return pboost_fail(err, PBOOST_ORACLE, "the store cannot use a write-ahead log on this disk");
}

static pboost_status configure(store *s, pboost_error *err)
{
    static const char *const SETTINGS[] = {
        "PRAGMA synchronous = NORMAL", "PRAGMA secure_delete = ON", "PRAGMA trusted_schema = OFF",
        "PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -65536"};
    pboost_status st = PBOOST_OK;
    char wal[] = "wal";

    TRY(run(s, "PRAGMA journal_mode = WAL", NULL, 0, same_text, wal, err));
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++)
        TRY(run(s, SETTINGS[i], NULL, 0, NULL, NULL, err));
    sqlite3_wal_autocheckpoint(of(s)->db, 0);
    sqlite3_wal_hook(of(s)->db, count_pages, s);
    TRY(checkpoint(s, SQLITE_CHECKPOINT_PASSIVE, err));
    int code = sqlite3_prepare_v2(of(s)->db, "ROLLBACK", -1, &of(s)->undo, NULL);
    if (code != SQLITE_OK) {
        st = failed(s, code, err);
        goto done;
    }
    TRY(look(s, err));
done:
    return st;
}

pboost_status pboost_sqlite_open(store **out, const char *path, bool create, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sqlite_store *s = NULL;
    bool made = false;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX; /* its side has one */

    *out = NULL;
    NEED(s = calloc(1, sizeof *s), err);
    s->base.class = &SQLITE;
    s->log_fd = -1;
    pthread_mutex_init(&s->sync_mutex, NULL);
    NEED(s->path = strdup(path), err);
    NEED(s->log = malloc(strlen(path) + sizeof "-wal"), err);
    memcpy(s->log, path, strlen(path));
    memcpy(s->log + strlen(path), "-wal", sizeof "-wal");
    if (create)
        TRY(make_file(path, err));
    else if (access(path, F_OK) != 0)
        FAIL(err, PBOOST_BAD_DATA, "store %s: %s", path, strerror(errno));
    made = create;
    int code = sqlite3_open_v2(path, &s->db, flags, NULL);
    if (code != SQLITE_OK) {
        st = failed(&s->base, code, err);
        goto done;
    }
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, 30000);
    TRY(configure(&s->base, err));
    *out = &s->base;
done:
    if (*out == NULL && made)
        discard(&s->base);
    else if (*out == NULL && s != NULL)
        close_store(&s->base);
    return st;
}

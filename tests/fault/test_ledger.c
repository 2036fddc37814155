/* Failures under a ledger on SQLite, the n-th of each kind for every n: the n-th write,
 * the n-th fsync, a full disk at the n-th write, the n-th allocation (SQLite's own included), the
 * n-th call for entropy.  A question is then answered or not, but never in part: asked again, by a
 * new process where the store broke, it has one answer and its rows are spent once. */
#include <sqlite3.h>

#include "fault/ledger_question.h"

/* ---- A disk that fails on demand ------------------------------------------------------------- */

typedef enum { NOTHING, WRITES, SYNCS, SPACE } disk_fault;

static struct {
    disk_fault what;
    long left; /* operations until one fails */
    bool hit, for_good;
} disk;

static bool disk_fails(disk_fault what)
{
    if (disk.what != what || disk.left == 0 || --disk.left > 0)
        return false;
    disk.hit = true;
    disk.left = disk.for_good ? 1 : 0;
    return true;
}

/* Syncs of the log and of the witness; SQLite's own are below. */
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
    if (!disk_fails(SYNCS))
        return __real_fdatasync(fd);
    errno = EIO;
    return -1;
}

typedef struct {
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct */
} shim_file;

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((shim_file *)f)->real;
}

static sqlite3_vfs *real_vfs;

static int shim_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}
static int shim_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), data, n, at);
}
static int shim_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
    if (disk_fails(WRITES)) { /* half of it arrives */
        (void)real_of(f)->pMethods->xWrite(real_of(f), data, n / 2, at);
        return SQLITE_IOERR_WRITE;
    }
    if (disk_fails(SPACE))
        return SQLITE_FULL;
    return real_of(f)->pMethods->xWrite(real_of(f), data, n, at);
}
static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return disk_fails(WRITES) ? SQLITE_IOERR_TRUNCATE
                              : real_of(f)->pMethods->xTruncate(real_of(f), size);
}
static int shim_sync(sqlite3_file *f, int flags)
{
    return disk_fails(SYNCS) ? SQLITE_IOERR_FSYNC : real_of(f)->pMethods->xSync(real_of(f), flags);
}
static int shim_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
static int shim_lock(sqlite3_file *f, int lock)
{
    return real_of(f)->pMethods->xLock(real_of(f), lock);
}
static int shim_unlock(sqlite3_file *f, int lock)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), lock);
}
static int shim_check(sqlite3_file *f, int *out)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}
static int shim_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}
static int shim_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}
static int shim_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}
static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}
static int shim_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}
static void shim_shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}
static int shim_shm_unmap(sqlite3_file *f, int delete)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), delete);
}

static const sqlite3_io_methods SHIM = {
    2,           shim_close,   shim_read,     shim_write,       shim_truncate,  shim_sync,
    shim_size,   shim_lock,    shim_unlock,   shim_check,       shim_control,   shim_sector,
    shim_device, shim_shm_map, shim_shm_lock, shim_shm_barrier, shim_shm_unmap, NULL,
    NULL};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    shim_file *shim = (shim_file *)f;
    (void)vfs;

    shim->real = (sqlite3_file *)(shim + 1);
    int code = real_vfs->xOpen(real_vfs, name, shim->real, flags, out);
    f->pMethods = code == SQLITE_OK ? &SHIM : NULL;
    return code;
}

/* ---- Memory that fails on demand, for SQLite as for us --------------------------------------- */

static sqlite3_mem_methods real_memory;

static void *shim_malloc(int bytes)
{
    return allocation_fails((size_t)bytes) ? NULL : real_memory.xMalloc(bytes);
}
static void *shim_realloc(void *old, int bytes)
{
    return allocation_fails((size_t)bytes) ? NULL : real_memory.xRealloc(old, bytes);
}

static int install(void **state)
{
    static sqlite3_vfs vfs;
    sqlite3_mem_methods memory;
    (void)state;

    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    memory = real_memory;
    memory.xMalloc = shim_malloc;
    memory.xRealloc = shim_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "failing";
    vfs.szOsFile = real_vfs->szOsFile + (int)sizeof(shim_file);
    vfs.xOpen = shim_open;
    return sqlite3_vfs_register(&vfs, 1);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

static void copy_part(const test_store *from, const test_store *to, const char *ending)
{
    char path[2][500];

    snprintf(path[0], sizeof path[0], "%s%s", from->url + strlen("sqlite:"), ending);
    snprintf(path[1], sizeof path[1], "%s%s", to->url + strlen("sqlite:"), ending);
    copy_file(path[0], path[1]);
    assert_int_equal(chmod(path[1], 0600), 0);
}

static test_store copy_of(const test_store *t)
{
    test_store copy = new_store();
    copy_part(t, &copy, "");
    copy_part(t, &copy, ".key");
    copy_part(t, &copy, ".witness");
    return copy;
}

static test_store the_template;
static pboost_token its_token;

/* An open copy of that store. */
static pboost_ledger *fresh(test_store *t, pboost_token *token)
{
    if (its_token.id == 0)
        make_question_store(&the_template, &its_token);
    *t = copy_of(&the_template);
    *token = its_token;
    return open_store(t);
}

static int remove_template(void **state)
{
    (void)state;
    drop_store(&the_template);
    return 0;
}

/* ---- Disks ----------------------------------------------------------------------------------- */

static long fail_disk(disk_fault what, bool for_good)
{
    long n = 1, refused = 0;
    bool hit = true;

    for (; hit; n++) {
        test_store t;
        pboost_token token;
        pboost_ledger *ledger = fresh(&t, &token);
        pboost_error err = {0};
        pboost_reply reply;

        disk.what = what;
        disk.left = n;
        disk.for_good = for_good;
        disk.hit = false;
        pboost_status st = put_question(&reply, ledger, &token, &err);
        hit = disk.hit;
        if (st != PBOOST_OK) {
            pboost_reply again;
            refused++;
            assert_true(hit);
            assert_int_equal(st, what == SPACE ? PBOOST_OUTPUT : PBOOST_ORACLE);
            assert_null(reply.body);
            assert_int_equal(pboost_ledger_broken(ledger), what != SPACE);
            if (what != SPACE)
                assert_fails(put_question(&again, ledger, &token, &err), PBOOST_ORACLE, err,
                             "must end");
        }
        disk.what = NOTHING;
        if (what == SPACE) /* the same process continues when there is room again */
            settle_question(ledger, &token, &reply);
        pboost_ledger_close(ledger);
        ledger = open_store(&t);
        settle_question(ledger, &token, &reply);
        pboost_reply_free(&reply);
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
    return refused;
}

static void any_write_may_fail(void **state)
{
    (void)state;
    assert_true(fail_disk(WRITES, false) >= 5);
    assert_true(fail_disk(WRITES, true) >= 5);
}

static void any_fsync_may_fail(void **state)
{
    (void)state;
    assert_true(fail_disk(SYNCS, false) >= 3); /* a new log, its commit, the witness */
    assert_true(fail_disk(SYNCS, true) >= 3);
}

static void the_disk_may_be_full(void **state)
{
    (void)state;
    assert_true(fail_disk(SPACE, false) >= 5);
    assert_true(fail_disk(SPACE, true) >= 5);
}

/* A store that cannot be made leaves nothing behind, and can be made afterwards. */
static void making_a_store_may_fail(void **state)
{
    (void)state;
    static const disk_fault WHAT[] = {WRITES, SYNCS, SPACE};
    for (size_t i = 0; i < 3; i++) {
        bool hit = true;
        for (long n = 1; hit; n++) {
            test_store t = new_store();
            pboost_ledger_rules rules = plain_rules();
            pboost_error err = {0};
            disk.what = WHAT[i];
            disk.left = n;
            disk.for_good = false;
            disk.hit = false;
            pboost_status st = pboost_ledger_create(t.url, &rules, NULL, &err);
            hit = disk.hit;
            disk.what = NOTHING;
            if (st != PBOOST_OK) {
                assert_true(hit);
                assert_int_equal(access(t.url + strlen("sqlite:"), F_OK), -1);
                assert_ok(pboost_ledger_create(t.url, &rules, NULL, &err), err);
            }
            pboost_ledger_close(open_store(&t));
            drop_store(&t);
        }
    }
}

/* More pages than a log may have before a checkpoint. */
static pboost_status render_much(void *user, unsigned char **body, size_t *length,
                                 const pboost_ledger_answer *answer, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    (void)user, (void)answer;

    *length = 20 << 20;
    NEED(*body = malloc(*length), err);
    memset(*body, 'b', *length);
done:
    return st;
}

/* A checkpoint moves the log into the file.  When one of its syncs fails, the answer that was
 * committed is not given, the service is broken, and the next process finds everything. */
static void a_checkpoint_may_fail(void **state)
{
    (void)state;
    enum { N = 24 };
    pboost_ledger_rules rules = plain_rules();
    int64_t row[N];
    long found = 0;
    bool hit = true;
    pboost_question q = PBOOST_QUESTION_INIT;

    for (int i = 0; i < N; i++)
        row[i] = i + 1;
    test_store template;
    pboost_ledger *ledger = make_ledger(&template, &rules, N, NULL);
    pboost_token token = plain_token(ledger, "a");
    pboost_ledger_close(ledger);
    q.token = &token;
    q.request_id = "r";
    q.render = render_much;
    for (long n = 1; hit && n < 10; n++) {
        test_store t = copy_of(&template);
        pboost_error err = {0};

        ledger = open_store(&t);
        pboost_reply reply, again;

        disk.what = SYNCS;
        disk.left = n;
        disk.for_good = false; /* the syncs after it succeed */
        disk.hit = false;
        pboost_status st = ask_as(&reply, ledger, q, row, N, 4, &err);
        hit = disk.hit;
        disk.what = NOTHING;
        assert_int_equal(pboost_ledger_broken(ledger), hit);
        assert_int_equal(st, hit ? PBOOST_ORACLE : PBOOST_OK);
        pboost_ledger_close(ledger);
        ledger = open_store(&t);
        assert_ok(ask_as(&again, ledger, q, row, N, 4, &err), err);
        assert_int_equal(again.length, 20 << 20);
        found += hit && again.retried;
        pboost_reply_free(&reply);
        pboost_reply_free(&again);
        pboost_ledger_close(ledger);
        drop_store(&t);
    }
    assert_true(found >= 4); /* log and file at the checkpoint, log, witness */
    drop_store(&template);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void any_allocation_of_a_question_may_fail(void **state)
{
    (void)state;
    assert_true(fail_allocations(fresh) > 20);
}

/* One question after another, each with one more allocation before one that fails.  It is answered,
 * or can be asked again, or was interrupted between the commits and then stays refused. */
static void any_allocation_of_a_question_to_two_stores_may_fail(void **state)
{
    enum { QUESTIONS = 4000, PER_QUESTION = 8 };
    test_store t[2] = {new_store(), new_store()};
    const char *url[] = {t[0].url, t[1].url};
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_audit audit;
    long refused = 0, answered = 0, n = 1;
    (void)state;

    assert_ok(pboost_ledger_create_all(url, 2, &rules, NULL, &err), err);
    assert_ok(pboost_ledger_open_all(&ledger, url, 2, NULL, &err), err);
    import_rows(ledger, 1, (size_t)QUESTIONS * PER_QUESTION, NULL);
    pboost_token token = plain_token(ledger, "a");
    for (; n == 1 || injected(); n++) {
        int64_t row[PER_QUESTION];
        pboost_id id[PER_QUESTION];
        const size_t start[] = {0, PER_QUESTION};
        char request[32];
        pboost_question q = PBOOST_QUESTION_INIT;
        pboost_reply reply;

        assert_true(n < QUESTIONS);
        for (int i = 0; i < PER_QUESTION; i++) {
            row[i] = PER_QUESTION * n + i;
            id[i] = (pboost_id){NULL, row[i]};
        }
        snprintf(request, sizeof request, "r%ld", n);
        q.token = &token;
        q.request_id = request;
        q.n_bags = 1;
        q.start = start;
        q.id = id;
        inject_allocation(n);
        pboost_status st = pboost_ledger_ask(&reply, ledger, &q, &err);
        inject_nothing();
        pboost_reply_free(&reply);
        if (st != PBOOST_OK && st != PBOOST_NO_MEMORY)
            fail_msg("allocation %ld: %s", n, err.message);
        refused += st == PBOOST_NO_MEMORY;
        st = ask(&reply, ledger, &token, request, row, PER_QUESTION, PER_QUESTION, NULL, &err);
        if (st == PBOOST_REFUSED)
            assert_int_equal(reply.problem, PBOOST_PROBLEM_REQUEST_INCOMPLETE);
        else
            assert_ok(st, err);
        answered += st == PBOOST_OK;
        pboost_reply_free(&reply);
    }
    assert_true(refused > 20);
    assert_ok(pboost_ledger_audit(&audit, ledger, &err), err);
    assert_int_equal(audit.problems, 0);
    assert_int_equal(audit.answers, answered);
    assert_int_equal(audit.interrupted, n - 1 - answered);
    pboost_ledger_close(ledger);
    drop_store(&t[0]);
    drop_store(&t[1]);
}

static pboost_status open_and_more(const test_store *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger *ledger = NULL;
    pboost_audit audit;
    pboost_ledger_status status;
    pboost_token *list = NULL;
    size_t n, forgotten;
    const pboost_id id[] = {{NULL, 12}};
    bool available[1];

    TRY(pboost_ledger_open(&ledger, t->url, NULL, err));
    TRY(pboost_token_list(&list, &n, ledger, err));
    TRY(pboost_ledger_available(available, ledger, list, id, 1, err));
    TRY(forget_rows(&forgotten, ledger, id, 1, err));
    TRY(pboost_ledger_audit(&audit, ledger, err));
    if (audit.problems > 0)
        FAIL(err, PBOOST_INTERNAL, "%s", audit.first_problem);
    TRY(pboost_ledger_get_status(&status, ledger, err));
done:
    free(list);
    pboost_ledger_close(ledger);
    return st;
}

static void any_allocation_of_opening_and_auditing_may_fail(void **state)
{
    (void)state;
    test_store t;
    pboost_token token;
    pboost_ledger *ledger = fresh(&t, &token);
    pboost_error err = {0};
    pboost_reply reply;
    long refused = 0;

    assert_ok(put_question(&reply, ledger, &token, &err), err);
    pboost_reply_free(&reply);
    pboost_ledger_close(ledger);
    for (long n = 1; n == 1 || injected(); n++) {
        inject_allocation(n);
        pboost_status st = open_and_more(&t, &err);
        inject_nothing();
        if (st != PBOOST_OK && st != PBOOST_NO_MEMORY)
            fail_msg("allocation %ld: %s", n, err.message);
        refused += st == PBOOST_NO_MEMORY;
    }
    assert_true(refused > 50);
    assert_ok(open_and_more(&t, &err), err);
    drop_store(&t);
}

/* ---- Entropy --------------------------------------------------------------------------------- */

static void without_entropy_nothing_is_answered_or_spent(void **state)
{
    (void)state;
    test_store t;
    pboost_token token;
    pboost_ledger *ledger = fresh(&t, &token);
    pboost_error err = {0};
    pboost_reply reply;
    char secret[PBOOST_TOKEN_TEXT];
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;

    options.name = "b";
    inject_entropy(1, ENOSYS, true);
    assert_int_equal(put_question(&reply, ledger, &token, &err), PBOOST_ORACLE);
    assert_null(reply.body);
    assert_int_equal(pboost_token_create(secret, ledger, &options, &err), PBOOST_ORACLE);
    assert_string_equal(secret, "");
    inject_nothing();
    assert_false(pboost_ledger_broken(ledger));
    assert_int_equal(status_of(ledger).spent, 0);
    settle_question(ledger, &token, &reply);
    assert_ok(pboost_token_create(secret, ledger, &options, &err), err);
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_write_may_fail),
        cmocka_unit_test(any_fsync_may_fail),
        cmocka_unit_test(the_disk_may_be_full),
        cmocka_unit_test(making_a_store_may_fail),
        cmocka_unit_test(a_checkpoint_may_fail),
        cmocka_unit_test(any_allocation_of_a_question_may_fail),
        cmocka_unit_test(any_allocation_of_a_question_to_two_stores_may_fail),
        cmocka_unit_test(any_allocation_of_opening_and_auditing_may_fail),
        cmocka_unit_test(without_entropy_nothing_is_answered_or_spent),
    };
    return cmocka_run_group_tests(tests, install, remove_template);
}

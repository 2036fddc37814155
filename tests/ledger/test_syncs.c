/* Clients who wait at the same time share the syncs, and nobody is told of what is not synced.
 *
 * The syncs of a store's log and of its witness pass here, where they are counted, held and made
 * to fail.  On PostgreSQL the server syncs what it commits: see test_durability.c. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "ledger_testing.h"

enum { CLIENTS = 8, ROWS = 4 * (CLIENTS + 1) };

typedef enum { LOG, WITNESS, LOG_OF_OTHER, N_FILES } synced_file;

/* ---- A disk that is watched ------------------------------------------------------------------ */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct stat file[N_FILES];
    int syncs[N_FILES];
    char order[32];              /* one letter for each sync: l, w, o */
    bool (*before)(synced_file); /* a sync: whether all is as it should be */
    bool wrong;                  /* it was not */
    synced_file held;            /* syncs of it wait; N_FILES: none do */
    bool waiting;                /* one does */
    bool fails;                  /* the next sync does */
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .held = N_FILES};

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

static synced_file file_of(int fd)
{
    struct stat about;
    synced_file f = LOG;

    if (fstat(fd, &about) != 0)
        return N_FILES;
    while (f < N_FILES && (about.st_ino != disk.file[f].st_ino || about.st_ino == 0))
        f++;
    return f;
}

int __wrap_fdatasync(int fd)
{
    pthread_mutex_lock(&disk.mutex);
    synced_file f = file_of(fd);
    if (f != N_FILES) {
        if (disk.before != NULL)
            disk.wrong = !disk.before(f) || disk.wrong;
        if (strlen(disk.order) + 1 < sizeof disk.order)
            disk.order[strlen(disk.order)] = "lwo"[f];
        disk.syncs[f]++;
    }
    while (f != N_FILES && disk.held == f) {
        disk.waiting = true;
        pthread_cond_broadcast(&disk.changed);
        pthread_cond_wait(&disk.changed, &disk.mutex);
    }
    bool fails = f != N_FILES && disk.fails;
    disk.fails = disk.fails && !fails;
    pthread_mutex_unlock(&disk.mutex);
    errno = EIO;
    return fails ? -1 : __real_fdatasync(fd);
}

static int synced_folders;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    struct stat about;
    synced_folders += fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
    return __real_fsync(fd);
}

static void path_of(char out[500], const test_store *t, const char *end)
{
    snprintf(out, 500, "%s%s", t->url + strlen("sqlite:"), end);
}

static void watch_file(synced_file f, const test_store *t, const char *end)
{
    char path[500];
    path_of(path, t, end);
    assert_int_equal(stat(path, &disk.file[f]), 0);
}

/* Forgets the syncs so far. */
static void watch_syncs(void)
{
    memset(disk.syncs, 0, sizeof disk.syncs);
    memset(disk.order, 0, sizeof disk.order);
}

static void hold(synced_file f)
{
    pthread_mutex_lock(&disk.mutex);
    disk.held = f;
    disk.waiting = false;
    pthread_mutex_unlock(&disk.mutex);
}

static bool is_held(void)
{
    pthread_mutex_lock(&disk.mutex);
    bool held = disk.waiting;
    pthread_mutex_unlock(&disk.mutex);
    return held;
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

enum { PATIENCE = 60000 };

static void wait_for_held(void)
{
    for (int i = 0; i < PATIENCE && !is_held(); i++)
        rest();
    assert_true(is_held());
}

static void release(bool fails)
{
    pthread_mutex_lock(&disk.mutex);
    watch_syncs();
    disk.fails = fails;
    disk.held = N_FILES;
    pthread_cond_broadcast(&disk.changed);
    pthread_mutex_unlock(&disk.mutex);
}

/* ---- A store, looked at from outside --------------------------------------------------------- */

static test_store the_store;
static store *outside;

static int64_t entries(store *s)
{
    pboost_error err = {0};
    int64_t n = 0;
    assert_ok(s->class->run(s, "SELECT count(*) FROM ledger_entry", NULL, 0, pboost_store_number,
                            &n, &err),
              err);
    return n;
}

static off_t witness_size(void)
{
    char path[500];
    struct stat about;
    path_of(path, &the_store, ".witness");
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

static int64_t wait_for_entries(int64_t n)
{
    for (int i = 0; i < PATIENCE && entries(outside) < n; i++)
        rest();
    return entries(outside);
}

static pboost_ledger *make_watched(pboost_token *token)
{
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};

    if (on_postgresql())
        skip();
    pboost_ledger *ledger = make_ledger(&the_store, &rules, ROWS, NULL);
    *token = plain_token(ledger, "a");
    assert_ok(pboost_store_open(&outside, the_store.url, false, &err), err);
    watch_file(LOG, &the_store, "-wal");
    watch_file(WITNESS, &the_store, ".witness");
    watch_syncs();
    return ledger;
}

/* The last to close empties the log, unless the store is broken. */
static void drop_watched(pboost_ledger *ledger)
{
    bool broken = pboost_ledger_broken(ledger);
    char path[500];

    memset(disk.file, 0, sizeof disk.file);
    disk.before = NULL;
    pboost_store_close(outside);
    pboost_ledger_close(ledger);
    path_of(path, &the_store, "-wal");
    assert_int_equal(access(path, F_OK) == 0, broken);
    drop_store(&the_store);
}

/* ---- Clients --------------------------------------------------------------------------------- */

typedef struct client client;
struct client {
    pboost_ledger *ledger;
    const pboost_token *token;
    int question; /* number i is about rows 4 i + 1 to 4 i + 4 */
    pboost_status (*call)(client *c, pboost_error *err);
    pboost_reply reply;
    pboost_status st;
    pboost_error err;
    atomic_bool done;
    pthread_t thread;
};

static pboost_status put_question(client *c, pboost_error *err)
{
    char request[16];
    int64_t row[4];

    snprintf(request, sizeof request, "r%d", c->question);
    for (int i = 0; i < 4; i++)
        row[i] = 4 * c->question + i + 1;
    return ask(&c->reply, c->ledger, c->token, request, row, 4, 4, NULL, err);
}

static pboost_status find_reply(client *c, pboost_error *err)
{
    char request[16];
    bool found;
    snprintf(request, sizeof request, "r%d", c->question);
    return pboost_ledger_find(&c->reply, &found, c->ledger, c->token, request, err);
}

static pboost_status look_at_status(client *c, pboost_error *err)
{
    return pboost_ledger_get_status(&(pboost_ledger_status){0}, c->ledger, err);
}

static bool see_entry(void *user, const pboost_ledger_entry *entry)
{
    (void)user, (void)entry;
    return true;
}

static pboost_status look_at_entries(client *c, pboost_error *err)
{
    return pboost_ledger_entries(c->ledger, 0, UINT64_MAX, see_entry, NULL, err);
}

static bool see_claim(void *user, const char *id, uint64_t entry)
{
    (void)user, (void)id, (void)entry;
    return true;
}

static pboost_status look_at_claims(client *c, pboost_error *err)
{
    return pboost_ledger_claims(c->ledger, see_claim, NULL, err);
}

static void *run_client(void *user)
{
    client *c = user;
    c->st = c->call(c, &c->err);
    c->done = true;
    return NULL;
}

static void start(client *c, pboost_ledger *ledger, const pboost_token *token, int question,
                  pboost_status (*call)(client *c, pboost_error *err))
{
    *c = (client){.ledger = ledger, .token = token, .question = question, .call = call};
    assert_int_equal(pthread_create(&c->thread, NULL, run_client, c), 0);
}

static void end(client *c)
{
    pthread_join(c->thread, NULL);
    pboost_reply_free(&c->reply);
}

/* ---- One client ------------------------------------------------------------------------------ */

static int64_t entries_before;
static off_t witness_before;

/* What is synced is committed; the witness is written between the two syncs. */
static bool in_order(synced_file f)
{
    return entries(outside) == entries_before + 1 &&
           (f == LOG ? witness_size() == witness_before : witness_size() > witness_before);
}

static void the_store_is_synced_then_the_witness_then_the_reply_leaves(void **state)
{
    pboost_token token;
    pboost_ledger *ledger = make_watched(&token);
    client c = {.ledger = ledger, .token = &token};
    pboost_error err = {0};
    (void)state;

    entries_before = entries(outside);
    witness_before = witness_size();
    disk.before = in_order;
    assert_ok(put_question(&c, &err), err);
    assert_false(disk.wrong);
    assert_string_equal(disk.order, "lw");
    pboost_reply_free(&c.reply);
    disk.before = NULL;
    watch_syncs();
    assert_ok(put_question(&c, &err), err);
    assert_true(c.reply.retried);
    assert_string_equal(disk.order, ""); /* it is on the disk */
    pboost_reply_free(&c.reply);
    drop_watched(ledger);
}

/* It says which rows are spent, and by it a question is known to have been asked. */
static void a_refusal_is_synced(void **state)
{
    pboost_token token;
    pboost_ledger *ledger = make_watched(&token);
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {1, 2};
    (void)state;

    assert_refused(ask(&reply, ledger, &token, "r", row, 2, 4, NULL, &err), reply,
                   PBOOST_PROBLEM_BAG_TOO_SMALL, err);
    assert_string_equal(disk.order, "l");
    pboost_reply_free(&reply);
    drop_watched(ledger);
}

static void a_store_without_witness_is_synced(void **state)
{
    pboost_token token;
    pboost_ledger *ledger = make_watched(&token), *inspected;
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;
    pboost_error err = {0};
    (void)state;

    options.inspect = true;
    assert_ok(pboost_ledger_open(&inspected, the_store.url, &options, &err), err);
    client c = {.ledger = inspected, .token = &token};
    watch_syncs();
    assert_ok(put_question(&c, &err), err);
    assert_string_equal(disk.order, "l");
    pboost_reply_free(&c.reply);
    pboost_ledger_close(inspected);
    drop_watched(ledger);
}

/* ---- Several clients ------------------------------------------------------------------------- */

/* While one waits for the disk the others commit; two syncs are enough for all of them. */
static void clients_share_syncs(void **state)
{
    pboost_token token;
    pboost_ledger *ledger = make_watched(&token);
    int64_t before = entries(outside);
    static client c[CLIENTS + 1];
    (void)state;

    hold(LOG);
    start(&c[0], ledger, &token, 0, put_question);
    wait_for_held();
    for (int i = 1; i <= CLIENTS; i++)
        start(&c[i], ledger, &token, i, put_question);
    assert_int_equal(wait_for_entries(before + CLIENTS + 1), before + CLIENTS + 1);
    for (int i = 0; i <= CLIENTS; i++)
        assert_false(c[i].done);
    release(false);
    for (int i = 0; i <= CLIENTS; i++) {
        end(&c[i]);
        assert_ok(c[i].st, c[i].err);
    }
    assert_string_equal(disk.order, "wlw");
    drop_watched(ledger);
}

/* What others see of an answer that is not on the disk. */
static void nobody_is_told_before_the_sync(void **state)
{
    static pboost_status (*const CALL[])(client * c, pboost_error * err) = {
        put_question, put_question, find_reply, look_at_status, look_at_entries, look_at_claims};
    enum { N = sizeof CALL / sizeof *CALL };
    pboost_token token;
    pboost_ledger *ledger = make_watched(&token);
    static client c[N];
    (void)state;

    hold(LOG);
    for (int i = 0; i < N; i++) {
        start(&c[i], ledger, &token, 0, CALL[i]);
        wait_for_held(); /* the first has committed */
    }
    for (int i = 0; i < 300; i++) {
        rest();
        for (int j = 0; j < N; j++)
            assert_false(c[j].done);
    }
    release(true);
    for (int i = 0; i < N; i++) {
        pthread_join(c[i].thread, NULL);
        assert_int_equal(c[i].st, PBOOST_ORACLE);
        assert_null(c[i].reply.body);
    }
    assert_true(pboost_ledger_broken(ledger));
    assert_non_null(strstr(pboost_ledger_why_broken(ledger), "cannot be synced"));
    assert_string_equal(disk.order, ""); /* after a failed sync none is tried */
    drop_watched(ledger);
}

/* The next sync of the witness would succeed, although records are lost. */
static void nobody_is_answered_after_a_failed_sync(void **state)
{
    pboost_token token;
    pboost_ledger *ledger = make_watched(&token);
    int64_t before = entries(outside);
    static client c[2];
    (void)state;

    hold(WITNESS);
    start(&c[0], ledger, &token, 0, put_question);
    wait_for_held();
    start(&c[1], ledger, &token, 1, put_question);
    assert_int_equal(wait_for_entries(before + 2), before + 2);
    release(true);
    for (int i = 0; i < 2; i++) {
        end(&c[i]);
        assert_int_equal(c[i].st, PBOOST_ORACLE);
    }
    assert_true(pboost_ledger_broken(ledger));
    assert_string_equal(disk.order, "");
    drop_watched(ledger);
}

/* ---- Several stores -------------------------------------------------------------------------- */

static bool claims_first(synced_file f)
{
    return f != LOG_OF_OTHER || disk.syncs[f] > 0 || entries(outside) == entries_before;
}

/* An answer that exists has its claims, after a power failure too. */
static void claims_are_synced_before_the_answer_is_committed(void **state)
{
    test_store other;
    pboost_ledger_rules rules = plain_rules();
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_reply reply;
    int64_t row[ROWS];
    (void)state;

    if (on_postgresql())
        skip();
    the_store = new_store();
    other = new_store();
    const char *url[] = {the_store.url, other.url};
    assert_ok(pboost_ledger_create_all(url, 2, &rules, NULL, &err), err);
    assert_ok(pboost_ledger_open_all(&ledger, url, 2, NULL, &err), err);
    import_rows(ledger, 1, ROWS, NULL);
    pboost_token token = plain_token(ledger, "a");
    assert_ok(pboost_store_open(&outside, the_store.url, false, &err), err);
    watch_file(LOG, &the_store, "-wal");
    watch_file(WITNESS, &the_store, ".witness");
    watch_file(LOG_OF_OTHER, &other, "-wal");
    watch_syncs();
    entries_before = entries(outside);
    disk.before = claims_first;
    for (int i = 0; i < ROWS; i++)
        row[i] = i + 1;
    assert_ok(ask(&reply, ledger, &token, "r", row, ROWS, ROWS, NULL, &err), err);
    assert_true(disk.syncs[LOG_OF_OTHER] >= 1 && disk.syncs[LOG] >= 1);
    assert_false(disk.wrong);
    pboost_reply_free(&reply);
    drop_watched(ledger);
    drop_store(&other);
}

static void the_name_of_the_log_is_synced(void **state)
{
    pboost_token token;
    pboost_error err = {0};
    store *another;
    (void)state;

    pboost_ledger *ledger = make_watched(&token);
    synced_folders = 0;
    assert_ok(pboost_store_open(&another, the_store.url, false, &err), err);
    assert_int_equal(synced_folders, 1);
    pboost_store_close(another);
    drop_watched(ledger);
}

/* After a test that failed: clients that still wait end. */
static int let_go(void **state)
{
    (void)state;
    release(false);
    disk.wrong = false;
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, let_go)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_store_is_synced_then_the_witness_then_the_reply_leaves),
        TEST(a_refusal_is_synced),
        TEST(a_store_without_witness_is_synced),
        TEST(clients_share_syncs),
        TEST(nobody_is_told_before_the_sync),
        TEST(nobody_is_answered_after_a_failed_sync),
        TEST(claims_are_synced_before_the_answer_is_committed),
        TEST(the_name_of_the_log_is_synced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

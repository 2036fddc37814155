/* Stores that are exchanged under a running service and restored from old backups, again and again.
 *
 *     ledger_restore [RUNS [SEED]]       run SEED, SEED+1, ...; on SQLite, or on
 *                                        $PBOOST_TEST_STORE
 *
 * A learner asks about random rows and shows no head.  Meanwhile backups are made and put back,
 * with the service running or stopped; labels are erased, tokens revoked, rows imported; the end of
 * the witness is lost as in a crash.  This program remembers every answer that was given: a row in
 * two of them, a label or a token that comes back, or a store that opens although it is old, ends
 * it. */
#include "ledger_testing.h"

enum { ROWS = 200, STEPS = 60, SIZE = 4, MORE = 20, MAX = ROWS + STEPS * MORE };

typedef struct {
    uint64_t state;
    test_store store;
    char witness[500];
    pboost_ledger *ledger;
    pboost_token token;
    int n_tokens, n_requests;
    int64_t rows; /* ids 1 .. rows were imported at some time */
    bool answered[MAX + 1], erased[MAX + 1], revoked[3 * STEPS]; /* tokens by number */
    bool saved;                                                  /* there is a backup */
    bool older; /* something was done since it was made */
    int64_t saved_rows;
} world;

static struct {
    size_t runs, answers, refusals, erasures, revocations, imports, backups, exchanges, restores,
        burned, banned, torn;
} tried;

static uint64_t running;

static void wrong(const char *what)
{
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)running, what);
    exit(1);
}

static size_t draw(world *w, size_t n)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return (size_t)(w->state % n);
}

static void need(pboost_status st, const pboost_error *err)
{
    if (st != PBOOST_OK)
        wrong(err->message);
}

static void new_token(world *w)
{
    char name[24];
    snprintf(name, sizeof name, "t%d", w->n_tokens++);
    w->token = plain_token(w->ledger, name);
    w->older = true;
}

static void ask_some(world *w)
{
    int64_t row[SIZE];
    char request[24];
    pboost_error err = {0};
    pboost_reply reply;

    for (int i = 0; i < SIZE; i++) {
        int64_t start = (int64_t)draw(w, (size_t)w->rows / SIZE) * SIZE;
        row[i] = 1 + (i == 0 || draw(w, 4) == 0 ? start : row[0] - 1) + i;
        if (row[i] > w->rows)
            row[i] = 1 + i;
    }
    snprintf(request, sizeof request, "r%d", w->n_requests++);
    pboost_status st = ask(&reply, w->ledger, &w->token, request, row, SIZE, SIZE, NULL, &err);
    pboost_reply_free(&reply);
    tried.refusals += st == PBOOST_REFUSED;
    if (st == PBOOST_REFUSED)
        return;
    need(st, &err);
    for (int i = 0; i < SIZE; i++) {
        if (w->answered[row[i]])
            wrong("a row was answered for twice");
        if (w->erased[row[i]])
            wrong("an erased label was used");
        w->answered[row[i]] = true;
    }
    w->older = true;
    tried.answers++;
}

static void erase_one(world *w)
{
    const pboost_id id = {NULL, 1 + (int64_t)draw(w, ROWS)};
    pboost_erasure erasure = PBOOST_ERASURE_INIT;
    pboost_error err = {0};
    size_t n;

    if (w->erased[id.number])
        return;
    erasure.id = &id;
    erasure.n = 1;
    need(pboost_ledger_forget(&n, w->ledger, &erasure, &err), &err);
    w->older = w->older || n > 0;
    w->erased[id.number] = true;
    tried.erasures += n;
}

static void revoke_one(world *w)
{
    char name[PBOOST_ID_MAX + 1];
    pboost_error err = {0};

    memcpy(name, w->token.name, sizeof name);
    need(pboost_token_revoke(w->ledger, name, &err), &err);
    w->revoked[atoi(name + 1)] = true;
    new_token(w);
    tried.revocations++;
}

static void import_some(world *w)
{
    import_rows(w->ledger, w->rows + 1, MORE, NULL);
    w->rows += MORE;
    w->older = true;
    tried.imports++;
}

static void save(world *w)
{
    char sql[100];

    for (size_t i = 0; w->saved && i < N_LEDGER_TABLES; i++) {
        snprintf(sql, sizeof sql, "DROP TABLE saved_%s", LEDGER_TABLES[i]);
        change_store(&w->store, sql);
    }
    back_up(&w->store);
    w->saved = true;
    w->older = false;
    w->saved_rows = w->rows;
    tried.backups++;
}

/* Rows that are lost and were answered for cannot come back: the import is tried row by row. */
static void import_again(world *w)
{
    for (int64_t row = w->saved_rows + 1; row <= w->rows; row++) {
        pboost_import in = PBOOST_IMPORT_INIT;
        pboost_import_report report;
        pboost_id id = {NULL, row};
        double label = 1;
        pboost_error err = {0};

        in.n = 1;
        in.id = &id;
        in.label = &label;
        pboost_status st = pboost_ledger_import(&report, w->ledger, &in, &err);
        if ((st == PBOOST_REFUSED) != w->answered[row])
            wrong(st == PBOOST_OK ? "a row that was answered for came in again" : err.message);
        tried.banned += st == PBOOST_REFUSED;
    }
}

/* The backup is in the store's place: it must not open before it is restored. */
static void restore(world *w)
{
    pboost_error err = {0};
    pboost_restored restored;

    if (w->older && pboost_ledger_open(&w->ledger, w->store.url, NULL, &err) != PBOOST_REFUSED)
        wrong("an old store was opened");
    need(pboost_ledger_restore(&restored, w->store.url, NULL, false, &err), &err);
    tried.burned += restored.burned;
    w->ledger = open_store(&w->store);
    assert_sound(w->ledger);
    pboost_token *list;
    size_t n;
    need(pboost_token_list(&list, &n, w->ledger, &err), &err);
    for (size_t i = 0; i < n; i++)
        if (list[i].state == PBOOST_TOKEN_ACTIVE && w->revoked[atoi(list[i].name + 1)])
            wrong("a token that was revoked came back");
    free(list);
    new_token(w);
    import_again(w);
    tried.restores++;
}

static void put_back_and_restore(world *w)
{
    if (!w->saved)
        return;
    pboost_ledger_close(w->ledger);
    put_back(&w->store);
    restore(w);
}

/* The running service must notice, whatever is asked. */
static void exchange(world *w)
{
    pboost_error err = {0};
    pboost_reply reply;
    const int64_t row[] = {1, 2, 3, 4};

    if (!w->saved || !w->older)
        return;
    put_back(&w->store);
    pboost_status st = ask(&reply, w->ledger, &w->token, "x", row, 4, 4, NULL, &err);
    pboost_reply_free(&reply);
    if (st != PBOOST_ORACLE || !pboost_ledger_broken(w->ledger))
        wrong(st == PBOOST_OK ? "an exchanged store was not noticed" : err.message);
    pboost_ledger_close(w->ledger);
    restore(w);
    tried.exchanges++;
}

/* As if the process had ended between a commit and the end of its record. */
static void tear(world *w)
{
    struct stat about;

    pboost_ledger_close(w->ledger);
    if (stat(w->witness, &about) != 0 || truncate(w->witness, about.st_size - 1) != 0)
        wrong("the witness cannot be cut");
    w->ledger = open_store(&w->store);
    tried.torn++;
}

static void step(world *w)
{
    static void (*const WHAT[])(world * w) = {erase_one, revoke_one,           import_some, save,
                                              exchange,  put_back_and_restore, tear};
    size_t n = sizeof WHAT / sizeof *WHAT, what = draw(w, 3 * n);

    if (what < n)
        WHAT[what](w);
    else
        ask_some(w);
}

static void run(uint64_t seed)
{
    static world w;
    pboost_ledger_rules rules = plain_rules();

    running = seed;
    memset(&w, 0, sizeof w);
    w.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w.rows = ROWS;
    w.ledger = make_ledger(&w.store, &rules, ROWS, NULL);
    snprintf(w.witness, sizeof w.witness, "%s", w.ledger->witness.path);
    new_token(&w);
    for (int i = 0; i < STEPS; i++)
        step(&w);
    assert_sound(w.ledger);
    pboost_ledger_close(w.ledger);
    drop_store(&w.store);
    tried.runs++;
}

int main(int argc, char **argv)
{
    size_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (size_t i = 0; i < runs; i++)
        run(seed + i);
    if (tried.answers == 0 || tried.restores == 0 || tried.burned == 0)
        wrong("nothing happened");
    printf(
        "| exchanged and restored, %s | %zu runs, seeds %llu to %llu | %zu answers, %zu refusals; "
        "%zu "
        "backups, %zu put back under the running service and %zu restored in all, which burned %zu "
        "rows and kept %zu from coming in again; %zu ends of the witness lost, %zu erasures, %zu "
        "revocations, %zu imports | each noticed, no label used twice |\n",
        on_postgresql() ? "PostgreSQL" : "SQLite", tried.runs, (unsigned long long)seed,
        (unsigned long long)(seed + runs - 1), tried.answers, tried.refusals, tried.backups,
        tried.exchanges, tried.restores, tried.burned, tried.banned, tried.torn, tried.erasures,
        tried.revocations, tried.imports);
    return 0;
}

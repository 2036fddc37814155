/* kill -9 at random moments.
 *
 *     ledger_kill [KILLS [SEED [STORES]]]       on SQLite, or on $PBOOST_TEST_STORE
 *
 * A child asks one question after another and sends each reply through a pipe.  The parent kills it
 * at a random moment, starts the next one, which first asks again what may have been under way.  It
 * keeps every reply that was ever delivered.  After each kill the store must open; at the end, and
 * from time to time before, the audit must be sound, every delivered reply must be found byte for
 * byte, and no row may be in two of them.  When the rows run out, a new store begins.
 *
 * With several stores a kill may come between their commits.  The question must then be refused as
 * interrupted, now and always, and the next one is asked. */
#include <errno.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

#include "ledger_testing.h"

enum { ROWS = 8000, SIZE = 4, BAGS = 2, PER_QUESTION = SIZE * BAGS, BODY = BAGS * 8 + 32 };
enum { QUESTIONS = ROWS / PER_QUESTION, OPENED = QUESTIONS };

typedef struct {
    uint32_t question;
    bool retried, interrupted;
    unsigned char body[BODY];
} delivery;

typedef struct {
    bool delivered, interrupted;
    unsigned char body[BODY];
} kept;

static struct {
    size_t kills, before_first, during, retried, stores, audits, delivered, twice, interrupted;
} tried;

/* The oracle that is being tortured. */
enum { STORES_MOST = 4 };
static struct {
    size_t n;
    test_store at[STORES_MOST];
    const char *url[STORES_MOST];
} oracle;

static void die(const char *what, const pboost_error *err)
{
    fprintf(stderr, "ledger_kill: %s%s%s\n", what, err != NULL ? ": " : "",
            err != NULL ? err->message : "");
    exit(1);
}

/* Question q asks about rows 8q+1 .. 8q+8. */
static pboost_status put_question(pboost_reply *reply, pboost_ledger *ledger,
                                  const pboost_token *token, size_t q, pboost_error *err)
{
    int64_t row[PER_QUESTION];
    char request[20];

    for (int i = 0; i < PER_QUESTION; i++)
        row[i] = (int64_t)(q * PER_QUESTION) + i + 1;
    snprintf(request, sizeof request, "q%zu", q);
    return ask(reply, ledger, token, request, row, PER_QUESTION, SIZE, NULL, err);
}

/* The child: never returns. */
static void run_child(const pboost_token *token, size_t first, int out)
{
    pboost_error err = {0};
    pboost_ledger *ledger;

    if (pboost_ledger_open_all(&ledger, oracle.url, oracle.n, NULL, &err) != PBOOST_OK)
        die("the store does not open after a kill", &err);
    if (write(out, &(delivery){.question = OPENED}, sizeof(delivery)) != (ssize_t)sizeof(delivery))
        _exit(1);
    for (size_t q = first; q < QUESTIONS; q++) {
        pboost_reply reply;
        delivery d = {.question = (uint32_t)q};
        pboost_status st = put_question(&reply, ledger, token, q, &err);
        d.interrupted = st == PBOOST_REFUSED && reply.problem == PBOOST_PROBLEM_REQUEST_INCOMPLETE;
        if (st != PBOOST_OK && !d.interrupted)
            die("a question failed", &err);
        d.retried = reply.retried;
        if (st == PBOOST_OK)
            memcpy(d.body, reply.body, BODY);
        pboost_reply_free(&reply);
        if (write(out, &d, sizeof d) != (ssize_t)sizeof d)
            _exit(1);
    }
    _exit(0);
}

static void keep(kept *k, const delivery *d)
{
    kept *mine = &k[d->question];
    if ((mine->delivered && (d->interrupted || memcmp(mine->body, d->body, BODY) != 0)) ||
        (mine->interrupted && !d->interrupted))
        die("a question was answered in two ways", NULL);
    if (d->interrupted) {
        tried.interrupted += !mine->interrupted;
        mine->interrupted = true;
        return;
    }
    if (d->retried && !mine->delivered)
        tried.retried++;
    mine->delivered = true;
    memcpy(mine->body, d->body, BODY);
    tried.delivered++;
}

/* Reads the child's replies, kills it at its time (counted from its start, or from when its store
 * was open), and reads the rest. */
static void take_deliveries(kept *k, int in, double seconds, bool once_open, pid_t child)
{
    struct timespec start, now;
    bool killed = false, any = false, ticking = !once_open;
    delivery d;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        double left = seconds - ((double)(now.tv_sec - start.tv_sec) +
                                 1e-9 * (double)(now.tv_nsec - start.tv_nsec));
        if (ticking && !killed && left <= 0) {
            kill(child, SIGKILL);
            killed = true;
            tried.kills++;
            tried.before_first += !any;
            tried.during += any;
        }
        struct timeval wait = {0, left > 0 ? (suseconds_t)(left * 1e6) + 1 : 0};
        fd_set ready;
        FD_ZERO(&ready);
        FD_SET(in, &ready);
        if (select(in + 1, &ready, NULL, NULL, killed || !ticking ? NULL : &wait) <= 0)
            continue;
        ssize_t got = read(in, &d, sizeof d); /* writes of this size are whole in a pipe */
        if (got == 0)
            return;
        if (got == (ssize_t)sizeof d && d.question == OPENED && !ticking) {
            ticking = true;
            clock_gettime(CLOCK_MONOTONIC, &start);
        } else if (got == (ssize_t)sizeof d && d.question != OPENED) {
            keep(k, &d);
            any = true;
        }
    }
}

/* What was delivered is in the store, as it was delivered; rows of a question cannot be asked about
 * in another request. */
static void check_store(const pboost_token *token, const kept *k)
{
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_audit audit;

    if (pboost_ledger_open_all(&ledger, oracle.url, oracle.n, NULL, &err) != PBOOST_OK)
        die("the store does not open", &err);
    if (pboost_ledger_audit(&audit, ledger, &err) != PBOOST_OK)
        die("the audit failed", &err);
    if (audit.problems > 0)
        die(audit.first_problem, NULL);
    size_t interrupted = 0;
    for (size_t q = 0; q < QUESTIONS; q++) {
        char request[20];
        pboost_reply reply;
        bool found;
        interrupted += k[q].interrupted;
        snprintf(request, sizeof request, "q%zu", q);
        if (pboost_ledger_find(&reply, &found, ledger, token, request, &err) != PBOOST_OK)
            die("a reply cannot be looked up", &err);
        if (k[q].delivered &&
            (!found || reply.length != BODY || memcmp(reply.body, k[q].body, BODY) != 0))
            die("a delivered reply is not in the store", NULL);
        if (k[q].interrupted && found)
            die("a question that was refused as interrupted has an answer", NULL);
        pboost_reply_free(&reply);
    }
    if (audit.interrupted < interrupted) /* the last one may not have been asked again yet */
        die("the audit does not count what was interrupted", NULL);
    pboost_ledger_close(ledger);
    tried.audits++;
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static size_t first_open(const kept *k)
{
    size_t q = 0;
    while (q < QUESTIONS && (k[q].delivered || k[q].interrupted))
        q++;
    return q;
}

static pboost_ledger *make_oracle(const pboost_ledger_rules *rules)
{
    pboost_error err = {0};
    pboost_ledger *ledger = NULL;

    for (size_t i = 0; i < oracle.n; i++) {
        oracle.at[i] = new_store();
        oracle.url[i] = oracle.at[i].url;
    }
    if (pboost_ledger_create_all(oracle.url, oracle.n, rules, NULL, &err) != PBOOST_OK ||
        pboost_ledger_open_all(&ledger, oracle.url, oracle.n, NULL, &err) != PBOOST_OK)
        die("the stores cannot be made", &err);
    import_rows(ledger, 1, ROWS, NULL);
    return ledger;
}

/* One store, killed over and over until its rows or the kills run out. */
static void torture_store(size_t kills, uint64_t *state)
{
    static kept k[QUESTIONS];
    pboost_ledger_rules rules = plain_rules();

    memset(k, 0, sizeof k);
    rules.no_noise = false;
    rules.rules.epsilon = (pboost_rational){1, 10};
    pboost_ledger *ledger = make_oracle(&rules);
    pboost_token token = plain_token(ledger, "a");
    pboost_ledger_close(ledger);
    tried.stores++;
    for (size_t round = 1; tried.kills < kills && first_open(k) < QUESTIONS; round++) {
        int ends[2];
        if (pipe(ends) != 0)
            die(strerror(errno), NULL);
        /* the last reply may be lost although it was delivered: ask for it again from time to time
         */
        size_t first = first_open(k);
        if (first > 0 && next(state) % 4 == 0) {
            first--;
            tried.twice++;
        }
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            run_child(&token, first, ends[1]);
        }
        close(ends[1]);
        take_deliveries(k, ends[0], 1e-6 * (double)(next(state) % 15000), next(state) % 5 != 0,
                        child);
        close(ends[0]);
        int status;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
            die("the child failed", NULL);
        if (round % 200 == 0)
            check_store(&token, k);
    }
    check_store(&token, k);
    for (size_t i = 0; i < oracle.n; i++)
        drop_store(&oracle.at[i]);
}

int main(int argc, char **argv)
{
    size_t kills = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, state = seed;

    oracle.n = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (oracle.n < 1 || oracle.n > STORES_MOST)
        die("STORES must be 1 to 4", NULL);
    signal(SIGPIPE, SIG_IGN);
    while (tried.kills < kills)
        torture_store(kills, &state);
    printf("| kill -9, %s | %zu kills | %zu before and %zu between replies, %zu answers found by "
           "the retry, %zu asked again, %zu replies delivered, %zu stores, %zu audits | no answer "
           "lost, no label used twice |\n",
           on_postgresql() ? "PostgreSQL" : "SQLite", tried.kills, tried.before_first, tried.during,
           tried.retried, tried.twice, tried.delivered, tried.stores, tried.audits);
    if (oracle.n > 1)
        printf("%zu stores each; %zu questions were interrupted between commits and stay refused\n",
               oracle.n, tried.interrupted);
    return 0;
}

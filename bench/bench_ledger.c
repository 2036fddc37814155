/* How long does a round take to be answered durably?
 *
 *     bench_ledger [ROWS [LABELS [STORE]]]
 *
 * A round has ROWS rows in bags of 32, from LABELS labels.
 * STORE is where an empty store is made; by default a SQLite file in a new folder.
 * $PBOOST_TEST_STORE is taken when it is set (tests/ledger/with_postgresql.sh).  The round's rows
 * are scattered over the table.  The peer in the same run is the disk: the same number of bytes,
 * written and synced. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <priorboost/ledger.h>

static double clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static void require(pboost_status st, const pboost_error *err)
{
    if (st != PBOOST_OK) {
        fprintf(stderr, "bench_ledger: %s\n", err->message);
        exit(1);
    }
}

static void *need(size_t n, size_t size)
{
    void *memory = malloc(n * size + 1);
    if (memory == NULL) {
        fprintf(stderr, "bench_ledger: out of memory\n");
        exit(1);
    }
    return memory;
}

static double write_and_sync(const char *folder, size_t bytes)
{
    char path[300];
    static char block[1 << 16];

    snprintf(path, sizeof path, "%s/plain", folder);
    double start = now();
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (size_t done = 0; fd >= 0 && done < bytes; done += sizeof block)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            break;
    if (fd < 0 || fsync(fd) != 0) {
        perror(path);
        exit(1);
    }
    close(fd);
    double seconds = now() - start;
    unlink(path);
    return seconds;
}

static double import(pboost_ledger *ledger, size_t labels)
{
    pboost_error err = {0};
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id *id = need(labels, sizeof *id);
    double *label = need(labels, sizeof *label);

    for (size_t i = 0; i < labels; i++) {
        id[i] = (pboost_id){NULL, (int64_t)(1000000 + 7 * i)};
        label[i] = (double)(i * 2654435761u % 2);
    }
    in.n = labels;
    in.id = id;
    in.label = label;
    double start = now();
    require(pboost_ledger_import(&report, ledger, &in, &err), &err);
    double seconds = now() - start;
    free(id);
    free(label);
    return seconds;
}

/* A step through the table that visits every row once. */
static size_t coprime_step(size_t n)
{
    size_t step = (size_t)((double)n * 0.6180339887) | 1;
    for (;; step += 2) {
        size_t a = n, b = step;
        while (b != 0) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

static void ask(pboost_ledger *ledger, const pboost_token *token, size_t rows, size_t labels,
                size_t round)
{
    enum { SIZE = 32 };
    pboost_error err = {0};
    pboost_question q = PBOOST_QUESTION_INIT;
    pboost_reply reply;
    char request[32];
    size_t bags = rows / SIZE, step = coprime_step(labels), at = round * bags * SIZE % labels;
    pboost_id *id = need(bags * SIZE, sizeof *id);
    size_t *start = need(bags + 1, sizeof *start);

    for (size_t i = 0; i < bags * SIZE; i++)
        id[i] = (pboost_id){NULL, (int64_t)(1000000 + 7 * ((at + i) * step % labels))};
    for (size_t b = 0; b <= bags; b++)
        start[b] = b * SIZE;
    snprintf(request, sizeof request, "round-%zu", round);
    q.token = token;
    q.request_id = request;
    q.n_bags = bags;
    q.start = start;
    q.id = id;
    double begin = now(), processor = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    require(pboost_ledger_ask(&reply, ledger, &q, &err), &err);
    printf("%s{\"seconds\": %.3f, \"own_processor_seconds\": %.3f}", round > 0 ? ", " : "",
           now() - begin, clock_of(CLOCK_PROCESS_CPUTIME_ID) - processor);
    pboost_reply_free(&reply);
    free(id);
    free(start);
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    size_t labels = argc > 2 ? strtoull(argv[2], NULL, 10) : 2 * rows;
    char folder[] = "bench-ledger-XXXXXX", file[100], secret[PBOOST_TOKEN_TEXT];
    const char *store = argc > 3 ? argv[3] : getenv("PBOOST_TEST_STORE");
    pboost_error err = {0};
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_ledger *ledger;
    pboost_token token;
    pboost_problem problem;
    struct rusage usage;

    if (rows < 32 || labels < rows || mkdtemp(folder) == NULL) {
        fprintf(stderr, "usage: bench_ledger [ROWS [LABELS [STORE]]]\n");
        return 2;
    }
    snprintf(file, sizeof file, "sqlite:%s/store.db", folder);
    if (store == NULL)
        store = file;
    rules.rules.min_bag = 32;
    rules.rules.bounded = true;
    rules.rules.upper = 1;
    rules.rules.epsilon = (pboost_rational){1, 1};
    require(pboost_ledger_create(store, &rules, NULL, &err), &err);
    require(pboost_ledger_open(&ledger, store, NULL, &err), &err);
    options.name = "bench";
    require(pboost_token_create(secret, ledger, &options, &err), &err);
    require(pboost_token_authenticate(&token, &problem, ledger, secret, PBOOST_MAY(PBOOST_LEARNER),
                                      &err),
            &err);
    double import_seconds = import(ledger, labels);
    pboost_ledger_close(ledger);
    double start = now();
    require(pboost_ledger_open(&ledger, store, NULL, &err), &err);
    double open_seconds = now() - start;
    printf("{\"rows\": %zu, \"bag\": 32, \"labels\": %zu, \"import_seconds\": %.3f,"
           " \"open_seconds\": %.3f, \"rounds\": [",
           rows, labels, import_seconds, open_seconds);
    for (size_t round = 0; (round + 1) * rows <= labels && round < 5; round++)
        ask(ledger, &token, rows, labels, round);
    pboost_ledger_status status;
    require(pboost_ledger_get_status(&status, ledger, &err), &err);
    pboost_ledger_close(ledger);
    getrusage(RUSAGE_SELF, &usage);
    printf("], \"store\": \"%s\", \"peak_mib\": %ld, \"same_bytes_written_and_synced_seconds\": "
           "%.3f}\n",
           status.store, usage.ru_maxrss / 1024, write_and_sync(folder, 24 * rows));
    for (int i = 0; i < 5; i++) {
        static const char *const END[] = {"", "-wal", "-shm", ".key", ".witness"};
        snprintf(file, sizeof file, "%s/store.db%s", folder, END[i]);
        unlink(file);
    }
    return rmdir(folder) != 0;
}

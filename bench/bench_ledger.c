/* How long does a round take to be answered durably?
 *
 *     bench_ledger [ROWS [LABELS [STORE]]]
 *     bench_ledger --stores N [ROWS [ROUNDS]]
 *     bench_ledger --clients N [QUESTIONS [STORE]]
 *
 * A round has ROWS rows in bags of 32, from LABELS labels.
 * STORE is where an empty store is made; by default a SQLite file in a new folder.
 * $PBOOST_TEST_STORE is taken when it is set (tests/ledger/with_postgresql.sh).  The round's rows
 * are scattered over the table.  The peer in the same run is the disk: the same number of bytes,
 * written and synced.
 *
 * With --stores an oracle with N stores (SQLite) is compared to one with a single store: they take
 * turns, round by round, with the same questions.  What is counted is the ledger's work, from the
 * question in memory to the durable reply: its seconds, and the processor time of the thread that
 * asks.  Threads for the other stores work beside it, so that this is how long it takes where there
 * are cores for all, whatever else the machine does; it leaves the disk out.
 *
 * With --clients one client asks QUESTIONS questions about a bag of 32 rows, one after the other,
 * and then N clients ask as many in all, at the same time.  strace -f -c -e trace=fsync,fdatasync
 * counts how often the disk is waited for. */
#include <fcntl.h>
#include <pthread.h>
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

/* The processor time of it. */
static double import(double *seconds, pboost_ledger *ledger, size_t labels)
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
    double start = now(), processor = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    require(pboost_ledger_import(&report, ledger, &in, &err), &err);
    *seconds = now() - start;
    free(id);
    free(label);
    return clock_of(CLOCK_PROCESS_CPUTIME_ID) - processor;
}

static int remove_store(const char *folder)
{
    char file[100];

    for (int i = 0; i < 5; i++) {
        static const char *const END[] = {"", "-wal", "-shm", ".key", ".witness"};
        snprintf(file, sizeof file, "%.60s/store.db%s", folder, END[i]);
        unlink(file);
    }
    return rmdir(folder) != 0;
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

typedef struct {
    double seconds, thread, process; /* processor time of the thread that asks, and of all */
} effort;

static effort ask(pboost_ledger *ledger, const pboost_token *token, size_t rows, size_t labels,
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
    double begin = now(), thread = clock_of(CLOCK_THREAD_CPUTIME_ID),
           process = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    require(pboost_ledger_ask(&reply, ledger, &q, &err), &err);
    effort e = {now() - begin, clock_of(CLOCK_THREAD_CPUTIME_ID) - thread,
                clock_of(CLOCK_PROCESS_CPUTIME_ID) - process};
    pboost_reply_free(&reply);
    free(id);
    free(start);
    return e;
}

/* ---- One store against several --------------------------------------------------------------- */

typedef struct {
    size_t n;
    char url[PBOOST_STORES_MAX][120];
    pboost_ledger *ledger;
    pboost_token token;
} oracle;

static void make_token(pboost_token *out, pboost_ledger *ledger)
{
    pboost_error err = {0};
    char secret[PBOOST_TOKEN_TEXT];
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_problem problem;

    options.name = "bench";
    require(pboost_token_create(secret, ledger, &options, &err), &err);
    require(
        pboost_token_authenticate(out, &problem, ledger, secret, PBOOST_MAY(PBOOST_LEARNER), &err),
        &err);
}

static pboost_ledger_rules bench_rules(void)
{
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;

    rules.rules.min_bag = 32;
    rules.rules.bounded = true;
    rules.rules.upper = 1;
    rules.rules.epsilon = (pboost_rational){1, 1};
    return rules;
}

static void make_oracle(oracle *o, const char *folder, size_t n, size_t labels)
{
    pboost_error err = {0};
    pboost_ledger_rules rules = bench_rules();
    const char *url[PBOOST_STORES_MAX];

    o->n = n;
    for (size_t i = 0; i < n; i++) {
        snprintf(o->url[i], sizeof o->url[i], "%.60s/store-%zu-%zu.db", folder, n, i + 1);
        url[i] = o->url[i];
    }
    require(pboost_ledger_create_all(url, n, &rules, NULL, &err), &err);
    require(pboost_ledger_open_all(&o->ledger, url, n, NULL, &err), &err);
    make_token(&o->token, o->ledger);
    double seconds;
    (void)import(&seconds, o->ledger, labels);
    pboost_ledger_close(o->ledger); /* it reads the labels when it is opened */
    require(pboost_ledger_open_all(&o->ledger, url, n, NULL, &err), &err);
}

static void drop_oracle(oracle *o)
{
    static const char *const END[] = {"", "-wal", "-shm", ".key", ".witness"};
    char file[130];

    pboost_ledger_close(o->ledger);
    for (size_t i = 0; i < o->n; i++)
        for (size_t j = 0; j < sizeof END / sizeof *END; j++) {
            snprintf(file, sizeof file, "%s%s", o->url[i], END[j]);
            unlink(file);
        }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_ratio(const char *name, double *ratio, size_t n)
{
    qsort(ratio, n, sizeof *ratio, by_size);
    printf("%s: {\"median\": %.2f, \"least\": %.2f, \"most\": %.2f}", name, ratio[n / 2], ratio[0],
           ratio[n - 1]);
}

static int compare_stores(size_t stores, size_t rows, size_t rounds)
{
    enum { ROUNDS_MAX = 1000 };
    char folder[] = "bench-ledger-XXXXXX";
    oracle o[2];
    effort e[2];
    double wall[ROUNDS_MAX], thread[ROUNDS_MAX];

    if (stores < 2 || stores > PBOOST_STORES_MAX || rows < 32 || rounds < 1 ||
        rounds > ROUNDS_MAX || mkdtemp(folder) == NULL) {
        fprintf(stderr, "usage: bench_ledger --stores N [ROWS [ROUNDS]]\n");
        return 2;
    }
    make_oracle(&o[0], folder, 1, rows * rounds);
    make_oracle(&o[1], folder, stores, rows * rounds);
    printf("{\"stores\": %zu, \"rows\": %zu, \"bag\": 32, \"rounds\": [", stores, rows);
    for (size_t r = 0; r < rounds; r++) {
        for (size_t k = 0; k < 2; k++) {
            size_t i = (k + r) % 2;
            e[i] = ask(o[i].ledger, &o[i].token, rows, rows * rounds, r);
        }
        wall[r] = e[0].seconds / e[1].seconds;
        thread[r] = e[0].thread / e[1].thread;
        printf("%s\n {\"seconds\": [%.4f, %.4f], \"thread\": [%.4f, %.4f], \"process\": [%.4f, "
               "%.4f]}",
               r > 0 ? "," : "", e[0].seconds, e[1].seconds, e[0].thread, e[1].thread, e[0].process,
               e[1].process);
    }
    print_ratio("],\n \"rate_by_seconds\"", wall, rounds);
    print_ratio(",\n \"rate_by_thread\"", thread, rounds);
    printf("}\n");
    drop_oracle(&o[0]);
    drop_oracle(&o[1]);
    return rmdir(folder) != 0;
}

/* ---- Many small questions -------------------------------------------------------------------- */

typedef struct {
    pboost_ledger *ledger;
    const pboost_token *token;
    size_t first, end, labels; /* questions, from 0 */
    pthread_t thread;
} client;

static void *ask_often(void *argument)
{
    const client *c = argument;
    for (size_t i = c->first; i < c->end; i++)
        (void)ask(c->ledger, c->token, 32, c->labels, i);
    return NULL;
}

/* Questions first .. first+n-1, divided among the clients. */
static void ask_at_once(const client *all, size_t clients, size_t first, size_t n)
{
    client *c = need(clients, sizeof *c);
    double began = now(), used = clock_of(CLOCK_PROCESS_CPUTIME_ID);

    for (size_t i = 0; i < clients; i++) {
        c[i] = *all;
        c[i].first = first + n * i / clients;
        c[i].end = first + n * (i + 1) / clients;
        if (pthread_create(&c[i].thread, NULL, ask_often, &c[i]) != 0)
            exit(1);
    }
    for (size_t i = 0; i < clients; i++)
        pthread_join(c[i].thread, NULL);
    double seconds = now() - began;
    printf("%s{\"clients\": %zu, \"answers_a_second\": %.0f, \"processor_us_an_answer\": %.0f}",
           first > 0 ? ", " : "", clients, (double)n / seconds,
           1e6 * (clock_of(CLOCK_PROCESS_CPUTIME_ID) - used) / (double)n);
    free(c);
}

static int many_clients(size_t clients, size_t questions, const char *store)
{
    char folder[] = "bench-ledger-XXXXXX", file[100];
    pboost_error err = {0};
    pboost_ledger_rules rules = bench_rules();
    pboost_ledger *ledger;
    pboost_token token;
    double seconds;
    size_t labels = 2 * 32 * questions;

    if (clients < 1 || questions < clients || mkdtemp(folder) == NULL) {
        fprintf(stderr, "usage: bench_ledger --clients N [QUESTIONS [STORE]]\n");
        return 2;
    }
    snprintf(file, sizeof file, "sqlite:%s/store.db", folder);
    store = store != NULL ? store : file;
    require(pboost_ledger_create(store, &rules, NULL, &err), &err);
    require(pboost_ledger_open(&ledger, store, NULL, &err), &err);
    make_token(&token, ledger);
    (void)import(&seconds, ledger, labels);
    const client all = {.ledger = ledger, .token = &token, .labels = labels};
    printf("[");
    ask_at_once(&all, 1, 0, questions);
    ask_at_once(&all, clients, questions, questions);
    printf("]\n");
    pboost_ledger_close(ledger);
    return remove_store(folder);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--clients") == 0)
        return many_clients(strtoull(argv[2], NULL, 10),
                            argc > 3 ? strtoull(argv[3], NULL, 10) : 2000,
                            argc > 4 ? argv[4] : getenv("PBOOST_TEST_STORE"));
    if (argc > 2 && strcmp(argv[1], "--stores") == 0)
        return compare_stores(strtoull(argv[2], NULL, 10),
                              argc > 3 ? strtoull(argv[3], NULL, 10) : 100000,
                              argc > 4 ? strtoull(argv[4], NULL, 10) : 15);
    size_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    size_t labels = argc > 2 ? strtoull(argv[2], NULL, 10) : 2 * rows;
    char folder[] = "bench-ledger-XXXXXX", file[100];
    const char *store = argc > 3 ? argv[3] : getenv("PBOOST_TEST_STORE");
    pboost_error err = {0};
    pboost_ledger_rules rules = bench_rules();
    pboost_ledger *ledger;
    pboost_token token;
    struct rusage usage;

    if (rows < 32 || labels < rows || mkdtemp(folder) == NULL) {
        fprintf(stderr, "usage: bench_ledger [ROWS [LABELS [STORE]]]\n");
        return 2;
    }
    snprintf(file, sizeof file, "sqlite:%s/store.db", folder);
    if (store == NULL)
        store = file;
    require(pboost_ledger_create(store, &rules, NULL, &err), &err);
    require(pboost_ledger_open(&ledger, store, NULL, &err), &err);
    make_token(&token, ledger);
    double import_seconds, imported = import(&import_seconds, ledger, labels);
    pboost_ledger_close(ledger);
    double start = now(), opened = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    require(pboost_ledger_open(&ledger, store, NULL, &err), &err);
    double open_seconds = now() - start;
    opened = clock_of(CLOCK_PROCESS_CPUTIME_ID) - opened;
    printf("{\"rows\": %zu, \"bag\": 32, \"labels\": %zu, \"import_seconds\": %.3f,"
           " \"import_processor_seconds\": %.3f, \"open_seconds\": %.3f,"
           " \"open_processor_seconds\": %.3f, \"rounds\": [",
           rows, labels, import_seconds, imported, open_seconds, opened);
    for (size_t round = 0; (round + 1) * rows <= labels && round < 5; round++) {
        effort e = ask(ledger, &token, rows, labels, round);
        printf("%s{\"seconds\": %.3f, \"own_processor_seconds\": %.3f}", round > 0 ? ", " : "",
               e.seconds, e.process);
    }
    pboost_ledger_status status;
    require(pboost_ledger_get_status(&status, ledger, &err), &err);
    pboost_ledger_close(ledger);
    getrusage(RUSAGE_SELF, &usage);
    printf("], \"store\": \"%s\", \"peak_mib\": %ld, \"same_bytes_written_and_synced_seconds\": "
           "%.3f}\n",
           status.store, usage.ru_maxrss / 1024, write_and_sync(folder, 24 * rows));
    return remove_store(folder);
}

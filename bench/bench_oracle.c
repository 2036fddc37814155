/* How long does a learner wait for a round, over loopback with TLS, from the real service?
 *
 *     bench_oracle [ROWS [LABELS [STORE]]]     rounds of ROWS rows in bags of 32 from LABELS labels
 *
 * STORE is where an empty store is made; by default a SQLite file in a new folder.
 * $PBOOST_TEST_STORE is taken when it is set (tests/ledger/with_postgresql.sh).  Each round is one
 * or more durable questions in the binary form.  Then a thousand connections that send a byte from
 * time to time are held open, and a normal client connects again and again: its longest wait is
 * shown. Needs the program priorboost beside it, and openssl for the certificate. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "remote.h"

enum { BAG = 32, SLOW = 1000 };

static double clock_of(clockid_t clock)
{
    struct timespec t = {0};
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
        fprintf(stderr, "bench_oracle: %s\n", err->message);
        exit(1);
    }
}

static void *need(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (memory == NULL) {
        fprintf(stderr, "bench_oracle: out of memory\n");
        exit(1);
    }
    return memory;
}

/* ---- The service ----------------------------------------------------------------------------- */

static pid_t start(int *out, char *const argv[])
{
    int ends[2];
    if (pipe(ends) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(ends[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        close(ends[0]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    *out = ends[0];
    return pid;
}

#define ARGUMENT(text) ((char *)(uintptr_t)(text))

static void make_certificate(void)
{
    int out, status = 1;
    char *const argv[] = {ARGUMENT("openssl"),
                          ARGUMENT("req"),
                          ARGUMENT("-x509"),
                          ARGUMENT("-newkey"),
                          ARGUMENT("ec"),
                          ARGUMENT("-pkeyopt"),
                          ARGUMENT("ec_paramgen_curve:P-256"),
                          ARGUMENT("-nodes"),
                          ARGUMENT("-days"),
                          ARGUMENT("2"),
                          ARGUMENT("-subj"),
                          ARGUMENT("/CN=localhost"),
                          ARGUMENT("-addext"),
                          ARGUMENT("subjectAltName=IP:127.0.0.1"),
                          ARGUMENT("-keyout"),
                          ARGUMENT("key.pem"),
                          ARGUMENT("-out"),
                          ARGUMENT("cert.pem"),
                          NULL};
    waitpid(start(&out, argv), &status, 0);
    close(out);
    if (status != 0) {
        fprintf(stderr, "bench_oracle: openssl made no certificate\n");
        exit(1);
    }
}

/* The program, listening on `url`. */
static pid_t serve(char *url, size_t size, const char *program, const char *store)
{
    int out;
    size_t n = 0;
    char line[300];
    char *const argv[] = {ARGUMENT(program),
                          ARGUMENT("serve"),
                          ARGUMENT("--store"),
                          ARGUMENT(store),
                          ARGUMENT("--listen"),
                          ARGUMENT("127.0.0.1:0"),
                          ARGUMENT("--tls-cert"),
                          ARGUMENT("cert.pem"),
                          ARGUMENT("--tls-key"),
                          ARGUMENT("key.pem"),
                          NULL};
    pid_t pid = start(&out, argv);

    while (n < sizeof line - 1 && read(out, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    close(out);
    const char *at = strstr(line, "https://");
    if (at == NULL) {
        fprintf(stderr, "bench_oracle: %s does not serve\n", program);
        exit(1);
    }
    snprintf(url, size, "%s", at);
    return pid;
}

static double processor_seconds(pid_t pid)
{
    clockid_t theirs;
    if (clock_getcpuclockid(pid, &theirs) != 0)
        exit(1);
    return clock_of(theirs);
}

static long peak_mib(pid_t pid)
{
    char path[64], line[200];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib / 1024;
}

/* ---- The store ------------------------------------------------------------------------------- */

static int64_t id_of(size_t row)
{
    return (int64_t)(1000000 + 7 * row);
}

static void make_store(char secret[PBOOST_TOKEN_TEXT], const char *store, size_t labels)
{
    pboost_error err = {0};
    pboost_ledger *ledger;
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_import_report report;
    pboost_id *id = need(labels, sizeof *id);
    double *label = need(labels, sizeof *label);

    rules.rules.min_bag = BAG;
    rules.rules.bounded = true;
    rules.rules.upper = 1;
    rules.rules.epsilon = (pboost_rational){1, 1};
    require(pboost_ledger_create(store, &rules, NULL, &err), &err);
    require(pboost_ledger_open(&ledger, store, NULL, &err), &err);
    for (size_t i = 0; i < labels; i++) {
        id[i].number = id_of(i);
        label[i] = (double)(i * 2654435761u % 2);
    }
    in.n = labels;
    in.id = id;
    in.label = label;
    double began = now(), used = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    require(pboost_ledger_import(&report, ledger, &in, &err), &err);
    printf("{\"import_seconds\": %.1f, \"import_processor_seconds\": %.1f, ", now() - began,
           clock_of(CLOCK_PROCESS_CPUTIME_ID) - used);
    options.name = "bench";
    require(pboost_token_create(secret, ledger, &options, &err), &err);
    pboost_ledger_close(ledger);
    free(id);
    free(label);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Rows scattered over the table: a step through it that visits every row once. */
static size_t coprime_step(size_t n)
{
    for (size_t step = (size_t)((double)n * 0.6180339887) | 1;; step += 2) {
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

/* Seconds of one round: of the clock, and of processors in the learner and in the service. */
static void ask_round(const pboost_oracle *oracle, pid_t service, size_t rows, size_t labels,
                      size_t round)
{
    pboost_error err = {0};
    pboost_bags bags = {rows, rows / BAG, need(rows, sizeof(size_t)),
                        need(rows / BAG + 1, sizeof(size_t))};
    double *answer = need(bags.n_bags, sizeof *answer);
    size_t step = coprime_step(labels);

    for (size_t i = 0; i < rows; i++)
        bags.row[i] = (round * rows + i) * step % labels;
    for (size_t b = 0; b <= bags.n_bags; b++)
        bags.start[b] = b * BAG;
    double began = now(), own = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    double other = processor_seconds(service);
    require(oracle->ask(oracle->self, round, &bags, answer, &err), &err);
    printf("%s{\"seconds\": %.3f, \"learner_processor_seconds\": %.3f, "
           "\"service_processor_seconds\": %.3f}",
           round > 0 ? ", " : "", now() - began, clock_of(CLOCK_PROCESS_CPUTIME_ID) - own,
           processor_seconds(service) - other);
    pboost_bags_free(&bags);
    free(answer);
}

/* ---- Slow clients ---------------------------------------------------------------------------- */

static int connect_to(const char *url)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    const char *colon = strrchr(url, ':');

    address.sin_port = htons((uint16_t)atoi(colon + 1));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        perror("bench_oracle: connect");
        exit(1);
    }
    return fd;
}

/* The longest wait of new connections while the slow ones send a byte each. */
static double longest_wait(const char *url, const http_options *http)
{
    static const unsigned char HELLO[] = {22, 3, 1, 2, 0, 1, 0, 1};
    pboost_error err = {0};
    int *slow = need(SLOW, sizeof *slow);
    double longest = 0;

    for (size_t i = 0; i < SLOW; i++)
        slow[i] = connect_to(url);
    for (size_t turn = 0; turn < sizeof HELLO; turn++) {
        for (size_t i = 0; i < SLOW; i++)
            if (send(slow[i], HELLO + turn, 1, MSG_NOSIGNAL) != 1)
                perror("bench_oracle: a slow client was cut off");
        for (int client = 0; client < 5; client++) {
            pboost_remote *remote;
            const pboost_remote_options options = {.http = *http};
            double began = now();
            require(pboost_remote_open(&remote, url, &options, &err), &err);
            longest = now() - began > longest ? now() - began : longest;
            pboost_remote_close(remote);
        }
    }
    for (size_t i = 0; i < SLOW; i++)
        close(slow[i]);
    free(slow);
    return longest;
}

/* ---- The run --------------------------------------------------------------------------------- */

static void find_program(char *out, size_t size, const char *self)
{
    const char *slash = strrchr(self, '/');
    char *folder = realpath(slash != NULL ? self : "/proc/self/exe", NULL);
    if (folder == NULL)
        exit(1);
    *strrchr(folder, '/') = '\0';
    snprintf(out, size, "%s/priorboost", folder);
    free(folder);
}

static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void bench(const char *program, const char *store, size_t rows, size_t labels)
{
    pboost_error err = {0};
    pboost_remote *remote;
    char secret[PBOOST_TOKEN_TEXT], url[300];
    pboost_id *id = need(labels, sizeof *id);
    int status = 0;

    make_store(secret, store, labels);
    make_certificate();
    double began = now();
    pid_t pid = serve(url, sizeof url, program, store);
    printf("\"import_peak_mib\": %ld, ", peak_mib(getpid()));
    printf("\"rows\": %zu, \"bag\": %d, \"labels\": %zu, \"store\": \"%.6s\", "
           "\"start_seconds\": %.3f, \"start_processor_seconds\": %.3f, \"rounds\": [",
           rows, (int)BAG, labels, strncmp(store, "postgres", 8) == 0 ? "postgr" : "sqlite",
           now() - began, processor_seconds(pid));
    http_options http = {.token = secret, .ca = "cert.pem", .patience = 5};
    const pboost_remote_options options = {.http = http};
    require(pboost_remote_open(&remote, url, &options, &err), &err);
    for (size_t i = 0; i < labels; i++)
        id[i].number = id_of(i);
    pboost_remote_set_rows(remote, id, labels);
    pboost_oracle oracle = pboost_remote_interface(remote);
    for (size_t round = 0; (round + 1) * rows <= labels && round < 5; round++)
        ask_round(&oracle, pid, rows, labels, round);
    pboost_remote_close(remote);
    printf("], \"service_peak_mib\": %ld, \"slow_connections\": %d, \"longest_wait_seconds\": %.3f",
           peak_mib(pid), (int)SLOW, longest_wait(url, &http));
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    printf(", \"exit_code\": %d}\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    free(id);
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    size_t labels = argc > 2 ? strtoull(argv[2], NULL, 10) : 3 * rows;
    const char *store = argc > 3 ? argv[3] : getenv("PBOOST_TEST_STORE");
    char folder[] = "/tmp/bench-oracle-XXXXXX", program[4096];

    rows -= rows % BAG;
    find_program(program, sizeof program, argv[0]);
    if (rows == 0 || labels < rows || mkdtemp(folder) == NULL || chdir(folder) != 0) {
        fprintf(stderr, "usage: bench_oracle [ROWS [LABELS [STORE]]]\n");
        return 2;
    }
    allow_descriptors();
    bench(program, store != NULL ? store : "sqlite:store.db", rows, labels);
    static const char *const LEFT[] = {"store.db",     "store.db-wal",     "store.db-shm",
                                       "store.db.key", "store.db.witness", "cert.pem",
                                       "key.pem"};
    for (size_t i = 0; i < sizeof LEFT / sizeof *LEFT; i++)
        unlink(LEFT[i]);
    return rmdir(folder) != 0;
}

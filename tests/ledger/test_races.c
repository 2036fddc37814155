/* Sixty-four clients race over the same rows: eight processes with an open ledger each, eight
 * threads in each.  Every row ends in at most one answer, every answer is right, and clients that
 * race with the same request get the same bytes. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "ledger_testing.h"

enum {
    PROCESSES = 8,
    THREADS = 8,
    ROWS = 400,
    SIZE = 4,
    ATTEMPTS = 12,
    SHARED = 12,
    BODY = 2 * 8 + 32
};

typedef struct {
    atomic_int answered[ROWS]; /* how often a row was in an answer that was not a retry */
    atomic_int wrong, refused, retried, fresh_shared;
    atomic_int has_body[SHARED];
    unsigned char body[SHARED][BODY];
    char message[640];
} board;

static board *the_board;
static double label_of[ROWS];
static pboost_token the_token;

static void complain(const char *what, const pboost_error *err)
{
    if (atomic_fetch_add(&the_board->wrong, 1) == 0)
        snprintf(the_board->message, sizeof the_board->message, "%s: %s", what, err->message);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Two bags of distinct rows, drawn from a narrow window so that others draw them too. */
static void draw(int64_t row[2 * SIZE], uint64_t *state)
{
    for (int i = 0; i < 2 * SIZE; i++) {
        bool again = true;
        while (again) {
            row[i] = 1 + (int64_t)(next(state) % ROWS);
            again = false;
            for (int j = 0; j < i; j++)
                again = again || row[j] == row[i];
        }
    }
}

static void count(const int64_t *row, const pboost_reply *reply, const pboost_error *err)
{
    for (int b = 0; b < 2; b++) {
        double sum = 0;
        for (int i = 0; i < SIZE; i++)
            sum += label_of[row[SIZE * b + i] - 1];
        if (mean_of(reply, (size_t)b) != sum / SIZE)
            complain("a wrong answer", err);
    }
    for (int i = 0; i < 2 * SIZE; i++)
        if (atomic_fetch_add(&the_board->answered[row[i] - 1], 1) > 0)
            complain("a label was used in two answers", err);
}

static void ask_alone(pboost_ledger *ledger, uint64_t *state, const char *request)
{
    int64_t row[2 * SIZE];
    pboost_error err = {0};
    pboost_reply reply;

    draw(row, state);
    pboost_status st = ask(&reply, ledger, &the_token, request, row, 2 * SIZE, SIZE, NULL, &err);
    if (st == PBOOST_OK && !reply.retried)
        count(row, &reply, &err);
    else if (st == PBOOST_REFUSED && reply.problem == PBOOST_PROBLEM_ROW_SPENT)
        atomic_fetch_add(&the_board->refused, 1);
    else
        complain("neither answered nor spent", &err);
    pboost_reply_free(&reply);
}

/* All clients put the same question under the same id: it is spent by one of them, or, if another
 * question took a row of it, refused to all. */
static void ask_together(pboost_ledger *ledger, int n)
{
    int64_t row[2 * SIZE];
    uint64_t state = 977 + (uint64_t)n;
    pboost_error err = {0};
    pboost_reply reply;
    char request[20];

    draw(row, &state);
    snprintf(request, sizeof request, "shared-%d", n);
    pboost_status st = ask(&reply, ledger, &the_token, request, row, 2 * SIZE, SIZE, NULL, &err);
    if (st == PBOOST_OK) {
        if (!reply.retried) {
            count(row, &reply, &err);
            memcpy(the_board->body[n], reply.body, BODY);
            atomic_store(&the_board->has_body[n], 1);
            atomic_fetch_add(&the_board->fresh_shared, 1);
        } else {
            atomic_fetch_add(&the_board->retried, 1);
            for (int wait = 0; atomic_load(&the_board->has_body[n]) == 0 && wait < 10000; wait++)
                usleep(1000);
            if (memcmp(the_board->body[n], reply.body, BODY) != 0)
                complain("a retry got other bytes", &err);
        }
    } else if (reply.problem != PBOOST_PROBLEM_ROW_SPENT) {
        complain("neither answered nor spent", &err);
    }
    pboost_reply_free(&reply);
}

typedef struct {
    pboost_ledger *ledger;
    int number;
} client;

static void *run_client(void *user)
{
    const client *c = user;
    uint64_t state = 1000003 * (uint64_t)(c->number + 1);
    char request[40];

    for (int i = 0; i < ATTEMPTS; i++) {
        ask_together(c->ledger, i % SHARED);
        snprintf(request, sizeof request, "alone-%d-%d", c->number, i);
        ask_alone(c->ledger, &state, request);
    }
    return NULL;
}

static int run_process(const char *url, int number)
{
    pboost_error err = {0};
    pboost_ledger *ledger;
    pthread_t thread[THREADS];
    client c[THREADS];

    if (pboost_ledger_open(&ledger, url, NULL, &err) != PBOOST_OK) {
        complain("opening", &err);
        return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        c[i] = (client){ledger, number * THREADS + i};
        pthread_create(&thread[i], NULL, run_client, &c[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pboost_ledger_close(ledger);
    return 0;
}

static void a_row_is_answered_for_once_however_many_race(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    rules.claim_seconds = 300;
    test_store t;
    uint64_t spent = 0;

    the_board =
        mmap(NULL, sizeof *the_board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(the_board != MAP_FAILED);
    for (int i = 0; i < ROWS; i++)
        label_of[i] = i % 3 == 0;
    pboost_ledger *ledger = make_ledger(&t, &rules, ROWS, label_of);
    the_token = plain_token(ledger, "a");
    pboost_ledger_close(ledger);
    for (int i = 0; i < PROCESSES; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(run_process(t.url, i));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    if (the_board->wrong > 0)
        fail_msg("%d: %s", the_board->wrong, the_board->message);
    ledger = open_store(&t);
    assert_sound(ledger);
    for (int i = 0; i < ROWS; i++)
        spent += (uint64_t)the_board->answered[i];
    assert_int_equal(status_of(ledger).spent, spent);
    assert_true(spent >= ROWS / 8 && the_board->refused > 100 && the_board->retried > 20);
    assert_true(the_board->fresh_shared >= 1);
    pboost_ledger_close(ledger);
    munmap(the_board, sizeof *the_board);
    drop_store(&t);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

enum { WAITING = 5 };

static struct {
    ledger_side side;
    int order[WAITING + 1];
    int done;
} counter;

static void *take_turn(void *user)
{
    pboost_side_lock(&counter.side);
    counter.order[counter.done++] = *(const int *)user;
    pboost_side_unlock(&counter.side);
    return NULL;
}

static uint64_t numbers_taken(void)
{
    pthread_mutex_lock(&counter.side.mutex);
    uint64_t n = counter.side.next;
    pthread_mutex_unlock(&counter.side.mutex);
    return n;
}

/* One who comes back at once is behind those who wait. */
static void who_waits_first_goes_first(void **state)
{
    (void)state;
    pthread_t thread[WAITING];
    int name[WAITING + 1];

    pthread_mutex_init(&counter.side.mutex, NULL);
    pthread_cond_init(&counter.side.turn, NULL);
    pboost_side_lock(&counter.side);
    for (int i = 0; i < WAITING; i++) {
        name[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, take_turn, &name[i]), 0);
        while (numbers_taken() != (uint64_t)i + 2) /* until it waits */
            sched_yield();
    }
    name[WAITING] = WAITING;
    pboost_side_unlock(&counter.side);
    take_turn(&name[WAITING]);
    for (int i = 0; i < WAITING; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i <= WAITING; i++)
        assert_int_equal(counter.order[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_answered_for_once_however_many_race),
        cmocka_unit_test(who_waits_first_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A seeded simulation: two learners, two service processes on one store, a bad network.
 *
 *     ledger_simulation [RUNS [SEED]]       run SEED, SEED+1, ...; on SQLite, or on
 *                                           $PBOOST_TEST_STORE
 *
 * Requests and replies are lost, come twice, or come late; services crash before their answer is
 * stored or after it, and start again; the clock jumps by years; rows are added and erased.  One
 * row of the store has label 1 and all others 0, without noise: whatever a learner receives, a bag
 * sum of 2, or two ones under different requests, would prove that a row was used twice. Everything
 * that happens follows from the seed, so that a failure can be run again. */
#include "ledger_testing.h"

enum { ROWS = 240, MORE_ROWS = 60, SIZE = 3, STEPS = 250, LEARNERS = 2, SERVICES = 2 };
enum { MAX_QUESTIONS = STEPS * 2, MAX_ROWS = 4 * SIZE };

typedef struct {
    size_t learner, n;
    int64_t row[MAX_ROWS];
    char request[24];
    bool open;     /* the learner waits for a reply */
    bool answered; /* it has one */
    size_t length;
    unsigned char body[128];
} question;

typedef struct {
    uint64_t state;
    test_store store;
    pboost_ledger *service[SERVICES];
    pboost_token token[LEARNERS];
    char head[LEARNERS][PBOOST_HEAD_TEXT];
    question asked[MAX_QUESTIONS];
    size_t n_asked;
    int64_t rows, clock;
    int used[ROWS + MORE_ROWS + 1]; /* by row: answers that it is in */
    double ones;                    /* labels that learners have seen in all answers */
} world;

static struct {
    size_t runs, questions, answers, refusals, lost_requests, lost_replies, repeated, late, crashes,
        restarts, jumps, erasures;
} tried;

static uint64_t running;

static void wrong(const char *what, const pboost_error *err)
{
    fprintf(stderr, "ledger_simulation: seed %llu: %s%s%s\n", (unsigned long long)running, what,
            err != NULL ? ": " : "", err != NULL ? err->message : "");
    exit(1);
}

static uint64_t draw(world *w, uint64_t n)
{
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (w->state >> 33) % n;
}

/* ---- Services -------------------------------------------------------------------------------- */

static int64_t tell_time(void *user)
{
    return ((world *)user)->clock;
}

static void start_service(world *w, size_t i)
{
    pboost_error err = {0};
    pboost_ledger_options options = PBOOST_LEDGER_OPTIONS_INIT;

    options.now = tell_time;
    options.user = w;
    if (pboost_ledger_open(&w->service[i], w->store.url, &options, &err) != PBOOST_OK)
        wrong("the store does not open", &err);
}

static void restart_service(world *w, size_t i)
{
    pboost_ledger_close(w->service[i]);
    start_service(w, i);
    tried.restarts++;
}

/* A crash while the answer is being made: nothing of it may stay. */
static pboost_status crash(void *user, unsigned char **body, size_t *length,
                           const pboost_ledger_answer *answer, pboost_error *err)
{
    (void)user, (void)body, (void)length, (void)answer;
    return pboost_fail(err, PBOOST_INTERNAL, "crash");
}

/* ---- Learners -------------------------------------------------------------------------------- */

/* A new question about rows that the learner believes to be free; both learners want all rows. */
static question *think_of_one(world *w, size_t learner)
{
    question *q = &w->asked[w->n_asked];
    size_t bags = 1 + draw(w, MAX_ROWS / SIZE);

    if (w->n_asked == MAX_QUESTIONS)
        return NULL;
    *q = (question){.learner = learner, .n = bags * SIZE, .open = true};
    for (size_t i = 0; i < q->n; i++) {
        bool again = true;
        while (again) {
            q->row[i] = 1 + (int64_t)draw(w, (uint64_t)w->rows);
            again = w->used[q->row[i]] > 0 && draw(w, 20) > 0; /* sometimes it forgets */
            for (size_t j = 0; j < i; j++)
                again = again || q->row[j] == q->row[i];
        }
    }
    snprintf(q->request, sizeof q->request, "q%zu", w->n_asked++);
    tried.questions++;
    return q;
}

static void receive(world *w, question *q, const pboost_reply *reply)
{
    size_t bags = q->n / SIZE;

    if (reply->length != 8 * bags + 32)
        wrong("a reply of the wrong length", NULL);
    if (q->answered) {
        if (reply->length != q->length || memcmp(reply->body, q->body, q->length) != 0)
            wrong("a question was answered in two ways", NULL);
        return;
    }
    q->answered = true;
    q->open = false;
    q->length = reply->length;
    memcpy(q->body, reply->body, reply->length);
    head_of(w->head[q->learner], reply);
    for (size_t i = 0; i < q->n; i++)
        if (++w->used[q->row[i]] > 1)
            wrong("a row is in two answers", NULL);
    for (size_t b = 0; b < bags; b++)
        w->ones += mean_of(reply, b) * SIZE;
    if (w->ones > 1.5)
        wrong("a bag sum of two", NULL);
    tried.answers++;
}

/* ---- The network ----------------------------------------------------------------------------- */

/* The request reaches a service, unless that crashes; the reply reaches the learner, unless lost.
 */
static void deliver(world *w, question *q)
{
    size_t service = draw(w, SERVICES);
    pboost_error err = {0};
    pboost_reply reply;
    pboost_question wire = PBOOST_QUESTION_INIT;
    pboost_id id[MAX_ROWS];
    size_t start[MAX_ROWS / SIZE + 1];
    bool crashing = draw(w, 12) == 0;

    for (size_t i = 0; i < q->n; i++)
        id[i] = (pboost_id){NULL, q->row[i]};
    for (size_t b = 0; b <= q->n / SIZE; b++)
        start[b] = b * SIZE;
    wire.token = &w->token[q->learner];
    wire.request_id = q->request;
    wire.n_bags = q->n / SIZE;
    wire.start = start;
    wire.id = id;
    wire.head = w->head[q->learner];
    wire.render = crashing ? crash : NULL;
    pboost_status st = pboost_ledger_ask(&reply, w->service[service], &wire, &err);
    if (crashing && st == PBOOST_INTERNAL) {
        tried.crashes++;
        restart_service(w, service);
        return;
    }
    if (st != PBOOST_OK && st != PBOOST_REFUSED)
        wrong("a question failed", &err);
    if (st == PBOOST_REFUSED && reply.problem != PBOOST_PROBLEM_ROW_SPENT &&
        reply.problem != PBOOST_PROBLEM_UNKNOWN_ROW)
        wrong("a question was refused", &err);
    if (draw(w, 10) == 0) { /* after it was stored */
        tried.crashes++;
        restart_service(w, service);
        tried.lost_replies++;
    } else if (draw(w, 4) == 0) {
        tried.lost_replies++;
    } else if (st == PBOOST_OK) {
        receive(w, q, &reply);
    } else {
        if (q->answered)
            wrong("an answered question was refused later", &err);
        q->open = false;
        tried.refusals++;
    }
    pboost_reply_free(&reply);
}

static void send(world *w, question *q)
{
    if (draw(w, 5) == 0) {
        tried.lost_requests++;
        return;
    }
    deliver(w, q);
    if (draw(w, 6) == 0) {
        tried.repeated++;
        deliver(w, q);
    }
}

/* ---- Other events ---------------------------------------------------------------------------- */

static void add_rows(world *w)
{
    if (w->rows == ROWS) {
        double label[MORE_ROWS] = {0};
        import_rows(w->service[draw(w, SERVICES)], ROWS + 1, MORE_ROWS, label);
        w->rows += MORE_ROWS;
    }
}

static void erase_row(world *w)
{
    pboost_error err = {0};
    size_t forgotten;
    pboost_id id = {NULL, 1 + (int64_t)draw(w, (uint64_t)w->rows)};

    if (forget_rows(&forgotten, w->service[draw(w, SERVICES)], &id, 1, &err) != PBOOST_OK)
        wrong("a row cannot be erased", &err);
    tried.erasures += forgotten;
}

static void step(world *w)
{
    size_t learner = draw(w, LEARNERS);
    question *waiting = NULL;

    for (size_t i = 0; i < w->n_asked; i++)
        if (w->asked[i].learner == learner && w->asked[i].open)
            waiting = &w->asked[i];
    if (waiting == NULL)
        waiting = think_of_one(w, learner);
    if (waiting != NULL)
        send(w, waiting); /* the first time, or a retry */
    if (w->n_asked > 0 && draw(w, 8) == 0) {
        tried.late++; /* a copy that was under way for long */
        deliver(w, &w->asked[draw(w, w->n_asked)]);
    }
    if (draw(w, 20) == 0) {
        tried.jumps++;
        w->clock += (int64_t)draw(w, 20 * 31536000) - 10 * 31536000;
    }
    if (draw(w, 40) == 0)
        restart_service(w, draw(w, SERVICES));
    if (draw(w, 60) == 0)
        erase_row(w);
    if (draw(w, 100) == 0)
        add_rows(w);
}

static void run(uint64_t seed)
{
    static world w;
    double label[ROWS] = {0};
    pboost_ledger_rules rules = plain_rules();

    running = seed;
    memset(&w, 0, sizeof w);
    w.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w.rows = ROWS;
    w.clock = 1700000000;
    label[draw(&w, ROWS)] = 1;
    rules.rules.min_bag = SIZE;
    w.service[0] = make_ledger(&w.store, &rules, ROWS, label);
    w.token[0] = plain_token(w.service[0], "a");
    w.token[1] = plain_token(w.service[0], "b");
    start_service(&w, 1);
    restart_service(&w, 0);
    for (int i = 0; i < STEPS; i++)
        step(&w);
    for (size_t i = 0; i < SERVICES; i++) {
        assert_sound(w.service[i]);
        pboost_ledger_close(w.service[i]);
    }
    drop_store(&w.store);
    tried.runs++;
}

int main(int argc, char **argv)
{
    size_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (size_t i = 0; i < runs; i++)
        run(seed + i);
    if (tried.answers == 0 || tried.refusals == 0 || tried.crashes == 0)
        wrong("nothing happened", NULL);
    printf("| simulation, %s | %zu runs, seeds %llu to %llu | %zu questions, %zu answers, %zu "
           "refusals; lost: %zu requests, %zu replies; %zu came twice, %zu late; %zu crashes, %zu "
           "restarts, %zu clock jumps, %zu erasures | no label used twice |\n",
           on_postgresql() ? "PostgreSQL" : "SQLite", tried.runs, (unsigned long long)seed,
           (unsigned long long)(seed + runs - 1), tried.questions, tried.answers, tried.refusals,
           tried.lost_requests, tried.lost_replies, tried.repeated, tried.late, tried.crashes,
           tried.restarts, tried.jumps, tried.erasures);
    return 0;
}

/* The threads of the service that wait for the ledger. */
#include "testing.h"

#include "service.h"

static void never(request *r)
{
    (void)r;
    abort();
}

/* A connection may hand over a request while the service stops.  Suspended with nobody left to
 * resume it, it would abort the whole service (MHD_stop_daemon). */
static void what_comes_after_the_stop_is_refused(void **state)
{
    (void)state;
    workers w = {0};
    request r = {.http = NULL}; /* not looked at: libmicrohttpd would crash */
    pboost_error err;

    assert_ok(pboost_workers_start(&w, never, &err), err);
    pboost_workers_stop(&w);
    assert_false(pboost_workers_submit(&w, &r));
    assert_null(w.first);
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t begun[2]; /* of the greedy and of the other */
    size_t wanted;   /* that may end */
} play = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Begins, and ends when it may. */
static void wait_on_stage(request *r)
{
    pthread_mutex_lock(&play.lock);
    play.begun[r->on->owner->token - 1]++;
    pthread_cond_broadcast(&play.changed);
    while (play.wanted == 0)
        pthread_cond_wait(&play.changed, &play.lock);
    pthread_mutex_unlock(&play.lock);
}

/* However much a greedy token asks, it has half of the threads, and the next one is not behind it.
 */
static void a_greedy_token_has_half_of_the_threads(void **state)
{
    (void)state;
    enum { GREEDY = 30 };
    service *s = calloc(1, sizeof *s);
    account owner[2] = {{.token = 1, .users = 1}, {.token = 2, .users = 1}};
    connection on[2] = {{.owner = &owner[0]}, {.owner = &owner[1]}};
    request r[GREEDY + 1];
    pboost_error err;

    assert_non_null(s);
    pthread_mutex_init(&s->shares.lock, NULL);
    for (size_t i = 0; i <= GREEDY; i++)
        r[i] =
            (request){.service = s, .on = &on[i == GREEDY], .next = i < GREEDY ? &r[i + 1] : NULL};
    s->workers.first = r;
    s->workers.last = &r[GREEDY];
    assert_ok(pboost_workers_start(&s->workers, wait_on_stage, &err), err);
    pthread_mutex_lock(&play.lock);
    while (play.begun[0] + play.begun[1] < N_WORKERS / 2 + 1)
        pthread_cond_wait(&play.changed, &play.lock);
    size_t greedy = play.begun[0], other = play.begun[1];
    play.wanted = 1;
    pthread_cond_broadcast(&play.changed);
    pthread_mutex_unlock(&play.lock);
    pboost_workers_stop(&s->workers); /* after all are done */
    assert_int_equal(greedy, N_WORKERS / 2);
    assert_int_equal(other, 1);
    assert_int_equal(play.begun[0], GREEDY);
    assert_int_equal(owner[0].working + owner[1].working + s->workers.busy, 0);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_after_the_stop_is_refused),
        cmocka_unit_test(a_greedy_token_has_half_of_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

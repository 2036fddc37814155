/* Jobs on threads: each is run once, and a failure is returned and ends the rest. */
#include <stdatomic.h>

#include "base/parallel.h"
#include "testing.h"

enum { JOBS = 1000, THREADS = 4 };

typedef struct {
    atomic_int runs[JOBS], all;
    size_t fails_from; /* jobs from this one on fail */
} ledger;

static pboost_status count_job(void *context, size_t job, int worker, pboost_error *err)
{
    ledger *l = context;
    assert_true(worker >= 0 && worker < THREADS);
    atomic_fetch_add(&l->runs[job], 1);
    atomic_fetch_add(&l->all, 1);
    if (job >= l->fails_from)
        return pboost_fail(err, PBOOST_BAD_DATA, "job %zu", job);
    return PBOOST_OK;
}

static void each_job_is_run_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= THREADS; threads++) {
        ledger l = {.fails_from = JOBS};
        pboost_error err = {0};
        assert_ok(pboost_parallel_try(JOBS, threads, count_job, &l, &err), err);
        for (size_t i = 0; i < JOBS; i++)
            assert_int_equal(l.runs[i], 1);
    }
}

static void the_first_failure_is_told_and_ends_the_rest(void **state)
{
    (void)state;
    for (int threads = 1; threads <= THREADS; threads++) {
        ledger l = {.fails_from = 100};
        pboost_error err = {0};
        assert_int_equal(pboost_parallel_try(JOBS, threads, count_job, &l, &err), PBOOST_BAD_DATA);
        assert_string_equal(err.message, "job 100");
        assert_true(l.all <= 100 + threads);
        assert_int_equal(pboost_parallel_try(JOBS, threads, count_job, &l, NULL), PBOOST_BAD_DATA);
    }
}

/* Where a sanitizer looks for races, work of any size has its threads. */
static void small_work_has_one_thread(void **state)
{
    (void)state;
#ifdef PBOOST_EAGER_THREADS
    assert_int_equal(pboost_threads_for(THREADS, 1.0), THREADS);
#else
    assert_int_equal(pboost_threads_for(THREADS, 1e5), 1);
    assert_int_equal(pboost_threads_for(THREADS, 1e6), 3);
#endif
    assert_int_equal(pboost_threads_for(THREADS, 0.0), 1);
    assert_int_equal(pboost_threads_for(THREADS, 1e9), THREADS);
    assert_int_equal(pboost_threads_for(1, 1e9), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_work_has_one_thread), cmocka_unit_test(each_job_is_run_once),
        cmocka_unit_test(the_first_failure_is_told_and_ends_the_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

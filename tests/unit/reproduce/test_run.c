/* A run on several threads has the results of a run on one, bit for bit, in whatever order its
 * series are done; and a run can be stopped.  Also run under the thread sanitizer. */
#include "run.h"
#include "testing.h"

static size_t calls, stop_after;

static repro_settings make_settings(int threads)
{
    pboost_error err = {0};
    repro_settings settings;
    assert_ok(repro_settings_init(&settings, SCALE_SMALL, &err), err);
    settings.threads = threads;
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        experiment_setup *s = &settings.setup[id];
        settings.wanted[id] = true;
        s->rows = s->test_rows = 2048;
        s->features = id == EXPERIMENT_LINEAR ? 4 : 8; /* eight are turned */
        s->rounds = 4;
        s->realizations = 1;
        s->n_bags = 3;
        for (size_t i = 0; i < s->n_sizes; i++)
            s->size[i] = i == 0 ? 1024 : 2048;
        s->n_sizes = s->n_sizes > 0 ? 2 : 0;
    }
    return settings;
}

static void count_progress(void *user, double done, double total, double left)
{
    (void)user, (void)left;
    assert_true(done <= total * (1 + 1e-9));
    calls++;
}

static bool is_over(void *user)
{
    (void)user;
    return stop_after > 0 && calls >= stop_after;
}

static double no_clock(void)
{
    return 0.0;
}

static pboost_status run(repro_plan *plan, int threads, pboost_error *err)
{
    const repro_host host = {count_progress, is_over, no_clock, NULL};
    repro_settings settings = make_settings(threads);

    calls = 0;
    assert_ok(repro_plan_make(plan, &settings, err), *err);
    return repro_run(plan, &settings, &host, err);
}

static void assert_same(const repro_plan *a, const repro_plan *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_memory_equal(a->series[i].loss, b->series[i].loss,
                            a->series[i].n_points * sizeof *a->series[i].loss);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    pboost_error err = {0};
    repro_plan alone, many;

    stop_after = 0;
    assert_ok(run(&alone, 1, &err), err);
    assert_ok(run(&many, 4, &err), err);
    assert_same(&alone, &many);
    repro_plan_free(&many);
    repro_plan_free(&alone);
}

static void a_run_can_be_stopped(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        pboost_error err = {0};
        repro_plan plan;
        stop_after = 40;
        assert_int_equal(run(&plan, threads, &err), PBOOST_CANCELLED);
        assert_true(calls < 40 + 8); /* those that others were at, and the end of the bar */
        repro_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_change_no_bit),
                                       cmocka_unit_test(a_run_can_be_stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

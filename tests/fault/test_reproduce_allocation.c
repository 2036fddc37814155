/* Whichever allocation fails in a reproduction of the paper's experiments, from the plan to the
 * claims: the call says so, nothing leaks (under the address sanitizer), and the same call succeeds
 * afterwards. */
#include "testing.h"

#include "claims.h"
#include "fault/inject.h"
#include "run.h"
#include "theory.h"

static repro_settings settings;

/* Every algorithm, both readings of the penalty, with noise and without, on very few rows. */
static int set_up(void **state)
{
    (void)state;
    pboost_error err = {0};
    assert_ok(repro_settings_init(&settings, SCALE_SMALL, &err), err);
    settings.threads = 1;
    for (experiment_id id = 0; id < N_EXPERIMENTS; id++) {
        experiment_setup *s = &settings.setup[id];
        settings.wanted[id] = true;
        s->rows = s->test_rows = 256;
        s->features = 3;
        s->rounds = 2;
        s->realizations = 1;
        s->n_bags = 2;
        s->min_bag[1] = 4;
        if (s->n_epsilons > 1) {
            s->epsilon[1] = s->epsilon[s->n_epsilons - 1];
            s->n_epsilons = 2;
        }
        for (size_t i = 0; i < s->n_sizes; i++)
            s->size[i] = i == 0 ? 128 : 256;
        s->n_sizes = s->n_sizes > 0 ? 2 : 0;
    }
    assert_ok(repro_settings_check(&settings, &err), err);
    return 0;
}

static void no_progress(void *user, double done, double total, double left)
{
    (void)user, (void)done, (void)total, (void)left;
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static double no_clock(void)
{
    return 0.0;
}

static pboost_status reproduce(pboost_error *err)
{
    const repro_host host = {no_progress, never, no_clock, NULL};
    repro_plan plan = {0};
    repro_results results = {0};
    repro_claims claims = {0};
    pboost_status st = repro_plan_make(&plan, &settings, err);

    if (st == PBOOST_OK)
        st = repro_run(&plan, &settings, &host, err);
    if (st == PBOOST_OK)
        st = repro_results_make(&results, &plan, &settings, 0.0, err);
    if (st == PBOOST_OK)
        st = repro_claims_make(&claims, &results, err);
    repro_claims_free(&claims);
    repro_results_free(&results);
    repro_plan_free(&plan);
    return st;
}

static void a_reproduction_may_run_out_of_memory(void **state)
{
    (void)state;
    long n = 1;
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        inject_allocation(n);
        pboost_status st = reproduce(&err);
        inject_nothing();
        if (injected())
            assert_int_equal(st, PBOOST_NO_MEMORY);
        else
            assert_ok(st, err);
        if (n % 64 == 1)
            assert_ok(reproduce(&err), err);
    }
    assert_true(n > 500); /* the injection reaches every series */
}

/* Its simulations allocate the same again and again: the first of everything, then ever fewer. */
static void the_theory_may_run_out_of_memory(void **state)
{
    (void)state;
    for (long n = 1; n == 1 || injected(); n += 1 + n / 8) {
        pboost_error err = {0};
        repro_theory theory;
        inject_allocation(n);
        pboost_status st = repro_theory_make(&theory, &settings, &err);
        inject_nothing();
        if (injected())
            assert_int_equal(st, PBOOST_NO_MEMORY);
        else
            assert_ok(st, err);
        repro_theory_free(&theory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reproduction_may_run_out_of_memory),
        cmocka_unit_test(the_theory_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

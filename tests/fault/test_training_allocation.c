/* Whichever allocation fails during a whole training, from the oracle to the last evaluation: the
 * call says so, nothing leaks (under the address sanitizer), and training succeeds afterwards.  The
 * theory's functions, which need as much memory, are held to the same. */
#include "testing.h"

#include "fault/inject.h"

enum { ROWS = 600, FEATURES = 3, MIN_BAG = 4, ROUNDS = 2 };

static double x[ROWS * FEATURES], y[ROWS], theta[FEATURES];

static void draw(pboost_family family)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    pboost_error err;
    s.family = family;
    s.features = FEATURES;
    assert_ok(pboost_synthetic_theta(theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(x, y, &s, theta, 0, 0, ROWS, 1, &err), err);
}

static pboost_status train(pboost_family family, pboost_error *err)
{
    pboost_matrix matrix = pboost_matrix_f64(x, ROWS, FEATURES);
    pboost_samples samples = {.x = &matrix, .n = ROWS, .target = y};
    pboost_simulation simulation = PBOOST_SIMULATION_INIT;
    double path[ROUNDS * (FEATURES + 1)] = {0}, *last = path + (ROUNDS - 1) * (FEATURES + 1);
    pboost_outcome out = {.path = path};
    pboost_evaluation evaluation;
    double loss;
    pboost_status st;

    simulation.rules.min_bag = MIN_BAG;
    simulation.fit.family = family;
    simulation.trainer.rounds = ROUNDS;
    simulation.trainer.threads = 1;
    st = pboost_simulate(&out, PLAIN(matrix), y, &simulation, err);
    pboost_coef coef = {FEATURES, last, last[FEATURES]};
    if (st == PBOOST_OK)
        st = pboost_losses(&loss, family, &samples, &coef, 1, 1, err);
    if (st == PBOOST_OK)
        st = pboost_evaluate(&evaluation, family, &samples, &coef, 1, err);
    return st;
}

/* The same in one call; what failed has written nothing. */
static pboost_status train_in_one_call(pboost_family family, pboost_error *err)
{
    pboost_matrix matrix = pboost_matrix_f64(x, ROWS, FEATURES);
    pboost_simulation simulation = PBOOST_SIMULATION_INIT;
    pboost_fit_report report = {0};
    pboost_round history[ROUNDS] = {{0}};
    double path[ROUNDS * (FEATURES + 1)];
    pboost_outcome out = {.report = &report, .history = history, .path = path};

    simulation.rules.min_bag = MIN_BAG;
    simulation.fit.family = family;
    simulation.trainer.rounds = ROUNDS;
    simulation.trainer.threads = 1;
    pboost_status st = pboost_simulate(&out, PLAIN(matrix), y, &simulation, err);
    assert_true(history[0].rows == (st == PBOOST_OK ? ROWS / ROUNDS : 0));
    return st;
}

static pboost_status theory(pboost_family family, pboost_error *err)
{
    pboost_matrix matrix = pboost_matrix_f64(x, ROWS, FEATURES);
    pboost_bags a = {0}, b = {0};
    pboost_risk risk;
    pboost_variance_check check;
    double bound;
    pboost_status st = pboost_bags_optimal(&a, y, ROWS, MIN_BAG, 1, err);

    if (st == PBOOST_OK)
        st = pboost_bags_random(&b, ROWS, MIN_BAG, 1, err);
    if (st == PBOOST_OK)
        st = pboost_risk_linear(&risk, &matrix, &a, theta, 1.0, err);
    if (st == PBOOST_OK)
        st = pboost_risk_linear_bound(&bound, &matrix, &a, theta, 1.0, err);
    if (st == PBOOST_OK)
        st = pboost_gradient_norm(&risk, family, &matrix, &a, theta, 1.0, err);
    if (st == PBOOST_OK)
        st = pboost_gradient_bound(&bound, family, &matrix, &a, theta, 1.0, err);
    if (st == PBOOST_OK)
        st = pboost_variance_ratio(&check, family, &matrix, &a, theta, err);
    if (st == PBOOST_OK)
        st = pboost_bags_mismatch(&bound, &a, &b, err);
    pboost_bags_free(&a);
    pboost_bags_free(&b);
    return st;
}

static void fail_each_allocation(pboost_status (*work)(pboost_family, pboost_error *))
{
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++) {
        draw(family);
        long n = 1;
        for (; n == 1 || injected(); n++) {
            pboost_error err = {0};
            inject_allocation(n);
            pboost_status st = work(family, &err);
            inject_nothing();
            if (injected())
                assert_int_equal(st, PBOOST_NO_MEMORY);
            else
                assert_ok(st, err);
        }
        assert_true(n > 10); /* the injection does reach the library */
    }
}

static void training_may_run_out_of_memory(void **state)
{
    (void)state;
    fail_each_allocation(train);
    fail_each_allocation(train_in_one_call);
}

static void theory_may_run_out_of_memory(void **state)
{
    (void)state;
    fail_each_allocation(theory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_may_run_out_of_memory),
        cmocka_unit_test(theory_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

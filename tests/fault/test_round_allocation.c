/* From the third round on, a round of training allocates nothing.  Room for the whole log of
 * answers is made before the first round; memory for a fit is kept from the first round, memory for
 * bags from the second, which is the first one with scores. */
#include "testing.h"

#include "fault/inject.h"
#include "train/glm.h"

enum { SLICE = 512, FEATURES = 3, MIN_BAG = 4, ROUNDS = 12, ROWS = SLICE * ROUNDS };

static double x[ROWS * FEATURES], y[ROWS], theta[FEATURES];
static size_t calls[ROUNDS], bytes[ROUNDS];

static bool note_round(void *user, pboost_round *round)
{
    (void)user;
    calls[round->round - 1] = allocated.calls;
    bytes[round->round - 1] = allocated.bytes;
    return true;
}

static void train(pboost_family family)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    pboost_matrix matrix = pboost_matrix_f64(x, ROWS, FEATURES);
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_memory_oracle *holder;
    pboost_glm *glm;
    pboost_trainer *trainer;
    pboost_error err;

    s.family = fit.family = family;
    s.features = FEATURES;
    rules.min_bag = MIN_BAG;
    options.rounds = ROUNDS;
    options.threads = 1;
    options.on_round = note_round;
    assert_ok(pboost_synthetic_theta(theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(x, y, &s, theta, 0, 0, ROWS, 1, &err), err);
    assert_ok(pboost_memory_oracle_create(&holder, y, ROWS, &rules, NULL, &err), err);
    assert_ok(pboost_glm_create(&glm, PLAIN(matrix), &fit, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(holder);
    pboost_learner learner = pboost_glm_learner(glm);
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &options, &err), err);
    assert_ok(pboost_trainer_run(trainer, &err), err);
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
    pboost_memory_oracle_free(holder);
}

static void later_rounds_allocate_nothing(void **state)
{
    (void)state;
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++) {
        train(family);
        for (size_t t = 2; t < ROUNDS; t++) {
            assert_int_equal(calls[t] - calls[t - 1], 0);
            assert_int_equal(bytes[t] - bytes[t - 1], 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_rounds_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* An attack on the oracle itself: two label sets that differ in one label of every bag, and the
 * best of a few events by which an observer may distinguish them.  The lower confidence limit of
 * what the observer gains must stay below epsilon; the same audit catches a noise scale 10 % too
 * low and a sensitivity of half the range.  Seeds are fixed. */
#include "testing.h"

#include <sys/wait.h>
#include <unistd.h>

#include "oracle/mechanism.h"
#include "privacy/law.h"

enum { BAG = 3, TRIALS = 150000 };

static const double LOWER = -1, UPPER = 2, STEP = 0.25;

static pboost_rules rules_with(pboost_rational epsilon)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = BAG;
    rules.epsilon = epsilon;
    rules.bounded = true;
    rules.lower = LOWER;
    rules.upper = UPPER;
    rules.step = STEP;
    return rules;
}

/* Fills total[TRIALS] with noisy sums, in steps, of a bag of lower bounds, one label of which is
 * the upper bound if `changed`. */
typedef void noisy_sums(int64_t *total, bool changed, pboost_rational epsilon);

/* ---- The audit ------------------------------------------------------------------------------- */

/* 4.5 standard deviations: P(above the truth) < 4e-6. */
static double audit(noisy_sums *sample, pboost_rational epsilon)
{
    pboost_rules rules = rules_with(epsilon);
    label_grid grid = pboost_grid(&rules);
    int64_t base = BAG * grid.lower, range = grid.upper - grid.lower;
    int64_t *total = malloc(2 * TRIALS * sizeof *total), *changed = total + TRIALS;

    assert_non_null(total);
    sample(total, false, epsilon);
    sample(changed, true, epsilon);
    double gain = observed_gain((observed){TRIALS, total}, (observed){TRIALS, changed},
                                base - range, base + 2 * range, 4.5);
    free(total);
    return gain;
}

/* ---- The oracle and two mutants -------------------------------------------------------------- */

/* One question of TRIALS bags; also checks that every answer is on the grid. */
static void sample_oracle(int64_t *total, bool changed, pboost_rational epsilon)
{
    pboost_error err;
    pboost_rules rules = rules_with(epsilon);
    pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_memory_oracle *oracle;
    size_t n = (size_t)TRIALS * BAG;
    double *label = malloc(n * sizeof *label), *answer = malloc(TRIALS * sizeof *answer);
    pboost_bags bags = {n, TRIALS, malloc(n * sizeof(size_t)),
                        malloc((TRIALS + 1) * sizeof(size_t))};

    assert_true(label && answer && bags.row && bags.start);
    for (size_t i = 0; i < n; i++) {
        label[i] = changed && i % BAG == 1 ? UPPER : LOWER;
        bags.row[i] = i;
    }
    for (size_t b = 0; b <= TRIALS; b++)
        bags.start[b] = b * BAG;
    options.simulated = true;
    options.seed = changed ? 11 : 12;
    assert_ok(pboost_memory_oracle_create(&oracle, label, n, &rules, &options, &err), err);
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    assert_ok(face.ask(face.self, 0, &bags, answer, &err), err);
    for (size_t b = 0; b < TRIALS; b++) {
        double steps = answer[b] * BAG / STEP;
        assert_true(fabs(steps - round(steps)) < 1e-9);
        total[b] = llround(steps);
    }
    pboost_memory_oracle_free(oracle);
    pboost_bags_free(&bags);
    free(label);
    free(answer);
}

static void sample_scaled(int64_t *total, bool changed, laplace_scale scale)
{
    pboost_error err;
    pboost_rules rules = rules_with((pboost_rational){1, 1});
    label_grid grid = pboost_grid(&rules);
    laplace_sampler sampler = pboost_laplace_sampler(scale);
    rng_source source;

    pboost_rng_source_seeded(&source, changed ? 21 : 22, RNG_NOISE, 0);
    for (size_t i = 0; i < TRIALS; i++) {
        int64_t noise;
        assert_ok(pboost_laplace_draw(&noise, &sampler, &source, &err), err);
        total[i] = BAG * grid.lower + (changed ? grid.upper - grid.lower : 0) + noise;
    }
}

static laplace_scale true_scale(pboost_rational epsilon)
{
    pboost_rules rules = rules_with(epsilon);
    label_grid grid = pboost_grid(&rules);
    return pboost_laplace_scale(&grid, epsilon);
}

static void sample_low_scale(int64_t *total, bool changed, pboost_rational epsilon)
{
    laplace_scale scale = true_scale(epsilon);
    scale.num *= 9;
    scale.den *= 10;
    sample_scaled(total, changed, scale);
}

static void sample_half_sensitivity(int64_t *total, bool changed, pboost_rational epsilon)
{
    laplace_scale scale = true_scale(epsilon);
    scale.den *= 2;
    sample_scaled(total, changed, scale);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static const pboost_rational EPSILONS[] = {{1, 2}, {1, 1}, {7, 3}};
enum { N_EPSILONS = sizeof EPSILONS / sizeof *EPSILONS };

/* An audit without power would pass any noise: its estimate must also come near epsilon. */
static void the_oracle_keeps_its_promise(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_EPSILONS; i++) {
        double epsilon = pboost_rational_value(EPSILONS[i]);
        double gain = audit(sample_oracle, EPSILONS[i]);
        if (!(gain <= epsilon && gain > 0.9 * epsilon))
            fail_msg("epsilon is %g, but the observer gains %g", epsilon, gain);
    }
}

static void a_scale_ten_percent_low_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_EPSILONS; i++)
        assert_true(audit(sample_low_scale, EPSILONS[i]) > pboost_rational_value(EPSILONS[i]));
}

static void half_the_sensitivity_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_EPSILONS; i++)
        assert_true(audit(sample_half_sensitivity, EPSILONS[i]) >
                    pboost_rational_value(EPSILONS[i]));
}

static double ask_one(pboost_memory_oracle *oracle)
{
    size_t row[BAG] = {0, 1, 2}, start[2] = {0, BAG};
    pboost_bags bags = {BAG, 1, row, start};
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    double answer = 0;
    return face.ask(face.self, 0, &bags, &answer, NULL) == PBOOST_OK ? answer : NAN;
}

/* Noise of scale 3e9 steps: equal answers by chance have a probability of 1e-10. */
static void forked_children_draw_their_own_noise(void **state)
{
    (void)state;
    enum { CHILDREN = 3 };
    pboost_error err;
    pboost_rules rules = rules_with((pboost_rational){1, 1000});
    pboost_memory_oracle *oracle;
    double label[BAG] = {0, 1, 2}, answer[CHILDREN + 1];

    rules.step = 0x1p-20;
    assert_ok(pboost_memory_oracle_create(&oracle, label, BAG, &rules, NULL, &err), err);
    for (int i = 0; i < CHILDREN; i++) {
        int pipe_end[2];
        assert_int_equal(pipe(pipe_end), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            double mine = ask_one(oracle);
            _exit(write(pipe_end[1], &mine, sizeof mine) == sizeof mine ? 0 : 1);
        }
        assert_int_equal(read(pipe_end[0], &answer[i], sizeof answer[i]), sizeof answer[i]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(pipe_end[0]);
        close(pipe_end[1]);
    }
    answer[CHILDREN] = ask_one(oracle);
    for (int i = 0; i <= CHILDREN; i++) {
        assert_true(isfinite(answer[i]));
        for (int j = 0; j < i; j++)
            assert_true(answer[i] != answer[j]);
    }
    pboost_memory_oracle_free(oracle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oracle_keeps_its_promise),
        cmocka_unit_test(a_scale_ten_percent_low_is_caught),
        cmocka_unit_test(half_the_sensitivity_is_caught),
        cmocka_unit_test(forked_children_draw_their_own_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

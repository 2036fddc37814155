/* The weights of a mixture: known solutions, and the conditions of the least value. */
#include "testing.h"

#include "base/rng.h"
#include "mixture/weights.h"

enum { BAGS = 400, MEMBERS = 4 };

static double PREDICTED[MEMBERS][BAGS], ANSWER[BAGS], PRECISION[BAGS];
static const double *const BY_MEMBER[] = {PREDICTED[0], PREDICTED[1], PREDICTED[2], PREDICTED[3]};
static const double EQUAL[] = {0.25, 0.25, 0.25, 0.25};

static double draw(size_t i)
{
    return (double)(pboost_rng_key(7, RNG_SHUFFLE, 0, i) >> 11) * 0x1p-53 - 0.5;
}

/* The answers are the mixture with these weights, and noise. */
static left_out_bags make_bags(const double *weight, double noise, double precision)
{
    for (size_t b = 0; b < BAGS; b++) {
        ANSWER[b] = noise * draw(MEMBERS * BAGS + b);
        PRECISION[b] = precision;
        for (size_t m = 0; m < MEMBERS; m++) {
            PREDICTED[m][b] = 100.0 + draw(m * BAGS + b);
            ANSWER[b] += weight[m] * PREDICTED[m][b];
        }
    }
    return (left_out_bags){MEMBERS, BAGS, BY_MEMBER, ANSWER, PRECISION};
}

static void test_many_bags_decide(void **state)
{
    (void)state;
    const double truth[] = {0.1, 0.6, 0.0, 0.3};
    double weight[MEMBERS];
    left_out_bags bags = make_bags(truth, 0.0, 1e9);

    pboost_mixture_weights(weight, EQUAL, 0.3, &bags);
    for (size_t m = 0; m < MEMBERS; m++)
        assert_close(weight[m], truth[m], 1e-6);
    assert_close(pboost_mixture_misfit(truth, &bags), 0.0, 1e-6);
}

static void test_without_information_the_prior_stays(void **state)
{
    (void)state;
    const double truth[] = {1.0, 0.0, 0.0, 0.0}, expected[] = {0.0, 0.5, 0.25, 0.25};
    double weight[MEMBERS];
    left_out_bags bags = make_bags(truth, 0.0, 1e-12);

    pboost_mixture_weights(weight, expected, 0.3, &bags);
    for (size_t m = 0; m < MEMBERS; m++)
        assert_close(weight[m], expected[m], 1e-9);
}

/* At the least value no weight can be moved from one member to another with gain. */
static void test_no_move_is_better(void **state)
{
    (void)state;
    const double truth[] = {0.5, 0.9, -0.6, 0.2}, spread = 0.5, step = 1e-5;
    double weight[MEMBERS], sum = 0.0;
    left_out_bags bags = make_bags(truth, 0.5, 2.0);

    pboost_mixture_weights(weight, EQUAL, spread, &bags);
    assert_close(weight[2], 0.0, 0.0); /* it would be negative */
    for (size_t from = 0; from < MEMBERS; from++) {
        sum += weight[from];
        for (size_t to = 0; to < MEMBERS; to++) {
            double moved[MEMBERS], penalty = 0.0;
            memcpy(moved, weight, sizeof moved);
            if (from == to || weight[from] < step)
                continue;
            moved[from] -= step;
            moved[to] += step;
            for (size_t m = 0; m < MEMBERS; m++)
                penalty += (pow(moved[m] - 0.25, 2) - pow(weight[m] - 0.25, 2)) / (spread * spread);
            assert_true(pboost_mixture_misfit(moved, &bags) + penalty >=
                        pboost_mixture_misfit(weight, &bags) - 1e-9);
        }
    }
    assert_close(sum, 1.0, 1e-12);
}

static void test_overflow_keeps_the_prior(void **state)
{
    (void)state;
    double weight[MEMBERS];
    left_out_bags bags = make_bags(EQUAL, 0.0, 1.0);

    PREDICTED[1][3] = INFINITY;
    pboost_mixture_weights(weight, EQUAL, 0.3, &bags);
    for (size_t m = 0; m < MEMBERS; m++)
        assert_close(weight[m], 0.25, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_bags_decide),
        cmocka_unit_test(test_without_information_the_prior_stays),
        cmocka_unit_test(test_no_move_is_better),
        cmocka_unit_test(test_overflow_keeps_the_prior),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

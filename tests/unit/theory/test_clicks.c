/* The click log: the same rows however they are cut, the rate, the tails, the truth. */
#include "testing.h"

enum { N = 20000, C = PBOOST_CLICKS_CATEGORIES, D = PBOOST_CLICKS_NUMBERS };

typedef struct {
    uint32_t level[N * C];
    double number[N * D], label[N];
} rows;

static pboost_clicks setup(void)
{
    pboost_clicks c = PBOOST_CLICKS_INIT;
    c.seed = 5;
    return c;
}

static double make(rows *r, uint64_t stream, size_t first, size_t n, int threads)
{
    pboost_clicks c = setup();
    double intercept;
    pboost_error err;

    assert_ok(pboost_clicks_intercept(&intercept, &c, threads, &err), err);
    assert_ok(pboost_clicks_rows(r->level, r->number, r->label, &c, intercept, stream, first, n,
                                 threads, &err),
              err);
    return intercept;
}

static void any_part_and_any_threads_give_the_same_rows(void **state)
{
    rows *all = *state, *part = all + 1;

    make(all, 0, 0, N, 1);
    make(part, 0, 777, 1000, 3);
    assert_memory_equal(part->level, all->level + 777 * C, 1000 * C * sizeof *part->level);
    assert_memory_equal(part->number, all->number + 777 * D, 1000 * D * sizeof *part->number);
    assert_memory_equal(part->label, all->label + 777, 1000 * sizeof *part->label);
    make(part, 1, 777, 1000, 3); /* another stream is another log */
    assert_memory_not_equal(part->level, all->level + 777 * C, 1000 * C * sizeof *part->level);
}

/* Clicks and their probabilities agree, in all and where the probability is high. */
static void clicks_have_their_probabilities(void **state)
{
    rows *r = *state;
    pboost_clicks c = setup();
    double intercept = make(r, 0, 0, N, 0), sum[2] = {0}, expected[2] = {0}, variance[2] = {0};

    for (size_t i = 0; i < N; i++) {
        double eta = intercept;
        for (size_t j = 0; j < C; j++)
            eta += pboost_clicks_weight(&c, j, r->level[i * C + j]);
        for (size_t j = 0; j < D; j++)
            if (!isnan(r->number[i * D + j]))
                eta += r->number[i * D + j] * pboost_clicks_number_weight(&c, j);
        double p = 1 / (1 + exp(-eta));
        for (int k = 0; k < 1 + (p > 0.1); k++) {
            sum[k] += r->label[i];
            expected[k] += p;
            variance[k] += p * (1 - p);
        }
    }
    for (int k = 0; k < 2; k++)
        assert_true(fabs(sum[k] - expected[k]) < 5 * sqrt(variance[k]));
    assert_true(expected[1] > 0.3 * expected[0]); /* there is something to learn */
    assert_true(fabs(expected[0] / N - 0.05) < 0.005);
}

static void vocabularies_have_heavy_tails(void **state)
{
    rows *r = *state;
    size_t weighing = 0, missing = 0, first = 0, beyond = 0, last = C - 1;
    pboost_clicks c = setup();

    make(r, 0, 0, N, 0);
    assert_int_equal(pboost_clicks_levels(0), 8);
    assert_int_equal(pboost_clicks_levels(last), 1000000);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < C; j++)
            assert_true(r->level[i * C + j] < pboost_clicks_levels(j));
        for (size_t j = 0; j < D; j++)
            missing += isnan(r->number[i * D + j]);
        first += r->level[i * C + last] == 0;
        beyond += r->level[i * C + last] >= 1000;
    }
    for (size_t level = 0; level < N; level++)
        weighing += pboost_clicks_weight(&c, last, level) != 0;
    assert_true(fabs((double)first / N - 0.05) < 0.01); /* log 2 / log 10^6 */
    assert_true(fabs((double)beyond / N - 0.5) < 0.02);
    assert_true(fabs((double)missing / (N * D) - 0.05) < 0.003);
    assert_true(fabs((double)weighing / N - 1.0 / 3) < 0.02);
}

static void refuses_rates_that_are_none(void **unused)
{
    pboost_clicks c = setup();
    pboost_error err;
    double intercept;

    (void)unused;
    c.rate = 1;
    assert_fails(pboost_clicks_intercept(&intercept, &c, 1, &err), PBOOST_INVALID, err,
                 "rate is 1; it must be between 0 and 1");
}

static int setup_rows(void **state)
{
    *state = malloc(2 * sizeof(rows));
    return *state != NULL ? 0 : -1;
}

static int free_rows(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_part_and_any_threads_give_the_same_rows),
        cmocka_unit_test(clicks_have_their_probabilities),
        cmocka_unit_test(vocabularies_have_heavy_tails),
        cmocka_unit_test(refuses_rates_that_are_none),
    };
    return cmocka_run_group_tests(tests, setup_rows, free_rows);
}

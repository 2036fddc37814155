/* The in-memory oracle: what it answers, what it refuses, and that refusals spend nothing and say
 * nothing about labels. */
#include "testing.h"

#include "oracle/mechanism.h"

enum { N = 12 };

static const double LABEL[N] = {0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0};
static const double OTHER_LABEL[N] = {1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1};

/* Bags of the rows named; the caller sets n_bags and start. */
#define BAGS(...)                                                                                  \
    {                                                                                              \
        .n_rows = sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), .row = (size_t[])              \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static pboost_memory_oracle *make(const double *label, size_t n, const pboost_rules *rules,
                                  bool simulated)
{
    pboost_error err;
    pboost_memory_oracle *oracle;
    pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    options.simulated = simulated;
    options.seed = 5;
    assert_ok(pboost_memory_oracle_create(&oracle, label, n, rules, &options, &err), err);
    return oracle;
}

static pboost_rules rules_of(size_t min_bag)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = min_bag;
    return rules;
}

static pboost_rules bounded_rules(size_t min_bag, double lower, double upper)
{
    pboost_rules rules = rules_of(min_bag);
    rules.bounded = true;
    rules.lower = lower;
    rules.upper = upper;
    return rules;
}

static pboost_status ask(pboost_memory_oracle *oracle, const pboost_bags *bags, double *answer,
                         pboost_error *err)
{
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    return face.ask(face.self, 0, bags, answer, err);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void means_without_noise_are_exact(void **state)
{
    (void)state;
    pboost_error err;
    double answer[3];
    size_t start[] = {0, 3, 7, 10};
    pboost_bags bags = BAGS(1, 2, 3, 0, 4, 5, 6, 9, 10, 11);
    bags.n_bags = 3;
    bags.start = start;
    pboost_rules plain = rules_of(3), grid = bounded_rules(3, 0, 1);
    const pboost_rules *const both[] = {&plain, &grid};

    for (size_t i = 0; i < 2; i++) {
        pboost_memory_oracle *oracle = make(LABEL, N, both[i], false);
        assert_ok(ask(oracle, &bags, answer, &err), err);
        assert_close(answer[0], 2.0 / 3, 1e-15);
        assert_close(answer[1], 0.25, 0);
        assert_close(answer[2], 2.0 / 3, 1e-15);
        assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 10);
        pboost_memory_oracle_free(oracle);
    }
}

static void plain_sums_keep_small_labels(void **state)
{
    (void)state;
    pboost_error err;
    double label[] = {1e16, 1, -1e16, 1}, huge[] = {1.5e308, 1.5e308}, answer;
    size_t start[] = {0, 4}, start2[] = {0, 2};
    pboost_bags bags = BAGS(0, 1, 2, 3), pair = BAGS(0, 1);
    bags.n_bags = pair.n_bags = 1;
    bags.start = start;
    pair.start = start2;
    pboost_rules rules = rules_of(1);
    pboost_memory_oracle *oracle = make(label, 4, &rules, false);
    assert_ok(ask(oracle, &bags, &answer, &err), err);
    assert_close(answer, 0.5, 0);
    pboost_memory_oracle_free(oracle);
    oracle = make(huge, 2, &rules, false);
    assert_ok(ask(oracle, &pair, &answer, &err), err);
    assert_true(answer == 1.5e308);
    pboost_memory_oracle_free(oracle);
}

static void the_interface_tells_the_rules(void **state)
{
    (void)state;
    pboost_rules rules = bounded_rules(3, 0, 1);
    pboost_memory_oracle *oracle = make(LABEL, N, &rules, false);
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    assert_int_equal(face.rules.min_bag, 3);
    assert_true(face.rules.step == 0x1p-20);
    pboost_memory_oracle_free(oracle);
}

static void no_bags_spend_nothing(void **state)
{
    (void)state;
    pboost_error err;
    size_t start[] = {0};
    pboost_bags bags = {0, 0, NULL, start};
    pboost_rules rules = rules_of(3);
    pboost_memory_oracle *oracle = make(LABEL, N, &rules, false);
    assert_ok(ask(oracle, &bags, NULL, &err), err);
    assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 0);
    pboost_memory_oracle_free(oracle);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Asks about rows that may not be asked about; the reply must be the same with other labels, empty,
 * and leave all rows to be asked about. */
static void assert_refused(const pboost_bags *bags, pboost_status status, const char *part)
{
    pboost_error err[2] = {{0}, {0}};
    const double *const label[] = {LABEL, OTHER_LABEL};
    double answer[4];
    pboost_rules rules = rules_of(3);
    size_t every[N], start[] = {0, N};
    pboost_bags all = {N, 1, every, start};
    for (size_t i = 0; i < N; i++)
        every[i] = i;

    for (size_t i = 0; i < 2; i++) {
        pboost_memory_oracle *oracle = make(label[i], N, &rules, false);
        for (size_t b = 0; b < 4; b++)
            answer[b] = 7;
        assert_fails(ask(oracle, bags, answer, &err[i]), status, err[i], part);
        for (size_t b = 0; b < bags->n_bags; b++)
            assert_true(answer[b] == 0);
        assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 0);
        assert_ok(ask(oracle, &all, answer, &err[i]), err[i]);
        assert_int_equal(pboost_memory_oracle_rows_spent(oracle), N);
        pboost_memory_oracle_free(oracle);
    }
    assert_memory_equal(&err[0], &err[1], sizeof err[0]);
}

static void a_bag_one_row_short_is_refused(void **state)
{
    (void)state;
    size_t start[] = {0, 3, 5, 8};
    pboost_bags bags = BAGS(0, 1, 2, 3, 4, 5, 6, 7);
    bags.n_bags = 3;
    bags.start = start;
    assert_refused(&bags, PBOOST_REFUSED, "bag 1");
    assert_refused(&bags, PBOOST_REFUSED, "2 rows");
    assert_refused(&bags, PBOOST_REFUSED, "3");
}

static void an_empty_bag_is_refused(void **state)
{
    (void)state;
    size_t start[] = {0, 3, 3};
    pboost_bags bags = BAGS(0, 1, 2);
    bags.n_bags = 2;
    bags.start = start;
    assert_refused(&bags, PBOOST_REFUSED, "bag 1");
}

static void a_row_twice_in_a_bag_is_refused(void **state)
{
    (void)state;
    size_t start[] = {0, 3, 6};
    pboost_bags bags = BAGS(0, 1, 2, 4, 5, 4);
    bags.n_bags = 2;
    bags.start = start;
    assert_refused(&bags, PBOOST_REFUSED, "row 4");
}

static void a_row_in_two_bags_is_refused(void **state)
{
    (void)state;
    size_t start[] = {0, 3, 6};
    pboost_bags bags = BAGS(0, 1, 2, 4, 5, 1);
    bags.n_bags = 2;
    bags.start = start;
    assert_refused(&bags, PBOOST_REFUSED, "row 1");
}

static void a_row_outside_the_table_is_refused(void **state)
{
    (void)state;
    size_t start[] = {0, 3};
    pboost_bags bags = BAGS(0, 1, N);
    bags.n_bags = 1;
    bags.start = start;
    assert_refused(&bags, PBOOST_INVALID, "row 12");
    bags.row[2] = SIZE_MAX;
    assert_refused(&bags, PBOOST_INVALID, "row ");
}

static void malformed_bags_are_refused(void **state)
{
    (void)state;
    size_t late[] = {1, 4}, backwards[] = {0, 4, 1}, outside[] = {0, 3, 40}, part[] = {0, 3};
    pboost_bags bags = BAGS(0, 1, 2, 3);
    bags.n_bags = 1;
    bags.start = late;
    assert_refused(&bags, PBOOST_INVALID, "");
    bags.start = part;
    assert_refused(&bags, PBOOST_INVALID, "");
    bags.n_bags = 2;
    bags.start = backwards;
    assert_refused(&bags, PBOOST_INVALID, "");
    bags.start = outside;
    assert_refused(&bags, PBOOST_INVALID, "");
}

/* The first question stands, whatever the second asks. */
static void a_spent_row_is_refused(void **state)
{
    (void)state;
    pboost_error err[2];
    const double *const label[] = {LABEL, OTHER_LABEL};
    double answer[2] = {7, 7};
    size_t one[] = {0, 3}, two[] = {0, 3, 6};
    pboost_bags first = BAGS(0, 1, 2), second = BAGS(3, 4, 5, 6, 2, 7), third = BAGS(3, 4, 5);
    first.n_bags = third.n_bags = 1;
    first.start = third.start = one;
    second.n_bags = 2;
    second.start = two;
    pboost_rules rules = rules_of(3);

    for (size_t i = 0; i < 2; i++) {
        pboost_memory_oracle *oracle = make(label[i], N, &rules, false);
        assert_ok(ask(oracle, &first, answer, &err[i]), err[i]);
        answer[0] = answer[1] = 7;
        assert_fails(ask(oracle, &second, answer, &err[i]), PBOOST_REFUSED, err[i],
                     "row 2 in bag 1 is spent");
        assert_true(answer[0] == 0 && answer[1] == 0);
        assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 3);
        assert_fails(ask(oracle, &first, answer, &err[i]), PBOOST_REFUSED, err[i], "row 0");
        pboost_error ok;
        assert_ok(ask(oracle, &third, answer, &ok), ok);
        assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 6);
        pboost_memory_oracle_free(oracle);
    }
    assert_memory_equal(&err[0], &err[1], sizeof err[0]);
}

/* Rows that share a word of the bitmap, and rows that do not. */
static void every_row_is_spent_by_itself(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    pboost_error err;
    double label[ROWS] = {0}, answer;
    size_t row, start[] = {0, 1};
    pboost_bags bags = {1, 1, &row, start};
    pboost_rules rules = rules_of(1);
    pboost_memory_oracle *oracle = make(label, ROWS, &rules, false);
    for (size_t i = 0; i < ROWS; i++) {
        row = i * 7 % ROWS;
        assert_ok(ask(oracle, &bags, &answer, &err), err);
        assert_int_equal(ask(oracle, &bags, &answer, NULL), PBOOST_REFUSED);
    }
    assert_int_equal(pboost_memory_oracle_rows_spent(oracle), ROWS);
    pboost_memory_oracle_free(oracle);
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static void bad_labels_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    pboost_memory_oracle *oracle = (void *)&err;
    pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_rules plain = rules_of(1), grid = bounded_rules(1, -1, 1);
    double nan_label[] = {0, NAN}, outside[] = {0, 1, 1.5}, infinite[] = {INFINITY};

    assert_fails(pboost_memory_oracle_create(&oracle, nan_label, 2, &plain, NULL, &err),
                 PBOOST_BAD_DATA, err, "the label of row 1 is nan");
    assert_null(oracle);
    assert_fails(pboost_memory_oracle_create(&oracle, infinite, 1, &plain, NULL, &err),
                 PBOOST_BAD_DATA, err, "the label of row 0 is inf");
    assert_fails(pboost_memory_oracle_create(&oracle, outside, 3, &grid, NULL, &err),
                 PBOOST_BAD_DATA, err, "row 2 is 1.5; it must be within the bounds [-1, 1]");
    outside[2] = -1.5;
    assert_fails(pboost_memory_oracle_create(&oracle, outside, 3, &grid, NULL, &err),
                 PBOOST_BAD_DATA, err, "row 2 is -1.5");
    options.clamp = true;
    assert_fails(pboost_memory_oracle_create(&oracle, nan_label, 2, &grid, &options, &err),
                 PBOOST_BAD_DATA, err, "the label of row 1 is nan");
    options.struct_size = 0;
    assert_fails(pboost_memory_oracle_create(&oracle, outside, 3, &grid, &options, &err),
                 PBOOST_INVALID, err, "struct_size is 0");
    plain.min_bag = 4;
    assert_fails(pboost_memory_oracle_create(&oracle, outside, 3, &plain, NULL, &err),
                 PBOOST_BAD_DATA, err, "min_bag is 4, but there are only 3 labels");
    plain.min_bag = 0;
    assert_fails(pboost_memory_oracle_create(&oracle, outside, 3, &plain, NULL, &err),
                 PBOOST_INVALID, err, "min_bag is 0");
    grid.lower = 1 - 0x1p-40;
    grid.step = 0x1p-52;
    double ones[2000];
    for (size_t i = 0; i < 2000; i++)
        ones[i] = 1;
    assert_fails(pboost_memory_oracle_create(&oracle, ones, 2000, &grid, NULL, &err),
                 PBOOST_INVALID, err, "overflow");
    pboost_memory_oracle_free(NULL);
}

static void labels_outside_are_clamped_on_demand(void **state)
{
    (void)state;
    pboost_error err;
    double label[] = {-3, 0.5, 100, 0.25}, answer;
    size_t start[] = {0, 4};
    pboost_bags bags = BAGS(0, 1, 2, 3);
    bags.n_bags = 1;
    bags.start = start;
    pboost_rules rules = bounded_rules(1, -1, 1);
    pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_memory_oracle *oracle;
    options.clamp = true;
    assert_ok(pboost_memory_oracle_create(&oracle, label, 4, &rules, &options, &err), err);
    assert_ok(ask(oracle, &bags, &answer, &err), err);
    assert_close(answer, 0.75 / 4, 0);
    pboost_memory_oracle_free(oracle);
}

/* ---- Noise and rounding ---------------------------------------------------------------------- */

enum { MANY = 20000, SIZE = 4 };

/* MANY bags of SIZE rows, `ones` of which have label 1. */
static void ask_many(double *answer, const pboost_rules *rules, size_t ones, bool simulated)
{
    pboost_error err;
    static double label[MANY * SIZE];
    static size_t row[MANY * SIZE], start[MANY + 1];
    pboost_bags bags = {MANY * SIZE, MANY, row, start};
    for (size_t i = 0; i < MANY * SIZE; i++) {
        label[i] = i % SIZE < ones;
        row[i] = i;
    }
    for (size_t b = 0; b <= MANY; b++)
        start[b] = b * SIZE;
    pboost_memory_oracle *oracle = make(label, MANY * SIZE, rules, simulated);
    assert_ok(ask(oracle, &bags, answer, &err), err);
    pboost_memory_oracle_free(oracle);
}

static void noise_has_the_stated_mean_and_variance(void **state)
{
    (void)state;
    static double answer[MANY];
    pboost_rules rules = bounded_rules(SIZE, 0, 1);
    rules.epsilon = (pboost_rational){1, 2};
    ask_many(answer, &rules, 1, true);
    double mean = 0, square = 0, stated = pboost_rules_noise_variance(&rules, SIZE);
    for (size_t b = 0; b < MANY; b++) {
        mean += answer[b] / MANY;
        square += (answer[b] - 0.25) * (answer[b] - 0.25) / MANY;
    }
    assert_true(fabs(mean - 0.25) < 5 * sqrt(stated / MANY));
    assert_true(fabs(square / stated - 1) < 5 * sqrt(5.0 / MANY));
}

static void simulated_noise_repeats_and_system_noise_does_not(void **state)
{
    (void)state;
    static double a[MANY], b[MANY];
    pboost_rules rules = bounded_rules(SIZE, 0, 1);
    rules.epsilon = (pboost_rational){1, 2};
    ask_many(a, &rules, 1, true);
    ask_many(b, &rules, 1, true);
    assert_memory_equal(a, b, sizeof a);
    ask_many(a, &rules, 1, false);
    ask_many(b, &rules, 1, false);
    size_t equal = 0;
    for (size_t i = 0; i < MANY; i++)
        equal += a[i] == b[i];
    assert_true(equal < 20);
}

static void every_question_has_its_own_simulated_noise(void **state)
{
    (void)state;
    pboost_error err;
    double answer[2];
    size_t start[] = {0, 3};
    pboost_bags first = BAGS(0, 3, 5), second = BAGS(6, 7, 11);
    first.n_bags = second.n_bags = 1;
    first.start = second.start = start;
    pboost_rules rules = bounded_rules(3, 0, 1);
    rules.epsilon = (pboost_rational){1, 2};
    pboost_memory_oracle *oracle = make(LABEL, N, &rules, true);
    assert_ok(ask(oracle, &first, &answer[0], &err), err);
    assert_ok(ask(oracle, &second, &answer[1], &err), err);
    assert_true(answer[0] != answer[1]);
    pboost_memory_oracle_free(oracle);
}

static double share_of_ones(const double *answer)
{
    double ones = 0;
    for (size_t b = 0; b < MANY; b++) {
        assert_true(answer[b] == 0 || answer[b] == 1);
        ones += answer[b];
    }
    return ones / MANY;
}

static void rounded_means_take_the_nearer_and_toss_at_half(void **state)
{
    (void)state;
    static double answer[MANY], again[MANY];
    pboost_rules plain = rules_of(SIZE), grid = bounded_rules(SIZE, 0, 1);
    plain.round = grid.round = true;
    const pboost_rules *const both[] = {&plain, &grid};
    for (size_t i = 0; i < 2; i++) {
        ask_many(answer, both[i], 1, true);
        assert_close(share_of_ones(answer), 0, 0);
        ask_many(answer, both[i], 3, true);
        assert_close(share_of_ones(answer), 1, 0);
        ask_many(answer, both[i], 2, false);
        assert_true(fabs(share_of_ones(answer) - 0.5) < 5 * 0.5 / sqrt(MANY));
        ask_many(answer, both[i], 2, true);
        assert_true(fabs(share_of_ones(answer) - 0.5) < 5 * 0.5 / sqrt(MANY));
        ask_many(again, both[i], 2, true);
        assert_memory_equal(answer, again, sizeof answer);
    }
}

/* The coin of a bag is its own: the same for another order of rows and another question. */
static void a_simulated_coin_belongs_to_the_bag(void **state)
{
    (void)state;
    pboost_error err;
    double label[N], answer[3], shuffled[3], later;
    size_t start[] = {0, 4, 8, 12}, one[] = {0, 4};
    pboost_bags bags = BAGS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    pboost_bags other = BAGS(5, 4, 7, 6, 11, 9, 10, 8, 3, 2, 1, 0), last = BAGS(8, 9, 10, 11);
    bags.n_bags = other.n_bags = 3;
    bags.start = other.start = start;
    last.n_bags = 1;
    last.start = one;
    pboost_rules rules = rules_of(4);
    rules.round = true;
    size_t differ = 0;
    for (size_t i = 0; i < N; i++)
        label[i] = (double)(i % 2);

    for (uint64_t seed = 0; seed < 20; seed++) {
        pboost_memory_oracle *oracle[3];
        pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
        options.simulated = true;
        options.seed = seed;
        for (size_t i = 0; i < 3; i++)
            assert_ok(pboost_memory_oracle_create(&oracle[i], label, N, &rules, &options, &err),
                      err);
        assert_ok(ask(oracle[0], &bags, answer, &err), err);
        assert_ok(ask(oracle[1], &other, shuffled, &err), err);
        assert_ok(ask(oracle[2], &last, &later, &err), err);
        assert_true(answer[0] == shuffled[2] && answer[1] == shuffled[0]);
        assert_true(answer[2] == shuffled[1] && answer[2] == later);
        differ += answer[0] != answer[1];
        for (size_t i = 0; i < 3; i++)
            pboost_memory_oracle_free(oracle[i]);
    }
    assert_true(differ > 0 && differ < 20);
}

/* Noise first, then rounding: a bag of zeros is answered 1 as often as noise exceeds half its size,
 * P(Z > SIZE/2 * steps) with half of a tie. */
static void rounding_comes_after_noise(void **state)
{
    (void)state;
    static double answer[MANY];
    pboost_rules rules = bounded_rules(SIZE, 0, 1);
    rules.step = 1;
    rules.round = true;
    rules.epsilon = (pboost_rational){1, 2};
    ask_many(answer, &rules, 0, true);
    double p = exp(-0.5);
    double expected = pow(p, SIZE / 2 + 1) / (1 + p) + 0.5 * pow(p, SIZE / 2) * (1 - p) / (1 + p);
    assert_true(fabs(share_of_ones(answer) - expected) <
                5 * sqrt(expected * (1 - expected) / MANY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_without_noise_are_exact),
        cmocka_unit_test(plain_sums_keep_small_labels),
        cmocka_unit_test(the_interface_tells_the_rules),
        cmocka_unit_test(no_bags_spend_nothing),
        cmocka_unit_test(a_bag_one_row_short_is_refused),
        cmocka_unit_test(an_empty_bag_is_refused),
        cmocka_unit_test(a_row_twice_in_a_bag_is_refused),
        cmocka_unit_test(a_row_in_two_bags_is_refused),
        cmocka_unit_test(a_row_outside_the_table_is_refused),
        cmocka_unit_test(malformed_bags_are_refused),
        cmocka_unit_test(a_spent_row_is_refused),
        cmocka_unit_test(every_row_is_spent_by_itself),
        cmocka_unit_test(bad_labels_are_refused),
        cmocka_unit_test(labels_outside_are_clamped_on_demand),
        cmocka_unit_test(noise_has_the_stated_mean_and_variance),
        cmocka_unit_test(simulated_noise_repeats_and_system_noise_does_not),
        cmocka_unit_test(every_question_has_its_own_simulated_noise),
        cmocka_unit_test(rounded_means_take_the_nearer_and_toss_at_half),
        cmocka_unit_test(a_simulated_coin_belongs_to_the_bag),
        cmocka_unit_test(rounding_comes_after_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

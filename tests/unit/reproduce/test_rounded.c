/* The oracle of the reproduction answers as the library's does: the same answers where there is no
 * noise, the same law where there is. */
#include "testing.h"

#include "data.h"
#include "rounded.h"

enum { ROWS = 60000 };

/* Bags of neighbours with sizes min_bag, min_bag + 1, ... 2 min_bag - 1 in turn. */
static pboost_bags make_bags(size_t min_bag)
{
    pboost_bags bags = {.row = malloc(ROWS * sizeof *bags.row),
                        .start = calloc(ROWS + 1, sizeof *bags.start)};
    for (size_t size = min_bag; bags.n_rows + size <= ROWS;) {
        bags.n_rows += size;
        bags.start[++bags.n_bags] = bags.n_rows;
        size = size + 1 < 2 * min_bag ? size + 1 : min_bag;
    }
    for (size_t i = 0; i < bags.n_rows; i++)
        bags.row[i] = i;
    return bags;
}

static void draw_labels(unsigned char *bit, double *label)
{
    uint64_t state = 7;
    for (size_t i = 0; i < ROWS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bit[i] = state >> 40 & 1;
        label[i] = bit[i];
    }
}

typedef struct {
    unsigned char bit[ROWS];
    double label[ROWS], ours[ROWS], theirs[ROWS];
    pboost_bags bags;
} answers;

static answers a;

static void ask_both(size_t min_bag, pboost_rational epsilon, uint64_t seed)
{
    pboost_error err = {0};
    repro_rounded *ours = NULL;
    pboost_memory_oracle *theirs = NULL;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;

    rules.min_bag = min_bag;
    rules.epsilon = epsilon;
    rules.round = rules.bounded = true;
    rules.upper = 1.0;
    options.simulated = true;
    options.seed = seed;
    assert_ok(repro_rounded_create(&ours, a.bit, min_bag, epsilon, seed, &err), err);
    assert_ok(pboost_memory_oracle_create(&theirs, a.label, ROWS, &rules, &options, &err), err);
    const pboost_oracle mine = repro_rounded_interface(ours);
    const pboost_oracle library = pboost_memory_oracle_interface(theirs);
    assert_ok(mine.ask(mine.self, 0, &a.bags, a.ours, &err), err);
    assert_ok(library.ask(library.self, 0, &a.bags, a.theirs, &err), err);
    repro_rounded_free(ours);
    pboost_memory_oracle_free(theirs);
}

static int lead_of(size_t b)
{
    int lead = 0;
    for (size_t i = a.bags.start[b]; i < a.bags.start[b + 1]; i++)
        lead += a.bit[i] ? 1 : -1;
    return lead;
}

static void answers_without_noise_are_the_librarys(void **state)
{
    (void)state;
    const pboost_rational none = {0, 0};
    draw_labels(a.bit, a.label);
    for (size_t min_bag = 1; min_bag <= 64; min_bag *= 4) {
        a.bags = make_bags(min_bag);
        ask_both(min_bag, none, 3);
        for (size_t b = 0; b < a.bags.n_bags; b++)
            assert_true(a.ours[b] == a.theirs[b]); /* at ties too */
        pboost_bags_free(&a.bags);
    }
}

/* By ones - zeros: how often the two say 1, in as many bags. */
static void the_law_of_noise_is_the_librarys(void **state)
{
    (void)state;
    enum { FAR = 8 };
    const pboost_rational epsilons[] = {{1, 20}, {3, 10}, {1, 1}, {3, 1}};
    for (size_t e = 0; e < sizeof epsilons / sizeof *epsilons; e++)
        for (size_t min_bag = 1; min_bag <= 5; min_bag += 4) {
            double n[2 * FAR + 1] = {0}, ours[2 * FAR + 1] = {0}, theirs[2 * FAR + 1] = {0};
            draw_labels(a.bit, a.label);
            a.bags = make_bags(min_bag);
            ask_both(min_bag, epsilons[e], 11 + e);
            for (size_t b = 0; b < a.bags.n_bags; b++) {
                int at = FAR + lead_of(b);
                if (at < 0 || at > 2 * FAR)
                    continue;
                n[at]++;
                ours[at] += a.ours[b];
                theirs[at] += a.theirs[b];
            }
            for (int at = 0; at <= 2 * FAR; at++) {
                double value = pboost_rational_value(epsilons[e]), lead = at - FAR;
                double other = 0.5 * exp(-0.5 * value * fabs(lead));
                double chance = lead > 0 ? 1.0 - other : other;
                double spread = 5.0 * sqrt(n[at] * chance * (1.0 - chance)) + 1.0;
                assert_true(fabs(ours[at] - n[at] * chance) <= spread);
                assert_true(fabs(theirs[at] - n[at] * chance) <= spread);
            }
            pboost_bags_free(&a.bags);
        }
}

/* Bags beyond the table of chances, and questions that have noise of their own. */
static void large_bags_and_later_questions_are_answered(void **state)
{
    (void)state;
    pboost_error err = {0};
    repro_rounded *oracle = NULL;
    double second[ROWS];
    size_t differ = 0;

    draw_labels(a.bit, a.label);
    a.bags = make_bags(7);
    assert_ok(repro_rounded_create(&oracle, a.bit, 1, (pboost_rational){1, 10}, 5, &err), err);
    const pboost_oracle o = repro_rounded_interface(oracle);
    assert_ok(o.ask(o.self, 0, &a.bags, a.ours, &err), err);
    assert_ok(o.ask(o.self, 1, &a.bags, second, &err), err);
    double right = 0.0;
    for (size_t b = 0; b < a.bags.n_bags; b++) {
        differ += a.ours[b] != second[b];
        right += lead_of(b) == 0 ? 0.5 : (a.ours[b] > 0.5) == (lead_of(b) > 0);
    }
    assert_true(differ > a.bags.n_bags / 3);
    assert_true(right > 0.52 * (double)a.bags.n_bags);
    repro_rounded_free(oracle);
    pboost_bags_free(&a.bags);
}

static void noise_that_changes_nothing_is_none(void **state)
{
    (void)state;
    assert_int_equal(repro_rounded_epsilon((pboost_rational){100, 1}).den, 0);
    assert_int_equal(repro_rounded_epsilon((pboost_rational){0, 0}).den, 0);
    assert_int_equal(repro_rounded_epsilon((pboost_rational){232, 5}).den, 5);
}

/* Turned or not, a table has the same rows and the same predictions. */
static void tables_predict_as_the_library(void **state)
{
    (void)state;
    for (size_t features = 3; features <= 19; features += features == 3 ? 5 : 11) {
        pboost_error err = {0};
        const data_key key = {
            .rows = 203, .test_rows = 50, .features = features, .noise = 0.1, .seed = 4};
        repro_data data;
        pboost_coef coef;
        double ours[203], theirs[203];
        assert_ok(repro_data_make(&data, &key, 1, &err), err);
        assert_ok(pboost_coef_init(&coef, features, &err), err);
        memcpy(coef.theta, data.theta, features * sizeof *data.theta);
        for (size_t first = 0; first < 203; first += 101) {
            size_t n = 203 - first;
            pboost_matrix x = repro_data_rows(&data.train, first, n);
            pboost_samples samples = {.x = &x, .n = n};
            repro_data_predict(ours, &data.train, first, n, PBOOST_LOGISTIC, &coef);
            assert_ok(pboost_predict(theirs, PBOOST_LOGISTIC, &samples, &coef, 1, &err), err);
            for (size_t i = 0; i < n; i++) {
                assert_close(ours[i], theirs[i], 1e-14);
                if (fabs(theirs[i] - 0.5) > 0.2) /* the noise is 0.1 */
                    assert_int_equal(data.train.bit[first + i], theirs[i] > 0.5);
            }
        }
        pboost_coef_free(&coef);
        repro_data_free(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_without_noise_are_the_librarys),
        cmocka_unit_test(the_law_of_noise_is_the_librarys),
        cmocka_unit_test(large_bags_and_later_questions_are_answered),
        cmocka_unit_test(noise_that_changes_nothing_is_none),
        cmocka_unit_test(tables_predict_as_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bags: contracts of the public functions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <priorboost/core.h>

#include "bags/bags.h"
#include "base/rng.h"

static double *scores(size_t n, uint64_t seed)
{
    double *score = malloc((n + 1) * sizeof *score);
    assert_non_null(score);
    for (size_t i = 0; i < n; i++)
        score[i] = (double)(pboost_rng_key(seed, RNG_FEATURES, 0, i) >> 11) * 0x1p-53;
    return score;
}

static void assert_empty(const pboost_bags *bags)
{
    assert_int_equal(bags->n_rows, 0);
    assert_int_equal(bags->n_bags, 0);
    assert_null(bags->row);
    assert_null(bags->start);
}

static void optimal_bags_follow_the_scores(void **unused)
{
    const double score[] = {5.0, 1.0, 5.1, 1.1, 9.0, 1.2, 9.1};
    const size_t row[] = {1, 3, 5, 0, 2, 4, 6}, start[] = {0, 3, 5, 7};
    pboost_bags bags;
    (void)unused;
    assert_int_equal(pboost_bags_optimal(&bags, score, 7, 2, 1, NULL), PBOOST_OK);
    assert_int_equal(bags.n_rows, 7);
    assert_int_equal(bags.n_bags, 3);
    assert_memory_equal(bags.row, row, sizeof row);
    assert_memory_equal(bags.start, start, sizeof start);
    assert_true(fabs(pboost_bags_cost(&bags, score) - (0.02 + 0.005 + 0.005)) < 1e-14);
    pboost_bags_free(&bags);
    assert_empty(&bags);
    pboost_bags_free(&bags);
    pboost_bags_free(NULL);
}

static void equal_scores_keep_their_order(void **unused)
{
    const double score[] = {0.0, 1.0, -0.0, 1.0, 0.0, 1.0};
    const size_t row[] = {0, 2, 4, 1, 3, 5};
    pboost_bags bags;
    (void)unused;
    assert_int_equal(pboost_bags_optimal(&bags, score, 6, 3, 1, NULL), PBOOST_OK);
    assert_memory_equal(bags.row, row, sizeof row);
    assert_int_equal(bags.n_bags, 2);
    assert_true(pboost_bags_cost(&bags, score) == 0);
    pboost_bags_free(&bags);
}

static void bags_of_one_cost_nothing(void **unused)
{
    double *score = scores(100, 1);
    pboost_bags bags;
    (void)unused;
    assert_int_equal(pboost_bags_optimal(&bags, score, 100, 1, 1, NULL), PBOOST_OK);
    assert_int_equal(bags.n_bags, 100);
    assert_true(pboost_bags_cost(&bags, score) == 0);
    assert_int_equal(pboost_bags_check(&bags, 100, 1, NULL), PBOOST_OK);
    pboost_bags_free(&bags);
    free(score);
}

static void fewer_than_two_bags_are_one(void **unused)
{
    double *score = scores(79, 2);
    pboost_bags bags;
    (void)unused;
    for (size_t n = 40; n < 80; n++) {
        assert_int_equal(pboost_bags_optimal(&bags, score, n, 40, 1, NULL), PBOOST_OK);
        assert_int_equal(bags.n_bags, 1);
        assert_int_equal(bags.start[1], n);
        pboost_bags_free(&bags);
    }
    free(score);
}

static void bad_requests_are_explained(void **unused)
{
    double *score = scores(25, 3);
    pboost_bags bags;
    pboost_error err;
    (void)unused;
    assert_int_equal(pboost_bags_optimal(&bags, score, 25, 40, 1, &err), PBOOST_BAD_DATA);
    assert_string_equal(err.message, "min_bag is 40, but there are only 25 rows");
    assert_empty(&bags);
    assert_int_equal(pboost_bags_random(&bags, 25, 40, 1, &err), PBOOST_BAD_DATA);
    assert_string_equal(err.message, "min_bag is 40, but there are only 25 rows");
    assert_empty(&bags);
    assert_int_equal(pboost_bags_optimal(&bags, NULL, 0, 1, 1, &err), PBOOST_BAD_DATA);
    assert_int_equal(pboost_bags_random(&bags, 0, 1, 1, &err), PBOOST_BAD_DATA);
    assert_int_equal(pboost_bags_optimal(&bags, score, 25, 0, 1, &err), PBOOST_INVALID);
    assert_int_equal(pboost_bags_random(&bags, 25, 0, 1, &err), PBOOST_INVALID);
    score[7] = (double)NAN;
    assert_int_equal(pboost_bags_optimal(&bags, score, 25, 5, 1, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "score 7 is"));
    assert_non_null(strstr(err.message, "nan"));
    assert_empty(&bags);
    free(score);
}

static void threads_do_not_change_bits(void **unused)
{
    const size_t n = 400000;
    static const size_t ks[] = {2, 8, 30, 64};
    double *score = scores(n, 4);
    (void)unused;
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        pboost_bags one, many;
        assert_int_equal(pboost_bags_optimal(&one, score, n, ks[i], 1, NULL), PBOOST_OK);
        assert_int_equal(pboost_bags_check(&one, n, ks[i], NULL), PBOOST_OK);
        for (int threads = 2; threads <= 4; threads += 2) {
            assert_int_equal(pboost_bags_optimal(&many, score, n, ks[i], threads, NULL), PBOOST_OK);
            assert_int_equal(many.n_bags, one.n_bags);
            assert_memory_equal(many.row, one.row, n * sizeof *one.row);
            assert_memory_equal(many.start, one.start, (one.n_bags + 1) * sizeof *one.start);
            pboost_bags_free(&many);
        }
        pboost_bags_free(&one);
    }
    free(score);
}

static void random_bags_are_even(void **unused)
{
    (void)unused;
    for (size_t n = 1; n < 120; n++)
        for (size_t k = 1; k <= n; k += 1 + k / 4) {
            pboost_bags bags;
            assert_int_equal(pboost_bags_random(&bags, n, k, 9, NULL), PBOOST_OK);
            assert_int_equal(bags.n_rows, n);
            assert_int_equal(bags.n_bags, n / k);
            assert_int_equal(pboost_bags_check(&bags, n, k, NULL), PBOOST_OK);
            for (size_t b = 0; b < bags.n_bags; b++) {
                size_t size = bags.start[b + 1] - bags.start[b];
                assert_in_range(size, n / (n / k), n / (n / k) + 1);
            }
            pboost_bags_free(&bags);
        }
}

static void random_bags_follow_the_seed(void **unused)
{
    const size_t n = 10000;
    pboost_bags a, b, c;
    size_t fixed = 0;
    (void)unused;
    assert_int_equal(pboost_bags_random(&a, n, 7, 1, NULL), PBOOST_OK);
    assert_int_equal(pboost_bags_random(&b, n, 7, 1, NULL), PBOOST_OK);
    assert_int_equal(pboost_bags_random(&c, n, 7, 2, NULL), PBOOST_OK);
    assert_memory_equal(a.row, b.row, n * sizeof *a.row);
    assert_memory_not_equal(a.row, c.row, n * sizeof *a.row);
    for (size_t i = 1; i < n; i++)
        assert_true(pboost_rng_key(1, RNG_SHUFFLE, 0, a.row[i - 1]) <=
                    pboost_rng_key(1, RNG_SHUFFLE, 0, a.row[i]));
    for (size_t i = 0; i < n; i++)
        fixed += a.row[i] == i;
    assert_true(fixed < 12);
    pboost_bags_free(&a);
    pboost_bags_free(&b);
    pboost_bags_free(&c);
}

static void cost_survives_an_offset(void **unused)
{
    double score[] = {1e9 + 0.25, 1e9, 1e9 + 0.5, -1e9, -1e9 + 1};
    size_t row[] = {0, 1, 2, 3, 4}, start[] = {0, 3, 5};
    pboost_bags bags = {5, 2, row, start};
    (void)unused;
    assert_true(fabs(pboost_bags_cost(&bags, score) - (0.125 + 0.5)) < 1e-15);
}

static void renumber_maps_rows(void **unused)
{
    size_t row[] = {2, 0, 1}, start[] = {0, 3};
    const size_t table[] = {10, 20, 30}, expect[] = {30, 10, 20};
    pboost_bags bags = {3, 1, row, start};
    (void)unused;
    pboost_bags_renumber(&bags, table);
    assert_memory_equal(row, expect, sizeof row);
}

static void check_finds_what_is_wrong(void **unused)
{
    static const struct {
        size_t n_rows, n_bags, row[4], start[3], table_rows, min_bag;
        pboost_status status;
        const char *message;
    } cases[] = {
        {4, 2, {3, 1, 0, 2}, {0, 2, 4}, 4, 2, PBOOST_OK, NULL},
        {4, 2, {3, 1, 0, 2}, {0, 2, 4}, 4, 3, PBOOST_REFUSED, "bag 0 has 2 rows, but min_bag is 3"},
        {4, 2, {3, 1, 0, 2}, {0, 3, 4}, 4, 2, PBOOST_REFUSED, "bag 1 has 1 rows, but min_bag is 2"},
        {4, 2, {3, 1, 0, 4}, {0, 2, 4}, 4, 2, PBOOST_INVALID, "row 4, but there are only 4"},
        {4, 2, {3, 1, 0, 3}, {0, 2, 4}, 4, 2, PBOOST_REFUSED, "row 3 is in the bags twice"},
        {4, 2, {3, 1, 0, 2}, {1, 2, 4}, 4, 1, PBOOST_INVALID, "cover rows 1 to 4"},
        {4, 2, {3, 1, 0, 2}, {0, 2, 3}, 4, 1, PBOOST_INVALID, "cover rows 0 to 3"},
        {4, 2, {3, 1, 0, 2}, {0, 9, 4}, 4, 1, PBOOST_INVALID, "bag 0 ends at 9"},
        {4, 0, {3, 1, 0, 2}, {0, 0, 0}, 4, 1, PBOOST_INVALID, "no bags"},
        {0, 0, {0, 0, 0, 0}, {0, 0, 0}, 4, 1, PBOOST_OK, NULL},
        {0, 2, {0, 0, 0, 0}, {0, 0, 0}, 4, 0, PBOOST_OK, NULL},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t row[4], start[3];
        pboost_bags bags = {cases[i].n_rows, cases[i].n_bags, row, start};
        pboost_error err = {0};
        memcpy(row, cases[i].row, sizeof row);
        memcpy(start, cases[i].start, sizeof start);
        assert_int_equal(pboost_bags_check(&bags, cases[i].table_rows, cases[i].min_bag, &err),
                         cases[i].status);
        if (cases[i].message != NULL)
            assert_non_null(strstr(err.message, cases[i].message));
    }
    pboost_bags none = {4, 1, NULL, NULL};
    assert_int_equal(pboost_bags_check(&none, 4, 1, NULL), PBOOST_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimal_bags_follow_the_scores),
        cmocka_unit_test(equal_scores_keep_their_order),
        cmocka_unit_test(bags_of_one_cost_nothing),
        cmocka_unit_test(fewer_than_two_bags_are_one),
        cmocka_unit_test(bad_requests_are_explained),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(random_bags_are_even),
        cmocka_unit_test(random_bags_follow_the_seed),
        cmocka_unit_test(cost_survives_an_offset),
        cmocka_unit_test(renumber_maps_rows),
        cmocka_unit_test(check_finds_what_is_wrong),
    };
    return cmocka_run_group_tests_name("bags", tests, NULL, NULL);
}

/* The mismatch of two partitions, against the norm of the dense matrix S'S - S~'S~. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <priorboost/theory.h>

#include "theory/eigen.h"

#define MOST_ROWS 1024

typedef struct {
    pboost_bags bags;
    size_t row[MOST_ROWS], start[MOST_ROWS + 1];
} partition;

static size_t draw(uint64_t *state, size_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((*state >> 33) % below);
}

/* Rows base, base + 3, ... in bags of the given size each (the last one larger). */
static void cut(partition *p, size_t n, size_t size, size_t base)
{
    p->bags = (pboost_bags){n, n / size, p->row, p->start};
    for (size_t i = 0; i < n; i++)
        p->row[i] = base + 3 * i;
    for (size_t b = 0; b < n / size; b++)
        p->start[b] = b * size;
    p->start[n / size] = n;
}

static void shuffle(partition *p, size_t first, size_t end, uint64_t *state)
{
    for (size_t i = end; i > first + 1; i--) {
        size_t j = first + draw(state, i - first), held = p->row[i - 1];
        p->row[i - 1] = p->row[j];
        p->row[j] = held;
    }
}

/* |P - Q| from the n x n matrix itself: the root of the largest eigenvalue of its square. */
static double dense_mismatch(const partition *a, const partition *b, size_t base)
{
    size_t n = a->bags.n_rows;
    double *m = calloc(2 * n * n + 2 * n, sizeof *m), *square = m + n * n;
    assert_non_null(m);
    const partition *each[2] = {a, b};
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < each[side]->bags.n_bags; k++) {
            size_t first = each[side]->start[k], end = each[side]->start[k + 1];
            for (size_t i = first; i < end; i++)
                for (size_t j = first; j < end; j++)
                    m[(each[side]->row[i] - base) / 3 * n + (each[side]->row[j] - base) / 3] +=
                        (side == 0 ? 1.0 : -1.0) / (double)(end - first);
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                square[i * n + j] += m[i * n + k] * m[k * n + j];
    double norm = sqrt(fmax(0.0, pboost_eigen_largest(square, n, m + 2 * n * n)));
    free(m);
    return norm;
}

static double mismatch(const partition *a, const partition *b)
{
    double got = -1.0;
    pboost_error err = {0};
    if (pboost_bags_mismatch(&got, &a->bags, &b->bags, &err) != PBOOST_OK)
        fail_msg("%s", err.message);
    return got;
}

static void assert_close(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.17g, want %.17g", got, want);
}

static void equals_the_dense_norm(void **state)
{
    (void)state;
    uint64_t random = 7;
    size_t between = 0;
    static partition a, b;
    for (int trial = 0; trial < 300; trial++) {
        size_t n = 4 + draw(&random, 30), size = 1 + draw(&random, 5);
        cut(&a, n, size < n ? size : n, 5);
        cut(&b, n, size < n ? size : n, 5);
        if (trial % 3 == 0) /* other sizes too, so that ranks differ */
            cut(&b, n, 1 + draw(&random, 4), 5);
        shuffle(&a, 0, n, &random);
        memcpy(b.row, a.row, n * sizeof *b.row);
        for (size_t first = 0; first < n; first += 8) /* swaps within windows: several blocks */
            shuffle(&b, first, first + 8 < n ? first + 8 : n, &random);
        double want = dense_mismatch(&a, &b, 5);
        assert_close(mismatch(&a, &b), want, 1e-7);
        between += want > 0.01 && want < 0.99;
    }
    assert_true(between > 30); /* the cases are not all 0 or 1 */
}

/* A chain of bags of 5, each exchanging a row with the next, is one block of 120 bags: too large
 * for the dense way of the library. */
static void long_blocks_equal_the_dense_norm(void **state)
{
    (void)state;
    static partition a, b;
    cut(&a, 600, 5, 0);
    cut(&b, 600, 5, 0);
    for (size_t k = 0; k + 1 < 120; k++) {
        size_t held = b.row[5 * k + 4];
        b.row[5 * k + 4] = b.row[5 * k + 5];
        b.row[5 * k + 5] = held;
    }
    double want = dense_mismatch(&a, &b, 0);
    assert_true(want > 0.5 && want < 0.99);
    assert_close(mismatch(&a, &b), want, 1e-6);
}

static void known_cases(void **state)
{
    (void)state;
    static partition a, b;
    cut(&a, 12, 3, 0);
    cut(&b, 12, 3, 0);
    assert_true(mismatch(&a, &b) == 0.0);
    for (size_t i = 0; i < 12; i++) /* the bags in reverse, and their rows too */
        b.row[i] = a.row[11 - i];
    assert_true(mismatch(&a, &b) == 0.0);

    /* One row exchanged between two bags of s: C = [[c, 1-c], [1-c, c]] with c = (s-1)/s, whose
     * least singular value is 2c - 1 = 1 - 2/s. */
    cut(&b, 12, 3, 0);
    size_t held = b.row[2];
    b.row[2] = b.row[3];
    b.row[3] = held;
    assert_close(mismatch(&a, &b), sqrt(1.0 - 1.0 / 9.0), 1e-14);

    /* A bag split in two has another rank. */
    cut(&b, 12, 3, 0);
    b.bags.n_bags = 5;
    b.start[1] = 1;
    for (size_t k = 2; k <= 5; k++)
        b.start[k] = 3 * (k - 1);
    assert_true(mismatch(&a, &b) == 1.0);
    assert_true(mismatch(&b, &a) == 1.0);
}

/* As many bags in both, but not block by block: one bag is split, two others joined. */
static void equal_totals_do_not_hide_unequal_blocks(void **state)
{
    (void)state;
    static partition a, b;
    cut(&a, 8, 2, 0);
    cut(&b, 8, 2, 0);
    memcpy(b.start, (size_t[]){0, 1, 2, 6, 8}, 5 * sizeof(size_t));
    assert_true(mismatch(&a, &b) == 1.0);
    assert_close(dense_mismatch(&a, &b, 0), 1.0, 1e-14);
}

static void assert_refused(const partition *a, const partition *b, const char *part)
{
    double got = 0.0;
    pboost_error err = {0};
    assert_int_equal(pboost_bags_mismatch(&got, &a->bags, &b->bags, &err), PBOOST_INVALID);
    if (strstr(err.message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    assert_true(isnan(got));
    assert_int_equal(pboost_bags_mismatch(&got, &a->bags, &b->bags, NULL), PBOOST_INVALID);
}

static void refuses_what_is_no_partition_of_the_same_rows(void **state)
{
    (void)state;
    static partition a, b;
    cut(&a, 12, 3, 0);
    cut(&b, 15, 3, 0);
    assert_refused(&a, &b, "12 and 15 rows");
    cut(&b, 12, 3, 0);
    b.row[5] = 1000;
    assert_refused(&a, &b, "row 15 is in only one");
    assert_refused(&b, &a, "row 15 is in only one");
    b.row[5] = b.row[0];
    assert_refused(&a, &b, "row 0 is in two bags");
    cut(&b, 12, 3, 0);
    b.start[1] = 0;
    assert_refused(&b, &a, "bag 0 goes from 0 to 0");
    b.start[1] = 13;
    assert_refused(&b, &a, "bag 0 goes from 0 to 13");
    cut(&b, 12, 3, 0);
    b.start[4] = 11;
    assert_refused(&a, &b, "4 bags do not hold 12 rows");
    b.bags.n_bags = 0;
    assert_refused(&a, &b, "0 bags");
    cut(&b, 12, 3, 0);
    b.start[0] = 1;
    assert_refused(&a, &b, "4 bags do not hold 12 rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_dense_norm),
        cmocka_unit_test(long_blocks_equal_the_dense_norm),
        cmocka_unit_test(known_cases),
        cmocka_unit_test(equal_totals_do_not_hide_unequal_blocks),
        cmocka_unit_test(refuses_what_is_no_partition_of_the_same_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

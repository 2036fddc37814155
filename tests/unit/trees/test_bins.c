/* Bins: cells in their order, missing cells, rare levels. */
#include "testing.h"

#include "fit_support.h"
#include "trees/bins.h"

enum { ROWS = 3000 };

static binned bin_one(const pboost_column *column, const size_t *row)
{
    binned b;
    pboost_error err;
    pboost_columns columns = {.rows = ROWS, .n = 1, .column = column};
    assert_ok(pboost_bin(&b, &columns, row, ROWS, 1, &err), err);
    return b;
}

static void every_row(size_t *row)
{
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
}

/* A cell is in bin b exactly if it is above the end of bin b-1 and not above that of b. */
static void test_numbers_are_between_the_ends_of_their_bin(void **state)
{
    (void)state;
    static double x[ROWS];
    static size_t row[ROWS];
    test_rng rng = {3};
    every_row(row);
    for (int kind = 0; kind < 3; kind++) { /* all different, heavy ties, few values */
        for (size_t i = 0; i < ROWS; i++) {
            double z = normal(&rng);
            x[i] = kind == 0 ? z : kind == 1 ? (z < 0.5 ? 0.0 : exp(5.0 * z)) : floor(2.0 * z);
        }
        x[7] = NAN;
        x[8] = INFINITY;
        x[9] = -INFINITY;
        x[10] = -1e308;
        x[11] = 1e308;
        binned b = bin_one(&(pboost_column){.number = x, .stride = 1}, row);
        const bin_column *c = &b.column[0];
        assert_true(c->n <= MAX_BINS && c->n > (kind == 2 ? 5 : 100));
        size_t count[MAX_BINS] = {0};
        for (size_t i = 0; i < ROWS; i++) {
            size_t bin = pboost_bin_at(&b, 0, i);
            count[bin]++;
            assert_true(bin < c->n);
            assert_true((bin == 0) == !isfinite(x[i]));
            if (bin > 0)
                assert_true(x[i] <= c->upper[bin] && (bin == 1 || x[i] > c->upper[bin - 1]));
        }
        for (size_t k = 1; k < c->n; k++)
            assert_true(count[k] > 0);
        pboost_binned_free(&b);
    }
}

static void test_few_values_have_a_bin_each(void **state)
{
    (void)state;
    static double x[ROWS];
    static size_t row[ROWS];
    every_row(row);
    for (size_t i = 0; i < ROWS; i++)
        x[i] = (double)(i % 254);
    binned b = bin_one(&(pboost_column){.number = x, .stride = 1}, row);
    assert_int_equal(b.column[0].n, 255);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(pboost_bin_at(&b, 0, i), 1 + i % 254);
    pboost_binned_free(&b);
    double one = 4.0, none = NAN;
    b = bin_one(&(pboost_column){.number = &one}, row);
    assert_int_equal(b.column[0].n, 2);
    pboost_binned_free(&b);
    b = bin_one(&(pboost_column){.number = &none}, row);
    assert_int_equal(pboost_bin_at(&b, 0, 5), 0);
    pboost_binned_free(&b);
}

/* The 255 most frequent levels have a bin; the others, and codes that are no level, count as
 * missing. */
static void test_frequent_levels_have_a_bin(void **state)
{
    (void)state;
    enum { LEVELS = 400 };
    static uint32_t code[ROWS];
    static size_t row[ROWS];
    size_t rows[LEVELS] = {0};
    every_row(row);
    for (size_t i = 0; i < ROWS; i++) /* level l has more rows the smaller it is */
        code[i] = (uint32_t)((double)LEVELS * ((double)i / ROWS) * ((double)i / ROWS));
    code[5] = UINT32_MAX;
    for (size_t i = 0; i < ROWS; i++)
        rows[code[i] < LEVELS ? code[i] : 0] += code[i] < LEVELS;
    binned b = bin_one(&(pboost_column){.code = code, .levels = LEVELS}, row);
    const bin_column *c = &b.column[0];
    assert_int_equal(c->n, MAX_BINS);
    size_t least = ROWS, most_left_out = 0;
    for (size_t i = 0; i < ROWS; i++) {
        size_t bin = pboost_bin_at(&b, 0, i);
        if (code[i] == UINT32_MAX)
            assert_int_equal(bin, 0);
        else if (bin > 0)
            assert_int_equal(c->level[bin], code[i]);
        if (bin > 0)
            least = rows[code[i]] < least ? rows[code[i]] : least;
        else if (code[i] < LEVELS)
            most_left_out = rows[code[i]] > most_left_out ? rows[code[i]] : most_left_out;
    }
    assert_true(most_left_out > 0 && most_left_out <= least);
    pboost_binned_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_between_the_ends_of_their_bin),
        cmocka_unit_test(test_few_values_have_a_bin_each),
        cmocka_unit_test(test_frequent_levels_have_a_bin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

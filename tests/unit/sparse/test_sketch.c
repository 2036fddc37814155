/* The sketch: rows that are alike are near each other in it. */
#include "unit/sparse/support.h"

/* Rows of some groups: a row has the columns of its group and some that are random. */
enum { ROWS = 6000, GROUPS = 4, OWN = 6, D = 2000, DIMS = 8 };

static pboost_sparse groups(uint32_t *start, uint32_t *column)
{
    test_rng rng = {5};
    uint32_t place = 0;
    for (size_t i = 0; i < ROWS; i++) {
        uint32_t group = (uint32_t)(i % GROUPS), last = OWN * GROUPS;
        for (uint32_t j = 0; j < OWN; j++)
            if (uniform(&rng) < 0.8)
                column[place++] = group * OWN + j;
        for (int j = 0; j < 5; j++) {
            last += 1 + (uint32_t)(uniform(&rng) * (D - OWN * GROUPS) / 6);
            column[place++] = last;
        }
        start[i + 1] = place;
    }
    return (pboost_sparse){ROWS, D, start, 4, PBOOST_F64, column, NULL};
}

static void test_groups_are_apart(void **state)
{
    (void)state;
    uint32_t *start = calloc(ROWS + 1, sizeof *start);
    uint32_t *column = calloc((size_t)ROWS * (OWN + 5), sizeof *column);
    float *z = calloc((size_t)ROWS * DIMS, sizeof *z), *other = calloc((size_t)ROWS * DIMS, 4);
    pboost_sparse x = groups(start, column);
    pboost_error err;
    assert_ok(pboost_sparse_check(&x, 1, &err), err);
    assert_ok(pboost_sparse_sketch(z, &x, DIMS, 3, 1, NULL, &err), err);
    /* The same bits for any number of threads, others for another seed. */
    for (int threads = 2; threads <= 3; threads++) {
        assert_ok(pboost_sparse_sketch(other, &x, DIMS, 3, threads, NULL, &err), err);
        assert_memory_equal(z, other, (size_t)ROWS * DIMS * sizeof *z);
    }
    assert_ok(pboost_sparse_sketch(other, &x, DIMS, 4, 1, NULL, &err), err);
    assert_memory_not_equal(z, other, (size_t)ROWS * DIMS * sizeof *z);

    /* Bags made from it hold rows of one group, mostly. */
    pboost_matrix matrix = {z, PBOOST_F32, ROWS, DIMS, DIMS, 1};
    pboost_samples samples = {.x = &matrix, .n = ROWS};
    pboost_bags bags;
    size_t alike = 0;
    assert_ok(pboost_bags_features(&bags, &samples, 20, 1, NULL, &err), err);
    for (size_t b = 0; b < bags.n_bags; b++) {
        size_t count[GROUPS] = {0}, most = 0;
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
            count[bags.row[i] % GROUPS]++;
        for (size_t g = 0; g < GROUPS; g++)
            most = count[g] > most ? count[g] : most;
        alike += most;
    }
    assert_true((double)alike > 0.85 * ROWS);
    pboost_bags_free(&bags);
    free(start);
    free(column);
    free(z);
    free(other);
}

/* Tables that have fewer directions than asked for, or none, still have a sketch. */
static void test_small_tables_have_a_sketch(void **state)
{
    (void)state;
    uint32_t start[] = {0, 1, 2, 2, 3}, column[] = {0, 1, 1};
    double value[] = {2.0, -1.0, 3.0};
    pboost_sparse x = {4, 5, start, 4, PBOOST_F64, column, value};
    float out[4 * 9];
    pboost_error err;
    assert_ok(pboost_sparse_sketch(out, &x, 9, 0, 1, NULL, &err), err);
    for (size_t i = 0; i < 36; i++)
        assert_true(isfinite(out[i]));
    uint32_t none[5] = {0};
    x.start = none;
    assert_ok(pboost_sparse_sketch(out, &x, 9, 0, 1, NULL, &err), err);
    for (size_t i = 0; i < 36; i++)
        assert_true(out[i] == 0.0F);
}

static void test_bad_requests_are_named(void **state)
{
    (void)state;
    uint32_t start[] = {0, 1}, column[] = {0};
    pboost_sparse x = {1, 1, start, 4, PBOOST_F64, column, NULL};
    float out[4];
    pboost_error err;
    assert_fails(pboost_sparse_sketch(out, &x, 0, 0, 1, NULL, &err), PBOOST_INVALID, err,
                 "dims is 0; a sketch has 1 to 256 columns");
    assert_fails(pboost_sparse_sketch(out, &x, 257, 0, 1, NULL, &err), PBOOST_INVALID, err,
                 "dims is 257");
    assert_fails(pboost_sparse_sketch(out, &x, 1, 0, -1, NULL, &err), PBOOST_INVALID, err,
                 "threads is -1");
    column[0] = 7;
    assert_fails(pboost_sparse_sketch(out, &x, 1, 0, 1, NULL, &err), PBOOST_BAD_DATA, err,
                 "column");
    column[0] = 0;
    look_limit limit = {0, 2};
    pboost_cancel cancel = {runs_out, &limit, NULL};
    assert_fails(pboost_sparse_sketch(out, &x, 1, 0, 1, &cancel, &err), PBOOST_CANCELLED, err,
                 "stopped as asked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_are_apart),
        cmocka_unit_test(test_small_tables_have_a_sketch),
        cmocka_unit_test(test_bad_requests_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

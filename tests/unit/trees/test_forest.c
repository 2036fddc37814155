/* What a forest and a mixture predict, on trees written by hand. */
#include "testing.h"

enum { ROWS = 5000 };

/* Two trees: on a number, then on a category below it; and a leaf alone. */
static pboost_node NODES[] = {
    {.column = 0, .left = 1, .right = 2, .value = 0.5, .missing_left = true},
    {.column = PBOOST_LEAF, .value = -1.0},
    {.column = 1, .left = 3, .right = 4, .set = 0, .n_set = 3},
    {.column = PBOOST_LEAF, .value = 2.0},
    {.column = PBOOST_LEAF, .value = 3.0},
    {.column = PBOOST_LEAF, .value = 0.25},
};
static uint32_t ROOTS[] = {0, 5}, CODES[] = {1, 4, 8};
static const pboost_forest FOREST = {.n_columns = 2,
                                     .n_trees = 2,
                                     .n_nodes = 6,
                                     .n_codes = 3,
                                     .root = ROOTS,
                                     .node = NODES,
                                     .code = CODES};

static double by_hand(double x, uint32_t code)
{
    if (!isfinite(x) || x <= 0.5)
        return -1.0 + 0.25;
    return code == 1 || code == 4 ? 2.25 : 3.25;
}

/* Numbers are every second double of x; row r has category r % 9, of which 7 are known. */
typedef struct {
    double x[2 * ROWS], one[ROWS];
    uint32_t code[ROWS];
    pboost_column column[2];
    pboost_columns columns;
    pboost_matrix matrix;
} table;

static table T;

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        T.x[2 * i] = i % 5 == 0 ? NAN : i % 7 == 0 ? INFINITY : (double)(i % 11) / 10.0;
        T.code[i] = (uint32_t)(i % 9);
        T.one[i] = 1.0;
    }
    T.column[0] = (pboost_column){.number = T.x, .stride = 2};
    T.column[1] = (pboost_column){.code = T.code, .levels = 7};
    T.columns = (pboost_columns){.rows = ROWS, .n = 2, .column = T.column};
    T.matrix = pboost_matrix_f64(T.one, ROWS, 1);
    return 0;
}

static void test_forest_follows_its_nodes(void **state)
{
    (void)state;
    static double eta[ROWS], two[ROWS];
    static size_t row[ROWS];
    pboost_error err;
    for (size_t i = 0; i < ROWS; i++) {
        eta[i] = two[i] = 10.0;
        row[i] = ROWS - 1 - i;
    }
    assert_ok(pboost_forest_add(eta, &FOREST, &T.columns, NULL, ROWS, 1, &err), err);
    assert_ok(pboost_forest_add(two, &FOREST, &T.columns, row, ROWS, 3, &err), err);
    for (size_t i = 0; i < ROWS; i++) {
        /* Categories 7 and 8 are not below the 7 levels: they go right, as the missing do. */
        assert_true(eta[i] == 10.0 + by_hand(T.x[2 * i], T.code[i]));
        assert_true(two[ROWS - 1 - i] == eta[i]);
    }
}

static void test_forest_refuses_other_columns(void **state)
{
    (void)state;
    double eta[2] = {0};
    size_t row[2] = {0, ROWS};
    pboost_error err;
    pboost_columns one = {.rows = ROWS, .n = 1, .column = T.column};
    pboost_column empty[2] = {{0}, {0}};
    pboost_columns none = {.rows = ROWS, .n = 2, .column = empty};
    assert_fails(pboost_forest_add(eta, &FOREST, &one, NULL, 2, 1, &err), PBOOST_INVALID, err,
                 "fitted to 2 columns, but there are 1");
    assert_fails(pboost_forest_add(eta, &FOREST, &T.columns, row, 2, 1, &err), PBOOST_INVALID, err,
                 "sample 1 is row 5000");
    assert_fails(pboost_forest_add(eta, &FOREST, &T.columns, NULL, ROWS + 1, 1, &err),
                 PBOOST_INVALID, err, "5001 samples");
    assert_fails(pboost_forest_add(eta, &FOREST, &none, NULL, 2, 1, &err), PBOOST_INVALID, err,
                 "column 0 has neither");
    assert_fails(pboost_forest_add(eta, &FOREST, &T.columns, NULL, 2, -1, &err), PBOOST_INVALID,
                 err, "threads is -1");
    pboost_forest nothing = {0};
    assert_ok(pboost_forest_add(eta, &nothing, &one, NULL, 2, 1, &err), err);
    assert_true(eta[0] == 0.0);
}

static void test_mixture_is_the_mean_of_its_members(void **state)
{
    (void)state;
    static double mean[ROWS], offset[ROWS];
    double slope = 0.5, zero = 0.0;
    pboost_error err;
    pboost_member member[] = {
        {.weight = 0.75, .coef = {.n = 1, .theta = &slope, .intercept = -1.0}, .forest = FOREST},
        {.weight = 0.25, .coef = {.n = 1, .theta = &zero, .intercept = 0.5}},
    };
    pboost_mixture mixture = {.n = 2, .member = member};
    pboost_samples samples = {.x = &T.matrix, .n = ROWS, .offset = offset};
    for (size_t i = 0; i < ROWS; i++)
        offset[i] = (double)(i % 3);
    assert_ok(
        pboost_mixture_predict(mean, PBOOST_LOGISTIC, &samples, &T.columns, &mixture, 2, &err),
        err);
    for (size_t i = 0; i < ROWS; i++) {
        double a = -0.5 + offset[i] + by_hand(T.x[2 * i], T.code[i]), b = 0.5 + offset[i];
        assert_close(mean[i], 0.75 / (1.0 + exp(-a)) + 0.25 / (1.0 + exp(-b)), 1e-13);
    }
    assert_fails(pboost_mixture_predict(mean, PBOOST_LINEAR, &samples, NULL, &mixture, 1, &err),
                 PBOOST_INVALID, err, "member 0 has trees");
    member[1].weight = 0.5;
    assert_fails(
        pboost_mixture_predict(mean, PBOOST_LINEAR, &samples, &T.columns, &mixture, 1, &err),
        PBOOST_BAD_DATA, err, "sum to 1.25");
    member[1].weight = NAN;
    assert_fails(
        pboost_mixture_predict(mean, PBOOST_LINEAR, &samples, &T.columns, &mixture, 1, &err),
        PBOOST_BAD_DATA, err, "the weight of member 1 is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forest_follows_its_nodes),
        cmocka_unit_test(test_forest_refuses_other_columns),
        cmocka_unit_test(test_mixture_is_the_mean_of_its_members),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}

/* What an epsilon costs: the ends of each scale, and its direction.
 * tests/property/test_plan_costs.c compares with trainings. */
#include "plan_support.h"

static pboost_plan costs_of(pboost_family family, const char *epsilon, size_t k,
                            const double *offset)
{
    pboost_error err;
    pboost_plan plan;
    table t = make_table(family, 2048, 0);
    pboost_plan_options o = plan_options(family, epsilon, k);
    const pboost_rational more[] = {{1, 10}, {0, 0}, {10, 1}};
    o.epsilon = more;
    o.n_epsilon = epsilon != NULL ? 3 : 0;
    o.costs = true;
    assert_ok(
        pboost_plan_make(&plan, &(pboost_features){.x = t.matrix, .offset = offset}, &o, &err),
        err);
    free_table(&t);
    return plan;
}

/* Bags of one row without noise are labels. */
static void test_labels_cost_nothing(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        pboost_plan plan = costs_of((pboost_family)family, NULL, 1, NULL);
        assert_int_equal(plan.n_costs, 1);
        assert_close(plan.cost[0].kept, 1.0, 0.01);
        assert_close(plan.cost[0].labels, 2048.0, 20.0);
        assert_close(plan.cost[0].loss, plan.loss_all_labels, 1e-3 * fabs(plan.loss_all_labels));
        assert_close(plan.cost[0].measure, plan.measure_all_labels, 1e-3);
        assert_true(isnan(plan.cost[0].rows_needed) && isnan(plan.least_epsilon));
        pboost_plan_free(&plan);
    }
}

/* More noise costs more, by every figure. */
static void test_noise_costs(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"r2", "auc", "d2"};
    static const size_t ORDER[] = {1, 0, 3, 2}; /* epsilon 0.1, 1, 10 and none */
    for (int family = 0; family < 3; family++) {
        pboost_plan plan = costs_of((pboost_family)family, "1", 8, NULL);
        assert_string_equal(plan.measure, NAMES[family]);
        assert_int_equal(plan.n_costs, 4);
        assert_int_equal(plan.cost[0].point, plan.best);
        assert_true(plan.loss_all_labels < plan.loss_constant);
        assert_true(plan.measure_all_labels > plan.measure_constant + 0.01);
        assert_close(plan.measure_constant, family == PBOOST_LOGISTIC ? 0.5 : 0.0, 1e-9);
        for (size_t i = 0; i < 3; i++) {
            const pboost_cost *less = &plan.cost[ORDER[i]], *more = &plan.cost[ORDER[i + 1]];
            assert_true(less->loss > more->loss && less->kept < more->kept);
            assert_true(less->labels < more->labels && less->measure < more->measure);
            assert_true(more->kept <= 1.0 && more->labels <= 2048.0);
        }
        pboost_plan_free(&plan);
    }
}

/* Where the noise masks everything, no number of labels is as bad, and no figure is NaN. */
static void test_worthless(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        pboost_plan plan = costs_of((pboost_family)family, "0.00001", 8, NULL);
        assert_true(plan.cost[0].labels == 0.0);
        assert_true(plan.cost[0].kept < 0.2);
        assert_true(plan.cost[0].measure < plan.measure_constant + 0.1);
        pboost_plan_free(&plan);
    }
}

/* The constant model has the offset, and its AUC. */
static void test_offset(void **state)
{
    (void)state;
    double *offset = calloc(2048, sizeof *offset);
    for (size_t i = 0; i < 2048; i++)
        offset[i] = i % 2 == 0 ? 2.0 : -2.0;
    pboost_plan plan = costs_of(PBOOST_LOGISTIC, NULL, 8, offset);
    assert_true(plan.measure_constant > 0.7 && plan.measure_constant < plan.measure_all_labels);
    assert_true(plan.cost[0].kept > 0.5 && plan.cost[0].kept < 1.0);
    pboost_plan_free(&plan);
    free(offset);
}

/* They are made only if they are wanted: train does not wait for them. */
static void test_not_asked_for(void **state)
{
    (void)state;
    pboost_plan plan = plan_of(PBOOST_LOGISTIC, "1", 1024, NAN);
    assert_int_equal(plan.n_costs, 0);
    assert_null(plan.cost);
    pboost_plan_free(&plan);
}

/* Numbers from 0 to 15, and an indicator of each of their values but the first, rare ones among
 * them: as education in years and as degrees. */
static void test_collinear_columns(void **state)
{
    (void)state;
    enum { ROWS = 4096, LEVELS = 16, GROUPS = 6, COLS = LEVELS * GROUPS };
    static double x[ROWS * COLS];
    pboost_error err;
    pboost_plan plan;
    pboost_matrix matrix = pboost_matrix_f64(x, ROWS, COLS);
    pboost_plan_options o = plan_options(PBOOST_LOGISTIC, "1", 32);

    for (size_t i = 0; i < ROWS; i++)
        for (size_t g = 0; g < GROUPS; g++) {
            uint64_t draw = (i * GROUPS + g + 1) * 0x9e3779b97f4a7c15u >> 40;
            size_t level = 0;
            while (level + 1 < LEVELS && draw >> level & 1)
                level++;
            x[i * COLS + g * LEVELS] = (double)level;
            if (level > 0)
                x[i * COLS + g * LEVELS + level] = 1.0;
        }
    o.costs = true;
    assert_ok(pboost_plan_make(&plan, PLAIN(matrix), &o, &err), err);
    assert_true(plan.cost[0].measure > 0.5 && plan.cost[0].measure < 1.0);
    pboost_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_cost_nothing), cmocka_unit_test(test_noise_costs),
        cmocka_unit_test(test_worthless),           cmocka_unit_test(test_offset),
        cmocka_unit_test(test_not_asked_for),       cmocka_unit_test(test_collinear_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

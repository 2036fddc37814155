/* What a plan says an epsilon costs, against trainings: the expected loss and AUC, R^2 or D^2 on
 * other rows, the number of labels that are as good, and the target. */
#include "plan_support.h"

#include "data/answers.h"
#include "fit/aggregate/aggregate.h"

enum { ROWS = 4096, TEST_ROWS = 20000, RUNS = 30 };

typedef struct {
    double loss, measure;
} measured;

static double find_measure(const pboost_evaluation *e, const char *name)
{
    for (size_t i = 0; i < e->n_measures; i++)
        if (strcmp(e->measure[i].name, name) == 0)
            return e->measure[i].value;
    fail_msg("there is no measure %s", name);
    return NAN;
}

/* Of the mean model of one run: rows in `bags`, answered by these rules. */
static measured one_run(const pboost_plan *plan, pboost_family family, const pboost_rules *rules,
                        const table *t, const pboost_bags *bags, const table *test, uint64_t seed)
{
    pboost_error err;
    pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_memory_oracle *labels;
    pboost_answers answers = {0};
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report report;
    pboost_coef coef;
    pboost_evaluation e;
    held.simulated = held.clamp = true;
    held.seed = seed;
    fit.family = family;
    assert_ok(pboost_memory_oracle_create(&labels, t->y, t->n, rules, &held, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    assert_ok(pboost_answers_ask(&answers, &oracle, bags, &err), err);
    assert_ok(pboost_coef_init(&coef, FEATURES, &err), err);
    assert_ok(pboost_aggregate_fit(&coef, &report, NULL, PLAIN(t->matrix), &answers, 0, &fit, &err),
              err);
    pboost_samples on = {.x = &test->matrix, .n = test->n, .target = test->y};
    assert_ok(pboost_evaluate(&e, family, &on, &coef, 1, &err), err);
    pboost_coef_free(&coef);
    pboost_answers_clear(&answers);
    pboost_memory_oracle_free(labels);
    return (measured){e.measure[0].value, find_measure(&e, plan->measure)};
}

/* The mean over runs, each on other rows: of bags of this size, or of the first `n` labels. */
static measured mean_run(const pboost_plan *plan, const pboost_plan_options *o, size_t n,
                         size_t bag_size, const table *test)
{
    pboost_error err;
    measured sum = {0.0, 0.0};
    pboost_rules rules = o->rules;
    if (bag_size == 1)
        rules = (pboost_rules)PBOOST_RULES_INIT;
    rules.min_bag = bag_size;
    for (uint64_t run = 0; run < RUNS; run++) {
        table t = make_table(o->family, n, run + 1);
        pboost_samples samples = {.x = &t.matrix, .n = n};
        pboost_bags bags;
        assert_ok(pboost_bags_features(&bags, &samples, bag_size, 1, NULL, &err), err);
        measured m = one_run(plan, o->family, &rules, &t, &bags, test, run);
        sum.loss += m.loss / RUNS;
        sum.measure += m.measure / RUNS;
        pboost_bags_free(&bags);
        free_table(&t);
    }
    return sum;
}

static void check_ratio(const char *what, double forecast, double real, double factor)
{
    if (!(forecast < factor * real && real < factor * forecast))
        fail_msg("%s: %g is forecast, %g was measured", what, forecast, real);
}

static pboost_plan_options options_for(pboost_family family, const char *epsilon, size_t k,
                                       const pboost_coef *truth)
{
    pboost_plan_options o = plan_options(family, epsilon, k);
    o.assumed.coef = truth;
    o.assumed.dispersion = 1.0;
    o.fixed.has_bags = true;
    o.fixed.bags = PBOOST_BAGS_FEATURES;
    o.fixed.rounds = 1;
    o.costs = true;
    return o;
}

/* With the truth for a prior, so that the translation is tested and not the assumptions. */
static void check_case(pboost_family family, const char *epsilon, size_t k)
{
    pboost_error err;
    pboost_plan plan;
    table t = make_table(family, ROWS, 0), test = make_table(family, TEST_ROWS, 999);
    pboost_coef truth = {FEATURES, t.theta, 0.0};
    pboost_plan_options o = options_for(family, epsilon, k, &truth);
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    assert_ok(pboost_rules_check(&o.rules, &err), err);
    assert_int_equal(plan.n_costs, 1);
    assert_int_equal(plan.cost[0].point, plan.best);
    const pboost_cost *cost = &plan.cost[0];
    measured asked = mean_run(&plan, &o, ROWS, plan.point[plan.best].bag_size, &test);
    measured all = mean_run(&plan, &o, ROWS, 1, &test);
    measured fewer = mean_run(&plan, &o, (size_t)cost->labels, 1, &test);
    print_message("%s, k %zu, epsilon %s: loss %.4g %.4g (all %.4g %.4g), %s %.4g %.4g (all %.4g "
                  "%.4g), %.0f labels: %.4g\n",
                  pboost_family_name(family), k, epsilon != NULL ? epsilon : "none", cost->loss,
                  asked.loss, plan.loss_all_labels, all.loss, plan.measure, cost->measure,
                  asked.measure, plan.measure_all_labels, all.measure, cost->labels, fewer.loss);

    pboost_evaluation of_truth;
    pboost_samples on = {.x = &test.matrix, .n = test.n, .target = test.y};
    assert_ok(pboost_evaluate(&of_truth, family, &on, &truth, 1, &err), err);
    double best = of_truth.measure[0].value;

    /* The level depends on the test rows; what is lost against the truth does not. */
    assert_close(cost->loss, asked.loss,
                 0.05 * fabs(plan.loss_constant - plan.loss_all_labels) + 0.02 * fabs(asked.loss));
    assert_close(cost->measure, asked.measure, 0.02);
    assert_close(plan.measure_all_labels, all.measure, 0.02);
    check_ratio("excess", plan.point[cost->point].excess, asked.loss - best, 1.6);
    check_ratio("excess of as many labels", fewer.loss - best, asked.loss - best, 1.6);
    if (cost->labels < 0.5 * ROWS) /* else the difference is too small to measure */
        check_ratio("measure below that of all labels", plan.measure_all_labels - cost->measure,
                    all.measure - asked.measure, 1.6);
    pboost_plan_free(&plan);
    free_table(&t);
    free_table(&test);
}

static void test_linear(void **state)
{
    (void)state;
    check_case(PBOOST_LINEAR, NULL, 64);
    check_case(PBOOST_LINEAR, "4", 16);
    check_case(PBOOST_LINEAR, "0.5", 16);
}

static void test_logistic(void **state)
{
    (void)state;
    check_case(PBOOST_LOGISTIC, NULL, 128);
    check_case(PBOOST_LOGISTIC, "0.2", 16);
    check_case(PBOOST_LOGISTIC, "0.5", 16);
}

static void test_poisson(void **state)
{
    (void)state;
    check_case(PBOOST_POISSON, NULL, 128);
    check_case(PBOOST_POISSON, "3", 16);
    check_case(PBOOST_POISSON, "1", 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_logistic),
        cmocka_unit_test(test_poisson),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Trees under a trainer: rounds, scores and the answers of all rounds. */
#include "testing.h"

#include "unit/trees/support.h"

enum { ROWS = 6000 };

static void test_a_trainer_trains_trees(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LOGISTIC, ROWS, 21);
    pboost_forest_options o = forest_options(PBOOST_LOGISTIC);
    pboost_trainer_options training = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle *labels = NULL;
    pboost_trees *trees = NULL;
    pboost_trainer *trainer = NULL;
    pboost_error err;

    rules.min_bag = 8;
    training.rounds = 3;
    assert_ok(pboost_memory_oracle_create(&labels, t.y, ROWS, &rules, NULL, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    assert_ok(pboost_trees_create(&trees, &t.columns, NULL, NULL, &o, &err), err);
    pboost_learner learner = pboost_trees_learner(trees);
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &training, &err), err);
    assert_ok(pboost_trainer_run(trainer, &err), err);

    const pboost_forest_report *report = pboost_trees_report(trees);
    const pboost_answers *answers = pboost_trainer_answers(trainer);
    assert_int_equal(report->bags, pboost_answers_bags(answers).n_bags);
    assert_true(report->trees > 0);
    assert_false(report->worse_than_constant);
    /* The forest is that of a fit to the log of all rounds. */
    pboost_forest forest;
    double intercept, score[ROWS];
    size_t row[ROWS];
    assert_ok(pboost_forest_fit(&forest, &intercept, NULL, NULL, &t.columns, NULL, NULL, answers, 0,
                                &o, &err),
              err);
    assert_true(intercept == pboost_trees_intercept(trees));
    assert_int_equal(forest.n_nodes, pboost_trees_forest(trees)->n_nodes);
    for (size_t i = 0; i < ROWS; i++)
        row[i] = ROWS - 1 - i;
    assert_ok(learner.score(learner.self, row, ROWS, score, &err), err);
    for (size_t i = 0; i < ROWS; i++) {
        double eta = intercept;
        assert_ok(pboost_forest_add(&eta, &forest, &t.columns, &row[i], 1, 1, &err), err);
        assert_close(score[i], 1.0 / (1.0 + exp(-eta)), 1e-12);
    }
    pboost_forest_free(&forest);
    pboost_trainer_free(trainer);
    pboost_trees_free(trees);
    pboost_memory_oracle_free(labels);
    curve_close(&t);
}

/* What a fit would always refuse is refused before a label is spent. */
static void test_bad_input_is_refused_at_once(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, 100, 22);
    pboost_forest_options o = forest_options(PBOOST_LINEAR);
    double bad[100] = {0};
    pboost_trees *trees;
    pboost_error err;
    bad[7] = INFINITY;
    assert_fails(pboost_trees_create(&trees, &t.columns, bad, NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "the start of row 7 is inf");
    assert_null(trees);
    bad[7] = 0.0;
    assert_fails(pboost_trees_create(&trees, &t.columns, NULL, bad, &o, &err), PBOOST_BAD_DATA, err,
                 "all weights are 0");
    o.leaves = 0;
    assert_fails(pboost_trees_create(&trees, &t.columns, NULL, NULL, &o, &err), PBOOST_INVALID, err,
                 "leaves is 0");
    pboost_trees_free(NULL);
    curve_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_trainer_trains_trees),
        cmocka_unit_test(test_bad_input_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

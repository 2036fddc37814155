/* A wide model under a trainer: rounds, scores, bags from a sketch. */
#include "unit/sparse/support.h"

enum { ROWS = 4000, D = 300 };

static void train(pboost_strategy bags, pboost_estimator estimator)
{
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, ROWS, D, 8, true, 21);
    float *narrow = calloc((size_t)ROWS * 8, sizeof *narrow);
    pboost_matrix sketch = {narrow, PBOOST_F32, ROWS, 8, 8, 1};
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    pboost_trainer_options training = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle *labels = NULL;
    pboost_wide *wide = NULL;
    pboost_trainer *trainer = NULL;
    pboost_error err;

    rules.min_bag = 8;
    o.estimator = estimator;
    training.rounds = 3;
    training.bags = bags;
    training.family = PBOOST_LOGISTIC;
    training.x = &sketch;
    assert_ok(pboost_sparse_sketch(narrow, &t.features.x, 8, 1, 1, NULL, &err), err);
    assert_ok(pboost_memory_oracle_create(&labels, t.y, ROWS, &rules, NULL, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    assert_ok(pboost_wide_create(&wide, &t.features, NULL, &o, &err), err);
    pboost_learner learner = pboost_wide_learner(wide);
    assert_ok(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &training, &err), err);
    assert_ok(pboost_trainer_run(trainer, &err), err);

    const pboost_fit_report *report = pboost_wide_report(wide);
    const pboost_coef *coef = pboost_wide_coef(wide);
    const pboost_answers *answers = pboost_trainer_answers(trainer);
    bool pools = estimator == PBOOST_AGGREGATE;
    assert_int_equal(report->estimator, estimator);
    assert_true(report->converged && !report->worse_than_constant);
    if (pools) /* the answers of all rounds */
        assert_int_equal(report->bags, pboost_answers_bags(answers).n_bags);
    /* Scores are predictions, by the numbers of rows. */
    double score[100], mean[100];
    size_t row[100];
    for (size_t i = 0; i < 100; i++)
        row[i] = ROWS - 1 - i;
    pboost_wide_samples s = {.x = &t.features.x, .row = row, .n = 100};
    assert_ok(learner.score(learner.self, row, 100, score, &err), err);
    assert_ok(pboost_wide_predict(mean, PBOOST_LOGISTIC, &s, coef, 1, &err), err);
    assert_memory_equal(score, mean, sizeof score);
    pboost_trainer_free(trainer);
    pboost_wide_free(wide);
    pboost_memory_oracle_free(labels);
    free(narrow);
    wide_close(&t);
}

static void test_a_trainer_trains_a_wide_model(void **state)
{
    (void)state;
    train(PBOOST_BAGS_PRIOR, PBOOST_EVENT);
    train(PBOOST_BAGS_PRIOR, PBOOST_AGGREGATE);
    train(PBOOST_BAGS_HYBRID, PBOOST_AGGREGATE);
}

/* What a fit would always refuse is refused before a label is spent. */
static void test_bad_input_is_refused_at_once(void **state)
{
    (void)state;
    wide_table t;
    wide_open(&t, PBOOST_LOGISTIC, 100, 10, 4, true, 22);
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    pboost_wide *wide;
    pboost_coef start;
    pboost_error err;
    t.weight[7] = -1.0;
    t.features.weight = t.weight;
    assert_fails(pboost_wide_create(&wide, &t.features, NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "weight");
    assert_null(wide);
    t.features.weight = NULL;
    t.column[t.start[50]] = 10;
    assert_fails(pboost_wide_create(&wide, &t.features, NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "row 50, position 0: the column is 10");
    t.column[t.start[50]] = 0;
    o.threads = -2;
    assert_fails(pboost_wide_create(&wide, &t.features, NULL, &o, &err), PBOOST_INVALID, err,
                 "threads is -2");
    o.threads = 1;
    assert_ok(pboost_coef_init(&start, 9, &err), err);
    assert_fails(pboost_wide_create(&wide, &t.features, &start, &o, &err), PBOOST_INVALID, err,
                 "there are 9 coefficients for 10 columns");
    pboost_coef_free(&start);
    assert_ok(pboost_coef_init(&start, 10, &err), err);
    start.theta[3] = 0.5;
    assert_ok(pboost_wide_create(&wide, &t.features, &start, &o, &err), err);
    assert_true(pboost_wide_coef(wide)->theta[3] == 0.5);
    pboost_wide_free(wide);
    pboost_wide_free(NULL);
    pboost_coef_free(&start);
    wide_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_trainer_trains_a_wide_model),
        cmocka_unit_test(test_bad_input_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

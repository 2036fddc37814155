/* Classes under the trainer: every kind of bags, and noise. */
#include "class_support.h"

static pboost_simulation simulation(size_t classes, pboost_strategy bags, size_t rounds)
{
    pboost_simulation s = PBOOST_SIMULATION_INIT;
    s.rules.min_bag = 8;
    s.rules.answer = PBOOST_ANSWER_CLASSES;
    s.rules.width = classes;
    s.holder.simulated = true;
    s.fit.estimator = PBOOST_AGGREGATE;
    s.trainer.bags = bags;
    s.trainer.rounds = rounds;
    return s;
}

static double loss_of(const class_table *t, double *theta)
{
    pboost_class_coef coef = {t->classes, t->d, theta};
    pboost_samples all = {.x = &t->matrix, .n = t->n};
    pboost_class_evaluation e;
    pboost_error err = {0};
    double *p = calloc(t->n * t->classes, sizeof *p);
    assert_ok(pboost_classes_predict(p, &all, &coef, 1, &err), err);
    assert_ok(pboost_classes_evaluate(&e, p, t->label, t->n, t->classes, 1, &err), err);
    double loss = e.loss / e.constant;
    pboost_class_evaluation_free(&e);
    free(p);
    return loss;
}

static void every_strategy_learns(void **state)
{
    (void)state;
    static const pboost_strategy BAGS[] = {PBOOST_BAGS_FEATURES, PBOOST_BAGS_HYBRID,
                                           PBOOST_BAGS_PRIOR, PBOOST_BAGS_RANDOM};
    class_table t = class_table_make(4096, 3, 4, 2);
    double theta[16], best = loss_of(&t, t.truth.theta);
    pboost_error err = {0};
    pboost_fit_report report;
    pboost_round history[3];
    pboost_class_outcome out = {.report = &report, .history = history, .theta = theta};

    for (size_t i = 0; i < 4; i++)
        for (int event = 0; event < 2; event++) {
            pboost_simulation s = simulation(4, BAGS[i], 3);
            s.fit.estimator = event ? PBOOST_EVENT : PBOOST_AGGREGATE;
            assert_ok(pboost_classes_simulate(&out, PLAIN(t.matrix), t.label, &s, &err), err);
            assert_true(report.converged);
            assert_int_equal(history[2].rows, 1365);
            double loss = loss_of(&t, theta);
            assert_true(loss < 1.0);
            if (!event && i < 2)
                assert_true(loss < best + 0.01);
        }
    class_table_free(&t);
}

static void noise_is_allowed_for(void **state)
{
    (void)state;
    class_table t = class_table_make(8192, 2, 3, 4);
    double theta[9], covariance[36], square = 0.0;
    pboost_error err = {0};
    pboost_fit_report report;
    pboost_class_outcome out = {.report = &report, .theta = theta, .covariance = covariance};

    for (uint64_t seed = 0; seed < 20; seed++) {
        pboost_simulation s = simulation(3, PBOOST_BAGS_FEATURES, 1);
        s.rules.min_bag = 32;
        s.rules.epsilon = (pboost_rational){1, 1};
        s.holder.seed = seed;
        assert_ok(pboost_classes_simulate(&out, PLAIN(t.matrix), t.label, &s, &err), err);
        assert_true(report.noisy);
        for (size_t i = 0; i < 6; i++) {
            double z = (theta[3 + i] - t.truth.theta[3 + i]) / sqrt(covariance[7 * i]);
            square += z * z / 120.0;
        }
    }
    assert_true(square > 0.5 && square < 1.6);
    class_table_free(&t);
}

static void bad_parties_are_refused(void **state)
{
    (void)state;
    class_table t = class_table_make(64, 2, 3, 6);
    pboost_error err = {0};
    pboost_class_outcome out = {0};
    pboost_simulation s = simulation(3, PBOOST_BAGS_FEATURES, 1);
    pboost_classes *model = NULL;

    s.rules.answer = PBOOST_ANSWER_MEAN;
    s.rules.width = 1;
    assert_fails(pboost_classes_simulate(&out, PLAIN(t.matrix), t.label, &s, &err), PBOOST_INVALID,
                 err, "not of classes");
    s = simulation(3, PBOOST_BAGS_FEATURES, 1);
    t.label[7] = 3.0;
    assert_int_equal(pboost_classes_simulate(&out, PLAIN(t.matrix), t.label, &s, &err),
                     PBOOST_BAD_DATA);
    t.x[3] = INFINITY; /* before labels are spent */
    assert_fails(pboost_classes_create(&model, PLAIN(t.matrix), 3, &s.fit, &err), PBOOST_BAD_DATA,
                 err, "inf");
    assert_null(model);
    assert_fails(pboost_classes_create(&model, PLAIN(t.matrix), 1, &s.fit, &err), PBOOST_INVALID,
                 err, "1 classes");
    class_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_strategy_learns),
                                       cmocka_unit_test(noise_is_allowed_for),
                                       cmocka_unit_test(bad_parties_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whichever allocation fails while classes are trained or their model is read: the call says so,
 * nothing changes, nothing leaks (under the address sanitizer). */
#include "class_support.h"

#include "fault/inject.h"

static void training_may_run_out_of_memory(void **state)
{
    (void)state;
    class_table t = class_table_make(300, 2, 3, 1);
    pboost_error err = {0};
    pboost_simulation s = PBOOST_SIMULATION_INIT;
    long n = 1;

    s.rules.min_bag = 5;
    s.rules.answer = PBOOST_ANSWER_CLASSES;
    s.rules.width = 3;
    s.holder.simulated = true;
    s.fit.estimator = PBOOST_AGGREGATE;
    s.trainer.bags = PBOOST_BAGS_HYBRID;
    s.trainer.rounds = 2;
    s.trainer.threads = 1;
    for (; n == 1 || injected(); n++) {
        double theta[9] = {0};
        pboost_class_outcome out = {.theta = theta};
        inject_allocation(n);
        pboost_status st = pboost_classes_simulate(&out, PLAIN(t.matrix), t.label, &s, &err);
        inject_nothing();
        if (injected()) {
            assert_int_equal(st, PBOOST_NO_MEMORY);
            assert_true(theta[3] == 0.0);
        } else {
            assert_ok(st, err);
            assert_true(theta[3] != 0.0);
        }
    }
    assert_true(n > 60);
    class_table_free(&t);
}

static void trees_may_run_out_of_memory(void **state)
{
    (void)state;
    class_table t = class_table_make(200, 2, 3, 1);
    pboost_column column[] = {{.number = t.x, .stride = 2}, {.number = t.x + 1, .stride = 2}};
    pboost_columns columns = {.rows = t.n, .n = 2, .column = column};
    pboost_answers *answers = class_answers(&t, 5, 0.0, NULL, 1);
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    pboost_forest_report report[3];
    pboost_error err = {0};
    double p[600];
    long n = 1;

    o.trees = 2;
    o.min_rows = 10;
    for (; n == 1 || injected(); n++) {
        pboost_mixture trees;
        inject_allocation(n);
        pboost_status st =
            pboost_classes_fit_trees(&trees, report, &columns, 2, NULL, answers, 0, &o, &err);
        if (st == PBOOST_OK)
            st = pboost_classes_predict_trees(p, &trees, &columns, NULL, t.n, 1, &err);
        inject_nothing();
        assert_int_equal(st, injected() ? PBOOST_NO_MEMORY : PBOOST_OK);
        pboost_mixture_free(&trees);
    }
    assert_true(n > 60);
    pboost_answers_free(answers);
    class_table_free(&t);
}

static void a_mixture_may_run_out_of_memory(void **state)
{
    (void)state;
    class_table t = class_table_make(200, 2, 3, 1);
    pboost_column column[] = {{.number = t.x, .stride = 2}, {.number = t.x + 1, .stride = 2}};
    pboost_columns columns = {.rows = t.n, .n = 2, .column = column};
    pboost_answers *answers = class_answers(&t, 10, 0.0, NULL, 1);
    pboost_mixture_options o = PBOOST_MIXTURE_OPTIONS_INIT;
    pboost_mixture_report report;
    pboost_samples rows = {.x = &t.matrix, .n = t.n};
    pboost_error err = {0};
    double p[600];
    long n = 1;

    o.forest.trees = 1;
    o.forest.min_rows = 10;
    for (; n == 1 || injected(); n++) {
        pboost_mixture mixture;
        inject_allocation(n);
        pboost_status st = pboost_classes_fit_mixture(&mixture, &report, PLAIN(t.matrix), &columns,
                                                      answers, 0, &o, &err);
        if (st == PBOOST_OK)
            st = pboost_classes_predict_mixture(p, &mixture, 3, &rows, &columns, 1, &err);
        inject_nothing();
        assert_int_equal(st, injected() ? PBOOST_NO_MEMORY : PBOOST_OK);
        pboost_mixture_free(&mixture);
    }
    assert_true(n > 200);
    pboost_answers_free(answers);
    class_table_free(&t);
}

static void evaluating_may_run_out_of_memory(void **state)
{
    (void)state;
    const double p[] = {0.2, 0.3, 0.5, 0.6, 0.2, 0.2}, label[] = {2, 0};
    pboost_error err = {0};
    long n = 1;

    for (; n == 1 || injected(); n++) {
        pboost_class_evaluation e;
        inject_allocation(n);
        pboost_status st = pboost_classes_evaluate(&e, p, label, 2, 3, 1, &err);
        inject_nothing();
        assert_int_equal(st, injected() ? PBOOST_NO_MEMORY : PBOOST_OK);
        assert_int_equal(e.confusion == NULL, injected());
        pboost_class_evaluation_free(&e);
    }
    assert_true(n > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(training_may_run_out_of_memory),
                                       cmocka_unit_test(trees_may_run_out_of_memory),
                                       cmocka_unit_test(a_mixture_may_run_out_of_memory),
                                       cmocka_unit_test(evaluating_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

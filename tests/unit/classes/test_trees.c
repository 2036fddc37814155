/* Trees for classes: effects that bend are learnt from proportions of bags, probabilities sum to 1,
 * threads do not matter, and answers of one number are refused. */
#include "class_support.h"

#include "data/answers.h"

enum { N = 6000, SIZE = 10, CLASSES = 3 };

/* The middle class lies around 0, where no straight line finds it; the other two are as likely as
 * each other everywhere. */
static class_table bent(uint64_t seed)
{
    class_table t = class_table_make(N, 2, CLASSES, seed);
    uint64_t word[2];

    for (size_t i = 0; i < N; i++) {
        double middle = fabs(t.x[i * 2]) < 0.7 ? 0.9 : 0.1;
        pboost_rng_words(word, seed, RNG_LABELS, 1, i);
        double u = (double)(word[0] >> 11) * 0x1p-53;
        t.label[i] = u < middle ? 1.0 : u < middle + (1.0 - middle) / 2.0 ? 0.0 : 2.0;
    }
    return t;
}

static double log_loss(const double *p, const class_table *t)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->n; i++)
        sum -= log(p[i * CLASSES + (size_t)t->label[i]]) / (double)t->n;
    return sum;
}

static pboost_columns columns_of(pboost_column room[2], const class_table *t)
{
    for (size_t j = 0; j < 2; j++)
        room[j] = (pboost_column){.number = t->x + j, .stride = 2};
    return (pboost_columns){.rows = t->n, .n = 2, .column = room};
}

static void effects_that_bend_are_learnt(void **state)
{
    (void)state;
    class_table t = bent(3), fresh = bent(4);
    pboost_answers *answers = class_answers(&t, SIZE, 0.0, NULL, 1);
    pboost_column room[2], fresh_room[2];
    pboost_columns columns = columns_of(room, &t), later = columns_of(fresh_room, &fresh);
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_forest_report report[CLASSES];
    pboost_mixture trees, again;
    pboost_class_coef coef;
    pboost_fit_report fitted;
    pboost_error err = {0};
    double *p = calloc((size_t)N * CLASSES, sizeof *p), *q = calloc((size_t)N * CLASSES, sizeof *q);

    o.trees = 60;
    assert_ok(pboost_classes_fit_trees(&trees, report, &columns, 2, NULL, answers, 0, &o, &err),
              err);
    assert_int_equal(trees.n, CLASSES);
    assert_ok(pboost_classes_predict_trees(p, &trees, &later, NULL, N, 1, &err), err);
    for (size_t i = 0; i < N; i++)
        assert_close(p[i * 3] + p[i * 3 + 1] + p[i * 3 + 2], 1.0, 1e-12);

    fit.estimator = PBOOST_AGGREGATE;
    assert_ok(pboost_class_coef_init(&coef, CLASSES, 2, &err), err);
    assert_ok(pboost_classes_fit(&coef, &fitted, NULL, PLAIN(t.matrix), answers, 0, &fit, &err),
              err);
    pboost_samples samples = {.x = &fresh.matrix, .n = N};
    assert_ok(pboost_classes_predict(q, &samples, &coef, 1, &err), err);
    assert_true(log_loss(p, &fresh) < 0.8 * log_loss(q, &fresh));

    o.threads = 2;
    assert_ok(pboost_classes_fit_trees(&again, report, &columns, 2, NULL, answers, 0, &o, &err),
              err);
    assert_ok(pboost_classes_predict_trees(q, &again, &later, NULL, N, 2, &err), err);
    assert_memory_equal(p, q, (size_t)N * CLASSES * sizeof *p);
    pboost_mixture_free(&trees);
    pboost_mixture_free(&again);
    pboost_class_coef_free(&coef);
    pboost_answers_free(answers);
    class_table_free(&t);
    class_table_free(&fresh);
    free(p);
    free(q);
}

static void other_answers_are_refused(void **state)
{
    (void)state;
    size_t row[] = {0, 1}, start[] = {0, 1, 2};
    pboost_bags bags = {2, 2, row, start};
    const double mean[] = {0.5, 0.25};
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    pboost_forest_report report[CLASSES];
    pboost_answers *answers;
    pboost_mixture trees;
    pboost_columns columns = {0};
    pboost_error err = {0};

    assert_ok(pboost_answers_create(&answers, &err), err);
    assert_ok(pboost_answers_append(answers, &bags, mean, NULL, &err), err);
    assert_fails(pboost_classes_fit_trees(&trees, report, &columns, 2, NULL, answers, 0, &o, &err),
                 PBOOST_INVALID, err, "1 numbers a bag; classes are 3 to 100");
    assert_null(trees.member);
    pboost_answers_free(answers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(effects_that_bend_are_learnt),
                                       cmocka_unit_test(other_answers_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

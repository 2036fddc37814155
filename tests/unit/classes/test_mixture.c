/* Mixtures for classes: the kind of the right form gets the weight, and what is no mixture is
 * refused. */
#include "class_support.h"

#include <priorboost/smooth.h>

#include "data/answers.h"

enum { N = 4000, SIZE = 10, CLASSES = 3 };

typedef struct {
    class_table table;
    pboost_curve curve;
    pboost_bend bend;
    pboost_curved curved;
    pboost_matrix x;
    pboost_column room[2];
    pboost_columns columns;
} mixed;

/* Class 1 lies in a box of both columns, which no line finds, if `box`; otherwise
 * labels are those of the softmax model. */
static void make(mixed *m, bool box, uint64_t seed)
{
    pboost_error err = {0};
    uint64_t word[2];
    class_table *t = &m->table;

    *t = class_table_make(N, 2, CLASSES, seed);
    for (size_t i = 0; box && i < N; i++) {
        bool inside = fabs(t->x[2 * i]) < 1.0 && fabs(t->x[2 * i + 1]) < 1.0;
        double middle = inside ? 0.9 : 0.1;
        pboost_rng_words(word, seed, RNG_LABELS, 1, i);
        double u = (double)(word[0] >> 11) * 0x1p-53;
        t->label[i] = u < middle ? 1.0 : u < 0.5 + 0.5 * middle ? 0.0 : 2.0;
    }
    assert_ok(pboost_curve_learn(&m->curve, t->x, 2, N, 8, 1, &err), err);
    m->bend = (pboost_bend){0, &m->curve};
    m->curved = (pboost_curved){t->matrix, 1, &m->bend};
    m->x = pboost_matrix_curved(&m->curved);
    for (size_t j = 0; j < 2; j++)
        m->room[j] = (pboost_column){.number = t->x + j, .stride = 2};
    m->columns = (pboost_columns){.rows = N, .n = 2, .column = m->room};
}

static void mixed_free(mixed *m)
{
    pboost_curve_free(&m->curve);
    class_table_free(&m->table);
}

static pboost_mixture fit(pboost_mixture_report *report, const mixed *m, const pboost_answers *a,
                          int threads)
{
    pboost_mixture_options o = PBOOST_MIXTURE_OPTIONS_INIT;
    pboost_mixture out;
    pboost_error err = {0};

    o.fit.curves = m->curve.n;
    o.fit.threads = threads;
    o.forest.trees = 40;
    assert_ok(pboost_classes_fit_mixture(&out, report, PLAIN(m->x), &m->columns, a, 0, &o, &err),
              err);
    return out;
}

static double log_loss(const double *p, const class_table *t)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->n; i++)
        sum -= log(p[i * CLASSES + (size_t)t->label[i]]) / (double)t->n;
    return sum;
}

static void the_right_form_gets_the_weight(void **state)
{
    (void)state;
    mixed m;
    pboost_mixture_report report;
    pboost_error err = {0};
    double *p = calloc((size_t)N * CLASSES, sizeof *p), *q = calloc((size_t)N * CLASSES, sizeof *q);

    make(&m, true, 5);
    pboost_answers *a = class_answers(&m.table, SIZE, 0.0, NULL, 5);
    pboost_mixture one = fit(&report, &m, a, 1), two = fit(&report, &m, a, 2);
    pboost_samples rows = {.x = &m.x, .n = N};
    assert_int_equal(one.n % CLASSES, 0);
    assert_true(report.member[PBOOST_MEMBER_GLM].weight < 0.1);
    assert_true(report.member[PBOOST_MEMBER_TREES].weight > 0.5);
    assert_true(report.misfit < report.member[PBOOST_MEMBER_SMOOTH].misfit);
    assert_true(report.misfit < 0.6 * report.member[PBOOST_MEMBER_GLM].misfit);
    assert_ok(pboost_classes_predict_mixture(p, &one, CLASSES, &rows, &m.columns, 1, &err), err);
    assert_ok(pboost_classes_predict_mixture(q, &two, CLASSES, &rows, &m.columns, 2, &err), err);
    assert_memory_equal(p, q, (size_t)N * CLASSES * sizeof *p);
    for (size_t i = 0; i < N; i++)
        assert_close(p[3 * i] + p[3 * i + 1] + p[3 * i + 2], 1.0, 1e-12);
    assert_true(log_loss(p, &m.table) < 0.85);
    pboost_mixture_free(&one);
    pboost_mixture_free(&two);
    pboost_answers_free(a);
    mixed_free(&m);

    make(&m, false, 6);
    a = class_answers(&m.table, SIZE, 0.0, NULL, 6);
    one = fit(&report, &m, a, 1);
    assert_true(report.member[PBOOST_MEMBER_GLM].misfit <
                report.member[PBOOST_MEMBER_TREES].misfit);
    assert_true(
        report.member[PBOOST_MEMBER_GLM].weight + report.member[PBOOST_MEMBER_SMOOTH].weight > 0.5);
    assert_true(report.member[PBOOST_MEMBER_CONSTANT].weight < 0.2);
    pboost_mixture_free(&one);
    pboost_answers_free(a);
    mixed_free(&m);
    free(p);
    free(q);
}

/* Labels that no column says anything of: the mixture is the constant model, or near it. */
static void nothing_to_learn(void **state)
{
    (void)state;
    mixed m;
    pboost_mixture_report report;
    pboost_error err = {0};
    double *p = calloc((size_t)N * CLASSES, sizeof *p), share[CLASSES] = {0};

    make(&m, false, 7);
    for (size_t i = 0; i < N; i++) {
        m.table.label[i] = (double)(i % 7 < 3 ? 0 : i % 7 < 6 ? 1 : 2);
        share[(size_t)m.table.label[i]] += 1.0 / N;
    }
    pboost_answers *a = class_answers(&m.table, SIZE, 0.0, NULL, 7);
    pboost_mixture found = fit(&report, &m, a, 1);
    pboost_samples rows = {.x = &m.x, .n = N};
    assert_ok(pboost_classes_predict_mixture(p, &found, CLASSES, &rows, &m.columns, 1, &err), err);
    for (size_t c = 0; c < CLASSES; c++) {
        double mean = 0.0;
        for (size_t i = 0; i < N; i++)
            mean += p[i * CLASSES + c] / N;
        assert_close(mean, share[c], 0.01);
    }
    pboost_mixture_free(&found);
    pboost_answers_free(a);
    mixed_free(&m);
    free(p);
}

/* Too few bags to compare models: the GLM is all. */
static void few_bags(void **state)
{
    (void)state;
    mixed m;
    pboost_mixture_report report;

    make(&m, false, 8);
    pboost_answers *a = class_answers(&m.table, N / 6, 0.0, NULL, 8);
    pboost_mixture found = fit(&report, &m, a, 1);
    assert_int_equal(found.n, CLASSES);
    assert_int_equal(found.member[0].kind, PBOOST_MEMBER_GLM);
    assert_close(report.member[PBOOST_MEMBER_GLM].weight, 1.0, 0.0);
    pboost_mixture_free(&found);
    pboost_answers_free(a);
    mixed_free(&m);
}

static void what_is_no_mixture_is_refused(void **state)
{
    (void)state;
    pboost_error err = {0};
    pboost_member member[6] = {{.kind = PBOOST_MEMBER_GLM, .weight = 1.0 / 6.0}};
    pboost_mixture all = {6, member}, some = {5, member};

    for (size_t i = 1; i < 6; i++)
        member[i] = member[0];
    assert_ok(pboost_classes_check_mixture(&all, 3, &err), err);
    assert_fails(pboost_classes_check_mixture(&some, 3, &err), PBOOST_BAD_DATA, err,
                 "5 members and 3 classes");
    member[4].weight = 0.2;
    assert_fails(pboost_classes_check_mixture(&all, 3, &err), PBOOST_BAD_DATA, err,
                 "member 5 is of the kind 'glm' with weight 0.2");
    member[4].weight = member[3].weight;
    member[2].kind = PBOOST_MEMBER_TREES;
    assert_fails(pboost_classes_check_mixture(&all, 3, &err), PBOOST_BAD_DATA, err,
                 "member 3 is of the kind 'trees'");
    member[2].kind = PBOOST_MEMBER_GLM;
    member[0].kind = PBOOST_MEMBER_GLM_TREES;
    assert_fails(pboost_classes_check_mixture(&all, 3, &err), PBOOST_BAD_DATA, err,
                 "member 1 is of the kind 'glm-trees'");
}

static void other_answers_are_refused(void **state)
{
    (void)state;
    mixed m;
    size_t row[] = {0, 1}, start[] = {0, 1, 2};
    pboost_bags bags = {2, 2, row, start};
    const double mean[] = {0.5, 0.25};
    pboost_mixture_options o = PBOOST_MIXTURE_OPTIONS_INIT;
    pboost_mixture_report report;
    pboost_answers *a;
    pboost_mixture out;
    pboost_error err = {0};

    make(&m, false, 9);
    assert_ok(pboost_answers_create(&a, &err), err);
    assert_ok(pboost_answers_append(a, &bags, mean, NULL, &err), err);
    assert_fails(pboost_classes_fit_mixture(&out, &report, PLAIN(m.x), &m.columns, a, 0, &o, &err),
                 PBOOST_INVALID, err, "1 numbers a bag; classes are 3 to 100");
    assert_null(out.member);
    pboost_answers_free(a);
    mixed_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_form_gets_the_weight),
        cmocka_unit_test(nothing_to_learn),
        cmocka_unit_test(few_bags),
        cmocka_unit_test(what_is_no_mixture_is_refused),
        cmocka_unit_test(other_answers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

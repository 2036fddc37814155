/* Mixtures that are fitted to answers: which members they have, and that threads change nothing. */
#include "testing.h"

#include "data/answers.h"

enum { ROWS = 6000, COLS = 3, BAG = 10 };

typedef struct {
    double x[ROWS * COLS], y[ROWS];
    pboost_column column[COLS];
    pboost_columns columns;
    pboost_features features;
    pboost_answers *answers;
} table;

static table T;

static double draw(size_t i)
{
    uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u;
    h ^= h >> 31;
    h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
    return (double)(h >> 11) * 0x1p-52 - 1.0;
}

static double straight(const double *x)
{
    return 1.0 + 2.0 * x[0] - x[1];
}

static double bent(const double *x)
{
    return 4.0 * fabs(x[0]) - (x[1] > 0.0 ? 2.0 : 0.0);
}

/* Answers about bags of rows with similar features, with noise of this variance. */
static void make(double (*truth)(const double *x), size_t rows, double noise)
{
    pboost_error err;
    pboost_bags bags;

    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < COLS; j++)
            T.x[i * COLS + j] = draw(i * COLS + j);
        T.y[i] = truth(T.x + i * COLS) + 0.5 * draw(ROWS * COLS + i);
    }
    for (size_t j = 0; j < COLS; j++)
        T.column[j] = (pboost_column){.number = T.x + j, .stride = COLS};
    T.columns = (pboost_columns){rows, COLS, T.column};
    T.features = (pboost_features){.x = pboost_matrix_f64(T.x, rows, COLS)};
    pboost_samples all = {.x = &T.features.x, .n = rows};
    assert_ok(pboost_bags_features(&bags, &all, BAG, 1, NULL, &err), err);
    double *mean = calloc(bags.n_bags, sizeof *mean), *variance = calloc(bags.n_bags, sizeof *mean);
    for (size_t b = 0; b < bags.n_bags; b++) {
        variance[b] = noise;
        mean[b] = sqrt(3.0 * noise) * draw(ROWS * (COLS + 1) + b);
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
            mean[b] += T.y[bags.row[i]] / (double)(bags.start[b + 1] - bags.start[b]);
    }
    assert_ok(pboost_answers_create(&T.answers, &err), err);
    assert_ok(pboost_answers_append(T.answers, &bags, mean, variance, &err), err);
    free(mean);
    free(variance);
    pboost_bags_free(&bags);
}

static pboost_mixture fit(pboost_mixture_report *report, int threads)
{
    pboost_error err;
    pboost_mixture mixture;
    pboost_mixture_options o = PBOOST_MIXTURE_OPTIONS_INIT;

    o.fit.threads = threads;
    o.forest.max_trees = 60;
    assert_ok(pboost_mixture_fit(&mixture, report, &T.features, &T.columns, T.answers, 0, &o, &err),
              err);
    double total = 0.0;
    for (size_t i = 0; i < mixture.n; i++) {
        const pboost_member *m = &mixture.member[i];
        bool trees = m->kind == PBOOST_MEMBER_TREES || m->kind == PBOOST_MEMBER_GLM_TREES;
        assert_int_equal(m->forest.n_trees > 0, trees); /* the model file insists on it */
        total += m->weight;
    }
    assert_close(total, 1.0, 1e-12);
    return mixture;
}

/* The mean squared distance of the predictions to the truth. */
static double error_of(const pboost_mixture *mixture, double (*truth)(const double *x))
{
    static double mean[ROWS];
    pboost_error err;
    pboost_samples all = {.x = &T.features.x, .n = T.columns.rows};
    double sum = 0.0;

    assert_ok(pboost_mixture_predict(mean, PBOOST_LINEAR, &all, &T.columns, mixture, 1, &err), err);
    for (size_t i = 0; i < all.n; i++)
        sum += pow(mean[i] - truth(T.x + i * COLS), 2) / (double)all.n;
    return sum;
}

static void test_straight_lines(void **state)
{
    (void)state;
    pboost_mixture_report report;
    make(straight, ROWS, 0.0);
    pboost_mixture mixture = fit(&report, 1);
    assert_true(report.member[PBOOST_MEMBER_GLM].misfit <
                report.member[PBOOST_MEMBER_TREES].misfit);
    assert_true(report.member[PBOOST_MEMBER_CONSTANT].weight < 0.05);
    assert_true(error_of(&mixture, straight) < 0.01);
    pboost_mixture_free(&mixture);
    pboost_answers_free(T.answers);
}

static void test_bends(void **state)
{
    (void)state;
    pboost_mixture_report report;
    make(bent, ROWS, 0.0);
    pboost_mixture mixture = fit(&report, 1);
    assert_true(report.member[PBOOST_MEMBER_TREES].misfit <
                0.5 * report.member[PBOOST_MEMBER_GLM].misfit);
    assert_true(report.misfit <= report.member[PBOOST_MEMBER_TREES].misfit + 10.0);
    assert_true(error_of(&mixture, bent) < 0.3); /* a straight line has 2.3 */
    pboost_mixture_free(&mixture);
    pboost_answers_free(T.answers);
}

static void test_threads(void **state)
{
    (void)state;
    pboost_mixture_report report;
    make(bent, ROWS, 0.0);
    pboost_mixture one = fit(&report, 1), three = fit(&report, 3);
    assert_int_equal(one.n, three.n);
    for (size_t i = 0; i < one.n; i++)
        assert_true(one.member[i].weight == three.member[i].weight);
    assert_true(error_of(&one, bent) == error_of(&three, bent));
    pboost_mixture_free(&one);
    pboost_mixture_free(&three);
    pboost_answers_free(T.answers);
}

/* Noise that hides most of the signal: trees, although bags left out do not show that they are
 * worse, get less weight than the linear members. */
static void test_noise(void **state)
{
    (void)state;
    pboost_mixture_report report;
    const pboost_member_report *trees = &report.member[PBOOST_MEMBER_TREES];
    make(straight, 1000, 9.0);
    pboost_mixture mixture = fit(&report, 1);
    assert_true(trees->fitted && trees->trees > 0); /* or the test shows nothing */
    assert_true(trees->misfit < report.member[PBOOST_MEMBER_CONSTANT].misfit);
    assert_true(trees->weight + report.member[PBOOST_MEMBER_GLM_TREES].weight <
                report.member[PBOOST_MEMBER_GLM].weight);
    pboost_mixture_free(&mixture);
    pboost_answers_free(T.answers);
}

/* Laplace noise has long tails: one answer that is far off moves neither members nor weights much,
 * and counts for little in the misfit. */
static void test_an_answer_far_off(void **state)
{
    (void)state;
    pboost_mixture_report before, after;
    make(bent, ROWS, 1.0);
    T.answers->other_noise = false;
    pboost_mixture first = fit(&before, 1);
    T.answers->mean[17] += 15.0;
    pboost_mixture second = fit(&after, 1);
    assert_true(after.misfit < before.misfit + 20.0);
    assert_true(error_of(&second, bent) < 1.2 * error_of(&first, bent));
    pboost_mixture_free(&first);
    pboost_mixture_free(&second);
    pboost_answers_free(T.answers);
}

/* Nine bags cannot compare models. */
static void test_few_bags(void **state)
{
    (void)state;
    pboost_mixture_report report;
    make(straight, 9 * BAG, 0.0);
    pboost_mixture mixture = fit(&report, 1);
    assert_int_equal(mixture.n, 1);
    assert_int_equal(mixture.member[0].kind, PBOOST_MEMBER_GLM);
    pboost_mixture_free(&mixture);
    pboost_answers_free(T.answers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_straight_lines), cmocka_unit_test(test_bends),
        cmocka_unit_test(test_noise),          cmocka_unit_test(test_threads),
        cmocka_unit_test(test_few_bags),       cmocka_unit_test(test_an_answer_far_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

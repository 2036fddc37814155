/* The memory of a mixture's fit to a large table is less than twice the table: the bags outside a
 * fold, four fifths of it, are not copied. */
#include <sys/resource.h>

#include "fit_support.h"
#include "testing.h"

enum {
    ROWS = 850000,
    COLS = 20,
    BAG = 32
}; /* more numbers than a fit copies; four fifths are less */

static double *make_numbers(void)
{
    test_rng rng = {1};
    double *x = malloc((size_t)ROWS * COLS * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        x[i] = 2.0 * uniform(&rng) - 1.0;
    return x;
}

/* Rows as they come, a bag after another; a label of 1 where the first feature is positive. */
static pboost_answers *ask(const double *x)
{
    pboost_error err;
    pboost_answers *answers;
    size_t n = ROWS / BAG;
    pboost_bags bags = {n * BAG, n, malloc(n * BAG * sizeof(size_t)),
                        malloc((n + 1) * sizeof(size_t))};
    double *mean = calloc(n, sizeof *mean), *variance = calloc(n, sizeof *variance);

    for (size_t b = 0; b <= n; b++)
        bags.start[b] = b * BAG;
    for (size_t i = 0; i < n * BAG; i++) {
        bags.row[i] = i;
        mean[i / BAG] += x[i * COLS] > 0.0 ? 1.0 / BAG : 0.0;
    }
    assert_ok(pboost_answers_create(&answers, &err), err);
    assert_ok(pboost_answers_append(answers, &bags, mean, variance, &err), err);
    pboost_bags_free(&bags);
    free(mean);
    free(variance);
    return answers;
}

static void a_large_table_is_not_copied(void **state)
{
    (void)state;
    pboost_error err;
    pboost_mixture mixture;
    pboost_mixture_report report;
    pboost_mixture_options o = PBOOST_MIXTURE_OPTIONS_INIT;
    pboost_column column[COLS];
    struct rusage use;
    double *x = make_numbers();
    pboost_answers *answers = ask(x);
    pboost_features features = {.x = pboost_matrix_f64(x, ROWS, COLS)};
    pboost_columns columns = {ROWS, COLS, column};

    for (size_t j = 0; j < COLS; j++)
        column[j] = (pboost_column){.number = x + j, .stride = COLS};
    o.fit.family = PBOOST_LOGISTIC;
    o.forest.max_trees = 1;
    assert_ok(pboost_mixture_fit(&mixture, &report, &features, &columns, answers, 0, &o, &err),
              err);
    assert_int_equal(report.member[PBOOST_MEMBER_GLM_TREES].fitted, true);
    assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
    double tables = (double)use.ru_maxrss * 1024.0 / ((double)ROWS * COLS * sizeof *x);
    printf("%.2f times the table\n", tables);
    assert_true(tables < 1.96); /* with a copy it was 2.04 */
    pboost_mixture_free(&mixture);
    pboost_answers_free(answers);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_large_table_is_not_copied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

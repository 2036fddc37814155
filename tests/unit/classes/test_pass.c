/* The pass over bags, against differences and against sums written out. */
#include "class_support.h"

#include "classes/pass.h"
#include "data/answers.h"

enum { ROWS = 60, COLS = 2, CLASSES = 3, N = (CLASSES - 1) * (COLS + 1) };

typedef struct {
    gathered_rows rows;
    size_t start[ROWS + 1];
    class_pass pass;
    double weight[ROWS];
} fixture;

/* Bags of 5 rows, then bags of one. */
static void open_pass(fixture *f, const class_table *t, bool weighted)
{
    pboost_error err = {0};
    size_t n = 0;
    for (size_t i = 0; i <= ROWS; i++)
        if (i % 5 == 0 || i > ROWS / 2)
            f->start[n++] = i;
    f->rows = (gathered_rows){.x = t->x, .matrix = t->matrix};
    for (size_t i = 0; i < ROWS; i++)
        f->weight[i] = 1.0 + (double)(i % 3);
    if (weighted)
        f->rows.weight = f->weight;
    assert_ok(pboost_class_pass_init(&f->pass, &f->rows, f->start, n - 1, CLASSES, true, 1, &err),
              err);
}

/* One row of J: that of the class and bag in self. */
typedef struct {
    size_t bag, class;
} chosen;

static size_t choose(const void *self, double *combine, size_t bag, const double *covariance)
{
    const chosen *c = self;
    (void)covariance;
    combine[c->class] = bag == c->bag ? 1.0 : 0.0;
    return 1;
}

static void jacobian_is_the_derivative(void **state)
{
    (void)state;
    class_table t = class_table_make(ROWS, COLS, CLASSES, 3);
    fixture f;
    pboost_error err = {0};
    class_moments up = {0}, down = {0};
    double parameter[N] = {0.3, -0.5, 0.2, -0.1, 0.7, 0.4}, gram[N * N], jacobian[N];
    const double step = 1e-5;

    open_pass(&f, &t, false);
    assert_ok(pboost_class_moments_init(&up, &f.pass, &err), err);
    assert_ok(pboost_class_moments_init(&down, &f.pass, &err), err);
    double *slope = calloc(f.pass.n_bags * CLASSES, sizeof *slope);
    for (size_t b = 0; b < f.pass.n_bags; b += 3)
        for (size_t c = 0; c < CLASSES; c++) {
            chosen self = {b, c};
            slope[b * CLASSES + c] = 1.0;
            pboost_class_pass_gram(gram, jacobian, &f.pass, parameter, (class_rows){&self, choose},
                                   slope);
            slope[b * CLASSES + c] = 0.0;
            for (size_t i = 0; i < N; i++) {
                double kept = parameter[i];
                parameter[i] = kept + step;
                pboost_class_pass_run(&up, &f.pass, parameter);
                parameter[i] = kept - step;
                pboost_class_pass_run(&down, &f.pass, parameter);
                parameter[i] = kept;
                double difference = up.mean[b * CLASSES + c] - down.mean[b * CLASSES + c];
                assert_close(jacobian[i], difference / (2.0 * step), 1e-8);
                for (size_t k = 0; k <= i; k++)
                    assert_close(gram[i * N + k], jacobian[i] * jacobian[k], 1e-12);
            }
        }
    free(slope);
    pboost_class_moments_free(&up);
    pboost_class_moments_free(&down);
    pboost_class_pass_free(&f.pass);
    class_table_free(&t);
}

/* The diagonal of the covariance that `combine` gets is the variance of the moments, and its rows
 * have sum 0. */
typedef struct {
    const class_moments *moments;
} expected;

static size_t compare(const void *self, double *combine, size_t bag, const double *covariance)
{
    const expected *e = self;
    (void)combine;
    for (size_t c = 0; c < CLASSES; c++) {
        double sum = 0.0;
        for (size_t k = 0; k < CLASSES; k++)
            sum += covariance[c * CLASSES + k];
        assert_close(sum, 0.0, 1e-14);
        assert_close(covariance[c * CLASSES + c], e->moments->variance[bag * CLASSES + c], 1e-13);
    }
    return 0;
}

static void moments_are_sums(void **state)
{
    (void)state;
    class_table t = class_table_make(ROWS, COLS, CLASSES, 3);
    fixture f;
    pboost_error err = {0};
    class_moments moments = {0};
    double p[ROWS * CLASSES], gram[N * N], parameter[N];
    pboost_samples all = {.x = &t.matrix, .n = ROWS};

    for (size_t c = 1; c < CLASSES; c++) { /* intercepts come first */
        const double *of_class = t.truth.theta + c * (COLS + 1);
        parameter[(c - 1) * (COLS + 1)] = of_class[COLS];
        memcpy(parameter + (c - 1) * (COLS + 1) + 1, of_class, COLS * sizeof *parameter);
    }
    open_pass(&f, &t, true);
    assert_ok(pboost_class_moments_init(&moments, &f.pass, &err), err);
    pboost_class_pass_run(&moments, &f.pass, parameter);
    assert_ok(pboost_classes_predict(p, &all, &t.truth, 1, &err), err);
    for (size_t b = 0; b < f.pass.n_bags; b++)
        for (size_t c = 0; c < CLASSES; c++) {
            double mean = 0.0, variance = 0.0, size = (double)(f.start[b + 1] - f.start[b]);
            for (size_t i = f.start[b]; i < f.start[b + 1]; i++) {
                double q = p[i * CLASSES + c];
                mean += q / size;
                variance += q * (1.0 - q) / f.weight[i] / (size * size);
            }
            assert_close(moments.mean[b * CLASSES + c], mean, 1e-14);
            assert_close(moments.variance[b * CLASSES + c], variance, 1e-14);
        }
    expected self = {&moments};
    pboost_class_pass_gram(gram, NULL, &f.pass, parameter, (class_rows){&self, compare}, NULL);
    for (size_t i = 0; i < N; i++)
        assert_true(gram[i * N + i] == 0.0);
    pboost_class_moments_free(&moments);
    pboost_class_pass_free(&f.pass);
    class_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jacobian_is_the_derivative),
                                       cmocka_unit_test(moments_are_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

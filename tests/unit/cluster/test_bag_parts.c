/* The aggregate fit over parts is that of one machine, and ends where a machine fails. */
#include "testing.h"

#include <math.h>
#include <priorboost/cluster.h>
#include <string.h>

#include "fit/aggregate/aggregate.h"

enum { ROWS = 1800, COLS = 5, BAG = 6, BAGS = ROWS / BAG, PARTS = 4 };

/* Bags, by part: the parts are of all sizes. */
static const size_t BORDER[PARTS + 1] = {0, 1, 50, 51, BAGS};

typedef struct {
    double x[ROWS * COLS], answer[BAGS], noise[BAGS], base[COLS];
    size_t row[ROWS], start[BAGS + 1];
    size_t calls, fail_at;
} table;

static uint64_t state = 7;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static pboost_status called(table *t, pboost_error *err)
{
    if (++t->calls == t->fail_at)
        return pboost_fail(err, PBOOST_ORACLE, "a machine is gone");
    assert_true(t->fail_at == 0 || t->calls < t->fail_at);
    return PBOOST_OK;
}

/* A part as another machine sees it: rows and bags counted from 0. */
typedef struct {
    pboost_matrix x;
    size_t first, start[BAGS + 1];
    pboost_part_bags bags;
} part;

static void load(part *out, const table *t, size_t p)
{
    size_t first = t->start[BORDER[p]], n = BORDER[p + 1] - BORDER[p];
    out->first = BORDER[p];
    for (size_t b = 0; b <= n; b++)
        out->start[b] = t->start[BORDER[p] + b] - first;
    out->x = pboost_matrix_f64(t->x + first * COLS, out->start[n], COLS);
    out->bags = (pboost_part_bags){&out->x, n, out->start};
}

static pboost_status columns(void *self, double *sums, pboost_error *err)
{
    table *t = self;
    double one[2 * COLS];
    part here;
    memset(sums, 0, sizeof one);
    for (size_t p = 0; p < PARTS; p++) {
        load(&here, t, p);
        assert_ok(pboost_part_columns(one, &here.x, t->base, err), *err);
        for (size_t j = 0; j < 2 * COLS; j++)
            sums[j] += one[j];
    }
    return called(t, err);
}

static pboost_status moments(void *self, const pboost_bag_point *at, double *mean, double *variance,
                             double eta[2], pboost_error *err)
{
    table *t = self;
    part here;
    eta[0] = eta[1] = 0;
    for (size_t p = 0; p < PARTS; p++) {
        double one[2];
        load(&here, t, p);
        assert_ok(pboost_part_moments(mean + here.first, variance + here.first, one, &here.bags, at,
                                      1, err),
                  *err);
        eta[0] += one[0];
        eta[1] += one[1];
    }
    return called(t, err);
}

static pboost_status gram(void *self, const pboost_bag_point *at, const double *weight,
                          const double *residual, double *sums, pboost_error *err)
{
    table *t = self;
    size_t size = PBOOST_GRAM_SIZE(at->cols + at->intercept);
    double one[PBOOST_GRAM_SIZE(COLS + 1)];
    part here;
    memset(sums, 0, size * sizeof *sums);
    for (size_t p = 0; p < PARTS; p++) {
        load(&here, t, p);
        assert_ok(pboost_part_gram(one, &here.bags, at, weight + here.first,
                                   residual != NULL ? residual + here.first : NULL, 1, err),
                  *err);
        for (size_t i = 0; i < size; i++)
            sums[i] += one[i];
    }
    return called(t, err);
}

/* One column is far from 0, one constant; rows of a bag are similar if `sorted`. */
static void fill(table *t, pboost_family family, double noise, bool sorted)
{
    *t = (table){0};
    for (size_t i = 0; i < ROWS; i++) {
        double level = 4.0 * (double)(i / BAG) / BAGS - 2.0;
        t->row[i] = i;
        for (size_t j = 0; j < COLS; j++)
            t->x[i * COLS + j] = uniform() - 0.5 + (j == 3 ? 2000.0 : 0.0);
        t->x[i * COLS] += sorted ? level : 0.0;
        t->x[i * COLS + 4] = 1.0;
    }
    for (size_t b = 0; b < BAGS; b++) {
        double eta = t->x[b * BAG * COLS], draw = uniform();
        t->start[b + 1] = (b + 1) * BAG;
        t->noise[b] = noise;
        t->answer[b] = family == PBOOST_LINEAR     ? eta + 0.3 * draw
                       : family == PBOOST_LOGISTIC ? 0.8 / (1 + exp(-eta)) + 0.2 * draw
                                                   : exp(eta) * (0.5 + draw);
        t->answer[b] += sqrt(noise) * (uniform() - 0.5);
    }
    memcpy(t->base, t->x + 17 * COLS, sizeof t->base);
}

static pboost_bag_parts parts_of(table *t)
{
    return (pboost_bag_parts){t, t->base, columns, moments, gram, false};
}

static void same_reports(const pboost_fit_report *a, const pboost_fit_report *b)
{
    assert_int_equal(a->converged, b->converged);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->bags, b->bags);
    assert_int_equal(a->undercovers, b->undercovers);
    assert_int_equal(a->dispersion_floored, b->dispersion_floored);
    assert_int_equal(a->estimator, b->estimator);
    assert_true(fabs(a->dispersion - b->dispersion) < 1e-7 * (1 + a->dispersion));
    assert_true(fabs(a->l2 - b->l2) < 1e-7 * (1 + a->l2));
    assert_true(fabs(a->eta_sd - b->eta_sd) < 1e-7);
}

static void compare(table *t, const pboost_fit_options *o, bool laplace)
{
    double theta[COLS], theta2[COLS], covariance[(COLS + 1) * (COLS + 1)], other[36];
    pboost_coef a = {COLS, theta, 0}, b = {COLS, theta2, 0};
    pboost_fit_report one, two;
    pboost_bag_parts parts = parts_of(t);
    parts.laplace = laplace;
    pboost_matrix x = pboost_matrix_f64(t->x, ROWS, COLS);
    pboost_bags bags = {ROWS, BAGS, t->row, t->start};
    pboost_answers answers = {0};
    pboost_error err = {0};

    assert_ok(pboost_answers_append(&answers, &bags, t->answer, t->noise, &err), err);
    answers.other_noise = !laplace;
    for (size_t j = 0; j < COLS; j++)
        theta[j] = theta2[j] = j == 3 ? 0.0 : 0.1; /* a start of some use */
    assert_ok(pboost_aggregate_fit(&a, &one, covariance, PLAIN(x), &answers, 0, o, &err), err);
    assert_ok(
        pboost_bag_parts_fit(&b, &two, other, &parts, BAGS, t->start, t->answer, t->noise, o, &err),
        err);
    same_reports(&one, &two);
    for (size_t j = 0; j < COLS; j++)
        assert_true(fabs(theta[j] - theta2[j]) < 1e-7);
    assert_true(fabs(a.intercept - b.intercept) < 1e-3); /* 2000 times what a weight is off by */
    for (size_t i = 0; i < COLS; i++)
        for (size_t j = 0; j < COLS; j++)
            assert_true(fabs(covariance[i * (COLS + 1) + j] - other[i * (COLS + 1) + j]) <
                        1e-6 * sqrt(covariance[i * (COLS + 2)] * covariance[j * (COLS + 2)]) +
                            1e-12);
    pboost_answers_clear(&answers);
}

static void parts_are_fitted_as_the_whole(void **unused)
{
    table *t = malloc(sizeof *t);
    (void)unused;

    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++)
        for (int noisy = 0; noisy < 2; noisy++)
            for (int kind = 0; kind < 3; kind++) {
                pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
                o.family = family;
                o.estimator = PBOOST_AGGREGATE;
                o.intercept = kind < 2;
                if (kind == 1)
                    o.l2 = pboost_l2_fixed(0.5);
                fill(t, family, noisy ? 0.04 : 0.0, kind != 1);
                if (!o.intercept)
                    for (size_t i = 0; i < ROWS; i++)
                        t->x[i * COLS + 3] -= 2000.0;
                compare(t, &o, false);
                compare(t, &o, true);
            }
    free(t);
}

/* Any call may fail: it is the last, and its message is returned. */
static void a_machine_that_fails_ends_the_fit(void **unused)
{
    table *t = malloc(sizeof *t);
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    size_t at = 1;
    (void)unused;

    o.family = PBOOST_LOGISTIC;
    o.estimator = PBOOST_AGGREGATE;
    fill(t, o.family, 0.01, true);
    pboost_bag_parts parts = parts_of(t);
    for (;; at++) {
        double theta[COLS] = {0}, covariance[(COLS + 1) * (COLS + 1)];
        pboost_coef coef = {COLS, theta, 0};
        pboost_fit_report report;
        pboost_error err = {0};
        t->calls = 0;
        t->fail_at = at;
        pboost_status st = pboost_bag_parts_fit(&coef, &report, covariance, &parts, BAGS, t->start,
                                                t->answer, t->noise, &o, &err);
        if (t->calls < at) {
            assert_ok(st, err);
            break;
        }
        assert_int_equal(st, PBOOST_ORACLE);
        assert_int_equal(t->calls, at);
        assert_string_equal(err.message, "a machine is gone");
        assert_true(theta[0] == 0.0 && coef.intercept == 0.0);
        assert_false(report.converged);
    }
    assert_true(at > 5);
    free(t);
}

static bool enough(void *user)
{
    table *t = user;
    return t->calls > 4;
}

static void a_caller_may_stop_it(void **unused)
{
    table *t = malloc(sizeof *t);
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    pboost_cancel cancel = {.stop = enough, .user = t};
    double theta[COLS] = {0};
    pboost_coef coef = {COLS, theta, 0};
    (void)unused;

    o.family = PBOOST_POISSON;
    o.estimator = PBOOST_AGGREGATE;
    o.cancel = &cancel;
    fill(t, o.family, 0, true);
    pboost_bag_parts parts = parts_of(t);
    assert_int_equal(pboost_bag_parts_fit(&coef, NULL, NULL, &parts, BAGS, t->start, t->answer,
                                          t->noise, &o, NULL),
                     PBOOST_CANCELLED);
    assert_true(t->calls < 9);
    free(t);
}

/* Enough rows for several chunks of a pass. */
static void threads_change_no_bit(void **unused)
{
    enum { MANY = 48000, MANY_BAGS = MANY / BAG, SIZE = PBOOST_GRAM_SIZE(COLS + 1) };
    double *x = malloc(MANY * COLS * sizeof *x), *weight = malloc(MANY_BAGS * sizeof *weight);
    double(*moments)[2 * MANY_BAGS] = malloc(2 * sizeof *moments), eta[2][2], sums[2][SIZE];
    double zero[COLS] = {0}, one[COLS], parameter[COLS + 1];
    size_t *start = malloc((MANY_BAGS + 1) * sizeof *start);
    pboost_matrix matrix;
    pboost_part_bags bags = {&matrix, MANY_BAGS, start};
    pboost_bag_point at = {PBOOST_LOGISTIC, true, COLS, NULL, zero, one, parameter};
    pboost_error err = {0};
    (void)unused;

    for (size_t i = 0; i < MANY * COLS; i++)
        x[i] = uniform() - 0.5;
    matrix = pboost_matrix_f64(x, MANY, COLS);
    for (size_t b = 0; b <= MANY_BAGS; b++)
        start[b] = b * BAG;
    for (size_t b = 0; b < MANY_BAGS; b++)
        weight[b] = uniform();
    for (size_t j = 0; j <= COLS; j++)
        parameter[j] = uniform() - 0.5;
    for (size_t j = 0; j < COLS; j++)
        one[j] = 1.0;
    for (int threads = 1; threads <= 5; threads++) {
        int k = threads > 1;
        assert_ok(pboost_part_moments(moments[k], moments[k] + MANY_BAGS, eta[k], &bags, &at,
                                      threads, &err),
                  err);
        assert_ok(pboost_part_gram(sums[k], &bags, &at, weight, weight, threads, &err), err);
        assert_memory_equal(moments[k], moments[0], sizeof moments[0]);
        assert_memory_equal(eta[k], eta[0], sizeof eta[0]);
        assert_memory_equal(sums[k], sums[0], sizeof sums[0]);
    }
    free(x);
    free(weight);
    free(moments);
    free(start);
}

static void wrong_parts_are_refused(void **unused)
{
    double x[4] = {0, 1, 2, 3}, mean[4], variance[4], eta[2], parameter[3] = {0}, sums[12];
    double zero[2] = {0}, one[2] = {1, 1};
    size_t start[] = {0, 1, 2}, backwards[] = {0, 1, 1}, beyond[] = {0, 1, 3};
    pboost_matrix matrix = pboost_matrix_f64(x, 2, 2);
    pboost_part_bags good = {&matrix, 2, start}, bags = good;
    pboost_bag_point at = {PBOOST_LINEAR, true, 2, NULL, zero, one, parameter}, wrong = at;
    (void)unused;

    assert_int_equal(pboost_part_moments(mean, variance, eta, &good, &at, 1, NULL), PBOOST_OK);
    wrong.cols = 3;
    assert_int_equal(pboost_part_moments(mean, variance, eta, &good, &wrong, 1, NULL),
                     PBOOST_INVALID);
    wrong = at;
    wrong.family = (pboost_family)9;
    assert_int_equal(pboost_part_gram(sums, &good, &wrong, one, NULL, 1, NULL), PBOOST_INVALID);
    bags.n_bags = 0;
    assert_int_equal(pboost_part_gram(sums, &bags, &at, one, NULL, 1, NULL), PBOOST_INVALID);
    bags = (pboost_part_bags){&matrix, 2, backwards};
    assert_int_equal(pboost_part_gram(sums, &bags, &at, one, NULL, 1, NULL), PBOOST_INVALID);
    bags.start = beyond;
    assert_int_equal(pboost_part_gram(sums, &bags, &at, one, NULL, 1, NULL), PBOOST_INVALID);
    matrix.rows = 0;
    assert_int_equal(pboost_part_columns(sums, &matrix, zero, NULL), PBOOST_BAD_DATA);
}

static void wrong_requests_are_refused(void **unused)
{
    table *t = malloc(sizeof *t);
    double theta[COLS] = {0};
    pboost_coef coef = {COLS, theta, 0};
    pboost_fit_options good = PBOOST_FIT_OPTIONS_INIT;
    (void)unused;

    fill(t, PBOOST_LINEAR, 0, true);
    good.estimator = PBOOST_AGGREGATE;
    pboost_bag_parts parts = parts_of(t);
    for (int wrong = 0; wrong < 7; wrong++) {
        pboost_fit_options o = good;
        size_t n_bags = BAGS;
        pboost_status expected = wrong < 4 ? PBOOST_INVALID : PBOOST_BAD_DATA;
        o.struct_size -= wrong == 0;
        o.estimator = wrong == 1 ? PBOOST_EVENT : o.estimator;
        o.l2.mode = wrong == 2 ? PBOOST_L2_CV : PBOOST_L2_AUTO;
        o.covariance = wrong == 3 ? PBOOST_COVARIANCE_SANDWICH : o.covariance;
        n_bags = wrong == 4 ? 0 : n_bags;
        t->start[3] = wrong == 5 ? t->start[2] : 3 * BAG;
        t->answer[1] = wrong == 6 ? NAN : 0.5;
        assert_int_equal(pboost_bag_parts_fit(&coef, NULL, NULL, &parts, n_bags, t->start,
                                              t->answer, t->noise, &o, NULL),
                         expected);
        assert_int_equal(t->calls, 0);
    }
    t->answer[1] = 0.5;
    t->x[5] = 1e200;
    pboost_error err = {0};
    assert_int_equal(pboost_bag_parts_fit(&coef, NULL, NULL, &parts, BAGS, t->start, t->answer,
                                          t->noise, &good, &err),
                     PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "column 0 overflows"));
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_fitted_as_the_whole),
        cmocka_unit_test(a_machine_that_fails_ends_the_fit),
        cmocka_unit_test(a_caller_may_stop_it),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(wrong_parts_are_refused),
        cmocka_unit_test(wrong_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

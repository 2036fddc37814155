/* Whichever allocation fails in a piece for a cluster: the call says so, what it gives is empty,
 * nothing leaks (under the address sanitizer), and the same call succeeds afterwards. */
#include "testing.h"

#include <math.h>
#include <priorboost/cluster.h>

#include "fault/inject.h"

enum { ROWS = 120, COLS = 3, SIZE = 4, BAGS = ROWS / SIZE, CLASSES = 3, CLASS_WEIGHTS = 8 };

typedef struct {
    double x[ROWS * COLS], target[ROWS], answer[BAGS], noise[BAGS], theta[COLS + 1];
    double shares[BAGS * CLASSES], share_noise[BAGS * CLASSES], row_shares[ROWS * CLASSES];
    size_t start[BAGS + 1];
    pboost_matrix matrix;
    pboost_samples samples;
    pboost_part_bags bags;
} table;

static table t;

static void fill(void)
{
    for (size_t i = 0; i < ROWS * COLS; i++)
        t.x[i] = (double)(i * 7919 % 101) / 50.0 - 1.0;
    for (size_t b = 0; b < BAGS; b++) {
        t.answer[b] = 0.2 + (double)(b * 31 % 17) / 40.0;
        t.noise[b] = 0.01;
        t.start[b + 1] = (b + 1) * SIZE;
        for (size_t i = 0; i < SIZE; i++)
            t.target[b * SIZE + i] = t.answer[b];
        for (size_t c = 0; c < CLASSES; c++) {
            double share = c == 0 ? t.answer[b] : 0.5 * (1.0 - t.answer[b]);
            t.shares[b * CLASSES + c] = share;
            t.share_noise[b * CLASSES + c] = 0.01;
            for (size_t i = 0; i < SIZE; i++)
                t.row_shares[(b * SIZE + i) * CLASSES + c] = share;
        }
    }
    t.matrix = pboost_matrix_f64(t.x, ROWS, COLS);
    t.samples = (pboost_samples){.x = &t.matrix, .n = ROWS, .target = t.target};
    t.bags = (pboost_part_bags){&t.matrix, BAGS, t.start};
}

/* ---- All rows are one part, whose own allocations may be the one that fails ------------------ */

static pboost_status sums(void *self, const pboost_coef *coef, bool hessian, double *out,
                          pboost_error *err)
{
    (void)self;
    return pboost_part_sums(out, PBOOST_LOGISTIC, &t.samples, coef, NULL, hessian, 1, err);
}

static pboost_status direction(void *self, const pboost_coef *coef, double out[3],
                               pboost_error *err)
{
    (void)self;
    return pboost_part_direction(out, PBOOST_LOGISTIC, &t.samples, coef, NULL, 1, err);
}

static pboost_status columns(void *self, double *out, pboost_error *err)
{
    (void)self;
    return pboost_part_columns(out, &t.matrix, t.x, err);
}

static pboost_status moments(void *self, const pboost_bag_point *at, double *mean, double *variance,
                             double eta[2], pboost_error *err)
{
    (void)self;
    return pboost_part_moments(mean, variance, eta, &t.bags, at, 1, err);
}

static pboost_status gram(void *self, const pboost_bag_point *at, const double *weight,
                          const double *residual, double *out, pboost_error *err)
{
    (void)self;
    return pboost_part_gram(out, &t.bags, at, weight, residual, 1, err);
}

static pboost_status fit_events(pboost_coef *coef, pboost_error *err)
{
    pboost_parts parts = {NULL, sums, direction};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.family = PBOOST_LOGISTIC;
    return pboost_parts_fit(coef, NULL, &parts, BAGS, t.start, t.answer, t.noise, NULL, &o, err);
}

static pboost_status fit_aggregates(pboost_coef *coef, pboost_error *err)
{
    double covariance[(COLS + 1) * (COLS + 1)];
    pboost_bag_parts parts = {NULL, t.x, columns, moments, gram, false};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.family = PBOOST_LOGISTIC;
    o.estimator = PBOOST_AGGREGATE;
    return pboost_bag_parts_fit(coef, NULL, covariance, &parts, BAGS, t.start, t.answer, t.noise,
                                &o, err);
}

static pboost_status class_moments(void *self, const pboost_class_point *at, double *mean,
                                   double *variance, double *eta, pboost_error *err)
{
    (void)self;
    return pboost_part_class_moments(mean, variance, eta, &t.bags, at, 1, err);
}

static pboost_status class_gram(void *self, const pboost_class_point *at,
                                const pboost_class_bags *known, double *out, pboost_error *err)
{
    (void)self;
    return pboost_part_class_gram(out, &t.bags, at, known, 1, err);
}

static pboost_status class_meat(void *self, const pboost_class_point *at,
                                const pboost_class_bags *known, double *out, double *misfit,
                                pboost_error *err)
{
    (void)self;
    return pboost_part_class_meat(out, misfit, &t.bags, at, known, 1, err);
}

static pboost_status class_scores(void *self, const pboost_class_point *at,
                                  const pboost_class_bags *known, double *out, pboost_error *err)
{
    (void)self;
    return pboost_part_class_scores(out, &t.bags, at, known, 1, err);
}

static pboost_status class_rows(void *self, const pboost_class_point *at, double *out,
                                pboost_error *err)
{
    (void)self;
    return pboost_part_class_rows(out, &t.matrix, t.row_shares, at, 1, err);
}

static pboost_status fit_classes(pboost_coef *coef, pboost_estimator estimator, pboost_error *err)
{
    double theta[CLASSES * (COLS + 1)] = {0}, covariance[CLASS_WEIGHTS * CLASS_WEIGHTS];
    pboost_class_coef found = {CLASSES, COLS, theta};
    pboost_class_parts parts = {NULL,       t.x,        columns,      class_moments,
                                class_gram, class_meat, class_scores, class_rows};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.estimator = estimator;
    pboost_status st = pboost_class_parts_fit(&found, NULL, covariance, &parts, BAGS, t.start,
                                              t.shares, t.share_noise, &o, err);
    coef->intercept = theta[COLS + 1];
    return st;
}

static pboost_status fit_class_events(pboost_coef *coef, pboost_error *err)
{
    return fit_classes(coef, PBOOST_EVENT, err);
}

static pboost_status fit_class_aggregates(pboost_coef *coef, pboost_error *err)
{
    return fit_classes(coef, PBOOST_AGGREGATE, err);
}

static pboost_status cut(pboost_coef *coef, pboost_error *err)
{
    double sorted[ROWS];
    size_t row[ROWS], cuts[ROWS / SIZE + 2], n;
    pboost_status st = pboost_order_scores(row, sorted, t.x, ROWS, 1, err);
    if (st == PBOOST_OK)
        st = pboost_order_keys(row, (const uint64_t *)(const void *)t.start, BAGS, 1, err);
    if (st == PBOOST_OK) {
        st = pboost_cut_piece(cuts, &n, sorted, ROWS, SIZE, 1.0, PBOOST_CUT_REST, 1, err);
        assert_int_equal(n > 0, st == PBOOST_OK);
    }
    coef->intercept = st == PBOOST_OK;
    return st;
}

static void pieces_may_run_out_of_memory(void **state)
{
    pboost_status (*const call[])(pboost_coef *, pboost_error *) = {
        fit_events, fit_aggregates, fit_class_events, fit_class_aggregates, cut};
    (void)state;

    fill();
    for (size_t c = 0; c < sizeof call / sizeof *call; c++) {
        long n = 1;
        for (; n == 1 || injected(); n++) {
            double theta[COLS] = {0};
            pboost_coef coef = {COLS, theta, 0};
            pboost_error err = {0};
            inject_allocation(n);
            pboost_status st = call[c](&coef, &err);
            inject_nothing();
            if (injected()) {
                assert_int_equal(st, PBOOST_NO_MEMORY);
                assert_true(theta[0] == 0.0 && coef.intercept == 0.0);
                st = n % 5 == 0 ? call[c](&coef, &err) : PBOOST_OK;
            }
            assert_ok(st, err);
        }
        assert_true(n > 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

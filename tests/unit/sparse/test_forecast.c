/* Forecasts of wide models: against dense matrices, and that they order bags as they should. */
#include "unit/sparse/support.h"

enum { N = 61, D = 9, K = 4, P = D + 1 };

static const pboost_wide_assumptions ASSUMED = {
    .family = PBOOST_LOGISTIC, .mean = 0.3, .dispersion = 1.0, .spread = 2.5, .threads = 1};

static void chain(size_t *row, size_t *start, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++)
        row[i] = i;
    for (size_t b = 0; b <= n / k; b++)
        start[b] = b * k;
}

/* The covariance of the weights, the intercept first: (sum_B J J'/V + S/spread)^-1, factored. */
static void dense_matrix(double *a, const wide_table *t, const pboost_bags *bags,
                         const pboost_wide_assumptions *as, double v)
{
    double mean[D] = {0}, square = 0.0, n = (double)bags->n_rows;
    memset(a, 0, P * P * sizeof *a);
    for (size_t b = 0; b < bags->n_bags; b++) {
        double j[P] = {0}, size = (double)(bags->start[b + 1] - bags->start[b]);
        double noise = as->rules == NULL ? 0.0 : pboost_rules_noise_variance(as->rules, K);
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++) {
            const double *x = t->dense + bags->row[i] * D;
            j[0] += v / size;
            for (size_t c = 0; c < D; c++) {
                j[c + 1] += v * x[c] / size;
                mean[c] += x[c] / n;
                square += x[c] * x[c] / n;
            }
        }
        for (size_t r = 0; r < P; r++)
            for (size_t c = 0; c < P; c++)
                a[r * P + c] += j[r] * j[c] / (as->dispersion * v / size + noise);
    }
    for (size_t c = 0; c < D; c++)
        square -= mean[c] * mean[c];
    for (size_t c = 1; c < P; c++)
        a[c * P + c] += square / as->spread;
}

/* x' A^-1 x by elimination. */
static double quadratic(double *a, const double *x)
{
    double r[P], sum = 0.0;
    memcpy(r, x, sizeof r);
    for (size_t k = 0; k < P; k++) {
        sum += r[k] * r[k] / a[k * P + k];
        for (size_t i = k + 1; i < P; i++) {
            double f = a[i * P + k] / a[k * P + k];
            r[i] -= f * r[k];
            for (size_t j = k; j < P; j++)
                a[i * P + j] -= f * a[k * P + j];
        }
    }
    return sum;
}

static void compare(const wide_table *t, const pboost_bags *bags, const pboost_wide_assumptions *as,
                    double v)
{
    double a[P * P], x[P] = {1.0};
    pboost_wide_forecast found;
    pboost_error err;
    for (size_t row = 56; row < N; row++) { /* one row: signs do not matter */
        memcpy(x + 1, t->dense + row * D, D * sizeof *x);
        dense_matrix(a, t, bags, as, v);
        assert_ok(pboost_wide_forecast_bags(&found, &t->features, bags, &row, 1, as, &err), err);
        assert_near(found.excess, 0.5 * v * quadratic(a, x), 2e-3 * found.excess);
    }
}

static void test_excess_is_that_of_dense_matrices(void **state)
{
    (void)state;
    wide_table t;
    size_t row[N], start[N];
    pboost_bags bags = {56, 56 / K, row, start};
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_wide_assumptions as = ASSUMED;
    wide_open(&t, PBOOST_LOGISTIC, N, D, 4.0, false, 7);
    chain(row, start, 56, K);
    compare(&t, &bags, &as, 0.21);
    rules.min_bag = K;
    rules.bounded = true;
    rules.upper = rules.step = 1.0;
    rules.epsilon = (pboost_rational){1, 1};
    as.rules = &rules;
    compare(&t, &bags, &as, 0.21);
    as.family = PBOOST_LINEAR;
    as.dispersion = 2.0;
    compare(&t, &bags, &as, 1.0);
    as.family = PBOOST_POISSON;
    as.mean = 1.7;
    compare(&t, &bags, &as, 1.7);
    wide_close(&t);
}

/* All labels tell more than bags, bags more than nothing; noise takes some of it. */
static void test_more_answers_tell_more(void **state)
{
    (void)state;
    enum { ROWS = 600, OTHER = 100, BAG = 5 };
    wide_table t;
    size_t row[ROWS], start[ROWS + 1], one[ROWS + 1], other[OTHER];
    pboost_bags bags = {ROWS - OTHER, (ROWS - OTHER) / BAG, row, start}, all = {0};
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_wide_assumptions as = ASSUMED;
    pboost_wide_forecast labels, means, noisy;
    pboost_error err;
    wide_open(&t, PBOOST_LOGISTIC, ROWS, 40, 6.0, true, 3);
    chain(row, start, ROWS - OTHER, BAG);
    chain(row, one, ROWS - OTHER, 1);
    all = (pboost_bags){ROWS - OTHER, ROWS - OTHER, row, one};
    for (size_t i = 0; i < OTHER; i++)
        other[i] = ROWS - OTHER + i;
    rules.min_bag = BAG;
    rules.bounded = true;
    rules.upper = rules.step = 1.0;
    rules.epsilon = (pboost_rational){1, 1};
    assert_ok(pboost_wide_forecast_bags(&labels, &t.features, &all, other, OTHER, &as, &err), err);
    assert_ok(pboost_wide_forecast_bags(&means, &t.features, &bags, other, OTHER, &as, &err), err);
    as.rules = &rules;
    assert_ok(pboost_wide_forecast_bags(&noisy, &t.features, &bags, other, OTHER, &as, &err), err);
    assert_true(0.0 < labels.excess && labels.excess < means.excess);
    assert_true(means.excess < noisy.excess && noisy.excess < noisy.constant);
    assert_near(labels.constant, means.constant, 1e-12);
    /* Of the constant model it is about half of v times the spread. */
    assert_near(labels.constant, 0.5 * 0.21 * as.spread, 0.25 * labels.constant);
    wide_close(&t);
}

/* What is known of a column that no bag has is the prior. */
static void test_a_column_that_no_bag_has(void **state)
{
    (void)state;
    uint32_t start[] = {0, 1, 2, 3, 4, 6, 7}, column[] = {0, 1, 0, 1, 0, 2, 0};
    pboost_wide_features features = {
        .x = {.rows = 6, .cols = 3, .start = start, .start_bytes = 4, .column = column}};
    size_t row[] = {0, 1, 2, 3}, first[] = {0, 1, 2, 3, 4}, with = 4, without = 5;
    pboost_bags bags = {4, 4, row, first};
    pboost_wide_forecast a, b;
    pboost_error err;
    assert_ok(pboost_wide_forecast_bags(&a, &features, &bags, &with, 1, &ASSUMED, &err), err);
    assert_ok(pboost_wide_forecast_bags(&b, &features, &bags, &without, 1, &ASSUMED, &err), err);
    double prior = 0.5 * 0.21 * ASSUMED.spread / 0.5; /* the two columns vary by 1/4 each */
    assert_near(a.excess - b.excess, prior, 1e-3 * prior);
    assert_near(a.constant - b.constant, prior, 1e-12);
}

static void test_bad_requests_are_named(void **state)
{
    (void)state;
    wide_table t;
    size_t row[N], start[N], other = 60, beyond = N;
    pboost_bags bags = {56, 56 / K, row, start};
    pboost_wide_forecast found;
    pboost_error err;
    wide_open(&t, PBOOST_LOGISTIC, N, D, 4.0, false, 7);
    chain(row, start, 56, K);
    const struct {
        double mean, dispersion, spread;
        const size_t *other;
        size_t n;
        const char *message;
    } bad[] = {
        {1.5, 1.0, 1.0, &other, 1, "the mean label is 1.5"},
        {0.0, 1.0, 1.0, &other, 1, "the mean label is 0"},
        {0.5, 0.0, 1.0, &other, 1, "dispersion is 0; it must be positive"},
        {0.5, 1.0, -1.0, &other, 1, "spread is -1"},
        {0.5, 1.0, 1.0, &other, 0, "there are no other rows"},
        {0.5, 1.0, 1.0, &beyond, 1, "row 61 is asked for, but there are 61 rows"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pboost_wide_assumptions as = ASSUMED;
        as.mean = bad[i].mean;
        as.dispersion = bad[i].dispersion;
        as.spread = bad[i].spread;
        assert_fails(pboost_wide_forecast_bags(&found, &t.features, &bags, bad[i].other, bad[i].n,
                                               &as, &err),
                     PBOOST_INVALID, err, bad[i].message);
    }
    look_limit limit = {0, 0};
    pboost_cancel cancel = {runs_out, &limit, NULL};
    pboost_wide_assumptions as = ASSUMED;
    as.cancel = &cancel;
    assert_fails(pboost_wide_forecast_bags(&found, &t.features, &bags, &other, 1, &as, &err),
                 PBOOST_CANCELLED, err, "stopped as asked");
    wide_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_excess_is_that_of_dense_matrices),
        cmocka_unit_test(test_more_answers_tell_more),
        cmocka_unit_test(test_a_column_that_no_bag_has),
        cmocka_unit_test(test_bad_requests_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

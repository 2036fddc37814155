/* The theory's quantities against the paper's formulas written out with dense matrices: S'S and
 * (X'X)^-1 X' are formed, all in long double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <priorboost/theory.h>

enum { MOST_N = 700, MOST_D = 6 };

typedef long double real;

/* A case: x has more rows than the bags name. */
typedef struct {
    size_t table, n, m, d;
    double x[MOST_N * MOST_D], theta[MOST_D];
    size_t row[MOST_N], bag[MOST_N], start[MOST_N + 1];
    pboost_bags bags;
    pboost_matrix matrix;
} problem;

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) * 0x1p-30 - 1.0;
}

/* Bags of k to 2k-1 rows of a table whose rows 0, 5, 10, ... are in none. */
static void make(problem *p, size_t table, size_t d, size_t k, uint64_t seed)
{
    *p = (problem){.table = table, .d = d};
    for (size_t i = 0; i < table * d; i++)
        p->x[i] = uniform(&seed) + 0.3 * (double)(i % d == 0);
    for (size_t j = 0; j < d; j++)
        p->theta[j] = uniform(&seed);
    for (size_t i = 0; i < table; i++)
        if (i % 5 != 0)
            p->row[p->n++] = (i * 7) % table;
    for (size_t end = k, b = 0; end <= p->n; end += k + b % k) {
        p->start[++b] = end + 2 * k > p->n + 1 ? p->n : end;
        p->m = b;
        if (p->start[b] == p->n)
            break;
    }
    for (size_t i = 0, b = 0; i < p->n; i++)
        p->bag[i] = b += i == p->start[b + 1];
    p->bags = (pboost_bags){p->n, p->m, p->row, p->start};
    p->matrix = pboost_matrix_f64(p->x, table, d);
    assert_int_equal(p->start[p->m], p->n);
}

static real projection(const problem *p, size_t i, size_t j) /* (S'S)_ij */
{
    size_t b = p->bag[i];
    return b == p->bag[j] ? 1.0L / (real)(p->start[b + 1] - p->start[b]) : 0.0L;
}

static real entry(const problem *p, size_t i, size_t j)
{
    return p->x[p->row[i] * p->d + j];
}

/* a^-1 for a d x d matrix by Gauss and Jordan with pivoting. */
static void inverse(real *out, const real *a, size_t d)
{
    real w[MOST_D][2 * MOST_D] = {0};
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++)
            w[i][j] = a[i * d + j];
        w[i][d + i] = 1;
    }
    for (size_t c = 0; c < d; c++) {
        size_t best = c;
        for (size_t i = c; i < d; i++)
            best = fabsl(w[i][c]) > fabsl(w[best][c]) ? i : best;
        for (size_t j = 0; j < 2 * d; j++) {
            real held = w[c][j];
            w[c][j] = w[best][j];
            w[best][j] = held;
        }
        for (size_t i = 0; i < d; i++) {
            real f = w[i][c] / w[c][c];
            for (size_t j = 0; j < 2 * d && i != c; j++)
                w[i][j] -= f * w[c][j];
        }
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            out[i * d + j] = w[i][d + j] / w[i][i];
}

/* (X'X) and X^+ = (X'X)^-1 X', d x n. */
static void pseudo_inverse(real *gram, real *plus, const problem *p)
{
    real inv[MOST_D * MOST_D];
    for (size_t a = 0; a < p->d; a++)
        for (size_t b = 0; b < p->d; b++) {
            gram[a * p->d + b] = 0;
            for (size_t i = 0; i < p->n; i++)
                gram[a * p->d + b] += entry(p, i, a) * entry(p, i, b);
        }
    inverse(inv, gram, p->d);
    for (size_t a = 0; a < p->d; a++)
        for (size_t i = 0; i < p->n; i++) {
            plus[a * p->n + i] = 0;
            for (size_t b = 0; b < p->d; b++)
                plus[a * p->n + i] += inv[a * p->d + b] * entry(p, i, b);
        }
}

/* Squared operator norm of a d x n matrix: a a' squared ten times over picks out its top. */
static real operator_norm2(const real *a, size_t d, size_t n)
{
    real g[MOST_D * MOST_D] = {0}, h[MOST_D * MOST_D], lambda = 0, power = 1;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k < n; k++)
                g[i * d + j] += a[i * n + k] * a[j * n + k];
    for (int step = 0; step < 40; step++) { /* lambda^(2^step) by traces, in logarithms */
        real trace = 0;
        for (size_t i = 0; i < d; i++)
            trace += g[i * d + i];
        lambda += logl(trace) / power;
        power *= 2;
        for (size_t i = 0; i < d * d; i++)
            g[i] /= trace;
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                h[i * d + j] = 0;
                for (size_t k = 0; k < d; k++)
                    h[i * d + j] += g[i * d + k] * g[k * d + j];
            }
        memcpy(g, h, sizeof g);
    }
    return expl(lambda);
}

static real mean_of(pboost_family family, real eta)
{
    return family == PBOOST_LINEAR     ? eta
           : family == PBOOST_LOGISTIC ? 1 / (1 + expl(-eta))
                                       : expl(eta);
}

static real variance_of(pboost_family family, real eta)
{
    real mean = mean_of(family, eta);
    return family == PBOOST_LINEAR ? 1 : family == PBOOST_LOGISTIC ? mean * (1 - mean) : mean;
}

/* mu, b'' and (S'S - I) mu, each n. */
static void moments(real *mu, real *v, real *pull, const problem *p, pboost_family family)
{
    for (size_t i = 0; i < p->n; i++) {
        real eta = 0;
        for (size_t j = 0; j < p->d; j++)
            eta += entry(p, i, j) * (real)p->theta[j];
        mu[i] = mean_of(family, eta);
        v[i] = variance_of(family, eta);
    }
    for (size_t i = 0; i < p->n; i++) {
        pull[i] = -mu[i];
        for (size_t j = 0; j < p->n; j++)
            pull[i] += projection(p, i, j) * mu[j];
    }
}

/* left is d x n: |left (S'S - I) mu|^2, and |left S'S diag(w)^(1/2)|_F^2. */
static pboost_risk norms(const problem *p, const real *left, const real *pull, const real *w)
{
    real bias = 0, variance = 0;
    for (size_t a = 0; a < p->d; a++) {
        real sum = 0;
        for (size_t i = 0; i < p->n; i++) {
            real averaged = 0;
            for (size_t j = 0; j < p->n; j++)
                averaged += left[a * p->n + j] * projection(p, j, i);
            variance += averaged * averaged * w[i];
            sum += left[a * p->n + i] * pull[i];
        }
        bias += sum * sum;
    }
    return (pboost_risk){(double)bias, (double)variance};
}

static void assert_close(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("got %.17g, want %.17g", got, want);
}

static void must(pboost_status status, const pboost_error *err)
{
    if (status != PBOOST_OK)
        fail_msg("%s", err->message);
}

static real gram[MOST_D * MOST_D], left[MOST_D * MOST_N], mu[MOST_N], v[MOST_N], pull[MOST_N];

static void check_linear(const problem *p, double sigma2, double relative)
{
    pboost_error err = {0};
    pboost_risk got;
    double bound;
    real within = 0;

    pseudo_inverse(gram, left, p);
    moments(mu, v, pull, p, PBOOST_LINEAR);
    for (size_t i = 0; i < p->n; i++) {
        v[i] = sigma2; /* |(X'X)^-1 X'S'|_F = |(X'X)^-1 X'S'S|_F, since SS' = I */
        within += pull[i] * pull[i];
    }
    pboost_risk want = norms(p, left, pull, v);
    must(pboost_risk_linear(&got, &p->matrix, &p->bags, p->theta, sigma2, &err), &err);
    assert_close(got.bias, want.bias, relative);
    assert_close(got.variance, want.variance, relative);
    must(pboost_risk_linear_bound(&bound, &p->matrix, &p->bags, p->theta, sigma2, &err), &err);
    double fewer = (double)(p->m < p->d ? p->m : p->d);
    assert_close(bound, (double)(operator_norm2(left, p->d, p->n) * (within + sigma2 * fewer)),
                 relative);
}

static void check_glm(const problem *p, pboost_family family, double phi)
{
    pboost_error err = {0};
    pboost_risk got;
    pboost_variance_check check;
    double bound;
    real within = 0, by_bag = 0, most = 0, least = INFINITY;

    moments(mu, v, pull, p, family);
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < p->d; j++)
            left[j * p->n + i] = entry(p, i, j) / phi / (real)p->n;
        v[i] *= phi;
        within += pull[i] * pull[i];
        by_bag += v[i] * projection(p, i, i);
        most = fmaxl(most, v[i]);
        least = fminl(least, v[i]);
    }
    pboost_risk want = norms(p, left, pull, v);
    must(pboost_gradient_norm(&got, family, &p->matrix, &p->bags, p->theta, phi, &err), &err);
    assert_close(got.bias, want.bias, 1e-12);
    assert_close(got.variance, want.variance, 1e-12);
    must(pboost_gradient_bound(&bound, family, &p->matrix, &p->bags, p->theta, phi, &err), &err);
    real variance = fminl(by_bag, most * (real)p->d);
    assert_close(bound, (double)(operator_norm2(left, p->d, p->n) * (within + variance)), 1e-12);
    must(pboost_variance_ratio(&check, family, &p->matrix, &p->bags, p->theta, &err), &err);
    assert_close(check.bags_per_feature, (double)p->m / (double)p->d, 0);
    assert_close(check.variance_ratio, (double)(most / least), 1e-12);
    assert_int_equal(check.droppable, (real)p->m / (real)p->d >= most / least);
}

static problem p;

static void linear_risk_equals_the_dense_formula(void **state)
{
    (void)state;
    for (size_t d = 1; d <= MOST_D; d++)
        for (size_t k = 1; k <= 8; k++) {
            make(&p, 48, d, k, 100 * d + k);
            check_linear(&p, 0.7, 1e-11);
        }
    make(&p, 12, 4, 6, 3); /* fewer bags than columns */
    assert_true(p.m < p.d);
    check_linear(&p, 0.7, 1e-11);
}

/* More rows, and more bags, than one panel takes. */
static void many_rows_fill_many_panels(void **state)
{
    (void)state;
    make(&p, MOST_N - 1, 3, 1, 5);
    assert_true(p.m > 512);
    check_linear(&p, 0.2, 1e-12);
    make(&p, MOST_N - 1, 3, 3, 5);
    check_linear(&p, 0.2, 1e-12);
    check_glm(&p, PBOOST_POISSON, 1.0);
}

static void units_of_columns_cost_no_digits(void **state)
{
    (void)state;
    make(&p, 60, 4, 3, 11);
    const double unit[4] = {1e7, 1e-6, 1.0, 1e-3};
    for (size_t i = 0; i < p.table * p.d; i++)
        p.x[i] *= unit[i % 4];
    for (size_t j = 0; j < 4; j++)
        p.theta[j] /= unit[j];
    check_linear(&p, 0.5, 1e-11);
}

static void gradient_norm_equals_the_dense_formula(void **state)
{
    (void)state;
    size_t droppable = 0, cases = 0;
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++)
        for (size_t k = 1; k <= 9; k += 2) {
            make(&p, 60, 1 + k % 4, k, 40 + k);
            check_glm(&p, family, family == PBOOST_LINEAR ? 0.3 : 1.0);
            check_glm(&p, family, 2.5);
            pboost_variance_check check;
            must(pboost_variance_ratio(&check, family, &p.matrix, &p.bags, p.theta, NULL), NULL);
            droppable += check.droppable;
            cases++;
        }
    assert_true(droppable > 0 && droppable < cases);
}

static void any_storage_gives_the_same(void **state)
{
    (void)state;
    static double columns[MOST_N * MOST_D];
    static float single[MOST_N * MOST_D];
    pboost_risk want, got;
    make(&p, 60, 4, 3, 21);
    for (size_t i = 0; i < p.table; i++)
        for (size_t j = 0; j < p.d; j++) {
            p.x[i * p.d + j] = single[i * p.d + j] = (float)p.x[i * p.d + j];
            columns[j * p.table + i] = p.x[i * p.d + j];
        }
    must(pboost_risk_linear(&want, &p.matrix, &p.bags, p.theta, 1.0, NULL), NULL);
    pboost_matrix by_column = {columns, PBOOST_F64, p.table, p.d, 1, (ptrdiff_t)p.table};
    pboost_matrix floats = {single, PBOOST_F32, p.table, p.d, (ptrdiff_t)p.d, 1};
    must(pboost_risk_linear(&got, &by_column, &p.bags, p.theta, 1.0, NULL), NULL);
    assert_true(got.bias == want.bias && got.variance == want.variance);
    must(pboost_risk_linear(&got, &floats, &p.bags, p.theta, 1.0, NULL), NULL);
    assert_true(got.bias == want.bias && got.variance == want.variance);
}

static void random_bags_bound(void **state)
{
    (void)state;
    const double theta[3] = {1.0, -2.0, 2.0};
    assert_true(pboost_random_bags_bound(1, theta, 3) == 0.0);
    assert_true(pboost_random_bags_bound(4, theta, 3) == 0.75 * 0.75 * 9.0);
    assert_true(isnan(pboost_random_bags_bound(0, theta, 3)));
}

/* ---- What is refused ------------------------------------------------------------------------- */

static void assert_said(pboost_status got, pboost_status want, const pboost_error *err,
                        const char *part)
{
    assert_int_equal(got, want);
    assert_int_equal(err->status, want);
    if (strstr(err->message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err->message, part);
}

/* All five functions on the problem as it stands. */
static void all_refuse(pboost_status want, const char *part)
{
    const pboost_matrix *x = &p.matrix;
    pboost_error err = {0};
    pboost_risk risk = {0};
    pboost_variance_check check = {0};
    double bound = 0;
    assert_said(pboost_risk_linear(&risk, x, &p.bags, p.theta, 1, &err), want, &err, part);
    assert_true(isnan(risk.bias) && isnan(risk.variance));
    assert_said(pboost_risk_linear_bound(&bound, x, &p.bags, p.theta, 1, &err), want, &err, part);
    assert_true(isnan(bound));
    risk.bias = bound = 0;
    assert_said(pboost_gradient_norm(&risk, PBOOST_LOGISTIC, x, &p.bags, p.theta, 1, &err), want,
                &err, part);
    assert_true(isnan(risk.bias));
    assert_said(pboost_gradient_bound(&bound, PBOOST_LOGISTIC, x, &p.bags, p.theta, 1, &err), want,
                &err, part);
    assert_true(isnan(bound));
    assert_said(pboost_variance_ratio(&check, PBOOST_LOGISTIC, x, &p.bags, p.theta, &err), want,
                &err, part);
    assert_true(isnan(check.variance_ratio) && !check.droppable);
}

static void refuses_bad_input(void **state)
{
    (void)state;
    make(&p, 30, 3, 3, 1);
    p.theta[1] = NAN;
    all_refuse(PBOOST_INVALID, "theta[1] is nan");
    make(&p, 30, 3, 3, 1);
    p.x[p.row[4] * 3 + 2] = NAN;
    all_refuse(PBOOST_BAD_DATA, "is nan in row 12;");
    make(&p, 30, 3, 3, 1);
    p.row[3] = 30;
    all_refuse(PBOOST_INVALID, "30");
    make(&p, 30, 3, 3, 1);
    p.matrix.cols = 0;
    all_refuse(PBOOST_INVALID, "of 0 columns");
    make(&p, 30, 3, 3, 1);
    p.matrix.data = NULL;
    all_refuse(PBOOST_INVALID, "no feature matrix");
    make(&p, 30, 3, 3, 1);
    p.matrix.type = (pboost_type)7;
    all_refuse(PBOOST_INVALID, "element type 7");
}

static void refuses_bad_levels(void **state)
{
    (void)state;
    const pboost_matrix *x = &p.matrix;
    pboost_error err = {0};
    pboost_risk risk;
    double bound;
    make(&p, 30, 3, 3, 1);
    const double bad[] = {-1.0, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        assert_said(pboost_risk_linear(&risk, x, &p.bags, p.theta, bad[i], &err), PBOOST_INVALID,
                    &err, "sigma2 is");
        assert_said(pboost_risk_linear_bound(&bound, x, &p.bags, p.theta, bad[i], &err),
                    PBOOST_INVALID, &err, "sigma2 is");
    }
    const double no_phi[] = {0.0, -1.0, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        assert_said(
            pboost_gradient_norm(&risk, PBOOST_LINEAR, x, &p.bags, p.theta, no_phi[i], &err),
            PBOOST_INVALID, &err, "phi is");
        assert_said(
            pboost_gradient_bound(&bound, PBOOST_LINEAR, x, &p.bags, p.theta, no_phi[i], &err),
            PBOOST_INVALID, &err, "phi is");
    }
    must(pboost_risk_linear(&risk, x, &p.bags, p.theta, 0.0, &err), &err);
    assert_true(risk.variance == 0.0 && risk.bias > 0.0);
    assert_int_equal(pboost_gradient_norm(&risk, (pboost_family)9, x, &p.bags, p.theta, 1, NULL),
                     PBOOST_INVALID);
}

static void refuses_a_design_without_full_rank(void **state)
{
    (void)state;
    pboost_error err = {0};
    pboost_risk risk;
    double bound;
    make(&p, 60, 5, 3, 1);
    for (size_t i = 0; i < p.table; i++)
        p.x[i * 5 + 3] = p.x[i * 5] - 3.0 * p.x[i * 5 + 2];
    const char *said = "x has rank 4 of 5 columns: the risk is not defined";
    assert_said(pboost_risk_linear(&risk, &p.matrix, &p.bags, p.theta, 1, &err), PBOOST_BAD_DATA,
                &err, said);
    assert_true(isnan(risk.bias) && isnan(risk.variance));
    assert_said(pboost_risk_linear_bound(&bound, &p.matrix, &p.bags, p.theta, 1, &err),
                PBOOST_BAD_DATA, &err, said);
    assert_true(isnan(bound));
    for (size_t i = 0; i < p.table; i++)
        p.x[i * 5 + 1] = 0.0;
    assert_said(pboost_risk_linear(&risk, &p.matrix, &p.bags, p.theta, 1, &err), PBOOST_BAD_DATA,
                &err, "x has rank 3 of 5 columns");
    must(pboost_gradient_norm(&risk, PBOOST_LINEAR, &p.matrix, &p.bags, p.theta, 1, &err), &err);
}

static void says_where_numbers_overflow(void **state)
{
    (void)state;
    pboost_error err = {0};
    pboost_risk risk;
    pboost_variance_check check;
    make(&p, 30, 3, 3, 1);
    p.theta[0] = 2000.0;
    assert_said(pboost_gradient_norm(&risk, PBOOST_POISSON, &p.matrix, &p.bags, p.theta, 1, &err),
                PBOOST_BAD_DATA, &err, "the poisson mean of row");
    /* A saturated logistic variance underflows; the ratio is then infinite, not an error. */
    must(pboost_variance_ratio(&check, PBOOST_LOGISTIC, &p.matrix, &p.bags, p.theta, &err), &err);
    assert_true(isinf(check.variance_ratio) && !check.droppable);
    for (size_t i = 0; i < p.table; i++)
        p.x[i * 3] = 1.0; /* now in every row */
    must(pboost_variance_ratio(&check, PBOOST_LOGISTIC, &p.matrix, &p.bags, p.theta, &err), &err);
    assert_true(isinf(check.variance_ratio) && !check.droppable);
    make(&p, 30, 3, 3, 1);
    for (size_t i = 0; i < p.table; i++)
        p.x[i * 3 + 1] = 1e160 * (double)(i + 1);
    assert_said(pboost_risk_linear(&risk, &p.matrix, &p.bags, p.theta, 1, &err), PBOOST_BAD_DATA,
                &err, "squares of column 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_risk_equals_the_dense_formula),
        cmocka_unit_test(many_rows_fill_many_panels),
        cmocka_unit_test(units_of_columns_cost_no_digits),
        cmocka_unit_test(gradient_norm_equals_the_dense_formula),
        cmocka_unit_test(any_storage_gives_the_same),
        cmocka_unit_test(random_bags_bound),
        cmocka_unit_test(refuses_bad_input),
        cmocka_unit_test(refuses_bad_levels),
        cmocka_unit_test(refuses_a_design_without_full_rank),
        cmocka_unit_test(says_where_numbers_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

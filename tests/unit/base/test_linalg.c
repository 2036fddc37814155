/* The scaled Cholesky: solutions, dropped columns, magnitudes. */
#include "fit_support.h"

#include "base/linalg.h"
#include "kernels/glm.h"

enum { N = 23, ROWS = 60 };

static double a[N * N], l[N * N], scale[N], b[N], x[N];
static unsigned char dropped[N];

/* A Gram matrix of random columns; column `copy` (if < N) is a combination of two before it. */
static void make_gram(uint64_t seed, size_t copy, const double *magnitude)
{
    static double rows[ROWS][N];
    test_rng rng = {seed};
    memset(a, 0, sizeof a);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t j = 0; j < N; j++)
            rows[r][j] = normal(&rng);
        if (copy < N)
            rows[r][copy] = rows[r][0] - 3.0 * rows[r][1];
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j <= i; j++)
                a[i * N + j] += rows[r][i] * rows[r][j] * magnitude[i] * magnitude[j];
    }
    for (size_t j = 0; j < N; j++)
        b[j] = normal(&rng) * magnitude[j];
    memcpy(l, a, sizeof a);
    memset(dropped, 0, sizeof dropped);
}

static double residual(void)
{
    double top = 0.0;
    for (size_t i = 0; i < N; i++) {
        double size = sqrt(a[i * N + i]), sum = dropped[i] ? 0.0 : b[i] / size;
        for (size_t j = 0; j < N; j++)
            sum -= dropped[i] ? 0.0 : (j <= i ? a[i * N + j] : a[j * N + i]) / size * x[j];
        top = fmax(top, fabs(sum));
    }
    return top;
}

static void solves_at_any_magnitude(void **state)
{
    (void)state;
    for (int level = 0; level < SIMD_LEVELS; level++)
        for (int wild = 0; wild < 2; wild++) {
            double magnitude[N];
            pboost_simd_force((simd_level_t)level);
            for (size_t j = 0; j < N; j++)
                magnitude[j] = wild ? pow(10.0, (double)(j % 3) * 140.0 - 140.0) : 1.0;
            make_gram(3, N, magnitude);
            pboost_cholesky c = {N, l, scale, dropped};
            assert_int_equal(pboost_cholesky_factor(&c, pboost_rank_tolerance(N), true), N);
            pboost_cholesky_solve(x, &c, b);
            assert_true(residual() < 1e-12);
            memcpy(x, b, sizeof x);
            pboost_cholesky_solve(x, &c, x);
            assert_true(residual() < 1e-12);
        }
    pboost_simd_force(SIMD_AVX512);
}

static void drops_what_adds_nothing(void **state)
{
    (void)state;
    double magnitude[N];
    for (size_t j = 0; j < N; j++)
        magnitude[j] = j == 7 ? 1e-60 : 1.0;
    for (size_t copy = 2; copy < N; copy++) {
        make_gram(copy, copy, magnitude);
        pboost_cholesky c = {N, l, scale, dropped};
        assert_int_equal(pboost_cholesky_factor(&c, pboost_rank_tolerance(N), true), N - 1);
        for (size_t j = 0; j < N; j++)
            assert_int_equal(dropped[j], j == copy);
        pboost_cholesky_solve(x, &c, b);
        assert_true(x[copy] == 0.0);
        assert_true(residual() < 1e-11);
    }
}

static void keeps_what_is_nearly_dependent(void **state)
{
    (void)state;
    double m[9] = {1, 0, 0, 1, 1 + 1e-10, 0, 0, 0, 0}, s[3];
    unsigned char drop[3] = {0};
    pboost_cholesky c = {3, m, s, drop};
    assert_int_equal(pboost_cholesky_factor(&c, pboost_rank_tolerance(3), true), 2);
    assert_true(!drop[0] && !drop[1] && drop[2]);
}

static void floors_the_pivot_where_nothing_may_go(void **state)
{
    (void)state;
    double m[4] = {1, 0, 1, 1}, s[2], rhs[2] = {1, 1}, out[2];
    unsigned char drop[2] = {0};
    pboost_cholesky c = {2, m, s, drop};
    assert_int_equal(pboost_cholesky_factor(&c, 1e-12, false), 2);
    pboost_cholesky_solve(out, &c, rhs);
    assert_near(out[0] + out[1], 1.0, 1e-9);
    assert_true(isfinite(out[0]) && isfinite(out[1]));
}

static void dropped_columns_stay_dropped(void **state)
{
    (void)state;
    double m[4] = {2, 0, 0, 2}, s[2], rhs[2] = {2, 2}, out[2];
    unsigned char drop[2] = {1, 0};
    pboost_cholesky c = {2, m, s, drop};
    assert_int_equal(pboost_cholesky_factor(&c, 1e-12, false), 1);
    pboost_cholesky_solve(out, &c, rhs);
    assert_true(out[0] == 0.0);
    assert_near(out[1], 1.0, 1e-15);
}

/* The panel kernels of every level against sums written out. */
static void kernels_match_plain_sums(void **state)
{
    (void)state;
    enum { CAP = 64, MAXD = 40 };
    static double panel[CAP * MAXD], columns[CAP * MAXD], theta[MAXD], w[CAP], r[CAP];
    static double eta[CAP], eta2[CAP], g[MAXD], cross[MAXD], gram[MAXD * MAXD];
    test_rng rng = {8};
    for (int level = 0; level < SIMD_LEVELS; level++)
        for (size_t blocks = 1; blocks <= 5; blocks++)
            for (size_t count = 1; count <= CAP; count += count < 18 ? 1 : 23) {
                pboost_simd_force((simd_level_t)level);
                const glm_kernels *k = pboost_glm_kernels();
                size_t d = 8 * blocks;
                for (size_t i = 0; i < CAP * d; i++)
                    panel[i] = normal(&rng);
                for (size_t i = 0; i < CAP; i++) {
                    w[i] = uniform(&rng);
                    r[i] = normal(&rng);
                }
                for (size_t j = 0; j < d; j++)
                    theta[j] = normal(&rng);
                memset(g, 0, sizeof g);
                memset(cross, 0, sizeof cross);
                memset(gram, 0, sizeof gram);
                glm_panel p = {.x = panel, .capacity = CAP, .count = count, .blocks = blocks};
                k->eta(eta, p, theta, 0.5);
                k->gradient(g, cross, p, r, w);
                k->gram(gram, p, w);
                k->transpose(columns, p);
                k->eta_columns(eta2, columns, CAP, count, d, theta, 0.5);
#define AT(row, col) panel[((col) / 8 * CAP + (row)) * 8 + (col) % 8]
                for (size_t i = 0; i < count; i++) {
                    double expected = 0.5;
                    for (size_t j = 0; j < d; j++) {
                        expected += AT(i, j) * theta[j];
                        assert_true(columns[j * CAP + i] == AT(i, j));
                    }
                    assert_near(eta[i], expected, 1e-12);
                    assert_near(eta2[i], expected, 1e-12);
                }
                const family_kernels *logistic = &k->family[PBOOST_LOGISTIC];
                double lean[MAXD + 1], size[MAXD + 1], largest[MAXD + 1], total, factor;
                glm_scored scored = {columns, CAP, count, d, w, lean, size, largest};
                k->survey(&scored);
                assert_true(logistic->total_columns(&total, &factor, &scored, theta, 0.5));
                assert_near(total + log(factor), logistic->total(eta2, w, NULL, count), 1e-12);
                for (size_t j = 0; j < d; j++) {
                    double eg = 0.0, ec = 0.0;
                    for (size_t i = 0; i < count; i++) {
                        eg += r[i] * AT(i, j);
                        ec += w[i] * AT(i, j);
                    }
                    assert_near(g[j], eg, 1e-12);
                    assert_near(cross[j], ec, 1e-12);
                    for (size_t m = 0; m <= j; m++) {
                        double e = 0.0;
                        for (size_t i = 0; i < count; i++)
                            e += w[i] * AT(i, j) * AT(i, m);
                        assert_near(gram[j * d + m], e, 1e-12);
                    }
                }
            }
    pboost_simd_force(SIMD_AVX512);
}

/* Sums over up to 8 turned columns, in two panels, at every level. */
static void turned_kernels_match_plain_sums(void **state)
{
    (void)state;
    enum { CAP = 32 };
    static double data[2 * CAP * 8], columns[8 * CAP], w[2 * CAP], r[2 * CAP];
    static double lanes[GLM_COLUMNS_LANES], g[8], cross[8], gram[64];
    test_rng rng = {9};
    for (int level = 0; level < SIMD_LEVELS; level++)
        for (size_t d = 1; d <= 8; d++)
            for (size_t count = 1; count <= CAP; count++) {
                pboost_simd_force((simd_level_t)level);
                const glm_kernels *k = pboost_glm_kernels();
                memset(lanes, 0, sizeof lanes);
                for (size_t i = 0; i < 2 * CAP; i++) {
                    bool within = i % CAP < count;
                    w[i] = within ? uniform(&rng) : 0.0;
                    r[i] = within ? normal(&rng) : 0.0;
                    for (size_t j = 0; j < 8; j++)
                        data[i * 8 + j] = j < d ? normal(&rng) : 0.0;
                }
                for (size_t h = 0; h < 2; h++) {
                    glm_panel p = {
                        .x = data + h * CAP * 8, .capacity = CAP, .count = count, .blocks = 1};
                    k->transpose(columns, p);
                    glm_columns c = {.x = columns,
                                     .cross = true,
                                     .capacity = CAP,
                                     .count = count,
                                     .cols = d,
                                     .residual = r + h * CAP,
                                     .curvature = w + h * CAP,
                                     .ahead = h == 0 ? p.x + CAP * 8 : NULL,
                                     .ahead_stride = 8};
                    k->add_columns(lanes, &c, count % 2 == 1);
                }
                k->finish_columns(g, cross, gram, lanes, count % 2 == 1);
                for (size_t j = 0; j < d; j++) {
                    double eg = 0.0, ec = 0.0;
                    for (size_t i = 0; i < 2 * CAP; i++) {
                        eg += r[i] * data[i * 8 + j];
                        ec += w[i] * data[i * 8 + j];
                    }
                    assert_near(g[j], eg, 1e-12);
                    for (size_t m = 0; m <= j && count % 2 == 1; m++) {
                        double e = 0.0;
                        for (size_t i = 0; i < 2 * CAP; i++)
                            e += w[i] * data[i * 8 + j] * data[i * 8 + m];
                        assert_near(cross[j], ec, 1e-12);
                        assert_near(gram[j * 8 + m], e, 1e-12);
                    }
                }
            }
    pboost_simd_force(SIMD_AVX512);
}

/* Rows read in place: any number of columns from 8 on, any stride, at every level. */
static void kernels_in_place_match_plain_sums(void **state)
{
    (void)state;
    enum { HEIGHT = 21, MAXD = 43 };
    test_rng rng = {10};
    for (int level = 0; level < SIMD_LEVELS; level++)
        for (size_t d = 8; d <= MAXD; d++)
            for (size_t count = 1; count <= HEIGHT; count++) {
                pboost_simd_force((simd_level_t)level);
                const glm_kernels *k = pboost_glm_kernels();
                size_t stride = d + count % 3;
                double *data =
                    calloc((count - 1) * stride + d, sizeof *data); /* not one value more */
                double theta[MAXD], r[HEIGHT], eta[HEIGHT + 8], g[MAXD] = {0};
                for (size_t i = 0; i < (count - 1) * stride + d; i++)
                    data[i] = normal(&rng);
                for (size_t j = 0; j < d; j++)
                    theta[j] = normal(&rng);
                for (size_t i = 0; i < count; i++)
                    r[i] = normal(&rng);
                glm_table t = {
                    .x = data, .row_stride = (ptrdiff_t)stride, .count = count, .cols = d};
                k->eta_table(eta, &t, theta, 0.5);
                k->gradient_table(g, &t, r);
                for (size_t i = 0; i < count; i++) {
                    double e = 0.5;
                    for (size_t j = 0; j < d; j++)
                        e += data[i * stride + j] * theta[j];
                    assert_near(eta[i], e, 1e-12);
                }
                for (size_t j = 0; j < d; j++) {
                    double e = 0.0;
                    for (size_t i = 0; i < count; i++)
                        e += r[i] * data[i * stride + j];
                    assert_near(g[j], e, 1e-12);
                }
                free(data);
            }
    pboost_simd_force(SIMD_AVX512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_at_any_magnitude),
        cmocka_unit_test(drops_what_adds_nothing),
        cmocka_unit_test(keeps_what_is_nearly_dependent),
        cmocka_unit_test(floors_the_pivot_where_nothing_may_go),
        cmocka_unit_test(dropped_columns_stay_dropped),
        cmocka_unit_test(kernels_match_plain_sums),
        cmocka_unit_test(turned_kernels_match_plain_sums),
        cmocka_unit_test(kernels_in_place_match_plain_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

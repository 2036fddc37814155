/* The event-level fit: right on good data, robust on bad. */
#include "fit_support.h"

#include "kernels/simd.h"

static const pboost_family FAMILIES[] = {PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON};

static pboost_fit_options options_for(pboost_family family, double l2, bool intercept)
{
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.family = family;
    o.l2 = pboost_l2_fixed(l2);
    o.intercept = intercept;
    return o;
}

static void reaches_the_minimum(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{1, 1},    {7, 3},    {100, 8}, {333, 9},
                                       {700, 16}, {900, 17}, {800, 40}};
    for (size_t f = 0; f < 3; f++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (int extras = 0; extras < 4; extras++) {
                test_table t = make_table(FAMILIES[f], shapes[k][0], shapes[k][1], 17 * k + f);
                pboost_samples s = samples_of(&t);
                pboost_fit_options o = options_for(FAMILIES[f], 0.7, extras != 1);
                if (t.n == 1)
                    t.y[0] = 0.4;
                s.weight = extras >= 2 ? t.weight : NULL;
                s.offset = extras == 3 ? t.offset : NULL;
                assert_fits(&s, &o, 1e-13);
                free_table(&t);
            }
}

static void every_level_reaches_the_minimum(void **state)
{
    (void)state;
    for (int level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        pboost_simd_force((simd_level_t)level);
        for (size_t f = 0; f < 3; f++) {
            test_table t = make_table(FAMILIES[f], 517, 19, 5);
            pboost_samples s = samples_of(&t);
            pboost_fit_options o = options_for(FAMILIES[f], 2.0, true);
            assert_fits(&s, &o, 1e-13);
            s.weight = t.weight;
            assert_fits(&s, &o, 1e-13);
            free_table(&t);
        }
    }
    pboost_simd_force(SIMD_AVX512);
}

static void warm_up_and_rough_hessian_reach_the_minimum(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++)
        for (size_t d = 3; d <= 27; d += 24) {
            test_table t = make_table(FAMILIES[f], 12000, d, 3 + d);
            pboost_samples s = samples_of(&t);
            pboost_fit_options o = options_for(FAMILIES[f], 1.5, true);
            assert_fits(&s, &o, 1e-12);
            free_table(&t);
        }
}

static void strides_types_and_rows_agree(void **state)
{
    (void)state;
    size_t n = 300, d = 11;
    test_table t = make_table(PBOOST_LOGISTIC, n, d, 9);
    float *single = calloc(n * d, sizeof *single);
    double *turned = calloc(n * d, sizeof *turned), *wide = calloc(2 * n * d, sizeof *wide);
    size_t *row = calloc(n, sizeof *row);
    double *y = calloc(n, sizeof *y);
    for (size_t i = 0; i < n; i++) {
        row[i] = (i * 7) % n;
        y[i] = t.y[row[i]];
        for (size_t j = 0; j < d; j++) {
            t.x[i * d + j] = single[i * d + j] = (float)t.x[i * d + j];
            turned[j * n + i] = t.x[i * d + j];
            wide[(n - 1 - i) * 2 * d + 2 * j] = t.x[i * d + j];
        }
    }
    pboost_matrix shapes[] = {
        t.matrix,
        {single, PBOOST_F32, n, d, (ptrdiff_t)d, 1},
        {turned, PBOOST_F64, n, d, 1, (ptrdiff_t)n},
        {wide + (n - 1) * 2 * d, PBOOST_F64, n, d, -2 * (ptrdiff_t)d, 2},
    };
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 1.0, true);
    double expected[11] = {0};
    for (size_t k = 0; k < 8; k++) {
        pboost_samples s = {.x = &shapes[k % 4], .n = n, .target = t.y};
        if (k >= 4) {
            s.row = row;
            s.target = y;
        }
        pboost_coef coef;
        assert_int_equal(pboost_coef_init(&coef, d, NULL), PBOOST_OK);
        assert_int_equal(pboost_event_fit(&coef, NULL, &s, &o, NULL), PBOOST_OK);
        for (size_t j = 0; j < d; j++)
            if (k == 0)
                expected[j] = coef.theta[j];
            else
                assert_near(coef.theta[j], expected[j], 1e-9);
        pboost_coef_free(&coef);
    }
    free(single);
    free(turned);
    free(wide);
    free(row);
    free(y);
    free_table(&t);
}

/* A table that is its own panel, and the same one off the alignment that this takes. */
static void aligned_tables_are_read_in_place(void **state)
{
    (void)state;
    for (size_t n = 100; n <= 30000; n *= 300) {
        test_table t = make_table(PBOOST_LOGISTIC, n, 8, 9);
        double *block = calloc(n * 8 + 16, sizeof *block);
        pboost_fit_options o = options_for(PBOOST_LOGISTIC, 1.0, true);
        for (size_t off = 0; off < 2; off++) {
            double *x = block + off;
            while ((uintptr_t)(x - off) % 64 != 0)
                x++;
            memcpy(x, t.x, n * 8 * sizeof *x);
            t.matrix.data = x;
            pboost_samples s = samples_of(&t);
            assert_fits(&s, &o, 1e-12);
        }
        free(block);
        free_table(&t);
    }
}

/* Columns one after the other are read in place; every bit is that of the table by rows.  Values
 * after a column's end are not read as rows. */
static void tables_by_column_give_the_same_bits(void **state)
{
    (void)state;
    enum { AFTER = 9 };
    for (size_t n = 100; n <= 30003; n = 300 * n + 3) {
        test_table t = make_table(PBOOST_LOGISTIC, n, 8, 9);
        size_t pitch = n + AFTER;
        double *columns = calloc(8 * pitch, sizeof *columns);
        pboost_matrix by_row = t.matrix;
        pboost_matrix by_column = {columns, PBOOST_F64, n, 8, 1, (ptrdiff_t)pitch};
        for (size_t j = 0; j < 8; j++)
            for (size_t i = 0; i < pitch; i++)
                columns[j * pitch + i] = i < n ? t.x[i * 8 + j] : NAN;
        for (size_t f = 0; f < 3; f++) {
            pboost_fit_options o = options_for(FAMILIES[f], 1.0, f % 2 == 0);
            pboost_coef coef[2];
            for (size_t k = 0; k < 2; k++) {
                pboost_samples s = {.x = k == 0 ? &by_row : &by_column, .n = n, .target = t.y};
                assert_int_equal(pboost_coef_init(&coef[k], 8, NULL), PBOOST_OK);
                assert_int_equal(pboost_event_fit(&coef[k], NULL, &s, &o, NULL), PBOOST_OK);
            }
            assert_memory_equal(coef[0].theta, coef[1].theta, 8 * sizeof *coef[0].theta);
            assert_true(coef[0].intercept == coef[1].intercept);
            pboost_coef_free(&coef[0]);
            pboost_coef_free(&coef[1]);
        }
        free(columns);
        free_table(&t);
    }
}

/* With many columns a fit that continues computes one Hessian; it ends where any other does. */
static void a_fit_of_many_columns_continues(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        test_table t = make_table(FAMILIES[f], 600, 40, 21);
        pboost_samples s = {.x = &t.matrix, .n = 500, .target = t.y};
        pboost_fit_options o = options_for(FAMILIES[f], 3.0, true);
        pboost_coef coef[2];
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(pboost_coef_init(&coef[k], 40, NULL), PBOOST_OK);
            s.n = 500;
            if (k == 1)
                assert_int_equal(pboost_event_fit(&coef[k], NULL, &s, &o, NULL), PBOOST_OK);
            s.n = 600;
            assert_int_equal(pboost_event_fit(&coef[k], NULL, &s, &o, NULL), PBOOST_OK);
        }
        for (size_t j = 0; j < 40; j++)
            assert_near(coef[0].theta[j], coef[1].theta[j], 1e-6);
        pboost_coef_free(&coef[0]);
        pboost_coef_free(&coef[1]);
        free_table(&t);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++)
        for (size_t d = 5; d <= 30; d += 25) {
            test_table t = make_table(FAMILIES[f], 60000, d, 77);
            pboost_samples s = samples_of(&t);
            double expected[30] = {0}, intercept = 0.0;
            for (int threads = 1; threads <= 4; threads *= 2) {
                pboost_fit_options o = options_for(FAMILIES[f], 1.0, true);
                o.threads = threads;
                pboost_coef coef;
                assert_int_equal(pboost_coef_init(&coef, d, NULL), PBOOST_OK);
                assert_int_equal(pboost_event_fit(&coef, NULL, &s, &o, NULL), PBOOST_OK);
                if (threads == 1) {
                    memcpy(expected, coef.theta, d * sizeof *expected);
                    intercept = coef.intercept;
                }
                assert_memory_equal(expected, coef.theta, d * sizeof *expected);
                assert_memory_equal(&intercept, &coef.intercept, sizeof intercept);
                pboost_coef_free(&coef);
            }
            free_table(&t);
        }
}

/* Fits from 0; the caller looks at what came out. */
static pboost_status fit(pboost_coef *coef, pboost_fit_report *report, const pboost_samples *s,
                         const pboost_fit_options *o, pboost_error *err)
{
    assert_int_equal(pboost_coef_init(coef, s->x->cols, NULL), PBOOST_OK);
    return pboost_event_fit(coef, report, s, o, err);
}

static void assert_no_minimiser(const pboost_samples *s, const pboost_fit_options *o)
{
    pboost_coef coef;
    pboost_fit_report report;
    pboost_error err = {0};
    assert_int_equal(fit(&coef, &report, s, o, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "no finite minimiser"));
    assert_non_null(strstr(err.message, "l2 > 0"));
    for (size_t j = 0; j < coef.n; j++)
        assert_true(coef.theta[j] == 0.0);
    pboost_coef_free(&coef);
}

static void separable_data_have_no_minimiser(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int kind = 0; kind < 3; kind++) {
            test_table t = make_table(PBOOST_LOGISTIC, 200, 4, seed);
            pboost_samples s = samples_of(&t);
            for (size_t i = 0; i < t.n; i++) {
                double eta = t.x[i * 4] - 0.5 * t.x[i * 4 + 1] + 0.1;
                if (kind == 0) /* separable altogether */
                    t.y[i] = eta > 0.0;
                if (kind == 1) { /* an indicator that is always followed by 1 */
                    t.x[i * 4 + 3] = i % 10 == 0;
                    t.y[i] = i % 10 == 0 ? 1.0 : t.y[i];
                }
                if (kind == 2) /* one class only */
                    t.y[i] = 1.0;
            }
            pboost_fit_options o = options_for(PBOOST_LOGISTIC, 0.0, true);
            assert_no_minimiser(&s, &o);
            o.l2 = pboost_l2_fixed(1e-3);
            if (kind < 2)
                assert_fits(&s, &o, 1e-10);
            else
                assert_no_minimiser(&s, &o);
            free_table(&t);
        }
}

static void poisson_without_minimiser(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++)
        for (int kind = 0; kind < 3; kind++) {
            test_table t = make_table(PBOOST_POISSON, 200, 3, seed);
            pboost_samples s = samples_of(&t);
            for (size_t i = 0; i < t.n; i++) {
                if (kind == 0)
                    t.y[i] = 0.0;
                if (kind == 1) {
                    t.x[i * 3 + 2] = i % 10 == 0;
                    t.y[i] = i % 10 == 0 ? 0.0 : t.y[i];
                }
                if (kind == 2)
                    t.y[i] = -1.0 - uniform(&(test_rng){i});
            }
            pboost_fit_options o = options_for(PBOOST_POISSON, 0.0, true);
            assert_no_minimiser(&s, &o);
            free_table(&t);
        }
}

static void rare_events_have_a_minimiser(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_LOGISTIC, 20000, 2, 4);
    pboost_samples s = samples_of(&t);
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = i % 5000 == 17;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 0.0, true);
    assert_fits(&s, &o, 1e-12);
    for (size_t i = 0; i < t.n; i++)
        t.weight[i] = t.y[i] == 1.0 ? 1e-7 : 1.0;
    s.weight = t.weight;
    assert_fits(&s, &o, 1e-12);
    free_table(&t);
}

static void noisy_targets_outside_the_range(void **state)
{
    (void)state;
    test_rng rng = {6};
    for (size_t f = 1; f < 3; f++) {
        test_table t = make_table(FAMILIES[f], 400, 5, 12 + f);
        pboost_samples s = samples_of(&t);
        for (size_t i = 0; i < t.n; i++)
            t.y[i] += 1.5 * normal(&rng);
        pboost_fit_options o = options_for(FAMILIES[f], 1.0, true);
        assert_fits(&s, &o, 1e-12);
        free_table(&t);
    }
    test_table t = make_table(PBOOST_LOGISTIC, 100, 2, 1);
    pboost_samples s = samples_of(&t);
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = 1.5;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 0.0, true);
    assert_no_minimiser(&s, &o);
    /* The same through a column of ones: the value falls below any bound. */
    o.intercept = false;
    for (size_t i = 0; i < t.n; i++)
        t.x[i * 2] = 1.0;
    assert_no_minimiser(&s, &o);
    free_table(&t);
}

/* Columns 0 and 1 are good; column 2 is bad in some way. */
static void degenerate_columns_are_dropped(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++)
        for (int kind = 0; kind < 4; kind++) {
            test_table t = make_table(FAMILIES[f], 500, 4, 31 * f + (size_t)kind);
            for (size_t i = 0; i < t.n; i++) {
                double *x = t.x + i * 4;
                x[2] = kind == 0   ? 0.0
                       : kind == 1 ? 3.7
                       : kind == 2 ? x[0]
                                   : 0.3 * x[0] - 7.0 * x[1] + 0.1;
            }
            pboost_samples s = samples_of(&t);
            pboost_fit_options o = options_for(FAMILIES[f], 0.0, true);
            pboost_coef coef;
            pboost_fit_report report;
            assert_int_equal(fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
            assert_true(report.converged);
            assert_int_equal(report.rank, 3);
            assert_int_equal(report.first_dropped, 2);
            assert_true(coef.theta[2] == 0.0);
            double with = report.objective;
            /* The same from a start that uses the column. */
            coef.theta[2] = 0.125;
            assert_int_equal(pboost_event_fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
            assert_true(coef.theta[2] == 0.0);
            assert_int_equal(report.first_dropped, 2);
            assert_near(report.objective, with, 1e-9 * fabs(with));
            pboost_coef_free(&coef);

            o.l2 = pboost_l2_fixed(1.0);
            assert_int_equal(fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
            assert_int_equal(report.rank, 4);
            assert_true(report.first_dropped == SIZE_MAX);
            pboost_coef_free(&coef);
            assert_fits(&s, &o, 1e-12);

            /* And what is left is the fit without it. */
            for (size_t i = 0; i < t.n; i++) {
                t.x[i * 3] = t.x[i * 4];
                t.x[i * 3 + 1] = t.x[i * 4 + 1];
                t.x[i * 3 + 2] = t.x[i * 4 + 3];
            }
            t.matrix = pboost_matrix_f64(t.x, t.n, 3);
            o.l2 = pboost_l2_fixed(0.0);
            long double b[4];
            assert_near((double)minimum_ld(&s, &o, b), with, 1e-9 * fabs(with));
            free_table(&t);
        }
}

static void magnitudes_do_not_matter(void **state)
{
    (void)state;
    static const double scales[] = {1e-150, 1e-8, 1e8, 1e150};
    for (size_t f = 0; f < 3; f++)
        for (size_t k = 0; k < 4; k++) {
            test_table t = make_table(FAMILIES[f], 300, 3, 8 + f);
            pboost_samples s = samples_of(&t);
            pboost_fit_options o = options_for(FAMILIES[f], 0.0, true);
            pboost_coef plain, scaled;
            pboost_fit_report report;
            assert_int_equal(fit(&plain, &report, &s, &o, NULL), PBOOST_OK);
            for (size_t i = 0; i < t.n; i++)
                t.x[i * 3 + 1] *= scales[k];
            assert_int_equal(fit(&scaled, &report, &s, &o, NULL), PBOOST_OK);
            assert_true(report.converged);
            assert_int_equal(report.rank, 3);
            assert_near(scaled.theta[1] * scales[k] / plain.theta[1], 1.0, 1e-8);
            assert_near(scaled.theta[0], plain.theta[0], 1e-8);
            pboost_coef_free(&plain);
            pboost_coef_free(&scaled);
            o.l2 = pboost_l2_fixed(1.0);
            assert_int_equal(fit(&scaled, &report, &s, &o, NULL), PBOOST_OK);
            assert_true(report.converged);
            pboost_coef_free(&scaled);
            free_table(&t);
        }
}

static void columns_far_from_zero(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        test_table t = make_table(FAMILIES[f], 400, 3, 21 + f);
        pboost_samples s = samples_of(&t);
        pboost_fit_options o = options_for(FAMILIES[f], 0.0, true);
        pboost_coef plain, moved;
        pboost_fit_report report, far;
        assert_int_equal(fit(&plain, &report, &s, &o, NULL), PBOOST_OK);
        for (size_t i = 0; i < t.n; i++)
            t.x[i * 3 + 1] += 1e9;
        assert_int_equal(fit(&moved, &far, &s, &o, NULL), PBOOST_OK);
        assert_int_equal(far.rank, 3);
        assert_near(moved.theta[1], plain.theta[1], 1e-5);
        assert_near(far.objective, report.objective, 1e-6 * fabs(report.objective));
        pboost_coef_free(&plain);
        pboost_coef_free(&moved);
        free_table(&t);
    }
}

static void fewer_rows_than_columns(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_LINEAR, 6, 10, 2);
    pboost_samples s = samples_of(&t);
    pboost_fit_options o = options_for(PBOOST_LINEAR, 0.0, false);
    pboost_coef coef;
    pboost_fit_report report;
    assert_int_equal(fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
    assert_int_equal(report.rank, 6);
    assert_int_equal(report.first_dropped, 6);
    assert_near(report.objective, 0.0, 1e-20);
    pboost_coef_free(&coef);
    for (size_t f = 0; f < 3; f++) {
        o = options_for(FAMILIES[f], 0.5, true);
        for (size_t i = 0; i < t.n; i++)
            t.y[i] = (double)(i % 2);
        assert_fits(&s, &o, 1e-12);
    }
    free_table(&t);
}

static void poisson_overflow_is_stepped_around(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_POISSON, 300, 2, 40);
    pboost_samples s = samples_of(&t);
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = floor(exp(12.0 + 4.0 * t.x[i * 2]));
    pboost_fit_options o = options_for(PBOOST_POISSON, 0.0, true);
    assert_fits(&s, &o, 1e-12);
    for (size_t i = 0; i < t.n; i++)
        t.y[i] = i == 0 ? 1e300 : 0.0;
    o.l2 = pboost_l2_fixed(1.0);
    pboost_coef coef;
    pboost_fit_report report;
    assert_int_equal(fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
    assert_true(isfinite(report.objective));
    pboost_coef_free(&coef);
    free_table(&t);
}

/* An 8th of the rows are 12 for each column: their Hessian is of use only if chance correlations of
 * the columns are taken out.  Without that, the fit takes 15 steps and a Hessian of all rows. */
static void a_rough_hessian_of_few_rows_saves_steps(void **state)
{
    (void)state;
    for (size_t f = 1; f < 3; f++) {
        test_table t = make_table(FAMILIES[f], 10240, 100, 7);
        pboost_samples s = samples_of(&t);
        pboost_fit_options o = options_for(FAMILIES[f], 10.0, false);
        pboost_coef coef;
        pboost_fit_report report;
        assert_int_equal(fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
        assert_in_range(report.iterations, 1, 12);
        pboost_coef_free(&coef);
        free_table(&t);
    }
}

static void a_bad_start_is_left_for_zero(void **state)
{
    (void)state;
    static const double starts[] = {1e3, -1e3, 1e200, 0.5};
    for (size_t f = 0; f < 3; f++)
        for (size_t k = 0; k < 4; k++) {
            test_table t = make_table(FAMILIES[f], 400, 3, 50 + f);
            pboost_samples s = samples_of(&t);
            pboost_fit_options o = options_for(FAMILIES[f], 0.1, true);
            pboost_coef coef;
            pboost_fit_report report;
            assert_int_equal(pboost_coef_init(&coef, 3, NULL), PBOOST_OK);
            for (size_t j = 0; j < 3; j++)
                coef.theta[j] = starts[k];
            assert_int_equal(pboost_event_fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
            assert_true(report.converged);
            assert_true(report.iterations < 20);
            long double b[4], best = minimum_ld(&s, &o, b);
            assert_near((double)objective_at(&s, &o, &coef), (double)best,
                        1e-12 * fabs((double)best));
            pboost_coef_free(&coef);
            free_table(&t);
        }
}

/* A separable table whose start is saturated: every weight is 0 there. */
static void a_saturated_start_hides_nothing(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_LOGISTIC, 100, 2, 3);
    pboost_samples s = samples_of(&t);
    for (size_t i = 0; i < t.n; i++) {
        t.x[i * 2] += t.x[i * 2] > 0 ? 1.0 : -1.0;
        t.y[i] = t.x[i * 2] > 0.0;
    }
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 0.0, true);
    pboost_coef coef;
    pboost_error err;
    assert_int_equal(pboost_coef_init(&coef, 2, NULL), PBOOST_OK);
    coef.theta[0] = 1e4;
    assert_int_equal(pboost_event_fit(&coef, NULL, &s, &o, &err), PBOOST_BAD_DATA);
    assert_true(coef.theta[0] == 1e4);
    pboost_coef_free(&coef);
    free_table(&t);
}

static void not_converging_is_reported(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_LOGISTIC, 200, 3, 3);
    pboost_samples s = samples_of(&t);
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 1.0, true);
    o.max_iterations = 1;
    pboost_coef coef;
    pboost_fit_report report;
    assert_int_equal(fit(&coef, &report, &s, &o, NULL), PBOOST_OK);
    assert_false(report.converged);
    assert_int_equal(report.iterations, 1);
    pboost_coef_free(&coef);
    free_table(&t);
}

static void assert_refused(const pboost_samples *s, const pboost_fit_options *o,
                           pboost_status expected, const char *part)
{
    pboost_coef coef;
    pboost_error err = {0};
    pboost_fit_report report;
    assert_int_equal(pboost_coef_init(&coef, s->x->cols, NULL), PBOOST_OK);
    assert_int_equal(pboost_event_fit(&coef, &report, s, o, &err), expected);
    if (strstr(err.message, part) == NULL)
        print_error("\"%s\" does not say \"%s\"\n", err.message, part);
    assert_non_null(strstr(err.message, part));
    pboost_coef_free(&coef);
}

static void bad_values_are_named(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t n = 50; n <= 20000; n *= 400)
        for (size_t f = 0; f < 3; f++)
            for (size_t k = 0; k < 3; k++) {
                test_table t = make_table(FAMILIES[f], n, 8, 3);
                pboost_samples s = samples_of(&t);
                pboost_fit_options o = options_for(FAMILIES[f], 1.0, true);
                s.weight = t.weight;
                s.offset = t.offset;
                double keep = t.x[33 * 8 + 5];
                t.x[33 * 8 + 5] = bad[k];
                assert_refused(&s, &o, PBOOST_BAD_DATA, "row 33, column 5");
                t.x[33 * 8 + 5] = keep;
                keep = t.y[34];
                t.y[34] = bad[k];
                assert_refused(&s, &o, PBOOST_BAD_DATA, "target of sample 34");
                t.y[34] = keep;
                keep = t.weight[35];
                t.weight[35] = bad[k];
                assert_refused(&s, &o, PBOOST_BAD_DATA, "weight of row 35");
                t.weight[35] = -1.0;
                assert_refused(&s, &o, PBOOST_BAD_DATA, "weight of row 35 is -1");
                t.weight[35] = keep;
                t.offset[36] = bad[k];
                assert_refused(&s, &o, PBOOST_BAD_DATA, "offset of row 36");
                free_table(&t);
            }
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    test_table t = make_table(PBOOST_LOGISTIC, 50, 3, 3);
    pboost_samples s = samples_of(&t);
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, 1.0, true);
    size_t row[] = {0, 1, 50};
    pboost_samples other = s;
    other.n = 0;
    assert_refused(&other, &o, PBOOST_BAD_DATA, "no samples");
    other.n = 51;
    assert_refused(&other, &o, PBOOST_INVALID, "51 samples of a table of 50 rows");
    other.n = 3;
    other.row = row;
    assert_refused(&other, &o, PBOOST_INVALID, "sample 2 is row 50");
    other = s;
    other.target = NULL;
    assert_refused(&other, &o, PBOOST_INVALID, "no targets");
    other = s;
    memset(t.weight, 0, t.n * sizeof *t.weight);
    other.weight = t.weight;
    assert_refused(&other, &o, PBOOST_BAD_DATA, "all 50 weights are 0");
    o.l2 = pboost_l2_fixed(-0.5);
    assert_refused(&s, &o, PBOOST_INVALID, "l2 is -0.5");
    o.l2 = pboost_l2_fixed(NAN);
    assert_refused(&s, &o, PBOOST_INVALID, "l2 is");
    o = options_for((pboost_family)7, 1.0, true);
    assert_refused(&s, &o, PBOOST_INVALID, "not a family");
    o = options_for(PBOOST_LOGISTIC, 1.0, true);
    o.struct_size = 3;
    assert_refused(&s, &o, PBOOST_INVALID, "struct_size");
    o = options_for(PBOOST_LOGISTIC, 1.0, true);
    o.threads = -1;
    assert_refused(&s, &o, PBOOST_INVALID, "threads is -1");
    o.threads = 1;
    t.matrix.cols = 0;
    assert_refused(&s, &o, PBOOST_BAD_DATA, "no feature columns");
    t.matrix.cols = 3;
    for (size_t i = 0; i < t.n; i++)
        t.x[i * 3 + 1] = 1e160 * normal(&(test_rng){i});
    assert_refused(&s, &o, PBOOST_BAD_DATA, "column 1");
    free_table(&t);

    pboost_coef coef;
    t = make_table(PBOOST_LINEAR, 5, 3, 3);
    s = samples_of(&t);
    o = options_for(PBOOST_LINEAR, 1.0, true);
    assert_int_equal(pboost_coef_init(&coef, 2, NULL), PBOOST_OK);
    assert_int_equal(pboost_event_fit(&coef, NULL, &s, &o, NULL), PBOOST_INVALID);
    pboost_coef_free(&coef);
    assert_int_equal(pboost_coef_init(&coef, 3, NULL), PBOOST_OK);
    coef.theta[1] = NAN;
    assert_int_equal(pboost_event_fit(&coef, NULL, &s, &o, NULL), PBOOST_INVALID);
    coef.theta[1] = 0.0;
    coef.intercept = INFINITY;
    assert_int_equal(pboost_event_fit(&coef, NULL, &s, &o, NULL), PBOOST_INVALID);
    pboost_coef_free(&coef);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reaches_the_minimum),
        cmocka_unit_test(every_level_reaches_the_minimum),
        cmocka_unit_test(warm_up_and_rough_hessian_reach_the_minimum),
        cmocka_unit_test(strides_types_and_rows_agree),
        cmocka_unit_test(aligned_tables_are_read_in_place),
        cmocka_unit_test(tables_by_column_give_the_same_bits),
        cmocka_unit_test(a_fit_of_many_columns_continues),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(separable_data_have_no_minimiser),
        cmocka_unit_test(poisson_without_minimiser),
        cmocka_unit_test(rare_events_have_a_minimiser),
        cmocka_unit_test(noisy_targets_outside_the_range),
        cmocka_unit_test(degenerate_columns_are_dropped),
        cmocka_unit_test(magnitudes_do_not_matter),
        cmocka_unit_test(columns_far_from_zero),
        cmocka_unit_test(fewer_rows_than_columns),
        cmocka_unit_test(poisson_overflow_is_stepped_around),
        cmocka_unit_test(a_rough_hessian_of_few_rows_saves_steps),
        cmocka_unit_test(a_bad_start_is_left_for_zero),
        cmocka_unit_test(a_saturated_start_hides_nothing),
        cmocka_unit_test(not_converging_is_reported),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(bad_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

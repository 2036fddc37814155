/* Bags that share rows: the estimate, its covariance, what is redundant and what is refused. */
#include "margins_support.h"

#include "fit/overlap/overlap.h"

/* Fits by the code for shared rows, whether there are some or not. */
static fitted overlap_or_fail(const test_table *t, const double *weight, const double *offset,
                              const pboost_answers *a, const pboost_fit_options *o)
{
    fitted f = {0};
    pboost_error err = {0};
    pboost_features features = {.x = t->matrix, .weight = weight, .offset = offset};
    assert_int_equal(pboost_coef_init(&f.coef, t->d, &err), PBOOST_OK);
    f.covariance = calloc((t->d + 1) * (t->d + 1), sizeof *f.covariance);
    pboost_status st =
        pboost_overlap_fit(&f.coef, &f.report, f.covariance, &features, a, 0, o, &err);
    if (st != PBOOST_OK)
        print_error("%s\n", err.message);
    assert_int_equal(st, PBOOST_OK);
    assert_true(f.report.converged);
    return f;
}

/* ---- The estimate ---------------------------------------------------------------------------- */

static void bags_that_share_nothing_are_the_aggregate_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < 48; i++) {
        bool noisy = i & 1, chosen = !noisy && i & 16; /* the ridge under noise has its own path */
        pboost_fit_options o =
            options_for(FAMILIES[i % 3], chosen ? L2_AUTO : pboost_l2_fixed(2.0));
        test_table t = make_table(o.family, 1200, 4, i);
        pboost_answers a = make_answers(&t, i & 32 ? 1 : 6, noisy ? 0.01 : 0.0, i & 2, i);
        const double *weight = i & 4 ? t.weight : NULL, *offset = i & 8 ? t.offset : NULL;
        o.tolerance = 1e-20;
        o.intercept = i % 7 != 0;
        fitted shared = overlap_or_fail(&t, weight, offset, &a, &o);
        o.tolerance = 1e-17;
        fitted apart = fit_or_fail(&t.matrix, weight, offset, &a, &o);
        assert_same_coef(&shared.coef, &apart.coef, 1e-8);
        for (size_t j = 0; j < 25; j++)
            assert_near(shared.covariance[j], apart.covariance[j], 1e-6 * apart.covariance[0]);
        assert_near(shared.report.dispersion, apart.report.dispersion,
                    1e-7 * apart.report.dispersion);
        assert_near(shared.report.l2, apart.report.l2, 1e-7 * apart.report.l2);
        assert_near(shared.report.freedom, apart.report.freedom, 1e-6);
        assert_near(shared.report.pearson, apart.report.pearson, 1e-6);
        assert_int_equal(shared.report.redundant, 0);
        fitted_free(&shared);
        fitted_free(&apart);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

enum { MOST_BAGS = 64, PARAMETERS = 5 };

/* The equation with the full covariance, in long double and for bags as they were given; gram gets
 * J' V^-1 J.  Parameters: columns, then intercept. */
static void equation(long double *g, long double *gram, const test_table *t, const double *weight,
                     const pboost_answers *a, const fitted *f, pboost_family family)
{
    size_t n = a->n_bags, p = t->d + 1;
    long double *s = calloc(n * n, sizeof *s), *factor = calloc(n * n, sizeof *s);
    long double *jacobian = calloc(n * p, sizeof *s), *column = calloc(n, sizeof *s);
    char *holds = calloc(n * t->n, 1);
    long double residual[MOST_BAGS];
    for (size_t b = 0; b < n; b++) {
        long double size = (long double)(a->start[b + 1] - a->start[b]), mu = 0.0L;
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++) {
            size_t row = a->row[i];
            long double eta = f->coef.intercept, v;
            holds[b * t->n + row] = 1;
            for (size_t j = 0; j < t->d; j++)
                eta += (long double)f->coef.theta[j] * t->x[row * t->d + j];
            v = variance_of(family, eta);
            mu += mean_of(family, eta) / size;
            for (size_t j = 0; j < p; j++)
                jacobian[b * p + j] += v * (j < t->d ? t->x[row * t->d + j] : 1.0) / size;
            for (size_t c = 0; c <= b; c++)
                if (holds[c * t->n + row])
                    s[b * n + c] += v / (weight != NULL ? weight[row] : 1.0) / size /
                                    (long double)(a->start[c + 1] - a->start[c]);
        }
        s[b * n + b] += a->noise_variance[b] / f->report.dispersion;
        residual[b] = a->mean[b] - mu;
    }
    for (size_t j = 0; j <= p; j++) { /* V^-1 J, and last V^-1 r */
        memcpy(factor, s, n * n * sizeof *s);
        for (size_t b = 0; b < n; b++)
            column[b] = j < p ? jacobian[b * p + j] : residual[b];
        solve_ld(factor, column, n);
        for (size_t k = 0; k < p; k++) {
            long double sum = 0.0L;
            for (size_t b = 0; b < n; b++)
                sum += jacobian[b * p + k] * column[b];
            *(j < p ? &gram[k * p + j] : &g[k]) = sum;
        }
    }
    free(s);
    free(factor);
    free(jacobian);
    free(column);
    free(holds);
}

/* Margins without a redundant one, or noisy ones, and labels. */
static pboost_answers some_answers(const test_table *t, bool noisy, size_t seed)
{
    pboost_answers all = make_margins(t, 3, 5, false, noisy ? 2.0 : 0.0, seed), a = {0};
    pboost_error err = {0};
    for (size_t b = 0; b < all.n_bags; b++) {
        size_t start[] = {0, all.start[b + 1] - all.start[b]};
        pboost_bags bag = {start[1], 1, all.row + all.start[b], start};
        if (noisy || b % 5 != 4 || b == 4)
            assert_int_equal(
                pboost_answers_append(&a, &bag, &all.mean[b], &all.noise_variance[b], &err),
                PBOOST_OK);
    }
    append_labels(&a, t, 60);
    pboost_answers_clear(&all);
    return a;
}

static void the_equation_is_solved_with_the_full_covariance(void **state)
{
    (void)state;
    long double g[PARAMETERS], gram[PARAMETERS * PARAMETERS], column[PARAMETERS];
    for (size_t i = 0; i < 12; i++) {
        pboost_fit_options o = options_for(FAMILIES[i % 3], pboost_l2_fixed(0.5));
        test_table t = make_table(o.family, 600, PARAMETERS - 1, i);
        const double *weight = i & 4 ? t.weight : NULL;
        pboost_answers a = some_answers(&t, i >= 6, i);
        fitted f = fit_or_fail(&t.matrix, weight, NULL, &a, &o);
        assert_true(f.report.converged);
        assert_int_equal(f.report.redundant, 0);
        assert_int_equal(f.report.bags, a.n_bags);
        equation(g, gram, &t, weight, &a, &f, o.family);
        for (size_t j = 0; j < PARAMETERS; j++) {
            double penalty = j < t.d ? o.l2.value * f.coef.theta[j] : 0.0;
            assert_near((double)g[j], penalty, 1e-5 * sqrt((double)gram[j * (PARAMETERS + 1)]));
            gram[j * (PARAMETERS + 1)] += j < t.d ? o.l2.value : 0.0;
        }
        memset(column, 0, sizeof column);
        column[1] = f.report.dispersion;
        solve_ld(gram, column, PARAMETERS);
        for (size_t j = 0; j < PARAMETERS; j++)
            assert_near(f.covariance[PARAMETERS + j], (double)column[j],
                        1e-5 * fabs((double)column[1]));
        fitted_free(&f);
        pboost_answers_clear(&a);
        free_table(&t);
    }
}

/* If every label is known, margins add nothing. */
static void all_labels_and_their_margins_are_the_fit_to_labels(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pboost_fit_options o = options_for(FAMILIES[i], pboost_l2_fixed(1.0));
        test_table t = make_table(o.family, 5000, 4, i);
        pboost_answers a = make_margins(&t, 2, 4, true, 0.0, i);
        size_t margins = a.n_bags;
        append_labels(&a, &t, 1);
        fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_true(f.report.converged);
        assert_int_equal(f.report.redundant, margins);
        assert_int_equal(f.report.bags, t.n);
        pboost_answers labels = {0};
        append_labels(&labels, &t, 1);
        fitted apart = fit_or_fail(&t.matrix, NULL, NULL, &labels, &o);
        assert_same_coef(&f.coef, &apart.coef, 1e-6);
        fitted_free(&f);
        fitted_free(&apart);
        pboost_answers_clear(&a);
        pboost_answers_clear(&labels);
        free_table(&t);
    }
}

/* A weight for each level, and noise that makes sums of small groups negative: steps went to and
 * fro about the solution. */
static void noisy_sums_of_small_groups_take_few_steps(void **state)
{
    (void)state;
    enum { KEYS = 3, LEVELS = 15 };
    for (size_t i = 0; i < 6; i++) {
        pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
        test_table t = make_table(PBOOST_LOGISTIC, 2000, KEYS, i);
        for (size_t r = 0; r < t.n; r++)
            t.y[r] = r % 4 == 0 ? t.y[r] : 0.0;
        double *levels = calloc(t.n * KEYS * LEVELS, sizeof *levels);
        for (size_t r = 0; r < t.n * KEYS; r++)
            levels[r * LEVELS + level_of(&t, r / KEYS, r % KEYS, LEVELS)] = 1.0;
        pboost_answers a = make_margins(&t, KEYS, LEVELS, false, 20.0, i);
        pboost_matrix x = pboost_matrix_f64(levels, t.n, KEYS * LEVELS);
        fitted f = fit_or_fail(&x, NULL, NULL, &a, &o);
        assert_true(f.report.converged);
        assert_true(f.report.iterations <= 60);
        fitted_free(&f);
        pboost_answers_clear(&a);
        free(levels);
        free_table(&t);
    }
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_POISSON, L2_AUTO);
    test_table t = make_table(PBOOST_POISSON, 20000, 9, 4);
    pboost_answers a = make_margins(&t, 4, 6, true, 5.0, 1);
    append_labels(&a, &t, 100);
    fitted one = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(one.report.converged);
    for (int threads = 2; threads <= 5; threads++) {
        o.threads = threads;
        fitted many = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
        assert_memory_equal(many.coef.theta, one.coef.theta, 9 * sizeof(double));
        assert_memory_equal(many.covariance, one.covariance, 100 * sizeof(double));
        fitted_free(&many);
    }
    fitted_free(&one);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* ---- Redundant answers ----------------------------------------------------------------------- */

/* Of k one-way margins of l levels k-1 answers follow from the others; of all two-way margins of k
 * keys those remain that have a level of one key or of a pair but the first, and the total. */
static void redundant_margins_are_counted_and_change_nothing(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
    test_table t = make_table(PBOOST_LOGISTIC, 8000, 4, 2);
    pboost_answers a = make_margins(&t, 3, 5, false, 0.0, 1);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_true(f.report.converged);
    assert_int_equal(f.report.redundant, 2);
    assert_int_equal(f.report.bags, 13);

    a.n_bags--; /* without the last answer */
    fitted less = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_int_equal(less.report.redundant, 1);
    assert_same_coef(&f.coef, &less.coef, 1e-7);
    fitted_free(&f);
    fitted_free(&less);
    pboost_answers_clear(&a);

    a = make_margins(&t, 3, 5, true, 0.0, 1);
    f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_int_equal(a.n_bags, 3 * 5 + 3 * 25);
    assert_int_equal(f.report.bags, 1 + 3 * 4 + 3 * 16);
    fitted_free(&f);
    pboost_answers_clear(&a);

    a = make_margins(&t, 3, 5, false, 1.0, 1); /* with noise none follows from others */
    f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_int_equal(f.report.redundant, 0);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

static void answers_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
    test_table t = make_table(PBOOST_LOGISTIC, 2000, 4, 2);
    pboost_answers a = make_margins(&t, 2, 4, false, 0.0, 1);
    double size = (double)(a.start[8] - a.start[7]);
    a.mean[7] += 1.0 / size;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_BAD_DATA, "bag 7 has sum");
    a.noise_variance[7] = 1.0 / (size * size); /* it is rounded, says its owner */
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    fitted_free(&f);
    a.mean[7] -= 1.0 / size;
    a.noise_variance[7] = 0.0;
    append_labels(&a, &t, 1);
    a.mean[3] += 0.5;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_BAD_DATA, "bag 3 has sum");
    pboost_answers_clear(&a);
    free_table(&t);
}

/* Bags in which nothing happened: their combination is 0 up to rounding. */
static void sums_of_zero_do_not_contradict_each_other(void **state)
{
    (void)state;
    pboost_fit_options o = options_for(PBOOST_LOGISTIC, L2_AUTO);
    test_table t = make_table(PBOOST_LOGISTIC, 3000, 4, 2);
    for (size_t i = 0; i < t.n; i++) /* no event in the first level of two keys */
        t.y[i] = level_of(&t, i, 0, 6) == 0 || level_of(&t, i, 1, 6) == 0 ? 0.0 : t.y[i];
    pboost_answers a = make_margins(&t, 3, 6, true, 0.0, 1);
    fitted f = fit_or_fail(&t.matrix, NULL, NULL, &a, &o);
    assert_int_equal(f.report.bags, 1 + 3 * 5 + 3 * 25);
    fitted_free(&f);
    pboost_answers_clear(&a);
    free_table(&t);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void input_that_has_no_meaning_is_refused(void **state)
{
    (void)state;
    pboost_fit_options good = options_for(PBOOST_LOGISTIC, L2_AUTO), o = good;
    test_table t = make_table(PBOOST_LOGISTIC, 500, 4, 2);
    pboost_answers a = make_margins(&t, 2, 4, false, 0.0, 1);
    o.l2 = L2_CV;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "cross-validation");
    o = good;
    o.covariance = PBOOST_COVARIANCE_SANDWICH;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "sandwich");
    o = good;
    o.bag_effects = true;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "bag_effects");
    o = good;
    o.curves = 1;
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_INVALID, "curves");
    t.weight[a.row[3]] = 0.0;
    assert_refused(&t.matrix, t.weight, NULL, &a, &good, PBOOST_BAD_DATA, "weight 0");
    a.row[3] = a.row[2];
    assert_refused(&t.matrix, NULL, NULL, &a, &good, PBOOST_BAD_DATA, "twice");
    a.row[3] = 500;
    assert_refused(&t.matrix, NULL, NULL, &a, &good, PBOOST_INVALID, "500");
    pboost_answers_clear(&a);
    free_table(&t);
}

/* 4,097 pairs in a chain, each of which shares a row with the next. */
static void too_many_answers_are_refused(void **state)
{
    (void)state;
    enum { PAIRS = MOST_SHARED + 1 };
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    test_table t = make_table(PBOOST_LINEAR, PAIRS + 1, 2, 2);
    size_t *row = calloc(2 * PAIRS, sizeof *row), *start = calloc(PAIRS + 1, sizeof *start);
    double *mean = calloc(PAIRS, sizeof *mean);
    pboost_answers a = {0};
    for (size_t b = 0; b < PAIRS; b++) {
        row[2 * b] = b;
        row[2 * b + 1] = b + 1;
        start[b + 1] = 2 * b + 2;
        mean[b] = 0.5 * (t.y[b] + t.y[b + 1]);
    }
    pboost_bags bags = {2 * PAIRS, PAIRS, row, start};
    assert_int_equal(pboost_answers_append(&a, &bags, mean, NULL, NULL), PBOOST_OK);
    assert_refused(&t.matrix, NULL, NULL, &a, &o, PBOOST_BAD_DATA, "4097 answers");
    pboost_answers_clear(&a);
    free(row);
    free(start);
    free(mean);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bags_that_share_nothing_are_the_aggregate_fit),
        cmocka_unit_test(the_equation_is_solved_with_the_full_covariance),
        cmocka_unit_test(all_labels_and_their_margins_are_the_fit_to_labels),
        cmocka_unit_test(noisy_sums_of_small_groups_take_few_steps),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(redundant_margins_are_counted_and_change_nothing),
        cmocka_unit_test(answers_that_contradict_each_other_are_refused),
        cmocka_unit_test(sums_of_zero_do_not_contradict_each_other),
        cmocka_unit_test(input_that_has_no_meaning_is_refused),
        cmocka_unit_test(too_many_answers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A fit of classes over parts is that of one machine, and ends where a machine fails. */
#include "class_support.h"

#include <priorboost/cluster.h>

#include "data/answers.h"

enum { ROWS = 1500, COLS = 3, CLASSES = 4, BAG = 6, PARTS = 3, MOST_WEIGHTS = 12 };

/* Rows in the order of their bags, and the borders of the parts, in bags. */
typedef struct {
    const pboost_answers *answers;
    pboost_fit_options options;
    double x[ROWS * COLS], by_row[ROWS * CLASSES], base[COLS];
    size_t border[PARTS + 1];
    size_t calls, fail_at;
} table;

static table *table_make(const class_table *t, const pboost_answers *a, pboost_fit_options o)
{
    table *out = calloc(1, sizeof *out);
    out->answers = a;
    out->options = o;
    for (size_t b = 0; b < a->n_bags; b++)
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++) {
            memcpy(out->x + i * COLS, t->x + a->row[i] * COLS, COLS * sizeof(double));
            memcpy(out->by_row + i * CLASSES, a->mean + b * CLASSES, CLASSES * sizeof(double));
        }
    memcpy(out->base, out->x, sizeof out->base);
    out->border[1] = 1;
    out->border[2] = a->n_bags / 3;
    out->border[3] = a->n_bags;
    return out;
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
    size_t first, start[ROWS];
    pboost_part_bags bags;
} part;

static void load(part *out, const table *t, size_t p)
{
    const size_t *start = t->answers->start + t->border[p];
    size_t n = t->border[p + 1] - t->border[p];
    out->first = t->border[p];
    for (size_t b = 0; b <= n; b++)
        out->start[b] = start[b] - start[0];
    out->x = pboost_matrix_f64(t->x + start[0] * COLS, out->start[n], COLS);
    out->bags = (pboost_part_bags){&out->x, n, out->start};
}

static void add(double *sums, const double *one, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sums[i] += one[i];
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
        add(sums, one, 2 * COLS);
    }
    return called(t, err);
}

static pboost_status moments(void *self, const pboost_class_point *at, double *mean,
                             double *variance, double *eta, pboost_error *err)
{
    table *t = self;
    double one[2 * CLASSES];
    part here;
    memset(eta, 0, sizeof one);
    for (size_t p = 0; p < PARTS; p++) {
        load(&here, t, p);
        size_t first = here.first * CLASSES;
        assert_ok(
            pboost_part_class_moments(mean + first, variance + first, one, &here.bags, at, 1, err),
            *err);
        add(eta, one, 2 * CLASSES);
    }
    return called(t, err);
}

static pboost_class_bags known_from(const pboost_class_bags *known, size_t first)
{
    return (pboost_class_bags){known->answer + first * CLASSES,
                               known->noise != NULL ? known->noise + first * CLASSES : NULL,
                               known->size + first, known->blur + first};
}

static size_t parameters(const pboost_class_point *at)
{
    return (at->classes - 1) * (at->cols + at->intercept);
}

static pboost_status gram(void *self, const pboost_class_point *at, const pboost_class_bags *known,
                          double *sums, pboost_error *err)
{
    table *t = self;
    double one[PBOOST_GRAM_SIZE(MOST_WEIGHTS)];
    size_t size = PBOOST_GRAM_SIZE(parameters(at));
    part here;
    memset(sums, 0, size * sizeof *sums);
    for (size_t p = 0; p < PARTS; p++) {
        load(&here, t, p);
        pboost_class_bags own = known_from(known, here.first);
        assert_ok(pboost_part_class_gram(one, &here.bags, at, &own, 1, err), *err);
        add(sums, one, size);
    }
    return called(t, err);
}

static pboost_status meat(void *self, const pboost_class_point *at, const pboost_class_bags *known,
                          double *sums, double *misfit, pboost_error *err)
{
    table *t = self;
    double one[MOST_WEIGHTS * MOST_WEIGHTS];
    size_t size = parameters(at) * parameters(at);
    part here;
    memset(sums, 0, size * sizeof *sums);
    for (size_t p = 0; p < PARTS; p++) {
        load(&here, t, p);
        pboost_class_bags own = known_from(known, here.first);
        assert_ok(pboost_part_class_meat(one, misfit + here.first, &here.bags, at, &own, 1, err),
                  *err);
        add(sums, one, size);
    }
    return called(t, err);
}

static pboost_status scores(void *self, const pboost_class_point *at,
                            const pboost_class_bags *known, double *sums, pboost_error *err)
{
    table *t = self;
    double one[MOST_WEIGHTS * MOST_WEIGHTS];
    size_t size = parameters(at) * parameters(at);
    part here;
    memset(sums, 0, size * sizeof *sums);
    for (size_t p = 0; p < PARTS; p++) {
        load(&here, t, p);
        pboost_class_bags own = known_from(known, here.first);
        assert_ok(pboost_part_class_scores(one, &here.bags, at, &own, 1, err), *err);
        add(sums, one, size);
    }
    return called(t, err);
}

static pboost_status rows(void *self, const pboost_class_point *at, double *sums, pboost_error *err)
{
    table *t = self;
    double one[PBOOST_CLASS_ROWS_SIZE(CLASSES, MOST_WEIGHTS)];
    size_t size = PBOOST_CLASS_ROWS_SIZE(CLASSES, parameters(at));
    part here;
    memset(sums, 0, size * sizeof *sums);
    for (size_t p = 0; p < PARTS; p++) {
        load(&here, t, p);
        const double *answer = t->by_row + t->answers->start[here.first] * CLASSES;
        assert_ok(pboost_part_class_rows(one, &here.x, answer, at, 1, err), *err);
        add(sums, one, size);
    }
    return called(t, err);
}

static pboost_status fit_parts(class_fitted *out, table *t, pboost_error *err)
{
    const pboost_answers *a = t->answers;
    pboost_class_parts parts = {t, t->base, columns, moments, gram, meat, scores, rows};
    return pboost_class_parts_fit(&out->coef, &out->report, out->covariance, &parts, a->n_bags,
                                  a->start, a->mean, a->noise_variance, &t->options, err);
}

static class_fitted empty(void)
{
    class_fitted f = {.n = pboost_class_weights(CLASSES, COLS)};
    pboost_error err = {0};
    f.covariance = calloc(f.n * f.n, sizeof *f.covariance);
    assert_ok(pboost_class_coef_init(&f.coef, CLASSES, COLS, &err), err);
    return f;
}

/* From nothing, and from weights that are not far, as the later rounds of a training do. */
static void compare(const class_table *t, const pboost_answers *a, pboost_fit_options o)
{
    table *split = table_make(t, a, o);
    class_fitted one = empty(), two = empty();
    pboost_error err = {0};
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; again == 1 && i < CLASSES * (COLS + 1); i++)
            one.coef.theta[i] = two.coef.theta[i] = 0.8 * one.coef.theta[i];
        assert_ok(pboost_classes_fit(&one.coef, &one.report, one.covariance, PLAIN(t->matrix), a, 0,
                                     &o, &err),
                  err);
        assert_ok(fit_parts(&two, split, &err), err);
        assert_int_equal(one.report.iterations, two.report.iterations);
        assert_true(two.report.converged);
        assert_int_equal(one.report.rank, two.report.rank);
        assert_int_equal(one.report.bags, two.report.bags);
        assert_int_equal(one.report.noisy, two.report.noisy);
        assert_close(one.report.eta_sd, two.report.eta_sd, 1e-7);
        assert_close(one.report.l2, two.report.l2, 1e-12);
        for (size_t i = 0; i < CLASSES * (COLS + 1); i++)
            assert_close(one.coef.theta[i], two.coef.theta[i], 1e-8);
        for (size_t i = 0; i < one.n * one.n; i++)
            if (o.estimator == PBOOST_AGGREGATE)
                assert_close(one.covariance[i], two.covariance[i], 1e-8);
            else
                assert_true(isnan(two.covariance[i]));
        if (o.estimator == PBOOST_AGGREGATE) {
            assert_close(one.report.pearson, two.report.pearson, 1e-7);
            assert_close(one.report.freedom, two.report.freedom, 1e-7);
        }
    }
    class_fitted_free(&one);
    class_fitted_free(&two);
    free(split);
}

static void parts_are_fitted_as_the_whole(void **unused)
{
    (void)unused;
    class_table t = class_table_make(ROWS, COLS, CLASSES, 3);
    for (size_t i = 0; i < ROWS; i++)
        t.x[i * COLS + 1] += 50.0;
    for (int kind = 0; kind < 8; kind++) {
        pboost_fit_options o = class_options(kind & 1 ? PBOOST_EVENT : PBOOST_AGGREGATE);
        pboost_answers *a = class_answers(&t, BAG, kind & 2 ? 0.002 : 0.0, NULL, 3);
        o.intercept = (kind & 4) == 0;
        if (kind & 4) {
            o.l2 = pboost_l2_fixed(0.5);
            o.covariance = PBOOST_COVARIANCE_SANDWICH;
        }
        compare(&t, a, o);
        pboost_answers_free(a);
    }
    class_table_free(&t);
}

/* Any call may fail: it is the last, and its message is returned. */
static void a_machine_that_fails_ends_the_fit(void **unused)
{
    (void)unused;
    class_table t = class_table_make(ROWS, COLS, CLASSES, 3);
    pboost_answers *a = class_answers(&t, BAG, 0.0, NULL, 3);
    for (int kind = 0; kind < 2; kind++) {
        table *split = table_make(&t, a, class_options(kind ? PBOOST_EVENT : PBOOST_AGGREGATE));
        size_t at = 1;
        for (;; at++) {
            class_fitted f = empty();
            pboost_error err = {0};
            split->calls = 0;
            split->fail_at = at;
            pboost_status st = fit_parts(&f, split, &err);
            bool ended = split->calls < at;
            if (ended) {
                assert_ok(st, err);
            } else {
                assert_int_equal(st, PBOOST_ORACLE);
                assert_int_equal(split->calls, at);
                assert_string_equal(err.message, "a machine is gone");
                assert_true(f.coef.theta[COLS + 1] == 0.0);
                assert_false(f.report.converged);
            }
            class_fitted_free(&f);
            if (ended)
                break;
        }
        assert_true(at > 5);
        free(split);
    }
    pboost_answers_free(a);
    class_table_free(&t);
}

static bool enough(void *user)
{
    return ((table *)user)->calls > 3;
}

static void a_caller_may_stop_it(void **unused)
{
    (void)unused;
    class_table t = class_table_make(ROWS, COLS, CLASSES, 3);
    pboost_answers *a = class_answers(&t, BAG, 0.0, NULL, 3);
    for (int kind = 0; kind < 2; kind++) {
        table *split = table_make(&t, a, class_options(kind ? PBOOST_EVENT : PBOOST_AGGREGATE));
        pboost_cancel cancel = {.stop = enough, .user = split};
        class_fitted f = empty();
        split->options.cancel = &cancel;
        assert_int_equal(fit_parts(&f, split, NULL), PBOOST_CANCELLED);
        assert_true(split->calls < 9);
        class_fitted_free(&f);
        free(split);
    }
    pboost_answers_free(a);
    class_table_free(&t);
}

static void wrong_input_is_refused(void **unused)
{
    (void)unused;
    class_table t = class_table_make(ROWS, COLS, CLASSES, 3);
    pboost_answers *a = class_answers(&t, BAG, 0.0, NULL, 3);
    table *split = table_make(&t, a, class_options(PBOOST_AGGREGATE));
    class_fitted f = empty();
    pboost_error err = {0};
    double zero[MOST_WEIGHTS] = {0}, one[COLS] = {1, 1, 1}, mean[CLASSES], eta[2 * CLASSES];
    part here;

    split->options.l2.mode = PBOOST_L2_CV;
    assert_int_equal(fit_parts(&f, split, &err), PBOOST_INVALID);
    assert_non_null(strstr(err.message, "cross-validation is for rows on one machine"));
    split->options = class_options(PBOOST_INTERPOLATED);
    assert_int_equal(fit_parts(&f, split, &err), PBOOST_INVALID);
    assert_int_equal(split->calls, 0);

    load(&here, split, 0);
    pboost_class_point at = {CLASSES, COLS, true, NULL, zero, one, zero};
    assert_ok(pboost_part_class_moments(mean, zero, eta, &here.bags, &at, 1, &err), err);
    assert_close(mean[0], 0.25, 1e-15);
    at.cols = 2;
    assert_int_equal(pboost_part_class_moments(mean, zero, eta, &here.bags, &at, 1, &err),
                     PBOOST_INVALID);
    assert_non_null(strstr(err.message, "2 columns, but the part has 3"));
    at = (pboost_class_point){101, COLS, true, NULL, zero, one, zero};
    assert_int_equal(pboost_part_class_moments(mean, zero, eta, &here.bags, &at, 1, &err),
                     PBOOST_INVALID);
    class_fitted_free(&f);
    free(split);
    pboost_answers_free(a);
    class_table_free(&t);
}

static void directions_are_eigenvectors(void **unused)
{
    (void)unused;
    double cross[9] = {2, 0, 0, 0, 5, 0, 0, 0, 3}, direction[3];
    pboost_error err = {0};
    assert_ok(pboost_leading_direction(direction, cross, 3, &err), err);
    assert_close(fabs(direction[1]), 1.0, 1e-14);
    assert_close(direction[0], 0.0, 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_fitted_as_the_whole),
        cmocka_unit_test(a_machine_that_fails_ends_the_fit),
        cmocka_unit_test(a_caller_may_stop_it),
        cmocka_unit_test(wrong_input_is_refused),
        cmocka_unit_test(directions_are_eigenvectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Largest eigenvalues, against matrices whose spectrum is known in closed form and against each
 * other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "theory/eigen.h"

static void assert_close(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* The second difference matrix: eigenvalues 2 - 2 cos(pi j / (n + 1)). */
static void second_difference(double *y, const double *u, size_t n, const void *context)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        y[i] = 2.0 * u[i] - (i > 0 ? u[i - 1] : 0.0) - (i + 1 < n ? u[i + 1] : 0.0);
}

static double second_difference_top(size_t n)
{
    return 2.0 - 2.0 * cos(acos(-1.0) * (double)n / (double)(n + 1));
}

/* A full matrix with the spectrum of `values`: two reflections of a diagonal one. */
static void dense_with_spectrum(double *a, const double *values, size_t n)
{
    double *v = malloc(n * sizeof *v);
    assert_non_null(v);
    memset(a, 0, n * n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        a[i * n + i] = values[i];
    for (int side = 1; side <= 2; side++) {
        double norm2 = 0.0;
        for (size_t i = 0; i < n; i++) {
            v[i] = sin(1.0 + 3.7 * (double)(i * (size_t)side));
            norm2 += v[i] * v[i];
        }
        for (int transposed = 0; transposed < 2; transposed++)
            for (size_t j = 0; j < n; j++) {
                size_t step = transposed ? 1 : n, first = transposed ? j * n : j;
                double dot = 0.0;
                for (size_t i = 0; i < n; i++)
                    dot += v[i] * a[first + i * step];
                for (size_t i = 0; i < n; i++)
                    a[first + i * step] -= 2.0 * dot / norm2 * v[i];
            }
    }
    free(v);
}

static void dense_finds_the_top_of_a_known_spectrum(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 40; n += 3) {
        double values[40], a[40 * 40], work[80];
        for (size_t i = 0; i < n; i++)
            values[i] = 3.0 / (double)(1 + (i + 2) % n);
        dense_with_spectrum(a, values, n);
        assert_close(pboost_eigen_largest(a, n, work), 3.0, 1e-13);
    }
}

static void dense_is_right_for_repeated_zero_and_graded_values(void **state)
{
    (void)state;
    double work[12], a[36];
    double same[6] = {2, 2, 2, 2, 2, 2}, zero[6] = {0}, graded[6] = {1e-12, 1, 1e6, 1e-3, 1e9, 7};
    dense_with_spectrum(a, same, 6);
    assert_close(pboost_eigen_largest(a, 6, work), 2.0, 1e-14);
    dense_with_spectrum(a, zero, 6);
    assert_close(pboost_eigen_largest(a, 6, work), 0.0, 1e-200);
    dense_with_spectrum(a, graded, 6);
    assert_close(pboost_eigen_largest(a, 6, work), 1e9, 1e-5);
    double pair[4] = {1.0, -0.5, -0.5, 1.0};
    assert_close(pboost_eigen_largest(pair, 2, work), 1.5, 1e-15);
}

static double lanczos(size_t n)
{
    double *work = malloc((3 * n + 3 * EIGEN_STEPS) * sizeof *work);
    assert_non_null(work);
    double top = pboost_eigen_largest_implicit(second_difference, NULL, n, work);
    free(work);
    return top;
}

static void implicit_converges_where_it_has_the_steps(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 200; n += 7)
        assert_close(lanczos(n), second_difference_top(n), 1e-11);
}

/* The second difference is the hard case: its top eigenvalues crowd together like 1/n^2. */
static void implicit_keeps_its_promise_on_a_dense_spectrum(void **state)
{
    (void)state;
    for (size_t n = 10000; n <= 100000; n *= 10) {
        double want = second_difference_top(n), got = lanczos(n);
        double promise = pow(log(4.0 * (double)n) / (2.0 * EIGEN_STEPS), 2.0);
        assert_true(got <= want * (1.0 + 1e-13));
        assert_close(got, want, want * promise);
    }
}

/* A diagonal matrix: one entry of 1, one of 1.001, the others up to 0.1; counts its calls. */
typedef struct {
    size_t one, top, *calls;
} diagonal;

static void apply_diagonal(double *y, const double *u, size_t n, const void *context)
{
    const diagonal *m = context;
    for (size_t i = 0; i < n; i++)
        y[i] = u[i] * (i == m->one ? 1.0 : i == m->top ? 1.001 : 0.1 * (double)i / (double)n);
    ++*m->calls;
}

/* The start vector is nearly blind to the top here, so Lanczos first settles on the second value;
 * it must not be content with that. */
static void implicit_is_not_content_too_soon(void **state)
{
    (void)state;
    enum { N = 20000 };
    static double work[3 * N + 3 * EIGEN_STEPS];
    size_t calls = 0;
    diagonal m = {0, 0, &calls};
    double least = 1.0, whole;
    for (size_t i = 0; i < N; i++) {
        double entry = fabs(modf(0.6180339887498949 * (double)(i + 1), &whole) - 0.45);
        m.top = entry < least ? i : m.top;
        least = fmin(least, entry);
    }
    assert_close(pboost_eigen_largest_implicit(apply_diagonal, &m, N, work), 1.001, 1e-12);
}

static void apply_twice(double *y, const double *u, size_t n, const void *context)
{
    const diagonal *m = context;
    for (size_t i = 0; i < n; i++)
        y[i] = 2.0 * u[i];
    ++*m->calls;
}

/* A multiple of the identity: the first step has seen everything, and there is no second vector. */
static void implicit_stops_at_an_invariant_subspace(void **state)
{
    (void)state;
    static double work[3 * 64 + 3 * EIGEN_STEPS];
    size_t calls = 0;
    diagonal m = {0, 0, &calls};
    assert_close(pboost_eigen_largest_implicit(apply_twice, &m, 64, work), 2.0, 1e-14);
    assert_true(calls < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_finds_the_top_of_a_known_spectrum),
        cmocka_unit_test(dense_is_right_for_repeated_zero_and_graded_values),
        cmocka_unit_test(implicit_converges_where_it_has_the_steps),
        cmocka_unit_test(implicit_keeps_its_promise_on_a_dense_spectrum),
        cmocka_unit_test(implicit_is_not_content_too_soon),
        cmocka_unit_test(implicit_stops_at_an_invariant_subspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

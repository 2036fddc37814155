/* Largest eigenvalues: a tridiagonal matrix by Householder (dense) or Lanczos (implicit), and its
 * top by bisection on Sturm counts.
 *
 * Householder's reduction is backward stable, and bisection finds an eigenvalue of the tridiagonal
 * matrix to the last bits.  Plain Lanczos loses orthogonality, which here does no harm: that only
 * brings copies of Ritz values that have already converged, and the largest is still right. */
#include <math.h>
#include <string.h>

#include "theory/eigen.h"

/* The number of eigenvalues below t of the matrix with diagonal a[0..n) and off-diagonal b[1..n):
 * the negative pivots of T - t I (Sylvester's law of inertia). */
static size_t count_below(const double *a, const double *b, size_t n, double t, double tiny)
{
    size_t count = 0;
    double pivot = 1.0;
    for (size_t i = 0; i < n; i++) {
        pivot = a[i] - t - (i > 0 ? b[i] * b[i] / pivot : 0.0);
        if (fabs(pivot) < tiny)
            pivot = -tiny;
        count += pivot < 0.0;
    }
    return count;
}

static double tridiagonal_largest(const double *a, const double *b, size_t n)
{
    double low = a[0], high = a[0], size = 0.0;
    for (size_t i = 0; i < n; i++) {
        double radius = (i > 0 ? fabs(b[i]) : 0.0) + (i + 1 < n ? fabs(b[i + 1]) : 0.0);
        low = fmax(low, a[i]); /* a diagonal entry is a Rayleigh quotient */
        high = fmax(high, a[i] + radius);
        size = fmax(size, fabs(a[i]) + radius);
    }
    double tiny = size * 0x1p-100 + 0x1p-1000;
    for (int step = 0; step < 64 && high - low > 0x1p-53 * size; step++) {
        double middle = low + 0.5 * (high - low);
        if (count_below(a, b, n, middle, tiny) == n)
            high = middle;
        else
            low = middle;
    }
    return low + 0.5 * (high - low);
}

/* One step of Householder's reduction: reflects rows and columns first .. n-1 so that of column
 * first-1 only the entry at `first` is left below the diagonal, and returns that entry. */
static double reflect(double *a, size_t n, size_t first, double *p)
{
    double *v = a + (first - 1) * n; /* row first-1, which by symmetry is the column */
    double largest = 0.0, norm2 = 0.0;
    for (size_t i = first; i < n; i++)
        largest = fmax(largest, fabs(v[i]));
    if (largest == 0.0)
        return 0.0;
    for (size_t i = first; i < n; i++) {
        v[i] /= largest;
        norm2 += v[i] * v[i];
    }
    double alpha = -copysign(sqrt(norm2), v[first]);
    double half = norm2 - alpha * v[first]; /* |v|^2 / 2 once alpha is taken off */
    v[first] -= alpha;

    /* A <- H A H = A - v w' - w v' with p = A v / half, w = p - (p'v / 2 half) v */
    double pv = 0.0;
    for (size_t i = first; i < n; i++) {
        double sum = 0.0;
        for (size_t j = first; j < n; j++)
            sum += a[i * n + j] * v[j];
        p[i] = sum / half;
        pv += p[i] * v[i];
    }
    for (size_t i = first; i < n; i++)
        p[i] -= pv / (2.0 * half) * v[i];
    for (size_t i = first; i < n; i++)
        for (size_t j = first; j < n; j++)
            a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
    return alpha * largest;
}

double pboost_eigen_largest(double *a, size_t n, double *work)
{
    double *diagonal = work, *off = work + n;
    /* off is also the scratch p: step `first` writes first .. n-1 and leaves its entry at first */
    for (size_t first = 1; first < n; first++)
        off[first] = reflect(a, n, first, off);
    for (size_t i = 0; i < n; i++)
        diagonal[i] = a[i * n + i];
    return tridiagonal_largest(diagonal, off, n);
}

static double norm(const double *v, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

/* A start vector without structure, from multiples of the golden ratio, so that it is not
 * orthogonal to the eigenvector. */
static void start_vector(double *v, size_t n)
{
    double whole;
    for (size_t i = 0; i < n; i++)
        v[i] = modf(0.6180339887498949 * (double)(i + 1), &whole) - 0.45;
    double scale = 1.0 / norm(v, n);
    for (size_t i = 0; i < n; i++)
        v[i] *= scale;
}

double pboost_eigen_largest_implicit(pboost_operator apply, const void *context, size_t n,
                                     double *work)
{
    double *last = work, *v = work + n, *w = work + 2 * n;
    double *a = work + 3 * n, *b = a + EIGEN_STEPS, *ritz = b + EIGEN_STEPS;
    const size_t patience = 24;

    memset(last, 0, n * sizeof *last);
    start_vector(v, n);
    b[0] = 0.0;
    for (size_t step = 0;; step++) {
        apply(w, v, n, context);
        double dot = 0.0;
        for (size_t i = 0; i < n; i++)
            dot += w[i] * v[i];
        a[step] = dot;
        ritz[step] = tridiagonal_largest(a, b, step + 1);
        bool still =
            step >= patience && ritz[step] - ritz[step - patience] <= 1e-13 * fabs(ritz[step]);
        if (still || step + 1 == EIGEN_STEPS)
            return ritz[step];

        for (size_t i = 0; i < n; i++)
            w[i] -= dot * v[i] + b[step] * last[i];
        double rest = norm(w, n);
        if (rest <= 1e-15 * fabs(ritz[step])) /* an invariant subspace: nothing more to find */
            return ritz[step];
        b[step + 1] = rest;
        for (size_t i = 0; i < n; i++)
            w[i] /= rest;
        double *free_vector = last;
        last = v;
        v = w;
        w = free_vector;
    }
}

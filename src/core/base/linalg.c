/* Scaled Cholesky with a rank report.
 *
 * Scaling by the diagonal first makes the pivots 1 - R^2 of each column on those before it, so that
 * one tolerance serves columns of any magnitude, and no element can overflow. */
#include "base/linalg.h"

#include <math.h>
#include <string.h>

#include "kernels/glm.h"

#define SHORT 12

double pboost_rank_tolerance(size_t n)
{
    return 1e-13 + 4e-15 * (double)n;
}

/* Sums that are too short for the kernel to be faster. */
static double dot(const glm_kernels *kernels, const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    if (n > SHORT)
        return kernels->dot(a, b, n);
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Element (i, j) below the diagonal, from those of row i and row j before it. */
static void find_element(pboost_cholesky *c, const glm_kernels *kernels, size_t i, size_t j)
{
    double *row = c->l + i * c->n;
    const double *other = c->l + j * c->n;
    if (c->dropped[i] || c->dropped[j])
        row[j] = 0.0;
    else
        row[j] = (row[j] * c->scale[i] * c->scale[j] - dot(kernels, row, other, j)) / other[j];
}

static void find_pivot(pboost_cholesky *c, const glm_kernels *kernels, size_t i, double tolerance,
                       bool may_drop)
{
    double *row = c->l + i * c->n, pivot = 1.0 - dot(kernels, row, row, i);
    if (!(pivot > tolerance) && may_drop)
        c->dropped[i] = 1;
    if (c->dropped[i])
        memset(row, 0, i * sizeof *row);
    row[i] = c->dropped[i] ? 1.0 : sqrt(pivot > tolerance ? pivot : tolerance);
}

/* An element waits for the one before it in its row; several rows wait at the same time. */
size_t pboost_cholesky_factor(pboost_cholesky *c, double tolerance, bool may_drop)
{
    enum { TOGETHER = 8 };
    const glm_kernels *kernels = pboost_glm_kernels();
    size_t n = c->n, rank = 0;
    for (size_t i = 0; i < n; i++) {
        double diagonal = c->l[i * n + i];
        bool usable = diagonal > 0.0 && isfinite(diagonal);
        if (!usable)
            c->dropped[i] = 1;
        c->scale[i] = usable ? 1.0 / sqrt(diagonal) : 0.0;
    }
    for (size_t first = 0; first < n; first += TOGETHER) {
        size_t end = n - first < TOGETHER ? n : first + TOGETHER;
        for (size_t j = 0; j < first; j++)
            for (size_t i = first; i < end; i++)
                find_element(c, kernels, i, j);
        for (size_t i = first; i < end; i++) {
            for (size_t j = first; j < i; j++)
                find_element(c, kernels, i, j);
            find_pivot(c, kernels, i, tolerance, may_drop);
            rank += !c->dropped[i];
        }
    }
    return rank;
}

void pboost_cholesky_solve(double *x, const pboost_cholesky *c, const double *b)
{
    const glm_kernels *kernels = pboost_glm_kernels();
    size_t n = c->n;
    for (size_t i = 0; i < n; i++) {
        const double *row = c->l + i * n;
        double rhs = c->dropped[i] ? 0.0 : b[i] * c->scale[i];
        x[i] = (rhs - dot(kernels, row, x, i)) / row[i];
    }
    for (size_t i = n; i-- > 0;) {
        const double *row = c->l + i * n;
        x[i] /= row[i];
        for (size_t j = 0; j < i; j++)
            x[j] -= row[j] * x[i];
        x[i] = c->dropped[i] ? 0.0 : x[i] * c->scale[i];
    }
}

void pboost_cholesky_invert(double *inverse, const pboost_cholesky *c)
{
    size_t n = c->n;
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++) {
        inverse[i * n + i] = 1.0;
        pboost_cholesky_solve(inverse + i * n, c, inverse + i * n);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            inverse[i * n + j] = inverse[j * n + i] =
                0.5 * (inverse[i * n + j] + inverse[j * n + i]);
}

bool pboost_is_zero(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0.0)
            return false;
    return true;
}

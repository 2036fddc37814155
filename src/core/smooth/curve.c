/* The curve of a column: natural cubic splines whose weights take a plain ridge.
 *
 * A natural cubic spline f with K knots has a second derivative that is linear between the knots
 * and 0 at the outer ones, so its m = K - 2 values g at the inner knots determine f up to a
 * straight line, and the integral of f''^2 is g' R g with R tridiagonal.  The straight line is
 * fixed by the rows: f has mean 0 and no correlation with the number.  With M the covariance over
 * the rows of the m splines whose g is a unit vector,
 *
 *     R = L L',    L^-1 M L^-T = U E U',    g of function j = column j of L^-T U
 *
 * gives functions with curvature 1 that are uncorrelated, of variances E (Demmler and Reinsch).
 * Everything is divided by the root of the sum of E: one ridge then gives the curve of every column
 * the same prior variance, whatever its units. */
#include <priorboost/smooth.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bags/sort.h"
#include "base/jacobi.h"
#include "data/curve.h"
#include "try.h"

#define LEAST_VALUES 8   /* different numbers */
#define LEAST_COLUMNS 4  /* that can be asked for */
#define TAIL 0.02        /* of the weight lies beyond each outer knot */
#define NEGLIGIBLE 1e-10 /* variance of a function, of the variance of all */

enum { MOST = PBOOST_CURVE_COLUMNS };

void pboost_curve_free(pboost_curve *curve)
{
    if (curve == NULL)
        return;
    free(curve->knot);
    free(curve->value);
    free(curve->bend);
    *curve = (pboost_curve){0};
}

/* ---- Knots ----------------------------------------------------------------------------------- */

/* The different numbers of a column, ascending, and how many rows have each. */
typedef struct {
    size_t n;
    double *number, *rows;
} distinct_numbers;

static void distinct_free(distinct_numbers *d)
{
    free(d->number);
    free(d->rows);
    *d = (distinct_numbers){0};
}

static pboost_status find_distinct(distinct_numbers *out, const double *number, ptrdiff_t stride,
                                   size_t n, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_workspace work = {0};
    double *present = NULL, *sorted = NULL;
    size_t *row = NULL, m = 0;

    NEED(present = pboost_alloc(n, sizeof *present), err);
    for (size_t i = 0; i < n; i++)
        if (!isnan(number[(ptrdiff_t)i * stride]))
            present[m++] = number[(ptrdiff_t)i * stride];
    NEED(sorted = pboost_alloc(m, sizeof *sorted), err);
    NEED(row = pboost_alloc(m, sizeof *row), err);
    TRY(pboost_sort_doubles(row, sorted, present, m, threads, &work, err));
    NEED(out->number = pboost_alloc(m, sizeof *out->number), err);
    NEED(out->rows = pboost_alloc(m, sizeof *out->rows), err);
    for (size_t i = 0; i < m; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            out->number[out->n] = sorted[i];
            out->rows[out->n++] = 0.0;
        }
        out->rows[out->n - 1] += 1.0;
    }
done:
    pboost_workspace_free(&work);
    free(present);
    free(sorted);
    free(row);
    return st;
}

/* The number below which this share of the weight is, where a number counts by the square root of
 * its rows: one that most rows have, such as an amount of 0, is not all that counts. */
static double quantile(const distinct_numbers *d, double share)
{
    double total = 0.0, below = 0.0;
    size_t i = 0;
    for (size_t k = 0; k < d->n; k++)
        total += sqrt(d->rows[k]);
    while (i + 1 < d->n && below + sqrt(d->rows[i]) < share * total)
        below += sqrt(d->rows[i++]);
    return d->number[i];
}

/* Half-way between quantiles, which are sparse in the tails, and knots at equal distances. */
static void choose_knots(pboost_curve *c, size_t knots, const distinct_numbers *d)
{
    double low = quantile(d, TAIL), high = quantile(d, 1.0 - TAIL);
    c->n_knots = knots;
    for (size_t k = 0; k < knots; k++) {
        double share = (double)k / (double)(knots - 1);
        double even = low + share * (high - low);
        c->knot[k] = 0.5 * (even + quantile(d, TAIL + (1.0 - 2.0 * TAIL) * share));
    }
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Function j has second derivative 1 at inner knot j + 1 and 0 at the others; its straight line is
 * arbitrary. */
static void set_hats(pboost_curve *c)
{
    size_t K = c->n_knots;
    double range = c->knot[K - 1] - c->knot[0];
    c->n = K - 2;
    for (size_t j = 0; j < c->n; j++) {
        double *value = c->value + j * K, *bend = c->bend + j * K, slope = 0.0;
        memset(bend, 0, K * sizeof *bend);
        bend[j + 1] = 1.0;
        value[0] = value[1] = 0.0;
        for (size_t k = 1; k + 1 < K; k++) {
            double before = (c->knot[k] - c->knot[k - 1]) / range;
            double after = (c->knot[k + 1] - c->knot[k]) / range;
            slope +=
                (before * bend[k - 1] + 2.0 * (before + after) * bend[k] + after * bend[k + 1]) /
                6.0;
            value[k + 1] = value[k] + slope * after;
        }
    }
}

/* M, after each function has lost its mean and its regression on the number. */
static void center_functions(double *m, pboost_curve *c, const distinct_numbers *d)
{
    size_t K = c->n_knots, n = c->n;
    double range = c->knot[K - 1] - c->knot[0], rows = 0.0, mean = 0.0, square = 0.0;
    double sum[MOST] = {0}, cross[MOST] = {0}, v[MOST];
    ready_curve ready;
    for (size_t i = 0; i < d->n; i++) {
        rows += d->rows[i];
        mean += d->rows[i] * ((d->number[i] - c->knot[0]) / range);
    }
    mean /= rows;
    pboost_curve_ready(&ready, c);
    for (size_t i = 0; i < d->n; i++) {
        double t = (d->number[i] - c->knot[0]) / range - mean;
        pboost_curve_values(v, &ready, d->number[i]);
        square += d->rows[i] * t * t;
        for (size_t j = 0; j < n; j++) {
            sum[j] += d->rows[i] * v[j];
            cross[j] += d->rows[i] * v[j] * t;
        }
    }
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < K; k++)
            c->value[j * K + k] -=
                sum[j] / rows + cross[j] / square * ((c->knot[k] - c->knot[0]) / range - mean);
    memset(m, 0, n * n * sizeof *m);
    pboost_curve_ready(&ready, c);
    for (size_t i = 0; i < d->n; i++) {
        pboost_curve_values(v, &ready, d->number[i]);
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                m[j * n + k] += d->rows[i] / rows * v[j] * v[k];
    }
}

/* L of R = L L': bidiagonal, its diagonal and the entries below it. */
static void factor_curvature(double *diagonal, double *below, const pboost_curve *c)
{
    double range = c->knot[c->n_knots - 1] - c->knot[0];
    for (size_t j = 0; j < c->n; j++) {
        double before = (c->knot[j + 1] - c->knot[j]) / range;
        double after = (c->knot[j + 2] - c->knot[j + 1]) / range;
        below[j] = j > 0 ? before / 6.0 / diagonal[j - 1] : 0.0;
        diagonal[j] = sqrt((before + after) / 3.0 - below[j] * below[j]);
    }
}

/* m = L^-1 m L^-T. */
static void divide_by_curvature(double *m, size_t n, const double *diagonal, const double *below)
{
    for (size_t side = 0; side < 2; side++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++) {
                double *at = side == 0 ? &m[j * n + k] : &m[k * n + j];
                double before = j == 0 ? 0.0 : side == 0 ? m[(j - 1) * n + k] : m[k * n + j - 1];
                *at = (*at - below[j] * before) / diagonal[j];
            }
}

/* Functions become the combinations whose second derivatives at inner knots are L^-T U / root. */
static void combine(pboost_curve *c, const double *eigenvector, double root, const double *diagonal,
                    const double *below)
{
    size_t K = c->n_knots, n = K - 2;
    double old[2 * MOST * (MOST + 2)], *value = old, *bend = old + n * K;
    memcpy(value, c->value, n * K * sizeof *value);
    memcpy(bend, c->bend, n * K * sizeof *bend);
    for (size_t j = 0; j < c->n; j++) {
        double g[MOST + 1];
        g[n] = 0.0;
        for (size_t i = n; i-- > 0;)
            g[i] = (eigenvector[i * n + j] - (i + 1 < n ? below[i + 1] * g[i + 1] : 0.0)) /
                   diagonal[i];
        for (size_t k = 0; k < K; k++) {
            double v = 0.0, b = 0.0;
            for (size_t i = 0; i < n; i++) {
                v += g[i] * value[i * K + k];
                b += g[i] * bend[i * K + k];
            }
            c->value[j * K + k] = v / root;
            c->bend[j * K + k] = b / root;
        }
    }
}

static void make_functions(pboost_curve *c, const distinct_numbers *d)
{
    double m[MOST * MOST], vector[MOST * MOST], variance[MOST], diagonal[MOST], below[MOST];
    double sum = 0.0;
    set_hats(c);
    center_functions(m, c, d);
    factor_curvature(diagonal, below, c);
    divide_by_curvature(m, c->n, diagonal, below);
    pboost_jacobi(variance, vector, m, c->n);
    for (size_t j = 0; j < c->n; j++)
        sum += variance[j];
    while (c->n > 0 && !(variance[c->n - 1] > NEGLIGIBLE * sum))
        c->n--;
    combine(c, vector, sqrt(sum), diagonal, below);
}

pboost_status pboost_curve_learn(pboost_curve *out, const double *number, ptrdiff_t stride,
                                 size_t n, size_t columns, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    distinct_numbers distinct = {0};

    *out = (pboost_curve){0};
    if (columns < LEAST_COLUMNS || columns > MOST)
        FAIL(err, PBOOST_INVALID, "a curve of %zu columns; it must have %d to %d", columns,
             LEAST_COLUMNS, (int)MOST);
    TRY(find_distinct(&distinct, number, stride, n, threads, err));
    if (distinct.n < LEAST_VALUES)
        goto done;
    if (!isfinite(distinct.number[distinct.n - 1] - distinct.number[0]))
        FAIL(err, PBOOST_BAD_DATA, "numbers from %g to %g are too far apart for a curve",
             distinct.number[0], distinct.number[distinct.n - 1]);
    size_t most = distinct.n - 2, knots = columns + 2 < most ? columns + 2 : most;
    NEED(out->knot = pboost_alloc(knots, sizeof *out->knot), err);
    NEED(out->value = pboost_alloc(knots * (knots - 2), sizeof *out->value), err);
    NEED(out->bend = pboost_alloc(knots * (knots - 2), sizeof *out->bend), err);
    choose_knots(out, knots, &distinct);
    if (out->knot[0] < out->knot[1]) /* else nearly all rows have one number */
        make_functions(out, &distinct);
done:
    distinct_free(&distinct);
    if (st != PBOOST_OK || out->n == 0)
        pboost_curve_free(out);
    return st;
}

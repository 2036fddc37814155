/* The paper's theory as functions: what given bags will cost before a label is spent.
 *
 * All of it comes from two passes over the rows, in the order of the bags.  The first finds the mean
 * mu_i = b'(x_i theta) and the unit variance b''(x_i theta) of each row; between the passes mu turns
 * into its pull r = (S'S - I) mu, the bag's mean less the row's own.  The second adds up
 *     X'r,   H = X'X,   Z = X'S'S X = sum over bags of |B| xbar xbar',   sum of v |xbar|^2,
 * and then only d x d matrices are left:
 *     (X'X)^-1 X'(S'S - I) X theta = H^-1 X'r,    |(X'X)^-1 X'S'|_F^2 = tr(H^-1 Z H^-1),
 *     |(X'X)^-1 X'|^2 = the largest eigenvalue of H^-1.
 * Cholesky's factor of H is that of the columns scaled to norm 1, so that units cost no digits. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "eigen.h"
#include "family.h"
#include "linalg.h"
#include "matrix.h"
#include "try.h"

#define PANEL_ROWS 256

/* ---- Sums over rows and bags ---- */

typedef struct {
    const pboost_matrix *x;
    const pboost_bags *bags;
    size_t n, m, d;
    double *pull;     /* by place in bags->row: first mu, then the bag's mean less mu */
    double *variance; /* by place: b'' */
    double within;    /* the k-means objective: sum of pull^2 */
} design;

/* What the second pass adds up; gram and between may be NULL, then they are left out. */
typedef struct {
    double *pulled;  /* X'r, d */
    double *gram;    /* H, d x d, lower triangle */
    double *between; /* Z, likewise */
    double spread;   /* sum over bags of (sum of b'') |xbar|^2 */
} sums;

/* Rows waiting to be added to a d x d matrix by one BLAS call. */
typedef struct {
    double *row, *total;
    size_t n, d;
} panel;

static void panel_flush(panel *p)
{
    if (p->total != NULL && p->n > 0)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)p->d, (int)p->n, 1.0, p->row,
                    (int)p->d, 1.0, p->total, (int)p->d);
    p->n = 0;
}

/* Where the next row goes; what was handed out before stays valid until the next call. */
static double *panel_next(panel *p)
{
    if (p->n == PANEL_ROWS)
        panel_flush(p);
    return p->row + p->d * p->n++;
}

static double dot(const double *a, const double *b, size_t n)
{
    return pboost_glm_kernels()->dot(a, b, n);
}

static void copy_row(double *out, const pboost_matrix *x, size_t row)
{
    for (size_t j = 0; j < x->cols; j++)
        out[j] = pboost_matrix_at(x, row, j);
}

static pboost_status find_moments(design *g, pboost_family family, const double *theta,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *row = NULL, *mean = g->pull;

    NEED(row = pboost_alloc(g->d, sizeof *row), err);
    for (size_t i = 0; i < g->n; i++) {
        copy_row(row, g->x, g->bags->row[i]);
        mean[i] = dot(row, theta, g->d);
        if (!isfinite(mean[i]))
            FAIL(err, PBOOST_BAD_DATA, "x theta is %g in row %zu; features must be finite", mean[i],
                 g->bags->row[i]);
    }
    pboost_family_kernels(family)->moments(mean, g->variance, mean, g->n);
    for (size_t i = 0; i < g->n; i++)
        if (!isfinite(mean[i]))
            FAIL(err, PBOOST_BAD_DATA, "the %s mean of row %zu is %g: x theta is too large there",
                 pboost_family_name(family), g->bags->row[i], mean[i]);
done:
    free(row);
    return st;
}

/* Means become pulls.  A bag's mean is taken relative to its first row, so that an offset common to
 * all scores costs no digits. */
static void centre(design *g)
{
    for (size_t b = 0; b < g->m; b++) {
        size_t first = g->bags->start[b], end = g->bags->start[b + 1];
        double origin = g->pull[first], sum = 0.0;
        for (size_t i = first; i < end; i++)
            sum += g->pull[i] - origin;
        double shift = sum / (double)(end - first);
        for (size_t i = first; i < end; i++) {
            g->pull[i] = shift - (g->pull[i] - origin);
            g->within += g->pull[i] * g->pull[i];
        }
    }
}

static void design_free(design *g)
{
    free(g->pull);
    free(g->variance);
    *g = (design){0};
}

static pboost_status design_make(design *g, pboost_family family, const pboost_matrix *x,
                                 const pboost_bags *bags, const double *theta, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *g = (design){.x = x, .bags = bags, .n = bags->n_rows, .m = bags->n_bags, .d = x->cols};
    TRY(pboost_family_check(family, err));
    TRY(pboost_bags_check(bags, x->rows, 1, err));
    if (g->n == 0 || g->d == 0)
        FAIL(err, PBOOST_INVALID, "the bags hold %zu rows of %zu columns; both must be at least 1",
             g->n, g->d);
    for (size_t j = 0; j < g->d; j++)
        if (!isfinite(theta[j]))
            FAIL(err, PBOOST_INVALID, "theta[%zu] is %g; it must be finite", j, theta[j]);
    NEED(g->pull = pboost_alloc(g->n, sizeof *g->pull), err);
    NEED(g->variance = pboost_alloc(g->n, sizeof *g->variance), err);
    TRY(find_moments(g, family, theta, err));
    centre(g);
done:
    if (st != PBOOST_OK)
        design_free(g);
    return st;
}

/* Adds the rows of one bag; total (d) becomes the sum of its rows, the result that of its b''. */
static double add_bag(sums *s, double *total, const design *g, size_t b, panel *rows)
{
    double variance = 0.0;
    memset(total, 0, g->d * sizeof *total);
    for (size_t i = g->bags->start[b]; i < g->bags->start[b + 1]; i++) {
        double *row = panel_next(rows);
        copy_row(row, g->x, g->bags->row[i]);
        for (size_t j = 0; j < g->d; j++) {
            s->pulled[j] += g->pull[i] * row[j];
            total[j] += row[j];
        }
        variance += g->variance[i];
    }
    return variance;
}

static pboost_status add_up(sums *s, const design *g, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    panel rows = {.total = s->gram, .d = g->d}, means = {.total = s->between, .d = g->d};

    NEED(rows.row = pboost_alloc(PANEL_ROWS * g->d, sizeof *rows.row), err);
    NEED(means.row = pboost_alloc(PANEL_ROWS * g->d, sizeof *means.row), err);
    for (size_t b = 0; b < g->m; b++) {
        double *total = panel_next(&means);
        double variance = add_bag(s, total, g, b, &rows);
        double size = (double)(g->bags->start[b + 1] - g->bags->start[b]);
        for (size_t j = 0; j < g->d; j++)
            total[j] /= sqrt(size); /* a row of SX */
        s->spread += variance * (dot(total, total, g->d) / size);
    }
    panel_flush(&rows);
    panel_flush(&means);
done:
    free(rows.row);
    free(means.row);
    return st;
}

/* The lower triangle of a symmetric matrix, copied to the upper. */
static void mirror(double *a, size_t d)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            a[j * d + i] = a[i * d + j];
}

/* Replaces H (lower triangle) by its inverse. */
static pboost_status invert_gram(double *gram, size_t d, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_cholesky c = {.n = d};

    for (size_t j = 0; j < d; j++)
        if (!isfinite(gram[j * d + j]))
            FAIL(err, PBOOST_BAD_DATA, "the squares of column %zu of x add up to %g", j,
                 gram[j * d + j]);
    NEED(c.l = pboost_alloc(d * d, sizeof *c.l), err);
    NEED(c.scale = pboost_alloc(d, sizeof *c.scale), err);
    NEED(c.dropped = calloc(d, sizeof *c.dropped), err);
    memcpy(c.l, gram, d * d * sizeof *gram);
    size_t rank = pboost_cholesky_factor(&c, pboost_rank_tolerance(d), true);
    if (rank < d)
        FAIL(err, PBOOST_BAD_DATA, "x has rank %zu of %zu columns: the risk is not defined", rank,
             d);
    memset(gram, 0, d * d * sizeof *gram);
    for (size_t j = 0; j < d; j++) {
        double *column = gram + j * d; /* by symmetry also row j */
        column[j] = 1.0;
        pboost_cholesky_solve(column, &c, column);
    }
done:
    free(c.l);
    free(c.scale);
    free(c.dropped);
    return st;
}

/* ---- Linear regression ---- */

static pboost_status check_level(const char *name, double value, bool zero_allowed,
                                 pboost_error *err)
{
    if (isfinite(value) && (value > 0.0 || (zero_allowed && value == 0.0)))
        return PBOOST_OK;
    return pboost_fail(err, PBOOST_INVALID, "%s is %g; it must be finite and %s", name, value,
                       zero_allowed ? "at least 0" : "above 0");
}

pboost_status pboost_risk_linear(pboost_risk *out, const pboost_matrix *x, const pboost_bags *bags,
                                 const double *theta, double sigma2, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g = {0};
    double *work = NULL, bias = 0.0, trace = 0.0;

    *out = (pboost_risk){NAN, NAN};
    TRY(check_level("sigma2", sigma2, true, err));
    TRY(design_make(&g, PBOOST_LINEAR, x, bags, theta, err));
    size_t d = g.d;
    NEED(work = calloc(2 * d + 2 * d * d, sizeof *work), err);
    double *product = work + d;
    sums s = {.pulled = work, .gram = work + 2 * d, .between = work + 2 * d + d * d};
    TRY(add_up(&s, &g, err));
    TRY(invert_gram(s.gram, d, err));
    for (size_t j = 0; j < d; j++) {
        const double *h = s.gram + j * d; /* row j of H^-1 */
        double entry = dot(h, s.pulled, d);
        bias += entry * entry;
        cblas_dsymv(CblasRowMajor, CblasLower, (int)d, 1.0, s.between, (int)d, h, 1, 0.0, product,
                    1);
        trace += dot(h, product, d);
    }
    *out = (pboost_risk){bias, sigma2 * trace};
done:
    design_free(&g);
    free(work);
    return st;
}

pboost_status pboost_risk_linear_bound(double *out, const pboost_matrix *x, const pboost_bags *bags,
                                       const double *theta, double sigma2, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g = {0};
    double *work = NULL;

    *out = NAN;
    TRY(check_level("sigma2", sigma2, true, err));
    TRY(design_make(&g, PBOOST_LINEAR, x, bags, theta, err));
    size_t d = g.d;
    NEED(work = calloc(3 * d + d * d, sizeof *work), err);
    sums s = {.pulled = work, .gram = work + 3 * d};
    TRY(add_up(&s, &g, err));
    TRY(invert_gram(s.gram, d, err));
    double norm2 = pboost_eigen_largest(s.gram, d, work + d);
    *out = norm2 * (g.within + sigma2 * (double)(g.m < d ? g.m : d));
done:
    design_free(&g);
    free(work);
    return st;
}

/* ---- Generalised linear models ---- */

pboost_status pboost_gradient_norm(pboost_risk *out, pboost_family family, const pboost_matrix *x,
                                   const pboost_bags *bags, const double *theta, double phi,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g = {0};
    sums s = {0};

    *out = (pboost_risk){NAN, NAN};
    TRY(check_level("phi", phi, false, err));
    TRY(design_make(&g, family, x, bags, theta, err));
    NEED(s.pulled = calloc(g.d, sizeof *s.pulled), err);
    TRY(add_up(&s, &g, err));
    double n = (double)g.n;
    for (size_t j = 0; j < g.d; j++)
        s.pulled[j] /= n * phi;
    out->bias = dot(s.pulled, s.pulled, g.d);
    out->variance = s.spread / phi / n / n; /* D^-1 twice, D^(1/2) twice: 1/phi is left */
done:
    design_free(&g);
    free(s.pulled);
    return st;
}

/* The variance terms of the bound: sum over bags of the mean b'', and the largest and least b''. */
typedef struct {
    double bag_means, largest, least;
} variances;

static variances variances_of(const design *g)
{
    variances v = {0.0, 0.0, INFINITY};
    for (size_t b = 0; b < g->m; b++) {
        size_t first = g->bags->start[b], end = g->bags->start[b + 1];
        double sum = 0.0;
        for (size_t i = first; i < end; i++) {
            sum += g->variance[i];
            v.largest = fmax(v.largest, g->variance[i]);
            v.least = fmin(v.least, g->variance[i]);
        }
        v.bag_means += sum / (double)(end - first);
    }
    return v;
}

pboost_status pboost_gradient_bound(double *out, pboost_family family, const pboost_matrix *x,
                                    const pboost_bags *bags, const double *theta, double phi,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g = {0};
    double *work = NULL;

    *out = NAN;
    TRY(check_level("phi", phi, false, err));
    TRY(design_make(&g, family, x, bags, theta, err));
    size_t d = g.d;
    NEED(work = calloc(3 * d + d * d, sizeof *work), err);
    sums s = {.pulled = work, .gram = work + 3 * d};
    TRY(add_up(&s, &g, err));
    mirror(s.gram, d);
    double norm2 = pboost_eigen_largest(s.gram, d, work + d) / phi / phi;
    variances v = variances_of(&g);
    double variance = phi * fmin(v.bag_means, (double)d * v.largest);
    *out = norm2 * (g.within + variance) / (double)g.n / (double)g.n;
done:
    design_free(&g);
    free(work);
    return st;
}

pboost_status pboost_variance_ratio(pboost_variance_check *out, pboost_family family,
                                    const pboost_matrix *x, const pboost_bags *bags,
                                    const double *theta, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g = {0};

    *out = (pboost_variance_check){NAN, NAN, false};
    TRY(design_make(&g, family, x, bags, theta, err));
    variances v = variances_of(&g);
    out->bags_per_feature = (double)g.m / (double)g.d;
    out->variance_ratio = v.least > 0.0 ? v.largest / v.least : INFINITY;
    out->droppable = out->bags_per_feature >= out->variance_ratio;
done:
    design_free(&g);
    return st;
}

/* ---- Random bags ---- */

double pboost_random_bags_bound(size_t min_bag, const double *theta, size_t n)
{
    if (min_bag == 0)
        return NAN;
    double kept = 1.0 - 1.0 / (double)min_bag;
    return kept * kept * dot(theta, theta, n);
}

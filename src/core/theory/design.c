/* The paper's theory as functions: the error with given bags, before a label is spent.
 *
 * All of it comes from two passes over the rows, in the order of the bags.  The first finds the
 * mean mu_i = b'(x_i theta) and the unit variance b''(x_i theta) of each row; between the passes mu
 * turns into its pull r = (S'S - I) mu, the bag's mean less the row's own.  The second adds up
 *     X'r,   H = X'X,   Z = X'S'S X = sum over bags of |B| xbar xbar',   sum of v |xbar|^2,
 * and then only d x d matrices are left:
 *     (X'X)^-1 X'(S'S - I) X theta = H^-1 X'r,    |(X'X)^-1 X'S'|_F^2 = tr(H^-1 Z H^-1),
 *     |(X'X)^-1 X'|^2 = the largest eigenvalue of H^-1.
 * Cholesky's factor of H is that of the columns scaled to norm 1, so that units cost no digits. */
#include <math.h>
#include <string.h>

#include <priorboost/theory.h>

#include "base/linalg.h"
#include "data/family.h"
#include "data/matrix.h"
#include "theory/eigen.h"
#include "try.h"

enum { PANEL_ROWS = 64 };

/* ---- Sums over rows and bags ----------------------------------------------------------------- */

typedef struct {
    const pboost_bags *bags;
    pboost_samples samples; /* the rows in the order of the bags */
    size_t n, m, d;
    size_t blocks, padded; /* columns as panels have them */
    double *pull;          /* by place in bags->row: first mu, then the bag's mean less mu */
    double *variance;      /* by place: b'' */
    double within;         /* the k-means objective: sum of pull^2 */
    /* What the second pass adds up, in one piece of memory. */
    double *pulled;  /* X'r, d */
    double *gram;    /* H, d x d */
    double *between; /* Z, d x d */
    double *scratch; /* 2d */
    double spread;   /* sum over bags of (sum of b'') |xbar|^2 */
    double *memory;
} design;

static double dot(const double *a, const double *b, size_t n)
{
    return pboost_glm_kernels()->dot(a, b, n);
}

/* The panel of the rows from place `first` on; work holds PANEL_ROWS rows of padded columns. */
static glm_panel load_panel(double *work, const design *g, size_t first)
{
    size_t count = g->n - first < PANEL_ROWS ? g->n - first : PANEL_ROWS;
    const double *x =
        pboost_panel_gather(work, PANEL_ROWS, &g->samples, (panel_rows){first, count, 1, NULL});
    return (glm_panel){.x = x, .capacity = PANEL_ROWS, .count = count, .blocks = g->blocks};
}

static pboost_status find_moments(design *g, pboost_family family, const double *theta,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *work = NULL, *weights = NULL, *mean = g->pull;

    NEED(work = pboost_alloc(PANEL_ROWS * g->padded, sizeof *work), err);
    NEED(weights = calloc(g->padded, sizeof *weights), err);
    memcpy(weights, theta, g->d * sizeof *theta);
    for (size_t first = 0; first < g->n; first += PANEL_ROWS)
        pboost_glm_kernels()->eta(mean + first, load_panel(work, g, first), weights, 0.0);
    for (size_t i = 0; i < g->n; i++)
        if (!isfinite(mean[i]))
            FAIL(err, PBOOST_BAD_DATA, "x theta is %g in row %zu; features must be finite", mean[i],
                 g->bags->row[i]);
    pboost_family_kernels(family)->moments(mean, g->variance, mean, g->n);
    for (size_t i = 0; i < g->n; i++)
        if (!isfinite(mean[i]))
            FAIL(err, PBOOST_BAD_DATA, "the %s mean of row %zu is %g: x theta is too large there",
                 pboost_family_name(family), g->bags->row[i], mean[i]);
done:
    free(work);
    free(weights);
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
    free(g->memory);
    *g = (design){0};
}

static pboost_status design_make(design *g, pboost_family family, const pboost_matrix *x,
                                 const pboost_bags *bags, const double *theta, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *g = (design){.bags = bags, .n = bags->n_rows, .m = bags->n_bags, .d = x->cols};
    g->samples = (pboost_samples){.x = x, .row = bags->row, .n = bags->n_rows};
    g->blocks = pboost_panel_blocks(g->d);
    g->padded = g->blocks * PANEL_LANES;
    TRY(pboost_family_check(family, err));
    TRY(pboost_bags_check(bags, x->rows, 1, err));
    if (g->n == 0 || g->d == 0)
        FAIL(err, PBOOST_INVALID, "the bags hold %zu rows of %zu columns; both must be at least 1",
             g->n, g->d);
    TRY(pboost_samples_check(&g->samples, false, err));
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

/* The bag that is being added up, and the panel of those finished: rows of S X. */
typedef struct {
    double *total, variance;
    size_t bag;
    double *done;
    size_t n_done;
} bag_sums;

static void flush_bags(bag_sums *open, design *g, const double *ones)
{
    glm_panel p = {
        .x = open->done, .capacity = PANEL_ROWS, .count = open->n_done, .blocks = g->blocks};
    pboost_glm_kernels()->gram(g->between, p, ones);
    open->n_done = 0;
}

static void close_bag(bag_sums *open, design *g, const double *ones)
{
    double size = (double)(g->bags->start[open->bag + 1] - g->bags->start[open->bag]);
    g->spread += open->variance * (dot(open->total, open->total, g->d) / size / size);
    for (size_t j = 0; j < g->padded; j++)
        open->done[((j / PANEL_LANES) * PANEL_ROWS + open->n_done) * PANEL_LANES +
                   j % PANEL_LANES] = open->total[j] / sqrt(size);
    if (++open->n_done == PANEL_ROWS)
        flush_bags(open, g, ones);
    memset(open->total, 0, g->padded * sizeof *open->total);
    open->variance = 0.0;
    open->bag++;
}

static void add_to_bags(bag_sums *open, design *g, glm_panel p, size_t first, const double *ones)
{
    for (size_t r = 0; r < p.count; r++) {
        for (size_t b = 0; b < g->blocks; b++)
            for (size_t j = 0; j < PANEL_LANES; j++)
                open->total[b * PANEL_LANES + j] += p.x[(b * PANEL_ROWS + r) * PANEL_LANES + j];
        open->variance += g->variance[first + r];
        if (first + r + 1 == g->bags->start[open->bag + 1])
            close_bag(open, g, ones);
    }
}

/* From the padded lower triangle to a full d x d matrix in the same place. */
static void unpad(double *a, size_t d, size_t padded)
{
    for (size_t i = 0; i < d; i++)
        memmove(a + i * d, a + i * padded, d * sizeof *a);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            a[j * d + i] = a[i * d + j];
}

static pboost_status add_up(design *g, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const glm_kernels *kernels = pboost_glm_kernels();
    size_t padded = g->padded;
    double *work = NULL, *ones = NULL;
    bag_sums open = {0};

    NEED(g->memory = calloc(padded * (3 + 2 * padded), sizeof *g->memory), err);
    g->pulled = g->memory;
    g->scratch = g->pulled + padded;
    g->gram = g->scratch + 2 * padded;
    g->between = g->gram + padded * padded;
    NEED(work = pboost_alloc(PANEL_ROWS * padded, sizeof *work), err);
    NEED(open.done = pboost_alloc(PANEL_ROWS * padded, sizeof *open.done), err);
    NEED(open.total = calloc(padded, sizeof *open.total), err);
    NEED(ones = pboost_alloc(PANEL_ROWS, sizeof *ones), err);
    for (size_t r = 0; r < PANEL_ROWS; r++)
        ones[r] = 1.0;

    for (size_t first = 0; first < g->n; first += PANEL_ROWS) {
        glm_panel p = load_panel(work, g, first);
        kernels->gradient(g->pulled, g->scratch, p, g->pull + first, ones);
        kernels->gram(g->gram, p, ones);
        add_to_bags(&open, g, p, first, ones);
    }
    flush_bags(&open, g, ones);
    unpad(g->gram, g->d, padded);
    unpad(g->between, g->d, padded);
done:
    free(work);
    free(open.done);
    free(open.total);
    free(ones);
    return st;
}

/* Replaces H by its inverse. */
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

/* A parameter of a theorem: finite, and above 0 or at least 0. */
typedef struct {
    const char *name;
    double value;
    bool may_be_zero;
} level;

/* Both passes; free the design whatever the result. */
static pboost_status design_sum(design *g, pboost_family family, const pboost_matrix *x,
                                const pboost_bags *bags, const double *theta, level of,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *g = (design){0};
    if (!isfinite(of.value) || of.value < 0.0 || (of.value == 0.0 && !of.may_be_zero))
        FAIL(err, PBOOST_INVALID, "%s is %g; it must be finite and %s", of.name, of.value,
             of.may_be_zero ? "at least 0" : "above 0");
    TRY(design_make(g, family, x, bags, theta, err));
    TRY(add_up(g, err));
done:
    return st;
}

/* ---- Linear regression ----------------------------------------------------------------------- */

pboost_status pboost_risk_linear(pboost_risk *out, const pboost_matrix *x, const pboost_bags *bags,
                                 const double *theta, double sigma2, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g;
    double bias = 0.0, trace = 0.0;

    *out = (pboost_risk){NAN, NAN};
    TRY(design_sum(&g, PBOOST_LINEAR, x, bags, theta, (level){"sigma2", sigma2, true}, err));
    TRY(invert_gram(g.gram, g.d, err));
    for (size_t i = 0; i < g.d; i++) {
        const double *h = g.gram + i * g.d; /* row i of H^-1 */
        double entry = dot(h, g.pulled, g.d);
        bias += entry * entry;
        for (size_t j = 0; j < g.d; j++)
            trace += h[j] * dot(g.between + j * g.d, h, g.d);
    }
    *out = (pboost_risk){bias, sigma2 * trace};
done:
    design_free(&g);
    return st;
}

pboost_status pboost_risk_linear_bound(double *out, const pboost_matrix *x, const pboost_bags *bags,
                                       const double *theta, double sigma2, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g;

    *out = NAN;
    TRY(design_sum(&g, PBOOST_LINEAR, x, bags, theta, (level){"sigma2", sigma2, true}, err));
    TRY(invert_gram(g.gram, g.d, err));
    double norm2 = pboost_eigen_largest(g.gram, g.d, g.scratch);
    *out = norm2 * (g.within + sigma2 * (double)(g.m < g.d ? g.m : g.d));
done:
    design_free(&g);
    return st;
}

/* ---- Generalised linear models --------------------------------------------------------------- */

pboost_status pboost_gradient_norm(pboost_risk *out, pboost_family family, const pboost_matrix *x,
                                   const pboost_bags *bags, const double *theta, double phi,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    design g;

    *out = (pboost_risk){NAN, NAN};
    TRY(design_sum(&g, family, x, bags, theta, (level){"phi", phi, false}, err));
    double n = (double)g.n;
    for (size_t j = 0; j < g.d; j++)
        g.pulled[j] /= n * phi;
    out->bias = dot(g.pulled, g.pulled, g.d);
    out->variance = g.spread / phi / n / n; /* D^-1 twice, D^(1/2) twice: 1/phi is left */
done:
    design_free(&g);
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
    design g;

    *out = NAN;
    TRY(design_sum(&g, family, x, bags, theta, (level){"phi", phi, false}, err));
    double norm2 = pboost_eigen_largest(g.gram, g.d, g.scratch) / phi / phi;
    variances v = variances_of(&g);
    double variance = phi * fmin(v.bag_means, (double)g.d * v.largest);
    *out = norm2 * (g.within + variance) / (double)g.n / (double)g.n;
done:
    design_free(&g);
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

/* ---- Random bags ----------------------------------------------------------------------------- */

double pboost_random_bags_bound(size_t min_bag, const double *theta, size_t n)
{
    if (min_bag == 0)
        return NAN;
    double kept = 1.0 - 1.0 / (double)min_bag;
    return kept * kept * dot(theta, theta, n);
}

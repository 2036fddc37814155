/* How far curves are bent, by the likelihood of the answers.
 *
 * The functions of a curve have the same curvature each (smooth/curve.c), so weights that are
 * normal with one variance t for each curve are a prior on its curvature alone; t = 0 is the
 * straight line.  The fit first finds the straight lines, with the ridge of ridge.c, as if there
 * were no curves.  Then, at each refresh, t is found from the quadratic approximation of the
 * quasi-likelihood at the point: with G and b the information and the right-hand side of the
 * functions of one curve (all other weights profiled out, under their own ridges), U its
 * eigenvectors, e its eigenvalues, c = U'b and lambda = phi / t, the answers have the log
 * likelihood
 *
 *     1/2 sum_k  log(lambda / (e_k + lambda)) + c_k^2 / (phi (e_k + lambda))
 *
 * Where the answers say little, the largest likelihood bends a curve completely, or not at all, by
 * chance.  So, as in ridge_evidence.c, ridges on a grid are weighted by their likelihood; what is
 * averaged are the effective degrees of freedom sum_k e_k / (e_k + lambda), and the ridge that has
 * the average is taken.
 *
 * All ridges have the same prior weight up to the variance that the weight of a straight line has
 * under its own ridge; beyond it, half the ridge has half the weight.  Without this, curves of
 * counts and log odds diverge under strong noise: larger weights move the point to where the
 * answers look more informative than they are.  For the same reason their ridges are found once
 * under noise, at the straight lines. */
#include "fit/aggregate/curve_ridge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/smooth.h>

#include "base/jacobi.h"
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/ridge_evidence.h"
#include "try.h"

#define HELD 1e6       /* ridge of a straight line, times the information about a function */
#define MOST_RIDGE 1e6 /* the strongest ridge tried, times the information about a curve */
#define WIDEST 1e4     /* the most variance that is tried, times the usual one */
#define RIDGES 64
#define STEPS 12             /* of all curves together, at most */
#define STILL 0.01           /* a change of a logarithm that counts as 0 */
#define STRAIGHT_REFRESHES 3 /* before curves are bent, at least */
#define REFRESHES 6          /* of the ridges, at most */

enum { MOST = PBOOST_CURVE_COLUMNS };

/* g, b and lambda, and then what profile() or find_ridges() need, whichever is more. */
static size_t work_size(size_t n, size_t columns)
{
    size_t p = n - columns, profiled = p * p + n + 2 * p;
    size_t found = 2 * columns * columns + 3 * columns;
    return columns * columns + 2 * columns + (profiled > found ? profiled : found);
}

pboost_status pboost_curves_init(fit_curves *out, const pboost_fit_options *o, size_t parameters,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (fit_curves){.columns = o->curves};
    if (o->curves == 0)
        return st;
    NEED(out->start = pboost_alloc(o->curves + 1, sizeof *out->start), err);
    NEED(out->ridge = pboost_alloc(o->curves, sizeof *out->ridge), err);
    NEED(out->work = pboost_alloc(work_size(parameters, o->curves), sizeof *out->work), err);
    for (size_t j = 0; j < o->curves; j++)
        if (j == 0 || (o->curve_of != NULL && o->curve_of[j] != o->curve_of[j - 1]))
            out->start[out->n++] = j;
    out->start[out->n] = o->curves;
done:
    return st;
}

void pboost_curves_free(fit_curves *curves)
{
    free(curves->start);
    free(curves->ridge);
    free(curves->work);
    *curves = (fit_curves){0};
}

void pboost_curves_start(aggregate_fit *fit)
{
    fit->curves.refreshes = 0;
    fit->curves.bent = fit->curves.settled = false;
}

bool pboost_curves_settled(const aggregate_fit *fit)
{
    return fit->curves.n == 0 || fit->curves.settled;
}

/* A ridge that leaves nothing of the curves.  Uses the matrix of lm, which is made again. */
static double held_ridge(aggregate_fit *fit)
{
    size_t n = fit->pass.n_parameters;
    double most = 0.0;
    pboost_bagpass_gram(fit->lm.matrix, NULL, &fit->pass, &fit->point, fit->weight, NULL);
    for (size_t i = n - fit->curves.columns; i < n; i++)
        most = fmax(most, fit->lm.matrix[i * n + i]);
    return HELD * fmax(most, 1e-6);
}

void pboost_curves_refresh_penalty(aggregate_fit *fit)
{
    const fit_curves *c = &fit->curves;
    size_t first = fit->pass.cols - c->columns;
    double *penalty = fit->penalty + (fit->pass.n_parameters - c->columns);
    double held = c->n > 0 && !c->bent ? held_ridge(fit) : 0.0;
    for (size_t k = 0; k < c->n; k++)
        for (size_t j = c->start[k]; j < c->start[k + 1]; j++) {
            double scale = fit->units.scale[first + j];
            penalty[j] = c->bent ? c->ridge[k] / (scale * scale) : held;
        }
}

/* ---- The likelihood -------------------------------------------------------------------------- */

/* Information and right-hand side of the functions of all curves in the units of x, the other
 * weights profiled out.  g: columns x columns, both triangles. */
static void profile(double *g, double *b, aggregate_fit *fit, double *work)
{
    size_t n = fit->pass.n_parameters, m = fit->curves.columns, p = n - m;
    const double *a = fit->lm.matrix, *scale = fit->units.scale + (fit->pass.cols - m);
    double *l = work, *right = l + p * p, *column = right + n, *spare = column + p;
    pboost_cholesky factor = {p, l, spare, fit->lm.factor.dropped};
    for (size_t i = 0; i < n; i++) { /* G theta + score, which is penalty theta - gradient */
        right[i] = fit->penalty[i] * fit->parameter[i] - fit->lm.gradient[i];
        for (size_t j = 0; j < n; j++) {
            double entry = j <= i ? a[i * n + j] : a[j * n + i];
            right[i] += (entry - (i == j ? fit->penalty[i] : 0.0)) * fit->parameter[j];
        }
    }
    for (size_t i = 0; i < p; i++)
        memcpy(l + i * p, a + i * n, (i + 1) * sizeof *l);
    pboost_cholesky_factor(&factor, pboost_rank_tolerance(p), false);
    for (size_t i = 0; i < m; i++) {
        const double *row = a + (p + i) * n;
        pboost_cholesky_solve(column, &factor, row);
        b[i] = right[p + i];
        for (size_t k = 0; k < p; k++)
            b[i] -= column[k] * right[k];
        b[i] *= scale[i];
        for (size_t j = 0; j <= i; j++) {
            const double *other = a + (p + j) * n;
            double own = row[p + j] - (i == j ? fit->penalty[p + i] : 0.0);
            for (size_t k = 0; k < p; k++)
                own -= column[k] * other[k];
            g[i * m + j] = g[j * m + i] = own * scale[i] * scale[j];
        }
    }
}

/* The functions of one curve, all other weights profiled out, in the directions of their
 * information. */
typedef struct {
    size_t n;
    double e[MOST], c[MOST];
} curve_evidence;

static double freedom_at(const curve_evidence *v, double lambda)
{
    double sum = 0.0;
    for (size_t k = 0; k < v->n; k++)
        sum += v->e[k] / (v->e[k] + lambda);
    return sum;
}

static double likelihood(const curve_evidence *v, double lambda, double phi)
{
    double sum = 0.0;
    for (size_t k = 0; k < v->n; k++)
        sum += 0.5 *
               (log(lambda / (v->e[k] + lambda)) + v->c[k] * v->c[k] / (phi * (v->e[k] + lambda)));
    return sum;
}

/* The ridge that has the average degrees of freedom of those up to `most`. */
static double average_ridge(const curve_evidence *v, double usual, double most, double phi)
{
    double least = usual / WIDEST;
    double value[RIDGES], best = -INFINITY, total = 0.0, freedom = 0.0;
    double step = pow(least / most, 1.0 / (RIDGES - 1)), low = log(least), high = log(most);
    for (size_t i = 0; i < RIDGES; i++) {
        double lambda = most * pow(step, (double)i);
        value[i] = likelihood(v, lambda, phi) + (lambda < usual ? log(lambda / usual) : 0.0);
        best = fmax(best, value[i]);
    }
    for (size_t i = 0; i < RIDGES; i++) {
        double weight = exp(value[i] - best);
        total += weight;
        freedom += weight * freedom_at(v, most * pow(step, (double)i));
    }
    for (int i = 0; i < 40; i++) {
        double middle = 0.5 * (low + high);
        if (freedom_at(v, exp(middle)) * total > freedom)
            low = middle;
        else
            high = middle;
    }
    return exp(0.5 * (low + high));
}

/* Of the functions first .. first + n-1, from the inverse of G + lambda and the solution. */
static curve_evidence evidence_of(const double *inverse, const double *theta, size_t m,
                                  size_t first, size_t n, double lambda)
{
    curve_evidence v = {.n = n};
    double block[MOST * MOST], vector[MOST * MOST], value[MOST];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            block[i * n + j] = inverse[(first + i) * m + first + j];
    pboost_jacobi(value, vector, block, n);
    for (size_t k = 0; k < n; k++) {
        double along = 0.0;
        for (size_t i = 0; i < n; i++)
            along += vector[i * n + k] * theta[first + i];
        v.e[k] = fmax(1.0 / value[k] - lambda, 0.0);
        v.c[k] = along / value[k];
    }
    return v;
}

/* inverse = (g + lambda by curve)^-1 and theta = inverse b.  g is n x n. */
static void solve_all(double *inverse, double *theta, const double *g, const double *b,
                      const fit_curves *c, const double *lambda, double *l, double *spare)
{
    size_t m = c->columns;
    unsigned char *dropped = (unsigned char *)(spare + m);
    pboost_cholesky factor = {m, l, spare, dropped};
    memcpy(l, g, m * m * sizeof *l);
    memset(dropped, 0, m);
    for (size_t k = 0; k < c->n; k++)
        for (size_t j = c->start[k]; j < c->start[k + 1]; j++)
            l[j * m + j] += lambda[k];
    pboost_cholesky_factor(&factor, pboost_rank_tolerance(m), false);
    memset(inverse, 0, m * m * sizeof *inverse);
    for (size_t i = 0; i < m; i++) {
        inverse[i * m + i] = 1.0;
        pboost_cholesky_solve(inverse + i * m, &factor, inverse + i * m);
    }
    pboost_cholesky_solve(theta, &factor, b);
}

static double trace_of(const double *g, const fit_curves *c, size_t curve)
{
    double sum = 0.0;
    for (size_t j = c->start[curve]; j < c->start[curve + 1]; j++)
        sum += g[j * c->columns + j];
    return sum;
}

/* The variance of the weight of a straight line under its own ridge. */
static double usual_variance(const aggregate_fit *fit)
{
    return fit->spread / fmax((double)pboost_straight_columns(fit), 1.0);
}

/* The ridge of every curve, where each has the average one given the others: half a step (of the
 * logarithm) for all at once, until they are still.  Returns the largest change. */
static double find_ridges(double *lambda, const double *g, const double *b,
                          const aggregate_fit *fit, double *work)
{
    const fit_curves *c = &fit->curves;
    size_t m = c->columns;
    double *inverse = work, *l = inverse + m * m, *theta = l + m * m, *spare = theta + m;
    double phi = pboost_fit_measured_phi(fit), change = 0.0;
    solve_all(inverse, theta, g, b, c, lambda, l, spare);
    for (size_t k = 0; k < c->n; k++) {
        size_t first = c->start[k], n = c->start[k + 1] - first;
        double most = MOST_RIDGE * trace_of(g, c, k);
        double usual = fmin(fit->phi / usual_variance(fit), 0.5 * most);

        if (!(most > 0.0) || !(usual > 0.0)) /* no function varies between bags */
            continue;
        curve_evidence v = evidence_of(inverse, theta, m, first, n, lambda[k]);
        double step = 0.5 * log(average_ridge(&v, usual, most, phi) / lambda[k]);
        lambda[k] *= exp(step);
        change = fmax(change, fabs(step));
    }
    return change;
}

void pboost_curves_refresh(aggregate_fit *fit, size_t refreshes)
{
    fit_curves *c = &fit->curves;
    size_t m = c->columns;
    bool straight = refreshes < STRAIGHT_REFRESHES || !pboost_ridge_settled(fit);
    if (c->n == 0 || c->settled || straight)
        return;
    double *g = c->work, *b = g + m * m, *lambda = b + m, *work = lambda + m, moved = 0.0;
    profile(g, b, fit, work);
    for (size_t k = 0; k < c->n; k++) {
        double start = trace_of(g, c, k);
        lambda[k] = c->bent ? c->ridge[k] : start > 0.0 ? start : 1.0;
    }
    for (int i = 0; i < STEPS && find_ridges(lambda, g, b, fit, work) > STILL; i++)
        ;
    for (size_t k = 0; k < c->n; k++) {
        moved = fmax(moved, c->bent ? fabs(log(lambda[k] / c->ridge[k])) : INFINITY);
        c->ridge[k] = lambda[k];
    }
    c->bent = true;
    bool once = fit->noisy && fit->family->curved; /* at the straight lines: see above */
    c->settled = moved <= 5.0 * STILL || ++c->refreshes >= (once ? 1 : REFRESHES);
}

void pboost_curves_freedom(double *freedom, const aggregate_fit *fit)
{
    const fit_curves *c = &fit->curves;
    size_t n = fit->pass.n_parameters;
    double *unit = fit->lm.trial, *column = fit->lm.step;
    for (size_t k = 0; k < c->n; k++) {
        freedom[k] = 0.0;
        for (size_t j = c->start[k]; j < c->start[k + 1]; j++) {
            size_t i = n - c->columns + j;
            memset(unit, 0, n * sizeof *unit);
            unit[i] = 1.0;
            pboost_cholesky_solve(column, &fit->lm.factor, unit);
            freedom[k] += 1.0 - fit->penalty[i] * column[i];
        }
    }
}

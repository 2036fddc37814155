/* How large the weights are, by the likelihood of the answers.
 *
 * With weights that are normal, of variance phi / lambda each, and G and b the information and the
 * right-hand side of the weights (the intercept profiled out), the answers have the likelihood
 *
 *     |1 + G / lambda|^-1/2  exp(b' (G + lambda)^-1 b / 2 phi)
 *
 * which weights every direction by its information.  The length of the fitted weights cannot be
 * used: it is mostly noise in the directions with the least information, and a ridge based on it
 * would be weaker if there is more noise.
 *
 * If there is little information, the ridge of largest likelihood shrinks completely, or not at
 * all, by chance.  So the result is an average over ridges, each half of the one before, from one
 * that leaves nothing of the weights down to the wide one.  All have the same prior probability and
 * are weighted by their likelihood.
 */
#include "fit/aggregate/ridge_evidence.h"

#include <math.h>
#include <string.h>

/* The strongest ridge, as a multiple of the information about a weight: it leaves nothing of it. */
#define MOST_RIDGE 1000.0
#define MOST_RIDGES 32

/* G and b of the weights alone. */
static void profile(double *g, double *b, const ridge_point *at)
{
    size_t n = at->n, first = at->first, d = at->d;
    const double *a = at->matrix, *theta = at->parameter + first;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double through =
                first == 1 && a[0] > 0.0 ? a[(i + 1) * n] * a[(j + 1) * n] / a[0] : 0.0;
            double own = a[(first + i) * n + first + j] - through;
            g[i * d + j] = g[j * d + i] = own - (i == j ? at->penalty[first + i] : 0.0);
        }
    for (size_t i = 0; i < d; i++) {
        b[i] = at->lambda * theta[i];
        for (size_t j = 0; j < d; j++)
            b[i] += g[i * d + j] * theta[j];
    }
}

/* Its logarithm.  x: d numbers to work with. */
static double likelihood(pboost_cholesky *c, double *x, const double *g, const double *b,
                         double lambda, double phi)
{
    size_t d = c->n;
    double sum = 0.0;
    memcpy(c->l, g, d * d * sizeof *g);
    memset(c->dropped, 0, d);
    for (size_t i = 0; i < d; i++)
        c->l[i * d + i] += lambda;
    pboost_cholesky_factor(c, pboost_rank_tolerance(d), false);
    pboost_cholesky_solve(x, c, b);
    for (size_t i = 0; i < d; i++)
        sum += 0.5 * (b[i] * x[i] / phi + log(lambda)) - log(c->l[i * d + i] / c->scale[i]);
    return sum;
}

double pboost_measured_phi(double phi, double measured, size_t bags, const double *variance,
                           const double *noise)
{
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < bags; i++) {
        double a = variance[i], c = noise[i];
        if (isinf(a))
            continue;
        sum += (measured * a + c) / (phi * a + c);
        count += 1.0;
    }
    return sum > 0.0 ? phi * sum / count : phi;
}

size_t pboost_ridge_evidence_size(size_t d)
{
    return 2 * d * d + 4 * d;
}

double pboost_ridge_evidence(const ridge_point *at, double *work)
{
    size_t d = at->d, count = 0;
    double *g = work, *b = g + 2 * d * d, *x = b + d, information = 0.0, value[MOST_RIDGES];
    double best = -INFINITY, total = 0.0, kept = 0.0;
    pboost_cholesky c = {d, g + d * d, x + d, (unsigned char *)(x + 2 * d)};

    profile(g, b, at);
    for (size_t i = 0; i < d; i++)
        information += g[i * d + i] / (double)d;
    if (!(information > 0.0)) /* no column varies between bags */
        return at->lambda;
    double most = MOST_RIDGE * information;
    for (; count < MOST_RIDGES; count++) {
        double lambda = ldexp(most, -(int)count);
        if (count > 0 && lambda <= at->lambda)
            break;
        value[count] = likelihood(&c, x, g, b, lambda, at->phi);
    }
    for (size_t i = 0; i < count; i++)
        best = fmax(best, value[i]);
    for (size_t i = 0; i < count; i++) {
        double weight = exp(value[i] - best), lambda = ldexp(most, -(int)i);
        total += weight;
        kept += weight * information / (information + lambda);
    }
    return information * (total - kept) / kept;
}

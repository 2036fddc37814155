/* Bag effects: a district has properties that no feature describes, which move the linear predictor
 * of all its persons together.  If these effects have variance tau^2 = phi kappa,
 *
 *     Var[answer] = phi (a_B + kappa v(mu_B)^2) + c_B
 *
 * because mu_B moves by v(mu_B) where the linear predictor moves by 1.  a_B falls with the number
 * of persons and the effect does not: many persons do not remove what they have in common.
 *
 * kappa is the root of the derivative of the Gaussian likelihood of the residuals, where the mean
 * of r^2/V is expected to be (bags - freedom) / bags.  phi is 1 for proportions and counts.  For
 * the linear family it is free.  If bags are large, or all of one size, the answers determine
 * phi kappa but not phi: V hardly depends on it.  So kappa has a limit there, is 0 for bags of one
 * size, and is fixed after some refreshes, because otherwise phi might change without end. */
#include <math.h>

#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/dispersion.h"

#define MOST_KAPPA 1e3     /* times a, if phi is free: a has no influence then */
#define LINEAR_REFRESHES 8 /* of kappa, if phi is free */
#define HALVINGS 60
#define SMALL 1e-9 /* a derivative that is rounding, relative to its terms */

static double effect(const aggregate_fit *fit, double mean)
{
    double v = fit->family->variance_at(mean);
    return v * v;
}

void pboost_effects_add(const aggregate_fit *fit, bag_moments *at)
{
    for (size_t b = 0; fit->kappa > 0.0 && b < fit->data.rows.n_bags; b++)
        at->variance[b] += fit->kappa * effect(fit, at->mean[b]);
}

/* The moments of the point become those of `kappa`. */
static void set_kappa(aggregate_fit *fit, double kappa)
{
    for (size_t b = 0; b < fit->data.rows.n_bags; b++)
        fit->point.variance[b] += (kappa - fit->kappa) * effect(fit, fit->point.mean[b]);
    fit->kappa = kappa;
}

/* The dispersion that goes with the point's kappa. */
static double dispersion(const aggregate_fit *fit, double left)
{
    bag_errors errors = {fit->data.rows.n_bags, fit->residual, fit->point.variance,
                         fit->data.noise};
    return fit->family->family == PBOOST_LINEAR ? pboost_dispersion(&errors, left) : 1.0;
}

/* The derivative at the point's kappa; terms: the sum of its terms without their signs. */
static double slope(const aggregate_fit *fit, double left, double *terms)
{
    size_t bags = fit->data.rows.n_bags;
    double phi = dispersion(fit, left), expected = left / (double)bags, sum = 0.0;
    *terms = 0.0;
    for (size_t b = 0; b < bags; b++) {
        double r = fit->residual[b], v = phi * fit->point.variance[b] + fit->data.noise[b];
        if (isinf(v) || !(v > 0.0))
            continue;
        double gain = phi * effect(fit, fit->point.mean[b]) / v;
        sum += (r * r / v - expected) * gain;
        *terms += (r * r / v + expected) * gain;
    }
    return sum;
}

/* The greatest kappa; if phi is 1, the derivative is negative there. */
static double upper_kappa(const aggregate_fit *fit, double left)
{
    double most = 0.0;
    size_t bags = fit->data.rows.n_bags;
    for (size_t b = 0; b < bags; b++) {
        double g = effect(fit, fit->point.mean[b]), a = fit->point.variance[b];
        double r = fit->residual[b];
        if (isinf(a) || !(g > 0.0))
            continue;
        if (fit->family->family == PBOOST_LINEAR)
            most = fmax(most, MOST_KAPPA * a / g);
        else
            most = fmax(most, r * r / g * (double)bags / left);
    }
    return most;
}

void pboost_effects_refresh(aggregate_fit *fit, double left)
{
    double terms;
    bool linear = fit->family->family == PBOOST_LINEAR;
    if (!fit->options->bag_effects || (linear && fit->effect_refreshes++ > LINEAR_REFRESHES))
        return;
    set_kappa(fit, 0.0);
    if (!(slope(fit, left, &terms) > SMALL * terms))
        return;
    double low = 0.0, high = upper_kappa(fit, left);
    for (int i = 0; i < HALVINGS; i++) {
        set_kappa(fit, 0.5 * (low + high));
        if (slope(fit, left, &terms) > 0.0)
            low = fit->kappa;
        else
            high = fit->kappa;
    }
}

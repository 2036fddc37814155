/* Dispersion by the method of moments.
 *
 * f(phi) = sum r^2 / (phi a + c) falls monotonically and is convex, so Newton's method from the
 * left never overshoots; without noise it has a closed form.  By the delta method the standard
 * error is that of f over its slope: Var(r^2 / V) is 2 for a Gaussian and 5 for a Laplace variable.
 */
#include "fit/aggregate/dispersion.h"

#include <math.h>

#include "fit/aggregate/aggregate.h"

#define PHI_LOWER_SE 3.0 /* noise has long tails, and the dispersion is its square */

static double moment(const bag_errors *e, double phi, double *slope)
{
    double sum = 0.0;
    *slope = 0.0;
    for (size_t b = 0; b < e->n_bags; b++) {
        double r2 = e->residual[b] * e->residual[b], v = phi * e->variance[b] + e->noise[b];
        if (r2 == 0.0 || isinf(v))
            continue;
        sum += r2 / v;
        *slope -= r2 / v * (e->variance[b] / v);
    }
    return sum;
}

double pboost_dispersion(const bag_errors *e, double freedom)
{
    double slope, upper = 0.0, noise = 0.0;
    for (size_t b = 0; b < e->n_bags; b++) {
        double r2 = e->residual[b] * e->residual[b];
        upper += r2 > 0.0 && !isinf(e->variance[b]) ? r2 / e->variance[b] : 0.0;
        noise = fmax(noise, e->noise[b]);
    }
    upper /= freedom;
    if (noise == 0.0 || !(upper > 0.0) || !isfinite(upper))
        return upper;
    if (moment(e, 0.0, &slope) <= freedom)
        return 0.0;
    /* Bags without noise make the sum infinite at 0: start where it is finite, on the left. */
    double phi = upper;
    while (phi > 1e-300 && moment(e, phi, &slope) < freedom)
        phi *= 0.5;
    for (int i = 0; i < 200; i++) {
        double excess = moment(e, phi, &slope) - freedom;
        double next = phi - excess / slope;
        if (!(fabs(next - phi) > 1e-14 * phi) || !(next > 0.0))
            break;
        phi = next;
    }
    return phi;
}

double pboost_dispersion_error(const bag_errors *e, double phi)
{
    double slope = 0.0, spread = 0.0;
    for (size_t b = 0; b < e->n_bags; b++) {
        double v = phi * e->variance[b] + e->noise[b];
        if (!(v > 0.0) || isinf(v))
            continue;
        double share = e->noise[b] / v;
        slope += e->variance[b] / v;
        spread += 2.0 + 3.0 * share * share;
    }
    return slope > 0.0 ? sqrt(spread) / slope : 0.0;
}

/* Labels of 0 and 1 have dispersion 1.  Counts have the dispersion of Poisson or more; if bags have
 * effects, these are what is more. */
void pboost_refresh_dispersion(aggregate_fit *fit, double freedom)
{
    double left = fmax((double)fit->data.rows.n_bags - freedom, 1.0);
    pboost_effects_refresh(fit, left);
    bag_errors errors = {fit->data.rows.n_bags, fit->residual, fit->point.variance,
                         fit->data.noise};
    fit->freedom = freedom;
    fit->floored = false;
    bool counts = fit->family->family == PBOOST_POISSON;
    if (fit->family->family == PBOOST_LOGISTIC || (counts && fit->options->bag_effects))
        return;
    fit->phi = pboost_dispersion(&errors, left);
    double error = pboost_dispersion_error(&errors, fit->phi);
    fit->measured_phi = fit->phi;
    fit->least_phi = fmax(fit->phi - PHI_LOWER_SE * error, 0.0);
    if (fit->noisy && fit->phi < error) {
        fit->phi = error;
        fit->floored = true;
    }
    if (counts)
        fit->phi = fmax(fit->phi, 1.0);
}

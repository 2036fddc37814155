/* The dispersion of labels from answers that are correlated.
 *
 * phi solves f(phi) = r' (phi C + N)^-1 r = bags less effective parameters.  1/f is almost a line
 * (without noise it is one), so one step of Newton's method on it is made at each point of the fit.
 * The standard error is that of aggregate/dispersion.c, with a trace in place of the sum. */
#include <math.h>

#include "fit/overlap/overlap_fit.h"

#define PHI_LOWER_SE 3.0 /* as in aggregate/dispersion.c */
#define MOST_CHANGE 16.0 /* of phi in one step */
#define LEAST_PHI 1e-200 /* if the model explains the answers exactly */

/* Of phi, by the delta method.  work: a number by bag. */
static double standard_error(const overlap_fit *fit, double *work)
{
    double spread = 0.0, trace;
    for (size_t b = 0; b < fit->bags.n; b++) {
        double noise = fit->bags.noise[b];
        double share = noise / (fit->phi * fit->answers.own[b] + noise);
        spread += 2.0 + 3.0 * share * share;
    }
    trace = pboost_correlation_label_trace(&fit->answers, &fit->bags, fit->phi, work);
    return trace > 0.0 ? fit->phi * sqrt(spread) / trace : 0.0;
}

void pboost_overlap_dispersion(overlap_fit *fit)
{
    double left = fmax((double)fit->bags.n - fit->freedom, 1.0), phi = fit->phi;
    double f = fit->quadratic / phi, *work = fit->white; /* which the next point sets again */
    if (fit->family->family == PBOOST_LOGISTIC)
        return;
    if (!fit->noisy) {
        fit->phi = fit->measured_phi = fit->least_phi = fmax(fit->quadratic / left, LEAST_PHI);
    } else {
        double slope =
            pboost_correlation_label_part(&fit->answers, &fit->bags, fit->residual, work);
        double next = phi + f * (f - left) / (left * (slope / (phi * phi)));
        double error = standard_error(fit, work);
        next = fmin(fmax(next, phi / MOST_CHANGE), phi * MOST_CHANGE);
        fit->measured_phi = next;
        fit->least_phi = fmax(next - PHI_LOWER_SE * error, 0.0);
        fit->floored = next < error;
        fit->phi = fmax(next, error);
    }
    if (fit->family->family == PBOOST_POISSON)
        fit->phi = fmax(fit->phi, 1.0);
}

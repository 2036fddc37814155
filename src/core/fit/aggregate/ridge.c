/* The default ridge of an aggregate fit.
 *
 * lambda / phi is one over the variance of a weight, and the weights of standardised features share
 * the variance (`spread`) of the linear predictor evenly: lambda = phi d / spread.  The family's
 * wide prior gives the spread; for linear models, whose labels are not seen, it is the variance of
 * the fit's own linear predictor plus phi.
 *
 * Under noise the fit's own spread may be mostly noise, and a wide prior would be too weak where a
 * ridge is needed most.  So under noise the spread is estimated once, from the likelihood of the
 * answers (ridge_evidence.c) and the weights under the wide prior. */
#include <math.h>

#include "data/fit_options.h"
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/ridge_evidence.h"

#define WIDE_REFRESHES 4 /* with the wide prior, until V is about right */

static double wide_spread(const aggregate_fit *fit)
{
    return pboost_prior_spread(fit->family, fit->point.eta_sd, fit->phi);
}

void pboost_ridge_start(aggregate_fit *fit)
{
    fit->spread_refreshes = 0;
    pboost_curves_start(fit);
    fit->spread = fit->wide_spread = wide_spread(fit);
}

void pboost_ridge_refresh_penalty(aggregate_fit *fit)
{
    const pboost_fit_options *o = fit->options;
    double d = (double)pboost_straight_columns(fit);
    double lambda = fit->spread > 0.0 ? fit->phi * d / fit->spread : 0.0;
    fit->lambda = pboost_l2_or(o->l2, fit->multiple * lambda);
    fit->penalty[0] = 0.0;
    pboost_units_penalty(fit->penalty + o->intercept, &fit->units, o->l2, fit->lambda);
    pboost_curves_refresh_penalty(fit);
}

double pboost_ridge_evidence_now(const aggregate_fit *fit)
{
    if (fit->evidence_work == NULL || fit->spread_refreshes != WIDE_REFRESHES)
        return 0.0;
    ridge_point at = {.n = fit->pass.n_parameters,
                      .first = fit->pass.n_parameters - fit->pass.cols,
                      .d = pboost_straight_columns(fit),
                      .matrix = fit->lm.matrix,
                      .parameter = fit->parameter,
                      .penalty = fit->penalty,
                      .lambda = fit->lambda,
                      .phi = pboost_fit_measured_phi(fit)};
    return pboost_ridge_evidence(&at, fit->evidence_work);
}

void pboost_ridge_refresh_spread(aggregate_fit *fit, double evidence)
{
    fit->wide_spread = wide_spread(fit);
    if (fit->evidence_work == NULL || fit->spread_refreshes++ < WIDE_REFRESHES) {
        fit->spread = fit->wide_spread; /* phi starts with all of the signal in it */
        return;
    }
    if (fit->spread_refreshes == WIDE_REFRESHES + 1) {
        double found = fit->phi * (double)pboost_straight_columns(fit) / evidence;
        fit->spread = fit->family->prior_spread > 0.0 ? fmin(found, fit->wide_spread)
                                                      : found + fit->least_phi;
    }
}

bool pboost_ridge_settled(const aggregate_fit *fit)
{
    return fit->evidence_work == NULL || fit->spread_refreshes > WIDE_REFRESHES;
}

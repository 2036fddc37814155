/* The report of an aggregate fit. */
#include <math.h>

#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/quasi.h"

#define SEPARABLE_SD 8.0 /* sd of a linear predictor above which predictions are almost 0 or 1 */
#define SEPARABLE_MEAN 30.0

bool pboost_is_separable(const family_info *family, double eta_mean, double eta_sd)
{
    return family->curved && (eta_sd > SEPARABLE_SD || fabs(eta_mean) > SEPARABLE_MEAN);
}

void pboost_aggregate_report(pboost_fit_report *report, const aggregate_fit *fit,
                             const levenberg_report *last)
{
    const family_info *family = fit->family;
    double bags = (double)fit->data.rows.n_bags, pearson = 0.0;
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double r = fit->residual[b], v = fit->phi * fit->point.variance[b] + fit->data.noise[b];
        pearson += r != 0.0 && !isinf(v) ? r * r / v : 0.0;
    }
    report->estimator = PBOOST_AGGREGATE;
    report->objective = last->value;
    report->gradient_norm = last->gradient_norm;
    report->rank = fit->lm.rank - fit->options->intercept;
    report->l2 = fit->lambda;
    report->l2_standardized = fit->options->l2.mode != PBOOST_L2_FIXED;
    report->bags = fit->data.rows.n_bags;
    report->noisy = fit->noisy;
    report->dispersion = fit->phi;
    report->bag_effect_sd = sqrt(fit->phi * fit->kappa);
    report->dispersion_floored = fit->floored;
    report->pearson = pearson / fmax(bags - fit->freedom, 1.0);
    report->freedom = fit->freedom;
    report->eta_sd = fit->point.eta_sd;
    report->worse_than_constant =
        !fit->mean_masked &&
        pboost_worse_than_constant(&fit->data, &fit->point, fit->options, fit->phi);
    /* Without a ridge a separable fit diverges: the point where it stopped is not a solution. */
    report->separable = pboost_is_separable(family, fit->point.eta_mean, fit->point.eta_sd);
    report->converged = report->converged && !(report->separable && fit->unpenalised);
    pboost_units_find_dropped(&report->rank, &report->first_dropped, &fit->units,
                              fit->lm.factor.dropped, pboost_straight_columns(fit),
                              fit->options->intercept);
}

/* The start of an aggregate fit: the constant model, or the caller's model if that explains the
 * answers better. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/constant.h"
#include "fit/aggregate/quasi.h"

void pboost_aggregate_set_residuals(aggregate_fit *fit)
{
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        fit->residual[b] = fit->data.answer[b] - fit->point.mean[b];
        fit->working.residual[b] = fit->working.answer[b] - fit->point.mean[b];
    }
}

void pboost_working_start(aggregate_fit *fit)
{
    size_t bytes = fit->data.rows.n_bags * sizeof(double);
    memcpy(fit->working.answer, fit->data.answer, bytes);
    memcpy(fit->working.noise, fit->data.noise, bytes);
}

double pboost_aggregate_misfit(const aggregate_fit *fit)
{
    double sum = 0.0;
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double v = fit->phi * fit->point.variance[b] + fit->data.noise[b];
        if (isinf(v))
            continue;
        v = fmax(v, LEAST_VARIANCE);
        sum += fit->residual[b] * fit->residual[b] / v + log(v);
    }
    return isfinite(sum) ? sum : INFINITY;
}

static double move_to(aggregate_fit *fit, const double *x)
{
    pboost_bagpass_run(&fit->point, &fit->pass, x);
    pboost_effects_add(fit, &fit->point);
    pboost_aggregate_set_residuals(fit);
    return pboost_aggregate_misfit(fit);
}

void pboost_aggregate_start(aggregate_fit *fit, const pboost_coef *coef)
{
    double *x = fit->parameter, *given = fit->lm.trial;
    bool warm = coef != NULL && !fit->unpenalised && !pboost_is_zero(coef->theta, coef->n);
    fit->phi = fit->measured_phi = 1.0;
    fit->kappa = 0.0;
    pboost_working_start(fit);
    fit->effect_refreshes = 0;
    memset(x, 0, fit->pass.n_parameters * sizeof *x);
    if (fit->options->intercept)
        x[0] = pboost_constant_intercept(&fit->data.rows, fit->options->family, fit->start_mean);
    move_to(fit, x);
    pboost_refresh_dispersion(fit, 1.0);
    pboost_ridge_start(fit);
    double constant = pboost_aggregate_misfit(fit);
    if (!warm || fit->mean_masked)
        return; /* NOLINT(clang-analyzer-unix.Malloc): x belongs to the fit */
    pboost_units_enter(given, &fit->units, coef, fit->options->intercept);
    if (move_to(fit, given) < constant)
        memcpy(x, given, fit->pass.n_parameters * sizeof *x);
    else
        move_to(fit, x);
}

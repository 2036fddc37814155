/* The aggregate estimator.
 *
 * For any bags, E[answer] = mu_B(theta) and Var[answer] = phi a_B + c_B, so
 *
 *     sum_B J_B (answer_B - mu_B) / V_B - lambda theta = 0,    V_B = a_B + c_B / phi
 *
 * is an unbiased estimating equation (except for lambda), and with these V the best of its kind.  V
 * is divided by phi so that lambda means the same as for the event-level estimator.  With bags of
 * one row and no noise the two estimators are the same.
 *
 * a_B is written as v(mu_B) / n_B, with v the variance function of the family and n_B the size of
 * the bag: its number of rows where they all have the same mean.  The sizes are frozen, the
 * quasi-likelihood
 *
 *     sum_B integral to mu_B of (answer_B - t) / (v(t)/n_B + c_B/phi) dt - (lambda/2) |theta|^2
 *
 * is maximised, whose gradient is the equation, and the sizes are refreshed, until a refresh
 * changes nothing.  With bags of one row and no noise that is the likelihood itself.  (Freezing V
 * as a whole and minimising sum r^2/V has the same fixed points, but does not find them if events
 * are rare: a positive answer whose V is nearly 0 pulls the fit away, and the V after that are
 * worse.)
 *
 * If the noise is Laplace, the equation has the score of the likelihood in the place of r/V: the
 * answers and c that the minimiser sees are refreshed with the sizes (data/answer_error.h). */
#include "fit/aggregate/aggregate.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "fit/aggregate/quasi.h"
#include "try.h"

#define INNER_STEPS 10 /* between two refreshes of V, at most */
/* If residuals are large, steps are short: this many count as one Newton step. */
#define STEPS_A_STEP 5
#define INNER_SLACK 1e-2 /* what is left to the next refresh */
#define SETTLED 1e-9     /* relative change of the dispersion that counts as 0 */
/* After this many refreshes a fit may end this near to its solution, in standard errors. */
#define ENOUGH_REFRESHES 25
#define NEAR 1e-3

/* ---- The quasi-likelihood with sizes frozen -------------------------------------------------- */

static double penalty_at(const aggregate_fit *fit, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        sum += fit->penalty[i] * x[i] * x[i];
    return 0.5 * sum;
}

static double attempt(void *self, const double *x)
{
    aggregate_fit *fit = self;
    pboost_bagpass_run(&fit->trial, &fit->pass, x);
    pboost_effects_add(fit, &fit->trial);
    double value = pboost_quasi_loss(fit, fit->trial.mean) + penalty_at(fit, x);
    return isfinite(value) ? value : INFINITY;
}

static void accept(void *self)
{
    aggregate_fit *fit = self;
    bag_moments old = fit->point;
    fit->point = fit->trial;
    fit->trial = old;
    pboost_aggregate_set_residuals(fit);
    pboost_quasi_set_weights(fit);
}

static double here(void *self, const double *x, double *gradient, double *matrix)
{
    aggregate_fit *fit = self;
    size_t n = fit->pass.n_parameters;
    pboost_bagpass_gram(matrix, gradient, &fit->pass, &fit->point, fit->weight,
                        fit->working.residual);
    for (size_t i = 0; i < n; i++) {
        gradient[i] = fit->penalty[i] * x[i] - gradient[i];
        matrix[i * n + i] += fit->penalty[i];
    }
    return pboost_quasi_loss(fit, fit->point.mean) + penalty_at(fit, x);
}

/* tr A^-1 (A - penalty), with A factored in lm. */
static double effective_freedom(aggregate_fit *fit)
{
    size_t n = fit->pass.n_parameters;
    double freedom = (double)fit->lm.rank, *unit = fit->lm.trial, *column = fit->lm.step;
    for (size_t i = 0; i < n; i++) {
        if (fit->penalty[i] == 0.0)
            continue;
        memset(unit, 0, n * sizeof *unit);
        unit[i] = 1.0;
        pboost_cholesky_solve(column, &fit->lm.factor, unit);
        freedom -= fit->penalty[i] * column[i];
    }
    return freedom;
}

/* ---- Fitting --------------------------------------------------------------------------------- */

pboost_status pboost_aggregate_solve(aggregate_fit *fit, pboost_fit_report *report,
                                     const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    levenberg_report last = {0};
    levenberg_problem problem = {fit->pass.n_parameters, fit, attempt, accept, here};
    const pboost_fit_options *o = fit->options;
    size_t most = o->max_iterations * STEPS_A_STEP;
    double floor = 0.0;

    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    pboost_aggregate_start(fit, coef);
    for (size_t refreshes = 1;; refreshes++) { /* one that moves nothing takes no step */
        pboost_quasi_refresh_sizes(fit, refreshes);
        pboost_ridge_refresh_penalty(fit);
        if (report->iterations == 0)
            floor = fit->family->no_loss * pboost_quasi_loss(fit, fit->point.mean);
        size_t left = fit->mean_masked ? 0 : most - report->iterations;
        levenberg_options options = {.max_steps = left < INNER_STEPS ? left : INNER_STEPS,
                                     .tolerance = o->tolerance,
                                     .slack = INNER_SLACK,
                                     .floor = floor,
                                     .rounding = pboost_quasi_rounding(fit),
                                     .cancel = o->cancel};
        pboost_levenberg(fit->parameter, &last, &fit->lm, &problem, &options, fit->unpenalised);
        TRY(pboost_cancel_check(o->cancel, err));
        report->iterations += last.steps;
        double phi = fit->phi, kappa = fit->kappa, spread = fit->spread;
        double evidence = pboost_ridge_evidence_now(fit);
        pboost_refresh_dispersion(fit, effective_freedom(fit));
        pboost_ridge_refresh_spread(fit, evidence);
        pboost_curves_refresh(fit, refreshes);
        bool settled = pboost_ridge_settled(fit) && pboost_curves_settled(fit) &&
                       fabs(fit->phi - phi) <= SETTLED * phi &&
                       fabs(fit->kappa - kappa) <= SETTLED * kappa &&
                       fabs(fit->spread - spread) <= SETTLED * spread;
        bool near = refreshes >= ENOUGH_REFRESHES && pboost_curves_settled(fit) &&
                    last.first <= NEAR * NEAR * fit->phi;
        report->converged = near || (last.converged && last.steps == 0 && settled);
        if (report->converged || report->iterations >= most || refreshes >= most ||
            fit->mean_masked || (last.stuck && last.steps > 0 && settled))
            break;
    }
    report->converged = report->converged || fit->mean_masked;
    report->mean_masked = fit->mean_masked;
    pboost_aggregate_report(report, fit, &last);
done:
    return st;
}

pboost_status pboost_aggregate_run(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   aggregate_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_fit_options *o = fit->options;

    if (o->l2.mode == PBOOST_L2_CV)
        TRY(pboost_aggregate_choose_l2(fit, coef, err));
    TRY(pboost_aggregate_solve(fit, report, coef, err));
    if (o->curve_freedom != NULL)
        pboost_curves_freedom(o->curve_freedom, fit);
    if (covariance != NULL)
        TRY(pboost_aggregate_covariance(covariance, fit, err));
    if (fit->family->curved && fit->noisy)
        TRY(pboost_bags_are_mixed(&report->undercovers, fit, err));
    TRY(pboost_cancel_check(o->cancel, err));
    pboost_units_leave(coef, &fit->units, fit->parameter, o->intercept);
done:
    return st;
}

pboost_status pboost_aggregate_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const pboost_features *features, const pboost_answers *answers,
                                   size_t first_bag, const pboost_fit_options *options,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_report ignored = {0};
    bag_data data = pboost_bag_data(features, answers, first_bag);
    aggregate_fit fit = {0};

    report = report != NULL ? report : &ignored;
    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(pboost_bag_data_check(coef, &data, answers, options, err));
    TRY(pboost_aggregate_init(&fit, &data, options, err));
    TRY(pboost_aggregate_run(coef, report, covariance, &fit, err));
done:
    pboost_aggregate_free(&fit);
    if (st != PBOOST_OK)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    return st;
}

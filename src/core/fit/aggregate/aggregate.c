/* The aggregate estimator.
 *
 * Whatever the bags, E[answer] = mu_B(theta) and Var[answer] = phi a_B + c_B, so
 *
 *     sum_B J_B (answer_B - mu_B) / V_B - lambda theta = 0,    V_B = a_B + c_B / phi
 *
 * is an unbiased estimating equation (lambda apart), and with these V the best of its kind.  V is
 * over phi so that lambda means what it means to the event-level estimator, which this is where every
 * bag is one row and there is no noise.
 *
 * a_B is written as v(mu_B) / n_B, with v the variance function of the family and n_B the size of the
 * bag: its number of rows where they all have the same mean.  The sizes are frozen, the quasi-likelihood
 *
 *     sum_B integral to mu_B of (answer_B - t) / (v(t)/n_B + c_B/phi) dt - (lambda/2) |theta|^2
 *
 * is maximised, whose gradient is the equation, and the sizes are refreshed, until a refresh leaves
 * nothing to do.  With bags of one row and no noise that is the likelihood itself.  (Freezing V as a
 * whole and minimising sum r^2/V has the same fixed points and does not find them where events are
 * rare: a positive answer whose V is nearly 0 pulls the fit away, and the V after that are worse.) */
#include "fit/aggregate/aggregate.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/linalg.h"
#include "data/fit_options.h"
#include "fit/aggregate/constant.h"
#include "fit/aggregate/dispersion.h"
#include "fit/aggregate/quasi.h"
#include "fit/aggregate/ridge_evidence.h"
#include "try.h"

#define INNER_STEPS 10 /* between two refreshes of V, at most */
/* Where residuals are large, steps are short: so many count for one of Newton's. */
#define STEPS_A_STEP 5
#define INNER_SLACK 1e-2 /* what is left to the next refresh */
#define SEPARABLE_SD 8.0 /* a linear predictor that varies so much means near certainty */
#define SEPARABLE_MEAN 30.0
#define ROUNDING 1e-14 /* relative error of a mean */
#define SETTLED 1e-9   /* relative change of the dispersion that counts as none */
#define LEAST_VARIANCE 1e-150
#define FULL_REFRESHES 8 /* of the sizes of bags; after each such number they take shorter steps */
/* A fit that has taken so many refreshes may end this near to its solution, in standard errors. */
#define ENOUGH_REFRESHES 25
#define NEAR 1e-3

/* ---- The quasi-likelihood with sizes frozen ---------------------------------------------------- */

static double penalty_at(const aggregate_fit *fit, const double *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        sum += fit->penalty[i] * x[i] * x[i];
    return 0.5 * sum;
}

/* V of a bag whose mean prediction is `mean`: the variance function over the frozen size, and noise. */
static double variance_at(const aggregate_fit *fit, size_t b, double mean)
{
    double c = fit->data.noise[b];
    double v = fit->family->variance_at(mean) / fit->size[b] + (c > 0.0 ? c / fit->phi : 0.0);
    return fmax(v, LEAST_VARIANCE);
}

/* Minus the log quasi-likelihood of the means.  Its constant is chosen so that it is half the sum of
 * r^2 / V where the sizes were frozen. */
static double quasi_loss(const aggregate_fit *fit, const double *mean)
{
    double sum = 0.0;
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double y = fit->data.answer[b], at = fit->frozen_mean[b], c = fit->data.noise[b];
        if (fit->size[b] == 0.0)
            continue;
        sum += 0.5 * (y - at) * (y - at) / variance_at(fit, b, at) -
               fit->family->quasi(y, at, mean[b], fit->size[b], c > 0.0 ? c / fit->phi : 0.0);
    }
    return sum;
}

/* What rounding may make of it: a residual is the difference of numbers that may be much larger. */
static double rounding_of_loss(const aggregate_fit *fit)
{
    double sum = 0.0;
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double error = ROUNDING * (fabs(fit->data.answer[b]) + fabs(fit->point.mean[b]));
        sum += fit->weight[b] > 0.0 ? fit->weight[b] * fabs(fit->residual[b]) * error : 0.0;
    }
    return sum;
}

static double attempt(void *self, const double *x)
{
    aggregate_fit *fit = self;
    pboost_bagpass_run(&fit->trial, &fit->pass, x);
    double value = quasi_loss(fit, fit->trial.mean) + penalty_at(fit, x);
    return isfinite(value) ? value : INFINITY;
}

static void set_residuals(aggregate_fit *fit)
{
    for (size_t b = 0; b < fit->data.rows.n_bags; b++)
        fit->residual[b] = fit->data.answer[b] - fit->point.mean[b];
}

static void set_weights(aggregate_fit *fit)
{
    for (size_t b = 0; b < fit->data.rows.n_bags; b++)
        fit->weight[b] = fit->size[b] > 0.0 ? 1.0 / variance_at(fit, b, fit->point.mean[b]) : 0.0;
}

static void accept(void *self)
{
    aggregate_fit *fit = self;
    bag_moments old = fit->point;
    fit->point = fit->trial;
    fit->trial = old;
    set_residuals(fit);
    set_weights(fit);
}

static double here(void *self, const double *x, double *gradient, double *matrix)
{
    aggregate_fit *fit = self;
    size_t n = fit->pass.n_parameters;
    pboost_bagpass_gram(matrix, gradient, &fit->pass, &fit->point, fit->weight, fit->residual);
    for (size_t i = 0; i < n; i++) {
        gradient[i] = fit->penalty[i] * x[i] - gradient[i];
        matrix[i * n + i] += fit->penalty[i];
    }
    return quasi_loss(fit, fit->point.mean) + penalty_at(fit, x);
}

/* ---- What is refreshed between -------------------------------------------------------------- */

/* A refresh may overshoot, so that the fit jumps between two points.  Later refreshes therefore go
 * only a part of the way (of the logarithm), which leaves the solution where it is. */
static void refresh_sizes(aggregate_fit *fit, size_t refreshes)
{
    double part = 1.0 / (double)(1 + (refreshes - 1) / FULL_REFRESHES);
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double size = pboost_bag_size(&fit->data, &fit->point, fit->family, b);
        fit->size[b] = part < 1.0 ? pow(fit->size[b], 1.0 - part) * pow(size, part) : size;
        fit->frozen_mean[b] = fit->point.mean[b];
    }
    set_weights(fit);
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

/* ---- Start ---------------------------------------------------------------------------------- */

/* Minus twice the Gaussian pseudo-likelihood of the point: residuals and their variances weighed
 * against each other. */
static double misfit(const aggregate_fit *fit)
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
    set_residuals(fit);
    return misfit(fit);
}

static void start(aggregate_fit *fit, const pboost_coef *coef)
{
    double *x = fit->parameter, *given = fit->lm.trial;
    bool warm = coef != NULL && fit->options->l2 != 0.0 && !pboost_is_zero(coef->theta, coef->n);
    fit->phi = fit->measured_phi = 1.0;
    memset(x, 0, fit->pass.n_parameters * sizeof *x);
    if (fit->options->intercept)
        x[0] = pboost_constant_intercept(&fit->data.rows, fit->options->family, fit->start_mean);
    move_to(fit, x);
    pboost_refresh_dispersion(fit, 1.0);
    pboost_ridge_start(fit);
    double constant = misfit(fit);
    if (!warm || fit->mean_masked)
        return; /* NOLINT(clang-analyzer-unix.Malloc): x belongs to the fit */
    pboost_units_enter(given, &fit->units, coef, fit->options->intercept);
    if (move_to(fit, given) < constant)
        memcpy(x, given, fit->pass.n_parameters * sizeof *x);
    else
        move_to(fit, x);
}

/* ---- Fitting --------------------------------------------------------------------------------- */

static void fill_report(pboost_fit_report *report, aggregate_fit *fit, const levenberg_report *last)
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
    report->l2_standardized = fit->options->l2 < 0.0;
    report->bags = fit->data.rows.n_bags;
    report->dispersion = fit->phi;
    report->dispersion_floored = fit->floored;
    report->pearson = pearson / fmax(bags - fit->freedom, 1.0);
    report->freedom = fit->freedom;
    report->eta_sd = fit->point.eta_sd;
    report->worse_than_constant =
        !fit->mean_masked &&
        pboost_worse_than_constant(&fit->data, &fit->point, fit->options, fit->phi);
    /* Without a ridge a separable fit has no end: wherever it stopped is no solution. */
    report->separable = family->curved && (fit->point.eta_sd > SEPARABLE_SD ||
                                           fabs(fit->point.eta_mean) > SEPARABLE_MEAN);
    report->converged = report->converged && !(report->separable && fit->options->l2 == 0.0);
    for (size_t i = fit->pass.n_parameters; i-- > fit->options->intercept;)
        if (fit->lm.factor.dropped[i])
            report->first_dropped = i - fit->options->intercept;
}

pboost_status pboost_aggregate_solve(aggregate_fit *fit, pboost_fit_report *report,
                                     const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    levenberg_report last = {0};
    levenberg_problem problem = {fit->pass.n_parameters, fit, attempt, accept, here};
    const pboost_fit_options *o = fit->options;
    bool may_drop = o->l2 == 0.0;
    size_t most = o->max_iterations * STEPS_A_STEP;
    double floor = 0.0;

    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    start(fit, coef);
    for (size_t refreshes = 1;; refreshes++) { /* one that moves nothing takes no step */
        refresh_sizes(fit, refreshes);
        pboost_ridge_refresh_penalty(fit);
        if (report->iterations == 0)
            floor = fit->family->no_loss * quasi_loss(fit, fit->point.mean);
        size_t left = fit->mean_masked ? 0 : most - report->iterations;
        levenberg_options options = {.max_steps = left < INNER_STEPS ? left : INNER_STEPS,
                                     .tolerance = o->tolerance,
                                     .slack = INNER_SLACK,
                                     .floor = floor,
                                     .rounding = rounding_of_loss(fit),
                                     .cancel = o->cancel};
        pboost_levenberg(fit->parameter, &last, &fit->lm, &problem, &options, may_drop);
        TRY(pboost_cancel_check(o->cancel, err));
        report->iterations += last.steps;
        double phi = fit->phi, spread = fit->spread, evidence = pboost_ridge_evidence_now(fit);
        pboost_refresh_dispersion(fit, effective_freedom(fit));
        pboost_ridge_refresh_spread(fit, evidence);
        bool settled = pboost_ridge_settled(fit) && fabs(fit->phi - phi) <= SETTLED * phi &&
                       fabs(fit->spread - spread) <= SETTLED * spread;
        bool near = refreshes >= ENOUGH_REFRESHES && last.first <= NEAR * NEAR * fit->phi;
        report->converged = near || (last.converged && last.steps == 0 && settled);
        if (report->converged || report->iterations >= most || refreshes >= most ||
            fit->mean_masked || (last.stuck && last.steps > 0 && settled))
            break;
    }
    report->converged = report->converged || fit->mean_masked;
    report->mean_masked = fit->mean_masked;
    fill_report(report, fit, &last);
done:
    return st;
}

pboost_status pboost_aggregate_run(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   aggregate_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_fit_options *o = fit->options;

    if (o->l2 == PBOOST_L2_CV)
        TRY(pboost_aggregate_choose_l2(fit, coef, err));
    TRY(pboost_aggregate_solve(fit, report, coef, err));
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
                                   const pboost_matrix *x, const double *weight,
                                   const double *offset, const pboost_answers *answers,
                                   size_t first_bag, const pboost_fit_options *options,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_report ignored = {0};
    bag_data data = pboost_bag_data(x, weight, offset, answers, first_bag);
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

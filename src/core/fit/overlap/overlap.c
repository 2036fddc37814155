/* The aggregate estimator for bags that share rows.
 *
 * With V = C + N/phi, the covariance of the answers over phi, the equation is
 *
 *     J' V^-1 (answer - mu) - lambda theta = 0
 *
 * For bags that share no row V is diagonal, and this is the equation of the aggregate estimator.
 * With the factor V = L L', answers and jacobian are multiplied by L^-1 and are then those of
 * independent bags.
 *
 * Steps are those of Fisher scoring: (J' V^-1 J + lambda)^-1 times the equation, with V at the
 * point.  An equation with such a V has no function whose gradient it is.  A step is taken if the
 * next one, by the same matrix, is shorter.  If it is not, V is frozen, and the step is halved
 * until the sum of squares that V gives is smaller: its gradient at the point is the equation. */
#include "fit/overlap/overlap.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "fit/aggregate/constant.h"
#include "fit/aggregate/ridge_evidence.h"
#include "fit/overlap/overlap_fit.h"
#include "try.h"

#define STEPS_A_STEP 5   /* of this fit in one of max_iterations */
#define SHORTER 0.5      /* squared length of the next step, relative */
#define LEAST_PART 0.1   /* of a step that was too long */
#define MOST_HALVINGS 40 /* of a step */
#define LEAST_GAIN 1e-4  /* of a part of a step, relative to what its slope promises */
/* After this many steps a fit may end this near to its solution, in standard errors. */
#define ENOUGH_STEPS 25
#define NEAR 1e-3
#define SETTLED 1e-9   /* relative change of the dispersion that counts as 0 */
#define ROUNDING 1e-20 /* squared length of a step that is rounding, relative to the answers */

/* ---- The equation ---------------------------------------------------------------------------- */

/* Sets all that depends on the parameters.  False where something overflows. */
static bool move_to(overlap_fit *fit, const double *x)
{
    const pboost_fit_options *o = fit->options;
    bool same = fit->factored_phi > 0.0 && !fit->family->curved &&
                (!fit->noisy || fit->factored_phi == fit->phi);
    pboost_bagpass_run(&fit->point, &fit->pass, x);
    pboost_row_variances(&fit->labels, &fit->bags, &fit->units, o->family, x, o->intercept,
                         o->threads);
    if (!same)
        pboost_correlation_set(&fit->answers, &fit->bags, fit->labels.variance, fit->phi, false);
    fit->factored_phi = fit->phi;
    for (size_t b = 0; b < fit->bags.n; b++)
        fit->residual[b] = fit->white[b] = fit->bags.answer[b] - fit->point.mean[b];
    pboost_correlation_whiten(fit->white, 1, &fit->answers, &fit->bags);
    pboost_correlation_whiten(fit->point.jacobian, fit->pass.stride, &fit->answers, &fit->bags);
    pboost_bagpass_gram(fit->gram, fit->pull, &fit->pass, &fit->point, fit->ones, fit->white);
    fit->quadratic = 0.0;
    for (size_t b = 0; b < fit->bags.n; b++)
        fit->quadratic += fit->white[b] * fit->white[b];
    return isfinite(fit->quadratic) && isfinite(fit->labels.eta_sd);
}

static void set_gradient(overlap_fit *fit, const double *x)
{
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        fit->gradient[i] = fit->penalty[i] * x[i] - fit->pull[i];
}

/* factor^-1 gradient into step; returns gradient . step. */
static double solve_gradient(overlap_fit *fit)
{
    double sum = 0.0;
    pboost_cholesky_solve(fit->step, &fit->factor, fit->gradient);
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        sum += fit->gradient[i] * fit->step[i];
    return sum;
}

/* The undamped step from the point; returns its squared length. */
static double find_step(overlap_fit *fit)
{
    size_t n = fit->pass.n_parameters;
    memcpy(fit->matrix, fit->gram, n * n * sizeof *fit->gram);
    for (size_t i = 0; i < n; i++)
        fit->matrix[i * n + i] += fit->penalty[i];
    memcpy(fit->factor.l, fit->matrix, n * n * sizeof *fit->matrix);
    size_t rank = pboost_cholesky_factor(&fit->factor, pboost_rank_tolerance(n),
                                         fit->unpenalised && !fit->ranked);
    fit->rank = fit->ranked ? fit->rank : rank;
    fit->ranked = true;
    set_gradient(fit, fit->parameter);
    return solve_gradient(fit);
}

/* Half of residual' V^-1 residual and penalty at x, with V as it was set last. */
static double frozen_value(overlap_fit *fit, const double *x)
{
    double sum = 0.0;
    pboost_bagpass_run(&fit->point, &fit->pass, x);
    for (size_t b = 0; b < fit->bags.n; b++)
        fit->white[b] = fit->bags.answer[b] - fit->point.mean[b];
    pboost_correlation_whiten(fit->white, 1, &fit->answers, &fit->bags);
    for (size_t b = 0; b < fit->bags.n; b++)
        sum += fit->white[b] * fit->white[b];
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        sum += fit->penalty[i] * x[i] * x[i];
    return isfinite(sum) ? 0.5 * sum : INFINITY;
}

/* Moves to the point less a part of `step`.  Returns the squared length of the next step by the
 * same matrix (infinite where something overflows), and what is left of the gradient along `step`.
 */
static double try_part(overlap_fit *fit, const double *step, double part, double *along)
{
    size_t n = fit->pass.n_parameters;
    for (size_t j = 0; j < n; j++)
        fit->trial[j] = fit->parameter[j] - part * step[j];
    bool finite = move_to(fit, fit->trial);
    set_gradient(fit, fit->trial);
    double next = solve_gradient(fit);
    *along = 0.0;
    for (size_t j = 0; j < n; j++)
        *along += fit->gradient[j] * step[j];
    return finite && isfinite(next) ? next : INFINITY;
}

/* Halves the step until the sum of squares with V frozen at the point is smaller, and moves there;
 * false if it never is.  length: squared, of the step. */
static bool search_frozen(overlap_fit *fit, const double *step, double length, size_t *tried)
{
    double part = 1.0, value;
    move_to(fit, fit->parameter);
    value = frozen_value(fit, fit->parameter);
    for (int i = 0; i < MOST_HALVINGS; i++) {
        for (size_t j = 0; j < fit->pass.n_parameters; j++)
            fit->trial[j] = fit->parameter[j] - part * step[j];
        ++*tried;
        if (frozen_value(fit, fit->trial) <= value - LEAST_GAIN * part * length) {
            move_to(fit, fit->trial);
            return true;
        }
        part *= 0.5;
    }
    move_to(fit, fit->parameter);
    return false;
}

/* Takes the step, or a part of it; false if none gains anything.  length: squared, of the step. */
static bool advance(overlap_fit *fit, double length, size_t *tried)
{
    size_t n = fit->pass.n_parameters;
    double along, *step = fit->matrix; /* which the next step sets again */
    memcpy(step, fit->step, n * sizeof *step);
    ++*tried;
    double next = try_part(fit, step, 1.0, &along);
    bool taken = next <= SHORTER * length || length <= ROUNDING * fit->quadratic;
    if (!taken && isfinite(next) && along < 0.0) { /* too far: back to where the gradient is 0 */
        ++*tried;
        taken = try_part(fit, step, fmax(length / (length - along), LEAST_PART), &along) < length;
    }
    if (!taken && !search_frozen(fit, step, length, tried))
        return false;
    memcpy(fit->parameter, fit->trial, n * sizeof *fit->trial);
    return true;
}

/* ---- Ridge ----------------------------------------------------------------------------------- */

static void refresh_penalty(overlap_fit *fit)
{
    const pboost_fit_options *o = fit->options;
    double d = (double)fit->pass.cols;
    fit->wide_spread = pboost_prior_spread(fit->family, fit->labels.eta_sd, fit->phi);
    fit->spread = fit->judged ? fit->spread : fit->wide_spread;
    fit->lambda = pboost_l2_or(o->l2, fit->spread > 0.0 ? fit->phi * d / fit->spread : 0.0);
    fit->penalty[0] = 0.0;
    pboost_units_penalty(fit->penalty + o->intercept, &fit->units, o->l2, fit->lambda);
}

/* Under noise, once the fit with the wide ridge is found: as in aggregate/ridge.c. */
static void judge_spread(overlap_fit *fit)
{
    ridge_point at = {.n = fit->pass.n_parameters,
                      .first = fit->options->intercept,
                      .d = fit->pass.cols,
                      .matrix = fit->matrix,
                      .parameter = fit->parameter,
                      .penalty = fit->penalty,
                      .lambda = fit->lambda,
                      .phi = pboost_measured_phi(fit->phi, fit->measured_phi, fit->bags.n,
                                                 fit->answers.own, fit->bags.noise)};
    double found = fit->phi * (double)at.d / pboost_ridge_evidence(&at, fit->evidence_work);
    fit->spread =
        fit->family->prior_spread > 0.0 ? fmin(found, fit->wide_spread) : found + fit->least_phi;
    fit->judged = true;
}

/* ---- Fitting --------------------------------------------------------------------------------- */

/* Minus twice the Gaussian pseudo-likelihood of the point. */
static double misfit(const overlap_fit *fit)
{
    return fit->quadratic / fit->phi + (double)fit->bags.n * log(fit->phi) +
           pboost_correlation_log_determinant(&fit->answers, &fit->bags);
}

/* The constant model, and phi and ridge there; returns its misfit. */
static double start(overlap_fit *fit)
{
    bag_data data = {fit->rows, fit->bags.answer, fit->bags.noise, false};
    answer_mean mean = pboost_answer_mean(&data, NULL, fit->options->family);
    bool intercept = fit->options->intercept;
    fit->mean_masked = intercept && (mean.outside || mean.unclear);
    fit->phi = fit->measured_phi = 1.0;
    if (intercept)
        fit->parameter[0] =
            pboost_constant_intercept(&fit->rows, fit->options->family, mean.nearest);
    for (int i = 0; i < 2; i++) { /* V needs phi, and phi needs V */
        move_to(fit, fit->parameter);
        fit->freedom = 1.0;
        pboost_overlap_dispersion(fit);
    }
    move_to(fit, fit->parameter);
    return misfit(fit);
}

/* tr A^-1 (A - penalty). */
static double effective_freedom(overlap_fit *fit)
{
    size_t n = fit->pass.n_parameters;
    double freedom = (double)fit->rank, *column = fit->trial;
    for (size_t i = 0; i < n; i++) {
        if (fit->penalty[i] == 0.0)
            continue;
        memset(column, 0, n * sizeof *column);
        column[i] = 1.0;
        pboost_cholesky_solve(column, &fit->factor, column);
        freedom -= fit->penalty[i] * column[i];
    }
    return freedom;
}

static double value_at(const overlap_fit *fit)
{
    double sum = fit->quadratic;
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        sum += fit->penalty[i] * fit->parameter[i] * fit->parameter[i];
    return 0.5 * sum;
}

static pboost_status solve(overlap_fit *fit, pboost_fit_report *report, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_fit_options *o = fit->options;
    size_t most = o->max_iterations * STEPS_A_STEP;
    double constant = start(fit), floor = fit->family->no_loss * value_at(fit);
    bool moved = true, wants_ridge = fit->evidence_work != NULL && !fit->mean_masked;

    for (;;) {
        double phi = fit->phi, spread = fit->spread;
        refresh_penalty(fit);
        double length = find_step(fit);
        fit->freedom = effective_freedom(fit);
        pboost_overlap_dispersion(fit);
        bool settled = fabs(fit->phi - phi) <= SETTLED * phi &&
                       fabs(fit->spread - spread) <= SETTLED * fit->spread;
        if (fit->noisy && fit->phi != phi)
            move_to(fit, fit->parameter);
        bool near = report->iterations >= ENOUGH_STEPS && length <= NEAR * NEAR * fit->phi;
        bool solved = 0.5 * length <= o->tolerance * fmax(value_at(fit), floor);
        report->converged = fit->mean_masked || (settled && (solved || near));
        if (report->converged && wants_ridge && !fit->judged) {
            judge_spread(fit);
            continue;
        }
        if (report->converged || !moved || report->iterations >= most)
            break;
        TRY(pboost_cancel_check(o->cancel, err));
        pboost_progress(o->cancel, "fitting", (double)report->iterations, 0.0);
        moved = advance(fit, length, &report->iterations) || !settled;
    }
    report->objective = value_at(fit);
    report->worse_than_constant = !fit->mean_masked && misfit(fit) > constant + 1e-6;
done:
    return st;
}

static pboost_status set_covariance(double *covariance, overlap_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = fit->pass.n_parameters, first = fit->options->intercept;
    double *inverse = NULL;

    NEED(inverse = pboost_alloc(n * n, sizeof *inverse), err);
    memcpy(fit->factor.l, fit->matrix, n * n * sizeof *fit->matrix);
    if (fit->judged) { /* see widen() in aggregate/covariance.c */
        double wide = fmin(fit->phi * (double)fit->pass.cols / fit->wide_spread, fit->lambda);
        for (size_t i = first; i < n; i++)
            fit->factor.l[i * n + i] += wide - fit->penalty[i];
    }
    pboost_cholesky_factor(&fit->factor, pboost_rank_tolerance(n), false);
    pboost_cholesky_invert(inverse, &fit->factor);
    for (size_t i = 0; i < n * n; i++)
        inverse[i] *= fit->phi;
    pboost_units_covariance(covariance, &fit->units, inverse, fit->options->intercept);
done:
    free(inverse);
    return st;
}

static void set_report(pboost_fit_report *report, const overlap_fit *fit)
{
    const pboost_fit_options *o = fit->options;
    double bags = (double)fit->bags.n;
    report->estimator = PBOOST_AGGREGATE;
    for (size_t i = 0; i < fit->pass.n_parameters; i++)
        report->gradient_norm = fmax(report->gradient_norm, fabs(fit->gradient[i]));
    report->rank = fit->rank - o->intercept;
    report->l2 = fit->lambda;
    report->l2_standardized = o->l2.mode != PBOOST_L2_FIXED;
    report->bags = fit->bags.n;
    report->redundant = fit->bags.redundant;
    report->noisy = fit->noisy;
    report->dispersion = fit->phi;
    report->dispersion_floored = fit->floored;
    report->pearson = fit->quadratic / fit->phi / fmax(bags - fit->freedom, 1.0);
    report->freedom = fit->freedom;
    report->eta_sd = fit->labels.eta_sd;
    report->mean_masked = fit->mean_masked;
    report->separable = pboost_is_separable(fit->family, fit->labels.eta_mean, fit->labels.eta_sd);
    report->converged = report->converged && !(report->separable && fit->unpenalised);
    pboost_units_find_dropped(&report->rank, &report->first_dropped, &fit->units,
                              fit->factor.dropped, fit->units.cols, o->intercept);
}

/* What has no form for shared rows yet. */
static pboost_status check_options(const pboost_fit_options *o, pboost_error *err)
{
    const struct {
        bool wanted;
        const char *what;
    } refused[] = {{o->l2.mode == PBOOST_L2_CV, "l2 by cross-validation"},
                   {o->covariance == PBOOST_COVARIANCE_SANDWICH, "the sandwich covariance"},
                   {o->bag_effects, "bag_effects"},
                   {o->curves > 0, "curves"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].wanted)
            return pboost_fail(err, PBOOST_INVALID,
                               "%s cannot be used where bags share rows; leave it out",
                               refused[i].what);
    return PBOOST_OK;
}

pboost_status pboost_overlap_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                 const pboost_features *features, const pboost_answers *answers,
                                 size_t first_bag, const pboost_fit_options *options,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_report ignored = {0};
    bag_data data = pboost_bag_data(features, answers, first_bag);
    overlap_fit fit = {0};

    report = report != NULL ? report : &ignored;
    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(pboost_bag_data_check(coef, &data, answers, options, err));
    TRY(check_options(options, err));
    TRY(pboost_overlap_init(&fit, &data, options, err));
    TRY(solve(&fit, report, err));
    set_report(report, &fit);
    if (covariance != NULL)
        TRY(set_covariance(covariance, &fit, err));
    TRY(pboost_cancel_check(options->cancel, err));
    pboost_units_leave(coef, &fit.units, fit.parameter, options->intercept);
done:
    pboost_overlap_free(&fit);
    if (st != PBOOST_OK)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    return st;
}

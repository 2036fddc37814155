/* The event-level estimator (paper, eq. 1): every sample's target is its bag's answer.
 *
 * The objective becomes callbacks for the minimiser; parameters are ordered intercept first, so that
 * of an intercept and a constant column it is the column that adds nothing.
 *
 * Large tables are fitted on a 64th and an 8th of the samples first: a full pass is then spent only
 * where it refines.  With many columns a Gram matrix costs more than several gradients, and that of an
 * 8th of the samples serves as a rough Hessian, as that of a 64th does in fitting the 8th. */
#include "fit/event/event.h"

#include <math.h>
#include <string.h>

#include "data/family.h"
#include "data/matrix.h"
#include "fit/event/newton.h"
#include "passes/row_pass.h"
#include "try.h"
#include "base/workspace.h"

#define COARSE 64 /* one sample of so many is taken in the warm-up */
#define FINE 8
#define WARM_UP_ROWS 1024 /* least rows of a warm-up, and least rows per parameter */
#define WARM_UP_ROWS_PER_PARAMETER 40
#define DEAR_ROWS_PER_PARAMETER 10  /* where every step with a true Hessian is dear */
#define FEWEST_ROWS_PER_PARAMETER 6 /* for a Hessian of any use */
#define WARM_UP_TOLERANCE 1e-3      /* the step taken within it leaves about its square */
#define DEAR_COLUMNS 24             /* from here on a rough Hessian pays */

typedef struct {
    const pboost_fit_options *options;
    const family_info *family;
    size_t cols, n_parameters;
    double *theta;         /* padded */
    double at_zero, floor; /* the value where all parameters are 0; what counts as no loss at all */
    pass_plan full, fine, coarse; /* the last two over parts of the samples; may be empty */
    pboost_workspace *work;
} event_fit;

/* A function to minimise, and where its Hessian is dear the plan of a cheaper one. */
typedef struct {
    event_fit *fit;
    pass_plan *plan, *rough;
} stage;

/* ---- The objective --------------------------------------------------------------------------- */

static double unpack(event_fit *fit, const double *x)
{
    size_t first = fit->options->intercept;
    memcpy(fit->theta, x + first, fit->cols * sizeof *x);
    return first ? x[0] : 0.0;
}

static void fill_hessian(double *hessian, const event_fit *fit, const pass_sums *sums,
                         size_t padded)
{
    size_t first = fit->options->intercept, n = fit->n_parameters;
    if (first)
        hessian[0] = sums->curvature;
    for (size_t j = 0; j < fit->cols; j++) {
        double *row = hessian + (j + first) * n;
        if (first)
            row[0] = sums->cross[j];
        memcpy(row + first, sums->gram + j * padded, (j + 1) * sizeof *row);
        row[first + j] += fit->options->l2;
    }
}

static double evaluate_pass(event_fit *fit, pass_plan *plan, const double *x, double *gradient,
                            double *hessian)
{
    double l2 = fit->options->l2, penalty = 0.0;
    size_t first = fit->options->intercept;
    double intercept = unpack(fit, x);
    pass_sums sums = pboost_pass_run(plan, fit->theta, intercept, hessian != NULL);
    if (gradient != NULL) {
        if (first)
            gradient[0] = sums.residual;
        for (size_t j = 0; j < fit->cols; j++) {
            gradient[first + j] = sums.gradient[j] + l2 * fit->theta[j];
            penalty += fit->theta[j] * fit->theta[j];
        }
    }
    if (hessian != NULL)
        fill_hessian(hessian, fit, &sums, plan->padded);
    return sums.value + (l2 > 0.0 ? 0.5 * l2 * penalty : 0.0);
}

static double evaluate(void *self, const double *x, double *gradient, double *hessian)
{
    const stage *s = self;
    return evaluate_pass(s->fit, s->plan, x, gradient, hessian);
}

static void rough_hessian(void *self, const double *x, double *hessian)
{
    const stage *s = self;
    evaluate_pass(s->fit, s->rough, x, NULL, hessian);
}

static double reach(void *self, const double *p)
{
    const stage *s = self;
    double intercept = unpack(s->fit, p);
    return pboost_pass_direction(s->plan, s->fit->theta, intercept).reach;
}

static bool recedes(void *self, const double *p)
{
    const stage *s = self;
    double intercept = unpack(s->fit, p);
    pass_direction d = pboost_pass_direction(s->plan, s->fit->theta, intercept);
    return d.reach > 0.0 && d.slope <= SLOPE_OF_ZERO;
}

/* An intercept is not penalised: whatever l2, it runs away from targets whose mean is no mean of the
 * family. */
pboost_status pboost_event_check_intercept(const pboost_samples *s, const family_info *family,
                                           pboost_error *err)
{
    double sum = 0.0, total = pboost_samples_total_weight(s);
    if (s->weight == NULL)
        sum = pboost_glm_kernels()->sum(s->target, s->n);
    else
        for (size_t i = 0; i < s->n; i++)
            sum += s->weight[pboost_samples_row(s, i)] * s->target[i];
    double mean = sum / total;
    if (isfinite(mean) && (family->slope_at_infinity(mean, 1.0) <= 0.0 ||
                           family->slope_at_infinity(mean, -1.0) <= 0.0))
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "no finite minimiser: the mean target is %g, and %s means are %s; the "
                           "intercept is not penalised, so fit without one and with l2 > 0",
                           mean, family->name, family->means);
    return PBOOST_OK;
}

/* The value where all parameters are 0, which needs no features.  Where b is not quadratic the loss
 * at eta = 0 is b(0), whatever the target. */
double pboost_event_value_at_zero(const pboost_samples *s, pboost_family family)
{
    double eta[GLM_BLOCK], weight[GLM_BLOCK], value = 0.0;
    const family_kernels *kernels = pboost_family_kernels(family);
    if (s->offset == NULL && pboost_family_info(family)->curved) {
        eta[0] = 0.0;
        return pboost_samples_total_weight(s) * kernels->total(eta, eta, NULL, 1);
    }
    for (size_t at = 0; at < s->n; at += GLM_BLOCK) {
        size_t count = s->n - at < GLM_BLOCK ? s->n - at : GLM_BLOCK;
        for (size_t i = 0; i < count; i++) {
            size_t row = pboost_samples_row(s, at + i);
            eta[i] = s->offset != NULL ? s->offset[row] : 0.0;
            weight[i] = s->weight != NULL ? s->weight[row] : 1.0;
        }
        value += kernels->total(eta, s->target + at, s->weight != NULL ? weight : NULL, count);
    }
    return value;
}

/* ---- Fitting --------------------------------------------------------------------------------- */

static pboost_status check(const pboost_coef *coef, const pboost_samples *samples,
                           const pboost_fit_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (o->struct_size != sizeof *o)
        FAIL(err, PBOOST_INVALID,
             "struct_size of the fit options is %zu; start from "
             "PBOOST_FIT_OPTIONS_INIT, which has %zu",
             o->struct_size, sizeof *o);
    TRY(pboost_family_check(o->family, err));
    if (o->estimator != PBOOST_EVENT)
        FAIL(err, PBOOST_INVALID, "the estimator is %s, but this fits by event",
             pboost_estimator_name(o->estimator));
    if (o->l2 == PBOOST_L2_CV)
        FAIL(err, PBOOST_INVALID, "l2 by cross-validation is for the aggregate estimator");
    if ((!(o->l2 >= 0.0) && o->l2 != PBOOST_L2_DEFAULT) || isinf(o->l2))
        FAIL(err, PBOOST_INVALID, "l2 is %g; it must be finite and not negative", o->l2);
    if (!(o->tolerance >= 0.0))
        FAIL(err, PBOOST_INVALID, "tolerance is %g; it must not be negative", o->tolerance);
    if (o->threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", o->threads);
    TRY(pboost_samples_check(samples, true, err));
    if (coef->n != samples->x->cols)
        FAIL(err, PBOOST_INVALID, "there are %zu coefficients for %zu columns", coef->n,
             samples->x->cols);
    for (size_t j = 0; j < coef->n; j++)
        if (!isfinite(coef->theta[j]))
            FAIL(err, PBOOST_INVALID, "the start has weight %g at column %zu; it must be finite",
                 coef->theta[j], j);
    if (!isfinite(coef->intercept))
        FAIL(err, PBOOST_INVALID, "the start has intercept %g; it must be finite", coef->intercept);
    TRY(pboost_samples_check_weights(samples, err));
done:
    return st;
}

/* Why the function is not finite even where all parameters are 0. */
static pboost_status explain_overflow(const pboost_samples *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_samples_find_nonfinite(s, err));
    for (size_t j = 0; j < s->x->cols; j++)
        for (size_t i = 0; i < s->n; i++) {
            size_t row = pboost_samples_row(s, i);
            double v = pboost_matrix_at(s->x, row, j);
            if (fabs(v) > 1e150)
                FAIL(err, PBOOST_BAD_DATA,
                     "row %zu, column %zu is %g; columns beyond 1e150 must be rescaled", row, j, v);
        }
    FAIL(err, PBOOST_BAD_DATA, "the sum of losses overflows: rescale targets, weights or offsets");
done:
    return st;
}

static bool dear(const event_fit *fit)
{
    return fit->family->curved && fit->options->l2 > 0.0 && fit->cols >= DEAR_COLUMNS;
}

static bool enough_rows(const event_fit *fit, size_t rows)
{
    size_t each = dear(fit) ? DEAR_ROWS_PER_PARAMETER : WARM_UP_ROWS_PER_PARAMETER;
    return rows >= WARM_UP_ROWS && rows / each >= fit->n_parameters;
}

/* Plans of one of FINE samples and of fewer, unless that would be too few. */
static pboost_status plan_parts(event_fit *fit, const pboost_samples *samples, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t coarse = COARSE, most = samples->n / FEWEST_ROWS_PER_PARAMETER / fit->n_parameters;
    if (coarse > most)
        coarse = most;
    TRY(pboost_pass_init_part(&fit->fine, samples, fit->family, FINE, fit->full.shift,
                              fit->options->threads, fit->work, err));
    fit->fine.cross = fit->options->intercept;
    if (coarse >= 2 * FINE)
        TRY(pboost_pass_init_part(&fit->coarse, samples, fit->family, coarse, fit->full.shift,
                                  fit->options->threads, fit->work, err));
    fit->coarse.cross = fit->options->intercept;
done:
    return st;
}

/* Fits the samples of one plan, roughly.  What it finds is only a place to start. */
static pboost_status warm_up(double *x, event_fit *fit, pass_plan *plan, pass_plan *rough,
                             pboost_error *err)
{
    pboost_newton_report ignored;
    stage s = {fit, plan, rough};
    pboost_objective f = {.n = fit->n_parameters,
                          .self = &s,
                          .evaluate = evaluate,
                          .rough_hessian = dear(fit) ? rough_hessian : NULL,
                          .reach = reach};
    pboost_newton_options o = {.max_iterations = 12,
                               .tolerance = WARM_UP_TOLERANCE,
                               .definite = fit->options->l2 > 0.0,
                               .floor = fit->floor,
                               .limit = INFINITY,
                               .work = fit->work,
                               .watch = fit->options->watch};
    return pboost_newton(x, &ignored, &f, &o, err);
}

static pboost_status minimise(double *x, pboost_newton_report *report, event_fit *fit, double limit,
                              pboost_error *err)
{
    const pboost_fit_options *o = fit->options;
    bool curved = fit->family->curved, definite = o->l2 > 0.0;
    stage s = {fit, &fit->full, &fit->fine};
    pboost_objective f = {.n = fit->n_parameters,
                          .self = &s,
                          .evaluate = evaluate,
                          .rough_hessian =
                              dear(fit) && fit->fine.sums != NULL ? rough_hessian : NULL,
                          .reach = reach,
                          .recedes = curved && !definite ? recedes : NULL};
    pboost_newton_options newton = {.max_iterations = o->max_iterations,
                                    .tolerance = o->tolerance,
                                    .definite = definite,
                                    .quadratic = !curved,
                                    .floor = fit->floor,
                                    .limit = limit,
                                    .work = fit->work,
                                    .watch = o->watch};
    return pboost_newton(x, report, &f, &newton, err);
}

/* Whether every parameter is 0. */
static bool is_zero(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0.0)
            return false;
    return true;
}

/* From the caller's start, from a warm-up, or from 0, whichever is the first to be no worse than 0.
 * A start that makes columns look dependent may owe that to saturated weights: 0 cannot. */
static pboost_status minimise_from_best(double *x, pboost_newton_report *report, event_fit *fit,
                                        const pboost_samples *samples, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = fit->n_parameters;
    bool curved = fit->family->curved, large = curved && enough_rows(fit, samples->n / FINE);
    bool given = !is_zero(x, n);
    if (given) {
        TRY(minimise(x, report, fit, fit->at_zero, err));
        if (report->started && !(curved && report->rank < n))
            goto done;
        memset(x, 0, n * sizeof *x);
    }
    if (large) {
        TRY(plan_parts(fit, samples, err));
        bool few = fit->coarse.sums == NULL;
        if (!few && fit->coarse.count / WARM_UP_ROWS_PER_PARAMETER >= n &&
            fit->coarse.count >= WARM_UP_ROWS)
            TRY(warm_up(x, fit, &fit->coarse, &fit->coarse, err));
        TRY(warm_up(x, fit, &fit->fine, few ? &fit->fine : &fit->coarse, err));
        TRY(minimise(x, report, fit, fit->at_zero, err));
        if (report->started && report->rank == n)
            goto done;
        memset(x, 0, n * sizeof *x);
    }
    TRY(minimise(x, report, fit, INFINITY, err));
done:
    pboost_pass_free(&fit->coarse);
    pboost_pass_free(&fit->fine);
    return st;
}

void pboost_event_fill_report(pboost_fit_report *out, const pboost_newton_report *r,
                              const pboost_fit_options *o)
{
    bool intercept = o->intercept;
    *out = (pboost_fit_report){.converged = r->converged,
                               .iterations = r->iterations,
                               .objective = r->value,
                               .gradient_norm = r->gradient_norm,
                               .rank = r->rank - intercept,
                               .first_dropped = r->first_dropped,
                               .l2 = o->l2,
                               .dispersion = NAN,
                               .pearson = NAN,
                               .freedom = NAN,
                               .eta_sd = NAN};
    if (intercept && r->first_dropped != SIZE_MAX)
        out->first_dropped--;
}

pboost_status pboost_event_fit_in(pboost_workspace *work, pboost_coef *coef,
                                  pboost_fit_report *report, const pboost_samples *samples,
                                  const pboost_fit_options *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_newton_report newton;
    pboost_fit_options chosen = *given;
    const pboost_fit_options *options = &chosen;
    event_fit fit = {.options = options, .work = work};
    double *shift = NULL, *x = NULL;
    bool shifted = false;
    size_t first = options->intercept;

    if (report != NULL)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(check(coef, samples, given, err));
    if (chosen.l2 == PBOOST_L2_DEFAULT)
        chosen.l2 = EVENT_L2;
    fit.family = pboost_family_info(options->family);
    fit.cols = coef->n;
    fit.n_parameters = coef->n + first;
    NEED(shift = pboost_take(work, coef->n, sizeof *shift), err);
    NEED(x = pboost_take(work, fit.n_parameters, sizeof *x), err);
    NEED(fit.theta =
             pboost_take_zeros(work, pboost_panel_blocks(coef->n) * PANEL_LANES, sizeof *fit.theta),
         err);
    if (options->intercept && fit.family->curved)
        TRY(pboost_event_check_intercept(samples, fit.family, err));
    fit.at_zero = pboost_event_value_at_zero(samples, options->family);
    fit.floor = fit.family->no_loss * fabs(fit.at_zero);
    shifted = options->intercept && pboost_pass_shift(shift, samples);
    TRY(pboost_pass_init_part(&fit.full, samples, fit.family, 1, shifted ? shift : NULL,
                              options->threads, work, err));
    fit.full.cross = options->intercept;

    memcpy(x + first, coef->theta, coef->n * sizeof *x);
    if (first)
        x[0] = coef->intercept;
    for (size_t j = 0; shifted && j < coef->n; j++)
        x[0] += shift[j] * coef->theta[j];
    TRY(minimise_from_best(x, &newton, &fit, samples, err));
    if (!newton.started)
        TRY(explain_overflow(samples, err));
    if (newton.recedes)
        FAIL(err, PBOOST_BAD_DATA,
             "no finite minimiser: the data are separable, the %s loss falls for ever along a "
             "direction of theta; use l2 > 0",
             fit.family->name);

    memcpy(coef->theta, x + first, coef->n * sizeof *x);
    coef->intercept = first ? x[0] : 0.0;
    for (size_t j = 0; shifted && j < coef->n; j++)
        coef->intercept -= shift[j] * coef->theta[j];
    if (report != NULL)
        pboost_event_fill_report(report, &newton, options);
done:
    pboost_pass_free(&fit.full);
    pboost_give(work, fit.theta);
    pboost_give(work, shift);
    pboost_give(work, x);
    return st;
}

pboost_status pboost_event_fit(pboost_coef *coef, pboost_fit_report *report,
                               const pboost_samples *samples, const pboost_fit_options *options,
                               pboost_error *err)
{
    return pboost_event_fit_in(NULL, coef, report, samples, options, err);
}

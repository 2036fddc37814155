/* The event-level estimator (paper, eq. 1): the target of every row is the answer of its bag.
 *
 *     minimise  sum_i loss(target_i, x_i theta + intercept) + (l2/2) |theta|^2
 *
 * The sums come from a pass over the rows, the minimiser is Newton's method.  Parameters are
 * ordered intercept first, so that of an intercept and a constant column it is the column that adds
 * nothing. */
#include "fit/event/event.h"

#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/options.h"
#include "try.h"

#define SLOPE_OF_ZERO 1e-13        /* a relative slope at infinity that rounding may leave of 0 */
#define SURE_ROWS_PER_PARAMETER 50 /* a Hessian of so many samples needs no shrinking */

/* ---- The objective --------------------------------------------------------------------------- */

typedef struct {
    event_problem *problem;
    const row_pass *pass;
    pass_plan *rough;
} objective;

/* theta becomes that of x; returns the intercept. */
static double unpack(event_problem *p, const double *x)
{
    size_t first = p->options->intercept;
    memcpy(p->theta, x + first, p->cols * sizeof *x);
    return first ? x[0] : 0.0;
}

static void fill_hessian(double *hessian, const event_problem *p, const pass_sums *sums)
{
    size_t first = p->options->intercept, n = p->n_parameters;
    if (first)
        hessian[0] = sums->curvature;
    for (size_t j = 0; j < p->cols; j++) {
        double *row = hessian + (j + first) * n;
        if (first)
            row[0] = sums->cross[j];
        memcpy(row + first, sums->gram + j * sums->stride, (j + 1) * sizeof *row);
        row[first + j] += p->l2;
    }
}

static double evaluate(void *self, const double *x, double *gradient, double *hessian)
{
    const objective *o = self;
    event_problem *p = o->problem;
    double l2 = p->l2, penalty = 0.0, intercept = unpack(p, x);
    size_t first = p->options->intercept;
    pass_sums sums = o->pass->sums(o->pass->self, p->theta, intercept, hessian != NULL);
    if (isnan(sums.value))
        return NAN;
    if (first)
        gradient[0] = sums.residual;
    for (size_t j = 0; j < p->cols; j++) {
        gradient[first + j] = sums.gradient[j] + l2 * p->theta[j];
        penalty += p->theta[j] * p->theta[j];
    }
    if (hessian != NULL)
        fill_hessian(hessian, p, &sums);
    return sums.value + (l2 > 0.0 ? 0.5 * l2 * penalty : 0.0);
}

/* Few samples make columns look correlated that are not.  Multiplies the entries beside the
 * diagonal by the part of their squares, as correlations, that is not due to chance, 1 / samples
 * each; returns it. */
static double shrink(double *hessian, size_t n, double samples)
{
    double seen = 0.0, chance = 0.5 * (double)n * (double)(n - 1) / samples;
    if (samples >= SURE_ROWS_PER_PARAMETER * (double)n)
        return 1.0;
    for (size_t i = 0; i < n; i++) {
        const double *row = hessian + i * n;
        for (size_t j = 0; j < i; j++)
            seen += row[j] * row[j] / (row[i] * hessian[j * n + j]);
    }
    double real = seen > chance ? 1.0 - chance / seen : 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            hessian[i * n + j] *= real;
    return real;
}

static void rough_hessian(void *self, const double *x, double *hessian)
{
    const objective *o = self;
    event_problem *p = o->problem;
    double intercept = unpack(p, x);
    pass_sums sums = pboost_pass_run(o->rough, p->theta, intercept, true);
    double samples = sums.curvature * sums.curvature / sums.squares / o->rough->scale;
    fill_hessian(hessian, p, &sums);
    p->correlated = shrink(hessian, p->n_parameters, samples);
}

static pass_direction look_along(const objective *o, const double *step)
{
    double intercept = unpack(o->problem, step);
    return o->pass->direction(o->pass->self, o->problem->theta, intercept);
}

static double reach(void *self, const double *step)
{
    return look_along(self, step).reach;
}

static bool recedes(void *self, const double *step)
{
    pass_direction d = look_along(self, step);
    return d.reach > 0.0 && d.slope <= SLOPE_OF_ZERO;
}

/* ---- Fitting --------------------------------------------------------------------------------- */

pboost_status pboost_event_minimise(double *x, pboost_newton_report *report, event_problem *problem,
                                    const row_pass *pass, pass_plan *rough, const event_goal *goal,
                                    pboost_error *err)
{
    bool curved = problem->family->curved, definite = problem->l2 > 0.0;
    objective self = {problem, pass, rough};
    pboost_objective f = {.n = problem->n_parameters,
                          .self = &self,
                          .evaluate = evaluate,
                          .rough_hessian = rough != NULL ? rough_hessian : NULL,
                          .reach = reach,
                          .recedes = goal->may_recede && curved && !definite ? recedes : NULL};
    pboost_newton_options newton = {.max_iterations = goal->max_iterations,
                                    .tolerance = goal->tolerance,
                                    .definite = definite,
                                    .keeps_hessian = goal->keeps_hessian,
                                    .quadratic = !curved,
                                    .floor = problem->family->no_loss * fabs(problem->at_zero),
                                    .limit = goal->limit,
                                    .work = problem->work,
                                    .cancel = problem->options->cancel};
    return pboost_newton(x, report, &f, &newton, err);
}

/* From the caller's start, from a warm-up, or from 0, whichever is the first to be no worse than 0.
 * A start that makes columns look dependent may owe that to saturated weights: 0 cannot. */
static pboost_status minimise_from_best(double *x, pboost_newton_report *report, event_problem *p,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = p->n_parameters;
    bool curved = p->family->curved;
    event_goal goal = {p->options->max_iterations, p->options->tolerance, p->at_zero, true, false};

    if (!pboost_is_zero(x, n)) {
        goal.keeps_hessian = p->keeps_hessian;
        TRY(pboost_event_minimise(x, report, p, &p->pass, p->rough, &goal, err));
        if (report->started && !(curved && report->rank < n))
            goto done;
        goal.keeps_hessian = false;
        memset(x, 0, n * sizeof *x);
    }
    if (p->warm_up != NULL) {
        TRY(p->warm_up(x, p, err));
        TRY(pboost_event_minimise(x, report, p, &p->pass, p->rough, &goal, err));
        if (report->started && report->rank == n)
            goto done;
        memset(x, 0, n * sizeof *x);
    }
    goal.limit = INFINITY;
    TRY(pboost_event_minimise(x, report, p, &p->pass, p->rough, &goal, err));
done:
    return st;
}

static void fill_report(pboost_fit_report *out, const pboost_newton_report *r,
                        const event_problem *p)
{
    bool intercept = p->options->intercept;
    *out = (pboost_fit_report){.converged = r->converged,
                               .iterations = r->iterations,
                               .objective = r->value,
                               .gradient_norm = r->gradient_norm,
                               .rank = r->rank - intercept,
                               .first_dropped = r->first_dropped,
                               .l2 = p->l2,
                               .dispersion = NAN,
                               .pearson = NAN,
                               .freedom = NAN,
                               .eta_sd = NAN};
    if (intercept && r->first_dropped != SIZE_MAX)
        out->first_dropped--;
}

pboost_status pboost_event_solve(pboost_coef *coef, pboost_fit_report *report, event_problem *p,
                                 const double *shift, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_newton_report newton = {0};
    size_t first = p->options->intercept;
    double *x = NULL;

    NEED(x = pboost_acquire(p->work, p->n_parameters, sizeof *x), err);
    memcpy(x + first, coef->theta, p->cols * sizeof *x);
    if (first)
        x[0] = coef->intercept;
    for (size_t j = 0; first && shift != NULL && j < p->cols; j++)
        x[0] += shift[j] * coef->theta[j];
    TRY(minimise_from_best(x, &newton, p, err));
    p->overflows = !newton.started;
    if (p->overflows)
        FAIL(err, PBOOST_BAD_DATA, "the sum of losses overflows: rescale features or targets");
    if (newton.recedes)
        FAIL(err, PBOOST_BAD_DATA,
             "no finite minimiser: the data are separable, and the %s loss decreases without limit "
             "along "
             "a direction of theta; use l2 > 0",
             p->family->name);
    memcpy(coef->theta, x + first, p->cols * sizeof *x);
    coef->intercept = first ? x[0] : 0.0;
    for (size_t j = 0; first && shift != NULL && j < p->cols; j++)
        coef->intercept -= shift[j] * coef->theta[j];
    if (report != NULL)
        fill_report(report, &newton, p);
done:
    pboost_release(p->work, x);
    return st;
}

pboost_status pboost_event_begin(event_problem *p, pboost_fit_options *options,
                                 const pboost_coef *coef, const pboost_samples *targets,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_event_check_options(coef, options, err));
    p->l2 = pboost_l2_or(options->l2, EVENT_L2);
    p->options = options;
    p->family = pboost_family_info(options->family);
    p->cols = coef->n;
    p->n_parameters = coef->n + options->intercept;
    p->at_zero = pboost_event_value_at_zero(targets, options->family);
    if (options->intercept && p->family->curved)
        TRY(pboost_event_check_intercept(targets, p->family, err));
done:
    return st;
}

pboost_status pboost_event_fit_samples(pboost_workspace *work, pboost_coef *coef,
                                       pboost_fit_report *report, const pboost_samples *samples,
                                       const pboost_fit_options *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    event_problem problem = {.work = work};
    event_parts parts = {.samples = samples};
    pass_plan plan = {0};
    double *shift = NULL;
    bool shifted = false;

    if (report != NULL)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(OPTIONS_READ(&options, given, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(pboost_samples_check(samples, true, err));
    if (coef->n != samples->x->cols)
        FAIL(err, PBOOST_INVALID, "there are %zu coefficients for %zu columns", coef->n,
             samples->x->cols);
    TRY(pboost_samples_check_weights(samples, err));
    TRY(pboost_event_begin(&problem, &options, coef, samples, err));
    NEED(shift = pboost_acquire(work, coef->n, sizeof *shift), err);
    shifted = options.intercept && pboost_pass_shift(shift, samples);
    parts.shift = shifted ? shift : NULL;
    TRY(pboost_pass_init_part(&plan, samples, problem.family, 1, parts.shift, options.threads, work,
                              err));
    NEED(problem.theta = pboost_acquire_zeros(work, plan.padded, sizeof *problem.theta), err);
    plan.cross = options.intercept;
    problem.pass = pboost_pass_local(&plan);
    pboost_event_plan_warm_up(&problem, &parts);
    st = pboost_event_solve(coef, report, &problem, parts.shift, err);
    if (problem.overflows)
        TRY(pboost_event_explain_overflow(samples, err));
done:
    pboost_event_parts_free(&parts);
    pboost_pass_free(&plan);
    pboost_release(work, problem.theta);
    pboost_release(work, shift);
    return st;
}

pboost_status pboost_event_fit(pboost_coef *coef, pboost_fit_report *report,
                               const pboost_samples *samples, const pboost_fit_options *options,
                               pboost_error *err)
{
    return pboost_event_fit_samples(NULL, coef, report, samples, options, err);
}

/* The event-level fit where no machine has all samples: each part gives its sums, somebody adds them
 * up, and the minimiser sees one function.
 *
 * Every evaluation is a pass over all machines, so there is no warm-up on subsamples and no rough
 * Hessian: with a start near the minimum, as all rounds but the first have, Newton's method needs
 * two or three.  A failed evaluation counts as infinite and no other is made after it, so that the
 * minimiser comes to its end at once. */
#include <priorboost/cluster.h>

#include <math.h>
#include <string.h>

#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/constant.h"
#include "fit/event/event.h"
#include "data/matrix.h"
#include "passes/row_pass.h"
#include "try.h"
#include "base/cancel.h"

enum { PART_VALUE, PART_RESIDUAL, PART_CURVATURE, PART_GRADIENT };

bool pboost_part_shift(double *shift, const pboost_samples *samples)
{
    return pboost_pass_shift(shift, samples);
}

/* ---- One part -------------------------------------------------------------------------------- */

typedef struct {
    pass_plan plan;
    double *theta; /* padded */
} part_pass;

static void part_free(part_pass *p)
{
    pboost_pass_free(&p->plan);
    free(p->theta);
}

static pboost_status part_init(part_pass *p, pboost_family family, const pboost_samples *samples,
                               const pboost_coef *coef, const double *shift, int threads,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_family_check(family, err));
    TRY(pboost_samples_check(samples, true, err));
    if (coef->n != samples->x->cols)
        FAIL(err, PBOOST_INVALID, "there are %zu coefficients for %zu columns", coef->n,
             samples->x->cols);
    NEED(p->theta = calloc(pboost_panel_blocks(coef->n) * PANEL_LANES, sizeof *p->theta), err);
    memcpy(p->theta, coef->theta, coef->n * sizeof *p->theta);
    TRY(pboost_pass_init(&p->plan, samples, pboost_family_info(family), shift, threads, err));
done:
    return st;
}

pboost_status pboost_part_sums(double *sums, pboost_family family, const pboost_samples *samples,
                               const pboost_coef *coef, const double *shift, bool hessian,
                               int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    part_pass p = {0};
    size_t d = coef->n;

    memset(sums, 0, PBOOST_PART_SIZE(d, hessian) * sizeof *sums);
    TRY(part_init(&p, family, samples, coef, shift, threads, err));
    pass_sums s = pboost_pass_run(&p.plan, p.theta, coef->intercept, hessian);
    sums[PART_VALUE] = s.value;
    sums[PART_RESIDUAL] = s.residual;
    sums[PART_CURVATURE] = s.curvature;
    memcpy(sums + PART_GRADIENT, s.gradient, d * sizeof *sums);
    if (hessian) {
        double *cross = sums + PART_GRADIENT + d, *gram = cross + d;
        memcpy(cross, s.cross, d * sizeof *sums);
        for (size_t j = 0; j < d; j++)
            memcpy(gram + j * d, s.gram + j * p.plan.padded, (j + 1) * sizeof *sums);
    }
done:
    part_free(&p);
    return st;
}

pboost_status pboost_part_direction(double direction[3], pboost_family family,
                                    const pboost_samples *samples, const pboost_coef *coef,
                                    const double *shift, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    part_pass p = {0};

    memset(direction, 0, 3 * sizeof *direction);
    TRY(part_init(&p, family, samples, coef, shift, threads, err));
    pass_direction d = pboost_pass_direction(&p.plan, p.theta, coef->intercept);
    direction[0] = d.reach;
    direction[1] = d.length > 0.0 ? d.slope * d.length : 0.0;
    direction[2] = d.length;
done:
    part_free(&p);
    return st;
}

/* ---- All parts ------------------------------------------------------------------------------- */

typedef struct {
    const pboost_parts *parts;
    const pboost_fit_options *options;
    pboost_coef at;
    double *sums;
    pboost_status status; /* of the first call that failed; the watch counts for one */
    pboost_error *err;
} parts_fit;

/* Before every pass: each may take long, and an iteration may need several. */
static bool may_go_on(parts_fit *fit)
{
    if (fit->status == PBOOST_OK)
        fit->status = pboost_watch_check(fit->options->watch, fit->err);
    return fit->status == PBOOST_OK;
}

static const pboost_coef *unpack(parts_fit *fit, const double *x)
{
    size_t first = fit->options->intercept;
    memcpy(fit->at.theta, x + first, fit->at.n * sizeof *x);
    fit->at.intercept = first ? x[0] : 0.0;
    return &fit->at;
}

static void fill_hessian(double *hessian, const parts_fit *fit)
{
    size_t first = fit->options->intercept, d = fit->at.n, n = d + first;
    const double *cross = fit->sums + PART_GRADIENT + d, *gram = cross + d;
    if (first)
        hessian[0] = fit->sums[PART_CURVATURE];
    for (size_t j = 0; j < d; j++) {
        double *row = hessian + (j + first) * n;
        if (first)
            row[0] = cross[j];
        memcpy(row + first, gram + j * d, (j + 1) * sizeof *row);
        row[first + j] += fit->options->l2;
    }
}

static double evaluate(void *self, const double *x, double *gradient, double *hessian)
{
    parts_fit *fit = self;
    double l2 = fit->options->l2, penalty = 0.0;
    size_t first = fit->options->intercept;

    if (may_go_on(fit))
        fit->status = fit->parts->sums(fit->parts->self, unpack(fit, x), hessian != NULL, fit->sums,
                                       fit->err);
    if (fit->status != PBOOST_OK)
        return NAN;
    if (first)
        gradient[0] = fit->sums[PART_RESIDUAL];
    for (size_t j = 0; j < fit->at.n; j++) {
        double theta = fit->at.theta[j];
        gradient[first + j] = fit->sums[PART_GRADIENT + j] + l2 * theta;
        penalty += theta * theta;
    }
    if (hessian != NULL)
        fill_hessian(hessian, fit);
    return fit->sums[PART_VALUE] + (l2 > 0.0 ? 0.5 * l2 * penalty : 0.0);
}

static pass_direction look(parts_fit *fit, const double *p)
{
    double d[3] = {0};
    if (may_go_on(fit))
        fit->status = fit->parts->direction(fit->parts->self, unpack(fit, p), d, fit->err);
    if (fit->status != PBOOST_OK)
        return (pass_direction){0.0, INFINITY, 0.0};
    return (pass_direction){d[0], d[2] > 0.0 ? d[1] / d[2] : INFINITY, d[2]};
}

static double reach(void *self, const double *p)
{
    return look(self, p).reach;
}

static bool recedes(void *self, const double *p)
{
    pass_direction d = look(self, p);
    return d.reach > 0.0 && d.slope <= SLOPE_OF_ZERO;
}

static pboost_status check(const pboost_coef *coef, const bag_data *bags,
                           const pboost_fit_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_bag_answers_check(bags, o, err));
    if (o->estimator != PBOOST_EVENT)
        FAIL(err, PBOOST_INVALID, "the estimator is %s, but this fits by event",
             pboost_estimator_name(o->estimator));
    if (o->l2 == PBOOST_L2_CV)
        FAIL(err, PBOOST_INVALID, "l2 by cross-validation is for the aggregate estimator");
    for (size_t j = 0; j <= coef->n; j++) {
        double start = j < coef->n ? coef->theta[j] : coef->intercept;
        if (!isfinite(start))
            FAIL(err, PBOOST_INVALID, "weight %zu of the start is %g; it must be finite", j, start);
    }
done:
    return st;
}

/* From x, or from 0 where that is no better. */
static pboost_status minimise(double *x, pboost_newton_report *report, parts_fit *fit,
                              double at_zero, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const family_info *family = pboost_family_info(fit->options->family);
    size_t n = fit->at.n + fit->options->intercept;
    bool definite = fit->options->l2 > 0.0, given = false;
    pboost_objective f = {.n = n,
                          .self = fit,
                          .evaluate = evaluate,
                          .reach = reach,
                          .recedes = family->curved && !definite ? recedes : NULL};
    pboost_newton_options newton = {.max_iterations = fit->options->max_iterations,
                                    .tolerance = fit->options->tolerance,
                                    .definite = definite,
                                    .quadratic = !family->curved,
                                    .floor = family->no_loss * fabs(at_zero),
                                    .limit = at_zero};
    for (size_t i = 0; i < n; i++)
        given = given || x[i] != 0.0;
    if (given) {
        TRY(pboost_newton(x, report, &f, &newton, err));
        if (fit->status != PBOOST_OK || (report->started && !(family->curved && report->rank < n)))
            goto done;
        memset(x, 0, n * sizeof *x);
    }
    newton.limit = INFINITY;
    TRY(pboost_newton(x, report, &f, &newton, err));
done:
    return st;
}

static pboost_status judge(const parts_fit *fit, const pboost_newton_report *newton,
                           pboost_error *err)
{
    if (fit->status != PBOOST_OK)
        return fit->status;
    if (!newton->started)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "the sum of losses overflows: rescale features or targets");
    if (newton->recedes)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "no finite minimiser: the data are separable, the %s loss falls for "
                           "ever along a direction of theta; use l2 > 0",
                           pboost_family_name(fit->options->family));
    return PBOOST_OK;
}

pboost_status pboost_parts_fit(pboost_coef *coef, pboost_fit_report *report,
                               const pboost_parts *parts, size_t n_bags, const size_t *start,
                               const double *target, const double *noise, const double *shift,
                               const pboost_fit_options *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options chosen = *given;
    pboost_newton_report newton;
    parts_fit fit = {.parts = parts, .options = &chosen, .err = err};
    bag_data data = {{.n_bags = n_bags, .start = start}, target, noise};
    pboost_samples bags = {.n = n_bags, .target = target};
    size_t first = chosen.intercept, d = coef->n;
    double *x = NULL, *rows = NULL;

    if (report != NULL)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(check(coef, &data, given, err));
    if (chosen.l2 == PBOOST_L2_DEFAULT)
        chosen.l2 = EVENT_L2;
    NEED(bags.weight = rows = pboost_alloc(n_bags, sizeof *rows), err);
    for (size_t b = 0; b < n_bags; b++)
        rows[b] = (double)(start[b + 1] - start[b]);
    if (first && pboost_family_info(chosen.family)->curved)
        TRY(pboost_event_check_intercept(&bags, pboost_family_info(chosen.family), err));
    TRY(pboost_coef_init(&fit.at, d, err));
    NEED(fit.sums = pboost_alloc(PBOOST_PART_SIZE(d, true), sizeof *fit.sums), err);
    NEED(x = pboost_alloc(d + 1, sizeof *x), err);

    memcpy(x + first, coef->theta, d * sizeof *x);
    if (first)
        x[0] = coef->intercept;
    for (size_t j = 0; first && shift != NULL && j < d; j++)
        x[0] += shift[j] * coef->theta[j];
    TRY(minimise(x, &newton, &fit, pboost_event_value_at_zero(&bags, chosen.family), err));
    TRY(judge(&fit, &newton, err));

    memcpy(coef->theta, x + first, d * sizeof *x);
    coef->intercept = first ? x[0] : 0.0;
    for (size_t j = 0; first && shift != NULL && j < d; j++)
        coef->intercept -= shift[j] * coef->theta[j];
    if (report != NULL)
        pboost_event_fill_report(report, &newton, &chosen);
done:
    /* The answers are paid for: where noise took their mean out of the range, say what they do say. */
    if (st == PBOOST_BAD_DATA && rows != NULL && fit.status == PBOOST_OK &&
        pboost_constant_if_outside(coef, report, &data, NULL, &chosen)) {
        st = PBOOST_OK;
        if (err != NULL)
            *err = (pboost_error){0};
    }
    pboost_coef_free(&fit.at);
    free(fit.sums);
    free(rows);
    free(x);
    return st;
}

/* The event-level fit where no machine has all samples: each part gives its sums, the caller adds
 * them up, and the minimiser sees one function.
 *
 * Every evaluation is a pass over all machines, so there is no warm-up on subsamples and no rough
 * Hessian: with a start near the minimum, as all rounds but the first have, Newton's method needs
 * two or three.  After a pass that failed no other is made, so that the minimiser ends at once. */
#include <priorboost/cluster.h>

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/options.h"
#include "data/matrix.h"
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/constant.h"
#include "fit/event/event.h"
#include "passes/row_pass.h"
#include "try.h"

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

/* Rows on other machines, as a pass. */
typedef struct {
    const pboost_parts *parts;
    const pboost_cancel *cancel;
    pboost_coef at; /* where the last pass was */
    double *sums;
    pboost_status status; /* of the first call that failed; a cancel counts as a failure */
    pboost_error error;
} remote_rows;

/* Before every pass: each may take long, and an iteration may need several. */
static bool may_go_on(remote_rows *r)
{
    if (r->status == PBOOST_OK)
        r->status = pboost_cancel_check(r->cancel, &r->error);
    return r->status == PBOOST_OK;
}

static const pboost_coef *point(remote_rows *r, const double *theta, double intercept)
{
    memcpy(r->at.theta, theta, r->at.n * sizeof *theta);
    r->at.intercept = intercept;
    return &r->at;
}

static pass_sums remote_sums(void *self, const double *theta, double intercept, bool gram)
{
    remote_rows *r = self;
    double *sums = r->sums, *gradient = sums + PART_GRADIENT;
    size_t d = r->at.n;

    if (may_go_on(r))
        r->status =
            r->parts->sums(r->parts->self, point(r, theta, intercept), gram, sums, &r->error);
    if (r->status != PBOOST_OK)
        return (pass_sums){.value = NAN};
    return (pass_sums){.value = sums[PART_VALUE],
                       .residual = sums[PART_RESIDUAL],
                       .curvature = sums[PART_CURVATURE],
                       .gradient = gradient,
                       .cross = gradient + d,
                       .gram = gradient + 2 * d,
                       .stride = d};
}

static pass_direction remote_direction(void *self, const double *theta, double intercept)
{
    remote_rows *r = self;
    double d[3] = {0};

    if (may_go_on(r))
        r->status = r->parts->direction(r->parts->self, point(r, theta, intercept), d, &r->error);
    if (r->status != PBOOST_OK)
        return (pass_direction){0.0, INFINITY, 0.0};
    return (pass_direction){d[0], d[2] > 0.0 ? d[1] / d[2] : INFINITY, d[2]};
}

pboost_status pboost_parts_fit(pboost_coef *coef, pboost_fit_report *report,
                               const pboost_parts *parts, size_t n_bags, const size_t *start,
                               const double *target, const double *noise, const double *shift,
                               const pboost_fit_options *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    remote_rows remote = {.parts = parts};
    event_problem problem = {.pass = {&remote, remote_sums, remote_direction}};
    bag_data data = {{.n_bags = n_bags, .start = start}, target, noise, false};
    pboost_samples bags = {.n = n_bags, .target = target};
    pboost_coef found = {0};
    double *rows = NULL;

    if (report != NULL)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(OPTIONS_READ(&options, given, PBOOST_FIT_OPTIONS_INIT, err));
    remote.cancel = options.cancel;
    TRY(pboost_bag_answers_check(&data, &options, err));
    NEED(bags.weight = rows = pboost_alloc(n_bags, sizeof *rows), err);
    for (size_t b = 0; b < n_bags; b++)
        rows[b] = (double)(start[b + 1] - start[b]);
    TRY(pboost_event_begin(&problem, &options, coef, &bags, err));
    TRY(pboost_coef_init(&remote.at, coef->n, err));
    NEED(problem.theta = calloc(coef->n > 0 ? coef->n : 1, sizeof *problem.theta), err);
    NEED(remote.sums = pboost_alloc(PBOOST_PART_SIZE(coef->n, true), sizeof *remote.sums), err);
    TRY(pboost_coef_init(&found, coef->n, err));
    memcpy(found.theta, coef->theta, coef->n * sizeof *coef->theta);
    found.intercept = coef->intercept;
    TRY(pboost_event_solve(&found, report, &problem, shift, err));
    TRY(remote.status); /* a part failed: the solver stopped where it was */
    memcpy(coef->theta, found.theta, coef->n * sizeof *coef->theta);
    coef->intercept = found.intercept;
done:
    if (remote.status != PBOOST_OK) {
        st = remote.status;
        if (err != NULL)
            *err = remote.error;
    }
    /* The labels are spent, so the answers are not refused: if noise moved their mean out of the
     * range, the fit is the constant model. */
    if (st == PBOOST_BAD_DATA && rows != NULL && remote.status == PBOOST_OK &&
        pboost_constant_if_outside(coef, report, &data, NULL, &options)) {
        st = PBOOST_OK;
        if (err != NULL)
            *err = (pboost_error){0};
    }
    pboost_coef_free(&remote.at);
    pboost_coef_free(&found);
    free(problem.theta);
    free(remote.sums);
    free(rows);
    return st;
}

/* Eq. (1) on sparse rows: the sum of losses as a problem for Newton's method. */
#include "sparse/event.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/linalg.h"
#include "base/options.h"
#include "base/parallel.h"
#include "base/sizes.h"
#include "data/family.h"
#include "data/fit_options.h"
#include "fit/event/event.h"
#include "sparse/coarse.h"
#include "sparse/newton.h"
#include "sparse/rows.h"
#include "try.h"

/* By row, at the point or at the trial. */
typedef struct {
    double *residual, *curvature;
    double sums[EVENT_SUMS];
} row_moments;

typedef struct {
    wide_rows rows;
    coarse_system coarse;
    const double *target;
    const pboost_fit_options *options;
    double l2;
    row_moments point, trial;
    double *image;    /* by row: X v */
    double *sums;     /* by chunk, EVENT_SUMS each */
    const double *at; /* the parameters of a pass, the intercept first where there is one */
} wide_event;

static void event_free(wide_event *e)
{
    pboost_wide_rows_free(&e->rows);
    pboost_coarse_free(&e->coarse);
    free(e->point.residual);
    free(e->point.curvature);
    free(e->trial.residual);
    free(e->trial.curvature);
    free(e->image);
    free(e->sums);
}

static pboost_status event_init(wide_event *out, const pboost_wide_samples *samples,
                                const pboost_fit_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = samples->n;
    *out =
        (wide_event){.target = samples->target, .options = o, .l2 = pboost_l2_or(o->l2, EVENT_L2)};
    TRY(pboost_wide_rows_init(&out->rows, samples, NULL, 0, o->threads, err));
    TRY(pboost_coarse_init(&out->coarse, &out->rows, o->intercept, err));
    NEED(out->point.residual = pboost_alloc(n, sizeof(double)), err);
    NEED(out->point.curvature = pboost_alloc(n, sizeof(double)), err);
    NEED(out->trial.residual = pboost_alloc(n, sizeof(double)), err);
    NEED(out->trial.curvature = pboost_alloc(n, sizeof(double)), err);
    NEED(out->image = pboost_alloc(n, sizeof(double)), err);
    NEED(out->sums = pboost_alloc(out->rows.n_row_chunks * EVENT_SUMS, sizeof(double)), err);
done:
    return st;
}

/* ---- Passes over rows ------------------------------------------------------------------------ */

static void losses_chunk(void *context, size_t chunk, int worker)
{
    wide_event *e = context;
    const wide_rows *r = &e->rows;
    const family_kernels *kernels = pboost_family_kernels(e->options->family);
    bool intercept = e->options->intercept;
    double eta[GLM_BLOCK], *sums = e->sums + chunk * EVENT_SUMS, base = intercept ? e->at[0] : 0.0;
    size_t end = r->row_chunk[chunk + 1];
    (void)worker;
    memset(sums, 0, EVENT_SUMS * sizeof *sums);
    for (size_t at = r->row_chunk[chunk]; at < end; at += GLM_BLOCK) {
        size_t count = smaller(GLM_BLOCK, end - at);
        for (size_t i = 0; i < count; i++)
            eta[i] = base + pboost_wide_dot(r, at + i, e->at + intercept) +
                     (r->offset != NULL ? r->offset[at + i] : 0.0);
        kernels->event(sums, e->trial.residual + at, e->trial.curvature + at, eta, e->target + at,
                       r->weight != NULL ? r->weight + at : NULL, count);
    }
}

static double penalty(const wide_event *e, const double *x)
{
    double sum = 0.0;
    for (size_t k = 0; k < e->rows.cols; k++)
        sum += x[k] * x[k];
    return 0.5 * e->l2 * sum;
}

static double attempt(void *self, const double *x)
{
    wide_event *e = self;
    e->at = x;
    pboost_parallel(e->rows.n_row_chunks, e->rows.threads, losses_chunk, e);
    memset(e->trial.sums, 0, sizeof e->trial.sums);
    for (size_t c = 0; c < e->rows.n_row_chunks; c++)
        for (size_t s = 0; s < EVENT_SUMS; s++)
            e->trial.sums[s] += e->sums[c * EVENT_SUMS + s];
    double value = e->trial.sums[EVENT_LOSS] + penalty(e, x + e->options->intercept);
    return isfinite(value) ? value : INFINITY;
}

static void accept(void *self)
{
    wide_event *e = self;
    row_moments old = e->point;
    e->point = e->trial;
    e->trial = old;
}

static void here(void *self, const double *x, double *gradient, double *diagonal)
{
    wide_event *e = self;
    size_t first = e->options->intercept;
    if (e->options->intercept) {
        gradient[0] = e->point.sums[EVENT_RESIDUAL];
        diagonal[0] = e->point.sums[EVENT_CURVATURE];
    }
    pboost_wide_turn(gradient + first, &e->rows, e->point.residual);
    pboost_wide_squares(diagonal + first, &e->rows, e->point.curvature);
    for (size_t k = first; k < e->rows.cols + first; k++) {
        gradient[k] += e->l2 * x[k];
        diagonal[k] += e->l2;
    }
    for (size_t k = 0; k < e->rows.cols + first; k++)
        diagonal[k] = diagonal[k] > 0.0 ? diagonal[k] : 1.0;
    coarse_groups groups = {.weight = e->point.curvature, .l2 = e->l2};
    pboost_coarse_refresh(&e->coarse, &e->rows, &groups);
}

static void precondition(void *self, double *out, const double *r, const double *diagonal)
{
    wide_event *e = self;
    pboost_coarse_apply(out, &e->coarse, r, diagonal);
}

static void image_chunk(void *context, size_t chunk, int worker)
{
    wide_event *e = context;
    const wide_rows *r = &e->rows;
    bool intercept = e->options->intercept;
    double base = intercept ? e->at[0] : 0.0, sum = 0.0;
    (void)worker;
    for (size_t i = r->row_chunk[chunk]; i < r->row_chunk[chunk + 1]; i++) {
        e->image[i] = e->point.curvature[i] * (base + pboost_wide_dot(r, i, e->at + intercept));
        sum += e->image[i];
    }
    e->sums[chunk] = sum;
}

static void product(void *self, double *out, const double *v)
{
    wide_event *e = self;
    size_t first = e->options->intercept;
    e->at = v;
    pboost_parallel(e->rows.n_row_chunks, e->rows.threads, image_chunk, e);
    double sum = 0.0;
    for (size_t c = 0; c < e->rows.n_row_chunks; c++)
        sum += e->sums[c];
    if (e->options->intercept)
        out[0] = sum;
    pboost_wide_turn(out + first, &e->rows, e->image);
    for (size_t k = first; k < e->rows.cols + first; k++)
        out[k] += e->l2 * v[k];
}

/* ---- Fitting --------------------------------------------------------------------------------- */

static pboost_status check_intercept(const pboost_wide_samples *s, const pboost_fit_options *o,
                                     pboost_error *err)
{
    pboost_matrix shape = WIDE_SHAPE(s->x);
    pboost_samples targets = {
        .x = &shape, .row = s->row, .n = s->n, .target = s->target, .weight = s->weight};
    return o->intercept ? pboost_event_check_intercept(&targets, pboost_family_info(o->family), err)
                        : PBOOST_OK;
}

static double mean_target(const pboost_wide_samples *s)
{
    double sum = 0.0, total = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        double w = s->weight != NULL ? s->weight[s->row != NULL ? s->row[i] : i] : 1.0;
        sum += w * s->target[i];
        total += w;
    }
    return sum / total;
}

static void leave(pboost_coef *coef, pboost_fit_report *report, const wide_event *e,
                  const double *x, const wide_newton_report *last)
{
    pboost_wide_leave(coef, &e->rows, x + e->options->intercept);
    coef->intercept = e->options->intercept ? x[0] : 0.0;
    *report = (pboost_fit_report){.converged = last->converged,
                                  .iterations = last->steps,
                                  .objective = last->value,
                                  .gradient_norm = last->gradient_norm,
                                  .rank = e->rows.cols,
                                  .first_dropped = SIZE_MAX,
                                  .l2 = e->l2,
                                  .dispersion = NAN,
                                  .pearson = NAN,
                                  .freedom = NAN,
                                  .eta_sd = NAN,
                                  .estimator = PBOOST_EVENT};
}

/* Moves to coef, to the constant model if coef is 0, or to 0 if it overflows there.  Returns the
 * value there; *floor: a value that counts as 0. */
static double move_to_start(double *x, double *floor, wide_event *e,
                            const pboost_wide_samples *samples, const pboost_coef *coef)
{
    size_t first = e->options->intercept, n = e->rows.cols + first;
    const family_info *family = pboost_family_info(e->options->family);
    memset(x, 0, n * sizeof *x);
    double zero = attempt(e, x);
    *floor = family->no_loss * zero;
    accept(e);
    if (first > 0)
        x[0] = coef->intercept;
    pboost_wide_enter(x + first, &e->rows, coef);
    if (first > 0 && pboost_is_zero(x, n))
        x[0] = family->eta(mean_target(samples));
    double value = attempt(e, x);
    if (isfinite(value) || !isfinite(zero)) {
        accept(e);
        return value;
    }
    memset(x, 0, n * sizeof *x);
    return zero;
}

pboost_status pboost_wide_event_run(pboost_coef *coef, pboost_fit_report *report,
                                    const pboost_wide_samples *samples, const pboost_fit_options *o,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wide_event e = {0};
    wide_newton newton = {0};
    wide_newton_report last;
    double *x = NULL;

    TRY(check_intercept(samples, o, err));
    TRY(event_init(&e, samples, o, err));
    size_t n = e.rows.cols + o->intercept;
    wide_problem problem = {n, &e, attempt, accept, here, precondition, product};
    wide_newton_options goal = {
        .max_steps = o->max_iterations, .tolerance = o->tolerance, .cancel = o->cancel};
    TRY(pboost_wide_newton_init(&newton, n, err));
    NEED(x = pboost_alloc(n, sizeof *x), err);
    double value = move_to_start(x, &goal.floor, &e, samples, coef);
    if (!isfinite(value))
        FAIL(err, PBOOST_BAD_DATA,
             "the sum of losses overflows: rescale targets, weights, offsets or values");
    pboost_wide_newton(x, value, &last, &newton, &problem, &goal);
    TRY(pboost_cancel_check(o->cancel, err));
    leave(coef, report, &e, x, &last);
done:
    event_free(&e);
    pboost_wide_newton_free(&newton);
    free(x);
    return st;
}

pboost_status pboost_wide_event_fit(pboost_coef *coef, pboost_fit_report *report,
                                    const pboost_wide_samples *samples,
                                    const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_report own_report = {0};
    pboost_fit_options own = PBOOST_WIDE_OPTIONS_INIT;

    report = report != NULL ? report : &own_report;
    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(OPTIONS_READ(&own, options, PBOOST_WIDE_OPTIONS_INIT, err));
    TRY(pboost_wide_check_options(&own, err));
    TRY(pboost_wide_check_samples(samples, true, err));
    TRY(pboost_wide_check_coef(coef, samples->x->cols, err));
    TRY(pboost_event_check_options(coef, &own, err));
    TRY(pboost_wide_event_run(coef, report, samples, &own, err));
done:
    return st;
}

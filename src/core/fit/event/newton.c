/* Newton's method with step control, and a quasi-Newton mode for when Hessians are costly.
 *
 * Each step solves with a Cholesky factor.  In Newton mode the factor is that of the Hessian at the
 * current point.  In quasi-Newton mode it is that of a rough Hessian or of the Hessian at the
 * start, corrected by the last few steps (L-BFGS with the factor as its initial matrix); when that
 * converges badly, the true Hessian is computed and the method becomes Newton's.
 *
 * A full step that does not lower the value is cut to log(1+D)/D of itself, D being the largest
 * change to a linear predictor: for losses whose third derivative is bounded by the second, as
 * those of all our families are, that step always lowers it but for rounding; halving does the
 * rest.
 *
 * At convergence half the squared decrement is the distance of the value from its minimum up to
 * higher order terms, so it is the right quantity to compare with the tolerance.  Two
 * decrements in a row predict the next one; when that is small enough, the step is taken and the
 * function is not evaluated again only to see so. */
#include "fit/event/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/linalg.h"
#include "try.h"

#define MEMORY 12             /* steps that quasi-Newton mode remembers */
#define QUASI_STEPS 14        /* it may take before the Hessian is worth its cost */
#define PATIENCE 12           /* iterations before a function is suspected of having no minimiser */
#define PREDICTED 0.05        /* a forecast must keep this far below the tolerance */
#define PREDICTED_QUASI 0.1   /* or if each further digit costs as much as the last */
#define EXPLAINED 0.999       /* a quadratic that falls by more loses digits to cancellation */
#define SAFE_PIVOT 1e-6       /* and one with smaller pivots loses them in the solve */
#define SUSPICIOUS_REACH 0.05 /* a step at convergence that still moves predictors by so much */

typedef struct {
    const pboost_objective *f;
    const pboost_newton_options *options;
    size_t n;
    double *x, *trial, *gradient, *trial_gradient, *step, *past, *work;
    double value, trial_value, decrement, last_decrement, scale;
    pboost_cholesky factor;
    bool fresh;    /* factor.l holds a Hessian that is not factored yet */
    bool ranked;   /* the columns to drop have been found */
    bool lost;     /* curvature has vanished altogether: no step can be trusted */
    bool quasi;    /* the factor is a rough or an old one */
    bool stale;    /* the factor is not that of the Hessian at x */
    bool whole;    /* the last step was a full one, and in Newton mode by a factor not stale */
    size_t stored; /* steps remembered so far */
    double *memory_s, *memory_y, memory_sy[MEMORY];
    double *block; /* what all of the above is part of */
} solver;

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double largest(const double *a, size_t n)
{
    double top = 0.0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, fabs(a[i]));
    return top;
}

static bool all_finite(const double *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(a[i]))
            return false;
    return true;
}

static pboost_status solver_init(solver *s, double *x, const pboost_objective *f,
                                 const pboost_newton_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool quasi = f->rough_hessian != NULL || options->keeps_hessian;
    size_t n = f->n, vectors = 8 + (quasi ? 2 * MEMORY : 0);
    *s = (solver){.f = f, .options = options, .n = n, .x = x, .quasi = quasi, .stale = quasi};
    NEED(s->block = pboost_acquire(options->work, n * (n + vectors), sizeof *s->block), err);
    NEED(s->factor.dropped = pboost_acquire_zeros(options->work, n, 1), err);
    double *at = s->block + n * n;
    double **vector[] = {&s->trial, &s->gradient, &s->trial_gradient, &s->step,
                         &s->past,  &s->work,     &s->factor.scale};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++, at += n)
        *vector[i] = at;
    s->memory_s = at;
    s->memory_y = at + (quasi ? MEMORY * n : 0);
    s->factor.l = s->block;
    s->factor.n = n;
    memcpy(s->past, x, n * sizeof *x);
done:
    return st;
}

static void solver_free(solver *s)
{
    pboost_release(s->options->work, s->block);
    pboost_release(s->options->work, s->factor.dropped);
}

/* Evaluates at the point `at` into value and gradient; the Hessian, if wanted, goes to the factor.
 */
static double evaluate(solver *s, const double *at, double *gradient, bool hessian)
{
    double value = s->f->evaluate(s->f->self, at, gradient, hessian ? s->factor.l : NULL);
    if (hessian) {
        s->fresh = true;
        s->stored = 0;
    }
    return isfinite(value) && all_finite(gradient, s->n) ? value : INFINITY;
}

/* Factors the Hessian.  Which columns add nothing is decided once: later, very small row weights
 * can make independent columns look dependent.  A dropped column's parameter is 0; returns whether
 * that moved x, so that the function must be evaluated again. */
static bool factorise(solver *s, pboost_newton_report *report)
{
    bool may_drop = !s->options->definite && !s->ranked, moved = false;
    size_t rank = pboost_cholesky_factor(&s->factor, pboost_rank_tolerance(s->n), may_drop);
    s->fresh = false;
    s->lost = s->ranked && rank < report->rank;
    if (s->ranked || s->quasi)
        return false;
    s->ranked = true;
    report->rank = rank;
    report->first_dropped = SIZE_MAX;
    for (size_t i = s->n; i-- > 0;)
        if (s->factor.dropped[i]) {
            report->first_dropped = i;
            moved = moved || s->x[i] != 0.0;
            s->x[i] = 0.0;
        }
    return moved;
}

/* step = -B gradient, where B is the inverse of the factored matrix, updated by the remembered
 * steps (the two-loop recursion). */
static void find_step(solver *s)
{
    size_t n = s->n, first = s->stored > MEMORY ? s->stored - MEMORY : 0;
    double alpha[MEMORY] = {0}, *q = s->work;
    for (size_t i = 0; i < n; i++)
        q[i] = -s->gradient[i];
    for (size_t k = s->stored; k-- > first;) {
        size_t m = k % MEMORY;
        alpha[m] = dot(s->memory_s + m * n, q, n) / s->memory_sy[m];
        for (size_t i = 0; i < n; i++)
            q[i] -= alpha[m] * s->memory_y[m * n + i];
    }
    pboost_cholesky_solve(s->step, &s->factor, q);
    for (size_t k = first; k < s->stored; k++) {
        size_t m = k % MEMORY;
        double beta = dot(s->memory_y + m * n, s->step, n) / s->memory_sy[m];
        for (size_t i = 0; i < n; i++)
            s->step[i] += (alpha[m] - beta) * s->memory_s[m * n + i];
    }
    s->decrement = -dot(s->gradient, s->step, n);
}

static void remember(solver *s)
{
    size_t n = s->n, m = s->stored % MEMORY;
    double sy = 0.0;
    for (size_t i = 0; i < n; i++) {
        s->memory_s[m * n + i] = s->trial[i] - s->x[i];
        s->memory_y[m * n + i] = s->trial_gradient[i] - s->gradient[i];
        sy += s->memory_s[m * n + i] * s->memory_y[m * n + i];
    }
    if (sy > 0.0 && isfinite(sy)) {
        s->memory_sy[m] = sy;
        s->stored++;
    }
}

static void accept(solver *s)
{
    if (s->quasi)
        remember(s);
    memcpy(s->x, s->trial, s->n * sizeof *s->x);
    memcpy(s->gradient, s->trial_gradient, s->n * sizeof *s->x);
    s->value = s->trial_value;
}

/* Tries x + t * step.  Values within rounding of each other count as equal. */
static bool try_step(solver *s, double t, bool hessian)
{
    for (size_t i = 0; i < s->n; i++)
        s->trial[i] = s->x[i] + t * s->step[i];
    s->trial_value = evaluate(s, s->trial, s->trial_gradient, hessian);
    double slack = 16.0 * DBL_EPSILON * s->scale;
    return s->trial_value <= s->value - 1e-4 * t * s->decrement + slack;
}

/* Moves along the step; false if no step that matters lowers the value. */
static bool move(solver *s, bool hessian)
{
    s->whole = s->quasi || !s->stale;
    if (try_step(s, 1.0, hessian)) {
        accept(s);
        return true;
    }
    s->whole = false;
    double reach = s->f->reach(s->f->self, s->step);
    double t = isfinite(reach) && reach > 0.0 ? log1p(reach) / reach : 0.5;
    for (int halvings = 0; halvings < 60; halvings++) {
        if (try_step(s, t, hessian)) {
            accept(s);
            return true;
        }
        t *= 0.5;
    }
    return false;
}

/* Whether the function decreases without limit.  The direction is not known exactly: the last step,
 * the way from the start and the way of the last few iterations all tend to it. */
static bool runs_away(solver *s)
{
    const pboost_objective *f = s->f;
    if (f->recedes(f->self, s->step) || f->recedes(f->self, s->x))
        return true;
    for (size_t i = 0; i < s->n; i++)
        s->work[i] = s->x[i] - s->past[i];
    return f->recedes(f->self, s->work);
}

/* What the decrement will be after the step that was just found, judging by the last two: Newton's
 * method squares the error each time, so that decrements d0, d1 are followed by d1 (d1 / d0)^2; any
 * other factor multiplies it.  INFINITY: not known. */
static double predict(const solver *s)
{
    double ratio = s->decrement / s->last_decrement;
    if (!s->whole || !(s->last_decrement > 0.0))
        return INFINITY;
    return s->decrement * (s->stale ? ratio : ratio * ratio);
}

/* Whether the step that was just found will reach the minimum of a quadratic up to rounding. */
static bool solves_quadratic(const solver *s)
{
    if (!s->options->quadratic || s->stale || 0.5 * s->decrement > EXPLAINED * s->value)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (s->factor.dropped[i] || s->factor.l[i * s->n + i] < sqrt(SAFE_PIVOT))
            return false;
    return true;
}

/* The decrement expected after the step, where that is safely within the tolerance; INFINITY: it is
 * not. */
static double predicted(const solver *s)
{
    double next = solves_quadratic(s) ? DBL_EPSILON * DBL_EPSILON * s->decrement : predict(s);
    double share = s->quasi ? PREDICTED_QUASI : PREDICTED;
    return 0.5 * next <= share * s->options->tolerance * s->scale ? next : INFINITY;
}

/* Whether the next step will converge, judging by the last two decrements: then its Hessian would
 * not be needed. */
static bool nearly_there(const solver *s)
{
    if (s->options->quadratic)
        return true;
    return 10.0 * predict(s) <= s->options->tolerance * s->scale;
}

/* No parameter would change by more than its last bits. */
static bool step_is_rounding(const solver *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (fabs(s->step[i]) > 2.0 * DBL_EPSILON * fabs(s->x[i]))
            return false;
    return true;
}

static bool diagonal_is_finite(const double *hessian, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(hessian[i * n + i]))
            return false;
    return true;
}

static bool start(solver *s)
{
    bool rough = s->f->rough_hessian != NULL;
    s->value = evaluate(s, s->x, s->gradient, !rough);
    s->scale = fabs(s->value);
    if (!isfinite(s->value) || s->value > s->options->limit)
        return false;
    if (rough)
        s->f->rough_hessian(s->f->self, s->x, s->factor.l);
    s->fresh = true;
    return diagonal_is_finite(s->factor.l, s->n);
}

/* One step: by Newton's method with the Hessian at the new point, without where it will not be
 * needed.  Where the step fails and the factor was not that of the Hessian here, gets that instead.
 * False: nothing lowers the value. */
static bool advance(solver *s)
{
    bool hessian = !s->quasi && !nearly_there(s);
    s->last_decrement = s->decrement;
    if (move(s, hessian)) {
        s->stale = !hessian;
        return true;
    }
    if (!s->stale)
        return false;
    s->quasi = s->stale = false;
    s->value = evaluate(s, s->x, s->gradient, true);
    return true;
}

/* Checks for a missing minimum if there is reason to: many iterations, or a small decrement with a
 * large step.  Returns whether convergence can be trusted. */
static bool suspect(solver *s, pboost_newton_report *report, bool small)
{
    bool due = report->iterations >= PATIENCE && report->iterations % 4 == 0;
    if (s->f->recedes == NULL || !(small || due))
        return small;
    if (s->f->reach(s->f->self, s->step) > SUSPICIOUS_REACH) {
        report->recedes = runs_away(s);
        small = false;
    }
    memcpy(s->past, s->x, s->n * sizeof *s->x);
    return small;
}

/* A last step, which is not worth an evaluation. */
static void finish(solver *s, pboost_newton_report *report, double next)
{
    for (size_t i = 0; i < s->n; i++)
        s->x[i] += s->step[i];
    if (!isfinite(next))
        return;
    report->iterations++;
    s->value -= 0.5 * s->decrement;
    for (size_t i = 0; i < s->n; i++)
        s->gradient[i] *= sqrt(next / s->decrement);
}

static void iterate(solver *s, pboost_newton_report *report)
{
    const pboost_newton_options *o = s->options;
    size_t stalled = 0;
    for (report->iterations = 0; !pboost_stopped(o->cancel); report->iterations++) {
        pboost_progress(o->cancel, "fitting", (double)report->iterations, 0.0);
        if (s->quasi && report->iterations == QUASI_STEPS) {
            s->quasi = s->stale = false;
            s->value = evaluate(s, s->x, s->gradient, true);
        }
        if (s->fresh && factorise(s, report)) {
            s->value = evaluate(s, s->x, s->gradient, true);
            factorise(s, report);
        }
        if (s->lost)
            return;
        find_step(s);
        if (!(s->decrement >= 0.0) || !isfinite(s->decrement))
            return;
        s->scale = fmax(fabs(s->value), o->floor);
        double next = predicted(s);
        bool small = 0.5 * s->decrement <= o->tolerance * s->scale || step_is_rounding(s);
        report->converged = suspect(s, report, small || isfinite(next));
        if (report->converged)
            finish(s, report, next);
        if (report->converged || report->recedes || report->iterations == o->max_iterations)
            return;

        double before = s->value;
        bool moved = advance(s);
        stalled = before - s->value <= 4.0 * DBL_EPSILON * s->scale ? stalled + 1 : 0;
        if (!moved || stalled >= 4) { /* as far as rounding allows */
            report->converged = 0.5 * s->last_decrement <= 1e-10 * s->scale;
            return;
        }
    }
}

pboost_status pboost_newton(double *x, pboost_newton_report *report, const pboost_objective *f,
                            const pboost_newton_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    solver s;
    *report = (pboost_newton_report){.rank = f->n, .first_dropped = SIZE_MAX};
    TRY(solver_init(&s, x, f, options, err));
    report->started = start(&s);
    if (report->started)
        iterate(&s, report);
    TRY(pboost_cancel_check(options->cancel, err));
    if (report->started && !report->converged && !report->recedes && f->recedes != NULL)
        report->recedes = runs_away(&s);
    report->value = s.value;
    report->gradient_norm = largest(s.gradient, s.n);
done:
    solver_free(&s);
    return st;
}

/* Truncated Newton in a trust region (Steihaug), whose norm is that of the preconditioner M.
 *
 * The conjugate gradients of a step end where the quadratic model stops to fall: when the last
 * iteration gained less than a part (`enough`) of the mean gain of all of them (Nash and Sofer).
 * Far from the solution the model is not worth more than half.  While it predicts well what steps
 * gain, the part becomes smaller, so that the last steps are almost those of Newton's method. */
#include "sparse/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "kernels/glm.h"
#include "try.h"

#define ENOUGH 0.5
#define LEAST_ENOUGH 1e-3
#define TIGHTER 0.5
#define MODEL_HOLDS 0.1 /* the error of the model of a gain, relative to it */
#define LEAST_PART 0.25
#define MOST_PRODUCTS 1000 /* of a step */
#define VECTORS 8

pboost_status pboost_wide_newton_init(wide_newton *out, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *out = (wide_newton){.n = n, .enough = ENOUGH, .part = 1.0};
    NEED(out->block = pboost_alloc(n, VECTORS * sizeof *out->block), err);
    double **part[VECTORS] = {&out->gradient, &out->diagonal,  &out->step,  &out->residual,
                              &out->scaled,   &out->direction, &out->image, &out->trial};
    for (size_t i = 0; i < VECTORS; i++)
        *part[i] = out->block + i * n;
done:
    return st;
}

void pboost_wide_newton_free(wide_newton *newton)
{
    free(newton->block);
    *newton = (wide_newton){0};
}

static double dot(const double *a, const double *b, size_t n)
{
    return pboost_glm_kernels()->dot(a, b, n);
}

static void add(double *y, double a, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* ---- Conjugate gradients --------------------------------------------------------------------- */

/* The M-norms that the trust region needs follow from the recurrences, without M itself. */
typedef struct {
    double rho;          /* residual' M^-1 residual */
    double step2, cross; /* step' M step; step' M direction */
    double direction2;   /* direction' M direction */
} cg_state;

/* Starts with step = 0 and this residual, which must be in place. */
static void cg_start(cg_state *s, wide_newton *w, const wide_problem *problem)
{
    memset(w->step, 0, w->n * sizeof *w->step);
    problem->precondition(problem->self, w->direction, w->residual, w->diagonal);
    s->rho = dot(w->residual, w->direction, w->n);
    s->direction2 = s->rho;
    s->step2 = s->cross = 0.0;
}

/* Goes `length` along direction, of which image is the product. */
static void cg_move(cg_state *s, wide_newton *w, double length)
{
    add(w->step, length, w->direction, w->n);
    add(w->residual, -length, w->image, w->n);
    s->step2 += length * (2.0 * s->cross + length * s->direction2);
    s->cross += length * s->direction2;
}

static void cg_turn(cg_state *s, wide_newton *w, const wide_problem *problem)
{
    problem->precondition(problem->self, w->scaled, w->residual, w->diagonal);
    double rho = dot(w->residual, w->scaled, w->n), beta = rho / s->rho;
    for (size_t i = 0; i < w->n; i++)
        w->direction[i] = w->scaled[i] + beta * w->direction[i];
    s->cross *= beta;
    s->direction2 = rho + beta * beta * s->direction2;
    s->rho = rho;
}

/* How far along direction the border of the trust region is. */
static double to_border(const cg_state *s, double radius)
{
    double left = fmax(radius * radius - s->step2, 0.0), b = s->cross, a = s->direction2;
    double root = sqrt(fmax(b * b + a * left, 0.0));
    return b > 0.0 ? left / (b + root) : (root - b) / a;
}

bool pboost_wide_solve(wide_newton *w, const wide_problem *problem, const double *right,
                       double tolerance, const pboost_cancel *cancel)
{
    cg_state s;
    memcpy(w->residual, right, w->n * sizeof *right);
    cg_start(&s, w, problem);
    double first = s.rho;
    for (size_t k = 0; k < MOST_PRODUCTS; k++) {
        if (!(s.rho > tolerance * tolerance * first))
            return true;
        if (pboost_stopped(cancel))
            return false;
        problem->product(problem->self, w->image, w->direction);
        double curvature = dot(w->direction, w->image, w->n);
        if (!(curvature > 0.0))
            return false;
        cg_move(&s, w, s.rho / curvature);
        cg_turn(&s, w, problem);
    }
    return false;
}

/* ---- Newton's method ------------------------------------------------------------------------- */

/* A step that was found: the gain that it promises, its length, whether the trust region ended it.
 */
typedef struct {
    double gain, length;
    bool at_border;
} newton_step;

static newton_step find_step(wide_newton *w, const wide_problem *problem,
                             wide_newton_report *report, const pboost_cancel *cancel)
{
    size_t n = w->n;
    newton_step out = {0};
    cg_state s;
    for (size_t i = 0; i < n; i++)
        w->residual[i] = -w->gradient[i];
    cg_start(&s, w, problem);
    w->radius = w->radius > 0.0 ? w->radius : sqrt(fmax(s.rho, 0.0));
    for (size_t k = 1; k <= MOST_PRODUCTS && s.rho > 0.0 && !pboost_stopped(cancel); k++) {
        problem->product(problem->self, w->image, w->direction);
        report->products++;
        double curvature = dot(w->direction, w->image, n), border = to_border(&s, w->radius);
        double length = curvature > 0.0 ? s.rho / curvature : INFINITY;
        out.at_border = !(length < border);
        cg_move(&s, w, out.at_border ? border : length);
        double gain = 0.5 * (dot(w->step, w->residual, n) - dot(w->step, w->gradient, n));
        bool enough = (double)k * (gain - out.gain) <= w->enough * gain;
        out.gain = gain;
        if (out.at_border || enough)
            break;
        cg_turn(&s, w, problem);
    }
    out.length = sqrt(fmax(s.step2, 0.0));
    return out;
}

/* The part of a step that would have lowered the value most, from the gain of the part `t` of it.
 * The matrix of Gauss and Newton is too small where residuals are large, and whole steps then go
 * too far, again and again. */
static double best_part(double gained, double gain, double t)
{
    double bend = t - 0.5 * gained / gain;
    double best = bend > 0.0 ? 0.5 * t * t / bend : 1.0;
    return fmin(fmax(best, LEAST_PART), 1.0);
}

/* Tries steps until one lowers the value, and takes it; false if none does. */
static bool advance(double *x, wide_newton_report *report, wide_newton *w,
                    const wide_problem *problem, const wide_newton_options *o, newton_step step)
{
    double rounding = o->rounding + 16.0 * DBL_EPSILON * fabs(report->value);
    while (report->steps < o->max_steps && !pboost_stopped(o->cancel)) {
        double part = step.at_border ? 1.0 : w->part, model = step.gain * part;
        for (size_t i = 0; i < w->n; i++)
            w->trial[i] = x[i] + part * w->step[i];
        double value = problem->attempt(problem->self, w->trial);
        double gained = report->value - value, ratio = gained / model;
        bool small = model <= 8.0 * rounding && gained >= -rounding;
        report->steps++;
        if (!small && !step.at_border && isfinite(value))
            w->part = best_part(gained, step.gain, part);
        bool holds = small || (fabs(ratio - 1.0) < MODEL_HOLDS && part > 1.0 - MODEL_HOLDS);
        w->enough = holds ? fmax(w->enough * TIGHTER, LEAST_ENOUGH) : ENOUGH;
        if (!small && !(ratio > 0.25))
            w->radius = 0.25 * part * step.length;
        else if (step.at_border && ratio > 0.75)
            w->radius = 4.0 * w->radius;
        if (small || ratio > 1e-4) {
            memcpy(x, w->trial, w->n * sizeof *x);
            problem->accept(problem->self);
            report->value = value;
            return true;
        }
        if (!(step.gain > rounding))
            break;
        step = find_step(w, problem, report, o->cancel);
    }
    report->stuck = report->steps < o->max_steps;
    w->radius = 0.0;
    return false;
}

void pboost_wide_newton(double *x, double value, wide_newton_report *report, wide_newton *w,
                        const wide_problem *problem, const wide_newton_options *o)
{
    double largest = 0.0;
    *report = (wide_newton_report){.value = value};
    for (;;) {
        pboost_progress(o->cancel, "fitting", (double)report->steps, 0.0);
        problem->here(problem->self, x, w->gradient, w->diagonal);
        report->gradient_norm = 0.0;
        for (size_t i = 0; i < w->n; i++)
            report->gradient_norm = fmax(report->gradient_norm, fabs(w->gradient[i]));
        newton_step step = find_step(w, problem, report, o->cancel);
        report->first = largest == 0.0 ? step.gain : report->first;
        largest = fmax(largest, step.gain);
        double scale = fmax(fabs(report->value), o->floor);
        report->converged = !step.at_border && step.gain <= o->tolerance * scale;
        if (report->converged || (!step.at_border && step.gain < o->slack * largest) ||
            report->steps >= o->max_steps || pboost_stopped(o->cancel) ||
            !advance(x, report, w, problem, o, step))
            break;
    }
}

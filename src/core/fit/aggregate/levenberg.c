/* Levenberg-Marquardt with the diagonal of the matrix as its measure.
 *
 * The first step is undamped.  A step that does not lower the value is tried again shorter and
 * nearer to the gradient; a step that does as well as the quadratic model predicted reduces the
 * damping of the next one.  A step whose gain is below rounding is taken without a comparison.
 * Convergence is decided by the undamped step only, because a damped step is always short. */
#include "fit/aggregate/levenberg.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "try.h"

#define LEAST_DAMPING 1e-4
#define MOST_DAMPING 1e12

pboost_status pboost_levenberg_init(levenberg *out, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *out = (levenberg){.n = n, .rank = n};
    NEED(out->block = pboost_alloc(n * (2 * n + 4), sizeof *out->block), err);
    NEED(out->factor.dropped = calloc(n > 0 ? n : 1, 1), err);
    out->matrix = out->block;
    out->factor.l = out->matrix + n * n;
    out->factor.scale = out->factor.l + n * n;
    out->factor.n = n;
    out->gradient = out->factor.scale + n;
    out->step = out->gradient + n;
    out->trial = out->step + n;
done:
    if (st != PBOOST_OK)
        pboost_levenberg_free(out);
    return st;
}

void pboost_levenberg_free(levenberg *lm)
{
    free(lm->block);
    free(lm->factor.dropped);
    *lm = (levenberg){0};
}

/* step = -(matrix + damping diag(matrix))^-1 gradient; returns -gradient . step. */
static double find_step(levenberg *lm, double damping, bool may_drop)
{
    size_t n = lm->n;
    double decrement = 0.0;
    memcpy(lm->factor.l, lm->matrix, n * n * sizeof *lm->matrix);
    for (size_t i = 0; i < n; i++)
        lm->factor.l[i * n + i] *= 1.0 + damping;
    size_t rank =
        pboost_cholesky_factor(&lm->factor, pboost_rank_tolerance(n), may_drop && !lm->ranked);
    if (!lm->ranked)
        lm->rank = rank;
    lm->ranked = true;
    pboost_cholesky_solve(lm->step, &lm->factor, lm->gradient);
    for (size_t i = 0; i < n; i++) {
        decrement += lm->gradient[i] * lm->step[i];
        lm->step[i] = -lm->step[i];
    }
    return decrement;
}

/* Tries damped steps from x until one lowers the value, and takes it; false if none does. */
static bool advance(double *x, levenberg_report *report, levenberg *lm,
                    const levenberg_problem *problem, const levenberg_options *options)
{
    double growth = 4.0, rounding = options->rounding + 16.0 * DBL_EPSILON * fabs(report->value);
    while (report->steps < options->max_steps) {
        double decrement = find_step(lm, lm->damping, false), model = 0.5 * decrement;
        for (size_t i = 0; i < lm->n; i++)
            lm->trial[i] = x[i] + lm->step[i];
        double value = problem->attempt(problem->self, lm->trial);
        report->steps++;
        double gain = (report->value - value) / model;
        if (gain > 1e-4 || (model <= 8.0 * rounding && value <= report->value + rounding)) {
            memcpy(x, lm->trial, lm->n * sizeof *x);
            problem->accept(problem->self);
            if (gain > 0.75)
                lm->damping = lm->damping < LEAST_DAMPING ? 0.0 : lm->damping / 8.0;
            else if (gain < 0.25)
                lm->damping = fmax(2.0 * lm->damping, LEAST_DAMPING);
            return true;
        }
        lm->damping = fmax(growth * lm->damping, 10.0 * LEAST_DAMPING);
        growth *= 2.0;
        if (lm->damping > MOST_DAMPING)
            break;
    }
    report->stuck = report->steps < options->max_steps;
    if (report->stuck)
        lm->damping = 0.0;
    return false;
}

void pboost_levenberg(double *x, levenberg_report *report, levenberg *lm,
                      const levenberg_problem *problem, const levenberg_options *options,
                      bool may_drop)
{
    double largest = 0.0;
    *report = (levenberg_report){0};
    for (;;) {
        pboost_progress(options->cancel, "fitting", (double)report->steps, 0.0);
        report->value = problem->here(problem->self, x, lm->gradient, lm->matrix);
        report->decrement = find_step(lm, 0.0, may_drop);
        report->gradient_norm = 0.0;
        for (size_t i = 0; i < lm->n; i++)
            report->gradient_norm = fmax(report->gradient_norm, fabs(lm->gradient[i]));
        report->first = largest == 0.0 ? report->decrement : report->first;
        largest = fmax(largest, report->decrement);
        double scale = fmax(fabs(report->value), options->floor);
        report->converged = 0.5 * report->decrement <= options->tolerance * scale;
        if (report->converged || report->decrement < options->slack * largest ||
            report->steps >= options->max_steps || pboost_stopped(options->cancel) ||
            !advance(x, report, lm, problem, options))
            break;
    }
    find_step(lm, 0.0, false);
}

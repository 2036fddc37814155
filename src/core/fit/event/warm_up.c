/* Large tables are fitted on a 64th and an 8th of the samples first, so that full passes are needed
 * only to refine.  With many columns a Gram matrix costs more than several gradients; then the
 * Hessian of an 8th of the samples is used instead of that of all, and that of a 64th instead of
 * that of the 8th, or of all if columns are hardly correlated.  A fit that continues from another
 * has no use for these parts: it computes the Hessian of all samples, once. */
#include <math.h>

#include "fit/event/event.h"
#include "try.h"

#define COARSE 64 /* one sample in this many is used */
#define FINE 8
#define WARM_UP_ROWS 1024 /* least rows of a warm-up, and least rows per parameter */
#define WARM_UP_ROWS_PER_PARAMETER 40
#define COSTLY_ROWS_PER_PARAMETER 10 /* where every step with a true Hessian is costly */
#define FEWEST_ROWS_PER_PARAMETER 6  /* for a Hessian of any use */
#define WARM_UP_ITERATIONS 12
#define WARM_UP_TOLERANCE 1e-3 /* the step taken within it leaves about its square */
#define HARDLY_CORRELATED 0.5  /* see event_problem.correlated */
#define COSTLY_COLUMNS 24      /* from this number of columns on a rough Hessian saves time */

static bool hessian_is_costly(const event_problem *p)
{
    return p->family->curved && p->l2 > 0.0 && p->cols >= COSTLY_COLUMNS;
}

static bool enough_rows(const event_problem *p, size_t rows)
{
    size_t each = hessian_is_costly(p) ? COSTLY_ROWS_PER_PARAMETER : WARM_UP_ROWS_PER_PARAMETER;
    return rows >= WARM_UP_ROWS && rows / each >= p->n_parameters;
}

static pboost_status plan_part(pass_plan *out, const event_problem *p, const event_parts *parts,
                               size_t stride, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_pass_init_part(out, parts->samples, p->family, stride, parts->shift,
                              p->options->threads, p->work, err));
    out->cross = p->options->intercept;
done:
    return st;
}

/* Fits the samples of one plan, roughly.  What it finds is only a place to start, and no nearer to
 * the minimum over all samples than its parameters per sample. */
static pboost_status fit_part(double *x, event_problem *p, pass_plan *plan, pass_plan *rough,
                              pboost_error *err)
{
    pboost_newton_report ignored;
    double tolerance = fmax(WARM_UP_TOLERANCE, (double)p->n_parameters / (double)plan->count);
    event_goal goal = {WARM_UP_ITERATIONS, tolerance, INFINITY, false, false};
    row_pass pass = pboost_pass_local(plan);
    return pboost_event_minimise(x, &ignored, p, &pass, hessian_is_costly(p) ? rough : NULL, &goal,
                                 err);
}

static pboost_status warm_up(double *x, event_problem *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    event_parts *parts = p->samples;
    size_t n = p->n_parameters, coarse = COARSE;
    size_t most = parts->samples->n / FEWEST_ROWS_PER_PARAMETER / n;

    coarse = coarse > most ? most : coarse;
    TRY(plan_part(&parts->fine, p, parts, FINE, err));
    if (coarse >= 2 * FINE)
        TRY(plan_part(&parts->coarse, p, parts, coarse, err));
    bool few = parts->coarse.sums == NULL;
    if (!few && parts->coarse.count / WARM_UP_ROWS_PER_PARAMETER >= n &&
        parts->coarse.count >= WARM_UP_ROWS)
        TRY(fit_part(x, p, &parts->coarse, &parts->coarse, err));
    TRY(fit_part(x, p, &parts->fine, few ? &parts->fine : &parts->coarse, err));
    if (hessian_is_costly(p))
        p->rough = few || p->correlated > HARDLY_CORRELATED ? &parts->fine : &parts->coarse;
done:
    return st;
}

void pboost_event_plan_warm_up(event_problem *problem, event_parts *parts)
{
    problem->keeps_hessian = hessian_is_costly(problem);
    if (!problem->family->curved || !enough_rows(problem, parts->samples->n / FINE))
        return;
    problem->warm_up = warm_up;
    problem->samples = parts;
}

void pboost_event_parts_free(event_parts *parts)
{
    pboost_pass_free(&parts->coarse);
    pboost_pass_free(&parts->fine);
}

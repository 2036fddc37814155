/* Fits that continue from an earlier fit.  See refit.h.
 *
 * For the losses of all our families |f'''| <= f'', so along a step p that changes no linear
 * predictor by more than D the Hessian stays within factors exp(-D) and exp(D) of itself.  After a
 * full Newton step the gradient is the integral of (H(x + t p) - H(x)) p over t in [0, 1], which in
 * the norm of H^-1 is at most (exp(D) - 1 - D) / D times that of H p.  The squared decrement there
 * is thus at most exp(D) ((exp(D) - 1 - D) / D)^2 of what it was: about (D/2)^2.  If that is within
 * the tolerance the step is taken without a pass, and the sums stay those of the point before it.
 */
#include "refit.h"

#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "data/family.h"
#include "data/matrix.h"
#include "fit/event/newton.h"
#include "passes/row_pass.h"
#include "try.h"

#define FEW_ROWS 16  /* by column: a Hessian of so many is far from that of others */
#define MANY_STEPS 7 /* from a Hessian that is kept: a new one would save more than it costs */

struct pboost_refit {
    const family_info *family;
    size_t cols;
    double longest;
    double value;          /* of the losses at `at`, without a penalty; so below */
    double *at, *gradient; /* padded */
    double *gram;          /* cols x cols, lower triangle */
    size_t gram_rows;      /* of other samples, those that it is of; 0: none */
    double *factor, *step, *scale;
    unsigned char *dropped;
    double *block;
};

typedef struct {
    pboost_refit *refit;
    const pboost_samples *all;
    double l2;
    double *theta; /* padded */
    pass_plan plan;
} refit_task;

pboost_status pboost_refit_create(pboost_refit **out, pboost_family family, size_t cols,
                                  double longest, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_refit *r = NULL;
    size_t padded = pboost_panel_blocks(cols) * PANEL_LANES;

    *out = NULL;
    TRY(pboost_family_check(family, err));
    if (cols == 0 || !(longest >= 0.0))
        FAIL(err, PBOOST_INVALID,
             "there are %zu columns and the longest row is %g; there must be "
             "a column, and a length is not negative",
             cols, longest);
    NEED(r = calloc(1, sizeof *r), err);
    r->family = pboost_family_info(family);
    r->cols = cols;
    r->longest = longest;
    NEED(r->block = calloc(2 * padded + cols * (2 * cols + 2), sizeof *r->block), err);
    NEED(r->dropped = calloc(cols, 1), err);
    r->at = r->block;
    r->gradient = r->at + padded;
    r->gram = r->gradient + padded;
    r->factor = r->gram + cols * cols;
    r->step = r->factor + cols * cols;
    r->scale = r->step + cols;
    *out = r;
    r = NULL;
done:
    pboost_refit_free(r);
    return st;
}

void pboost_refit_free(pboost_refit *refit)
{
    if (refit == NULL)
        return;
    free(refit->dropped);
    free(refit->block);
    free(refit);
}

static void add_sums(pboost_refit *r, const pass_sums *sums, size_t padded)
{
    r->value += sums->value;
    for (size_t j = 0; j < r->cols; j++) {
        r->gradient[j] += sums->gradient[j];
        for (size_t i = 0; i <= j; i++)
            r->gram[j * r->cols + i] += sums->gram[j * padded + i];
    }
}

pboost_status pboost_refit_add(pboost_refit *refit, const pboost_samples *added, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pass_plan plan = {0};

    TRY(pboost_samples_check(added, true, err));
    TRY(pboost_pass_init(&plan, added, refit->family, NULL, 1, err));
    pass_sums sums = pboost_pass_run(&plan, refit->at, 0.0, true);
    add_sums(refit, &sums, plan.padded);
done:
    pboost_pass_free(&plan);
    return st;
}

/* The loss is b(eta) - y eta. */
void pboost_refit_retarget(pboost_refit *refit, const double *change)
{
    for (size_t j = 0; j < refit->cols; j++) {
        refit->value -= refit->at[j] * change[j];
        refit->gradient[j] -= change[j];
    }
}

/* ---- Solving --------------------------------------------------------------------------------- */

/* The penalised value; fills gradient and Hessian from the sums that are kept. */
static double recall(const pboost_refit *r, double l2, double *gradient, double *hessian)
{
    double penalty = 0.0;
    for (size_t j = 0; j < r->cols; j++) {
        gradient[j] = r->gradient[j] + l2 * r->at[j];
        penalty += r->at[j] * r->at[j];
        if (hessian == NULL)
            continue;
        memcpy(hessian + j * r->cols, r->gram + j * r->cols, (j + 1) * sizeof *hessian);
        hessian[j * r->cols + j] += l2;
    }
    return r->value + 0.5 * l2 * penalty;
}

/* The point whose sums are kept needs no pass.  A point with a Hessian replaces the kept sums. */
static double evaluate(void *self, const double *x, double *gradient, double *hessian)
{
    refit_task *task = self;
    pboost_refit *r = task->refit;
    double penalty = 0.0;

    if (memcmp(x, r->at, r->cols * sizeof *x) == 0)
        return recall(r, task->l2, gradient, hessian);
    memcpy(task->theta, x, r->cols * sizeof *x);
    pass_sums sums = pboost_pass_run(&task->plan, task->theta, 0.0, hessian != NULL);
    if (hessian != NULL && isfinite(sums.value)) {
        memcpy(r->at, x, r->cols * sizeof *x);
        r->value = 0.0;
        memset(r->gradient, 0, r->cols * sizeof *x);
        memset(r->gram, 0, r->cols * r->cols * sizeof *x);
        add_sums(r, &sums, task->plan.padded);
        return recall(r, task->l2, gradient, hessian);
    }
    for (size_t j = 0; j < r->cols; j++) {
        gradient[j] = sums.gradient[j] + task->l2 * x[j];
        penalty += x[j] * x[j];
    }
    return sums.value + 0.5 * task->l2 * penalty;
}

static double reach(void *self, const double *p)
{
    refit_task *task = self;
    memcpy(task->theta, p, task->refit->cols * sizeof *p);
    return pboost_pass_direction(&task->plan, task->theta, 0.0).reach;
}

/* The fraction of the squared decrement that can remain after a full step. */
static double left_by_step(const pboost_refit *r)
{
    double square = 0.0;
    if (!r->family->curved)
        return 0.0;
    for (size_t j = 0; j < r->cols; j++)
        square += r->step[j] * r->step[j];
    double d = r->longest * sqrt(square);
    double growth = d > 1e-4 ? (expm1(d) - d) / d : 0.5 * d * exp(d);
    return exp(d) * growth * growth;
}

/* A step from the kept sums alone, if the bound shows that it is enough; false: it may not be. */
static bool step_unseen(pboost_coef *coef, pboost_newton_report *report, pboost_refit *r,
                        const pboost_fit_options *o)
{
    pboost_cholesky c = {r->cols, r->factor, r->scale, r->dropped};
    double *gradient = coef->theta, decrement = 0.0; /* the coefficients' place serves for both */

    double value = recall(r, o->l2.value, gradient, r->factor);
    memset(r->dropped, 0, r->cols);
    if (pboost_cholesky_factor(&c, pboost_rank_tolerance(r->cols), true) < r->cols)
        return false;
    pboost_cholesky_solve(r->step, &c, gradient);
    for (size_t j = 0; j < r->cols; j++)
        decrement += gradient[j] * r->step[j];
    double left = left_by_step(r) * decrement;
    if (!(0.5 * left <= o->tolerance * fabs(value)))
        return false;
    for (size_t j = 0; j < r->cols; j++)
        coef->theta[j] = r->at[j] - r->step[j];
    *report = (pboost_newton_report){.converged = true,
                                     .started = true,
                                     .iterations = 1,
                                     .value = value - 0.5 * decrement,
                                     .rank = r->cols,
                                     .first_dropped = SIZE_MAX};
    return true;
}

static pboost_status minimise(pboost_coef *coef, pboost_newton_report *report, pboost_refit *r,
                              const pboost_samples *all, const pboost_fit_options *o,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    refit_task task = {.refit = r, .all = all, .l2 = o->l2.value};
    const pboost_objective f = {.n = r->cols, .self = &task, .evaluate = evaluate, .reach = reach};
    const pboost_newton_options newton = {.max_iterations = o->max_iterations,
                                          .tolerance = o->tolerance,
                                          .definite = o->l2.value > 0.0,
                                          .quadratic = !r->family->curved,
                                          .limit = INFINITY};

    TRY(pboost_pass_init(&task.plan, all, r->family, NULL, 1, err));
    NEED(task.theta = calloc(task.plan.padded, sizeof *task.theta), err);
    memcpy(coef->theta, r->at, r->cols * sizeof *r->at);
    TRY(pboost_newton(coef->theta, report, &f, &newton, err));
done:
    pboost_pass_free(&task.plan);
    free(task.theta);
    return st;
}

static void fill_report(pboost_fit_report *out, const pboost_newton_report *newton, double l2)
{
    *out = (pboost_fit_report){.converged = newton->converged,
                               .iterations = newton->iterations,
                               .objective = newton->value,
                               .gradient_norm = newton->gradient_norm,
                               .rank = newton->rank,
                               .first_dropped = newton->first_dropped,
                               .l2 = l2,
                               .dispersion = NAN,
                               .pearson = NAN,
                               .freedom = NAN,
                               .eta_sd = NAN};
}

static pboost_status check_columns(const pboost_coef *coef, const pboost_refit *refit,
                                   const pboost_samples *samples, pboost_error *err)
{
    if (coef->n != refit->cols || samples->x->cols != refit->cols)
        return pboost_fail(err, PBOOST_INVALID,
                           "the model has %zu coefficients and the table %zu columns, not %zu",
                           coef->n, samples->x->cols, refit->cols);
    return PBOOST_OK;
}

pboost_status pboost_refit_solve(pboost_coef *coef, pboost_fit_report *report, pboost_refit *refit,
                                 const pboost_samples *all, const pboost_fit_options *options,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_newton_report newton = {0};

    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(check_columns(coef, refit, all, err));
    coef->intercept = 0.0;
    if (!step_unseen(coef, &newton, refit, options))
        TRY(minimise(coef, &newton, refit, all, options, err));
    fill_report(report, &newton, options->l2.value);
done:
    return st;
}

/* ---- Other samples --------------------------------------------------------------------------- */

static void fill_hessian(const refit_task *task, double *hessian, double scale)
{
    const pboost_refit *r = task->refit;
    for (size_t j = 0; j < r->cols; j++) {
        for (size_t i = 0; i <= j; i++)
            hessian[j * r->cols + i] = scale * r->gram[j * r->cols + i];
        hessian[j * r->cols + j] += task->l2;
    }
}

static double evaluate_others(void *self, const double *x, double *gradient, double *hessian)
{
    refit_task *task = self;
    pboost_refit *r = task->refit;
    double penalty = 0.0;

    memcpy(task->theta, x, r->cols * sizeof *x);
    pass_sums sums = pboost_pass_run(&task->plan, task->theta, 0.0, hessian != NULL);
    for (size_t j = 0; j < r->cols; j++) {
        gradient[j] = sums.gradient[j] + task->l2 * x[j];
        penalty += x[j] * x[j];
    }
    if (hessian != NULL) {
        for (size_t j = 0; j < r->cols; j++)
            memcpy(r->gram + j * r->cols, sums.gram + j * sums.stride, (j + 1) * sizeof *x);
        r->gram_rows = task->all->n;
        fill_hessian(task, hessian, 1.0);
    }
    return sums.value + 0.5 * task->l2 * penalty;
}

static void recall_hessian(void *self, const double *x, double *hessian)
{
    refit_task *task = self;
    (void)x;
    fill_hessian(task, hessian, (double)task->all->n / (double)task->refit->gram_rows);
}

/* Steps are quasi-Newton ones from the Hessian that is kept, or from a new one where there is none,
 * samples are few, so that theirs differ much, or the last fit took many steps with it. */
pboost_status pboost_refit_others(pboost_coef *coef, pboost_fit_report *report, pboost_refit *refit,
                                  const pboost_samples *others, const pboost_fit_options *options,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_newton_report newton = {0};
    refit_task task = {.refit = refit, .all = others, .l2 = options->l2.value};
    bool keep = refit->gram_rows > 0 && others->n / FEW_ROWS >= refit->cols;
    const pboost_objective f = {.n = refit->cols,
                                .self = &task,
                                .evaluate = evaluate_others,
                                .rough_hessian = keep ? recall_hessian : NULL,
                                .reach = reach};
    const pboost_newton_options how = {.max_iterations = options->max_iterations,
                                       .tolerance = options->tolerance,
                                       .definite = options->l2.value > 0.0,
                                       .keeps_hessian = !keep,
                                       .quadratic = !refit->family->curved,
                                       .limit = INFINITY};

    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(check_columns(coef, refit, others, err));
    coef->intercept = 0.0;
    TRY(pboost_pass_init(&task.plan, others, refit->family, NULL, 1, err));
    NEED(task.theta = calloc(task.plan.padded, sizeof *task.theta), err);
    TRY(pboost_newton(coef->theta, &newton, &f, &how, err));
    if (keep && newton.iterations > MANY_STEPS)
        refit->gram_rows = 0;
    fill_report(report, &newton, options->l2.value);
done:
    pboost_pass_free(&task.plan);
    free(task.theta);
    return st;
}

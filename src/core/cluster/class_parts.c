/* A fit of classes where no machine has all bags: each part computes the moments and sums of its
 * bags.
 *
 * The aggregate fit is that of classes/solve.c, which calls the passes here.  The event-level fit
 * is simpler than there: its bags are rows, whose sizes are 1 at any point, so nothing is frozen
 * and no number by row is needed where the fit runs.  A pass that tries a point also brings its
 * matrix, which the next step needs: to start a pass costs more than its arithmetic. */
#include <priorboost/cluster.h>

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "classes/fit.h"
#include "cluster/failure.h"
#include "try.h"

enum { ROWS_LOSS, ROWS_ROUNDING, ROWS_ETA };

pboost_status pboost_leading_direction(double *direction, double *cross, size_t classes,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *work = NULL;

    NEED(work = pboost_alloc(classes * (classes + 1), sizeof *work), err);
    pboost_class_direction(direction, work, cross, classes);
done:
    free(work);
    return st;
}

/* The machines that have the rows. */
typedef struct {
    const pboost_class_parts *parts;
    class_fit *fit;
    double *sums; /* of the last gram, or of the rows at the trial */
    double *here; /* event: of the rows at the point */
    machine_failure failure;
} class_machines;

static pboost_class_point point_at(const class_fit *fit, const double *parameter)
{
    return (pboost_class_point){.classes = fit->classes,
                                .cols = fit->pass.cols,
                                .intercept = fit->pass.intercept,
                                .shift = fit->units.shift,
                                .center = fit->units.center,
                                .scale = fit->units.scale,
                                .parameter = parameter};
}

static pboost_class_bags known_by(const class_fit *fit)
{
    return (pboost_class_bags){fit->answer, fit->noise, fit->size, fit->blur};
}

/* ---- The aggregate fit ----------------------------------------------------------------------- */

static void remote_run(class_moments *out, class_fit *fit, const double *parameter)
{
    class_machines *m = fit->machines;
    pboost_class_point at = point_at(fit, parameter);

    memcpy(out->parameter, parameter, fit->pass.n_parameters * sizeof *parameter);
    if (m->failure.status == PBOOST_OK)
        m->failure.status = m->parts->moments(m->parts->self, &at, out->mean, out->variance,
                                              out->eta, &m->failure.error);
    for (size_t i = 0; m->failure.status != PBOOST_OK && i < fit->n_bags * fit->classes; i++)
        out->mean[i] = out->variance[i] = NAN;
}

static void remote_gram(double *gram, double *vector, class_fit *fit)
{
    class_machines *m = fit->machines;
    pboost_class_point at = point_at(fit, fit->point.parameter);
    pboost_class_bags known = known_by(fit);
    size_t n = fit->pass.n_parameters;

    if (m->failure.status == PBOOST_OK)
        m->failure.status = m->parts->gram(m->parts->self, &at, &known, m->sums, &m->failure.error);
    if (m->failure.status != PBOOST_OK)
        memset(m->sums, 0, PBOOST_GRAM_SIZE(n) * sizeof *m->sums);
    memcpy(gram, m->sums, n * n * sizeof *gram);
    memcpy(vector, m->sums + n * n, n * sizeof *vector);
}

static void remote_meat(double *meat, double *misfit, class_fit *fit)
{
    class_machines *m = fit->machines;
    pboost_class_point at = point_at(fit, fit->point.parameter);
    pboost_class_bags known = known_by(fit);
    size_t n = fit->pass.n_parameters;

    if (m->failure.status == PBOOST_OK)
        m->failure.status =
            m->parts->meat(m->parts->self, &at, &known, meat, misfit, &m->failure.error);
    if (m->failure.status != PBOOST_OK) {
        memset(meat, 0, n * n * sizeof *meat);
        memset(misfit, 0, fit->n_bags * sizeof *misfit);
    }
}

static void remote_scores(double *squares, class_fit *fit)
{
    class_machines *m = fit->machines;
    pboost_class_point at = point_at(fit, fit->point.parameter);
    pboost_class_bags known = known_by(fit);
    size_t n = fit->pass.n_parameters;

    if (m->failure.status == PBOOST_OK)
        m->failure.status =
            m->parts->scores(m->parts->self, &at, &known, squares, &m->failure.error);
    if (m->failure.status != PBOOST_OK)
        memset(squares, 0, n * n * sizeof *squares);
}

static const class_access REMOTE = {remote_run, remote_gram, remote_meat, remote_scores};

static pboost_status fit_bags(class_fit *fit, pboost_fit_report *report, double *covariance,
                              const pboost_class_coef *coef, const bag_proportions *given,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_class_solve(fit, report, coef, err));
    TRY(pboost_class_covariance(covariance, fit, err));
    pboost_class_fill_report(report, fit);
    fit->access->run(&fit->trial, fit, fit->start);
    report->worse_than_constant =
        pboost_class_is_worse(fit, fit->point.mean, fit->trial.mean, given);
done:
    return st;
}

/* ---- The event-level fit --------------------------------------------------------------------- */

/* Loss and sums of all rows at x into m->sums; infinite after a failure. */
static double rows_at(class_machines *m, const double *x)
{
    pboost_class_point at = point_at(m->fit, x);
    if (m->failure.status == PBOOST_OK)
        m->failure.status = m->parts->rows(m->parts->self, &at, m->sums, &m->failure.error);
    if (m->failure.status != PBOOST_OK)
        return INFINITY;
    return m->sums[ROWS_LOSS];
}

static double attempt(void *self, const double *x)
{
    class_machines *m = self;
    double value = rows_at(m, x) + pboost_class_penalty_at(m->fit, x);
    return isfinite(value) ? value : INFINITY;
}

static void accept(void *self)
{
    class_machines *m = self;
    double *old = m->here;
    m->here = m->sums;
    m->sums = old;
}

static double here(void *self, const double *x, double *gradient, double *matrix)
{
    class_machines *m = self;
    size_t n = m->fit->pass.n_parameters;
    const double *gram = m->here + ROWS_ETA + 2 * m->fit->classes;

    memcpy(matrix, gram, n * n * sizeof *matrix);
    for (size_t i = 0; i < n; i++)
        gradient[i] = -gram[n * n + i];
    pboost_class_penalise(gradient, matrix, m->fit, x);
    return m->here[ROWS_LOSS] + pboost_class_penalty_at(m->fit, x);
}

/* Nothing is frozen: the sizes are 1. */
static double freeze_here(void *self, size_t refreshes)
{
    const class_machines *m = self;
    (void)refreshes;
    return m->here[ROWS_ROUNDING];
}

/* The constant model or, where that explains the answers better, coef. */
static void start_rows(class_machines *m, const pboost_class_coef *coef)
{
    class_fit *fit = m->fit;
    size_t n = fit->pass.n_parameters;

    pboost_class_set_start(fit);
    memcpy(fit->parameter, fit->start, n * sizeof *fit->start);
    double constant = rows_at(m, fit->parameter);
    accept(m);
    if (pboost_is_zero(coef->theta, coef->classes * (coef->cols + 1)))
        return;
    pboost_class_enter(fit->lm.trial, fit, coef);
    if (rows_at(m, fit->lm.trial) < constant) {
        memcpy(fit->parameter, fit->lm.trial, n * sizeof *fit->parameter);
        accept(m);
    }
}

static pboost_status fit_rows(class_machines *m, pboost_fit_report *report, double *covariance,
                              const pboost_class_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_fit *fit = m->fit;
    const pboost_fit_options *o = fit->options;
    levenberg_problem problem = {fit->pass.n_parameters, m, attempt, accept, here};
    size_t weights = pboost_class_weights(fit->classes, fit->pass.cols);

    double usual = pboost_class_set_penalty(fit);
    start_rows(m, coef);
    TRY(pboost_cancel_check(o->cancel, err));
    TRY(pboost_class_minimise(fit, report, &problem, freeze_here, usual, err));
    memcpy(fit->point.eta, m->here + ROWS_ETA, 2 * fit->classes * sizeof *fit->point.eta);
    pboost_class_fill_report(report, fit);
    for (size_t i = 0; covariance != NULL && i < weights * weights; i++)
        covariance[i] = (double)NAN;
done:
    return st;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static pboost_status check(const class_fit *fit, size_t cols, size_t n_bags, const size_t *start,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = {.x = {.cols = cols}};

    TRY(pboost_classes_check(&features, fit->classes, fit->options, err));
    if (fit->options->l2.mode == PBOOST_L2_CV)
        FAIL(err, PBOOST_INVALID,
             "l2 by cross-validation is for rows on one machine, not for parts of them");
    if (n_bags == 0)
        FAIL(err, PBOOST_BAD_DATA, "there are no answers");
    for (size_t b = 0; b < n_bags; b++)
        if (start[b + 1] <= start[b])
            FAIL(err, PBOOST_INVALID, "bag %zu has no rows", b);
done:
    return st;
}

static pboost_status remote_init(class_machines *m, size_t cols, const bag_proportions *given,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_fit *fit = m->fit;
    const pboost_class_parts *parts = m->parts;
    bool intercept = fit->options->intercept;
    size_t width = cols + intercept, n = (fit->classes - 1) * width;
    size_t room = PBOOST_CLASS_ROWS_SIZE(fit->classes, n);
    double *sum = NULL;

    NEED(sum = pboost_alloc(2 * cols, sizeof *sum), err);
    TRY(parts->columns(parts->self, sum, err));
    TRY(pboost_units_from_sums(&fit->units, cols, parts->base, sum, sum + cols,
                               given->start[fit->n_bags] - given->start[0],
                               pboost_column_options(fit->options), err));
    fit->pass = (class_pass){.n_bags = fit->n_bags,
                             .start = given->start,
                             .classes = fit->classes,
                             .cols = cols,
                             .width = width,
                             .n_parameters = n,
                             .intercept = intercept};
    NEED(m->sums = calloc(room, sizeof *m->sums), err);
    NEED(m->here = calloc(room, sizeof *m->here), err);
    TRY(pboost_class_reserve(fit, err));
    TRY(pboost_class_ridges_init(fit, err));
    TRY(pboost_class_load_answers(fit, given, err));
done:
    free(sum);
    return st;
}

pboost_status pboost_class_parts_fit(pboost_class_coef *coef, pboost_fit_report *report,
                                     double *covariance, const pboost_class_parts *parts,
                                     size_t n_bags, const size_t *start, const double *answer,
                                     const double *noise, const pboost_fit_options *wanted,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report found = {.first_dropped = SIZE_MAX};
    class_fit fit = {
        .options = &options, .access = &REMOTE, .classes = coef->classes, .n_bags = n_bags};
    class_machines machines = {.parts = parts, .fit = &fit};
    pboost_cancel cancel = {.stop = pboost_machines_stop, .user = &machines.failure};
    bag_proportions given = {start, answer, noise};

    fit.machines = &machines;
    TRY(OPTIONS_READ(&options, wanted, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(check(&fit, coef->cols, n_bags, start, err));
    machines.failure.given = options.cancel;
    options.cancel = &cancel;
    TRY(remote_init(&machines, coef->cols, &given, err));
    if (options.estimator == PBOOST_AGGREGATE)
        TRY(fit_bags(&fit, &found, covariance, coef, &given, err));
    else
        TRY(fit_rows(&machines, &found, covariance, coef, err));
    TRY(machines.failure.status);
    pboost_class_leave(coef, &fit);
done:
    st = pboost_machines_result(&machines.failure, st, err);
    if (report != NULL)
        *report = st == PBOOST_OK ? found : (pboost_fit_report){.first_dropped = SIZE_MAX};
    pboost_class_fit_free(&fit);
    free(machines.sums);
    free(machines.here);
    return st;
}

/* Systems A z = r at the solution of a fit, by conjugate gradients. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/options.h"
#include "base/rng.h"
#include "sparse/aggregate.h"
#include "try.h"

#define EXACT 32 /* with so few parameters the trace is taken entry by entry */
#define PROBES 4 /* random vectors that estimate it otherwise */
#define ROUGH 1e-3
#define CLOSE 1e-10

/* Element i of a probe: a sign, or of a unit vector. */
static double probe_at(size_t n, size_t probe, size_t i)
{
    if (n <= EXACT)
        return i == probe ? 1.0 : 0.0;
    return (pboost_rng_key(0, RNG_SKETCH, probe, i) & 1) != 0 ? 1.0 : -1.0;
}

/* tr A^-1 (A - Lambda) = parameters - tr A^-1 Lambda, of which z' A^-1 Lambda z is an estimate for
 * a random vector z of signs (Hutchinson). */
pboost_status pboost_wide_freedom(double *freedom, wide_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wide_newton *w = &f->newton;
    size_t n = f->problem.n, probes = n <= EXACT ? n : PROBES;
    double trace = 0.0;

    *freedom = (double)n;
    if (f->l2 == 0.0)
        return PBOOST_OK;
    f->problem.here(f, f->parameter, w->gradient, w->diagonal);
    for (size_t p = 0; p < probes; p++) {
        for (size_t i = 0; i < n; i++)
            w->trial[i] = probe_at(n, p, i);
        pboost_wide_solve(w, &f->problem, w->trial, n <= EXACT ? CLOSE : ROUGH, f->options.cancel);
        TRY(pboost_cancel_check(f->options.cancel, err));
        for (size_t i = f->options.intercept; i < n; i++)
            trace += f->l2 * w->step[i] * w->trial[i];
    }
    *freedom = fmax((double)n - trace / (n <= EXACT ? 1.0 : (double)probes), 1.0);
done:
    return st;
}

/* The place of a column of x among the parameters; SIZE_MAX: it has no entries. */
static size_t parameter_of(const wide_fit *f, size_t column, size_t cols)
{
    if (column == cols)
        return f->options.intercept ? 0 : SIZE_MAX;
    for (size_t k = 0; k < f->rows.cols; k++)
        if (f->rows.number[k] == column)
            return k + f->options.intercept;
    return SIZE_MAX;
}

static pboost_status standard_error(double *out, wide_fit *f, size_t column, size_t cols,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wide_newton *w = &f->newton;
    size_t k = parameter_of(f, column, cols);
    if (k ==
        SIZE_MAX) { /* nothing but the ridge is known of it; an intercept that is not fitted is 0 */
        *out = column == cols ? 0.0 : sqrt(f->bags.phi / f->l2);
        return PBOOST_OK;
    }
    memset(w->trial, 0, f->problem.n * sizeof *w->trial);
    w->trial[k] = 1.0;
    bool solved = pboost_wide_solve(w, &f->problem, w->trial, CLOSE, f->options.cancel);
    TRY(pboost_cancel_check(f->options.cancel, err));
    *out = solved && w->step[k] > 0.0 ? sqrt(f->bags.phi * w->step[k]) : NAN;
done:
    return st;
}

pboost_status pboost_wide_standard_errors(double *out, const size_t *column, size_t n,
                                          const pboost_coef *coef, const pboost_fit_report *report,
                                          const pboost_wide_features *features,
                                          const pboost_answers *answers, size_t first_bag,
                                          const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options own = PBOOST_WIDE_OPTIONS_INIT;
    wide_fit fit = {0};

    TRY(OPTIONS_READ(&own, options, PBOOST_WIDE_OPTIONS_INIT, err));
    TRY(pboost_wide_check_options(&own, err));
    if (report->estimator != PBOOST_AGGREGATE || own.estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "the fit is by %s; standard errors are of aggregate fits",
             pboost_estimator_name(report->estimator));
    TRY(pboost_csr_check_shape(&features->x, err));
    TRY(pboost_wide_check_coef(coef, features->x.cols, err));
    for (size_t i = 0; i < n; i++)
        if (column[i] > features->x.cols)
            FAIL(err, PBOOST_INVALID,
                 "column %zu is asked for, but there are %zu; their number means the intercept",
                 column[i], features->x.cols);
    own.l2 = pboost_l2_fixed(report->l2);
    TRY(pboost_wide_fit_init(&fit, features, answers, first_bag, &own, err));
    if (own.intercept)
        fit.parameter[0] = coef->intercept;
    pboost_wide_enter(fit.parameter + own.intercept, &fit.rows, coef);
    fit.bags.phi = report->dispersion;
    pboost_wide_move(&fit, fit.parameter);
    pboost_wide_refresh_sizes(&fit, 1);
    fit.problem.here(&fit, fit.parameter, fit.newton.gradient, fit.newton.diagonal);
    for (size_t i = 0; i < n; i++)
        TRY(standard_error(&out[i], &fit, column[i], features->x.cols, err));
done:
    pboost_wide_fit_free(&fit);
    return st;
}

/* The warnings about a fit; all front ends show the same.
 *
 * Each warning is a condition on the report, its threshold and its text, in order of importance.
 * Nothing here can fail, so that no warning is lost because of another error. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <priorboost/predict.h>

#include "base/options.h"
#include "data/matrix.h"

#define LARGE_SD 8.0     /* of a linear predictor: predictions are almost 0 or 1 */
#define LOW_FREEDOM 0.25 /* of the weights: with fewer effective ones nothing was learnt */
#define HIGH_PEARSON 1.5 /* residuals that large are not the model's */
#define ENOUGH_ROWS ((size_t)1 << 20) /* to estimate a standard deviation */
#define LONGEST_NAME 100              /* of a column, in bytes */

/* Over the rows, offsets aside.  The aggregate fit reports it; of others it is measured. */
static double predictor_sd(const pboost_fitted *fit)
{
    const pboost_matrix *x = fit->x;
    size_t step = 1 + x->rows / (ENOUGH_ROWS + 1), n = 0;
    double mean = 0.0, square = 0.0;

    if (fit->report->estimator == PBOOST_AGGREGATE)
        return fit->report->eta_sd;
    for (size_t i = 0; i < x->rows; i += step) {
        double eta = 0.0;
        for (size_t j = 0; j < x->cols; j++)
            eta += pboost_matrix_at(x, i, j) * fit->coef->theta[j];
        double d = eta - mean;
        mean += d / (double)++n;
        square += d * (eta - mean);
    }
    return sqrt(square / (double)n);
}

/* The bytes of a name that are shown: whole characters of UTF-8. */
static int shown_length(const char *name)
{
    size_t n = strlen(name);
    if (n > LONGEST_NAME)
        for (n = LONGEST_NAME; n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80; n--)
            ;
    return (int)n;
}

/* The warnings so far; out may be NULL. */
typedef struct {
    pboost_warning *out;
    size_t n;
} warning_list;

__attribute__((format(printf, 3, 4))) static void
add_warning(warning_list *t, pboost_warning_kind kind, const char *format, ...)
{
    pboost_warning *c = t->out != NULL ? &t->out[t->n] : NULL;
    va_list arguments;

    t->n++;
    if (c == NULL)
        return;
    c->kind = kind;
    va_start(arguments, format);
    vsnprintf(c->text, sizeof c->text, format, arguments);
    va_end(arguments);
}

static bool is_finite(const pboost_coef *coef)
{
    for (size_t j = 0; j < coef->n; j++)
        if (!isfinite(coef->theta[j]))
            return false;
    return isfinite(coef->intercept);
}

/* Why the fit must not be used. */
static void tell_of_failure(warning_list *t, const pboost_fitted *fit)
{
    const pboost_fit_report *r = fit->report;

    if (!r->converged && r->separable && r->l2 == 0.0)
        add_warning(
            t, PBOOST_WARNING_CONVERGENCE,
            "the model can explain the answers without error, and without a penalty its weights "
            "have no limit: set l2 > 0");
    else if (!r->converged)
        add_warning(t, PBOOST_WARNING_CONVERGENCE,
                    "the last fit did not converge in %zu iterations: do not use it",
                    r->iterations);
    if (!is_finite(fit->coef))
        add_warning(t, PBOOST_WARNING_FINITE,
                    "a weight of the fit is not a finite number: do not use it");
    if (r->worse_than_constant)
        add_warning(
            t, PBOOST_WARNING_CONSTANT,
            "the fit explains its own answers worse than a constant model does: do not use it");
}

bool pboost_fit_usable(const pboost_fitted *fit)
{
    warning_list t = {0};

    tell_of_failure(&t, fit);
    return t.n == 0;
}

static void tell_of_column(warning_list *t, const pboost_fitted *fit)
{
    size_t j = fit->report->first_dropped;
    char number[32];
    const char *name = number;

    if (fit->column != NULL)
        name = fit->column[j];
    else
        snprintf(number, sizeof number, "x%zu", j);
    add_warning(
        t, PBOOST_WARNING_RANK,
        "the features have rank %zu: column '%.*s' adds nothing to the columns before it and gets "
        "weight 0",
        fit->report->rank, shown_length(name), name);
}

/* The sign of a NaN means nothing. */
static void tell_of_spread(warning_list *t, const pboost_fitted *fit)
{
    pboost_family family = fit->options->family;
    double sd = family != PBOOST_LINEAR ? fabs(predictor_sd(fit)) : 0.0;

    if (!fit->report->separable && (sd <= LARGE_SD || !is_finite(fit->coef)))
        return;
    if (family == PBOOST_POISSON)
        add_warning(
            t, PBOOST_WARNING_SEPARABLE,
            "the linear predictor has standard deviation %.3g, more than counts have: the fit "
            "diverged; do not trust its numbers",
            sd);
    else
        add_warning(
            t, PBOOST_WARNING_SEPARABLE,
            "the linear predictor has standard deviation %.3g: the answers almost separate the "
            "rows, and only the penalty limits the weights; their standard errors mean little",
            sd);
}

/* What makes the answers say more.  Larger bags have less noise, but otherwise say less. */
static const char *more_information(const pboost_fit_report *r)
{
    return r->noisy ? "larger bags, more rows or a larger epsilon" : "more rows or smaller bags";
}

static void tell_of_noise(warning_list *t, const pboost_fitted *fit)
{
    const pboost_fit_report *r = fit->report;

    if (r->dispersion_floored)
        add_warning(
            t, PBOOST_WARNING_DISPERSION,
            "the noise masks the dispersion of the labels; its standard error, %.3g, is used "
            "instead",
            r->dispersion);
    if (r->undercovers)
        add_warning(t, PBOOST_WARNING_INTERVALS,
                    "%s with noise on bags as mixed as random ones: the intervals are too short; "
                    "bags of similar rows (%s) do not have this problem",
                    pboost_family_name(fit->options->family),
                    fit->feature_bags != NULL ? fit->feature_bags : "PBOOST_BAGS_FEATURES");
    if (r->mean_masked)
        add_warning(t, PBOOST_WARNING_MEAN,
                    "%s the mean of the labels: no weight can be estimated, and the model is "
                    "constant; use %s",
                    r->noisy ? "the noise, or a lack of events, masks even"
                             : "there are too few events to estimate even",
                    more_information(r));
}

/* Warnings about a model that is fitted to bags. */
static void tell_of_answers(warning_list *t, const pboost_fitted *fit)
{
    const pboost_fit_report *r = fit->report;
    /* The weights of curves are as many as the answers support. */
    size_t parameters = fit->x->cols - fit->options->curves + fit->options->intercept;
    bool aggregate = r->estimator == PBOOST_AGGREGATE;
    double surprise = 1.0 + 4.0 * sqrt(2.0 / (double)(r->bags > 0 ? r->bags : 1));

    if (aggregate && r->l2_standardized && !r->mean_masked &&
        r->freedom < 1.0 + LOW_FREEDOM * ((double)parameters - 1.0))
        add_warning(
            t, PBOOST_WARNING_FREEDOM,
            "the answers say almost nothing about the weights (%.2g effective parameters of %zu): "
            "the penalty keeps the model close to a constant; use %s",
            r->freedom, parameters, more_information(r));
    if (aggregate && r->bags < 2 * parameters)
        add_warning(t, PBOOST_WARNING_BAGS,
                    "only %zu bags for %zu parameters: the penalty decides most of the result",
                    r->bags, parameters);
    if (fit->options->family == PBOOST_LOGISTIC && r->pearson > HIGH_PEARSON &&
        r->pearson > surprise)
        add_warning(
            t, PBOOST_WARNING_FORM,
            "squared bag residuals are %.3g times larger than the model predicts: it misses "
            "something, and its standard errors are too small; %s gives standard errors that "
            "allow for it",
            r->pearson, fit->sandwich != NULL ? fit->sandwich : "PBOOST_COVARIANCE_SANDWICH");
}

size_t pboost_warnings(pboost_warning *out, const pboost_fitted *given)
{
    const pboost_fit_report *r = given->report;
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    pboost_fitted own = *given, *fit = &own;
    warning_list t = {out, 0};

    (void)OPTIONS_READ(&options, given->options, PBOOST_FIT_OPTIONS_INIT, NULL);
    own.options = &options;
    tell_of_failure(&t, fit);
    if (r->first_dropped < fit->x->cols)
        tell_of_column(&t, fit);
    tell_of_spread(&t, fit);
    tell_of_noise(&t, fit);
    tell_of_answers(&t, fit);
    if (fit->one_row_bags > 0)
        add_warning(&t, PBOOST_WARNING_ONE_ROW, "%zu bag%s one row: %s is a label",
                    fit->one_row_bags, fit->one_row_bags > 1 ? "s have" : " has",
                    fit->one_row_bags > 1 ? "the answer of each" : "its answer");
    return t.n;
}

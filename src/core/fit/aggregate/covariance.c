/* The covariance of an aggregate fit.
 *
 * With A = sum J J'/V + penalty, the estimate varies about the truth with covariance phi A^-1: the
 * variance of the estimating equation and also the bias of the ridge, if lambda / phi is the
 * precision of the prior of theta.  If the model's variances are not those of the answers, the
 * middle of A^-1 (sum J J' r^2 / V^2) A^-1 is estimated from the residuals; a residual is smaller
 * than the error because its bag influences the fit, by 1 - h on average (HC2). */
#include <math.h>
#include <string.h>

#include "fit/aggregate/aggregate.h"
#include "try.h"

/* The factor of A for the ridge of a wide prior.  A ridge that is strong because noise masks the
 * weights says nothing about their size: with it, intervals would shrink to the constant model and
 * miss the truth. */
static void widen(aggregate_fit *fit)
{
    levenberg *lm = &fit->lm;
    size_t n = lm->n, d = pboost_straight_columns(fit), first = n - fit->pass.cols;
    double wide = fmin(fit->multiple * fit->phi * (double)d / fit->wide_spread, fit->lambda);
    memcpy(lm->factor.l, lm->matrix, n * n * sizeof *lm->matrix);
    for (size_t i = first; i < first + d; i++)
        lm->factor.l[i * n + i] += wide - fit->penalty[i];
    pboost_cholesky_factor(&lm->factor, pboost_rank_tolerance(n), false);
}

/* J' A^-1 J / V of one bag. */
static double leverage(const aggregate_fit *fit, const double *inverse, size_t bag)
{
    size_t n = fit->pass.n_parameters;
    const double *jacobian = fit->point.jacobian + bag * fit->pass.stride;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double row = 0.0;
        for (size_t j = 0; j < n; j++)
            row += inverse[i * n + j] * jacobian[j];
        sum += jacobian[i] * row;
    }
    return sum * fit->weight[bag];
}

/* inverse becomes A^-1 M A^-1; meat and work are n x n, factor of bags entries. */
static void sandwich(double *inverse, aggregate_fit *fit, double *meat, double *work,
                     double *factor)
{
    size_t n = fit->pass.n_parameters;
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double h = fmin(leverage(fit, inverse, b), 1.0 - 1e-6);
        double score = fit->weight[b] * fit->working.residual[b];
        factor[b] = fit->weight[b] > 0.0 ? score * score / (1.0 - h) : 0.0;
    }
    pboost_bagpass_gram(meat, NULL, &fit->pass, &fit->point, factor, NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += inverse[i * n + k] * (k >= j ? meat[k * n + j] : meat[j * n + k]);
            work[i * n + j] = sum;
        }
    memcpy(meat, inverse, n * n * sizeof *meat);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += work[i * n + k] * meat[k * n + j];
            inverse[i * n + j] = inverse[j * n + i] = sum;
        }
}

pboost_status pboost_aggregate_covariance(double *covariance, aggregate_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = fit->pass.n_parameters;
    double *inverse = NULL, *factor = NULL;

    NEED(inverse = pboost_alloc(3 * n * n, sizeof *inverse), err);
    if (fit->evidence_work != NULL)
        widen(fit);
    pboost_cholesky_invert(inverse, &fit->lm.factor);
    if (fit->options->covariance == PBOOST_COVARIANCE_SANDWICH) {
        NEED(factor = pboost_alloc(fit->data.rows.n_bags, sizeof *factor), err);
        sandwich(inverse, fit, inverse + n * n, inverse + 2 * n * n, factor);
    } else {
        for (size_t i = 0; i < n * n; i++)
            inverse[i] *= fit->phi;
    }
    pboost_units_covariance(covariance, &fit->units, inverse, fit->options->intercept);
done:
    free(inverse);
    free(factor);
    return st;
}

/* Intervals for predicted means: those of the linear predictor, seen through b'. */
#include <math.h>

#include "data/family.h"
#include "data/matrix.h"
#include "fit/predict.h"
#include "try.h"

/* By bisection: it is needed once. */
double pboost_normal_quantile(double level)
{
    double low = 0.0, high = 40.0;
    for (int i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        *(erf(middle * M_SQRT1_2) < level ? &low : &high) = middle;
    }
    return high;
}

pboost_status pboost_level_check(double level, pboost_error *err)
{
    if (level > 0.0 && level < 1.0)
        return PBOOST_OK;
    return pboost_fail(err, PBOOST_INVALID,
                       "the level of an interval is %g; it must be between 0 and 1", level);
}

/* The standard error of x theta + intercept for one row. */
static double row_error(const pboost_matrix *x, size_t row, const double *covariance)
{
    size_t d = x->cols, n = d + 1;
    double sum = covariance[d * n + d];
    for (size_t i = 0; i < d; i++) {
        double xi = pboost_matrix_at(x, row, i), inner = 2.0 * covariance[i * n + d];
        for (size_t j = 0; j < d; j++)
            inner += covariance[i * n + j] * pboost_matrix_at(x, row, j);
        sum += xi * inner;
    }
    return sum < 0.0 ? 0.0 : sqrt(sum); /* NaN stays NaN */
}

pboost_status pboost_predict_interval(double *lower, double *upper, pboost_family family,
                                      const pboost_samples *samples, const pboost_coef *coef,
                                      const double *covariance, double level, int threads,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *eta = NULL;

    TRY(pboost_level_check(level, err));
    TRY(pboost_family_check(family, err));
    for (size_t i = 0; i < (coef->n + 1) * (coef->n + 1); i++)
        if (!isfinite(covariance[i]))
            FAIL(err, PBOOST_BAD_DATA, "entry %zu, %zu of the covariance is %g; it must be finite",
                 i / (coef->n + 1), i % (coef->n + 1), covariance[i]);
    NEED(eta = pboost_alloc(samples->n, sizeof *eta), err);
    TRY(pboost_predict(eta, PBOOST_LINEAR, samples, coef, threads, err));
    const family_info *info = pboost_family_info(family);
    double z = pboost_normal_quantile(level);
    for (size_t i = 0; i < samples->n; i++) {
        double error = z * row_error(samples->x, pboost_samples_row(samples, i), covariance);
        lower[i] = info->mean(eta[i] - error);
        upper[i] = info->mean(eta[i] + error);
        if (isnan(lower[i]) || isnan(upper[i]))
            FAIL(err, PBOOST_BAD_DATA,
                 "row %zu has no interval: its linear predictor is %g and the standard error of "
                 "that %g",
                 pboost_samples_row(samples, i), eta[i], error / z);
    }
done:
    free(eta);
    return st;
}

/* Checks of the input of the event-level fit. */
#include <math.h>

#include "data/fit_options.h"
#include "fit/event/event.h"
#include "try.h"

pboost_status pboost_event_check_options(const pboost_coef *coef, const pboost_fit_options *o,
                                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_fit_options_check(o, err));
    if (o->estimator != PBOOST_EVENT)
        FAIL(err, PBOOST_INVALID, "the estimator is %s, but this fits by event",
             pboost_estimator_name(o->estimator));
    for (size_t j = 0; j < coef->n; j++)
        if (!isfinite(coef->theta[j]))
            FAIL(err, PBOOST_INVALID, "the start has weight %g at column %zu; it must be finite",
                 coef->theta[j], j);
    if (!isfinite(coef->intercept))
        FAIL(err, PBOOST_INVALID, "the start has intercept %g; it must be finite", coef->intercept);
done:
    return st;
}

pboost_status pboost_event_check_intercept(const pboost_samples *s, const family_info *family,
                                           pboost_error *err)
{
    double sum = 0.0, total = pboost_samples_total_weight(s);
    if (s->weight == NULL)
        sum = pboost_glm_kernels()->sum(s->target, s->n);
    else
        for (size_t i = 0; i < s->n; i++)
            sum += s->weight[pboost_samples_row(s, i)] * s->target[i];
    double mean = sum / total;
    if (isfinite(mean) && (family->slope_at_infinity(mean, 1.0) <= 0.0 ||
                           family->slope_at_infinity(mean, -1.0) <= 0.0))
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "no finite minimiser: the mean target is %g, and %s means are %s; the "
                           "intercept is not penalised, so fit without one and with l2 > 0",
                           mean, family->name, family->means);
    return PBOOST_OK;
}

pboost_status pboost_event_explain_overflow(const pboost_samples *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_samples_find_nonfinite(s, err));
    for (size_t j = 0; j < s->x->cols; j++)
        for (size_t i = 0; i < s->n; i++) {
            size_t row = pboost_samples_row(s, i);
            double v = pboost_matrix_at(s->x, row, j);
            if (fabs(v) > 1e150)
                FAIL(err, PBOOST_BAD_DATA,
                     "row %zu, column %zu is %g; columns beyond 1e150 must be rescaled", row, j, v);
        }
    FAIL(err, PBOOST_BAD_DATA, "the sum of losses overflows: rescale targets, weights or offsets");
done:
    return st;
}

/* Where b is not quadratic the loss at eta = 0 is b(0), whatever the target. */
double pboost_event_value_at_zero(const pboost_samples *s, pboost_family family)
{
    double eta[GLM_BLOCK], weight[GLM_BLOCK], value = 0.0;
    const family_kernels *kernels = pboost_family_kernels(family);
    if (s->offset == NULL && pboost_family_info(family)->curved) {
        eta[0] = 0.0;
        return pboost_samples_total_weight(s) * kernels->total(eta, eta, NULL, 1);
    }
    for (size_t at = 0; at < s->n; at += GLM_BLOCK) {
        size_t count = s->n - at < GLM_BLOCK ? s->n - at : GLM_BLOCK;
        for (size_t i = 0; i < count; i++) {
            size_t row = pboost_samples_row(s, at + i);
            eta[i] = s->offset != NULL ? s->offset[row] : 0.0;
            weight[i] = s->weight != NULL ? s->weight[row] : 1.0;
        }
        value += kernels->total(eta, s->target + at, s->weight != NULL ? weight : NULL, count);
    }
    return value;
}

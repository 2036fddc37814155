#include "data/fit_options.h"

#include <math.h>

#include <priorboost/smooth.h>

#include "base/options.h"
#include "data/family.h"
#include "try.h"

pboost_l2 pboost_l2_fixed(double value)
{
    return (pboost_l2){PBOOST_L2_FIXED, value};
}

pboost_status pboost_l2_check(pboost_l2 l2, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if ((unsigned)l2.mode > PBOOST_L2_CV)
        FAIL(err, PBOOST_INVALID, "l2.mode %d is unknown", (int)l2.mode);
    if (!(l2.value >= 0.0) || isinf(l2.value))
        FAIL(err, PBOOST_INVALID, "l2 is %g; it must be finite and not negative", l2.value);
    if (l2.mode != PBOOST_L2_FIXED && l2.value != 0.0)
        FAIL(err, PBOOST_INVALID, "l2 is %g, but its mode is not PBOOST_L2_FIXED", l2.value);
done:
    return st;
}

pboost_status pboost_fit_options_check(const pboost_fit_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_family_check(o->family, err));
    TRY(pboost_l2_check(o->l2, err));
    if (o->l2.mode == PBOOST_L2_CV && o->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "l2 by cross-validation is for the aggregate estimator");
    if (o->bag_effects && o->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "bag_effects are for the aggregate estimator");
    if (!(o->tolerance >= 0.0))
        FAIL(err, PBOOST_INVALID, "tolerance is %g; it must not be negative", o->tolerance);
    if (o->threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", o->threads);
    if (!(o->rho >= 0.0 && o->rho <= 1.0))
        FAIL(err, PBOOST_INVALID, "rho is %g; it must be between 0 and 1", o->rho);
    if (o->covariance != PBOOST_COVARIANCE_MODEL && o->covariance != PBOOST_COVARIANCE_SANDWICH)
        FAIL(err, PBOOST_INVALID, "covariance %d is unknown", (int)o->covariance);
    if (o->curves > 0 && o->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "curves are for the aggregate estimator");
done:
    return st;
}

pboost_status pboost_fit_curves_check(const pboost_fit_options *o, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t size = 0;
    if (o->curves > cols)
        FAIL(err, PBOOST_INVALID, "%zu columns are of curves, but there are %zu in all", o->curves,
             cols);
    for (size_t j = 0; j < o->curves; j++) {
        size_t curve = o->curve_of != NULL ? o->curve_of[j] : 0;
        size_t before = o->curve_of != NULL && j > 0 ? o->curve_of[j - 1] : 0;
        if (curve != before && (j == 0 || curve != before + 1))
            FAIL(err, PBOOST_INVALID, "column %zu of the curves is of curve %zu, after one of %zu",
                 j, curve, before);
        size = curve == before ? size + 1 : 1;
        if (size > PBOOST_CURVE_COLUMNS)
            FAIL(err, PBOOST_INVALID, "curve %zu has more than %d columns", curve,
                 PBOOST_CURVE_COLUMNS);
    }
done:
    return st;
}

pboost_status pboost_simulation_read(pboost_simulation *out, const pboost_simulation *given,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *out = (pboost_simulation)PBOOST_SIMULATION_INIT;
    TRY(OPTIONS_READ(out, given, PBOOST_SIMULATION_INIT, err));
    TRY(OPTIONS_INSIDE(&out->rules, PBOOST_RULES_INIT, err));
    TRY(OPTIONS_INSIDE(&out->holder, PBOOST_MEMORY_ORACLE_OPTIONS_INIT, err));
    TRY(OPTIONS_INSIDE(&out->fit, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(OPTIONS_INSIDE(&out->trainer, PBOOST_TRAINER_OPTIONS_INIT, err));
done:
    return st;
}

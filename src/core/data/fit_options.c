#include "data/fit_options.h"

#include <math.h>

#include "data/family.h"
#include "try.h"

pboost_status pboost_fit_options_check(const pboost_fit_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_family_check(o->family, err));
    if ((!(o->l2 >= 0.0) && o->l2 != PBOOST_L2_DEFAULT && o->l2 != PBOOST_L2_CV) || isinf(o->l2))
        FAIL(err, PBOOST_INVALID, "l2 is %g; it must be finite and not negative", o->l2);
    if (!(o->tolerance >= 0.0))
        FAIL(err, PBOOST_INVALID, "tolerance is %g; it must not be negative", o->tolerance);
    if (o->threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", o->threads);
    if (!(o->rho >= 0.0 && o->rho <= 1.0))
        FAIL(err, PBOOST_INVALID, "rho is %g; it must be between 0 and 1", o->rho);
    if (o->covariance != PBOOST_COVARIANCE_MODEL && o->covariance != PBOOST_COVARIANCE_SANDWICH)
        FAIL(err, PBOOST_INVALID, "covariance %d is unknown", (int)o->covariance);
done:
    return st;
}

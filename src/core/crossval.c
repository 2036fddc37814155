/* placeholder */
#include "aggregate.h"

pboost_status pboost_aggregate_choose_l2(aggregate_fit *fit, const pboost_coef *coef,
                                         pboost_error *err)
{
    (void)fit, (void)coef, (void)err;
    return PBOOST_OK;
}

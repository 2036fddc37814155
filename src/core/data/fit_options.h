/* Checks of the fit options that hold for every estimator. */
#ifndef PBOOST_FIT_OPTIONS_H
#define PBOOST_FIT_OPTIONS_H

#include <priorboost/core.h>

/* The penalty that was given, or `chosen` where the fit chooses it. */
static inline double pboost_l2_or(pboost_l2 l2, double chosen)
{
    return l2.mode == PBOOST_L2_FIXED ? l2.value : chosen;
}

pboost_status pboost_l2_check(pboost_l2 l2, pboost_error *err);
pboost_status pboost_fit_options_check(const pboost_fit_options *options, pboost_error *err);

/* Refuses curves that a table of so many columns cannot have. */
pboost_status pboost_fit_curves_check(const pboost_fit_options *options, size_t cols,
                                      pboost_error *err);

/* The options of both parties, which an older caller may have given. */
pboost_status pboost_simulation_read(pboost_simulation *out, const pboost_simulation *given,
                                     pboost_error *err);

#endif

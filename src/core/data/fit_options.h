/* Checks of the fit options that hold for every estimator. */
#ifndef PBOOST_FIT_OPTIONS_H
#define PBOOST_FIT_OPTIONS_H

#include <priorboost/core.h>

pboost_status pboost_fit_options_check(const pboost_fit_options *options, pboost_error *err);

#endif

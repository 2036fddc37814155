/* The warnings about a fit of classes are those of a logistic model, counted for one class. */
#include <priorboost/classes.h>

#include "base/options.h"

size_t pboost_classes_warnings(pboost_warning *out, bool *usable, const pboost_class_coef *coef,
                               const pboost_fitted *fit)
{
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report report = *fit->report;
    double others = (double)(coef->classes - 1);
    pboost_coef all = {coef->classes * (coef->cols + 1), coef->theta, 0.0};
    pboost_fitted own = *fit;

    (void)OPTIONS_READ(&options, fit->options, PBOOST_FIT_OPTIONS_INIT, NULL);
    options.family = PBOOST_LOGISTIC;
    report.freedom /= others;
    report.rank /= coef->classes - 1;
    own.options = &options;
    own.report = &report;
    own.coef = &all;
    if (usable != NULL)
        *usable = pboost_fit_usable(&own);
    return pboost_warnings(out, &own);
}

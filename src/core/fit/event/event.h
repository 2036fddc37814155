/* What the event-level fit shares with the one over parts (eventparts.c). */
#ifndef PBOOST_EVENT_H
#define PBOOST_EVENT_H

#include <priorboost/core.h>

#include "data/family.h"
#include "fit/event/newton.h"

#define EVENT_L2 1.0        /* the default */
#define SLOPE_OF_ZERO 1e-13 /* a relative slope at infinity that rounding may leave of 0 */

/* An intercept is not penalised: whatever l2, it runs away from targets whose mean is no mean of the
 * family. */
pboost_status pboost_event_check_intercept(const pboost_samples *s, const family_info *family,
                                           pboost_error *err);

/* The value where all parameters are 0, which needs no features. */
double pboost_event_value_at_zero(const pboost_samples *s, pboost_family family);

void pboost_event_fill_report(pboost_fit_report *out, const pboost_newton_report *r,
                              const pboost_fit_options *o);

#endif

/* The event-level fit of a wide model, for its own files. */
#ifndef PBOOST_SPARSE_EVENT_H
#define PBOOST_SPARSE_EVENT_H

#include <priorboost/sparse.h>

/* Fits what has been checked, with options of this version. */
pboost_status pboost_wide_event_run(pboost_coef *coef, pboost_fit_report *report,
                                    const pboost_wide_samples *samples,
                                    const pboost_fit_options *options, pboost_error *err);

#endif

/* Series that are done, kept in DIR/partial until the run is complete, so that a run that was
 * stopped in any way continues where it was. */
#ifndef PBOOST_REPRODUCE_STORE_H
#define PBOOST_REPRODUCE_STORE_H

#include "series.h"

typedef struct repro_store repro_store;

/* Opens or creates dir.  A dir that holds anything but an unfinished run of the same settings is
 * refused.  The series found there are filled into the plan; *seconds is what they took. */
pboost_status repro_store_open(repro_store **out, const char *dir, const repro_settings *settings,
                               repro_plan *plan, double *seconds, pboost_error *err);

/* Appends a series that is done.  Calls must not overlap. */
pboost_status repro_store_add(repro_store *store, const repro_series *series, double seconds,
                              pboost_error *err);

/* Removes DIR/partial: the results are written. */
pboost_status repro_store_finish(repro_store *store, pboost_error *err);

void repro_store_close(repro_store *store);

#endif

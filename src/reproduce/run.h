/* Running all series of a plan. */
#ifndef PBOOST_REPRODUCE_RUN_H
#define PBOOST_REPRODUCE_RUN_H

#include "series.h"

/* Callbacks during a run; they do not overlap.  user is borrowed. */
typedef struct {
    void (*progress)(void *user, double done, double total, double seconds_left);
    bool (*interrupted)(void *user);
    double (*seconds)(void); /* of a monotonic clock */
    void *user;
} repro_host;

/* Fills in the losses of all series. */
pboost_status repro_run(repro_plan *plan, const repro_settings *settings, const repro_host *host,
                        pboost_error *err);

#endif

/* The first failure of a machine: after it no other call is made, and the fit stops. */
#ifndef PBOOST_CLUSTER_FAILURE_H
#define PBOOST_CLUSTER_FAILURE_H

#include "base/cancel.h"

typedef struct {
    pboost_status status;
    pboost_error error;
    const pboost_cancel *given; /* the caller's own */
} machine_failure;

/* A cancel that stops a fit if a machine has failed or the caller wants to stop. */
static inline bool pboost_machines_stop(void *user)
{
    const machine_failure *failure = user;
    return failure->status != PBOOST_OK || pboost_stopped(failure->given);
}

/* The failure, where there is one, becomes the result of the fit. */
static inline pboost_status pboost_machines_result(const machine_failure *failure, pboost_status st,
                                                   pboost_error *err)
{
    if (failure->status == PBOOST_OK)
        return st;
    if (err != NULL)
        *err = failure->error;
    return failure->status;
}

#endif

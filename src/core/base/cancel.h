/* Whether the caller wants to stop, and how far the work is. */
#ifndef PBOOST_WATCH_H
#define PBOOST_WATCH_H

#include <priorboost/core.h>

/* Numbers that are processed between two checks: a few hundredths of a second. */
#define WATCH_BATCH ((size_t)1 << 22)

static inline bool pboost_stopped(const pboost_cancel *cancel)
{
    return cancel != NULL && cancel->stop(cancel->user);
}

static inline void pboost_progress(const pboost_cancel *cancel, const char *stage, double done,
                                   double total)
{
    if (cancel != NULL && cancel->progress != NULL)
        cancel->progress(cancel->user, stage, done, total);
}

static inline pboost_status pboost_cancel_check(const pboost_cancel *cancel, pboost_error *err)
{
    return pboost_stopped(cancel) ? pboost_fail(err, PBOOST_CANCELLED, "stopped as asked")
                                  : PBOOST_OK;
}

#endif

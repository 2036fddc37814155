/* Whether the caller has had enough. */
#ifndef PBOOST_WATCH_H
#define PBOOST_WATCH_H

#include <priorboost/core.h>

/* Numbers that are gone through between two looks: a few hundredths of a second. */
#define WATCH_BATCH ((size_t)1 << 22)

static inline bool pboost_stopped(const pboost_watch *watch)
{
    return watch != NULL && watch->stop(watch->user);
}

static inline pboost_status pboost_watch_check(const pboost_watch *watch, pboost_error *err)
{
    return pboost_stopped(watch) ? pboost_fail(err, PBOOST_CANCELLED, "stopped as asked")
                                 : PBOOST_OK;
}

#endif

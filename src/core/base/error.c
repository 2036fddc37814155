/* The names of statuses, and error messages. */
#include <stdarg.h>
#include <stdio.h>

#include <priorboost/core.h>

#include "version.h"

static const char *const NAMES[] = {
    [PBOOST_OK] = "ok",
    [PBOOST_INVALID] = "invalid",
    [PBOOST_BAD_DATA] = "bad-data",
    [PBOOST_NO_MEMORY] = "no-memory",
    [PBOOST_OUTPUT] = "output",
    [PBOOST_ORACLE] = "oracle",
    [PBOOST_REFUSED] = "refused",
    [PBOOST_CANCELLED] = "cancelled",
    [PBOOST_INTERNAL] = "internal",
    [PBOOST_UNUSABLE] = "unusable",
};

const char *pboost_status_name(pboost_status status)
{
    bool known = (size_t)status < sizeof NAMES / sizeof *NAMES;
    return NAMES[known ? status : PBOOST_INTERNAL];
}

pboost_status pboost_fail(pboost_error *err, pboost_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

const char *pboost_version(void)
{
    return PBOOST_VERSION;
}

/* Statuses, their names on every front, and error messages. */
#include <stdarg.h>
#include <stdio.h>

#include <priorboost/core.h>

#include "version.h"

static const pboost_status_info STATUSES[] = {
    {PBOOST_OK, "ok", 0, 200, ""},
    {PBOOST_INVALID, "invalid", 2, 400, "ValueError"},
    {PBOOST_BAD_DATA, "bad-data", 3, 422, "ValueError"},
    {PBOOST_NO_MEMORY, "no-memory", 1, 503, "MemoryError"},
    {PBOOST_OUTPUT, "output", 1, 500, "OSError"},
    {PBOOST_ORACLE, "oracle", 4, 503, "OracleError"},
    {PBOOST_REFUSED, "refused", 5, 403, "PrivacyError"},
    {PBOOST_CANCELLED, "cancelled", 1, 503, "KeyboardInterrupt"},
    {PBOOST_INTERNAL, "internal", 1, 500, "RuntimeError"},
    {PBOOST_UNUSABLE, "unusable", 6, 500, "RuntimeError"},
};

const pboost_status_info *pboost_status_describe(pboost_status status)
{
    for (size_t i = 0; i < sizeof STATUSES / sizeof *STATUSES; i++)
        if (STATUSES[i].status == status)
            return &STATUSES[i];
    return pboost_status_describe(PBOOST_INTERNAL);
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

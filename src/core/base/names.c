/* Names of enumerated choices. */
#include "base/names.h"

#include <stdio.h>
#include <string.h>

#include "try.h"

pboost_status pboost_name_parse(size_t *out, const char *const *names, size_t n, const char *what,
                                const char *name, pboost_error *err)
{
    char list[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = i;
            return PBOOST_OK;
        }
        int wrote = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
        if (wrote > 0 && used + (size_t)wrote < sizeof list)
            used += (size_t)wrote;
    }
    return pboost_fail(err, PBOOST_INVALID, "%s '%s' is unknown; it must be one of %s", what, name,
                       list);
}

const char *pboost_name_of(const char *const *names, size_t n, size_t value)
{
    return value < n ? names[value] : "unknown";
}

/* Values of the reports in JSON. */
#include "report_json.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "try.h"

/* An object lacks the members that there was no memory for.  Reports have dozens of members; so it
 * is noted here that memory was missing, and asked once, when the object is complete. */
static atomic_bool json_lacks_memory;

static void *json_memory(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL)
        atomic_store(&json_lacks_memory, true);
    return memory;
}

void report_json_begin(void)
{
    json_set_alloc_funcs(json_memory, free);
}

pboost_status report_json_check(const json_t *object, pboost_error *err)
{
    if (object == NULL || atomic_load(&json_lacks_memory))
        return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    return PBOOST_OK;
}

json_t *report_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *report_json_numbers(const double *value, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < n; i++) {
        if (json_array_append_new(array, report_json_number(value[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

json_t *report_json_text(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

json_t *report_json_epsilon(pboost_rational epsilon)
{
    return report_json_number(pboost_rational_value(epsilon));
}

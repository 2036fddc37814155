/* Values of the reports in JSON. */
#ifndef PBOOST_REPORT_JSON_H
#define PBOOST_REPORT_JSON_H

#include <jansson.h>

#include <priorboost/core.h>

/* Call begin before any JSON is made, and check when an object is complete: check fails where
 * memory was missing for a part of it. */
void report_json_begin(void);
pboost_status report_json_check(const json_t *object, pboost_error *err);

json_t *report_json_number(double value); /* null where not finite */
json_t *report_json_numbers(const double *value, size_t n);
json_t *report_json_text(const char *text); /* null for NULL */
json_t *report_json_epsilon(pboost_rational epsilon);

#endif

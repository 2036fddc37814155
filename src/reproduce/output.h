/* The files of a finished run. */
#ifndef PBOOST_REPRODUCE_OUTPUT_H
#define PBOOST_REPRODUCE_OUTPUT_H

#include <jansson.h>

#include "claims.h"
#include "results.h"
#include "theory.h"

/* Everything that a report is about. */
typedef struct {
    const repro_results *results;
    const repro_claims *claims;
    const repro_theory *theory;
} repro_findings;

/* Each file appears when it is whole; results.json is the last. */
pboost_status repro_write_all(const char *dir, const repro_findings *findings, pboost_error *err);

/* results.json as an object; NULL where memory ran out. */
json_t *repro_results_json(const repro_findings *findings);

/* report.html */
pboost_status repro_write_page(FILE *out, const repro_findings *findings, pboost_error *err);

#endif

/* The paper's experiments, from settings to a folder with figures and a report. */
#ifndef PBOOST_REPRODUCE_H
#define PBOOST_REPRODUCE_H

#include "output.h"
#include "run.h"

typedef struct {
    repro_results results;
    repro_claims claims;
    repro_theory theory;
} repro_outcome;

/* Runs the wanted experiments and writes results.json, a CSV and an SVG per figure, and report.html
 * to `dir`, which must be empty or not exist. */
pboost_status repro_reproduce(repro_outcome *out, const repro_settings *settings, const char *dir,
                              const repro_host *host, pboost_error *err);

void repro_outcome_free(repro_outcome *outcome);
repro_findings repro_outcome_findings(const repro_outcome *outcome);

#endif

/* The paper's experiments, from settings to a folder with figures and a report. */
#ifndef PBOOST_REPRODUCE_H
#define PBOOST_REPRODUCE_H

#include "results.h"
#include "run.h"

/* Runs the wanted experiments, or the rest of them where `dir` holds a part, and writes results.json,
 * a CSV and an SVG per figure, and report.html to `dir`. */
pboost_status repro_reproduce(repro_results *out, const repro_settings *settings, const char *dir,
                              const repro_watch *watch, pboost_error *err);

#endif

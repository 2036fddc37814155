/* An evaluation: text, JSON, and a page with its calibration. */
#ifndef PBOOST_EVALUATION_H
#define PBOOST_EVALUATION_H

#include <stdio.h>

#include <jansson.h>

#include <priorboost/priorboost.h>

enum { EVALUATION_GROUPS = 10 };

typedef struct evaluation {
    const char *model, *data; /* names of the files */
    pboost_family family;
    size_t unseen;
    pboost_evaluation measures;
    pboost_calibration calibration; /* no groups: a prediction is not finite */
} evaluation;

void evaluation_print(FILE *out, const evaluation *e);
json_t *evaluation_json(const evaluation *e);
json_t *evaluation_calibration_json(const pboost_calibration *calibration);
/* The chart of calibration: alone where the name ends in .svg, otherwise in a page. */
pboost_status evaluation_write(const char *path, const evaluation *e, pboost_error *err);

#endif

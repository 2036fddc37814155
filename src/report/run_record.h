/* Runs of train, read from their model files, and the page that compares them. */
#ifndef PBOOST_RUN_RECORD_H
#define PBOOST_RUN_RECORD_H

#include <stdio.h>

#include <jansson.h>

#include <priorboost/priorboost.h>

#define RUN_Z95 1.959963984540054 /* half an interval of 95 %, in standard errors */

/* A model file.  Files that train did not write have no record, so less is known about these
 * models. */
typedef struct run_record {
    char name[64];
    pboost_model model;
    json_t *root;         /* owns record */
    const json_t *record; /* "run" of the file; NULL: none */
} run_record;

pboost_status run_load(run_record *out, const char *path, pboost_error *err);
pboost_status run_parse(run_record *out, const char *text, const char *name, pboost_error *err);
void run_free(run_record *run);

/* Such as "logistic" or "classes"; losses of one family can be compared. */
const char *run_family(const run_record *run);
bool run_same_family(const run_record *a, const run_record *b);
size_t run_rounds(const run_record *run); /* in its history */
/* A number of the record or of its round t; NaN where there is none. */
double run_number(const run_record *run, const char *key);
double run_round_number(const run_record *run, size_t t, const char *key);
double run_plan_number(const run_record *run, const char *key);
const char *run_plan_text(const run_record *run, const char *key); /* NULL where there is none */
bool run_has_plan(const run_record *run);
/* The test loss of the last round. */
double run_loss(const run_record *run);
/* The standard error of column j, of the intercept for j == columns; as recorded or as forecast. */
double run_error(const run_record *run, size_t j);
double run_error_forecast(const run_record *run, size_t j);

/* All of it in one page. */
pboost_status run_write_page(FILE *out, const run_record *runs, size_t n, pboost_error *err);

#endif

/* Results of simulated runs in a file of lines `key run value`, so that a long sweep can be run in
 * pieces: what the file has is not computed again. */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdbool.h>
#include <stdio.h>

#include <try.h>

typedef struct {
    FILE *file;
    void *known; /* a tree of the lines read and added */
} results;

/* Reads the file and opens it to append; other processes may append to it at the same time. */
pboost_status results_open(results *out, const char *path, pboost_error *err);
void results_close(results *r);

/* NULL: not there.  A key has no blanks. */
const double *results_find(const results *r, const char *key, size_t run);
pboost_status results_add(results *r, const char *key, size_t run, double value, pboost_error *err);

/* Over runs 1 to `runs`; NaN where one is missing. */
double results_mean(const results *r, const char *key, size_t runs);

/* Puts the values in order. */
double median(double *value, size_t n);

#endif

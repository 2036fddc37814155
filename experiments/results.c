/* See results.h. */
#include "results.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <string.h>

#define MOST_KEY 120

typedef struct {
    char key[MOST_KEY];
    size_t run;
    double value;
} entry;

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->run > y->run) - (x->run < y->run);
}

static entry entry_of(const char *key, size_t run)
{
    entry e = {.run = run};
    snprintf(e.key, sizeof e.key, "%s", key);
    return e;
}

/* The first line for a key and run counts. */
static pboost_status remember(results *r, const entry *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    entry *own = NULL;

    NEED(own = malloc(sizeof *own), err);
    *own = *e;
    entry **there = tsearch(own, &r->known, compare);
    NEED(there, err);
    if (*there == own)
        own = NULL; /* the tree's now */
done:
    free(own);
    return st;
}

pboost_status results_open(results *out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    entry e = {0};

    *out = (results){0};
    out->file = fopen(path, "a+");
    if (out->file == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    rewind(out->file);
    while (fscanf(out->file, "%119s %zu %lf", e.key, &e.run, &e.value) == 3)
        TRY(remember(out, &e, err));
    if (!feof(out->file))
        FAIL(err, PBOOST_BAD_DATA, "%s: a line is not `key run value`", path);
    clearerr(out->file);
done:
    if (st != PBOOST_OK)
        results_close(out);
    return st;
}

void results_close(results *r)
{
    while (r->known != NULL) {
        entry *e = *(entry **)r->known;
        tdelete(e, &r->known, compare);
        free(e);
    }
    if (r->file != NULL)
        fclose(r->file);
    *r = (results){0};
}

const double *results_find(const results *r, const char *key, size_t run)
{
    entry e = entry_of(key, run);
    entry **found = tfind(&e, &r->known, compare);
    return found != NULL ? &(*found)->value : NULL;
}

pboost_status results_add(results *r, const char *key, size_t run, double value, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    entry e = entry_of(key, run);
    e.value = value;
    if (fprintf(r->file, "%s %zu %.9g\n", e.key, run, value) < 0 || fflush(r->file) != 0)
        FAIL(err, PBOOST_OUTPUT, "the results cannot be written: %s", strerror(errno));
    TRY(remember(r, &e, err));
done:
    return st;
}

double results_mean(const results *r, const char *key, size_t runs)
{
    double sum = 0.0;
    for (size_t run = 1; run <= runs; run++) {
        const double *value = results_find(r, key, run);
        sum += value != NULL ? *value : NAN;
    }
    return sum / (double)runs;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *value, size_t n)
{
    qsort(value, n, sizeof *value, by_value);
    return 0.5 * (value[(n - 1) / 2] + value[n / 2]);
}

/* Calibration: predicted means against labels, group by group. */
#include <math.h>
#include <stdlib.h>

#include <priorboost/predict.h>

#include "base/sizes.h"
#include "try.h"

typedef struct {
    double mean, label;
} pair;

static int by_mean(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return (x->mean > y->mean) - (x->mean < y->mean);
}

static pboost_reliability summarize(const pair *p, size_t n)
{
    pboost_reliability out = {.rows = n};
    double squares = 0.0;

    for (size_t i = 0; i < n; i++) {
        out.predicted += p[i].mean / (double)n;
        out.observed += p[i].label / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        squares += (p[i].label - out.observed) * (p[i].label - out.observed);
    out.error = n > 1 ? sqrt(squares / ((double)(n - 1) * (double)n)) : NAN;
    return out;
}

/* Group g of `groups` ends where g + 1 shares of the rows do, or behind the rows that are equal
 * there. */
static void cut(pboost_calibration *out, const pair *p, size_t n, size_t groups)
{
    for (size_t g = 0, first = 0; g < groups && first < n; g++) {
        size_t end = larger((g + 1) * n / groups, first + 1);
        while (end < n && p[end].mean == p[end - 1].mean)
            end++;
        if (end <= first)
            continue;
        pboost_reliability *r = &out->group[out->n_groups++];
        *r = summarize(p + first, end - first);
        out->expected_error += (double)r->rows / (double)n * fabs(r->predicted - r->observed);
        first = end;
    }
}

pboost_status pboost_calibrate(pboost_calibration *out, const double *mean, const double *label,
                               size_t n, size_t groups, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pair *p = NULL;
    double predicted = 0.0, observed = 0.0;

    *out = (pboost_calibration){0};
    if (groups < 1 || groups > PBOOST_MAX_GROUPS)
        FAIL(err, PBOOST_INVALID, "there are %zu groups; it must be 1 to %d", groups,
             PBOOST_MAX_GROUPS);
    NEED(p = pboost_alloc(n, sizeof *p), err);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(mean[i]) || !isfinite(label[i]))
            FAIL(err, PBOOST_BAD_DATA, "sample %zu has the mean %g and the label %g", i, mean[i],
                 label[i]);
        p[i] = (pair){mean[i], label[i]};
        predicted += mean[i];
        observed += label[i];
    }
    qsort(p, n, sizeof *p, by_mean);
    cut(out, p, n, groups);
    out->ratio = observed != 0.0 ? predicted / observed : NAN;
done:
    free(p);
    return st;
}

/* Calibration: predicted means against labels, group by group. */
#include "fit/calibration.h"

#include <math.h>
#include <stdlib.h>

#include "try.h"

/* ---- Order ----------------------------------------------------------------------------------- */

enum { FEW_ITEMS = 16 };

static void swap_items(double *item, size_t i, size_t j, size_t width)
{
    for (size_t k = 0; k < width; k++) {
        double v = item[i * width + k];
        item[i * width + k] = item[j * width + k];
        item[j * width + k] = v;
    }
}

/* The middle one of three items whose places have no pattern. */
static double choose_pivot(const double *item, size_t n, size_t width)
{
    double v[3];
    uint64_t place = n;
    for (size_t i = 0; i < 3; i++) {
        place = place * 6364136223846793005u + 1442695040888963407u;
        v[i] = item[(size_t)((place >> 32) % n) * width];
    }
    return fmax(fmin(v[0], v[1]), fmin(fmax(v[0], v[1]), v[2]));
}

/* Quicksort: less than the pivot, equal to it, more. */
void pboost_sort_items(double *item, size_t n, size_t width)
{
    while (n > FEW_ITEMS) {
        double pivot = choose_pivot(item, n, width);
        size_t less = 0, i = 0, more = n;
        while (i < more) {
            double v = item[i * width];
            if (v < pivot)
                swap_items(item, i++, less++, width);
            else if (v > pivot)
                swap_items(item, i, --more, width);
            else
                i++;
        }
        bool left = less < n - more; /* the smaller side first, so that calls do not pile up */
        pboost_sort_items(left ? item : item + more * width, left ? less : n - more, width);
        item = left ? item + more * width : item;
        n = left ? n - more : less;
    }
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && item[j * width] < item[(j - 1) * width]; j--)
            swap_items(item, j, j - 1, width);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* A group so far; squares are those of the labels around their mean. */
typedef struct {
    size_t n;
    double predicted, observed, mean, squares;
} group;

static void add_sample(group *g, double mean, double label)
{
    double d = label - g->mean;
    g->n++;
    g->predicted += mean;
    g->observed += label;
    g->mean += d / (double)g->n;
    g->squares += d * (label - g->mean);
}

static void end_group(pboost_calibration *out, group *g, size_t all)
{
    double n = (double)g->n;
    pboost_reliability *r = &out->group[out->n_groups++];
    *r = (pboost_reliability){.rows = g->n,
                              .predicted = g->predicted / n,
                              .observed = g->observed / n,
                              .error = g->n > 1 ? sqrt(g->squares / ((n - 1.0) * n)) : NAN};
    out->expected_error += n / (double)all * fabs(r->predicted - r->observed);
    *g = (group){0};
}

/* Group g ends where g + 1 shares of the rows do, or behind the rows that are equal there. */
pboost_status pboost_calibration_cut(pboost_calibration *out, size_t n, size_t groups,
                                     calibration_next *next, void *from, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double predicted = 0.0, observed = 0.0, last = NAN;
    group g = {0};

    *out = (pboost_calibration){0};
    if (groups < 1 || groups > PBOOST_MAX_GROUPS)
        FAIL(err, PBOOST_INVALID, "there are %zu groups; it must be 1 to %d", groups,
             PBOOST_MAX_GROUPS);
    for (size_t i = 0, number = 1; i < n; i++) { /* the number of the group */
        double mean, label;
        next(from, &mean, &label);
        if (g.n > 0 && i >= number * n / groups && mean != last) {
            end_group(out, &g, n);
            number++;
        }
        add_sample(&g, mean, label);
        predicted += mean;
        observed += label;
        last = mean;
    }
    if (g.n > 0)
        end_group(out, &g, n);
    out->ratio = observed != 0.0 ? predicted / observed : NAN;
done:
    return st;
}

/* ---- Samples in memory ----------------------------------------------------------------------- */

static void next_pair(void *from, double *mean, double *label)
{
    const double **pair = from;
    *mean = (*pair)[0];
    *label = (*pair)[1];
    *pair += 2;
}

pboost_status pboost_calibrate(pboost_calibration *out, const double *mean, const double *label,
                               size_t n, size_t groups, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *pair = NULL;

    *out = (pboost_calibration){0};
    NEED(pair = pboost_alloc(n, 2 * sizeof *pair), err);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(mean[i]) || !isfinite(label[i]))
            FAIL(err, PBOOST_BAD_DATA, "sample %zu has the mean %g and the label %g", i, mean[i],
                 label[i]);
        pair[2 * i] = mean[i];
        pair[2 * i + 1] = label[i];
    }
    pboost_sort_items(pair, n, 2);
    const double *at = pair;
    TRY(pboost_calibration_cut(out, n, groups, next_pair, &at, err));
done:
    free(pair);
    return st;
}

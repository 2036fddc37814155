/* Bags from features: whiten, then the tree.  See tree.h. */
#include <math.h>
#include <string.h>

#include "bags/bags.h"
#include "bags/tree.h"
#include "data/family.h"
#include "data/matrix.h"
#include "try.h"

#define SCORE_WEIGHT 0.5 /* of the score beside coordinates of weight 1 */

/* Bags of samples that all have the same features, in their order. */
static pboost_status bags_in_order(pboost_bags *out, size_t n, size_t min_bag, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n_bags = n / min_bag;

    out->n_rows = n;
    NEED(out->row = pboost_alloc(n, sizeof *out->row), err);
    NEED(out->start = pboost_alloc(n_bags + 1, sizeof *out->start), err);
    out->n_bags = n_bags;
    for (size_t i = 0; i < n; i++)
        out->row[i] = i;
    for (size_t b = 0; b < n_bags; b++)
        out->start[b] = b * min_bag;
    out->start[n_bags] = n;
done:
    return st;
}

static pboost_status check_request(const pboost_samples *samples, size_t min_bag, pboost_error *err)
{
    if (min_bag == 0)
        return pboost_fail(err, PBOOST_INVALID, "min_bag is 0; it must be at least 1");
    if (samples->n < min_bag)
        return pboost_fail(err, PBOOST_BAD_DATA, "min_bag is %zu, but there are only %zu rows",
                           min_bag, samples->n);
    return PBOOST_OK;
}

static pboost_status bags_of_white(pboost_bags *out, pboost_white *white, const double *weight,
                                   size_t min_bag, int threads, const pboost_cancel *cancel,
                                   pboost_error *err)
{
    if (white->rank == 0)
        return bags_in_order(out, white->n, min_bag, err);
    if (white->rank == 1) /* in one dimension the best bags are known */
        return pboost_bags_optimal(out, white->line, white->n, min_bag, threads, err);
    return pboost_tree_bags(out, white, weight, min_bag, threads, cancel, err);
}

pboost_status pboost_bags_features(pboost_bags *out, const pboost_samples *samples, size_t min_bag,
                                   int threads, const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_white white = {0};

    *out = (pboost_bags){0};
    TRY(check_request(samples, min_bag, err));
    pboost_samples plain = {.x = samples->x, .row = samples->row, .n = samples->n};
    TRY(pboost_whiten(&white, &plain, 0, threads, cancel, err));
    TRY(bags_of_white(out, &white, NULL, min_bag, threads, cancel, err));
done:
    pboost_white_free(&white);
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

#define LEAST_OF_ROW 1e-3 /* variance of a row whose score is not a mean, or near its limit */
#define MOST_RATIO 1e6    /* of two variances */

/* The information of each row, scaled to mean 1.  Scores of a Poisson model can differ by any power
 * of ten. The tree works in single precision, where very small weights become 0 and the mean of a
 * node of such rows NaN; so the ratio of weights is limited. */
static void fill_weights(double *weight, pboost_family family, const double *score, size_t n)
{
    const family_info *info = pboost_family_info(family);
    double total = 0.0, least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        weight[i] = fmax(info->variance_at(score[i]), LEAST_OF_ROW);
        least = fmin(least, weight[i]);
    }
    for (size_t i = 0; i < n; i++) {
        weight[i] = fmin(weight[i], MOST_RATIO * least);
        total += weight[i];
    }
    for (size_t i = 0; i < n; i++)
        weight[i] *= (double)n / total;
}

/* The score as one more coordinate.  The unit, a power of two, keeps squares from overflow. */
static void add_score(pboost_white *white, const double *score)
{
    double mean = 0.0, square = 0.0, largest = 0.0;
    int exponent;
    for (size_t i = 0; i < white->n; i++)
        largest = fmax(largest, fabs(score[i]));
    frexp(largest, &exponent);
    double unit = exponent > 500 ? ldexp(1.0, -600) : 1.0;
    for (size_t i = 0; i < white->n; i++)
        mean += unit * score[i] / (double)white->n;
    for (size_t i = 0; i < white->n; i++)
        square += (unit * score[i] - mean) * (unit * score[i] - mean) / (double)white->n;
    if (!(square > 0.0) || white->rank == 0)
        return;
    float *z = white->z + white->rank++;
    for (size_t i = 0; i < white->n; i++)
        z[i * white->stride] = (float)(SCORE_WEIGHT * (unit * score[i] - mean) / sqrt(square));
}

pboost_status pboost_bags_hybrid(pboost_bags *out, const pboost_samples *samples,
                                 pboost_family family, const double *score, size_t min_bag,
                                 int threads, const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_white white = {0};
    double *weight = NULL, *by_row = NULL;

    *out = (pboost_bags){0};
    TRY(pboost_family_check(family, err));
    TRY(check_request(samples, min_bag, err));
    TRY(pboost_samples_check(samples, false, err));
    for (size_t i = 0; i < samples->n; i++)
        if (!isfinite(score[i]))
            FAIL(err, PBOOST_BAD_DATA, "score %zu is %g; it must be finite", i, score[i]);
    NEED(weight = pboost_alloc(samples->n, sizeof *weight), err);
    NEED(by_row = calloc(samples->x->rows, sizeof *by_row), err);
    fill_weights(weight, family, score, samples->n);
    for (size_t i = 0; i < samples->n; i++)
        by_row[pboost_samples_row(samples, i)] = weight[i];
    pboost_samples weighted = {
        .x = samples->x, .row = samples->row, .n = samples->n, .weight = by_row};
    TRY(pboost_whiten(&white, &weighted, 1, threads, cancel, err));
    add_score(&white, score);
    TRY(bags_of_white(out, &white, weight, min_bag, threads, cancel, err));
done:
    free(weight);
    free(by_row);
    pboost_white_free(&white);
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

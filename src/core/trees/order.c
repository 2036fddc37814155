/* The order in which the levels of a category are split.
 *
 * To choose among all subsets of levels in every node, as trees do that see labels, fits the noise:
 * rows of different levels have the residual of a bag in common.  So levels are ordered once, by
 * their effects in a model of this column alone, which are solved for jointly (with the residuals
 * of the start and the whole Gauss-Newton matrix, as values of leaves are), and a split cuts that
 * order.
 */
#include <string.h>

#include "base/linalg.h"
#include "base/parallel.h"
#include "base/sizes.h"
#include "trees/boost.h"
#include "try.h"

#define ROW_NS 5.0 /* what a row takes on one thread, at least */

#define LEVEL_L2 10.0

typedef struct {
    size_t bin;
    double effect;
} ranked_bin;

static int by_effect(const void *a, const void *b)
{
    const ranked_bin *x = a, *y = b;
    if (x->effect != y->effect)
        return x->effect < y->effect ? -1 : 1;
    return (x->bin > y->bin) - (x->bin < y->bin);
}

/* matrix = J'WJ, vector = J'Wr over the bins of a column. */
static void add_bags(double *matrix, double *vector, const booster *b, size_t column)
{
    const boost_problem *p = b->problem;
    size_t n = p->data.column[column].n;
    double j[MAX_BINS] = {0};
    uint8_t touched[MAX_BINS + 1]; /* the place after the last is written too */

    for (size_t bag = 0; bag < p->bags; bag++) {
        size_t n_touched = 0;
        if (pboost_left_out(b, bag) || b->weight[bag] == 0.0)
            continue;
        for (size_t i = p->start[bag]; i < p->start[bag + 1]; i++) {
            uint8_t bin = pboost_bin_at(&p->data, column, i);
            touched[n_touched] = bin;
            n_touched += j[bin] == 0.0 && b->v[i] > 0.0f;
            j[bin] += (double)b->v[i];
        }
        for (size_t x = 0; x < n_touched; x++) {
            double wj = b->weight[bag] * j[touched[x]];
            vector[touched[x]] += wj * b->residual[bag];
            for (size_t y = 0; y < n_touched; y++)
                matrix[touched[x] * n + touched[y]] += wj * j[touched[y]];
        }
        for (size_t x = 0; x < n_touched; x++)
            j[touched[x]] = 0.0;
    }
}

static pboost_status order_column(void *context, size_t column, int worker, pboost_error *err)
{
    (void)worker;
    pboost_status st = PBOOST_OK;
    booster *b = context;
    const bin_column *c = &b->problem->data.column[column];
    size_t n = c->n;
    double *matrix = NULL;
    unsigned char dropped[MAX_BINS] = {0};
    double scale[MAX_BINS];
    ranked_bin rank[MAX_BINS];

    if (!c->category)
        goto done;
    NEED(matrix = calloc(n * n + n, sizeof *matrix), err);
    double *effect = matrix + n * n;
    add_bags(matrix, effect, b, column);
    for (size_t i = 0; i < n; i++)
        matrix[i * n + i] += LEVEL_L2;
    pboost_cholesky factor = {n, matrix, scale, dropped};
    pboost_cholesky_factor(&factor, pboost_rank_tolerance(n), true);
    pboost_cholesky_solve(effect, &factor, effect);
    for (size_t i = 1; i < n; i++)
        rank[i] = (ranked_bin){i, effect[i]};
    qsort(rank + 1, n - 1, sizeof *rank, by_effect);
    for (size_t i = 1; i < n; i++)
        b->order[c->first + i] = (uint8_t)rank[i].bin;
done:
    free(matrix);
    return st;
}

pboost_status pboost_order_levels(booster *b, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    NEED(b->order = calloc(b->problem->data.n_bins, 1), err);
    pboost_booster_freeze(b);
    threads = pboost_threads_for(threads, ROW_NS * (double)b->problem->rows);
    TRY(pboost_parallel_try(b->problem->data.n_columns, threads, order_column, b, err));
done:
    return st;
}

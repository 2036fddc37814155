/* What a forest predicts.
 *
 * Trees are added in their order, one number at a time, so that a predictor has the same bits
 * whoever adds it up: the fit does the same. */
#include <math.h>

#include <priorboost/curves.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "trees/checks.h"
#include "try.h"

#define TREE_NS 8.0 /* what a row takes to go down a tree, on one thread */

#define CHUNK_ROWS ((size_t)4096)
#define BLOCK_ROWS ((size_t)256) /* whose cells stay in the cache while all trees are added */

void pboost_forest_free(pboost_forest *forest)
{
    if (forest == NULL)
        return;
    free(forest->root);
    free(forest->node);
    free(forest->code);
    *forest = (pboost_forest){0};
}

static bool in_set(const uint32_t *set, size_t n, uint32_t code)
{
    size_t low = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (set[low + half] == code)
            return true;
        if (set[low + half] < code) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return false;
}

static bool goes_left(const pboost_forest *forest, const pboost_node *node,
                      const pboost_column *column, size_t row)
{
    if (column->code != NULL) {
        uint32_t code = column->code[row];
        return code < column->levels && in_set(forest->code + node->set, node->n_set, code);
    }
    double cell = column->number[(ptrdiff_t)row * column->stride];
    return isfinite(cell) ? cell <= node->value : node->missing_left;
}

static double tree_at(const pboost_forest *forest, size_t tree, const pboost_columns *columns,
                      size_t row)
{
    const pboost_node *node = &forest->node[forest->root[tree]];
    while (node->column != PBOOST_LEAF) {
        bool left = goes_left(forest, node, &columns->column[node->column], row);
        node = &forest->node[left ? node->left : node->right];
    }
    return node->value;
}

typedef struct {
    double *eta;
    const pboost_forest *forest;
    const pboost_columns *columns;
    const size_t *row;
    size_t n;
} add_task;

static void add_chunk(void *context, size_t chunk, int worker)
{
    (void)worker;
    const add_task *t = context;
    size_t end = smaller((chunk + 1) * CHUNK_ROWS, t->n);
    for (size_t at = chunk * CHUNK_ROWS; at < end; at += BLOCK_ROWS)
        for (size_t tree = 0; tree < t->forest->n_trees; tree++)
            for (size_t i = at; i < smaller(at + BLOCK_ROWS, end); i++)
                t->eta[i] += tree_at(t->forest, tree, t->columns, t->row != NULL ? t->row[i] : i);
}

pboost_status pboost_forest_add(double *eta, const pboost_forest *forest,
                                const pboost_columns *columns, const size_t *row, size_t n,
                                int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    add_task task = {eta, forest, columns, row, n};

    if (threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", threads);
    if (forest->n_trees == 0)
        goto done;
    if (forest->n_columns != columns->n)
        FAIL(err, PBOOST_INVALID, "the trees were fitted to %zu columns, but there are %zu",
             forest->n_columns, columns->n);
    TRY(pboost_columns_check(columns, row, n, err));
    threads = pboost_threads_for(threads, TREE_NS * (double)(forest->n_trees * n));
    pboost_parallel((n + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, add_chunk, &task);
done:
    return st;
}

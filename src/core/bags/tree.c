/* The tree that makes bags from features.
 *
 * The answers of bags carry the information I = sum_B w_B m_B m_B', with m_B the bag's mean in
 * whitened coordinates and w_B its weight; the error of the estimate is tr I^-1.  A split of a node
 * adds (w_L w_R / w) delta delta' to I, delta the difference of the halves' means, which takes
 * about (w_L w_R / w) |I^-1 delta|^2 off the error.  So a node is split across the direction in
 * which the samples, seen through I^-1, vary most, at the cut with the largest such gain.  I is
 * what the level above has reached plus what the levels to come are expected to add to every
 * direction: a direction that no split has served yet counts more than one that is known well.
 * Without that, rare categories stay together in bags and their weights are lost; and with it
 * outliers do no harm, since they attract only the splits of the nodes that hold them.  (Limiting
 * coordinates to a few standard deviations, which helps splits that ignore I, made things worse
 * here on every table tried.)
 *
 * (Directions found from a sample of a node's rows were worse by a tenth where columns are rare or
 * heavy-tailed: near the root all directions are equally good, and the sample's own deviations
 * decide for the wrong ones.  I as of the level before was worse still.)
 *
 * A cut leaves a multiple of min_bag rows on its left, so that only one leaf has more than min_bag
 * rows and there are as many bags as the rule allows; and at least a quarter of the node on either
 * side, so that the depth is O(log n) for any data.
 *
 * Nodes are ranges of positions.  Coordinates move with the rows, so that a node is always one
 * contiguous piece of memory; sums over it are cut into blocks by its size alone.
 *
 * At the end the leaves exchange rows (tree_exchange.c). */
#include "bags/tree.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bags/tree_node.h"
#include "base/cancel.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "data/matrix.h"
#include "large.h"
#include "try.h"

/* What work takes on one thread: a multiplication by an entry of a matrix, and all that a split
 * does, by value of its rows. */
#define MATRIX_NS 0.3
#define SPLIT_NS 2.0

#define LEVEL_GAIN 0.6366197724 /* 2/pi: of the variance of a normal, what halving it explains */

/* ---- One level ------------------------------------------------------------------------------- */

typedef struct {
    tree *tree;
    double *to; /* leaf_info or open_info */
} info_task;

/* A block of rows of the sum of w m m' over the nodes that count. */
static void info_block(void *context, size_t block, int worker)
{
    const info_task *task = context;
    const tree *t = task->tree;
    node_rows means = {t->now.mean, t->share, t->now.count, t->stride};
    (void)worker;
    t->kernels->gram(task->to, means, t->zeros, block, block + 1);
}

/* Adds the leaves of this level, or its other nodes, to `to`. */
static void add_info(tree *t, double *to, bool leaves)
{
    bool any = false;
    info_task task = {t, to};
    double matrix = (double)(t->stride * t->stride);
    for (size_t i = 0; i < t->now.count; i++) {
        bool counts = is_leaf(t, t->now.node[i]) == leaves;
        t->share[i] = counts ? t->now.mass[i] : 0.0f;
        any = any || counts;
    }
    if (any)
        pboost_parallel(t->stride / NODE_LANES,
                        pboost_threads_for(t->threads, MATRIX_NS * matrix * (double)t->now.count),
                        info_block, &task);
}

/* Row i of I^-2, which is symmetric: a column is a row; and entry i of the diagonal of I^-1. */
static void inverse_row(void *context, size_t i, int worker)
{
    const tree *t = context;
    double *row = t->inverse_work + (size_t)worker * t->rank;
    memset(row, 0, t->rank * sizeof *row);
    row[i] = (double)t->n * (double)t->n; /* of the order of 1 */
    pboost_cholesky_solve(row, &t->info, row);
    t->variance[i] = row[i] / (double)t->n;
    pboost_cholesky_solve(row, &t->info, row);
    for (size_t j = 0; j < t->rank; j++)
        t->inverse[i * t->stride + j] = (float)row[j];
}

double pboost_tree_inverse_ns(const tree *t)
{
    return 4.0 * MATRIX_NS * pow((double)t->rank, 3.0);
}

/* t->inverse = (I + rest n)^-2 for the I of open_info; returns the trace of (I + rest n)^-1. */
static double invert_info(tree *t, double rest)
{
    double trace = 0.0;
    for (size_t i = 0; i < t->rank; i++) {
        memcpy(t->info.l + i * t->rank, t->open_info + i * t->stride, (i + 1) * sizeof(double));
        t->info.l[i * t->rank + i] += rest * (double)t->n;
    }
    memset(t->info.dropped, 0, t->rank);
    pboost_cholesky_factor(&t->info, pboost_rank_tolerance(t->rank), false);
    pboost_parallel(t->rank, pboost_threads_for(t->threads, pboost_tree_inverse_ns(t)), inverse_row,
                    t);
    for (size_t i = 0; i < t->rank; i++)
        trace += t->variance[i];
    return trace;
}

/* I as this level found it, and what is still to come: each level to come shares 2/pi of one
 * direction's variance among all of them, and 1/k is left where nothing separates a bag's rows. */
static void reach_info(tree *t)
{
    double levels = fmax(0.0, log2((double)t->n / (double)t->min_bag) - t->depth);
    double rest = 1.0 / (double)t->min_bag + LEVEL_GAIN * levels / (double)t->rank;
    add_info(t, t->leaf_info, true);
    memcpy(t->open_info, t->leaf_info, t->stride * t->stride * sizeof *t->open_info);
    add_info(t, t->open_info, false);
    invert_info(t, rest);
}

double pboost_tree_error(tree *t, double rest)
{
    memset(t->open_info, 0, t->stride * t->stride * sizeof *t->open_info);
    add_info(t, t->open_info, true);
    return invert_info(t, rest);
}

/* Splits a node in two, or makes it a leaf. */
static pboost_status split_node(tree *t, size_t index, int worker, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    tree_node node = t->now.node[index], *child = t->next.node + t->child[index];
    tree_bench b = pboost_tree_bench(t, worker);
    float center = 0.0f;
    size_t left = 0;

    if (is_leaf(t, node)) {
        t->leaf_start[node.first] = 1;
        goto done;
    }
    TRY(pboost_tree_direction(&center, t, index, b, err));
    TRY(pboost_tree_cut(&left, t, node, center, b, err));
    child[0] = (tree_node){node.first, node.first + left};
    child[1] = (tree_node){node.first + left, node.end};
    for (size_t side = 0; side < 2; side++) /* while they are in the cache */
        pboost_tree_measure(t, &t->next, t->child[index] + side, b);
done:
    return st;
}

typedef struct {
    tree *tree;
    size_t first;
} node_batch;

static pboost_status split_small(void *context, size_t index, int worker, pboost_error *err)
{
    const node_batch *batch = context;
    tree *t = batch->tree;
    size_t i = batch->first + index;
    bool small = node_size(t->now.node[i]) < TREE_LARGE_NODE;
    return small ? split_node(t, i, worker, err) : PBOOST_OK;
}

/* Every level halves the nodes, and costs about the same. */
static double levels_of(size_t n, size_t min_bag)
{
    return fmax(ceil(log2((double)n / (double)min_bag)), 1.0);
}

static void report_progress(const tree *t, size_t rows)
{
    double levels = levels_of(t->n, t->min_bag);
    double done = (double)t->depth + (double)rows / (double)t->n;
    pboost_progress(t->cancel, "bags", fmin(done, levels), levels);
}

/* The nodes that are not large, in batches that take little time. */
static pboost_status split_all_small(tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = 0;
    for (size_t i = 0; i < t->now.count;) {
        node_batch batch = {t, i};
        size_t floats = 0;
        report_progress(t, rows);
        for (; i < t->now.count && floats < WATCH_BATCH; i++) {
            floats += node_size(t->now.node[i]) * t->stride;
            rows += node_size(t->now.node[i]);
        }
        TRY(pboost_cancel_check(t->cancel, err));
        int threads = pboost_threads_for(t->threads, SPLIT_NS * (double)floats);
        TRY(pboost_parallel_try(i - batch.first, threads, split_small, &batch, err));
    }
done:
    return st;
}

static pboost_status split_level(tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    t->next.count = 0;
    for (size_t i = 0; i < t->now.count; i++) {
        t->child[i] = t->next.count;
        t->next.count += is_leaf(t, t->now.node[i]) ? 0 : 2;
    }
    reach_info(t);
    for (size_t i = 0; i < t->now.count; i++)
        if (node_size(t->now.node[i]) >= TREE_LARGE_NODE) {
            report_progress(t, t->now.node[i].first);
            TRY(split_node(t, i, TREE_ALL_THREADS, err));
        }
    TRY(split_all_small(t, err));
    tree_level level = t->now;
    t->now = t->next;
    t->next = level;
    t->depth++;
done:
    return st;
}

/* ---- The tree -------------------------------------------------------------------------------- */

_Static_assert(PANEL_LANES == NODE_LANES, "the rows of white samples are those of nodes");

static pboost_status level_init(tree_level *level, const tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t nodes = t->n / t->min_bag;
    NEED(level->node = pboost_alloc(nodes, sizeof *level->node), err);
    NEED(level->mean = pboost_alloc(nodes * t->stride, sizeof *level->mean), err);
    NEED(level->mass = pboost_alloc(nodes, sizeof *level->mass), err);
done:
    return st;
}

/* What a level needs besides its nodes. */
static pboost_status info_init(tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t nodes = t->n / t->min_bag;
    NEED(t->child = pboost_alloc(nodes, sizeof *t->child), err);
    NEED(t->share = pboost_alloc(nodes, sizeof *t->share), err);
    NEED(t->zeros = calloc(t->stride, sizeof *t->zeros), err);
    NEED(t->leaf_info = calloc(t->stride * t->stride, sizeof *t->leaf_info), err);
    NEED(t->open_info = pboost_alloc(t->stride * t->stride, sizeof *t->open_info), err);
    t->info.n = t->rank;
    NEED(t->info.l = calloc(t->rank * t->rank, sizeof *t->info.l), err);
    NEED(t->info.scale = pboost_alloc(t->rank, sizeof *t->info.scale), err);
    NEED(t->info.dropped = pboost_alloc(t->rank, 1), err);
    NEED(t->inverse = calloc(t->rank * t->stride, sizeof *t->inverse), err);
    NEED(t->variance = pboost_alloc(t->rank, sizeof *t->variance), err);
    NEED(t->inverse_work = pboost_alloc((size_t)t->threads * t->rank, sizeof(double)), err);
done:
    return st;
}

/* What splitting a node needs. */
static pboost_status work_init(tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t workers = (size_t)t->threads;
    NEED(t->value = pboost_alloc_large(t->n, sizeof *t->value), err);
    NEED(t->misplaced = pboost_alloc_large(t->n, sizeof *t->misplaced), err);
    t->near = (void *)t->misplaced;
    t->sample = smaller(t->n, TREE_SAMPLE);
    NEED(t->jitter = pboost_alloc(t->sample, sizeof *t->jitter), err);
    for (size_t i = 0; i < t->sample; i++)
        t->jitter[i] = (double)(pboost_rng_key(0, RNG_SHUFFLE, 3, i) >> 11) * 0x1p-53;
    t->work_size = pboost_tree_work_size(t);
    NEED(t->work = pboost_alloc_large(workers * t->work_size, sizeof *t->work), err);
    NEED(t->partial = pboost_alloc(pboost_tree_partial_size(t), sizeof *t->partial), err);
done:
    return st;
}

/* Takes the samples over from white. */
static pboost_status tree_init(tree *t, pboost_white *white, const double *weight, size_t min_bag,
                               int threads, const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = white->n;
    double work = SPLIT_NS * levels_of(n, min_bag) * (double)(n * white->stride);

    *t = (tree){.n = n,
                .rank = white->rank,
                .stride = white->stride,
                .z = white->z,
                .min_bag = min_bag,
                .threads = pboost_threads_for(threads, work), /* each has memory of its own */
                .cancel = cancel,
                .kernels = pboost_node_kernels()};
    white->z = NULL;
    NEED(t->row = pboost_alloc_large(n, sizeof *t->row), err);
    NEED(t->leaf_start = calloc(n, 1), err);
    TRY(level_init(&t->now, t, err));
    TRY(level_init(&t->next, t, err));
    TRY(info_init(t, err));
    TRY(work_init(t, err));
    if (weight != NULL)
        NEED(t->weight = pboost_alloc_large(n, sizeof *t->weight), err);
    for (size_t i = 0; i < n; i++)
        t->row[i] = (uint32_t)i;
    for (size_t i = 0; weight != NULL && i < n; i++)
        t->weight[i] = (float)weight[i];
    t->now.node[0] = (tree_node){0, n};
    t->now.count = 1;
done:
    return st;
}

static void level_free(tree_level *level)
{
    free(level->node);
    free(level->mean);
    free(level->mass);
}

static void tree_free(tree *t)
{
    level_free(&t->now);
    level_free(&t->next);
    free(t->z);
    free(t->weight);
    free(t->row);
    free(t->leaf_start);
    free(t->child);
    free(t->share);
    free(t->zeros);
    free(t->leaf_info);
    free(t->open_info);
    free(t->info.l);
    free(t->info.scale);
    free(t->info.dropped);
    free(t->inverse);
    free(t->variance);
    free(t->inverse_work);
    free(t->value);
    free(t->misplaced);
    free(t->jitter);
    free(t->work);
    free(t->partial);
}

/* The leaves as bags; coordinates are freed before rows get wider numbers. */
static pboost_status take_bags(pboost_bags *out, tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    free(t->z);
    t->z = NULL;
    NEED(out->row = pboost_alloc_large(t->n, sizeof *out->row), err);
    out->n_rows = t->n;
    for (size_t i = 0; i < t->n; i++) {
        out->row[i] = t->row[i];
        if (t->leaf_start[i])
            out->start[out->n_bags++] = i;
    }
    out->start[out->n_bags] = t->n;
done:
    return st;
}

pboost_status pboost_tree_bags(pboost_bags *out, pboost_white *white, const double *weight,
                               size_t min_bag, int threads, const pboost_cancel *cancel,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    tree t = {0};

    *out = (pboost_bags){0};
    TRY(pboost_cancel_check(cancel, err));
    if (white->n > UINT32_MAX)
        FAIL(err, PBOOST_INVALID, "there are %zu rows; bags from features can have %" PRIu32,
             white->n, UINT32_MAX);
    TRY(tree_init(&t, white, weight, min_bag, threads, cancel, err));
    NEED(out->start = pboost_alloc(t.n / min_bag + 1, sizeof *out->start), err);
    pboost_tree_measure(&t, &t.now, 0, pboost_tree_bench(&t, TREE_ALL_THREADS));
    while (t.now.count > 0)
        TRY(split_level(&t, err));
    TRY(pboost_tree_exchange(&t, err));
    TRY(take_bags(out, &t, err));
done:
    tree_free(&t);
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

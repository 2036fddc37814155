/* The tree that makes bags from features.
 *
 * What the answers of bags tell about theta is I = sum_B w_B m_B m_B', with m_B the bag's mean in
 * whitened coordinates and w_B its weight; the error of the estimate is tr I^-1.  A split of a node
 * adds (w_L w_R / w) delta delta' to I, delta the difference of the halves' means, which takes about
 * (w_L w_R / w) |I^-1 delta|^2 off the error.  So a node is split across the direction in which the
 * samples, seen through I^-1, vary most, at the cut with the largest such gain.  I is what the level
 * above has reached plus what the levels to come are expected to add to every direction: a direction
 * that no split has served yet counts more than one that is known well.  Without that, rare
 * categories stay together in bags and their weights are lost; and with it far outliers do no harm,
 * since they attract only the splits of nodes that hold them.  (Limiting coordinates to a few standard
 * deviations, which helps splits that ignore I, made things worse here on every table tried.)
 *
 * Where to cut a node of more than a few thousand rows is told by the projections of a sample of them;
 * all its rows then go left or right without being sorted.  (Directions found from a sample were worse
 * by a tenth where columns are rare or heavy-tailed: near the root all directions are equally good, and
 * the sample's own deviations decide for the wrong ones.)
 *
 * A cut leaves a multiple of min_bag rows on its left, so that only one leaf has more than min_bag
 * rows and there are as many bags as the rule allows; and at least a quarter of the node on either
 * side, so that the depth is O(log n) whatever the data.
 *
 * Nodes are ranges of positions.  Coordinates move with the rows, so that a node is always one
 * contiguous piece of memory; sums over it are cut into blocks by its size alone. */
#include "tree.h"

#include <math.h>
#include <string.h>

#include "large.h"
#include "matrix.h"
#include "parallel.h"
#include "rng.h"
#include "treenode.h"
#include "try.h"
#include "watch.h"

#define LEVEL_GAIN 0.6366197724 /* 2/pi: of the variance of a normal, what halving it explains */

/* ---- One level --------------------------------------------------------------------------------- */

static void measure_small(void *context, size_t index, int worker)
{
    tree *t = context;
    if (node_size(t->node[index]) < TREE_LARGE_NODE)
        pboost_tree_measure(t, index, worker);
}

static void split_small(void *context, size_t index, int worker)
{
    tree *t = context;
    if (t->status[worker] == PBOOST_OK && node_size(t->node[index]) < TREE_LARGE_NODE)
        t->status[worker] = pboost_tree_split(t, index, worker, &t->error[worker]);
}

/* Row i of I: the leaves of earlier levels, then every node in turn; new leaves stay. */
static void info_row(void *context, size_t i, int worker)
{
    const tree *t = context;
    (void)worker;
    double *to = t->info.l + i * t->rank, *leaves = t->leaf_info + i * t->rank;
    memcpy(to, leaves, (i + 1) * sizeof *to);
    for (size_t b = 0; b < t->n_nodes; b++) {
        const double *mean = t->mean + b * t->padded;
        double factor = t->mass[b] * mean[i];
        for (size_t j = 0; j <= i; j++)
            to[j] += factor * mean[j];
        for (size_t j = 0; is_leaf(t, t->node[b]) && j <= i; j++)
            leaves[j] += factor * mean[j];
    }
}

/* Row i of I^-2, which is symmetric: a column is a row. */
static void inverse_row(void *context, size_t i, int worker)
{
    const tree *t = context;
    double *row = t->inverse + i * t->padded;
    (void)worker;
    memset(row, 0, t->padded * sizeof *row);
    row[i] = (double)t->n * (double)t->n; /* of the order of 1 */
    pboost_cholesky_solve(row, &t->info, row);
    pboost_cholesky_solve(row, &t->info, row);
}

/* I as this level found it, and what is still to come: each level to come shares 2/pi of one
 * direction's variance among all of them, and 1/k is left where nothing separates a bag's rows. */
static void reach_info(tree *t)
{
    double levels = fmax(0.0, log2((double)t->n / (double)t->min_bag) - t->depth);
    double rest = 1.0 / (double)t->min_bag + LEVEL_GAIN * levels / (double)t->rank;
    pboost_parallel(t->rank, t->threads, info_row, t);
    for (size_t i = 0; i < t->rank; i++)
        t->info.l[i * t->rank + i] += rest * (double)t->n;
    memset(t->info.dropped, 0, t->rank);
    pboost_cholesky_factor(&t->info, pboost_rank_tolerance(t->rank), false);
    pboost_parallel(t->rank, t->threads, inverse_row, t);
}

/* The halves of what was split become the nodes of the next level. */
static void next_level(tree *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_nodes; i++)
        if (!is_leaf(t, t->node[i])) {
            t->child[n++] = t->child[2 * i];
            t->child[n++] = t->child[2 * i + 1];
        }
    tree_node *nodes = t->node;
    t->node = t->child;
    t->child = nodes;
    t->n_nodes = n;
    tree_samples samples = t->now;
    t->now = t->next;
    t->next = samples;
    t->depth++;
}

static pboost_status split_level(tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int workers = pboost_threads(t->threads);

    for (size_t i = 0; i < t->n_nodes; i++)
        if (node_size(t->node[i]) >= TREE_LARGE_NODE)
            pboost_tree_measure(t, i, TREE_ALL_THREADS);
    pboost_parallel(t->n_nodes, t->threads, measure_small, t);
    reach_info(t);
    for (size_t i = 0; i < t->n_nodes; i++)
        if (node_size(t->node[i]) >= TREE_LARGE_NODE)
            TRY(pboost_tree_split(t, i, TREE_ALL_THREADS, err));
    pboost_parallel(t->n_nodes, t->threads, split_small, t);
    for (int w = 0; w < workers; w++)
        if (t->status[w] != PBOOST_OK)
            FAIL(err, t->status[w], "%s", t->error[w].message);
    next_level(t);
done:
    return st;
}

/* ---- The tree ---------------------------------------------------------------------------------- */

static pboost_status samples_init(tree_samples *s, const tree *t, bool weighted, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (weighted)
        NEED(s->weight = pboost_alloc_large(t->n, sizeof *s->weight), err);
    NEED(s->row = pboost_alloc_large(t->n, sizeof *s->row), err);
done:
    return st;
}

static pboost_status tree_init(tree *t, const pboost_white *white, const double *weight,
                               size_t min_bag, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = white->n, workers = (size_t)pboost_threads(threads), max_nodes = n / min_bag + 1;

    *t = (tree){.n = n,
                .rank = white->rank,
                .blocks = white->blocks,
                .padded = white->blocks * PANEL_LANES,
                .min_bag = min_bag,
                .threads = pboost_threads(threads)};
    TRY(samples_init(&t->now, t, weight != NULL, err));
    TRY(samples_init(&t->next, t, weight != NULL, err));
    t->now.z = white->z;
    NEED(t->next.z = pboost_alloc_large(t->padded, n * sizeof *t->next.z), err);
    NEED(t->final = pboost_alloc_large(n, sizeof *t->final), err);
    NEED(t->leaf_start = calloc(n, 1), err);
    NEED(t->node = pboost_alloc(2 * max_nodes, sizeof *t->node), err);
    NEED(t->child = pboost_alloc(2 * max_nodes, sizeof *t->child), err);
    NEED(t->mean = pboost_alloc(max_nodes * t->padded, sizeof *t->mean), err);
    NEED(t->mass = pboost_alloc(max_nodes, sizeof *t->mass), err);
    NEED(t->leaf_info = calloc(t->rank * t->rank, sizeof *t->leaf_info), err);
    t->info.n = t->rank;
    NEED(t->info.l = calloc(t->rank * t->rank, sizeof *t->info.l), err);
    NEED(t->info.scale = pboost_alloc(t->rank, sizeof *t->info.scale), err);
    NEED(t->info.dropped = pboost_alloc(t->rank, 1), err);
    NEED(t->value = pboost_alloc_large(n, sizeof *t->value), err);
    NEED(t->sorted = pboost_alloc_large(n, sizeof *t->sorted), err);
    NEED(t->order = pboost_alloc_large(n, sizeof *t->order), err);
    NEED(t->inverse = calloc(t->rank * t->padded, sizeof *t->inverse), err);
    t->sample = n < TREE_SAMPLE ? n : TREE_SAMPLE;
    NEED(t->jitter = pboost_alloc(t->sample, sizeof *t->jitter), err);
    for (size_t i = 0; i < t->sample; i++)
        t->jitter[i] = (double)(pboost_rng_key(0, RNG_SHUFFLE, 3, i) >> 11) * 0x1p-53;
    t->work_size = pboost_tree_work_size(t);
    NEED(t->work = pboost_alloc_large(workers * t->work_size, sizeof *t->work), err);
    NEED(t->partial = pboost_alloc(pboost_tree_chunks(n) * (t->padded + 1), sizeof *t->partial),
         err);
    NEED(t->status = calloc(workers, sizeof *t->status), err);
    NEED(t->error = calloc(workers, sizeof *t->error), err);
    for (size_t i = 0; i < n; i++)
        t->now.row[i] = i;
    if (weight != NULL)
        memcpy(t->now.weight, weight, n * sizeof *weight);
    t->node[0] = (tree_node){0, n};
    t->n_nodes = 1;
done:
    return st;
}

static void tree_free(tree *t, const pboost_white *white)
{
    tree_samples *level[] = {&t->now, &t->next};
    for (int i = 0; i < 2; i++) {
        if (level[i]->z != white->z)
            free(level[i]->z);
        free(level[i]->weight);
        free(level[i]->row);
    }
    free(t->final);
    free(t->leaf_start);
    free(t->node);
    free(t->child);
    free(t->mean);
    free(t->mass);
    free(t->leaf_info);
    free(t->info.l);
    free(t->info.scale);
    free(t->info.dropped);
    free(t->inverse);
    free(t->jitter);
    free(t->value);
    free(t->sorted);
    free(t->order);
    free(t->work);
    free(t->partial);
    free(t->status);
    free(t->error);
}

pboost_status pboost_tree_bags(pboost_bags *out, pboost_white *white, const double *weight,
                               size_t min_bag, int threads, const pboost_watch *watch,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    tree t = {0};

    *out = (pboost_bags){0};
    TRY(tree_init(&t, white, weight, min_bag, threads, err));
    NEED(out->start = pboost_alloc(white->n / min_bag + 1, sizeof *out->start), err);
    while (t.n_nodes > 0) {
        TRY(pboost_watch_check(watch, err));
        TRY(split_level(&t, err));
    }
    out->n_rows = t.n;
    out->row = t.final;
    t.final = NULL;
    for (size_t i = 0; i < t.n; i++)
        if (t.leaf_start[i])
            out->start[out->n_bags++] = i;
    out->start[out->n_bags] = t.n;
done:
    tree_free(&t, white);
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

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
 * A cut leaves a multiple of min_bag rows on its left, so that only one leaf has more than min_bag
 * rows and there are as many bags as the rule allows; and at least a quarter of the node on either
 * side, so that the depth is O(log n) whatever the data.
 *
 * Nodes are ranges of positions.  Coordinates move with the rows, so that a node is always one
 * contiguous piece of memory; sums over it are cut into blocks by its size alone. */
#include "tree.h"

#include <math.h>
#include <string.h>

#include "kernels/glm.h"
#include "large.h"
#include "linalg.h"
#include "matrix.h"
#include "parallel.h"
#include "sort.h"
#include "try.h"
#include "watch.h"

#define BLOCK_ROWS 256          /* samples that a kernel takes at once */
#define CHUNK_BLOCKS 32         /* blocks that a thread takes at once */
#define LARGE_NODE (1 << 15)    /* rows from which a node is worth several threads by itself */
#define POWER_STEPS 12          /* of the power method: a direction need not be exact */
#define LEVEL_GAIN 0.6366197724 /* 2/pi: of the variance of a normal, what halving it explains */
#define LEAST_PART 4            /* no side of a cut has less than this part of the node */

typedef struct {
    size_t first, end;
} tree_node;

/* A level's samples; the next level is written to another of these. */
typedef struct {
    double *z;      /* panel of capacity n */
    double *weight; /* NULL: 1 */
    size_t *row;    /* which sample stands at a position */
} tree_samples;

typedef struct {
    size_t n, rank, blocks, padded, min_bag;
    int threads;
    tree_samples now, next;
    size_t *final;             /* row by position, once it is in a leaf */
    unsigned char *leaf_start; /* by position */
    tree_node *node, *child;
    size_t n_nodes;
    double *mean;         /* by node, padded */
    double *mass;         /* by node: sum of weights */
    double *leaf_info;    /* sum over leaves of w m m', lower triangle */
    pboost_cholesky info; /* I of this level, expected rest included */
    unsigned depth;
    double *value;  /* projection, by position */
    double *sorted; /* by position */
    size_t *order;  /* by position */
    double *work;   /* by worker */
    size_t work_size;
    double *partial; /* by chunk of one large node */
    pboost_status *status;
    pboost_error *error; /* by worker */
} tree;

/* ---- Sums over a node -------------------------------------------------------------------------- */

/* What one pass over a node does for each sample: t = z.u - c, and adds w t z (or w z) to `sum`. */
typedef struct {
    tree *tree;
    tree_node node;
    const double *direction; /* NULL: sum w z and w alone */
    double center;
    double *sums; /* by chunk: padded values, then one */
} node_pass;

static size_t node_size(tree_node node)
{
    return node.end - node.first;
}

static bool is_leaf(const tree *t, tree_node node)
{
    return node_size(node) < 2 * t->min_bag;
}

static glm_panel node_panel(const tree *t, size_t first, size_t count)
{
    return (glm_panel){
        .x = t->now.z + first * PANEL_LANES, .capacity = t->n, .count = count, .blocks = t->blocks};
}

static void pass_chunk(void *context, size_t chunk, int worker)
{
    const node_pass *p = context;
    const tree *t = p->tree;
    const glm_kernels *kernels = pboost_glm_kernels();
    double *sum = p->sums + chunk * (t->padded + 1), *total = sum + t->padded;
    double factor[BLOCK_ROWS];
    size_t first = p->node.first + chunk * CHUNK_BLOCKS * BLOCK_ROWS;
    size_t end = first + CHUNK_BLOCKS * BLOCK_ROWS < p->node.end ? first + CHUNK_BLOCKS * BLOCK_ROWS
                                                                 : p->node.end;

    memset(sum, 0, (t->padded + 1) * sizeof *sum);
    (void)worker;
    for (size_t at = first; at < end; at += BLOCK_ROWS) {
        size_t count = at + BLOCK_ROWS < end ? BLOCK_ROWS : end - at;
        glm_panel panel = node_panel(t, at, count);
        if (p->direction != NULL)
            kernels->eta(factor, panel, p->direction, -p->center);
        for (size_t i = 0; p->direction == NULL && i < count; i++)
            factor[i] = 1.0;
        for (size_t i = 0; t->now.weight != NULL && i < count; i++)
            factor[i] *= t->now.weight[at + i];
        for (size_t i = 0; i < count; i++)
            *total += factor[i];
        kernels->product(sum, panel, factor, 0, count);
    }
}

static size_t node_chunks(size_t size)
{
    return (size + CHUNK_BLOCKS * BLOCK_ROWS - 1) / (CHUNK_BLOCKS * BLOCK_ROWS);
}

/* The sums of all chunks in order, in sums[0 .. padded]. */
static void run_pass(node_pass *p, int threads)
{
    size_t length = p->tree->padded + 1, chunks = node_chunks(node_size(p->node));
    pboost_parallel(chunks, threads, pass_chunk, p);
    for (size_t c = 1; c < chunks; c++)
        for (size_t j = 0; j < length; j++)
            p->sums[j] += p->sums[c * length + j];
}

/* ---- One node ---------------------------------------------------------------------------------- */

/* The memory of whoever works on a node: a worker among others, or one with all threads. */
typedef struct {
    double *sums;      /* for the chunks of a pass */
    double *direction; /* padded */
    int threads;
} bench;

static bench worker_bench(tree *t, int worker)
{
    double *work = t->work + (size_t)worker * t->work_size;
    return (bench){work + t->padded, work, 1};
}

static bench common_bench(tree *t)
{
    return (bench){t->partial, t->work, t->threads};
}

static void measure_node(tree *t, size_t index, bench b)
{
    node_pass p = {.tree = t, .node = t->node[index], .sums = b.sums};
    run_pass(&p, b.threads);
    t->mass[index] = p.sums[t->padded];
    double scale = t->mass[index] > 0.0 ? 1.0 / t->mass[index] : 0.0;
    for (size_t j = 0; j < t->padded; j++)
        t->mean[index * t->padded + j] = p.sums[j] * scale;
}

/* The direction u = I^-1 p with p the top eigenvector of I^-1 C I^-1, C the node's covariance, by the
 * power method on I^-2 C.  Starts from a direction with no structure that depends on the depth. */
static void find_direction(tree *t, size_t index, bench b)
{
    const double *mean = t->mean + index * t->padded;
    double *u = b.direction, whole;
    memset(u, 0, t->padded * sizeof *u);
    for (size_t j = 0; j < t->rank; j++)
        u[j] = 0.5 + modf(0.6180339887498949 * (double)(j + 1 + 7 * t->depth), &whole);
    for (int step = 0; step < POWER_STEPS; step++) {
        double center = pboost_glm_kernels()->dot(mean, u, t->padded);
        node_pass p = {t, t->node[index], u, center, b.sums};
        run_pass(&p, b.threads);
        double norm = 0.0;
        for (size_t j = 0; j < t->rank; j++) {
            p.sums[j] -= p.sums[t->padded] * mean[j];
            norm = fmax(norm, fabs(p.sums[j]));
        }
        if (!(norm > 0.0))
            return; /* all samples are the same: any direction will do */
        for (size_t j = 0; j < t->rank; j++)
            u[j] = p.sums[j] / norm;
        pboost_cholesky_solve(u, &t->info, u);
        pboost_cholesky_solve(u, &t->info, u);
    }
}

static void project_chunk(void *context, size_t chunk, int worker)
{
    const node_pass *p = context;
    const tree *t = p->tree;
    (void)worker;
    size_t first = p->node.first + chunk * BLOCK_ROWS * CHUNK_BLOCKS;
    size_t left = p->node.end - first;
    size_t count = left < BLOCK_ROWS * CHUNK_BLOCKS ? left : BLOCK_ROWS * CHUNK_BLOCKS;
    pboost_glm_kernels()->eta(t->value + first, node_panel(t, first, count), p->direction,
                              -p->center);
}

/* How many rows go left: the multiple of min_bag with the largest w_L w_R / w * delta^2 along the
 * projection; the middle where none is better. */
static size_t best_cut(const tree *t, tree_node node)
{
    size_t s = node_size(node), k = t->min_bag, parts = s / k;
    size_t low = (parts + LEAST_PART - 1) / LEAST_PART, high = parts - low, best = parts / 2;
    double total = 0.0, mass = 0.0, left = 0.0, left_mass = 0.0, most = -1.0;

    for (size_t i = node.first; i < node.end; i++) {
        double w = t->now.weight != NULL ? t->now.weight[node.first + t->order[i]] : 1.0;
        total += w * t->sorted[i];
        mass += w;
    }
    size_t i = node.first;
    for (size_t part = 1; part <= high; part++) {
        for (; i < node.first + part * k; i++) {
            double w = t->now.weight != NULL ? t->now.weight[node.first + t->order[i]] : 1.0;
            left += w * t->sorted[i];
            left_mass += w;
        }
        double right_mass = mass - left_mass;
        if (part < low || !(left_mass > 0.0) || !(right_mass > 0.0))
            continue;
        double delta = left / left_mass - (total - left) / right_mass;
        double gain = left_mass * right_mass / mass * delta * delta;
        /* Of cuts that differ by rounding the one nearest to the middle. */
        double edge = 1e-12 * gain;
        if (gain > most + edge || (gain >= most - edge && part <= parts / 2)) {
            most = gain > most ? gain : most;
            best = part;
        }
    }
    return best * k;
}

/* Writes the node's samples in the order of their projection where the next level looks for them. */
static void move_samples(tree *t, tree_node node)
{
    for (size_t b = 0; b < t->blocks; b++) {
        const double *from = t->now.z + (b * t->n + node.first) * PANEL_LANES;
        double *to = t->next.z + (b * t->n + node.first) * PANEL_LANES;
        for (size_t i = 0; i < node_size(node); i++)
            memcpy(to + i * PANEL_LANES, from + t->order[node.first + i] * PANEL_LANES,
                   PANEL_LANES * sizeof *to);
    }
    for (size_t i = node.first; i < node.end; i++) {
        size_t from = node.first + t->order[i];
        t->next.row[i] = t->now.row[from];
        if (t->now.weight != NULL)
            t->next.weight[i] = t->now.weight[from];
    }
}

/* Splits a node in two, or gives it its place among the leaves. */
static pboost_status split_node(tree *t, size_t index, bench b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    tree_node node = t->node[index];
    size_t first = node.first;

    if (is_leaf(t, node)) {
        memcpy(t->final + first, t->now.row + first, node_size(node) * sizeof *t->final);
        t->leaf_start[first] = 1;
        goto done;
    }
    find_direction(t, index, b);
    double center = pboost_glm_kernels()->dot(t->mean + index * t->padded, b.direction, t->padded);
    node_pass p = {t, node, b.direction, center, b.sums};
    pboost_parallel(node_chunks(node_size(node)), b.threads, project_chunk, &p);
    TRY(pboost_sort_doubles(t->order + first, t->sorted + first, t->value + first, node_size(node),
                            b.threads, NULL, err));
    size_t middle = first + best_cut(t, node);
    move_samples(t, node);
    t->child[2 * index] = (tree_node){first, middle};
    t->child[2 * index + 1] = (tree_node){middle, node.end};
done:
    return st;
}

/* ---- One level --------------------------------------------------------------------------------- */

static void measure_small(void *context, size_t index, int worker)
{
    tree *t = context;
    if (node_size(t->node[index]) < LARGE_NODE)
        measure_node(t, index, worker_bench(t, worker));
}

static void split_small(void *context, size_t index, int worker)
{
    tree *t = context;
    if (t->status[worker] == PBOOST_OK && node_size(t->node[index]) < LARGE_NODE)
        t->status[worker] = split_node(t, index, worker_bench(t, worker), &t->error[worker]);
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
        if (node_size(t->node[i]) >= LARGE_NODE)
            measure_node(t, i, common_bench(t));
    pboost_parallel(t->n_nodes, t->threads, measure_small, t);
    reach_info(t);
    for (size_t i = 0; i < t->n_nodes; i++)
        if (node_size(t->node[i]) >= LARGE_NODE)
            TRY(split_node(t, i, common_bench(t), err));
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
    /* A worker's: a direction and the sums of the chunks of a small node. */
    t->work_size = t->padded + node_chunks(LARGE_NODE) * (t->padded + 1);
    NEED(t->work = calloc(workers * t->work_size, sizeof *t->work), err);
    NEED(t->partial = pboost_alloc(node_chunks(n) * (t->padded + 1), sizeof *t->partial), err);
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

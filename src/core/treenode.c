/* One node of the tree: its mean and the direction across which it is split.  Why these are the right
 * ones is said in tree.c.
 *
 * The direction is u = I^-1 p with p the top eigenvector of I^-1 C I^-1, C the node's scatter, by the
 * power method on I^-2 C.  Up to a rank of 24 it works on the matrix C, one pass over the node's rows;
 * beyond that a pass for each step is cheaper.  (Six to fourteen steps of Lanczos' method come nearer to
 * the top eigenvector, and keep a hundredth more of the information about normal features, but a tenth less
 * of that about rare categories among a hundred columns: what the power method leaves of the next
 * eigenvectors is of use.  Six of its steps instead of twelve are worse everywhere.) */
#include "treenode.h"

#include <math.h>
#include <string.h>

#include "parallel.h"
#include "try.h"
#include "watch.h"

#define POWER_STEPS 12 /* of the power method: a direction need not be exact */
#define GRAM_RANK 24   /* up to this rank a scatter matrix is cheaper than passes */

const node_kernels *pboost_node_kernels(void)
{
#ifdef PBOOST_SIMD_X86
    static const node_kernels *const levels[SIMD_LEVELS] = {
        &pboost_node_kernels_plain, &pboost_node_kernels_avx2, &pboost_node_kernels_avx512};
    return levels[pboost_simd_level()];
#else
    return &pboost_node_kernels_plain;
#endif
}

/* ---- Memory ------------------------------------------------------------------------------------ */

_Static_assert(sizeof(size_t) <= sizeof(double), "row numbers fit in the room of numbers");
_Static_assert(2 * sizeof(float) <= sizeof(double), "and so do two floats");

static size_t gram_size(const tree *t)
{
    return t->rank <= GRAM_RANK ? t->stride * t->stride : 0;
}

size_t pboost_tree_sums_size(const tree *t)
{
    size_t gram = gram_size(t), row = t->stride + 1 + t->stride / 2; /* floats in the last part */
    return gram > row ? gram : row;
}

/* Rows of the largest node that is sorted. */
static size_t sorted_rows(const tree *t)
{
    return tree_smaller(2 * t->sample, t->n);
}

size_t pboost_tree_work_size(const tree *t)
{
    return 3 * t->stride + gram_size(t) + 3 * sorted_rows(t) +
           tree_chunks(TREE_LARGE_NODE) * pboost_tree_sums_size(t);
}

tree_bench pboost_tree_bench(const tree *t, int worker)
{
    bool all = worker == TREE_ALL_THREADS;
    size_t sorted = sorted_rows(t);
    double *work = t->work + (all ? 0 : (size_t)worker * t->work_size);
    tree_bench b = {.threads = all ? t->threads : 1, .watch = all ? t->watch : NULL};
    b.power = work;
    b.direction = (void *)(b.power + 2 * t->stride); /* in room for as many doubles */
    b.gram = b.power + 3 * t->stride;
    b.sorted = b.gram + gram_size(t);
    b.unsorted = b.sorted + sorted;
    b.order = (void *)(b.unsorted + sorted);
    b.sums = all ? t->partial : b.unsorted + 2 * sorted;
    return b;
}

/* ---- Sums over a node -------------------------------------------------------------------------- */

enum sum_kind { SUM_ROWS, SUM_APPLY, SUM_GRAM };

typedef struct {
    const tree *tree;
    tree_node node;
    enum sum_kind kind;
    const float *direction, *center;
    float shift;
    double *sums; /* by chunk */
    size_t size;  /* of a chunk's sums */
} node_sums;

static void sum_chunk(void *context, size_t chunk, int worker)
{
    const node_sums *p = context;
    const tree *t = p->tree;
    size_t first = p->node.first + chunk * TREE_CHUNK;
    node_rows rows = tree_rows(t, first, tree_smaller(TREE_CHUNK, p->node.end - first));
    double *sum = p->sums + chunk * p->size, *total = sum + t->stride;
    (void)worker;
    memset(sum, 0, p->size * sizeof *sum);
    if (p->kind == SUM_GRAM)
        t->kernels->gram(sum, rows, p->center, 0, t->stride / NODE_LANES);
    else if (p->kind == SUM_ROWS)
        *total = t->kernels->sum(sum, rows, (void *)(total + 1));
    else
        *total = t->kernels->apply(sum, rows, p->direction, p->shift, (void *)(total + 1));
}

/* The sums of all chunks in order, in sums[0 .. size). */
static void run_sums(node_sums *p, int threads)
{
    size_t chunks = tree_chunks(node_size(p->node));
    p->size = pboost_tree_sums_size(p->tree);
    if (chunks == 1)
        sum_chunk(p, 0, 0);
    else
        pboost_parallel(chunks, threads, sum_chunk, p);
    size_t length = p->kind == SUM_GRAM ? gram_size(p->tree) : p->tree->stride + 1;
    for (size_t c = 1; c < chunks; c++)
        for (size_t j = 0; j < length; j++)
            p->sums[j] += p->sums[c * p->size + j];
}

void pboost_tree_measure(const tree *t, tree_level *level, size_t index, tree_bench b)
{
    node_sums p = {.tree = t, .node = level->node[index], .kind = SUM_ROWS, .sums = b.sums};
    run_sums(&p, b.threads);
    double mass = p.sums[t->stride], scale = mass > 0.0 ? 1.0 / mass : 0.0;
    level->mass[index] = (float)mass;
    for (size_t j = 0; j < t->stride; j++)
        level->mean[index * t->stride + j] = (float)(p.sums[j] * scale);
}

/* ---- The direction ----------------------------------------------------------------------------- */

/* b.gram = the node's scatter about its mean, both triangles. */
static void find_scatter(const tree *t, tree_node node, const float *mean, tree_bench b)
{
    size_t d = t->stride;
    node_sums p = {.tree = t, .node = node, .kind = SUM_GRAM, .center = mean, .sums = b.sums};
    run_sums(&p, b.threads);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
            b.gram[i * d + j] = b.gram[j * d + i] = p.sums[i * d + j];
}

static float float_direction(float *out, const double *u, const float *mean, size_t d)
{
    double shift = 0.0;
    for (size_t j = 0; j < d; j++) {
        out[j] = (float)u[j];
        shift += u[j] * (double)mean[j];
    }
    return (float)shift;
}

/* out = the node's scatter times u. */
static void apply_scatter(double *out, const tree *t, tree_node node, const float *mean,
                          const double *u, tree_bench b)
{
    if (gram_size(t) > 0) {
        t->kernels->times(out, b.gram, u, t->rank, t->stride);
        return;
    }
    node_sums p = {.tree = t,
                   .node = node,
                   .kind = SUM_APPLY,
                   .direction = b.direction,
                   .shift = float_direction(b.direction, u, mean, t->stride),
                   .sums = b.sums};
    run_sums(&p, b.threads);
    for (size_t j = 0; j < t->stride; j++)
        out[j] = p.sums[j] - p.sums[t->stride] * (double)mean[j];
}

pboost_status pboost_tree_direction(float *center, const tree *t, size_t index, tree_bench b,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const float *mean = t->now.mean + index * t->stride;
    double *u = b.power, *image = u + t->stride, whole;

    memset(u, 0, t->stride * sizeof *u);
    for (size_t j = 0; j < t->rank; j++) /* no structure, and another one on each level */
        u[j] = 0.5 + modf(0.6180339887498949 * (double)(j + 1 + 7 * t->depth), &whole);
    if (gram_size(t) > 0)
        find_scatter(t, t->now.node[index], mean, b);
    for (int step = 0; step < POWER_STEPS; step++) {
        double norm = 0.0;
        TRY(pboost_watch_check(b.watch, err));
        apply_scatter(image, t, t->now.node[index], mean, u, b);
        for (size_t j = 0; j < t->stride; j++)
            norm = fmax(norm, fabs(image[j]));
        if (!(norm > 0.0))
            break; /* all samples are the same: any direction will do */
        for (size_t j = 0; j < t->stride; j++)
            image[j] /= norm;
        t->kernels->times(u, t->inverse, image, t->rank, t->stride);
    }
    *center = float_direction(b.direction, u, mean, t->stride);
done:
    return st;
}

/* One node of the tree: its mean and the direction across which it is split.  tree.c explains why
 * these are the right ones.
 *
 * The direction is u = I^-1 p with p the top eigenvector of I^-1 C I^-1, C the node's scatter, by
 * the power method on I^-2 C.  Where the rank is small, or the node so large that its rows come
 * from memory, it works on the matrix C, one pass over the rows; otherwise a pass for each step is
 * cheaper.
 *
 * (Six to fourteen steps of Lanczos' method come nearer to the top eigenvector and keep a hundredth
 * more of the information about normal features, but a tenth less of that about rare categories
 * among a hundred columns: what the power method leaves of the next eigenvectors is of use.  Six of
 * its own steps instead of twelve are worse.) */
#include "bags/tree_node.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/parallel.h"
#include "try.h"

#define POWER_STEPS 12        /* of the power method: a direction need not be exact */
#define MATRIX_RANK 24        /* up to this rank a scatter matrix is cheaper than passes, */
#define LARGE_MATRIX_RANK 256 /* and up to this one for nodes that no cache holds */

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

/* ---- Memory ---------------------------------------------------------------------------------- */

_Static_assert(sizeof(size_t) <= sizeof(double), "row numbers fit in the room of numbers");
_Static_assert(2 * sizeof(float) <= sizeof(double), "and so do two floats");

/* Whether the scatter matrix of a node is formed. */
static bool has_matrix(const tree *t, size_t size)
{
    return t->rank <= (size < TREE_LARGE_NODE ? MATRIX_RANK : LARGE_MATRIX_RANK);
}

static size_t matrix_chunks(size_t size)
{
    return smaller(tree_chunks(size), TREE_CHUNKS);
}

/* The sums of a chunk: of rows and their number; then floats to add up in. */
static size_t row_sums(const tree *t)
{
    return t->stride + 1 + t->stride / 2;
}

/* Doubles for the sums of a node's chunks. */
static size_t sums_size(const tree *t, size_t size)
{
    size_t rows = tree_chunks(size) * row_sums(t);
    size_t matrix = has_matrix(t, size) ? matrix_chunks(size) * t->stride * t->stride : 0;
    return rows > matrix ? rows : matrix;
}

/* Doubles for direction, image and scatter matrix, all floats. */
static size_t power_size(const tree *t, size_t size)
{
    return t->stride + (has_matrix(t, size) ? t->stride * t->stride / 2 : 0);
}

/* Rows of the largest node that is sorted. */
static size_t sorted_rows(const tree *t)
{
    return smaller(2 * t->sample, t->n);
}

size_t pboost_tree_work_size(const tree *t)
{
    size_t most = TREE_LARGE_NODE - 1;
    return 3 * sorted_rows(t) + power_size(t, most) + sums_size(t, most);
}

size_t pboost_tree_partial_size(const tree *t)
{
    size_t most = t->n < TREE_LARGE_NODE ? TREE_LARGE_NODE : t->n;
    return power_size(t, most) + sums_size(t, most);
}

tree_bench pboost_tree_bench(const tree *t, int worker)
{
    bool all = worker == TREE_ALL_THREADS;
    size_t sorted = sorted_rows(t);
    double *work = t->work + (all ? 0 : (size_t)worker * t->work_size);
    tree_bench b = {.threads = all ? t->threads : 1, .cancel = all ? t->cancel : NULL};
    b.sorted = work;
    b.unsorted = b.sorted + sorted;
    b.order = (void *)(b.unsorted + sorted); /* in room for as many doubles */
    double *power = all ? t->partial : b.unsorted + 2 * sorted;
    b.direction = (void *)power;
    b.image = b.direction + t->stride;
    b.scatter = b.image + t->stride;
    b.sums = power + power_size(t, all ? TREE_LARGE_NODE : TREE_LARGE_NODE - 1);
    return b;
}

/* ---- Sums over a node ------------------------------------------------------------------------ */

enum sum_kind { SUM_ROWS, SUM_APPLY, SUM_MATRIX };

typedef struct {
    const tree *tree;
    tree_node node;
    enum sum_kind kind;
    const float *direction, *center;
    float shift;
    double *sums;      /* by chunk */
    size_t size;       /* of a chunk's sums */
    size_t chunk_rows; /* rows of a chunk */
} node_sums;

static void sum_chunk(void *context, size_t chunk, int worker)
{
    const node_sums *p = context;
    const tree *t = p->tree;
    size_t first = p->node.first + chunk * p->chunk_rows;
    node_rows rows = tree_rows(t, first, smaller(p->chunk_rows, p->node.end - first));
    double *sum = p->sums + chunk * p->size, *total = sum + t->stride;
    (void)worker;
    memset(sum, 0, p->size * sizeof *sum);
    if (p->kind == SUM_MATRIX)
        t->kernels->gram(sum, rows, p->center, 0, t->stride / NODE_LANES);
    else if (p->kind == SUM_ROWS)
        *total = t->kernels->sum(sum, rows, (void *)(total + 1));
    else
        *total = t->kernels->apply(sum, rows, p->direction, p->shift, (void *)(total + 1));
}

/* The sums of all chunks in order, in sums[0 .. size). */
static void run_sums(node_sums *p, int threads)
{
    const tree *t = p->tree;
    bool matrix = p->kind == SUM_MATRIX;
    size_t rows = node_size(p->node), parts = matrix ? matrix_chunks(rows) : tree_chunks(rows);
    p->chunk_rows = (rows + parts - 1) / parts;
    size_t chunks = (rows + p->chunk_rows - 1) / p->chunk_rows;
    p->size = matrix ? t->stride * t->stride : row_sums(t);
    double values = (double)(rows * (matrix ? p->size / 4 : t->stride));
    if (chunks == 1)
        sum_chunk(p, 0, 0);
    else
        pboost_parallel(chunks, pboost_threads_for(threads, TREE_VALUE_NS * values), sum_chunk, p);
    size_t length = matrix ? p->size : t->stride + 1;
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

/* ---- The direction --------------------------------------------------------------------------- */

/* b.scatter = the node's scatter about its mean. */
static void find_scatter(const tree *t, tree_node node, const float *mean, tree_bench b)
{
    size_t d = t->stride;
    node_sums p = {.tree = t, .node = node, .kind = SUM_MATRIX, .center = mean, .sums = b.sums};
    run_sums(&p, b.threads);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
            b.scatter[i * d + j] = b.scatter[j * d + i] = (float)p.sums[i * d + j];
}

/* The projection of a mean. */
static float project_mean(const float *u, const float *mean, size_t d)
{
    double sum = 0.0;
    for (size_t j = 0; j < d; j++)
        sum += (double)u[j] * (double)mean[j];
    return (float)sum;
}

/* b.image = the node's scatter times b.direction. */
static void apply_scatter(const tree *t, tree_node node, const float *mean, tree_bench b)
{
    if (has_matrix(t, node_size(node))) {
        t->kernels->times(b.image, b.scatter, b.direction, t->rank, t->stride);
        return;
    }
    node_sums p = {.tree = t,
                   .node = node,
                   .kind = SUM_APPLY,
                   .direction = b.direction,
                   .shift = project_mean(b.direction, mean, t->stride),
                   .sums = b.sums};
    run_sums(&p, b.threads);
    for (size_t j = 0; j < t->stride; j++)
        b.image[j] = (float)(p.sums[j] - p.sums[t->stride] * (double)mean[j]);
}

pboost_status pboost_tree_direction(float *center, const tree *t, size_t index, tree_bench b,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    tree_node node = t->now.node[index];
    const float *mean = t->now.mean + index * t->stride;
    double whole;

    memset(b.direction, 0, t->stride * sizeof *b.direction);
    for (size_t j = 0; j < t->rank; j++) /* no structure, and another one on each level */
        b.direction[j] =
            (float)(0.5 + modf(0.6180339887498949 * (double)(j + 1 + 7 * t->depth), &whole));
    if (has_matrix(t, node_size(node)))
        find_scatter(t, node, mean, b);
    for (int step = 0; step < POWER_STEPS; step++) {
        float largest = 0.0f;
        TRY(pboost_cancel_check(b.cancel, err));
        apply_scatter(t, node, mean, b);
        for (size_t j = 0; j < t->stride; j++)
            largest = fabsf(b.image[j]) > largest ? fabsf(b.image[j]) : largest;
        if (!(largest > FLT_MIN)) /* below, 1 / largest overflows */
            break;                /* all samples are the same: any direction can be used */
        float scale = 1.0f / largest;
        for (size_t j = 0; j < t->stride; j++)
            b.image[j] *= scale;
        t->kernels->times(b.direction, t->inverse, b.image, t->rank, t->stride);
    }
    *center = project_mean(b.direction, mean, t->stride);
done:
    return st;
}

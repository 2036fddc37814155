/* One node of the tree: its mean, the direction across which it is split, and the split.  Why these
 * are the right ones is said in tree.c.
 *
 * Up to a rank of 24 the power method works on the node's covariance, one pass over its rows; beyond
 * that a pass for each step is cheaper.  A node of few rows is sorted by its projection, and the best
 * cut found exactly.  For a larger one the projections of a sample tell where to cut, the value of that
 * rank is found among the few rows near it, and each row goes to its side in the order it came. */
#include "treenode.h"

#include <math.h>
#include <string.h>

#include "kernels/glm.h"
#include "matrix.h"
#include "parallel.h"
#include "sort.h"
#include "try.h"

#define BLOCK_ROWS 256  /* rows that a kernel takes at once */
#define CHUNK_ROWS 8192 /* that a thread takes at once */
#define POWER_STEPS 12  /* of the power method: a direction need not be exact */
#define GRAM_RANK 24    /* up to this rank a covariance is cheaper than passes */
#define BRACKET 64      /* ranks of the sample on either side that hold the cut, almost surely */
#define LEAST_PART 4    /* no side of a cut has less than this part of the node */

/* ---- Sums over a node -------------------------------------------------------------------------- */

/* Rows of a node, or a sample of them, side by side. */
typedef struct {
    const double *z;
    const double *weight; /* NULL: 1 */
    size_t capacity, count;
} tree_rows;

/* What one pass does for each row: t = z.u - c, and adds w t z (or w z) to `sum`. */
typedef struct {
    const tree *tree;
    tree_rows rows;
    const double *direction; /* NULL: sum w z and w alone */
    double center;
    double *sums; /* by chunk: padded values, then one */
} node_pass;

static tree_rows all_rows(const tree *t, tree_node node)
{
    return (tree_rows){.z = t->now.z + node.first * PANEL_LANES,
                       .weight = t->now.weight != NULL ? t->now.weight + node.first : NULL,
                       .capacity = t->n,
                       .count = node_size(node)};
}

static glm_panel panel_at(const tree *t, const tree_rows *rows, size_t first, size_t count)
{
    return (glm_panel){.x = rows->z + first * PANEL_LANES,
                       .capacity = rows->capacity,
                       .count = count,
                       .blocks = t->blocks};
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void pass_chunk(void *context, size_t chunk, int worker)
{
    const node_pass *p = context;
    const tree *t = p->tree;
    const glm_kernels *kernels = pboost_glm_kernels();
    double *sum = p->sums + chunk * (t->padded + 1), *total = sum + t->padded;
    double factor[BLOCK_ROWS];
    size_t first = chunk * CHUNK_ROWS, end = smaller(first + CHUNK_ROWS, p->rows.count);

    memset(sum, 0, (t->padded + 1) * sizeof *sum);
    (void)worker;
    for (size_t at = first; at < end; at += BLOCK_ROWS) {
        size_t count = smaller(BLOCK_ROWS, end - at);
        glm_panel panel = panel_at(t, &p->rows, at, count);
        if (p->direction != NULL)
            kernels->eta(factor, panel, p->direction, -p->center);
        for (size_t i = 0; p->direction == NULL && i < count; i++)
            factor[i] = 1.0;
        for (size_t i = 0; p->rows.weight != NULL && i < count; i++)
            factor[i] *= p->rows.weight[at + i];
        for (size_t i = 0; i < count; i++)
            *total += factor[i];
        kernels->product(sum, panel, factor, 0, count);
    }
}

size_t pboost_tree_chunks(size_t size)
{
    return (size + CHUNK_ROWS - 1) / CHUNK_ROWS;
}

/* The sums of all chunks in order, in sums[0 .. padded]. */
static void run_pass(node_pass *p, int threads)
{
    size_t length = p->tree->padded + 1, chunks = pboost_tree_chunks(p->rows.count);
    if (chunks == 1)
        pass_chunk(p, 0, 0);
    else
        pboost_parallel(chunks, threads, pass_chunk, p);
    for (size_t c = 1; c < chunks; c++)
        for (size_t j = 0; j < length; j++)
            p->sums[j] += p->sums[c * length + j];
}

/* ---- One node ---------------------------------------------------------------------------------- */

/* The memory of whoever works on a node: a worker among others, or one with all threads. */
typedef struct {
    double *direction; /* padded */
    double *gram;      /* padded squared, where the rank is small */
    double *value;     /* three times t->sample */
    size_t *order;     /* t->sample */
    double *sums;      /* for the chunks of a pass */
    int threads;
} bench;

static size_t gram_size(const tree *t)
{
    return t->rank <= GRAM_RANK ? t->padded * t->padded : 0;
}

_Static_assert(sizeof(size_t) <= sizeof(double), "row numbers fit in the room of numbers");

static bench bench_at(const tree *t, double *work, double *sums, int threads)
{
    bench b = {.direction = work, .threads = threads};
    b.gram = b.direction + t->padded;
    b.value = b.gram + gram_size(t);
    b.order = (void *)(b.value + 3 * t->sample); /* in room for as many doubles */
    b.sums = sums != NULL ? sums : b.value + 4 * t->sample;
    return b;
}

size_t pboost_tree_work_size(const tree *t)
{
    return t->padded + gram_size(t) + 4 * t->sample +
           pboost_tree_chunks(TREE_LARGE_NODE) * (t->padded + 1);
}

static bench bench_of(const tree *t, int worker)
{
    if (worker == TREE_ALL_THREADS)
        return bench_at(t, t->work, t->partial, t->threads);
    return bench_at(t, t->work + (size_t)worker * t->work_size, NULL, 1);
}

void pboost_tree_measure(tree *t, size_t index, int worker)
{
    bench b = bench_of(t, worker);
    node_pass p = {.tree = t, .rows = all_rows(t, t->node[index]), .sums = b.sums};
    run_pass(&p, b.threads);
    t->mass[index] = p.sums[t->padded];
    double scale = t->mass[index] > 0.0 ? 1.0 / t->mass[index] : 0.0;
    for (size_t j = 0; j < t->padded; j++)
        t->mean[index * t->padded + j] = p.sums[j] * scale;
}

static bool is_sampled(const tree *t, tree_node node)
{
    return node_size(node) > 2 * t->sample;
}

/* The position of sampled row i: one somewhere in each of equal stretches. */
static size_t sampled_at(const tree *t, tree_node node, size_t i)
{
    double stretch = (double)node_size(node) / (double)t->sample;
    return smaller(node.first + (size_t)(((double)i + t->jitter[i]) * stretch), node.end - 1);
}

/* gram = the rows' scatter about `mean`, both triangles. */
static void find_scatter(const tree *t, const tree_rows *rows, const double *mean, bench b)
{
    double one[BLOCK_ROWS], *sum = b.sums, mass = 0.0;
    size_t d = t->padded;
    memset(b.gram, 0, d * d * sizeof *b.gram);
    memset(sum, 0, d * sizeof *sum);
    for (size_t i = 0; i < BLOCK_ROWS; i++)
        one[i] = 1.0;
    for (size_t at = 0; at < rows->count; at += BLOCK_ROWS) {
        size_t count = smaller(BLOCK_ROWS, rows->count - at);
        const double *weight = rows->weight != NULL ? rows->weight + at : one;
        glm_panel panel = panel_at(t, rows, at, count);
        pboost_glm_kernels()->gram(b.gram, panel, weight);
        pboost_glm_kernels()->product(sum, panel, weight, 0, count);
        for (size_t i = 0; i < count; i++)
            mass += weight[i];
    }
    for (size_t i = 0; i < t->rank; i++)
        for (size_t j = 0; j <= i; j++)
            b.gram[i * d + j] = b.gram[j * d + i] =
                b.gram[i * d + j] - sum[i] * mean[j] - mean[i] * sum[j] + mass * mean[i] * mean[j];
}

/* out = scatter times u. */
static void apply_scatter(double *out, const tree *t, const tree_rows *rows, const double *mean,
                          bench b)
{
    const glm_kernels *kernels = pboost_glm_kernels();
    if (gram_size(t) > 0) {
        for (size_t j = 0; j < t->rank; j++)
            out[j] = kernels->dot(b.gram + j * t->padded, b.direction, t->padded);
        return;
    }
    node_pass p = {.tree = t,
                   .rows = *rows,
                   .direction = b.direction,
                   .center = kernels->dot(mean, b.direction, t->padded),
                   .sums = b.sums};
    run_pass(&p, b.threads);
    for (size_t j = 0; j < t->rank; j++)
        out[j] = p.sums[j] - p.sums[t->padded] * mean[j];
}

/* The direction u = I^-1 p with p the top eigenvector of I^-1 C I^-1, C the node's covariance, by the
 * power method on I^-2 C.  Starts from a direction with no structure that depends on the depth. */
static void find_direction(const tree *t, size_t index, bench b)
{
    const double *mean = t->mean + index * t->padded;
    double *u = b.direction, *image = b.sums, whole;
    tree_rows rows = all_rows(t, t->node[index]);
    memset(u, 0, t->padded * sizeof *u);
    for (size_t j = 0; j < t->rank; j++)
        u[j] = 0.5 + modf(0.6180339887498949 * (double)(j + 1 + 7 * t->depth), &whole);
    if (gram_size(t) > 0)
        find_scatter(t, &rows, mean, b);
    for (int step = 0; step < POWER_STEPS; step++) {
        double norm = 0.0;
        apply_scatter(image, t, &rows, mean, b);
        for (size_t j = 0; j < t->rank; j++)
            norm = fmax(norm, fabs(image[j]));
        if (!(norm > 0.0))
            return; /* all samples are the same: any direction will do */
        for (size_t j = 0; j < t->rank; j++)
            image[j] /= norm;
        for (size_t j = t->rank; j < t->padded; j++)
            image[j] = 0.0;
        for (size_t j = 0; j < t->rank; j++)
            u[j] = pboost_glm_kernels()->dot(t->inverse + j * t->padded, image, t->padded);
    }
}

/* ---- The cut ----------------------------------------------------------------------------------- */

/* What happens to one node: projection, then left or right. */
typedef struct {
    tree *tree;
    tree_node node;
    const double *direction;
    double center;
    double threshold;   /* rows below it go left, */
    size_t ties;        /* and so do the first so many rows at it */
    size_t *chunk_left; /* by chunk: rows that go left before it */
    size_t *chunk_ties; /* and rows at the threshold before it */
} node_split;

static void project_chunk(void *context, size_t chunk, int worker)
{
    const node_split *p = context;
    const tree *t = p->tree;
    tree_rows rows = all_rows(t, p->node);
    size_t first = chunk * CHUNK_ROWS, count = smaller(CHUNK_ROWS, rows.count - first);
    (void)worker;
    pboost_glm_kernels()->eta(t->value + p->node.first + first, panel_at(t, &rows, first, count),
                              p->direction, -p->center);
}

/* Rows in the order of a projection: where to cut between multiples of `unit`, so that
 * w_L w_R / w * delta^2 is largest; the middle where nothing is better. */
static size_t best_cut(const double *sorted, const size_t *order, const double *weight, size_t n,
                       size_t unit)
{
    size_t parts = n / unit, low = (parts + LEAST_PART - 1) / LEAST_PART, high = parts - low;
    size_t best = parts / 2, i = 0;
    double total = 0.0, mass = 0.0, left = 0.0, left_mass = 0.0, most = -1.0;

    for (size_t r = 0; r < n; r++) {
        double w = weight != NULL ? weight[order[r]] : 1.0;
        total += w * sorted[r];
        mass += w;
    }
    for (size_t part = 1; part <= high; part++) {
        for (; i < part * unit; i++) {
            double w = weight != NULL ? weight[order[i]] : 1.0;
            left += w * sorted[i];
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
    return best * unit;
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

/* A node of few rows: in order, exactly. */
static pboost_status cut_by_sorting(size_t *left, tree *t, tree_node node, bench b,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t first = node.first, n = node_size(node);
    TRY(pboost_sort_doubles(t->order + first, t->sorted + first, t->value + first, n, b.threads,
                            NULL, err));
    *left = best_cut(t->sorted + first, t->order + first,
                     t->now.weight != NULL ? t->now.weight + first : NULL, n, t->min_bag);
    move_samples(t, node);
done:
    return st;
}

/* How many rows go left, judged by the sample; its sorted projections stay in b.value. */
static pboost_status sample_cut(size_t *left, const tree *t, tree_node node, bench b,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = t->sample, parts = node_size(node) / t->min_bag;
    size_t low = (parts + LEAST_PART - 1) / LEAST_PART;
    double *value = b.value + m, *weight = t->now.weight != NULL ? value + m : NULL;
    for (size_t i = 0; i < m; i++) {
        size_t at = sampled_at(t, node, i);
        value[i] = t->value[at];
        if (weight != NULL)
            weight[i] = t->now.weight[at];
    }
    TRY(pboost_sort_doubles(b.order, b.value, value, m, 1, NULL, err));
    double share = (double)best_cut(b.value, b.order, weight, m, 1) / (double)m;
    size_t part = (size_t)(share * (double)parts + 0.5);
    part = part < low ? low : part > parts - low ? parts - low : part;
    *left = part * t->min_bag;
done:
    return st;
}

/* The value of rank `left` and how many of the rows at it go left.  Ranks of the sample tell about
 * where it is; only rows thereabouts are sorted. */
static pboost_status find_threshold(node_split *p, size_t left, bench b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const tree *t = p->tree;
    size_t m = t->sample, s = node_size(p->node), below = 0, count = 0;
    const double *value = t->value + p->node.first;
    double *near = t->sorted + p->node.first, *sorted = NULL;
    size_t *order = t->order + p->node.first;
    size_t rank = (size_t)((double)left / (double)s * (double)m);
    double low = rank > BRACKET ? b.value[rank - BRACKET] : -INFINITY;
    double high = rank + BRACKET < m ? b.value[rank + BRACKET] : INFINITY;

    for (int attempt = 0; attempt < 2; attempt++) {
        below = count = 0;
        for (size_t i = 0; i < s; i++) {
            below += value[i] < low;
            near[count] = value[i];
            count += value[i] >= low && value[i] <= high;
        }
        if (below < left && left <= below + count)
            break;
        low = -INFINITY; /* the sample misled */
        high = INFINITY;
    }
    if (!(below < left && left <= below + count)) /* only what is no number is nowhere */
        FAIL(err, PBOOST_BAD_DATA, "the features overflow where bags are made; scale them down");
    NEED(sorted = pboost_alloc(count, sizeof *sorted), err);
    TRY(pboost_sort_doubles(order, sorted, near, count, b.threads, NULL, err));
    p->threshold = sorted[left - below - 1];
    p->ties = 0;
    for (size_t i = left - below; i-- > 0 && sorted[i] == p->threshold;)
        p->ties++;
done:
    free(sorted);
    return st;
}

static void count_chunk(void *context, size_t chunk, int worker)
{
    const node_split *p = context;
    const double *value = p->tree->value + p->node.first;
    size_t first = chunk * CHUNK_ROWS, end = smaller(first + CHUNK_ROWS, node_size(p->node));
    size_t left = 0, ties = 0;
    (void)worker;
    for (size_t i = first; i < end; i++) {
        left += value[i] < p->threshold;
        ties += value[i] == p->threshold;
    }
    p->chunk_left[chunk] = left;
    p->chunk_ties[chunk] = ties;
}

/* Rows keep their order on either side. */
static void scatter_chunk(void *context, size_t chunk, int worker)
{
    const node_split *p = context;
    const tree *t = p->tree;
    const double *value = t->value + p->node.first;
    size_t first = chunk * CHUNK_ROWS, end = smaller(first + CHUNK_ROWS, node_size(p->node));
    size_t left = p->chunk_left[chunk], ties = p->chunk_ties[chunk];
    size_t right = p->chunk_left[pboost_tree_chunks(node_size(p->node))] + first - left;
    (void)worker;
    for (size_t i = first; i < end; i++) {
        bool at = value[i] == p->threshold;
        bool goes_left = value[i] < p->threshold || (at && ties < p->ties);
        size_t to = p->node.first + (goes_left ? left++ : right++), from = p->node.first + i;
        ties += at;
        for (size_t b = 0; b < t->blocks; b++)
            memcpy(t->next.z + (b * t->n + to) * PANEL_LANES,
                   t->now.z + (b * t->n + from) * PANEL_LANES, PANEL_LANES * sizeof *t->next.z);
        t->next.row[to] = t->now.row[from];
        if (t->now.weight != NULL)
            t->next.weight[to] = t->now.weight[from];
    }
}

/* A node of many rows: a cut found in the sample, then each row to its side. */
static pboost_status cut_by_sample(size_t *left, node_split *p, bench b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t chunks = pboost_tree_chunks(node_size(p->node)), rows = 0, ties = 0;

    NEED(p->chunk_left = pboost_alloc(chunks + 1, sizeof *p->chunk_left), err);
    NEED(p->chunk_ties = pboost_alloc(chunks + 1, sizeof *p->chunk_ties), err);
    TRY(sample_cut(left, p->tree, p->node, b, err));
    TRY(find_threshold(p, *left, b, err));
    pboost_parallel(chunks, b.threads, count_chunk, p);
    for (size_t c = 0; c < chunks; c++) {
        size_t low = p->chunk_left[c], at = p->chunk_ties[c];
        size_t going = ties < p->ties ? smaller(at, p->ties - ties) : 0;
        p->chunk_left[c] = rows;
        p->chunk_ties[c] = ties;
        rows += low + going;
        ties += at;
    }
    p->chunk_left[chunks] = rows;
    pboost_parallel(chunks, b.threads, scatter_chunk, p);
done:
    free(p->chunk_left);
    free(p->chunk_ties);
    return st;
}

/* Splits a node in two, or gives it its place among the leaves. */
pboost_status pboost_tree_split(tree *t, size_t index, int worker, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bench b = bench_of(t, worker);
    tree_node node = t->node[index];
    size_t first = node.first, left = 0;

    if (is_leaf(t, node)) {
        memcpy(t->final + first, t->now.row + first, node_size(node) * sizeof *t->final);
        t->leaf_start[first] = 1;
        goto done;
    }
    find_direction(t, index, b);
    node_split p = {.tree = t, .node = node, .direction = b.direction};
    p.center = pboost_glm_kernels()->dot(t->mean + index * t->padded, b.direction, t->padded);
    if (node_size(node) <= CHUNK_ROWS)
        project_chunk(&p, 0, 0);
    else
        pboost_parallel(pboost_tree_chunks(node_size(node)), b.threads, project_chunk, &p);
    if (is_sampled(t, node))
        TRY(cut_by_sample(&left, &p, b, err));
    else
        TRY(cut_by_sorting(&left, t, node, b, err));
    t->child[2 * index] = (tree_node){first, first + left};
    t->child[2 * index + 1] = (tree_node){first + left, node.end};
done:
    return st;
}

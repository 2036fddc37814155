/* Cutting a node of the tree in two, across its direction.
 *
 * A node of few rows is sorted by its projection, and the best cut found exactly.  For a larger one
 * the projections of a sample show where to cut, and the value of that rank is found among the few
 * rows near it.  Either way the rows on the wrong side of the cut then change places, pair by pair:
 * half of all rows move, none needs room elsewhere, and a node stays one contiguous piece of
 * memory. */
#include <math.h>
#include <string.h>

#include "bags/sort.h"
#include "bags/tree_node.h"
#include "base/cancel.h"
#include "base/parallel.h"
#include "try.h"

#define BRACKET 64   /* ranks of the sample on either side that hold the cut, almost surely */
#define LEAST_PART 4 /* no side of a cut has less than this fraction of the node */

/* What happens to one node: projection, then left or right. */
typedef struct {
    tree *tree;
    tree_node node;
    const float *direction;
    float center;
    float low, high;  /* projections between these are near the cut */
    float threshold;  /* rows up to it may go left */
    size_t left;      /* rows that go left in all */
    size_t *chunk[2]; /* by chunk: two counts */
    size_t pairs;     /* of rows that change places */
} node_cut;

static node_rows chunk_rows(const node_cut *p, size_t chunk)
{
    size_t first = p->node.first + chunk * TREE_CHUNK;
    return tree_rows(p->tree, first, smaller(TREE_CHUNK, p->node.end - first));
}

static void for_chunks(node_cut *p, size_t chunks, int threads,
                       void (*body)(void *context, size_t chunk, int worker))
{
    double values = (double)(chunks * TREE_CHUNK * p->tree->stride);
    if (chunks == 1)
        body(p, 0, 0);
    else
        pboost_parallel(chunks, pboost_threads_for(threads, TREE_VALUE_NS * values), body, p);
}

static void project_chunk(void *context, size_t chunk, int worker)
{
    const node_cut *p = context;
    (void)worker;
    p->tree->kernels->project(p->tree->value + p->node.first + chunk * TREE_CHUNK,
                              chunk_rows(p, chunk), p->direction, p->center);
}

/* ---- Where to cut ---------------------------------------------------------------------------- */

/* Rows in the order of a projection: where to cut between multiples of `unit`, so that
 * w_L w_R / w * delta^2 is largest; the middle where nothing is better. */
static size_t best_cut(const double *sorted, const size_t *order, const float *weight, size_t n,
                       size_t unit)
{
    size_t parts = n / unit, low = (parts + LEAST_PART - 1) / LEAST_PART, high = parts - low;
    size_t best = parts / 2, i = 0;
    double total = 0.0, mass = 0.0, left = 0.0, left_mass = 0.0, most = -1.0;

    for (size_t r = 0; r < n; r++) {
        double w = weight != NULL ? (double)weight[order[r]] : 1.0;
        total += w * sorted[r];
        mass += w;
    }
    for (size_t part = 1; part <= high; part++) {
        for (; i < part * unit; i++) {
            double w = weight != NULL ? (double)weight[order[i]] : 1.0;
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

/* A node of few rows: in order, exactly. */
static pboost_status find_by_sorting(node_cut *p, tree_bench b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const tree *t = p->tree;
    size_t first = p->node.first, n = node_size(p->node);
    for (size_t i = 0; i < n; i++)
        b.unsorted[i] = (double)t->value[first + i];
    TRY(pboost_sort_doubles(b.order, b.sorted, b.unsorted, n, b.threads, NULL, err));
    p->left =
        best_cut(b.sorted, b.order, t->weight != NULL ? t->weight + first : NULL, n, t->min_bag);
    p->threshold = (float)b.sorted[p->left - 1];
done:
    return st;
}

/* The position of sampled row i: one somewhere in each of equal stretches. */
static size_t sampled_at(const tree *t, tree_node node, size_t i)
{
    double stretch = (double)node_size(node) / (double)t->sample;
    return smaller(node.first + (size_t)(((double)i + t->jitter[i]) * stretch), node.end - 1);
}

/* How many rows go left, judged by the sample; its sorted projections stay in b.sorted. */
static pboost_status judge_sample(node_cut *p, tree_bench b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const tree *t = p->tree;
    size_t m = t->sample, parts = node_size(p->node) / t->min_bag;
    size_t low = (parts + LEAST_PART - 1) / LEAST_PART;
    float *weight = t->weight != NULL ? t->near + p->node.first : NULL;
    for (size_t i = 0; i < m; i++) {
        size_t at = sampled_at(t, p->node, i);
        b.unsorted[i] = (double)t->value[at];
        if (weight != NULL)
            weight[i] = t->weight[at];
    }
    TRY(pboost_sort_doubles(b.order, b.sorted, b.unsorted, m, 1, NULL, err));
    double share = (double)best_cut(b.sorted, b.order, weight, m, 1) / (double)m;
    size_t part = (size_t)(share * (double)parts + 0.5);
    part = part < low ? low : part > parts - low ? parts - low : part;
    p->left = part * t->min_bag;
done:
    return st;
}

/* Counts the rows below the bracket and collects those in it. */
static void bracket_chunk(void *context, size_t chunk, int worker)
{
    const node_cut *p = context;
    const node_rows rows = chunk_rows(p, chunk);
    const float *value = p->tree->value + p->node.first + chunk * TREE_CHUNK;
    float *near = p->tree->near + p->node.first + chunk * TREE_CHUNK;
    size_t below = 0, count = 0;
    (void)worker;
    for (size_t i = 0; i < rows.count; i++) {
        below += value[i] < p->low;
        near[count] = value[i];
        count += value[i] >= p->low && value[i] <= p->high;
    }
    p->chunk[0][chunk] = below;
    p->chunk[1][chunk] = count;
}

/* The value of rank p->left.  Ranks of the sample show roughly where it is; only rows near there
 * are sorted. */
static pboost_status find_near(node_cut *p, tree_bench b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const tree *t = p->tree;
    size_t m = t->sample, s = node_size(p->node), chunks = tree_chunks(s), below = 0, count = 0;
    size_t rank = (size_t)((double)p->left / (double)s * (double)m), *order = NULL, n = 0;
    double *near = NULL;
    p->low = rank > BRACKET ? (float)b.sorted[rank - BRACKET] : -INFINITY;
    p->high = rank + BRACKET < m ? (float)b.sorted[rank + BRACKET] : INFINITY;

    for (int attempt = 0; attempt < 2; attempt++) {
        below = count = 0;
        for_chunks(p, chunks, b.threads, bracket_chunk);
        for (size_t c = 0; c < chunks; c++) {
            below += p->chunk[0][c];
            count += p->chunk[1][c];
        }
        if (below < p->left && p->left <= below + count)
            break;
        p->low = -INFINITY; /* the bracket from the sample was wrong */
        p->high = INFINITY;
    }
    if (!(below < p->left && p->left <= below + count)) /* only NaN can be on neither side */
        FAIL(err, PBOOST_BAD_DATA,
             "the features are too large to make bags from: products overflow; scale them down");
    NEED(near = pboost_alloc(2 * count, sizeof *near), err);
    NEED(order = pboost_alloc(count, sizeof *order), err);
    for (size_t c = 0; c < chunks; c++)
        for (size_t i = 0; i < p->chunk[1][c]; i++)
            near[n++] = (double)t->near[p->node.first + c * TREE_CHUNK + i];
    TRY(pboost_sort_doubles(order, near + count, near, count, b.threads, NULL, err));
    p->threshold = (float)near[count + p->left - below - 1];
done:
    free(near);
    free(order);
    return st;
}

/* ---- The two sides --------------------------------------------------------------------------- */

/* Lists the positions from .. to-1 whose rows may go left, or those whose rows may not. */
static size_t list_rows(uint32_t *list, const node_cut *p, size_t from, size_t to, bool may_go)
{
    const float *value = p->tree->value;
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        list[count] = (uint32_t)i;
        count += (value[i] <= p->threshold) == may_go;
    }
    return count;
}

static void list_chunk(void *context, size_t chunk, int worker)
{
    const node_cut *p = context;
    size_t first = p->node.first + chunk * TREE_CHUNK, middle = p->node.first + p->left;
    size_t end = smaller(first + TREE_CHUNK, p->node.end);
    uint32_t *list = p->tree->misplaced + first;
    (void)worker;
    middle = middle < first ? first : smaller(middle, end);
    size_t left = list_rows(list, p, first, middle, false);
    p->chunk[0][chunk] = left;
    p->chunk[1][chunk] = list_rows(list + left, p, middle, end, true);
}

void pboost_tree_swap(tree *t, const uint32_t *a, const uint32_t *b, size_t count)
{
    t->kernels->swap(t->z, t->stride, a, b, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = t->row[a[i]];
        t->row[a[i]] = t->row[b[i]];
        t->row[b[i]] = row;
    }
    for (size_t i = 0; t->weight != NULL && i < count; i++) {
        float weight = t->weight[a[i]];
        t->weight[a[i]] = t->weight[b[i]];
        t->weight[b[i]] = weight;
    }
}

static void swap_chunk(void *context, size_t chunk, int worker)
{
    const node_cut *p = context;
    size_t first = chunk * TREE_CHUNK, count = smaller(TREE_CHUNK, p->pairs - first);
    const uint32_t *a = p->tree->misplaced + p->node.first + first;
    (void)worker;
    pboost_tree_swap(p->tree, a, a + p->pairs, count);
}

/* At least p->left rows are up to the threshold: every row on the left that is not finds one on the
 * right to change places with.  Rows at the threshold that are left over stay where they are. */
static void divide(node_cut *p, int threads)
{
    size_t chunks = tree_chunks(node_size(p->node)), n = 0;
    uint32_t *list = p->tree->misplaced + p->node.first;

    for_chunks(p, chunks, threads, list_chunk);
    p->pairs = 0;
    for (size_t c = 0; c < chunks; c++) { /* all of the left side come before those of the right */
        size_t count = p->chunk[0][c] + p->chunk[1][c];
        memmove(list + n, list + c * TREE_CHUNK, count * sizeof *list);
        n += count;
        p->pairs += p->chunk[0][c];
    }
    if (p->pairs > 0)
        for_chunks(p, tree_chunks(p->pairs), threads, swap_chunk);
}

pboost_status pboost_tree_cut(size_t *left, tree *t, tree_node node, float center, tree_bench b,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t chunks = tree_chunks(node_size(node)), one[2], *counts = one;
    node_cut p = {.tree = t, .node = node, .direction = b.direction, .center = center};

    if (chunks > 1)
        NEED(counts = pboost_alloc(2 * chunks, sizeof *counts), err);
    p.chunk[0] = counts;
    p.chunk[1] = counts + chunks;
    for_chunks(&p, chunks, b.threads, project_chunk);
    TRY(pboost_cancel_check(b.cancel, err));
    if (is_sampled(t, node)) {
        TRY(judge_sample(&p, b, err));
        TRY(find_near(&p, b, err));
    } else {
        TRY(find_by_sorting(&p, b, err));
    }
    divide(&p, b.threads);
    *left = p.left;
done:
    if (counts != one)
        free(counts);
    return st;
}

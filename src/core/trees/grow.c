/* See grow.h. */
#include "trees/grow.h"

#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "large.h"
#include "try.h"

#define PART_NS 2.0 /* what a row takes on one thread */

#define CHUNK_ROWS ((size_t)1 << 16)
#define MAX_CHUNKS ((size_t)16)

pboost_status pboost_forest_reserve(growing_forest *f, size_t leaves, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_forest *o = &f->forest;
    GROW(o->root, f->root_room, o->n_trees + 1, err);
    GROW(o->node, f->node_room, o->n_nodes + 2 * leaves, err);
    GROW(o->code, f->code_room, o->n_codes + leaves * MAX_BINS, err);
done:
    return st;
}

pboost_status pboost_grow_init(grow_work *out, const binned *data, size_t leaves, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = data->rows;

    *out = (grow_work){.rows = n};
    NEED(out->row = pboost_alloc_large(n, sizeof *out->row), err);
    NEED(out->spare = pboost_alloc_large(n, sizeof *out->spare), err);
    NEED(out->slope = pboost_alloc_large(n, sizeof *out->slope), err);
    NEED(out->leaf = pboost_alloc_large(n, sizeof *out->leaf), err);
    NEED(out->leaves = calloc(leaves, sizeof *out->leaves), err);
    NEED(out->hist = pboost_alloc(leaves, data->n_bins * sizeof *out->hist), err);
    NEED(out->part = pboost_alloc(pboost_hist_chunks(n), data->n_bins * sizeof *out->part), err);
done:
    return st;
}

void pboost_grow_free(grow_work *w)
{
    free(w->row);
    free(w->spare);
    free(w->slope);
    free(w->leaf);
    free(w->leaves);
    free(w->hist);
    free(w->part);
    *w = (grow_work){0};
}

/* ---- Rows of two leaves from those of one ---------------------------------------------------- */

typedef struct {
    uint32_t *row, *spare;
    size_t first, n, n_chunks;
    const uint8_t *bin; /* of the column: bin[row * BIN_COLUMNS] */
    bool left[MAX_BINS];
    size_t n_left[MAX_CHUNKS];
} part_task;

static size_t chunk_border(const part_task *t, size_t chunk)
{
    return t->first + t->n * chunk / t->n_chunks;
}

/* Left rows to the front of the chunk in spare, right rows to its end, last first. */
static void part_chunk(void *context, size_t chunk, int worker)
{
    (void)worker;
    part_task *t = context;
    size_t at = chunk_border(t, chunk), end = chunk_border(t, chunk + 1), left = at, right = end;
    for (size_t i = at; i < end; i++) {
        uint32_t row = t->row[i];
        bool goes_left = t->left[t->bin[(size_t)row * BIN_COLUMNS]];
        t->spare[left] = row;
        t->spare[right - 1] = row;
        left += goes_left;
        right -= !goes_left;
    }
    t->n_left[chunk] = left - at;
}

static void place_chunk(void *context, size_t chunk, int worker)
{
    (void)worker;
    const part_task *t = context;
    size_t at = chunk_border(t, chunk), end = chunk_border(t, chunk + 1), left = t->first;
    for (size_t c = 0; c < t->n_chunks; c++)
        left += t->n_left[c];
    size_t right = left;
    for (size_t c = 0; c < chunk; c++)
        right += chunk_border(t, c + 1) - chunk_border(t, c) - t->n_left[c];
    for (size_t c = chunk; c < t->n_chunks; c++)
        left -= t->n_left[c];
    memcpy(t->row + left, t->spare + at, t->n_left[chunk] * sizeof *t->row);
    for (size_t i = end; i-- > at + t->n_left[chunk];)
        t->row[right++] = t->spare[i];
}

/* Puts the rows of places first .. end-1 that go left before the others; returns the border. */
static size_t part_rows(part_task *t, size_t first, size_t end, int threads)
{
    t->first = first;
    t->n = end - first;
    t->n_chunks = larger(1, smaller(t->n / CHUNK_ROWS, MAX_CHUNKS));
    threads = t->n_chunks == 1 ? 1 : pboost_threads_for(threads, PART_NS * (double)t->n);
    pboost_parallel(t->n_chunks, threads, part_chunk, t);
    pboost_parallel(t->n_chunks, threads, place_chunk, t);
    for (size_t c = 0; c < t->n_chunks; c++)
        first += t->n_left[c];
    return first;
}

/* ---- One split ------------------------------------------------------------------------------- */

typedef struct {
    growing_forest *out;
    grow_work *work;
    const binned *data;
    const split_rule *rule;
    const uint8_t *order;
    const unsigned char *use;
    int threads;
} grow_task;

static int compare_codes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Writes the split into its node, which gets two leaves. */
static void write_split(pboost_forest *f, uint32_t at, const binned *data, const node_split *s)
{
    const bin_column *c = &data->column[s->column];
    pboost_node *node = &f->node[at];
    node->column = (uint32_t)s->column;
    node->left = (uint32_t)f->n_nodes;
    node->right = node->left + 1;
    f->node[f->n_nodes++] = (pboost_node){.column = PBOOST_LEAF};
    f->node[f->n_nodes++] = (pboost_node){.column = PBOOST_LEAF};
    if (!c->category) {
        node->missing_left = s->missing_left;
        node->value = c->upper[s->last];
        return;
    }
    node->set = (uint32_t)f->n_codes;
    for (size_t b = 1; b < c->n; b++)
        if (pboost_split_left(s, b))
            f->code[f->n_codes++] = c->level[b];
    node->n_set = (uint32_t)(f->n_codes - node->set);
    qsort(f->code + node->set, node->n_set, sizeof *f->code, compare_codes);
}

static void find_split(const grow_task *t, grow_leaf *leaf)
{
    leaf->split = (node_split){0};
    if (leaf->total.n >= 2.0 * t->rule->min_rows)
        leaf->split =
            pboost_best_split(t->data, leaf->hist, leaf->total, t->rule, t->order, t->use);
}

static void fill_histogram(const grow_task *t, const grow_leaf *leaf)
{
    pboost_histogram(leaf->hist, t->work->part, t->data, t->work->slope, t->work->row + leaf->first,
                     leaf->end - leaf->first, t->threads);
}

/* The sums of the smaller leaf are added up; those of the larger one are the parent's less these.
 * The last split of a tree needs neither. */
static void split_leaf(const grow_task *t, grow_leaf *leaf, bool last)
{
    grow_work *w = t->work;
    const binned *data = t->data;
    size_t slot = w->n_leaves++;
    grow_leaf *right = &w->leaves[slot];
    node_split s = leaf->split;
    part_task part = {.row = w->row, .spare = w->spare};

    part.bin =
        data->bin + s.column / BIN_COLUMNS * data->rows * BIN_COLUMNS + s.column % BIN_COLUMNS;
    for (size_t b = 0; b < MAX_BINS; b++)
        part.left[b] = pboost_split_left(&s, b);
    write_split(&t->out->forest, leaf->node, data, &s);
    *right = *leaf;
    right->node = t->out->forest.node[leaf->node].right;
    leaf->node = t->out->forest.node[leaf->node].left;
    right->first = leaf->end = part_rows(&part, leaf->first, leaf->end, t->threads);
    right->other_first = leaf->other_end =
        part_rows(&part, leaf->other_first, leaf->other_end, t->threads);
    right->total.g -= s.left.g;
    right->total.h -= s.left.h;
    right->total.n -= s.left.n;
    leaf->total = s.left;
    if (last)
        return;
    hist_cell *fresh = w->hist + slot * data->n_bins;
    grow_leaf *few = leaf->total.n < right->total.n ? leaf : right;
    grow_leaf *many = few == leaf ? right : leaf;
    few->hist = fresh;
    fill_histogram(t, few);
    for (size_t b = 0; b < data->n_bins; b++) {
        many->hist[b].g -= fresh[b].g;
        many->hist[b].h -= fresh[b].h;
        many->hist[b].n -= fresh[b].n;
    }
    find_split(t, leaf);
    find_split(t, right);
}

/* ---- A tree ---------------------------------------------------------------------------------- */

static void mark_leaf(void *context, size_t l, int worker)
{
    (void)worker;
    const grow_work *w = context;
    const grow_leaf *leaf = &w->leaves[l];
    for (size_t i = leaf->first; i < leaf->end; i++)
        w->leaf[w->row[i]] = (unsigned char)l;
    for (size_t i = leaf->other_first; i < leaf->other_end; i++)
        w->leaf[w->row[i]] = (unsigned char)l;
}

static void open_tree(const grow_task *t, size_t n)
{
    pboost_forest *f = &t->out->forest;
    grow_work *w = t->work;
    grow_leaf *root = &w->leaves[0];

    *root = (grow_leaf){.end = n,
                        .other_first = n,
                        .other_end = w->rows,
                        .node = (uint32_t)f->n_nodes,
                        .hist = w->hist};
    f->root[f->n_trees++] = root->node;
    f->node[f->n_nodes++] = (pboost_node){.column = PBOOST_LEAF};
    w->n_leaves = 1;
    fill_histogram(t, root);
    const bin_column *c = &t->data->column[0];
    for (size_t b = 0; b < c->n; b++) {
        root->total.g += root->hist[b].g;
        root->total.h += root->hist[b].h;
        root->total.n += root->hist[b].n;
    }
    find_split(t, root);
}

void pboost_grow(growing_forest *out, grow_work *work, const binned *data, size_t n, size_t leaves,
                 const split_rule *rule, const uint8_t *order, const unsigned char *use,
                 int threads)
{
    grow_task t = {out, work, data, rule, order, use, threads};
    open_tree(&t, n);
    while (work->n_leaves < leaves) {
        grow_leaf *best = &work->leaves[0];
        for (size_t l = 1; l < work->n_leaves; l++)
            if (work->leaves[l].split.gain > best->split.gain)
                best = &work->leaves[l];
        if (!(best->split.gain > 0.0))
            break;
        split_leaf(&t, best, work->n_leaves + 1 == leaves);
    }
    pboost_parallel(work->n_leaves, pboost_threads_for(threads, PART_NS * (double)n), mark_leaf,
                    work);
}

/* The tree that makes bags from features, for its own files: tree.c grows it level by level,
 * tree_node.c finds how to split a node, tree_cut.c splits it, and tree_exchange.c lets the bags
 * exchange rows. */
#ifndef PBOOST_TREENODE_H
#define PBOOST_TREENODE_H

#include <priorboost/core.h>

#include "base/linalg.h"
#include "base/sizes.h"
#include "kernels/nodes.h"

#define TREE_LARGE_NODE (1 << 15) /* rows from which a node is worth several threads by itself */
#define TREE_SAMPLE 2048          /* rows whose projections show where to cut a larger node */
#define TREE_CHUNK ((size_t)8192) /* rows that a thread takes at once */
#define TREE_CHUNKS 32            /* of one large node, where sums are matrices */
#define TREE_ALL_THREADS (-1)     /* instead of a worker */

typedef struct {
    size_t first, end;
} tree_node;

/* The nodes of a level with what is known of them. */
typedef struct {
    size_t count;
    tree_node *node;
    float *mean; /* by node, stride */
    float *mass; /* by node: sum of weights */
} tree_level;

typedef struct {
    size_t n, rank, stride, min_bag;
    int threads;
    const pboost_cancel *cancel;
    const node_kernels *kernels;
    float *z;                  /* by position, stride */
    float *weight;             /* by position; NULL: 1 */
    uint32_t *row;             /* which sample stands at a position */
    unsigned char *leaf_start; /* by position */
    tree_level now, next;
    size_t *child;        /* by node of this level: its left half in the next one */
    float *share;         /* by node: its mass if it is one of those that count */
    float *zeros;         /* stride */
    double *leaf_info;    /* sum over leaves of w m m', whole blocks on and below the diagonal */
    double *open_info;    /* the same over all nodes of this level */
    pboost_cholesky info; /* I of this level, expected rest included */
    float *inverse;       /* I^-2, stride */
    double *variance;     /* the diagonal of I^-1 */
    double *inverse_work; /* by worker: rank */
    unsigned depth;
    float *value;        /* projection, by position */
    float *near;         /* by position: projections near the cut */
    uint32_t *misplaced; /* by position: rows that change sides.  In the memory of near: the cut is
                          * known before rows change sides */
    size_t sample;       /* rows of the sample of a larger node */
    double *jitter;      /* by sampled row: where in its stretch of the node it is, 0 to 1 */
    double *work;        /* by worker */
    size_t work_size;
    double *partial; /* by chunk of one large node */
} tree;

/* The memory to work on a node, for one worker among others or for one with all threads. */
typedef struct {
    double *sorted; /* by row of the largest node that is sorted, as the next two */
    double *unsorted;
    size_t *order;
    double *sums;                /* for the chunks of a pass */
    float *direction;            /* stride */
    float *image;                /* stride */
    float *scatter;              /* stride squared, where it is formed */
    const pboost_cancel *cancel; /* NULL: this worker does not check it */
    int threads;
} tree_bench;

static inline size_t node_size(tree_node node)
{
    return node.end - node.first;
}

static inline bool is_leaf(const tree *t, tree_node node)
{
    return node_size(node) < 2 * t->min_bag;
}

/* Whether a sample of its rows decides where to cut it. */
static inline bool is_sampled(const tree *t, tree_node node)
{
    return node_size(node) > 2 * t->sample;
}

/* Chunks that the rows of a node are cut into. */
#define TREE_VALUE_NS 0.3 /* what a value of a row takes on one thread, each time it is read */

static inline size_t tree_chunks(size_t size)
{
    return (size + TREE_CHUNK - 1) / TREE_CHUNK;
}

/* `count` rows from position `first` on. */
static inline node_rows tree_rows(const tree *t, size_t first, size_t count)
{
    return (node_rows){.z = t->z + first * t->stride,
                       .weight = t->weight != NULL ? t->weight + first : NULL,
                       .count = count,
                       .stride = t->stride};
}

/* Doubles that a worker needs, and that the chunks of a large node need. */
size_t pboost_tree_work_size(const tree *t);
size_t pboost_tree_partial_size(const tree *t);
tree_bench pboost_tree_bench(const tree *t, int worker);

/* Fills mean and mass of node `index` of a level. */
void pboost_tree_measure(const tree *t, tree_level *level, size_t index, tree_bench b);

/* Fills b.direction and returns the projection of the node's mean. */
pboost_status pboost_tree_direction(float *center, const tree *t, size_t index, tree_bench b,
                                    pboost_error *err);

/* Rows a[i] and b[i], positions, change places. */
void pboost_tree_swap(tree *t, const uint32_t *a, const uint32_t *b, size_t count);

/* tr I^-1 of the bags of this level, with I^-2 in t->inverse; `rest` is added to the information
 * that a row gives of every direction. */
double pboost_tree_error(tree *t, double rest);

/* What that takes on one thread, in nanoseconds. */
double pboost_tree_inverse_ns(const tree *t);

/* Lets the leaves exchange rows; their sizes stay. */
pboost_status pboost_tree_exchange(tree *t, pboost_error *err);

/* Moves the rows of one side of the node before those of the other; `left` is how many those are.
 */
pboost_status pboost_tree_cut(size_t *left, tree *t, tree_node node, float center, tree_bench b,
                              pboost_error *err);

#endif

/* The tree that makes bags from features, as its parts see it: tree.c grows it level by level,
 * treenode.c splits a node. */
#ifndef PBOOST_TREENODE_H
#define PBOOST_TREENODE_H

#include <priorboost/core.h>

#include "linalg.h"

#define TREE_LARGE_NODE (1 << 15) /* rows from which a node is worth several threads by itself */
#define TREE_SAMPLE 2048          /* rows whose projections tell where to cut a larger node */
#define TREE_ALL_THREADS (-1)     /* instead of a worker */

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
    double *inverse;      /* I^-2, padded columns */
    unsigned depth;
    double *value;  /* projection, by position */
    double *sorted; /* by position */
    size_t *order;  /* by position */
    size_t sample;  /* rows that stand for a larger node */
    double *jitter; /* by sampled row: where in its stretch of the node it is, 0 to 1 */
    double *work;   /* by worker */
    size_t work_size;
    double *partial; /* by chunk of one large node */
    pboost_status *status;
    pboost_error *error; /* by worker */
} tree;

static inline size_t node_size(tree_node node)
{
    return node.end - node.first;
}

static inline bool is_leaf(const tree *t, tree_node node)
{
    return node_size(node) < 2 * t->min_bag;
}

/* Chunks that the rows of a node are cut into. */
size_t pboost_tree_chunks(size_t size);
/* Doubles that a worker needs. */
size_t pboost_tree_work_size(const tree *t);

/* Fills the node's mean and mass. */
void pboost_tree_measure(tree *t, size_t index, int worker);

/* Splits a node in two, or gives it its place among the leaves. */
pboost_status pboost_tree_split(tree *t, size_t index, int worker, pboost_error *err);

#endif

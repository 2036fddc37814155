/* The structure of one tree: which rows fall into which leaf. */
#ifndef PBOOST_GROW_H
#define PBOOST_GROW_H

#include "trees/split.h"

/* Rows of a leaf: those that it is grown from, and others that only fall into it. */
typedef struct {
    size_t first, end, other_first, other_end; /* places in row */
    uint32_t node;                             /* of the forest */
    hist_cell total;
    hist_cell *hist;
    node_split split; /* its best */
} grow_leaf;

/* Memory that serves one tree after another. */
typedef struct {
    size_t rows, n_leaves;
    uint32_t *row, *spare; /* rows, leaf after leaf, each in ascending order */
    row_slope *slope;      /* by row */
    unsigned char *leaf;   /* by row: the number of its leaf */
    hist_cell *hist, *part;
    grow_leaf *leaves;
} grow_work;

/* A forest that grows: its arrays have room for more. */
typedef struct {
    pboost_forest forest;
    size_t root_room, node_room, code_room;
} growing_forest;

/* Room for one more tree; then pboost_grow cannot fail. */
pboost_status pboost_forest_reserve(growing_forest *f, size_t leaves, pboost_error *err);

pboost_status pboost_grow_init(grow_work *out, const binned *data, size_t leaves,
                               pboost_error *err);
void pboost_grow_free(grow_work *work);

/* Adds a tree of at most `leaves` leaves, whose values are 0.  It is grown from the slopes of rows
 * work->row[0 .. n); those after them fall into it.  Sets n_leaves, leaves and leaf of the work.
 * The leaf whose split gains most is split next. */
void pboost_grow(growing_forest *out, grow_work *work, const binned *data, size_t n, size_t leaves,
                 const split_rule *rule, const uint8_t *order, const unsigned char *use,
                 int threads);

#endif

/* The best split of a node. */
#ifndef PBOOST_SPLIT_H
#define PBOOST_SPLIT_H

#include "trees/histogram.h"

typedef struct {
    double l2;
    double min_rows;
} split_rule;

typedef struct {
    double gain; /* of the objective; 0: there is no split */
    size_t column;
    hist_cell left;              /* the sums of what goes left */
    bool missing_left;           /* that bin 0 is there */
    uint64_t set[MAX_BINS / 64]; /* the bins that go left */
    size_t last;                 /* place of the last of them in the order of the column */
} node_split;

static inline bool pboost_split_left(const node_split *s, size_t bin)
{
    return s->set[bin / 64] >> (bin % 64) & 1;
}

/* Gains are of sum g w - h w^2 / 2 - l2 w^2 / 2 over the two leaves.  A split puts the first bins
 * of an order into one leaf.  order: by bin of all columns, the bins of a category from place 1 on;
 * numbers have their own order.  Only columns whose use is set are split. */
node_split pboost_best_split(const binned *data, const hist_cell *hist, hist_cell total,
                             const split_rule *rule, const uint8_t *order,
                             const unsigned char *use);

#endif

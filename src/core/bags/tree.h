/* Bags that differ as much as possible from each other in every direction of the features. */
#ifndef PBOOST_TREE_H
#define PBOOST_TREE_H

#include <priorboost/core.h>

#include "bags/whiten.h"

/* Splits whitened samples into bags of min_bag to 2 min_bag - 1 rows, floor(n / min_bag) of them.
 * weight (by sample; NULL: 1) is the information of a sample.  n >= min_bag >= 1, rank >= 1.
 * The tree takes the coordinates over and frees them.  The cancel (NULL: none) is checked several
 * times on every level. */
pboost_status pboost_tree_bags(pboost_bags *out, pboost_white *white, const double *weight,
                               size_t min_bag, int threads, const pboost_cancel *cancel,
                               pboost_error *err);

#endif

/* Bags of a part of the rows, as a machine is given them. */
#ifndef PBOOST_CLUSTER_PART_H
#define PBOOST_CLUSTER_PART_H

#include <priorboost/cluster.h>

/* Refuses bags that are not ranges of the part's rows, and rows of other than `cols` columns. */
pboost_status pboost_part_bags_check(const pboost_part_bags *bags, size_t cols, pboost_error *err);

#endif

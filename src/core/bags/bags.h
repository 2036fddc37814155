/* Bags as the trainer makes and checks them, with memory that outlives a round. */
#ifndef PBOOST_BAGS_H
#define PBOOST_BAGS_H

#include <priorboost/trainer.h>

#include "base/workspace.h"

/* Bags of a workspace are released to it. */
pboost_status pboost_bags_optimal_in(pboost_workspace *work, pboost_bags *out, const double *score,
                                     size_t n, size_t min_bag, int threads, pboost_error *err);
pboost_status pboost_bags_random_in(pboost_workspace *work, pboost_bags *out, size_t n,
                                    size_t min_bag, uint64_t seed, pboost_error *err);
void pboost_bags_release(pboost_workspace *work, pboost_bags *bags);

/* Replaces each row number r by row[r]: from positions in a slice to rows of the full table. */
void pboost_bags_renumber(pboost_bags *bags, const size_t *row);

/* The part of pboost_bags_check that needs no table: bags that are malformed or too small. */
pboost_status pboost_bags_check_starts(const pboost_bags *bags, size_t min_bag, pboost_error *err);

/* seen is of table_rows / 8 + 1 bytes, all zeros, before and after. */
pboost_status pboost_bags_check_in(unsigned char *seen, const pboost_bags *bags, size_t table_rows,
                                   size_t min_bag, pboost_error *err);

#endif

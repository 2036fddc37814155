/* Slices: how many rows each round uses. */
#ifndef PBOOST_SCHEDULE_H
#define PBOOST_SCHEDULE_H

#include <priorboost/core.h>

/* Fails if the rows do not make that many slices of at least least_rows each. */
pboost_status pboost_schedule_check(pboost_schedule schedule, size_t rows, size_t rounds,
                                    size_t least_rows, pboost_error *err);

/* start[t] .. start[t+1] are the places of round t in the shuffled table, t = 0 .. rounds-1.  Every
 * slice holds at least least_rows, or the error says the largest number of rounds possible. */
pboost_status pboost_schedule_slices(size_t *start, pboost_schedule schedule, size_t rows,
                                     size_t rounds, size_t least_rows, pboost_error *err);

/* The same for a table in parts, whose rows share no bag: group[t * parts + p] and the number after
 * it are the places of the rows of part p in round t.  count: the rows of each part, 0 or at least
 * min_bag.  A part with too few rows for min_bag of them in every round has some in the last rounds
 * only; the largest must have enough. */
pboost_status pboost_schedule_groups(size_t *group, pboost_schedule schedule, const size_t *count,
                                     size_t parts, size_t rounds, size_t min_bag,
                                     pboost_error *err);

/* Puts the rows of each group in its places; within a part they keep their order. */
pboost_status pboost_schedule_arrange(size_t *order, const size_t *group, const uint32_t *part,
                                      size_t parts, size_t rounds, pboost_error *err);

#endif

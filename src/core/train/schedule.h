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

#endif

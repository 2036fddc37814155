/* Stable order of doubles. */
#ifndef PBOOST_SORT_H
#define PBOOST_SORT_H

#include <stddef.h>
#include <stdint.h>

#include <priorboost/core.h>

#include "base/workspace.h"

/* row[0 .. n) = positions of value in the order (value, position); sorted[i] = value[row[i]].
 * -0.0 and 0.0 are equal.  A NaN or an infinity is refused. */
pboost_status pboost_sort_doubles(size_t *row, double *sorted, const double *value, size_t n,
                                  int threads, pboost_workspace *work, pboost_error *err);

/* row[0 .. n) = positions of key in the order (key, position). */
pboost_status pboost_sort_keys(size_t *row, const uint64_t *key, size_t n, int threads,
                               pboost_workspace *work, pboost_error *err);

#endif

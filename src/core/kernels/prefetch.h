/* Rows that are picked by number can be anywhere in a table: each is prefetched some time before it
 * is needed.  Into the second cache: the first one has room for too few requests at a time, and
 * those beyond it wait. */
#ifndef PBOOST_PREFETCH_H
#define PBOOST_PREFETCH_H

#include <stddef.h>

#define ROWS_AHEAD 24

static inline void pboost_prefetch_row(const double *row, size_t cols)
{
    for (size_t j = 0; j < cols; j += 64 / sizeof *row)
        __builtin_prefetch(row + j, 0, 2);
    __builtin_prefetch(row + cols - 1, 0, 2); /* it may begin in the middle of a line */
}

#endif

/* How passes cut rows: into panels that fit the first cache, and into chunks for the threads.  Both
 * depend on the problem alone (see base/parallel.h). */
#ifndef PBOOST_CHUNKS_H
#define PBOOST_CHUNKS_H

#include <stddef.h>

/* Rows of a panel of `padded` columns, at least `least`. */
size_t pboost_panel_rows(size_t padded, size_t least);

/* The number of chunks, at least 1, for this many rows of `padded` columns; every chunk has sums of
 * `sums_size` values. */
size_t pboost_chunk_count(size_t rows, size_t padded, size_t sums_size);

/* What a row of `padded` columns takes on one thread, in nanoseconds: a product with a vector and a
 * mean; and what a pair of columns adds where there is a Gram matrix. */
static inline double pboost_row_ns(size_t padded)
{
    return 1.5 + 0.15 * (double)padded;
}
#define GRAM_NS 0.015

#endif

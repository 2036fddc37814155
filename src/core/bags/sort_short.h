/* Sorting what fits in the cache: lists of SHORT values at most.  See sort.c. */
#ifndef PBOOST_SORTSHORT_H
#define PBOOST_SORTSHORT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/sort.h"

typedef struct {
    double value;
    size_t row;
} record;

/* Lists up to this long are sorted in the cache. */
#define SHORT 8192

/* Lists up to this long are sorted by insertion. */
#define TINY 24

/* The most distributions before merging. */
#define MAX_DEPTH 8

typedef sort_grid cells;

/* False where the range is empty, or so wide or narrow that its size overflows. */
static inline bool cells_init(cells *out, double low, double high, size_t n_cells)
{
    out->low = low;
    out->scale = (double)n_cells / (high - low);
    out->last = (double)(n_cells - 1);
    return high - low < (double)INFINITY && out->scale < (double)INFINITY;
}

static inline uint32_t cell_of(const cells *c, double value)
{
    double cell = (value - c->low) * c->scale;
    cell = cell > 0 ? cell : 0;
    return (uint32_t)(cell < c->last ? cell : c->last);
}

/* What sorting a short list needs besides room for as many records: a word per cell and per record.
 */
typedef struct {
    uint32_t *count, *cell;
} short_work;

/* Cells by record: with twice as many fewer records meet in one, and are out of order there. */
#define SPARSE 2
#define SHORT_WORDS (SPARSE + 1)

/* Bytes for a short list, its spare and its words, by record. */
#define SHORT_BYTES (2 * sizeof(record) + SHORT_WORDS * sizeof(uint32_t))

/* The kernel of the level in use. */
sort_cells_kernel *pboost_sort_cells(void);

/* Sorts a with the help of b, which holds as many; of any length. */
void pboost_short_merge(record *a, record *b, size_t n);

/* Sorts n values and their rows, with the help of a and b, into row and sorted; c is where the
 * values may lie.  Without rows values are numbered.  The output may be the input. */
void pboost_short_sort(size_t *row, double *sorted, const double *value, const size_t *value_row,
                       size_t n, const cells *c, record *a, record *b, const short_work *work);
/* The same for values of which nothing is known. */
void pboost_short_sort_any(size_t *row, double *sorted, const double *value,
                           const size_t *value_row, size_t n, record *a, record *b,
                           const short_work *work);

void pboost_short_read(record *a, const double *value, const size_t *row, size_t n);
void pboost_short_write(size_t *restrict row, double *restrict sorted, const record *a, size_t n);

#endif

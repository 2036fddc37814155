/* The inner loops of the sort that take several values at once; see kernels/sort.c. */
#ifndef PBOOST_KERNELS_SORT_H
#define PBOOST_KERNELS_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where values of a range fall: cell = (value - low) * scale, from 0 to last. */
typedef struct {
    double low, scale, last;
} sort_grid;

/* cell[i] of value[i]; returns 0 if all values are finite, otherwise not. */
typedef double sort_cells_kernel(uint32_t *cell, const double *value, size_t n, const sort_grid *c);

/* The range of some values; not_finite is 0 if all of them are finite. */
typedef struct {
    double low, high, not_finite;
} sort_range;

typedef sort_range sort_range_kernel(const double *value, size_t n);

/* Turns the number of records by cell into where each cell begins; the most records in one. */
typedef uint32_t sort_starts_kernel(uint32_t *count, size_t n);

/* As many values, or rows, as a line of the cache has room for. */
#define SORT_LINE 8

/* What goes to one bucket next, until it fills a line of the output. */
typedef struct {
    double value[SORT_LINE];
    size_t row[SORT_LINE];
} sort_lines;

/* Values number from .. to-1, to be moved to their buckets. */
typedef struct {
    const double *value;
    const uint16_t *bucket; /* by value */
    size_t from, to;
    double *sorted; /* where values go, and their numbers */
    size_t *row;
    size_t *next;      /* by bucket: the place of its next value, before and after */
    sort_lines *lines; /* by bucket */
} sort_scatter;

/* Whether the two outputs are aligned so that the kernel can write whole lines of both. */
static inline bool sort_can_scatter(const double *sorted, const size_t *row)
{
    return sizeof *row == sizeof *sorted && (uintptr_t)sorted % 64 == (uintptr_t)row % 64 &&
           (uintptr_t)sorted % sizeof *sorted == 0;
}

typedef void sort_scatter_kernel(const sort_scatter *s, size_t n_buckets);

sort_cells_kernel pboost_sort_cells_plain, pboost_sort_cells_avx2, pboost_sort_cells_avx512;
sort_range_kernel pboost_sort_range_plain, pboost_sort_range_avx2, pboost_sort_range_avx512;
sort_starts_kernel pboost_sort_starts_plain, pboost_sort_starts_avx2, pboost_sort_starts_avx512;
sort_scatter_kernel pboost_sort_scatter_plain, pboost_sort_scatter_avx2, pboost_sort_scatter_avx512;

#endif

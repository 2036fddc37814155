/* The inner loops of the sort that take several values at once; see kernels/sort.c. */
#ifndef PBOOST_KERNELS_SORT_H
#define PBOOST_KERNELS_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Where values of a range fall: cell = (value - low) * scale, from 0 to last. */
typedef struct {
    double low, scale, last;
} sort_grid;

/* cell[i] of value[i]. */
typedef void sort_cells_kernel(uint32_t *cell, const double *value, size_t n, const sort_grid *c);

/* The range of some values; not_finite is 0 if all of them are finite. */
typedef struct {
    double low, high, not_finite;
} sort_range;

typedef sort_range sort_range_kernel(const double *value, size_t n);

sort_cells_kernel pboost_sort_cells_plain, pboost_sort_cells_avx2, pboost_sort_cells_avx512;
sort_range_kernel pboost_sort_range_plain, pboost_sort_range_avx2, pboost_sort_range_avx512;

#endif

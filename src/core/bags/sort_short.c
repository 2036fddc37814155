/* Sorting what fits in the cache.  See sort.c for how. */
#include "bags/sort_short.h"

#include <string.h>

#include "kernels/simd.h"

static sort_cells_kernel *const CELLS[SIMD_LEVELS] = {
    pboost_sort_cells_plain,
#ifdef PBOOST_SIMD_X86
    pboost_sort_cells_avx2,
    pboost_sort_cells_avx512,
#endif
};

sort_cells_kernel *pboost_sort_cells(void)
{
    return CELLS[pboost_simd_level()];
}

static sort_starts_kernel *const STARTS[SIMD_LEVELS] = {
    pboost_sort_starts_plain,
#ifdef PBOOST_SIMD_X86
    pboost_sort_starts_avx2,
    pboost_sort_starts_avx512,
#endif
};

void pboost_short_write(size_t *restrict row, double *restrict sorted, const record *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        row[i] = a[i].row;
        sorted[i] = a[i].value;
    }
}

static void insertion_sort(record *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        record r = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1].value > r.value; j--)
            a[j] = a[j - 1];
        a[j] = r;
    }
}

void pboost_short_merge(record *a, record *b, size_t n)
{
    for (size_t i = 0; i < n; i += TINY)
        insertion_sort(a + i, n - i < TINY ? n - i : TINY);
    record *from = a, *to = b;
    for (size_t width = TINY; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = n - low < width ? n : low + width;
            size_t high = n - low < 2 * width ? n : low + 2 * width;
            size_t i = low, j = middle;
            for (size_t o = low; o < high; o++)
                to[o] = j == high || (i < middle && from[i].value <= from[j].value) ? from[i++]
                                                                                    : from[j++];
        }
        record *other = from;
        from = to;
        to = other;
    }
    if (from != a)
        memcpy(a, from, n * sizeof *a);
}

/* Turns the number of records by cell into where each cell begins; the most records in one. */
static uint32_t start_cells(const short_work *work, const cells *c)
{
    return STARTS[pboost_simd_level()](work->count, (size_t)c->last + 1);
}

/* Moves n <= SHORT records from a to b, ordered by cell; the most records in one cell. */
static uint32_t spread(record *restrict b, const record *restrict a, size_t n, const cells *c,
                       const short_work *work)
{
    memset(work->count, 0, ((size_t)c->last + 1) * sizeof *work->count);
    for (size_t i = 0; i < n; i++)
        work->count[work->cell[i] = cell_of(c, a[i].value)]++;
    uint32_t most = start_cells(work, c);
    for (size_t i = 0; i < n; i++)
        b[work->count[work->cell[i]]++] = a[i];
    return most;
}

/* The same from values and their rows; without rows they are numbered. */
static uint32_t spread_values(record *restrict b, const double *restrict value,
                              const size_t *restrict row, size_t n, const cells *c,
                              const short_work *work)
{
    memset(work->count, 0, ((size_t)c->last + 1) * sizeof *work->count);
    (void)pboost_sort_cells()(work->cell, value, n, c);
    for (size_t i = 0; i < n; i++)
        work->count[work->cell[i]]++;
    uint32_t most = start_cells(work, c);
    for (size_t i = 0; i < n; i++)
        b[work->count[work->cell[i]]++] = (record){value[i], row != NULL ? row[i] : i};
    return most;
}

static void short_sort(record *a, record *b, size_t n, const short_work *work, int depth);

/* Sorts the cells that hold many of the records of a, which is ordered by cell, so that insertion
 * can do the rest.  A cell of 2 TINY and more holds some record that is looked at and the one TINY
 * after it.  The ends of cells are all found first: sorting one needs their place. */
static void sort_full_cells(record *a, record *b, size_t n, const cells *c, const short_work *work,
                            int depth)
{
    size_t from[SHORT / TINY + 1], to[SHORT / TINY + 1], n_full = 0;
    for (size_t at = 0; at + TINY < n;) {
        uint32_t cell = cell_of(c, a[at].value);
        if (cell_of(c, a[at + TINY].value) != cell) {
            at += TINY;
            continue;
        }
        from[n_full] = cell > 0 ? work->count[cell - 1] : 0;
        at = to[n_full++] = work->count[cell];
    }
    for (size_t i = 0; i < n_full; i++)
        short_sort(a + from[i], b + from[i], to[i] - from[i], work, depth + 1);
}

/* Sorts a, n <= SHORT, with the help of b. */
static void short_sort(record *a, record *b, size_t n, const short_work *work, int depth)
{
    cells c;
    double low = a[0].value, high = low;

    if (n <= TINY) {
        insertion_sort(a, n);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        low = a[i].value < low ? a[i].value : low;
        high = a[i].value > high ? a[i].value : high;
    }
    if (low == high)
        return;
    if (depth >= MAX_DEPTH || !cells_init(&c, low, high, n)) {
        pboost_short_merge(a, b, n);
        return;
    }
    uint32_t most = spread(b, a, n, &c, work);
    memcpy(a, b, n * sizeof *a);
    if (most > TINY)
        sort_full_cells(a, b, n, &c, work, depth);
    insertion_sort(a, n);
}

/* As pboost_short_write, sorting by insertion. */
static void insert_out(size_t *restrict row, double *restrict sorted, const record *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value = a[i].value;
        size_t j = i;
        for (; j > 0 && sorted[j - 1] > value; j--) {
            sorted[j] = sorted[j - 1];
            row[j] = row[j - 1];
        }
        sorted[j] = value;
        row[j] = a[i].row;
    }
}

void pboost_short_sort(size_t *row, double *sorted, const double *value, const size_t *value_row,
                       size_t n, const cells *c, record *a, record *b, const short_work *work)
{
    uint32_t most = spread_values(a, value, value_row, n, c, work);
    if (most > TINY)
        sort_full_cells(a, b, n, c, work, 0);
    insert_out(row, sorted, a, n);
}

void pboost_short_read(record *a, const double *value, const size_t *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = (record){value[i], row != NULL ? row[i] : i};
}

void pboost_short_sort_any(size_t *row, double *sorted, const double *value,
                           const size_t *value_row, size_t n, record *a, record *b,
                           const short_work *work)
{
    pboost_short_read(a, value, value_row, n);
    short_sort(a, b, n, work, 0);
    pboost_short_write(row, sorted, a, n);
}

/* Columns as small numbers: what trees are grown on.
 *
 * A cell becomes the number of a bin, below 256.  Bin 0 is for missing cells; those of numbers are
 * between quantiles, those of a category are its most frequent levels, and the other levels count
 * as missing.  So a column of any number of levels takes one byte a row. */
#ifndef PBOOST_BINS_H
#define PBOOST_BINS_H

#include <priorboost/curves.h>

#define BIN_COLUMNS 8 /* columns of a block: its bins of one row are 8 bytes */
#define MAX_BINS 256

typedef struct {
    bool category;
    size_t n;        /* bins, with that of missing cells */
    size_t first;    /* its place among the bins of all columns */
    double *upper;   /* numbers: cells of bin b are <= upper[b], b >= 1; of the last: DBL_MAX */
    uint32_t *level; /* category: that of bin b >= 1 */
} bin_column;

/* Row i is row row[i] of the columns. */
typedef struct {
    size_t rows, n_columns, n_blocks, n_bins;
    bin_column *column;
    uint8_t *bin; /* of row i, block k, column 8 k + j: bin[(k * rows + i) * BIN_COLUMNS + j] */
} binned;

static inline uint8_t pboost_bin_at(const binned *b, size_t column, size_t i)
{
    return b->bin[(column / BIN_COLUMNS * b->rows + i) * BIN_COLUMNS + column % BIN_COLUMNS];
}

pboost_status pboost_bin(binned *out, const pboost_columns *columns, const size_t *row, size_t n,
                         int threads, pboost_error *err);
void pboost_binned_free(binned *b);

#endif

/* Sums of gradient, curvature and rows by bin, for the rows of a node. */
#ifndef PBOOST_HISTOGRAM_H
#define PBOOST_HISTOGRAM_H

#include "trees/bins.h"

typedef struct {
    double g, h, n;
} hist_cell;

/* Gradient (downhill) and curvature of a row. */
typedef struct {
    float g, h;
} row_slope;

/* The number of chunks that the sums over this many rows are cut into. */
size_t pboost_hist_chunks(size_t rows);

/* hist (data->n_bins cells) = the sums over rows row[0 .. n).  part has room for
 * pboost_hist_chunks(n) such histograms. */
void pboost_histogram(hist_cell *hist, hist_cell *part, const binned *data, const row_slope *slope,
                      const uint32_t *row, size_t n, int threads);

#endif

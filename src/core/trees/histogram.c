/* See histogram.h.
 *
 * Rows are cut into chunks by their number alone, and the chunks' sums are added in order: the same
 * bits for any number of threads.  Inside a chunk sums are single precision, of so few rows that
 * nothing that matters for a split is lost; counts are exact. */
#include "trees/histogram.h"

#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"

#define VALUE_NS 1.0 /* what a value takes on one thread */

#define STRETCH ((size_t)1 << 14) /* rows whose sums are in single precision */
#define CHUNK_ROWS ((size_t)1 << 15)
#define MAX_CHUNKS ((size_t)16)

typedef float lanes __attribute__((vector_size(16))); /* g, h, rows, nothing */

typedef struct {
    hist_cell *part;
    const binned *data;
    const row_slope *slope;
    const uint32_t *row;
    size_t n, n_chunks;
} hist_task;

size_t pboost_hist_chunks(size_t rows)
{
    return larger(1, smaller(rows / CHUNK_ROWS, MAX_CHUNKS));
}

/* Adds rows to the sums of `width` columns, MAX_BINS cells each. */
static inline __attribute__((always_inline)) void add_rows(lanes *sum, const uint8_t *bin,
                                                           const row_slope *slope,
                                                           const uint32_t *row, size_t n,
                                                           const size_t width)
{
    for (size_t i = 0; i < n; i++) {
        size_t r = row[i];
        uint64_t bins;
        memcpy(&bins, bin + r * BIN_COLUMNS, sizeof bins);
        lanes add = {slope[r].g, slope[r].h, 1.0f, 0.0f};
        for (size_t j = 0; j < width; j++)
            sum[j * MAX_BINS + (bins >> (8 * j) & 255)] += add;
    }
}

static void add_rows_by_width(lanes *sum, const uint8_t *bin, const row_slope *slope,
                              const uint32_t *row, size_t n, size_t width)
{
    switch (width) { /* the loop over columns is unrolled in each */
    case 1:
        add_rows(sum, bin, slope, row, n, 1);
        break;
    case 2:
        add_rows(sum, bin, slope, row, n, 2);
        break;
    case 3:
        add_rows(sum, bin, slope, row, n, 3);
        break;
    case 4:
        add_rows(sum, bin, slope, row, n, 4);
        break;
    case 5:
        add_rows(sum, bin, slope, row, n, 5);
        break;
    case 6:
        add_rows(sum, bin, slope, row, n, 6);
        break;
    case 7:
        add_rows(sum, bin, slope, row, n, 7);
        break;
    default:
        add_rows(sum, bin, slope, row, n, 8);
        break;
    }
}

/* Job: block of columns within a chunk of rows. */
static void add_block(void *context, size_t job, int worker)
{
    (void)worker;
    const hist_task *t = context;
    const binned *data = t->data;
    size_t chunk = job / data->n_blocks, block = job % data->n_blocks;
    size_t first = block * BIN_COLUMNS, width = smaller(BIN_COLUMNS, data->n_columns - first);
    size_t at = t->n * chunk / t->n_chunks, end = t->n * (chunk + 1) / t->n_chunks;
    hist_cell *out = t->part + chunk * data->n_bins;
    lanes sum[BIN_COLUMNS * MAX_BINS];

    for (size_t j = first; j < first + width; j++)
        memset(out + data->column[j].first, 0, data->column[j].n * sizeof *out);
    for (; at < end; at += STRETCH) {
        for (size_t j = 0; j < width; j++)
            memset(sum + j * MAX_BINS, 0, data->column[first + j].n * sizeof *sum);
        add_rows_by_width(sum, data->bin + block * data->rows * BIN_COLUMNS, t->slope, t->row + at,
                          smaller(STRETCH, end - at), width);
        for (size_t j = 0; j < width; j++) {
            hist_cell *cell = out + data->column[first + j].first;
            for (size_t b = 0; b < data->column[first + j].n; b++) {
                cell[b].g += (double)sum[j * MAX_BINS + b][0];
                cell[b].h += (double)sum[j * MAX_BINS + b][1];
                cell[b].n += (double)sum[j * MAX_BINS + b][2];
            }
        }
    }
}

void pboost_histogram(hist_cell *hist, hist_cell *part, const binned *data, const row_slope *slope,
                      const uint32_t *row, size_t n, int threads)
{
    size_t n_chunks = pboost_hist_chunks(n);
    hist_task task = {n_chunks == 1 ? hist : part, data, slope, row, n, n_chunks};
    threads = pboost_threads_for(threads, VALUE_NS * (double)(n * data->n_columns));
    pboost_parallel(n_chunks * data->n_blocks, n_chunks == 1 ? 1 : threads, add_block, &task);
    if (n_chunks == 1)
        return;
    memcpy(hist, part, data->n_bins * sizeof *hist);
    for (size_t c = 1; c < n_chunks; c++)
        for (size_t b = 0; b < data->n_bins; b++) {
            const hist_cell *cell = part + c * data->n_bins + b;
            hist[b].g += cell->g;
            hist[b].h += cell->h;
            hist[b].n += cell->n;
        }
}

/* See bins.h. */
#include "trees/bins.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "large.h"
#include "try.h"

#define VALUE_NS 20.0 /* what a value takes on one thread */

#define SAMPLE ((size_t)200000) /* rows that quantiles are found from */
#define CHUNK_ROWS ((size_t)1 << 15)

/* ---- Numbers --------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A number between two others that is below b; cells that are equal to a are on its left. */
static double between(double a, double b)
{
    double middle = a + 0.5 * (b - a);
    return middle < b ? middle : a;
}

/* Cuts sorted numbers into at most MAX_BINS - 1 bins of about as many rows; equal numbers are in
 * one bin.  A bin is full when it has the mean size of the bins that are left. */
static void cut_numbers(bin_column *out, const double *sorted, size_t n)
{
    size_t most = MAX_BINS - 1, in_bin = 0, left = n, bins = 0;
    for (size_t i = 0; i < n; i++) {
        in_bin++;
        bool last = i + 1 == n, new_value = !last && sorted[i + 1] > sorted[i];
        if (new_value && bins + 1 < most && in_bin * (most - bins) >= left) {
            out->upper[++bins] = between(sorted[i], sorted[i + 1]);
            left -= in_bin;
            in_bin = 0;
        }
    }
    out->upper[++bins] = DBL_MAX;
    out->n = bins + 1;
}

/* Few different numbers get a bin each. */
static bool each_its_bin(bin_column *out, const double *sorted, size_t n)
{
    size_t bins = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (sorted[i + 1] > sorted[i]) {
            if (++bins + 1 >= MAX_BINS - 1)
                return false;
            out->upper[bins] = between(sorted[i], sorted[i + 1]);
        }
    out->upper[++bins] = DBL_MAX;
    out->n = bins + 1;
    return true;
}

static pboost_status learn_numbers(bin_column *out, const pboost_column *column, const size_t *row,
                                   size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t found = 0, step = larger(1, (n + SAMPLE - 1) / SAMPLE);
    double *value = NULL;

    NEED(value = pboost_alloc((n + step - 1) / step, sizeof *value), err);
    NEED(out->upper = calloc(MAX_BINS, sizeof *out->upper), err);
    for (size_t i = 0; i < n; i += step) {
        double cell = column->number[(ptrdiff_t)row[i] * column->stride];
        if (isfinite(cell))
            value[found++] = cell;
    }
    qsort(value, found, sizeof *value, compare_doubles);
    if (!each_its_bin(out, value, found))
        cut_numbers(out, value, found);
done:
    free(value);
    return st;
}

static uint8_t bin_of_number(const bin_column *c, double cell)
{
    size_t low = 1, count = c->n - 1;
    if (!isfinite(cell))
        return 0;
    while (count > 1) { /* the first bin whose upper end is not below the cell */
        size_t half = count / 2;
        low = c->upper[low + half - 1] < cell ? low + half : low;
        count -= half;
    }
    return (uint8_t)low;
}

/* ---- Categories ------------------------------------------------------------------------------ */

typedef struct {
    uint32_t level;
    size_t rows;
} level_count;

static int more_rows_first(const void *a, const void *b)
{
    const level_count *x = a, *y = b;
    if (x->rows != y->rows)
        return x->rows < y->rows ? 1 : -1;
    return (x->level > y->level) - (x->level < y->level);
}

/* bin_of_level, by level of the column, gets the bins. */
static pboost_status learn_levels(bin_column *out, uint8_t *bin_of_level,
                                  const pboost_column *column, const size_t *row, size_t n,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    level_count *count = NULL;
    size_t seen = 0;

    NEED(count = calloc(larger(1, column->levels), sizeof *count), err);
    NEED(out->level = calloc(MAX_BINS, sizeof *out->level), err);
    for (size_t l = 0; l < column->levels; l++)
        count[l].level = (uint32_t)l;
    for (size_t i = 0; i < n; i++)
        if (column->code[row[i]] < column->levels)
            count[column->code[row[i]]].rows++;
    qsort(count, column->levels, sizeof *count, more_rows_first);
    while (seen < smaller(column->levels, MAX_BINS - 1) && count[seen].rows > 0)
        seen++;
    out->category = true;
    out->n = seen + 1;
    for (size_t b = 1; b <= seen; b++) {
        out->level[b] = count[b - 1].level;
        bin_of_level[count[b - 1].level] = (uint8_t)b;
    }
done:
    free(count);
    return st;
}

/* ---- A block of columns ---------------------------------------------------------------------- */

typedef struct {
    binned *out;
    const pboost_columns *columns;
    const size_t *row;
} bin_task;

static pboost_status bin_column_cells(const bin_task *t, size_t j, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    binned *out = t->out;
    bin_column *c = &out->column[j];
    const pboost_column *column = &t->columns->column[j];
    uint8_t *cell = out->bin + (j / BIN_COLUMNS * out->rows * BIN_COLUMNS + j % BIN_COLUMNS);
    uint8_t *bin_of_level = NULL;

    if (column->code == NULL) {
        TRY(learn_numbers(c, column, t->row, out->rows, err));
        for (size_t i = 0; i < out->rows; i++)
            cell[i * BIN_COLUMNS] =
                bin_of_number(c, column->number[(ptrdiff_t)t->row[i] * column->stride]);
        goto done;
    }
    NEED(bin_of_level = calloc(larger(1, column->levels), 1), err);
    TRY(learn_levels(c, bin_of_level, column, t->row, out->rows, err));
    for (size_t i = 0; i < out->rows; i++) {
        uint32_t code = column->code[t->row[i]];
        cell[i * BIN_COLUMNS] = code < column->levels ? bin_of_level[code] : 0;
    }
done:
    free(bin_of_level);
    return st;
}

static pboost_status bin_block(void *context, size_t block, int worker, pboost_error *err)
{
    (void)worker;
    pboost_status st = PBOOST_OK;
    const bin_task *t = context;
    size_t end = smaller((block + 1) * BIN_COLUMNS, t->out->n_columns);
    for (size_t j = block * BIN_COLUMNS; j < end; j++)
        TRY(bin_column_cells(t, j, err));
done:
    return st;
}

pboost_status pboost_bin(binned *out, const pboost_columns *columns, const size_t *row, size_t n,
                         int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bin_task task = {out, columns, row};

    *out = (binned){.rows = n, .n_columns = columns->n};
    out->n_blocks = (columns->n + BIN_COLUMNS - 1) / BIN_COLUMNS;
    NEED(out->column = calloc(larger(1, columns->n), sizeof *out->column), err);
    NEED(out->bin = pboost_alloc_large(n, out->n_blocks * BIN_COLUMNS), err);
    memset(out->bin, 0, n * out->n_blocks * BIN_COLUMNS);
    threads = pboost_threads_for(threads, VALUE_NS * (double)(n * columns->n));
    TRY(pboost_parallel_try(out->n_blocks, threads, bin_block, &task, err));
    for (size_t j = 0; j < columns->n; j++) {
        out->column[j].first = out->n_bins;
        out->n_bins += out->column[j].n;
    }
done:
    return st;
}

void pboost_binned_free(binned *b)
{
    for (size_t j = 0; b->column != NULL && j < b->n_columns; j++) {
        free(b->column[j].upper);
        free(b->column[j].level);
    }
    free(b->column);
    free(b->bin);
    *b = (binned){0};
}

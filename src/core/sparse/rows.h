/* The rows of a fit, in memory that suits it.
 *
 * Rows are copied in the order of the samples, by row for X v and again by column for X' r, so that
 * every result is written by one thread and has the same bits for any number of them.  Columns
 * without entries are left out.  The others are numbered by how many entries they have, the most
 * frequent first: hashing scatters the few frequent columns over all of memory, and next to each
 * other they stay in the cache. */
#ifndef PBOOST_SPARSE_ROWS_H
#define PBOOST_SPARSE_ROWS_H

#include "sparse/csr.h"

typedef enum { CELLS_ONE, CELLS_F32, CELLS_F64 } cell_kind; /* ONE: all are 1, none is stored */

typedef struct {
    size_t n, cols; /* samples; columns that have entries */
    cell_kind kind;
    size_t *start;    /* by row, n + 1: its entries in column and by_row */
    uint32_t *column; /* as numbered here */
    void *by_row;     /* values */
    size_t *first;    /* by column, cols + 1: its entries in row and by_column */
    uint32_t *row;    /* ascending in a column */
    void *by_column;  /* values */
    uint32_t *number; /* by column: its number in x */
    double *weight;   /* by row; NULL: 1 */
    double *offset;   /* by row; NULL: 0 */
    int threads;
    /* Chunks for the threads, of about as many entries each: the rows of chunk c are row_chunk[c]
     * .. row_chunk[c+1]-1, and in the same way columns. */
    size_t n_row_chunks, *row_chunk, n_column_chunks, *column_chunk;
} wide_rows;

/* group (NULL: each row alone): offsets of groups of samples, from group[0] to group[n_groups];
 * chunks hold whole groups. */
pboost_status pboost_wide_rows_init(wide_rows *out, const pboost_wide_samples *samples,
                                    const size_t *group, size_t n_groups, int threads,
                                    pboost_error *err);
void pboost_wide_rows_free(wide_rows *rows);

/* x_i v, with v by column as numbered here. */
static inline double pboost_wide_dot(const wide_rows *r, size_t i, const double *v)
{
    double sum = 0.0;
    const uint32_t *column = r->column;
    size_t from = r->start[i], end = r->start[i + 1];
    if (r->kind == CELLS_ONE)
        for (size_t p = from; p < end; p++)
            sum += v[column[p]];
    else if (r->kind == CELLS_F32)
        for (size_t p = from; p < end; p++)
            sum += (double)((const float *)r->by_row)[p] * v[column[p]];
    else
        for (size_t p = from; p < end; p++)
            sum += ((const double *)r->by_row)[p] * v[column[p]];
    return sum;
}

/* The value of an entry of a row, and of a column. */
static inline double pboost_wide_row_cell(const wide_rows *r, size_t place)
{
    return r->kind == CELLS_ONE   ? 1.0
           : r->kind == CELLS_F32 ? (double)((const float *)r->by_row)[place]
                                  : ((const double *)r->by_row)[place];
}

static inline double pboost_wide_cell(const wide_rows *r, size_t place)
{
    return r->kind == CELLS_ONE   ? 1.0
           : r->kind == CELLS_F32 ? (double)((const float *)r->by_column)[place]
                                  : ((const double *)r->by_column)[place];
}

/* out[j] = sum_i t_i x_ij and, where squares is not NULL, squares[j] = sum_i c_i x_ij^2. */
void pboost_wide_turn(double *out, const wide_rows *rows, const double *t);
void pboost_wide_squares(double *squares, const wide_rows *rows, const double *c);

/* Between coefficients by column of x and those as numbered here.  Columns without entries get 0.
 */
void pboost_wide_enter(double *theta, const wide_rows *rows, const pboost_coef *coef);
void pboost_wide_leave(pboost_coef *coef, const wide_rows *rows, const double *theta);

#endif

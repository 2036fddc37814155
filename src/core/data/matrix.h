/* Reading features: samples of any type and stride become small dense panels of doubles.
 *
 * A panel holds up to `capacity` rows in blocks of PANEL_LANES columns, padded with zeros: column j
 * of row r is panel[((j / LANES) * capacity + r) * LANES + j % LANES].  A block then fits one
 * vector register per row, for any number of columns. */
#ifndef PBOOST_MATRIX_H
#define PBOOST_MATRIX_H

#include <priorboost/core.h>

#define PANEL_LANES 8

/* The number of column blocks of a panel of `cols` columns. */
static inline size_t pboost_panel_blocks(size_t cols)
{
    return (cols + PANEL_LANES - 1) / PANEL_LANES;
}

/* One element of a matrix of type PBOOST_CURVED; slow.  It is in curve.c. */
double pboost_curved_at(const pboost_matrix *x, size_t row, size_t col);

/* One element of x. */
static inline double pboost_matrix_at(const pboost_matrix *x, size_t row, size_t col)
{
    ptrdiff_t at = (ptrdiff_t)row * x->row_stride + (ptrdiff_t)col * x->col_stride;
    return x->type == PBOOST_F64   ? ((const double *)x->data)[at]
           : x->type == PBOOST_F32 ? ((const float *)x->data)[at]
                                   : pboost_curved_at(x, row, col);
}

/* Whether the numbers of a row are neighbours in memory. */
static inline bool pboost_matrix_has_whole_rows(const pboost_matrix *x)
{
    return x->type == PBOOST_F64 && x->col_stride == 1;
}

/* A row of a matrix that has whole rows. */
static inline const double *pboost_matrix_row(const pboost_matrix *x, size_t row)
{
    return (const double *)x->data + (ptrdiff_t)row * x->row_stride;
}

static inline size_t pboost_samples_row(const pboost_samples *s, size_t i)
{
    return s->row != NULL ? s->row[i] : i;
}

/* The first place in memory from p on where a row of a block does not cross cache lines; at most
 * PANEL_LANES doubles further. */
static inline double *pboost_panel_align(double *p)
{
    size_t over = (uintptr_t)p / sizeof *p % PANEL_LANES;
    return over > 0 ? p + (PANEL_LANES - over) : p;
}

/* The sum of the samples' weights. */
double pboost_samples_total_weight(const pboost_samples *samples);

/* Which samples a panel takes: first, first + stride, ... (`count` of them), less shift[j] in
 * column j where shift is not NULL. */
typedef struct {
    size_t first, count, stride;
    const double *shift;
} panel_rows;

/* Whether the matrix itself can serve as panels. */
bool pboost_panel_is_direct(const pboost_samples *samples, size_t stride, const double *shift);

/* The matrix itself as the panel of those samples, on any alignment; NULL: it is none. */
const double *pboost_panel_direct(const pboost_samples *samples, panel_rows rows);

/* Returns the panel of those samples: `work`, filled, or the matrix itself where its memory already
 * is such a panel, and aligned. */
const double *pboost_panel_gather(double *work, size_t capacity, const pboost_samples *samples,
                                  panel_rows rows);

/* Refuses samples that are empty, that have no columns, or that name rows outside the table; with
 * need_target also those without targets.  Does not read features. */
pboost_status pboost_samples_check(const pboost_samples *samples, bool need_target,
                                   pboost_error *err);

/* Refuses weights that are negative or not finite, and weights of which none is positive. */
pboost_status pboost_samples_check_weights(const pboost_samples *samples, pboost_error *err);

/* Names the first NaN or infinity among features, targets (if any), weights and offsets; PBOOST_OK
 * if there is none.  Slow: called when a sum has turned out not to be finite. */
pboost_status pboost_samples_find_nonfinite(const pboost_samples *samples, pboost_error *err);

#endif

/* Samples of a matrix: checking them and gathering them into panels. */
#include "data/matrix.h"

#include <math.h>
#include <string.h>

#include "data/curve.h"
#include "kernels/glm.h"

pboost_matrix pboost_matrix_f64(const double *data, size_t rows, size_t cols)
{
    return (pboost_matrix){data, PBOOST_F64, rows, cols, (ptrdiff_t)cols, 1};
}

static void gather_f32(double *panel, size_t capacity, const pboost_samples *s, panel_rows rows)
{
    const pboost_matrix *x = s->x;
    size_t whole = x->cols / PANEL_LANES, rest = x->cols % PANEL_LANES;
    for (size_t r = 0; r < rows.count; r++) {
        size_t row = pboost_samples_row(s, rows.first + r * rows.stride);
        const float *from = (const float *)x->data + (ptrdiff_t)row * x->row_stride;
        double *to = panel + r * PANEL_LANES;
        for (size_t b = 0; b < whole; b++)
            for (size_t j = 0; j < PANEL_LANES; j++)
                to[b * capacity * PANEL_LANES + j] = from[b * PANEL_LANES + j];
        for (size_t j = 0; rest > 0 && j < PANEL_LANES; j++)
            to[whole * capacity * PANEL_LANES + j] = j < rest ? from[whole * PANEL_LANES + j] : 0.0;
    }
}

/* Any strides; a column at a time, which suits column-major tables. */
static void gather_strided(double *panel, size_t capacity, const pboost_samples *s, panel_rows rows)
{
    size_t padded = pboost_panel_blocks(s->x->cols) * PANEL_LANES;
    for (size_t j = 0; j < padded; j++) {
        double *to = panel + j / PANEL_LANES * capacity * PANEL_LANES + j % PANEL_LANES;
        for (size_t r = 0; r < rows.count; r++) {
            size_t row = pboost_samples_row(s, rows.first + r * rows.stride);
            to[r * PANEL_LANES] = j < s->x->cols ? pboost_matrix_at(s->x, row, j) : 0.0;
        }
    }
}

static void subtract_shift(double *panel, size_t capacity, size_t cols, panel_rows rows)
{
    for (size_t j = 0; j < cols; j++) {
        double *column = panel + j / PANEL_LANES * capacity * PANEL_LANES + j % PANEL_LANES;
        if (rows.shift[j] != 0.0)
            for (size_t r = 0; r < rows.count; r++)
                column[r * PANEL_LANES] -= rows.shift[j];
    }
}

/* Whether rows follow each other in memory as those of a panel do. */
static bool is_panel(const pboost_samples *s, size_t stride, const double *shift)
{
    const pboost_matrix *x = s->x;
    return x->type == PBOOST_F64 && x->cols == PANEL_LANES && x->col_stride == 1 &&
           x->row_stride == PANEL_LANES && s->row == NULL && stride == 1 && shift == NULL;
}

bool pboost_panel_is_direct(const pboost_samples *s, size_t stride, const double *shift)
{
    return is_panel(s, stride, shift) &&
           (uintptr_t)s->x->data % (PANEL_LANES * sizeof(double)) == 0;
}

const double *pboost_panel_direct(const pboost_samples *s, panel_rows rows)
{
    if (!is_panel(s, rows.stride, rows.shift))
        return NULL;
    return (const double *)s->x->data + rows.first * PANEL_LANES;
}

/* The columns of x, and zeros up to the end of the last block. */
static void gather(double *work, size_t capacity, const pboost_samples *s, panel_rows rows)
{
    const pboost_matrix *x = s->x;
    if (x->col_stride != 1)
        gather_strided(work, capacity, s, rows);
    else if (x->type == PBOOST_F32)
        gather_f32(work, capacity, s, rows);
    else
        pboost_glm_kernels()->gather(work, capacity,
                                     (glm_rows){x->data, x->row_stride, s->row, x->cols, rows.first,
                                                rows.stride, rows.count});
}

static void gather_curved(double *work, size_t capacity, const pboost_samples *s, panel_rows rows)
{
    const pboost_curved *curved = s->x->data;
    pboost_samples straight = *s;
    size_t last = pboost_panel_blocks(s->x->cols) - 1;

    straight.x = &curved->x;
    memset(work + last * capacity * PANEL_LANES, 0, rows.count * PANEL_LANES * sizeof *work);
    gather(work, capacity, &straight, rows);
    pboost_curved_fill(work, capacity, rows.count, curved);
}

const double *pboost_panel_gather(double *work, size_t capacity, const pboost_samples *s,
                                  panel_rows rows)
{
    if (pboost_panel_is_direct(s, rows.stride, rows.shift))
        return (const double *)s->x->data + rows.first * PANEL_LANES;
    (s->x->type == PBOOST_CURVED ? gather_curved : gather)(work, capacity, s, rows);
    if (rows.shift != NULL)
        subtract_shift(work, capacity, s->x->cols, rows);
    return work;
}

pboost_status pboost_samples_check(const pboost_samples *s, bool need_target, pboost_error *err)
{
    if (s->x == NULL || s->x->data == NULL)
        return pboost_fail(err, PBOOST_INVALID, "the samples have no feature matrix");
    if (s->x->type != PBOOST_F64 && s->x->type != PBOOST_F32 && s->x->type != PBOOST_CURVED)
        return pboost_fail(err, PBOOST_INVALID, "element type %d is neither f64, f32 nor curved",
                           (int)s->x->type);
    if (s->n == 0)
        return pboost_fail(err, PBOOST_BAD_DATA, "there are no samples; at least 1 is needed");
    if (s->x->cols == 0)
        return pboost_fail(err, PBOOST_BAD_DATA, "the table has no feature columns");
    if (need_target && s->target == NULL)
        return pboost_fail(err, PBOOST_INVALID, "the samples have no targets");
    if (s->row == NULL && s->n > s->x->rows)
        return pboost_fail(err, PBOOST_INVALID, "%zu samples of a table of %zu rows", s->n,
                           s->x->rows);
    for (size_t i = 0; s->row != NULL && i < s->n; i++)
        if (s->row[i] >= s->x->rows)
            return pboost_fail(err, PBOOST_INVALID, "sample %zu is row %zu of a table of %zu rows",
                               i, s->row[i], s->x->rows);
    return PBOOST_OK;
}

pboost_status pboost_samples_check_weights(const pboost_samples *s, pboost_error *err)
{
    double largest = 0.0;
    if (s->weight == NULL)
        return PBOOST_OK;
    for (size_t i = 0; i < s->n; i++) {
        size_t row = pboost_samples_row(s, i);
        double w = s->weight[row];
        if (!(w >= 0.0) || isinf(w))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the weight of row %zu is %g; weights are finite and not negative",
                               row, w);
        largest = fmax(largest, w);
    }
    if (largest == 0.0)
        return pboost_fail(err, PBOOST_BAD_DATA, "all %zu weights are 0", s->n);
    return PBOOST_OK;
}

double pboost_samples_total_weight(const pboost_samples *s)
{
    double sum = 0.0;
    if (s->weight == NULL)
        return (double)s->n;
    for (size_t i = 0; i < s->n; i++)
        sum += s->weight[pboost_samples_row(s, i)];
    return sum;
}

pboost_status pboost_samples_find_nonfinite(const pboost_samples *s, pboost_error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        size_t row = pboost_samples_row(s, i);
        for (size_t j = 0; j < s->x->cols; j++)
            if (!isfinite(pboost_matrix_at(s->x, row, j)))
                return pboost_fail(err, PBOOST_BAD_DATA,
                                   "row %zu, column %zu is %g; features must be finite", row, j,
                                   pboost_matrix_at(s->x, row, j));
        if (s->target != NULL && !isfinite(s->target[i]))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the target of sample %zu (row %zu) is %g; it must be finite", i,
                               row, s->target[i]);
        if (s->weight != NULL && !isfinite(s->weight[row]))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the weight of row %zu is %g; it must be finite", row,
                               s->weight[row]);
        if (s->offset != NULL && !isfinite(s->offset[row]))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the offset of row %zu is %g; it must be finite", row,
                               s->offset[row]);
    }
    return PBOOST_OK;
}

#include "sparse/rows.h"

#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "large.h"
#include "try.h"

#define CHUNK_ENTRIES ((size_t)1 << 16) /* about a tenth of a millisecond */
#define CELL_BYTES(kind) ((kind) == CELLS_F64 ? sizeof(double) : sizeof(float))

static size_t row_of(const pboost_wide_samples *s, size_t i)
{
    return s->row != NULL ? s->row[i] : i;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void pboost_wide_rows_free(wide_rows *r)
{
    free(r->start);
    free(r->column);
    free(r->by_row);
    free(r->first);
    free(r->row);
    free(r->by_column);
    free(r->number);
    free(r->weight);
    free(r->offset);
    free(r->row_chunk);
    free(r->column_chunk);
    *r = (wide_rows){0};
}

static pboost_status gather(double **out, const double *by_row, const pboost_wide_samples *s,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (by_row == NULL)
        return PBOOST_OK;
    NEED(*out = pboost_alloc(s->n, sizeof **out), err);
    for (size_t i = 0; i < s->n; i++)
        (*out)[i] = by_row[row_of(s, i)];
done:
    return st;
}

/* Cuts n items, of which item i has the entries start[i] .. start[i+1]-1, between groups of them.
 */
static pboost_status cut(size_t *n_chunks, size_t **chunk, const size_t *start, size_t n,
                         const size_t *group, size_t n_groups, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t most = start[n] / CHUNK_ENTRIES + n / CHUNK_ENTRIES + 2, count = 0, weight = 0;
    NEED(*chunk = pboost_alloc(most + 1, sizeof **chunk), err);
    (*chunk)[0] = 0;
    for (size_t g = 0; g < (group != NULL ? n_groups : n); g++) {
        size_t from = group != NULL ? group[g] - group[0] : g;
        size_t end = group != NULL ? group[g + 1] - group[0] : g + 1;
        weight += start[end] - start[from] + (end - from);
        if (weight >= CHUNK_ENTRIES && end < n) {
            (*chunk)[++count] = end;
            weight = 0;
        }
    }
    (*chunk)[++count] = n;
    *n_chunks = count;
done:
    return st;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sets cols, number and first; place (by column of x) becomes the number of the column here. */
static pboost_status number_columns(wide_rows *out, uint32_t *place, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t used = 0;
    uint64_t *key = NULL;
    for (size_t j = 0; j < cols; j++)
        used += place[j] > 0;
    NEED(key = pboost_alloc(used, sizeof *key), err);
    NEED(out->number = pboost_alloc(used, sizeof *out->number), err);
    NEED(out->first = pboost_alloc(used + 1, sizeof *out->first), err);
    used = 0;
    for (size_t j = 0; j < cols; j++)
        if (place[j] > 0)
            key[used++] = (uint64_t)(UINT32_MAX - place[j]) << 32 | j;
    qsort(key, used, sizeof *key, compare_keys);
    out->cols = used;
    out->first[0] = 0;
    for (size_t k = 0; k < used; k++) {
        out->number[k] = (uint32_t)key[k];
        out->first[k + 1] = out->first[k] + (UINT32_MAX - (uint32_t)(key[k] >> 32));
        place[out->number[k]] = (uint32_t)k;
    }
done:
    free(key);
    return st;
}

/* ---- Entries --------------------------------------------------------------------------------- */

typedef struct {
    wide_rows *out;
    const pboost_wide_samples *samples;
    const uint32_t *place;
} copy_task;

static void copy_chunk(void *context, size_t chunk, int worker)
{
    copy_task *t = context;
    wide_rows *r = t->out;
    const pboost_sparse *x = t->samples->x;
    (void)worker;
    for (size_t i = r->row_chunk[chunk]; i < r->row_chunk[chunk + 1]; i++) {
        size_t from = pboost_csr_start(x, row_of(t->samples, i)), count = r->start[i + 1];
        size_t to = r->start[i];
        for (count -= to; count > 0; count--, from++, to++) {
            r->column[to] = t->place[x->column[from]];
            if (r->kind == CELLS_F64)
                ((double *)r->by_row)[to] = ((const double *)x->value)[from];
            else if (r->kind == CELLS_F32)
                ((float *)r->by_row)[to] = (float)pboost_csr_value(x, from);
        }
    }
}

/* Fills row and by_column; next (by column) starts as a copy of first. */
static void turn_entries(wide_rows *r, size_t *next)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t p = r->start[i]; p < r->start[i + 1]; p++) {
            size_t to = next[r->column[p]]++;
            r->row[to] = (uint32_t)i;
            if (r->kind == CELLS_F64)
                ((double *)r->by_column)[to] = ((const double *)r->by_row)[p];
            else if (r->kind == CELLS_F32)
                ((float *)r->by_column)[to] = ((const float *)r->by_row)[p];
        }
}

/* Half the memory, where every value is a float or even 1. */
static cell_kind kind_of(const pboost_wide_samples *s)
{
    cell_kind kind = CELLS_ONE;
    for (size_t i = 0; s->x->value != NULL && i < s->n; i++) {
        size_t row = row_of(s, i), end = pboost_csr_start(s->x, row + 1);
        for (size_t p = pboost_csr_start(s->x, row); p < end; p++) {
            double v = pboost_csr_value(s->x, p);
            if ((double)(float)v != v)
                return CELLS_F64;
            kind = v != 1.0 ? CELLS_F32 : kind;
        }
    }
    return kind;
}

static pboost_status copy_entries(wide_rows *out, const pboost_wide_samples *s,
                                  const uint32_t *place, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t entries = out->start[out->n], *next = NULL;
    out->kind = kind_of(s);
    NEED(out->column = pboost_alloc_large(entries, sizeof *out->column), err);
    NEED(out->row = pboost_alloc_large(entries, sizeof *out->row), err);
    if (out->kind != CELLS_ONE) {
        NEED(out->by_row = pboost_alloc_large(entries, CELL_BYTES(out->kind)), err);
        NEED(out->by_column = pboost_alloc_large(entries, CELL_BYTES(out->kind)), err);
    }
    NEED(next = pboost_alloc(out->cols, sizeof *next), err);
    copy_task task = {out, s, place};
    pboost_parallel(out->n_row_chunks, out->threads, copy_chunk, &task);
    memcpy(next, out->first, out->cols * sizeof *next);
    turn_entries(out, next);
done:
    free(next);
    return st;
}

pboost_status pboost_wide_rows_init(wide_rows *out, const pboost_wide_samples *s,
                                    const size_t *group, size_t n_groups, int threads,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_sparse *x = s->x;
    uint32_t *place = NULL;

    *out = (wide_rows){.n = s->n, .threads = threads};
    NEED(place = calloc(larger(x->cols, 1), sizeof *place), err);
    NEED(out->start = pboost_alloc(s->n + 1, sizeof *out->start), err);
    out->start[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t row = row_of(s, i), from = pboost_csr_start(x, row);
        size_t end = pboost_csr_start(x, row + 1);
        for (size_t p = from; p < end; p++)
            place[x->column[p]]++;
        out->start[i + 1] = out->start[i] + (end - from);
    }
    TRY(gather(&out->weight, s->weight, s, err));
    TRY(gather(&out->offset, s->offset, s, err));
    TRY(number_columns(out, place, x->cols, err));
    TRY(cut(&out->n_row_chunks, &out->row_chunk, out->start, s->n, group, n_groups, err));
    TRY(cut(&out->n_column_chunks, &out->column_chunk, out->first, out->cols, NULL, 0, err));
    TRY(copy_entries(out, s, place, err));
done:
    free(place);
    if (st != PBOOST_OK)
        pboost_wide_rows_free(out);
    return st;
}

/* ---- X' r ------------------------------------------------------------------------------------ */

typedef struct {
    double *out;
    const wide_rows *rows;
    const double *t;
} turn_task;

static void turn_chunk(void *context, size_t chunk, int worker)
{
    turn_task *task = context;
    const wide_rows *r = task->rows;
    const double *t = task->t;
    (void)worker;
    for (size_t j = r->column_chunk[chunk]; j < r->column_chunk[chunk + 1]; j++) {
        double sum = 0.0;
        size_t from = r->first[j], end = r->first[j + 1];
        if (r->kind == CELLS_ONE)
            for (size_t p = from; p < end; p++)
                sum += t[r->row[p]];
        else if (r->kind == CELLS_F32)
            for (size_t p = from; p < end; p++)
                sum += (double)((const float *)r->by_column)[p] * t[r->row[p]];
        else
            for (size_t p = from; p < end; p++)
                sum += ((const double *)r->by_column)[p] * t[r->row[p]];
        task->out[j] = sum;
    }
}

void pboost_wide_turn(double *out, const wide_rows *rows, const double *t)
{
    turn_task task = {out, rows, t};
    pboost_parallel(rows->n_column_chunks, rows->threads, turn_chunk, &task);
}

static void square_chunk(void *context, size_t chunk, int worker)
{
    turn_task *task = context;
    const wide_rows *r = task->rows;
    (void)worker;
    for (size_t j = r->column_chunk[chunk]; j < r->column_chunk[chunk + 1]; j++) {
        double sum = 0.0;
        for (size_t p = r->first[j]; p < r->first[j + 1]; p++) {
            double v = pboost_wide_cell(r, p);
            sum += task->t[r->row[p]] * v * v;
        }
        task->out[j] = sum;
    }
}

void pboost_wide_squares(double *squares, const wide_rows *rows, const double *c)
{
    turn_task task = {squares, rows, c};
    pboost_parallel(rows->n_column_chunks, rows->threads, square_chunk, &task);
}

/* ---- Coefficients ---------------------------------------------------------------------------- */

void pboost_wide_enter(double *theta, const wide_rows *rows, const pboost_coef *coef)
{
    for (size_t k = 0; k < rows->cols; k++)
        theta[k] = coef->theta[rows->number[k]];
}

void pboost_wide_leave(pboost_coef *coef, const wide_rows *rows, const double *theta)
{
    memset(coef->theta, 0, coef->n * sizeof *coef->theta);
    for (size_t k = 0; k < rows->cols; k++)
        coef->theta[rows->number[k]] = theta[k];
}

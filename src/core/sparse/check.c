/* Checks of sparse matrices, and of what comes with them. */
#include <math.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "data/fit_options.h"
#include "data/matrix.h"
#include "sparse/csr.h"
#include "try.h"

#define CHUNK_ROWS ((size_t)1 << 14)

pboost_status pboost_csr_check_shape(const pboost_sparse *x, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (x->start == NULL)
        FAIL(err, PBOOST_INVALID, "the sparse matrix has no offsets");
    if (x->start_bytes != 4 && x->start_bytes != 8)
        FAIL(err, PBOOST_INVALID, "start_bytes is %u; offsets have 4 or 8 bytes", x->start_bytes);
    if (x->type != PBOOST_F64 && x->type != PBOOST_F32)
        FAIL(err, PBOOST_INVALID, "element type %d is neither f64 nor f32", (int)x->type);
    if (x->rows >= UINT32_MAX)
        FAIL(err, PBOOST_INVALID, "the sparse matrix has %zu rows; at most %u are possible",
             x->rows, UINT32_MAX - 1);
    if (x->cols > (size_t)UINT32_MAX + 1)
        FAIL(err, PBOOST_INVALID, "the sparse matrix has %zu columns; at most 2^32 are possible",
             x->cols);
    if (x->column == NULL && pboost_csr_start(x, x->rows) > pboost_csr_start(x, 0))
        FAIL(err, PBOOST_INVALID, "the sparse matrix has entries, but no column numbers");
done:
    return st;
}

static pboost_status check_row(const pboost_sparse *x, size_t i, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t first = pboost_csr_start(x, i), end = pboost_csr_start(x, i + 1);
    for (size_t p = first; p < end; p++) {
        uint32_t column = x->column[p];
        if (column >= x->cols)
            FAIL(err, PBOOST_BAD_DATA,
                 "row %zu, position %zu: the column is %u, but the matrix has %zu columns, from 0 "
                 "to %zu",
                 i, p - first, column, x->cols, x->cols - 1);
        if (p > first && column == x->column[p - 1])
            FAIL(err, PBOOST_BAD_DATA,
                 "row %zu, position %zu: column %u is there a second time; add up entries of one "
                 "column",
                 i, p - first, column);
        if (p > first && column < x->column[p - 1])
            FAIL(err, PBOOST_BAD_DATA,
                 "row %zu, position %zu: column %u comes after column %u; sort the entries of a "
                 "row by column",
                 i, p - first, column, x->column[p - 1]);
        if (!isfinite(pboost_csr_value(x, p)))
            FAIL(err, PBOOST_BAD_DATA,
                 "row %zu, position %zu: the value of column %u is %g; it must be finite", i,
                 p - first, column, pboost_csr_value(x, p));
    }
done:
    return st;
}

typedef struct {
    const pboost_sparse *x;
} check_task;

static pboost_status check_chunk(void *context, size_t chunk, int worker, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const check_task *t = context;
    const pboost_sparse *x = t->x;
    size_t end = smaller((chunk + 1) * CHUNK_ROWS, x->rows);
    (void)worker;
    for (size_t i = chunk * CHUNK_ROWS; i < end; i++)
        TRY(check_row(x, i, err));
done:
    return st;
}

pboost_status pboost_sparse_check(const pboost_sparse *x, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", threads);
    TRY(pboost_csr_check_shape(x, err));
    /* All offsets first: entries are only read between offsets that rise. */
    for (size_t i = 0; i < x->rows; i++)
        if (pboost_csr_start(x, i + 1) < pboost_csr_start(x, i))
            FAIL(err, PBOOST_BAD_DATA,
                 "row %zu starts at entry %zu and ends at entry %zu; offsets must not fall", i,
                 pboost_csr_start(x, i), pboost_csr_start(x, i + 1));
    check_task task = {x};
    TRY(pboost_parallel_try((x->rows + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, check_chunk, &task,
                            err));
done:
    return st;
}

pboost_status pboost_wide_check_samples(const pboost_wide_samples *s, bool need_target,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_csr_check_shape(s->x, err));
    pboost_matrix shape = WIDE_SHAPE(s->x);
    pboost_samples samples = {.x = &shape,
                              .row = s->row,
                              .n = s->n,
                              .target = s->target,
                              .weight = s->weight,
                              .offset = s->offset};
    TRY(pboost_samples_check(&samples, need_target, err));
    if (s->n >= UINT32_MAX)
        FAIL(err, PBOOST_INVALID, "there are %zu samples; at most %u are possible", s->n,
             UINT32_MAX - 1);
    TRY(pboost_samples_check_weights(&samples, err));
    for (size_t i = 0; i < s->n; i++) {
        size_t row = pboost_samples_row(&samples, i);
        if (s->offset != NULL && !isfinite(s->offset[row]))
            FAIL(err, PBOOST_BAD_DATA, "the offset of row %zu is %g; it must be finite", row,
                 s->offset[row]);
        if (need_target && !isfinite(s->target[i]))
            FAIL(err, PBOOST_BAD_DATA,
                 "the target of sample %zu (row %zu) is %g; it must be finite", i, row,
                 s->target[i]);
    }
done:
    return st;
}

pboost_status pboost_wide_check_options(const pboost_fit_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_fit_options_check(o, err));
    if (o->estimator != PBOOST_EVENT && o->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID,
             "the estimator is %s; sparse data are fitted by event or aggregate",
             pboost_estimator_name(o->estimator));
    if (o->curves > 0)
        FAIL(err, PBOOST_INVALID, "there are %zu columns of curves; sparse data have none",
             o->curves);
    if (o->bag_effects)
        FAIL(err, PBOOST_INVALID, "sparse data are fitted without bag_effects");
    if (o->covariance != PBOOST_COVARIANCE_MODEL)
        FAIL(err, PBOOST_INVALID, "sparse data have no sandwich covariance");
done:
    return st;
}

pboost_status pboost_wide_check_coef(const pboost_coef *coef, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (coef->n != cols)
        FAIL(err, PBOOST_INVALID, "there are %zu coefficients for %zu columns", coef->n, cols);
    for (size_t j = 0; j < cols; j++)
        if (!isfinite(coef->theta[j]))
            FAIL(err, PBOOST_BAD_DATA, "the weight of column %zu is %g; it must be finite", j,
                 coef->theta[j]);
    if (!isfinite(coef->intercept))
        FAIL(err, PBOOST_BAD_DATA, "the intercept is %g; it must be finite", coef->intercept);
done:
    return st;
}

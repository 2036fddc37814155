/* Whitening by a Cholesky factor: the covariance scaled to unit diagonal is L L', so L^-1 takes the
 * standardised columns to coordinates with covariance I.  Coordinate j is what column j adds to the
 * columns before it.  Any other root of the covariance is a rotation of this one, which changes
 * nothing for users that treat all directions equally; and a Cholesky factor finds the columns that
 * add nothing by itself. */
#include "bags/whiten.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/linalg.h"
#include "base/parallel.h"
#include "data/matrix.h"
#include "large.h"
#include "passes/row_pass.h"
#include "try.h"

#define VALUE_NS 1.0 /* what a value takes on one thread, at least */

#define CHUNK_ROWS 256
/* A column that adds less than this fraction of its variance is rounding or a near copy. */
#define LEAST_SHARE 1e-9

typedef struct {
    size_t cols, padded;
    double *mean;   /* by column, padded */
    double *theta;  /* zeros, padded */
    double *target; /* ones: the residuals at theta = 0 are -1, so the gradient adds up the rows */
    pboost_cholesky root; /* of the covariance */
    size_t *kept;         /* columns that have a coordinate */
    double *map;          /* by coordinate, padded: z_j = map_j . (x - mean) */
    double *work;         /* by worker */
} whitening;

static void whitening_free(whitening *w)
{
    free(w->mean);
    free(w->theta);
    free(w->target);
    free(w->root.l);
    free(w->root.scale);
    free(w->root.dropped);
    free(w->kept);
    free(w->map);
    free(w->work);
}

static pboost_status whitening_init(whitening *w, const pboost_samples *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = s->x->cols;

    w->cols = d;
    w->padded = pboost_panel_blocks(d) * PANEL_LANES;
    NEED(w->mean = calloc(w->padded, sizeof *w->mean), err);
    NEED(w->theta = calloc(w->padded, sizeof *w->theta), err);
    NEED(w->target = pboost_alloc(s->n, sizeof *w->target), err);
    for (size_t i = 0; i < s->n; i++)
        w->target[i] = 1.0;
    w->root.n = d;
    NEED(w->root.scale = calloc(d, sizeof *w->root.scale), err);
    NEED(w->root.dropped = calloc(d, 1), err);
    NEED(w->kept = pboost_alloc(d, sizeof *w->kept), err);
done:
    return st;
}

/* The covariance from two passes, mean first, so that a column far from 0 loses no digits. */
static pboost_status covariance(whitening *w, const pboost_samples *samples, int threads,
                                const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pass_plan plan = {0};
    pboost_samples s = *samples;
    const family_info *linear = pboost_family_info(PBOOST_LINEAR);

    s.target = w->target;
    s.offset = NULL;
    TRY(pboost_pass_init(&plan, &s, linear, NULL, threads, err));
    pass_sums sums = pboost_pass_run(&plan, w->theta, 0.0, false);
    for (size_t j = 0; j < w->cols; j++)
        w->mean[j] = -sums.gradient[j] / sums.curvature;
    pboost_pass_free(&plan);

    TRY(pboost_cancel_check(cancel, err));
    TRY(pboost_pass_init(&plan, &s, linear, w->mean, threads, err));
    sums = pboost_pass_run(&plan, w->theta, 0.0, true);
    NEED(w->root.l = calloc(w->cols * w->cols, sizeof *w->root.l), err);
    bool finite = true;
    for (size_t i = 0; i < w->cols; i++)
        for (size_t j = 0; j <= i; j++) {
            double c = sums.gram[i * w->padded + j] / sums.curvature -
                       sums.cross[i] / sums.curvature * (sums.cross[j] / sums.curvature);
            w->root.l[i * w->cols + j] = c;
            finite = finite && isfinite(c);
        }
    if (!finite) {
        TRY(pboost_samples_find_nonfinite(samples, err));
        FAIL(err, PBOOST_BAD_DATA, "the covariance of the features overflows; scale them down");
    }
    /* A deviation that is a rounding error of the mean counts as 0. */
    for (size_t j = 0; j < w->cols; j++) {
        double rounding = 0x1p-45 * fabs(w->mean[j]);
        w->root.dropped[j] = !(w->root.l[j * w->cols + j] > rounding * rounding);
    }
done:
    pboost_pass_free(&plan);
    return st;
}

/* map = L^-1 scaled, row by row; only columns kept have a row. */
static pboost_status invert_root(whitening *w, size_t *rank, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = w->cols, r = 0;

    pboost_cholesky_factor(&w->root, LEAST_SHARE, true);
    for (size_t i = 0; i < d; i++)
        if (!w->root.dropped[i])
            w->kept[r++] = i;
    *rank = r;
    NEED(w->map = calloc(r * w->padded + 1, sizeof *w->map), err);
    for (size_t a = 0; a < r; a++) {
        size_t i = w->kept[a];
        const double *l = w->root.l + i * d;
        double *to = w->map + a * w->padded;
        to[i] = w->root.scale[i];
        for (size_t b = 0; b < a; b++) {
            const double *from = w->map + b * w->padded;
            double factor = l[w->kept[b]];
            for (size_t j = 0; factor != 0.0 && j <= w->kept[b]; j++)
                to[j] -= factor * from[j];
        }
        for (size_t j = 0; j <= i; j++)
            to[j] /= l[i];
    }
done:
    return st;
}

typedef struct {
    const whitening *whitening;
    const pboost_samples *samples;
    const pboost_white *out;
    size_t first; /* row of the batch */
} whiten_task;

static void map_chunk(void *context, size_t chunk, int worker)
{
    const whiten_task *task = context;
    const whitening *w = task->whitening;
    const pboost_white *out = task->out;
    const glm_kernels *kernels = pboost_glm_kernels();
    double *work = w->work + (size_t)worker * CHUNK_ROWS * (w->padded + 1);
    double *value = work + CHUNK_ROWS * w->padded;
    size_t first = task->first + chunk * CHUNK_ROWS;
    size_t count = first + CHUNK_ROWS < out->n ? CHUNK_ROWS : out->n - first;
    panel_rows rows = {first, count, 1, w->mean};
    float *to = out->z + first * out->stride;
    const double *x = pboost_panel_gather(work, CHUNK_ROWS, task->samples, rows);
    for (size_t a = 0; a < out->rank; a++) {
        /* The map is triangular: nothing comes from columns after the coordinate's own. */
        glm_panel panel = {
            .x = x, .capacity = CHUNK_ROWS, .count = count, .blocks = w->kept[a] / PANEL_LANES + 1};
        kernels->eta(value, panel, w->map + a * w->padded, 0.0);
        for (size_t i = 0; i < count; i++)
            to[i * out->stride + a] = (float)value[i];
        if (out->line != NULL)
            memcpy(out->line + first, value, count * sizeof *value);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t a = out->rank; a < out->stride; a++)
            to[i * out->stride + a] = 0.0f;
}

/* Maps all rows, in batches that take little time. */
static pboost_status map_rows(whitening *w, const pboost_samples *samples, const pboost_white *out,
                              int threads, const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t workers = (size_t)pboost_threads(threads),
           chunks = (out->n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    size_t batch = WATCH_BATCH / (CHUNK_ROWS * w->padded) + 1;
    double row_ns = VALUE_NS * (double)w->padded;

    NEED(w->work = pboost_alloc(workers * CHUNK_ROWS * (w->padded + 1), sizeof *w->work), err);
    for (size_t at = 0; at < chunks; at += batch) {
        whiten_task task = {w, samples, out, at * CHUNK_ROWS};
        TRY(pboost_cancel_check(cancel, err));
        size_t count = chunks - at < batch ? chunks - at : batch;
        pboost_parallel(count, pboost_threads_for(threads, row_ns * (double)(count * CHUNK_ROWS)),
                        map_chunk, &task);
    }
done:
    return st;
}

pboost_status pboost_whiten(pboost_white *out, const pboost_samples *samples, size_t extra,
                            int threads, const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    whitening w = {0};

    *out = (pboost_white){0};
    TRY(pboost_samples_check(samples, false, err));
    TRY(pboost_samples_check_weights(samples, err));
    TRY(whitening_init(&w, samples, err));
    TRY(pboost_cancel_check(cancel, err));
    TRY(covariance(&w, samples, threads, cancel, err));
    TRY(invert_root(&w, &out->rank, err));

    out->n = samples->n;
    out->stride = pboost_panel_blocks(out->rank + extra) * PANEL_LANES;
    size_t row = (out->stride + (out->stride == 0)) * sizeof *out->z;
    NEED(out->z = pboost_alloc_large(out->n, row), err);
    if (out->rank == 1)
        NEED(out->line = pboost_alloc_large(out->n, sizeof *out->line), err);
    TRY(map_rows(&w, samples, out, threads, cancel, err));
done:
    whitening_free(&w);
    if (st != PBOOST_OK)
        pboost_white_free(out);
    return st;
}

void pboost_white_free(pboost_white *white)
{
    free(white->z);
    free(white->line);
    *white = (pboost_white){0};
}

/* A sketch: narrow features that stand for wide ones where bags are made.
 *
 * Its columns span about the leading directions of the rows, found by subspace iteration (Halko,
 * Martinsson and Tropp 2011) from random signs.  Column j of x is centred and divided by the square
 * root of its standard deviation: undivided, the few most frequent columns are all that is seen;
 * divided by the whole of it, columns of a few rows are.  A sample of the rows is enough to find
 * the directions.  Bags are made from whitened features, so no order or scale is needed.
 *
 * The directions are kept in blocks of some dimensions.  A block is the work of one thread in X' y,
 * whose sums then have the same bits for any number of threads. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/linalg.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/sizes.h"
#include "sparse/csr.h"
#include "try.h"

#define SAMPLE ((size_t)1 << 16) /* rows */
#define ITERATIONS 3
#define CHUNK_ROWS ((size_t)1 << 12)
#define BLOCK ((size_t)8)

typedef struct {
    const pboost_sparse *x;
    size_t dims, blocks, samples; /* blocks of dims; rows in use */
    float *scale, *mean;          /* by column: what it is multiplied by; its mean, so scaled */
    float *direction;             /* cols x BLOCK, by block */
    float *image;                 /* samples x BLOCK, by block */
    float *out;                   /* the sketch, where rows are written there */
} sketch_task;

static size_t sample_row(const sketch_task *t, size_t s)
{
    return (size_t)((double)s * (double)t->x->rows / (double)t->samples);
}

/* ---- Columns --------------------------------------------------------------------------------- */

static pboost_status find_scales(sketch_task *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_sparse *x = t->x;
    double *square = NULL, *sum = NULL, n = (double)t->samples;
    NEED(sum = calloc(larger(x->cols, 1), sizeof *sum), err);
    NEED(square = calloc(larger(x->cols, 1), sizeof *square), err);
    for (size_t s = 0; s < t->samples; s++) {
        size_t row = sample_row(t, s), end = pboost_csr_start(x, row + 1);
        for (size_t p = pboost_csr_start(x, row); p < end; p++) {
            double v = pboost_csr_value(x, p);
            sum[x->column[p]] += v;
            square[x->column[p]] += v * v;
        }
    }
    for (size_t j = 0; j < x->cols; j++) {
        double mean = sum[j] / n, variance = square[j] / n - mean * mean;
        double scale = variance > 1e-12 * square[j] / n ? pow(variance, -0.25) : 0.0;
        t->scale[j] = (float)scale;
        t->mean[j] = (float)(scale * mean);
    }
done:
    free(sum);
    free(square);
    return st;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

/* to[0 .. BLOCK) = x_row scaled, times a block of directions. */
static void project(float *to, const sketch_task *t, size_t row, const float *direction)
{
    const pboost_sparse *x = t->x;
    size_t end = pboost_csr_start(x, row + 1);
    float sum[BLOCK] = {0};
    for (size_t p = pboost_csr_start(x, row); p < end; p++) {
        size_t j = x->column[p];
        float v = (float)pboost_csr_value(x, p) * t->scale[j];
        for (size_t d = 0; d < BLOCK; d++)
            sum[d] += v * direction[j * BLOCK + d];
    }
    memcpy(to, sum, sizeof sum);
}

static const float *directions_of(const sketch_task *t, size_t block)
{
    return t->direction + block * t->x->cols * BLOCK;
}

/* image = the sample, centred and scaled, times a block of directions. */
static void image_block(void *context, size_t block, int worker)
{
    sketch_task *t = context;
    const float *direction = directions_of(t, block);
    float *image = t->image + block * t->samples * BLOCK;
    double shift[BLOCK] = {0};
    (void)worker;
    for (size_t j = 0; j < t->x->cols; j++)
        for (size_t d = 0; d < BLOCK; d++)
            shift[d] += (double)(t->mean[j] * direction[j * BLOCK + d]);
    for (size_t s = 0; s < t->samples; s++) {
        project(image + s * BLOCK, t, sample_row(t, s), direction);
        for (size_t d = 0; d < BLOCK; d++)
            image[s * BLOCK + d] -= (float)shift[d];
    }
}

/* directions = the sample, centred and scaled, turned, times a block of the image. */
static void direction_block(void *context, size_t block, int worker)
{
    sketch_task *t = context;
    const pboost_sparse *x = t->x;
    float *direction = t->direction + block * x->cols * BLOCK;
    const float *image = t->image + block * t->samples * BLOCK;
    double total[BLOCK] = {0};
    (void)worker;
    memset(direction, 0, x->cols * BLOCK * sizeof *direction);
    for (size_t s = 0; s < t->samples; s++) {
        size_t row = sample_row(t, s), end = pboost_csr_start(x, row + 1);
        for (size_t p = pboost_csr_start(x, row); p < end; p++) {
            size_t j = x->column[p];
            float v = (float)pboost_csr_value(x, p) * t->scale[j];
            for (size_t d = 0; d < BLOCK; d++)
                direction[j * BLOCK + d] += v * image[s * BLOCK + d];
        }
        for (size_t d = 0; d < BLOCK; d++)
            total[d] += (double)image[s * BLOCK + d];
    }
    for (size_t j = 0; j < x->cols; j++)
        for (size_t d = 0; d < BLOCK; d++)
            direction[j * BLOCK + d] -= t->mean[j] * (float)total[d];
}

static void sketch_chunk(void *context, size_t chunk, int worker)
{
    sketch_task *t = context;
    float sum[BLOCK];
    size_t end = smaller((chunk + 1) * CHUNK_ROWS, t->x->rows);
    (void)worker;
    for (size_t i = chunk * CHUNK_ROWS; i < end; i++)
        for (size_t b = 0; b < t->blocks; b++) {
            size_t count = smaller(BLOCK, t->dims - b * BLOCK);
            project(sum, t, i, directions_of(t, b));
            memcpy(t->out + i * t->dims + b * BLOCK, sum, count * sizeof *sum);
        }
}

/* ---- Iteration ------------------------------------------------------------------------------- */

static float *image_at(const sketch_task *t, size_t s, size_t d)
{
    return t->image + (d / BLOCK * t->samples + s) * BLOCK + d % BLOCK;
}

/* Makes the columns of the image orthonormal: image L'^-1, with L L' its Gram matrix.  A column
 * that adds nothing becomes 0. */
static void orthonormalise(const sketch_task *t, pboost_cholesky *c, double *row)
{
    size_t n = t->blocks * BLOCK;
    memset(c->l, 0, n * n * sizeof *c->l);
    memset(c->dropped, 0, n);
    for (size_t s = 0; s < t->samples; s++) {
        for (size_t d = 0; d < n; d++)
            row[d] = (double)*image_at(t, s, d);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                c->l[i * n + j] += row[i] * row[j];
    }
    /* The image has the rounding errors of floats. */
    pboost_cholesky_factor(c, 1e-10, true);
    for (size_t s = 0; s < t->samples; s++)
        for (size_t i = 0; i < n; i++) {
            double sum = (double)*image_at(t, s, i) * c->scale[i];
            for (size_t j = 0; j < i; j++)
                sum -= c->dropped[j] ? 0.0 : c->l[i * n + j] * row[j];
            row[i] = c->dropped[i] ? 0.0 : sum / c->l[i * n + i];
            *image_at(t, s, i) = (float)row[i];
        }
}

static void random_signs(sketch_task *t, uint64_t seed)
{
    size_t cols = t->x->cols;
    for (size_t j = 0; j < cols; j++)
        for (size_t b = 0; b < t->blocks; b++) {
            uint64_t word = pboost_rng_key(seed, RNG_SKETCH, b, j);
            for (size_t d = 0; d < BLOCK; d++)
                t->direction[(b * cols + j) * BLOCK + d] = (word >> d & 1) != 0 ? 1.0F : -1.0F;
        }
}

static pboost_status find_directions(sketch_task *t, uint64_t seed, int threads,
                                     const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = t->blocks * BLOCK;
    pboost_cholesky factor = {.n = n};
    double *row = NULL;
    NEED(factor.l = pboost_alloc(n * n, sizeof(double)), err);
    NEED(factor.scale = pboost_alloc(n, sizeof(double)), err);
    NEED(factor.dropped = pboost_alloc(n, 1), err);
    NEED(row = pboost_alloc(n, sizeof *row), err);
    random_signs(t, seed);
    for (size_t i = 0; i < ITERATIONS; i++) {
        pboost_progress(cancel, "sketch", (double)i, ITERATIONS);
        pboost_parallel(t->blocks, threads, image_block, t);
        TRY(pboost_cancel_check(cancel, err));
        orthonormalise(t, &factor, row);
        pboost_parallel(t->blocks, threads, direction_block, t);
        TRY(pboost_cancel_check(cancel, err));
    }
done:
    free(factor.l);
    free(factor.scale);
    free(factor.dropped);
    free(row);
    return st;
}

pboost_status pboost_sparse_sketch(float *out, const pboost_sparse *x, size_t dims, uint64_t seed,
                                   int threads, const pboost_cancel *cancel, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    sketch_task t = {.x = x,
                     .dims = dims,
                     .blocks = (dims + BLOCK - 1) / BLOCK,
                     .samples = smaller(x->rows, SAMPLE),
                     .out = out};
    if (dims == 0 || dims > PBOOST_MOST_SKETCH_DIMS)
        FAIL(err, PBOOST_INVALID, "dims is %zu; a sketch has 1 to %d columns", dims,
             PBOOST_MOST_SKETCH_DIMS);
    if (threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", threads);
    TRY(pboost_sparse_check(x, threads, err));
    NEED(t.scale = pboost_alloc(x->cols, sizeof *t.scale), err);
    NEED(t.mean = pboost_alloc(x->cols, sizeof *t.mean), err);
    NEED(t.direction = pboost_alloc(x->cols, t.blocks * BLOCK * sizeof(float)), err);
    NEED(t.image = pboost_alloc(t.samples, t.blocks * BLOCK * sizeof(float)), err);
    TRY(find_scales(&t, err));
    TRY(find_directions(&t, seed, threads, cancel, err));
    pboost_parallel((x->rows + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, sketch_chunk, &t);
    TRY(pboost_cancel_check(cancel, err));
done:
    free(t.scale);
    free(t.mean);
    free(t.direction);
    free(t.image);
    return st;
}

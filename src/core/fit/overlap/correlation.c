/* The covariance of answers about bags that share rows.
 *
 * Two answers have in common the labels of the rows in both bags:
 *
 *     C_ab = sum over rows in a and b of v_i / (n_a n_b)
 *
 * A bag's row of C is the work of one chunk, which goes through the rows of the bag and, for each,
 * through the bags that hold it. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "fit/overlap/overlap.h"
#include "large.h"
#include "try.h"

#define COLUMNS_AT_ONCE 32 /* of a matrix that is whitened */

pboost_status pboost_correlation_init(correlation *out, const shared_bags *bags, int threads,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cells = 0;

    *out = (correlation){.threads = threads};
    for (size_t c = 0; c < bags->n_blocks; c++) {
        size_t n = bags->block[c + 1] - bags->block[c];
        cells += n * n;
    }
    NEED(out->memory = pboost_alloc_large(cells, sizeof *out->memory), err);
    NEED(out->matrix = pboost_alloc(bags->n_blocks, sizeof *out->matrix), err);
    NEED(out->own = pboost_alloc(bags->n, sizeof *out->own), err);
    NEED(out->scale = pboost_alloc(bags->n, sizeof *out->scale), err);
    NEED(out->dropped = calloc(bags->n > 0 ? bags->n : 1, 1), err);
    cells = 0;
    for (size_t c = 0; c < bags->n_blocks; c++) {
        size_t n = bags->block[c + 1] - bags->block[c];
        out->matrix[c] = out->memory + cells;
        cells += n * n;
    }
done:
    if (st != PBOOST_OK)
        pboost_correlation_free(out);
    return st;
}

void pboost_correlation_free(correlation *c)
{
    free(c->memory);
    free(c->matrix);
    free(c->own);
    free(c->scale);
    free(c->dropped);
    *c = (correlation){0};
}

pboost_cholesky pboost_correlation_block(const correlation *c, const shared_bags *bags,
                                         size_t block)
{
    size_t first = bags->block[block];
    return (pboost_cholesky){bags->block[block + 1] - first, c->matrix[block], c->scale + first,
                             c->dropped + first};
}

typedef struct {
    correlation *c;
    const shared_bags *bags;
    const double *variance;
    double phi;
    size_t block;
} set_task;

/* Row `chunk` of a block: C up to the diagonal, and the same above the diagonal in its column. */
static void fill_row(void *context, size_t chunk, int worker)
{
    const set_task *t = context;
    const shared_bags *s = t->bags;
    size_t first = s->block[t->block], n = s->block[t->block + 1] - first, b = first + chunk;
    double *matrix = t->c->matrix[t->block], *row = matrix + chunk * n;
    double size = (double)(s->start[b + 1] - s->start[b]);
    (void)worker;
    memset(row, 0, (chunk + 1) * sizeof *row);
    for (size_t i = s->start[b]; i < s->start[b + 1]; i++) {
        size_t position = s->at[i], k = s->holder_start[position];
        double v = t->variance != NULL ? t->variance[position] : 1.0;
        for (; k < s->holder_start[position + 1] && s->holder[k] <= b; k++)
            row[s->holder[k] - first] += v;
    }
    for (size_t j = 0; j <= chunk; j++)
        row[j] /= size * (double)(s->start[first + j + 1] - s->start[first + j]);
    for (size_t j = 0; j < chunk; j++)
        matrix[j * n + chunk] = row[j];
    t->c->own[b] = row[chunk];
    row[chunk] += s->noise[b] > 0.0 ? s->noise[b] / t->phi : 0.0;
}

void pboost_correlation_set(correlation *c, const shared_bags *bags, const double *variance,
                            double phi, bool may_drop)
{
    for (size_t block = 0; block < bags->n_blocks; block++) {
        set_task task = {c, bags, variance, phi, block};
        pboost_cholesky factor = pboost_correlation_block(c, bags, block);
        pboost_parallel(factor.n, factor.n > COLUMNS_AT_ONCE ? c->threads : 1, fill_row, &task);
        pboost_cholesky_factor(&factor, pboost_rank_tolerance(factor.n), may_drop);
    }
}

typedef struct {
    double *x;
    size_t stride;
    const correlation *c;
    const shared_bags *bags;
} whiten_task;

/* Forward substitution on some columns of all blocks. */
static void whiten_columns(void *context, size_t chunk, int worker)
{
    const whiten_task *t = context;
    size_t stride = t->stride, from = chunk * COLUMNS_AT_ONCE;
    size_t width = smaller(COLUMNS_AT_ONCE, stride - from);
    (void)worker;
    for (size_t block = 0; block < t->bags->n_blocks; block++) {
        pboost_cholesky f = pboost_correlation_block(t->c, t->bags, block);
        double *x = t->x + t->bags->block[block] * stride + from;
        for (size_t i = 0; i < f.n; i++) {
            double *restrict row = x + i * stride;
            for (size_t k = 0; k < width; k++)
                row[k] *= f.scale[i];
            for (size_t j = 0; j < i; j++) {
                const double *restrict before = x + j * stride;
                double l = f.l[i * f.n + j];
                for (size_t k = 0; l != 0.0 && k < width; k++)
                    row[k] -= l * before[k];
            }
            for (size_t k = 0; k < width; k++)
                row[k] /= f.l[i * f.n + i];
        }
    }
}

void pboost_correlation_whiten(double *x, size_t stride, const correlation *c,
                               const shared_bags *bags)
{
    whiten_task task = {x, stride, c, bags};
    pboost_parallel((stride + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE, c->threads, whiten_columns,
                    &task);
}

double pboost_correlation_log_determinant(const correlation *c, const shared_bags *bags)
{
    double sum = 0.0;
    for (size_t block = 0; block < bags->n_blocks; block++) {
        pboost_cholesky f = pboost_correlation_block(c, bags, block);
        for (size_t i = 0; i < f.n; i++)
            sum += 2.0 * log(f.l[i * f.n + i] / f.scale[i]);
    }
    return sum;
}

double pboost_correlation_label_part(const correlation *c, const shared_bags *bags, const double *x,
                                     double *work)
{
    double sum = 0.0;
    for (size_t block = 0; block < bags->n_blocks; block++) {
        pboost_cholesky f = pboost_correlation_block(c, bags, block);
        size_t first = bags->block[block];
        pboost_cholesky_solve(work, &f, x + first);
        for (size_t i = 0; i < f.n; i++) {
            double across = 0.5 * c->own[first + i] * work[i];
            for (size_t j = i + 1; j < f.n; j++)
                across += f.l[i * f.n + j] * work[j];
            sum += 2.0 * work[i] * across;
        }
    }
    return sum;
}

/* (C + N/phi)^-1 C = 1 - (C + N/phi)^-1 N/phi, and N is diagonal. */
double pboost_correlation_label_trace(const correlation *c, const shared_bags *bags, double phi,
                                      double *work)
{
    double trace = (double)bags->n;
    for (size_t block = 0; block < bags->n_blocks; block++) {
        pboost_cholesky f = pboost_correlation_block(c, bags, block);
        for (size_t b = 0; b < f.n; b++) {
            double noise = bags->noise[bags->block[block] + b];
            if (!(noise > 0.0))
                continue;
            memset(work, 0, f.n * sizeof *work);
            work[b] = 1.0;
            pboost_cholesky_solve(work, &f, work);
            trace -= work[b] * noise / phi;
        }
    }
    return trace;
}

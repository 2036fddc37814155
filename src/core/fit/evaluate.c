/* The losses of many models.
 *
 * They come from one pass: a panel of rows is turned so that registers hold
 * one column of several rows, and serves all models while it is in the cache.  The squared errors
 * of many linear models need no pass per model at all: they are one quadratic, written around its
 * own minimum, where all that is added is positive and no digits cancel. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/parallel.h"
#include "base/sizes.h"
#include "data/family.h"
#include "data/matrix.h"
#include "fit/measures.h"
#include "fit/predict.h"
#include "passes/chunks.h"
#include "passes/row_pass.h"
#include "try.h"

#define MIN_PANEL_ROWS 64
#define CHUNK_ROWS ((size_t)1 << 13)
#define LOG_2 0.69314718055994530942
#define FEW_MODELS 8 /* beyond the number of columns: a Gram matrix does not pay for fewer */

/* ---- Losses of many models ------------------------------------------------------------------- */

typedef struct {
    const pboost_samples *samples;
    const pboost_coef *coef;
    size_t n_coef, padded, capacity, work_size;
    pboost_family family;
    double *work, *sums; /* by worker; by chunk and model */
} losses_task;

/* Multiplies product, in 1 .. 2, by a factor below 2^1023 and moves whole powers of two to power.
 */
static void multiply(double *product, double *power, double factor)
{
    double p = *product * factor;
    if (p >= 2.0 && p <= DBL_MAX) {
        uint64_t bits;
        memcpy(&bits, &p, sizeof bits);
        *power += (double)((int64_t)(bits >> 52) - 1023);
        bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
        memcpy(&p, &bits, sizeof p);
    }
    *product = p;
}

static void losses_chunk(void *context, size_t chunk, int worker)
{
    const losses_task *t = context;
    const pboost_samples *s = t->samples;
    const glm_kernels *kernels = pboost_glm_kernels();
    size_t capacity = t->capacity;
    double *panel = t->work + (size_t)worker * t->work_size;
    double *columns = panel + capacity * t->padded, *eta = columns + capacity * t->padded;
    double *weight = eta + capacity, *offset = weight + capacity;
    double *lean = offset + capacity, *size = lean + t->padded + 1, *largest = size + t->padded + 1;
    double *product = largest + t->padded + 1, *power = product + t->n_coef;
    double *sums = t->sums + chunk * t->n_coef;
    const family_kernels *family = &kernels->family[t->family];
    bool at_once = family->total_columns != NULL && s->weight == NULL && s->offset == NULL;
    memset(sums, 0, t->n_coef * sizeof *sums);
    for (size_t k = 0; k < t->n_coef; k++) {
        product[k] = 1.0;
        power[k] = 0.0;
    }

    size_t end = smaller((chunk + 1) * CHUNK_ROWS, s->n);
    for (size_t at = chunk * CHUNK_ROWS; at < end; at += capacity) {
        size_t count = smaller(capacity, end - at);
        panel_rows rows = {at, count, 1, NULL};
        const double *x = pboost_panel_gather(panel, capacity, s, rows);
        kernels->transpose(columns, (glm_panel){.x = x,
                                                .capacity = capacity,
                                                .count = count,
                                                .blocks = t->padded / PANEL_LANES});
        for (size_t i = 0; i < count; i++) {
            size_t row = pboost_samples_row(s, at + i);
            weight[i] = s->weight != NULL ? s->weight[row] : 1.0;
            offset[i] = s->offset != NULL ? s->offset[row] : 0.0;
        }
        glm_scored scored = {.x = columns,
                             .capacity = capacity,
                             .count = count,
                             .cols = s->x->cols,
                             .y = s->target + at,
                             .lean = lean,
                             .size = size,
                             .largest = largest};
        if (at_once)
            kernels->survey(&scored);
        for (size_t k = 0; k < t->n_coef; k++) {
            double total, factor;
            if (at_once && family->total_columns(&total, &factor, &scored, t->coef[k].theta,
                                                 t->coef[k].intercept)) {
                sums[k] += total;
                multiply(&product[k], &power[k], factor);
                continue;
            }
            kernels->eta_columns(eta, columns, capacity, count, t->coef[k].n, t->coef[k].theta,
                                 t->coef[k].intercept);
            for (size_t i = 0; s->offset != NULL && i < count; i++)
                eta[i] += offset[i];
            sums[k] += family->total(eta, s->target + at, s->weight != NULL ? weight : NULL, count);
        }
    }
    for (size_t k = 0; k < t->n_coef && at_once; k++)
        sums[k] += log(product[k]) + power[k] * LOG_2;
}

static pboost_status losses_by_pass(double *loss, pboost_family family,
                                    const pboost_samples *samples, const pboost_coef *coef,
                                    size_t n_coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *work = NULL;
    size_t padded = pboost_panel_blocks(samples->x->cols) * PANEL_LANES;
    size_t n_chunks = (samples->n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    double work_ns = 0.4 * pboost_row_ns(padded) * (double)n_coef * (double)samples->n;
    size_t n_workers = smaller((size_t)pboost_threads_for(threads, work_ns), n_chunks);
    losses_task t = {.samples = samples,
                     .coef = coef,
                     .n_coef = n_coef,
                     .padded = padded,
                     .capacity = pboost_panel_rows(padded, MIN_PANEL_ROWS),
                     .family = family};
    t.work_size = t.capacity * (2 * padded + 3) + 3 * (padded + 1) + 2 * n_coef;
    t.work_size = (t.work_size + PANEL_LANES - 1) / PANEL_LANES * PANEL_LANES;
    NEED(work = pboost_alloc(n_workers * t.work_size + PANEL_LANES, sizeof *work), err);
    t.work = pboost_panel_align(work);
    NEED(t.sums = pboost_alloc(n_chunks * n_coef, sizeof *t.sums), err);
    pboost_parallel(n_chunks, (int)n_workers, losses_chunk, &t);
    memset(loss, 0, n_coef * sizeof *loss);
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        for (size_t k = 0; k < n_coef; k++)
            loss[k] += t.sums[chunk * n_coef + k];
done:
    free(work);
    free(t.sums);
    return st;
}

/* The least squares solution from the sums of a pass at 0, intercept first. */
static void least_squares(double *x, pboost_cholesky *c, const pass_sums *sums, size_t cols,
                          size_t padded)
{
    size_t n = cols + 1;
    c->n = n;
    c->l[0] = sums->curvature;
    x[0] = -sums->residual;
    for (size_t j = 0; j < cols; j++) {
        c->l[(j + 1) * n] = sums->cross[j];
        memcpy(c->l + (j + 1) * n + 1, sums->gram + j * padded, (j + 1) * sizeof *x);
        x[j + 1] = -sums->gradient[j];
    }
    pboost_cholesky_factor(c, pboost_rank_tolerance(n), true);
    pboost_cholesky_solve(x, c, x);
}

/* Half the squared error of a model that is delta from the anchor; a is the lower triangle of the
 * matrix, intercept first. */
static double quadratic(const double *a, const double *gradient, const double *delta, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        double row = 0.5 * a[i * n + i] * delta[i];
        for (size_t j = 0; j < i; j++)
            row += a[i * n + j] * delta[j];
        sum += delta[i] * (row + gradient[i]);
    }
    return sum;
}

static pboost_status losses_by_gram(double *loss, const pboost_samples *samples,
                                    const pboost_coef *coef, size_t n_coef, int threads,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pass_plan plan = {0};
    pboost_cholesky c = {0};
    pass_sums sums;
    double *block = NULL, *shift, *theta, *anchor, *gradient, *delta, *a;
    size_t cols = samples->x->cols, n = cols + 1;
    size_t padded = pboost_panel_blocks(cols) * PANEL_LANES;
    NEED(block = calloc(2 * n * n + 5 * n + padded, sizeof *block), err);
    NEED(c.dropped = calloc(n, 1), err);
    c.l = block;
    a = block + n * n;
    c.scale = a + n * n;
    shift = c.scale + n;
    anchor = shift + n;
    gradient = anchor + n;
    delta = gradient + n;
    theta = delta + n;
    bool shifted = pboost_pass_shift(shift, samples);
    TRY(pboost_pass_init(&plan, samples, pboost_family_info(PBOOST_LINEAR), shifted ? shift : NULL,
                         threads, err));
    sums = pboost_pass_run(&plan, theta, 0.0, true);
    least_squares(anchor, &c, &sums, cols, padded);
    a[0] = sums.curvature;
    for (size_t j = 0; j < cols; j++) {
        a[(j + 1) * n] = sums.cross[j];
        memcpy(a + (j + 1) * n + 1, sums.gram + j * padded, (j + 1) * sizeof *a);
    }
    memcpy(theta, anchor + 1, cols * sizeof *theta);
    sums = pboost_pass_run(&plan, theta, anchor[0], false);
    gradient[0] = sums.residual;
    memcpy(gradient + 1, sums.gradient, cols * sizeof *gradient);
    for (size_t k = 0; k < n_coef; k++) {
        delta[0] = coef[k].intercept - anchor[0];
        for (size_t j = 0; j < cols; j++) {
            delta[j + 1] = coef[k].theta[j] - anchor[j + 1];
            delta[0] += shift[j] * coef[k].theta[j];
        }
        loss[k] = sums.value + quadratic(a, gradient, delta, n);
    }
done:
    pboost_pass_free(&plan);
    free(block);
    free(c.dropped);
    return st;
}

/* ---- The public side ------------------------------------------------------------------------- */

pboost_status pboost_losses(double *loss, pboost_family family, const pboost_samples *samples,
                            const pboost_coef *coef, size_t n_coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double share;
    pboost_evaluation exact;
    TRY(pboost_models_check(family, samples, true, coef, n_coef, threads, err));
    TRY(pboost_samples_check_weights(samples, err));
    if (family == PBOOST_LINEAR && n_coef > samples->x->cols + FEW_MODELS)
        TRY(losses_by_gram(loss, samples, coef, n_coef, threads, err));
    else
        TRY(losses_by_pass(loss, family, samples, coef, n_coef, threads, err));
    share = (family == PBOOST_LINEAR ? 2.0 : 1.0) / pboost_samples_total_weight(samples);
    for (size_t k = 0; k < n_coef; k++) {
        loss[k] *= share;
        if (!isfinite(loss[k])) {
            TRY(pboost_samples_find_nonfinite(samples, err));
            /* The sums of a pass overflow in other places than the losses do. */
            TRY(pboost_measure_all(&exact, family, samples, &coef[k], threads, err));
            loss[k] = exact.measure[0].value;
        }
    }
done:
    return st;
}

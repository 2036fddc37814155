/* Prediction: linear predictors and means of the rows of a table, a panel of rows at a time. */
#include "fit/predict.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "data/family.h"
#include "data/matrix.h"
#include "passes/chunks.h"
#include "try.h"

#define MIN_PANEL_ROWS 64
#define CHUNK_ROWS ((size_t)1 << 13)

typedef struct {
    const pboost_samples *samples;
    const double *theta; /* padded */
    double intercept;
    size_t blocks, capacity, work_size;
    double *work, *eta;
    pboost_family family;
    bool means; /* eta becomes the mean */
    atomic_bool bad;
} predict_task;

static void predict_chunk(void *context, size_t chunk, int worker)
{
    predict_task *t = context;
    const pboost_samples *s = t->samples;
    const glm_kernels *kernels = pboost_glm_kernels();
    size_t end = smaller((chunk + 1) * CHUNK_ROWS, s->n);
    for (size_t at = chunk * CHUNK_ROWS; at < end; at += t->capacity) {
        size_t count = smaller(t->capacity, end - at);
        panel_rows rows = {at, count, 1, NULL};
        const double *x =
            pboost_panel_gather(t->work + (size_t)worker * t->work_size, t->capacity, s, rows);
        double *eta = t->eta + at;
        kernels->eta(
            eta, (glm_panel){.x = x, .capacity = t->capacity, .count = count, .blocks = t->blocks},
            t->theta, t->intercept);
        for (size_t i = 0; s->offset != NULL && i < count; i++)
            eta[i] += s->offset[pboost_samples_row(s, at + i)];
        if (!kernels->all_finite(eta, count))
            atomic_store(&t->bad, true);
        if (t->means)
            kernels->family[t->family].mean(eta, eta, count);
    }
}

pboost_status pboost_models_check(pboost_family family, const pboost_samples *samples,
                                  bool need_target, const pboost_coef *coef, size_t n_coef,
                                  int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_family_check(family, err));
    TRY(pboost_samples_check(samples, need_target, err));
    if (threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", threads);
    for (size_t k = 0; k < n_coef; k++)
        if (coef[k].n != samples->x->cols)
            FAIL(err, PBOOST_INVALID, "model %zu has %zu coefficients for %zu columns", k,
                 coef[k].n, samples->x->cols);
    for (size_t k = 0; k < n_coef; k++) {
        for (size_t j = 0; j < coef[k].n; j++)
            if (!isfinite(coef[k].theta[j]))
                FAIL(err, PBOOST_BAD_DATA, "weight %zu of model %zu is %g; it must be finite", j, k,
                     coef[k].theta[j]);
        if (!isfinite(coef[k].intercept))
            FAIL(err, PBOOST_BAD_DATA, "the intercept of model %zu is %g; it must be finite", k,
                 coef[k].intercept);
    }
done:
    return st;
}

/* Refuses a predictor whose terms overflow in both directions: nothing is known of its mean. */
static pboost_status refuse_nan(const double *value, const pboost_samples *samples,
                                pboost_error *err)
{
    for (size_t i = 0; i < samples->n; i++)
        if (isnan(value[i]))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the linear predictor of row %zu is %g: the products of weights and "
                               "features overflow; the weights are too large for these features",
                               pboost_samples_row(samples, i), value[i]);
    return PBOOST_OK;
}

/* out[i] = eta or mean of sample i.  Refuses features and offsets that are not finite; a predictor
 * that overflows to plus or minus infinity has a mean, if only an infinite one. */
static pboost_status predict(pboost_workspace *memory, double *out, pboost_family family,
                             bool means, const pboost_samples *samples, const pboost_coef *coef,
                             int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *theta = NULL, *work = NULL;
    size_t padded = pboost_panel_blocks(coef->n) * PANEL_LANES;
    size_t n_chunks = (samples->n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    double work_ns = pboost_row_ns(padded) * (double)samples->n;
    size_t n_workers = smaller((size_t)pboost_threads_for(threads, work_ns), n_chunks);
    predict_task t = {.samples = samples,
                      .intercept = coef->intercept,
                      .blocks = padded / PANEL_LANES,
                      .capacity = pboost_panel_rows(padded, MIN_PANEL_ROWS),
                      .eta = out,
                      .family = family,
                      .means = means};
    t.work_size = t.capacity * padded;
    NEED(theta = pboost_acquire_zeros(memory, padded, sizeof *theta), err);
    NEED(work = pboost_acquire(memory, n_workers * t.work_size + PANEL_LANES, sizeof *work), err);
    t.work = pboost_panel_align(work);
    memcpy(theta, coef->theta, coef->n * sizeof *theta);
    t.theta = theta;
    pboost_parallel(n_chunks, (int)n_workers, predict_chunk, &t);
    if (atomic_load(&t.bad)) {
        pboost_samples features = *samples;
        features.target = features.weight = NULL;
        TRY(pboost_samples_find_nonfinite(&features, err));
        TRY(refuse_nan(out, samples, err));
    }
done:
    pboost_release(memory, theta);
    pboost_release(memory, work);
    return st;
}

pboost_status pboost_predict_eta(double *eta, const pboost_samples *samples,
                                 const pboost_coef *coef, int threads, pboost_error *err)
{
    return predict(NULL, eta, PBOOST_LINEAR, false, samples, coef, threads, err);
}

pboost_status pboost_predict(double *mean, pboost_family family, const pboost_samples *samples,
                             const pboost_coef *coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_models_check(family, samples, false, coef, 1, threads, err));
    TRY(predict(NULL, mean, family, true, samples, coef, threads, err));
done:
    return st;
}

pboost_status pboost_score(double *score, pboost_family family, const pboost_samples *samples,
                           const pboost_coef *coef, int threads, pboost_workspace *work,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_models_check(family, samples, false, coef, 1, threads, err));
    TRY(predict(work, score, family, true, samples, coef, threads, err));
    if (family == PBOOST_POISSON)
        pboost_limit_scores(score, samples->n);
done:
    return st;
}

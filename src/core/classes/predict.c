/* Probabilities of classes, and intervals of them. */
#include <math.h>
#include <string.h>

#include <priorboost/classes.h>

#include "base/parallel.h"
#include "data/matrix.h"
#include "fit/predict.h"
#include "large.h"
#include "try.h"

pboost_status pboost_class_coef_init(pboost_class_coef *out, size_t classes, size_t cols,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *out = (pboost_class_coef){.classes = classes, .cols = cols};
    NEED(out->theta = calloc(classes * (cols + 1) + 1, sizeof *out->theta), err);
done:
    if (st != PBOOST_OK)
        *out = (pboost_class_coef){0};
    return st;
}

void pboost_class_coef_free(pboost_class_coef *coef)
{
    free(coef->theta);
    *coef = (pboost_class_coef){0};
}

size_t pboost_class_weights(size_t classes, size_t cols)
{
    size_t n;
    if (classes == 0 || cols == SIZE_MAX || __builtin_mul_overflow(classes - 1, cols + 1, &n))
        return SIZE_MAX;
    return n;
}

static pboost_coef of_class(const pboost_class_coef *coef, size_t c)
{
    double *theta = coef->theta + c * (coef->cols + 1);
    return (pboost_coef){coef->cols, theta, theta[coef->cols]};
}

/* p, the linear predictors by class, become probabilities. */
static void softmax(double *p, size_t classes)
{
    double most = p[0], sum = 0.0;
    for (size_t c = 1; c < classes; c++)
        most = fmax(most, p[c]);
    for (size_t c = 0; c < classes; c++) /* an infinite predictor is certain */
        sum += p[c] = p[c] == most ? 1.0 : exp(p[c] - most);
    for (size_t c = 0; c < classes; c++)
        p[c] /= sum;
}

pboost_status pboost_classes_predict(double *probability, const pboost_samples *samples,
                                     const pboost_class_coef *coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t classes = coef->classes;
    pboost_samples rows = {.x = samples->x, .row = samples->row, .n = samples->n};
    double *eta = NULL;

    if (classes == 0)
        FAIL(err, PBOOST_INVALID, "the model has no classes");
    NEED(eta = pboost_alloc_large(samples->n, sizeof *eta), err);
    for (size_t c = 0; c < classes; c++) {
        pboost_coef model = of_class(coef, c);
        TRY(pboost_models_check(PBOOST_LINEAR, &rows, false, &model, 1, threads, err));
        TRY(pboost_predict_eta(eta, &rows, &model, threads, err));
        for (size_t i = 0; i < rows.n; i++)
            probability[i * classes + c] = eta[i];
    }
    for (size_t i = 0; i < rows.n; i++)
        softmax(probability + i * classes, classes);
done:
    free(eta);
    return st;
}

/* ---- Intervals ------------------------------------------------------------------------------- */

#define CHUNK_ROWS 64

typedef struct {
    const pboost_samples *samples;
    const double *covariance, *probability;
    double *lower, *upper, *work; /* work: by worker */
    size_t classes, cols, work_size;
    double z;
} interval_task;

/* eta (classes x classes, row and column 0 are 0) = the covariance of the linear predictors of the
 * row z = (x, 1). */
static void predictor_covariance(double *eta, double *product, const double *z,
                                 const interval_task *t)
{
    size_t n = t->classes, d = t->cols + 1, all = (n - 1) * d;
    memset(eta, 0, n * n * sizeof *eta);
    for (size_t a = 1; a < n; a++) {
        memset(product, 0, all * sizeof *product);
        for (size_t j = 0; j < d; j++) {
            const double *row = t->covariance + ((a - 1) * d + j) * all;
            for (size_t k = 0; k < all; k++)
                product[k] += z[j] * row[k];
        }
        for (size_t b = 1; b < n; b++)
            for (size_t k = 0; k < d; k++)
                eta[a * n + b] += product[(b - 1) * d + k] * z[k];
    }
}

/* The log odds of class c against all others have the slope 1 by their own predictor and
 * -p_a / (1 - p_c) by that of another class a. */
static double odds_error(const double *eta, const double *p, size_t c, size_t n)
{
    double sum = 0.0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            double left = a == c ? 1.0 : -p[a] / (1.0 - p[c]);
            double right = b == c ? 1.0 : -p[b] / (1.0 - p[c]);
            sum += left * right * eta[a * n + b];
        }
    return sum > 0.0 ? sqrt(sum) : 0.0;
}

static void interval_chunk(void *context, size_t chunk, int worker)
{
    const interval_task *t = context;
    const pboost_samples *s = t->samples;
    size_t n = t->classes, end = (chunk + 1) * CHUNK_ROWS < s->n ? (chunk + 1) * CHUNK_ROWS : s->n;
    double *z = t->work + (size_t)worker * t->work_size, *eta = z + t->cols + 1;
    double *product = eta + n * n;
    for (size_t i = chunk * CHUNK_ROWS; i < end; i++) {
        const double *p = t->probability + i * n;
        for (size_t j = 0; j < t->cols; j++)
            z[j] = pboost_matrix_at(s->x, pboost_samples_row(s, i), j);
        z[t->cols] = 1.0;
        predictor_covariance(eta, product, z, t);
        for (size_t c = 0; c < n; c++) {
            bool certain = !(p[c] > 0.0 && p[c] < 1.0);
            double odds = log(p[c] / (1.0 - p[c]));
            double reach = certain ? 0.0 : t->z * odds_error(eta, p, c, n);
            t->lower[i * n + c] = certain ? p[c] : 1.0 / (1.0 + exp(reach - odds));
            t->upper[i * n + c] = certain ? p[c] : 1.0 / (1.0 + exp(-reach - odds));
        }
    }
}

pboost_status pboost_classes_predict_interval(double *lower, double *upper,
                                              const pboost_samples *samples,
                                              const pboost_class_coef *coef,
                                              const double *covariance, double level, int threads,
                                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = coef->classes, weights = pboost_class_weights(n, coef->cols);
    size_t chunks = (samples->n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    size_t workers = (size_t)pboost_threads(threads);
    double *probability = NULL;
    interval_task task = {.samples = samples,
                          .covariance = covariance,
                          .lower = lower,
                          .upper = upper,
                          .classes = n,
                          .cols = coef->cols,
                          .work_size = coef->cols + 1 + n * n + weights};

    TRY(pboost_level_check(level, err));
    for (size_t i = 0; i < weights * weights; i++)
        if (!isfinite(covariance[i]))
            FAIL(err, PBOOST_BAD_DATA, "entry %zu, %zu of the covariance is %g; it must be finite",
                 i / weights, i % weights, covariance[i]);
    NEED(probability = pboost_alloc_large(samples->n * n, sizeof *probability), err);
    NEED(task.work = pboost_alloc(workers * task.work_size, sizeof *task.work), err);
    TRY(pboost_classes_predict(probability, samples, coef, threads, err));
    task.probability = probability;
    task.z = pboost_normal_quantile(level);
    pboost_parallel(chunks, threads, interval_chunk, &task);
done:
    free(probability);
    free(task.work);
    return st;
}

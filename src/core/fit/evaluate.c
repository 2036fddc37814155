/* Evaluation: the losses of many models, and every measure of one.
 *
 * The losses of many models come from one pass: a panel of rows is turned so that registers hold
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
    size_t n_workers = smaller((size_t)pboost_threads(threads), n_chunks);
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
    pboost_parallel(n_chunks, threads, losses_chunk, &t);
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

/* ---- Measures -------------------------------------------------------------------------------- */

/* What the measures are made of, by sample. */
typedef struct {
    size_t n;
    double *eta, *mean, *weight;
    const double *y;
    double total, y_mean;
} scored;

static pboost_status scored_init(scored *out, pboost_family family, const pboost_samples *samples,
                                 const pboost_coef *coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = samples->n;
    scored s = {.n = n, .y = samples->target, .total = pboost_samples_total_weight(samples)};
    NEED(s.eta = pboost_alloc(n, 3 * sizeof *s.eta), err);
    s.mean = s.eta + n;
    s.weight = s.mean + n;
    TRY(pboost_predict_eta(s.eta, samples, coef, threads, err));
    pboost_family_kernels(family)->mean(s.mean, s.eta, n);
    for (size_t i = 0; i < n; i++) {
        s.weight[i] =
            samples->weight != NULL ? samples->weight[pboost_samples_row(samples, i)] : 1.0;
        s.y_mean += s.weight[i] * s.y[i] / s.total;
    }
done:
    *out = s;
    return st;
}

static double mean_over(const scored *s, double (*term)(const scored *s, size_t i))
{
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->weight[i] > 0.0 ? s->weight[i] * term(s, i) : 0.0; /* the term may be infinite */
    return sum / s->total;
}

static double squared_error(const scored *s, size_t i)
{
    double r = s->y[i] - s->mean[i];
    return r * r;
}

static double absolute_error(const scored *s, size_t i)
{
    return fabs(s->y[i] - s->mean[i]);
}

static double squared_deviation(const scored *s, size_t i)
{
    double r = s->y[i] - s->y_mean;
    return r * r;
}

/* Where eta is infinite the loss is 0 or infinite, whatever the rounding of its parts. */
static double loss_at_infinity(pboost_family family, const scored *s, size_t i)
{
    double slope = pboost_family_info(family)->slope_at_infinity(s->y[i], copysign(1.0, s->eta[i]));
    return slope == 0.0 ? 0.0 : slope * INFINITY;
}

static double log_loss(const scored *s, size_t i)
{
    double e = s->eta[i];
    if (isinf(e))
        return loss_at_infinity(PBOOST_LOGISTIC, s, i);
    return fmax(e, 0.0) - s->y[i] * e + log1p(exp(-fabs(e)));
}

static double right(const scored *s, size_t i)
{
    return (s->eta[i] >= 0.0) == (s->y[i] == 1.0);
}

static double poisson_loss(const scored *s, size_t i)
{
    if (isinf(s->eta[i]))
        return loss_at_infinity(PBOOST_POISSON, s, i);
    return s->mean[i] - (s->y[i] > 0.0 ? s->y[i] * s->eta[i] : 0.0);
}

static double deviance(const scored *s, size_t i)
{
    double y = s->y[i];
    if (isinf(s->mean[i]))
        return INFINITY;
    return 2.0 * (s->mean[i] - y + (y > 0.0 ? y * (log(y) - s->eta[i]) : 0.0));
}

static double null_deviance(const scored *s, size_t i)
{
    double y = s->y[i];
    return y > 0.0 ? 2.0 * y * log(y / s->y_mean) : 0.0;
}

/* 1 - error / error of the constant model, where that is not perfect already. */
static double explained(double error, double of_constant)
{
    return of_constant > 0.0 ? 1.0 - error / of_constant : NAN;
}

typedef struct {
    double eta, positive, negative;
} ranked;

static int by_eta(const void *a, const void *b)
{
    double x = ((const ranked *)a)->eta, y = ((const ranked *)b)->eta;
    return (x > y) - (x < y);
}

/* The chance that a positive scores above a negative, ties counting half; NaN if there is one class
 * only. */
static pboost_status auc(double *out, const scored *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double below = 0.0, positives = 0.0, wins = 0.0;
    ranked *order = NULL;
    NEED(order = pboost_alloc(s->n, sizeof *order), err);
    for (size_t i = 0; i < s->n; i++) {
        double w = s->weight[i];
        order[i] = (ranked){s->eta[i], s->y[i] == 1.0 ? w : 0.0, s->y[i] == 1.0 ? 0.0 : w};
    }
    qsort(order, s->n, sizeof *order, by_eta);
    for (size_t i = 0, next; i < s->n; i = next) {
        double positive = 0.0, negative = 0.0;
        for (next = i; next < s->n && order[next].eta == order[i].eta; next++) {
            positive += order[next].positive;
            negative += order[next].negative;
        }
        wins += positive * (below + 0.5 * negative);
        below += negative;
        positives += positive;
    }
    *out = positives > 0.0 && below > 0.0 ? wins / (positives * below) : NAN;
done:
    free(order);
    return st;
}

static void add_measure(pboost_evaluation *out, const char *name, double value)
{
    out->measure[out->n_measures++] = (pboost_measure){name, value};
}

static pboost_status linear_measures(pboost_evaluation *out, const scored *s, pboost_error *err)
{
    (void)err;
    double mse = mean_over(s, squared_error);
    add_measure(out, "loss", mse);
    add_measure(out, "mse", mse);
    add_measure(out, "rmse", sqrt(mse));
    add_measure(out, "mae", mean_over(s, absolute_error));
    add_measure(out, "r2", explained(mse, mean_over(s, squared_deviation)));
    return PBOOST_OK;
}

static pboost_status logistic_measures(pboost_evaluation *out, const scored *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double area = NAN, loss = mean_over(s, log_loss);
    TRY(auc(&area, s, err));
    add_measure(out, "loss", loss);
    add_measure(out, "log_loss", loss);
    add_measure(out, "auc", area);
    add_measure(out, "accuracy", mean_over(s, right));
    add_measure(out, "brier", mean_over(s, squared_error));
done:
    return st;
}

static pboost_status poisson_measures(pboost_evaluation *out, const scored *s, pboost_error *err)
{
    (void)err;
    double dev = mean_over(s, deviance);
    add_measure(out, "loss", mean_over(s, poisson_loss));
    add_measure(out, "deviance", dev);
    add_measure(out, "d2", explained(dev, mean_over(s, null_deviance)));
    add_measure(out, "mae", mean_over(s, absolute_error));
    return PBOOST_OK;
}

/* All measures of the family, `loss` first. */
static pboost_status measure(pboost_evaluation *out, pboost_family family,
                             const pboost_samples *samples, const pboost_coef *coef, int threads,
                             pboost_error *err)
{
    static pboost_status (*const measures[])(pboost_evaluation *, const scored *,
                                             pboost_error *) = {
        [PBOOST_LINEAR] = linear_measures,
        [PBOOST_LOGISTIC] = logistic_measures,
        [PBOOST_POISSON] = poisson_measures,
    };
    pboost_status st = PBOOST_OK;
    scored s = {0};
    *out = (pboost_evaluation){.rows = samples->n};
    TRY(scored_init(&s, family, samples, coef, threads, err));
    TRY(measures[family](out, &s, err));
done:
    free(s.eta);
    return st;
}

pboost_status pboost_evaluate(pboost_evaluation *out, pboost_family family,
                              const pboost_samples *samples, const pboost_coef *coef, int threads,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_models_check(family, samples, true, coef, 1, threads, err));
    TRY(pboost_family_check_labels(family, samples, err));
    TRY(pboost_samples_check_weights(samples, err));
    TRY(measure(out, family, samples, coef, threads, err));
done:
    if (st != PBOOST_OK)
        *out = (pboost_evaluation){0};
    return st;
}

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
            TRY(measure(&exact, family, samples, &coef[k], threads, err));
            loss[k] = exact.measure[0].value;
        }
    }
done:
    return st;
}

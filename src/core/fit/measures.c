/* Every measure of one model, from samples that may come in blocks.
 *
 * All measures are sums over samples but the area under the ROC curve, which compares each positive
 * with each negative, and calibration, which needs the samples in order.  So of logistic models the
 * predictors of all samples are kept, 8 bytes each (16 with weights), and of other models, if there
 * is calibration, means and labels: 16 bytes. */
#include "fit/measures.h"

#include <math.h>
#include <string.h>

#include "data/family.h"
#include "data/matrix.h"
#include "fit/calibration.h"
#include "fit/predict.h"
#include "try.h"

enum { MAX_TERMS = 3 };

/* The predictors of a class, and their weights behind them where there are any. */
typedef struct {
    double *item; /* eta, or eta and weight */
    size_t n, capacity;
} class_scores;

struct pboost_evaluator {
    pboost_family family;
    size_t rows, width;       /* of an item; 0: no block came yet */
    double total;             /* of the weights */
    double sum[MAX_TERMS];    /* of the family's terms */
    double y_mean, y_squares; /* of the labels, and their squared deviations from it */
    double y_unit, y_log;     /* the first positive label u, and the sum of y log(y / u) */
    class_scores negative, positive;
    class_scores pairs;      /* mean and label, of other families; not kept: calibrates is false */
    bool calibrates, sorted; /* they are in order */
    bool overflow;           /* a mean is not finite */
};

/* ---- Terms ----------------------------------------------------------------------------------- */

/* A sample: linear predictor, mean, label. */
typedef struct {
    double eta, mean, y;
} scored;

typedef double term(const scored *s);

static double squared_error(const scored *s)
{
    double r = s->y - s->mean;
    return r * r;
}

static double absolute_error(const scored *s)
{
    return fabs(s->y - s->mean);
}

/* Where eta is infinite the loss is 0 or infinite, whatever the rounding of its parts. */
static double loss_at_infinity(pboost_family family, const scored *s)
{
    double slope = pboost_family_info(family)->slope_at_infinity(s->y, copysign(1.0, s->eta));
    return slope == 0.0 ? 0.0 : slope * INFINITY;
}

static double log_loss(const scored *s)
{
    double e = s->eta;
    if (isinf(e))
        return loss_at_infinity(PBOOST_LOGISTIC, s);
    return fmax(e, 0.0) - s->y * e + log1p(exp(-fabs(e)));
}

static double right(const scored *s)
{
    return (s->eta >= 0.0) == (s->y == 1.0);
}

static double poisson_loss(const scored *s)
{
    if (isinf(s->eta))
        return loss_at_infinity(PBOOST_POISSON, s);
    return s->mean - (s->y > 0.0 ? s->y * s->eta : 0.0);
}

static double deviance(const scored *s)
{
    double y = s->y;
    if (isinf(s->mean))
        return INFINITY;
    return 2.0 * (s->mean - y + (y > 0.0 ? y * (log(y) - s->eta) : 0.0));
}

/* ---- Area under the ROC curve ---------------------------------------------------------------- */

static pboost_status keep_score(class_scores *c, size_t width, double eta, double weight,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(c->item, c->capacity, (c->n + 1) * width, err);
    c->item[c->n * width] = eta;
    if (width > 1)
        c->item[c->n * width + 1] = weight;
    c->n++;
done:
    return st;
}

static void sort_scores(pboost_evaluator *e)
{
    if (e->sorted)
        return;
    pboost_sort_items(e->negative.item, e->negative.n, e->width);
    pboost_sort_items(e->positive.item, e->positive.n, e->width);
    pboost_sort_items(e->pairs.item, e->pairs.n, 2);
    e->sorted = true;
}

/* The weight of the items from *at on whose eta is v, or less than v; moves *at behind them. */
static double pass_until(const class_scores *c, size_t width, size_t *at, double v, bool equal)
{
    double sum = 0.0;
    for (; *at < c->n; ++*at) {
        const double *item = c->item + *at * width;
        if (!(item[0] < v || (equal && item[0] == v)))
            break;
        sum += width > 1 ? item[1] : 1.0;
    }
    return sum;
}

/* The chance that a positive scores above a negative, ties counting half; NaN if there is one class
 * only. */
static double auc(const pboost_evaluator *e)
{
    double below = 0.0, positives = 0.0, wins = 0.0;
    size_t i = 0, j = 0;

    while (i < e->positive.n) {
        double v = e->positive.item[i * e->width];
        double here = pass_until(&e->positive, e->width, &i, v, true);
        below += pass_until(&e->negative, e->width, &j, v, false);
        double equal = pass_until(&e->negative, e->width, &j, v, true);
        wins += here * (below + 0.5 * equal);
        below += equal;
        positives += here;
    }
    below += pass_until(&e->negative, e->width, &j, INFINITY, true);
    return positives > 0.0 && below > 0.0 ? wins / (positives * below) : NAN;
}

/* ---- Families -------------------------------------------------------------------------------- */

static void add_measure(pboost_evaluation *out, const char *name, double value)
{
    out->measure[out->n_measures++] = (pboost_measure){name, value};
}

/* 1 - error / error of the constant model, where that is not perfect already. */
static double explained(double error, double of_constant)
{
    return of_constant > 0.0 ? 1.0 - error / of_constant : NAN;
}

/* `mean` has the means of the family's terms. */
static void linear_measures(pboost_evaluation *out, const pboost_evaluator *e, const double *mean)
{
    add_measure(out, "loss", mean[0]);
    add_measure(out, "mse", mean[0]);
    add_measure(out, "rmse", sqrt(mean[0]));
    add_measure(out, "mae", mean[1]);
    add_measure(out, "r2", explained(mean[0], e->y_squares / e->total));
}

static void logistic_measures(pboost_evaluation *out, const pboost_evaluator *e, const double *mean)
{
    add_measure(out, "loss", mean[0]);
    add_measure(out, "log_loss", mean[0]);
    add_measure(out, "auc", auc(e));
    add_measure(out, "accuracy", mean[1]);
    add_measure(out, "brier", mean[2]);
}

static void poisson_measures(pboost_evaluation *out, const pboost_evaluator *e, const double *mean)
{
    double y = e->y_mean;
    double of_constant =
        y > 0.0 ? 2.0 * (e->y_log / e->total - y * log(y / e->y_unit)) : 0.0; /* y log(y / mean) */

    add_measure(out, "loss", mean[0]);
    add_measure(out, "deviance", mean[1]);
    add_measure(out, "d2", explained(mean[1], of_constant));
    add_measure(out, "mae", mean[2]);
}

/* The terms, and the measures made of their means: `loss` first. */
static const struct {
    term *term[MAX_TERMS];
    void (*measures)(pboost_evaluation *out, const pboost_evaluator *e, const double *mean);
} MEASURES[] = {
    [PBOOST_LINEAR] = {{squared_error, absolute_error}, linear_measures},
    [PBOOST_LOGISTIC] = {{log_loss, right, squared_error}, logistic_measures},
    [PBOOST_POISSON] = {{poisson_loss, deviance, absolute_error}, poisson_measures},
};

/* ---- Blocks ---------------------------------------------------------------------------------- */

static double weight_of(const pboost_samples *s, size_t i)
{
    return s->weight != NULL ? s->weight[pboost_samples_row(s, i)] : 1.0;
}

/* Mean and squared deviations of the block's labels, taken around its first, are joined with those
 * of the blocks before.  Equal labels then have no deviation at all. */
static void add_labels(pboost_evaluator *e, const pboost_samples *s)
{
    double first = s->target[0], total = pboost_samples_total_weight(s), mean = 0.0, squares = 0.0;

    for (size_t i = 0; i < s->n; i++)
        mean += weight_of(s, i) * (s->target[i] - first) / total;
    mean += first;
    for (size_t i = 0; i < s->n; i++) {
        double w = weight_of(s, i), y = s->target[i], r = y - mean;
        squares += w * r * r;
        if (y > 0.0 && e->y_unit == 0.0)
            e->y_unit = y;
        e->y_log += y > 0.0 ? w * y * log(y / e->y_unit) : 0.0;
    }
    double between = mean - e->y_mean, share = total / (e->total + total);
    e->y_squares += squares + between * between * share * e->total;
    e->y_mean += between * share;
    e->total += total;
}

static pboost_status add_scores(pboost_evaluator *e, const pboost_samples *samples,
                                const double *eta, const double *mean, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = samples->n;
    double sum[MAX_TERMS] = {0};

    if (e->width != 0 && (e->width > 1) != (samples->weight != NULL))
        FAIL(err, PBOOST_INVALID, "some blocks of samples have weights and others do not");
    e->width = samples->weight != NULL ? 2 : 1;
    e->sorted = false;
    for (size_t i = 0; i < n; i++) {
        const scored s = {eta[i], mean[i], samples->target[i]};
        double w = weight_of(samples, i);
        for (size_t k = 0; k < MAX_TERMS && w > 0.0; k++) /* the term may be infinite */
            if (MEASURES[e->family].term[k] != NULL)
                sum[k] += w * MEASURES[e->family].term[k](&s);
        if (e->family == PBOOST_LOGISTIC)
            TRY(keep_score(s.y == 1.0 ? &e->positive : &e->negative, e->width, s.eta, w, err));
        else if (e->calibrates)
            TRY(keep_score(&e->pairs, 2, s.mean, s.y, err));
        e->overflow = e->overflow || !isfinite(s.mean);
    }
    for (size_t k = 0; k < MAX_TERMS; k++)
        e->sum[k] += sum[k];
    add_labels(e, samples);
    e->rows += n;
done:
    return st;
}

static pboost_status add_block(pboost_evaluator *e, const pboost_samples *samples,
                               const pboost_coef *coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *eta = NULL, *mean;

    NEED(eta = pboost_alloc(samples->n, 2 * sizeof *eta), err);
    mean = eta + samples->n;
    TRY(pboost_predict_eta(eta, samples, coef, threads, err));
    pboost_family_kernels(e->family)->mean(mean, eta, samples->n);
    TRY(add_scores(e, samples, eta, mean, err));
done:
    free(eta);
    return st;
}

static void finish(pboost_evaluation *out, pboost_evaluator *e)
{
    double mean[MAX_TERMS];

    sort_scores(e);
    for (size_t k = 0; k < MAX_TERMS; k++)
        mean[k] = e->sum[k] / e->total;
    out->rows = e->rows;
    MEASURES[e->family].measures(out, e, mean);
}

static void clear(pboost_evaluator *e)
{
    free(e->negative.item);
    free(e->positive.item);
    free(e->pairs.item);
}

/* ---- The public side ------------------------------------------------------------------------- */

pboost_status pboost_evaluator_create(pboost_evaluator **out, pboost_family family,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = NULL;
    TRY(pboost_family_check(family, err));
    NEED(*out = calloc(1, sizeof **out), err);
    (*out)->family = family;
    (*out)->calibrates = true;
done:
    return st;
}

pboost_status pboost_evaluator_add(pboost_evaluator *e, const pboost_samples *samples,
                                   const pboost_coef *coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_models_check(e->family, samples, true, coef, 1, threads, err));
    TRY(pboost_family_check_labels(e->family, samples, err));
    TRY(pboost_samples_check_weights(samples, err));
    TRY(add_block(e, samples, coef, threads, err));
done:
    return st;
}

/* The linear predictor that has this mean. */
static double eta_of(pboost_family family, double mean)
{
    return family == PBOOST_LINEAR     ? mean
           : family == PBOOST_LOGISTIC ? log(mean) - log1p(-mean)
                                       : log(mean);
}

pboost_status pboost_evaluator_add_means(pboost_evaluator *e, const pboost_samples *samples,
                                         const double *mean, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *eta = NULL;

    if (samples->n == 0 || samples->target == NULL)
        FAIL(err, PBOOST_INVALID, "there are no samples with labels");
    TRY(pboost_family_check_labels(e->family, samples, err));
    TRY(pboost_samples_check_weights(samples, err));
    NEED(eta = pboost_alloc(samples->n, sizeof *eta), err);
    for (size_t i = 0; i < samples->n; i++) {
        eta[i] = eta_of(e->family, mean[i]);
        if (isnan(eta[i]))
            FAIL(err, PBOOST_BAD_DATA, "the predicted mean of sample %zu is %g", i, mean[i]);
    }
    TRY(add_scores(e, samples, eta, mean, err));
done:
    free(eta);
    return st;
}

pboost_status pboost_evaluator_finish(pboost_evaluation *out, pboost_evaluator *e,
                                      pboost_error *err)
{
    *out = (pboost_evaluation){0};
    if (e->rows == 0)
        return pboost_fail(err, PBOOST_BAD_DATA, "there are no samples to evaluate");
    finish(out, e);
    return PBOOST_OK;
}

/* The samples of both classes, or the pairs, in the order of their means. */
typedef struct {
    const pboost_evaluator *e;
    size_t negative, positive, pair;
} walk;

static void next_sample(void *from, double *mean, double *label)
{
    walk *w = from;
    const pboost_evaluator *e = w->e;
    size_t i = w->negative, j = w->positive, width = e->width;

    if (e->family != PBOOST_LOGISTIC) {
        *mean = e->pairs.item[2 * w->pair];
        *label = e->pairs.item[2 * w->pair++ + 1];
        return;
    }
    bool positive = i == e->negative.n || (j < e->positive.n && e->positive.item[j * width] <
                                                                    e->negative.item[i * width]);
    double eta = positive ? e->positive.item[j * width] : e->negative.item[i * width];
    pboost_family_kernels(e->family)->mean(mean, &eta, 1);
    *label = positive ? 1.0 : 0.0;
    w->positive += positive;
    w->negative += !positive;
}

pboost_status pboost_evaluator_calibrate(pboost_calibration *out, pboost_evaluator *e,
                                         size_t groups, pboost_error *err)
{
    walk w = {.e = e};

    *out = (pboost_calibration){0};
    if (e->overflow)
        return PBOOST_OK;
    sort_scores(e);
    return pboost_calibration_cut(out, e->rows, groups, next_sample, &w, err);
}

void pboost_evaluator_free(pboost_evaluator *e)
{
    if (e == NULL)
        return;
    clear(e);
    free(e);
}

pboost_status pboost_measure_all(pboost_evaluation *out, pboost_family family,
                                 const pboost_samples *samples, const pboost_coef *coef,
                                 int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_evaluator e = {.family = family};

    *out = (pboost_evaluation){0};
    TRY(add_block(&e, samples, coef, threads, err));
    finish(out, &e);
done:
    clear(&e);
    return st;
}

pboost_status pboost_evaluate(pboost_evaluation *out, pboost_family family,
                              const pboost_samples *samples, const pboost_coef *coef, int threads,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_evaluator e = {.family = family};

    *out = (pboost_evaluation){0};
    TRY(pboost_evaluator_add(&e, samples, coef, threads, err));
    finish(out, &e);
done:
    clear(&e);
    return st;
}

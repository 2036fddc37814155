/* The paper's data: Gaussian features, and labels from a generalised linear model.
 *
 * Every number is drawn by (seed, purpose, stream, row), so that any part of the endless table can
 * be made by itself, by any number of threads. */
#include <math.h>

#include <priorboost/theory.h>

#include "base/options.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "try.h"

enum { CHUNK_ROWS = 1024, ROW_BITS = 40, DRAW_BITS = 16 };
#define POISSON_LIMIT 1e12

/* An odd multiple of 2^-53, so neither 0 nor 1. */
static double unit_open(uint64_t word)
{
    return (double)(2 * (word >> 12) + 1) * 0x1p-53;
}

/* Deviates first .. first+n of an endless sequence, of which a pair of words makes two. */
static void normals(double *out, size_t n, uint64_t seed, rng_purpose purpose, uint64_t stream,
                    uint64_t first)
{
    double pair[2];

    if (first % 2 == 1 && n > 0) {
        pboost_rng_normals(pair, 1, seed, purpose, stream, first / 2);
        *out++ = pair[1];
        first++;
        n--;
    }
    pboost_rng_normals(out, n / 2, seed, purpose, stream, first / 2);
    if (n % 2 == 1) {
        pboost_rng_normals(pair, 1, seed, purpose, stream, (first + n) / 2);
        out[n - 1] = pair[0];
    }
}

/* ---- Responses ------------------------------------------------------------------------------- */

/* The uniform deviates of one row's response. */
typedef struct {
    uint64_t seed, stream, index, word[2];
    int left;
} deviates;

static double next_unit(deviates *d)
{
    if (d->left == 0) {
        pboost_rng_words(d->word, d->seed, RNG_RESPONSES, d->stream, d->index++);
        d->left = 2;
    }
    return unit_open(d->word[--d->left]);
}

/* By adding up probabilities from 0 on. */
static double poisson_small(double mean, deviates *d)
{
    double u = next_unit(d), probability = exp(-mean), count = 0;

    while (u > probability && probability > 0) {
        u -= probability;
        count++;
        probability *= mean / count;
    }
    return count;
}

/* Hörmann's transformed rejection with squeeze (PTRS, 1993), for means of 10 and more. */
static double poisson_large(double mean, deviates *d)
{
    double b = 0.931 + 2.53 * sqrt(mean);
    double a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    double squeeze = 0.9277 - 3.6224 / (b - 2);
    double log_mean = log(mean);

    for (;;) {
        double u = next_unit(d) - 0.5, v = next_unit(d);
        double edge = 0.5 - fabs(u);
        double count = floor((2 * a / edge + b) * u + mean + 0.43);
        int sign;
        if (edge >= 0.07 && v <= squeeze)
            return count;
        if (count < 0 || (edge < 0.013 && v > edge))
            continue;
        if (log(v * inverse_alpha / (a / (edge * edge) + b)) <=
            count * log_mean - mean - lgamma_r(count + 1, &sign))
            return count;
    }
}

static double draw_linear(const pboost_synthetic *s, double eta, deviates *d)
{
    (void)s;
    (void)d;
    return eta;
}

static double draw_logistic(const pboost_synthetic *s, double eta, deviates *d)
{
    if (s->round_labels)
        return eta > 0 ? 1 : 0;
    return next_unit(d) < 1 / (1 + exp(-eta)) ? 1 : 0;
}

/* NaN where the mean is too large to count to. */
static double draw_poisson(const pboost_synthetic *s, double eta, deviates *d)
{
    double mean = exp(eta);
    (void)s;
    if (!(mean <= POISSON_LIMIT))
        return NAN;
    return mean < 10 ? poisson_small(mean, d) : poisson_large(mean, d);
}

static double (*const DRAW[])(const pboost_synthetic *, double, deviates *) = {
    [PBOOST_LINEAR] = draw_linear,
    [PBOOST_LOGISTIC] = draw_logistic,
    [PBOOST_POISSON] = draw_poisson,
};
enum { N_FAMILIES = sizeof DRAW / sizeof *DRAW };

/* ---- The table ------------------------------------------------------------------------------- */

static pboost_status read(pboost_synthetic *s, const pboost_synthetic *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *s = (pboost_synthetic)PBOOST_SYNTHETIC_INIT;
    TRY(OPTIONS_READ(s, given, PBOOST_SYNTHETIC_INIT, err));
    if ((unsigned)s->family >= N_FAMILIES)
        FAIL(err, PBOOST_INVALID, "family is %d; it must be linear, logistic or poisson",
             (int)s->family);
    if (s->features == 0 || s->features > 1 << DRAW_BITS)
        FAIL(err, PBOOST_INVALID, "features is %zu; it must be between 1 and %d", s->features,
             1 << DRAW_BITS);
    if (!(s->noise >= 0) || !isfinite(s->noise))
        FAIL(err, PBOOST_INVALID, "noise is %g; it must be 0 or a positive number", s->noise);
    if (s->round_labels && s->family != PBOOST_LOGISTIC)
        FAIL(err, PBOOST_INVALID, "round_labels is for the logistic family only");
done:
    return st;
}

pboost_status pboost_synthetic_theta(double *theta, const pboost_synthetic *given,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_synthetic own, *s = &own;
    double square = 0;

    TRY(read(s, given, err));
    normals(theta, s->features, s->seed, RNG_THETA, 0, 0);
    if (s->family == PBOOST_POISSON) {
        for (size_t j = 0; j < s->features; j++)
            square += theta[j] * theta[j];
        for (size_t j = 0; j < s->features; j++)
            theta[j] *= 0.5 / sqrt(square);
    }
done:
    return st;
}

typedef struct {
    double *x, *y;
    const pboost_synthetic *s;
    const double *theta;
    uint64_t stream;
    size_t first, n;
} table;

static double make_label(const double *x, double noise, const table *t, uint64_t row)
{
    const pboost_synthetic *s = t->s;
    deviates d = {.seed = s->seed, .stream = t->stream, .index = row << DRAW_BITS};
    double eta = s->noise * noise;

    for (size_t j = 0; j < s->features; j++)
        eta += x[j] * t->theta[j];
    return DRAW[s->family](s, eta, &d);
}

static void make_chunk(void *context, size_t chunk, int worker)
{
    const table *t = context;
    const pboost_synthetic *s = t->s;
    size_t from = chunk * CHUNK_ROWS, n = t->n - from < CHUNK_ROWS ? t->n - from : CHUNK_ROWS;
    double *x = t->x + from * s->features, noise[CHUNK_ROWS];
    uint64_t row = t->first + from;
    (void)worker;

    normals(x, n * s->features, s->seed, RNG_FEATURES, t->stream, row * s->features);
    normals(noise, n, s->seed, RNG_LABELS, t->stream, row);
    for (size_t i = 0; i < n; i++)
        t->y[from + i] = make_label(x + i * s->features, noise[i], t, row + i);
}

pboost_status pboost_synthetic_rows(double *x, double *y, const pboost_synthetic *given,
                                    const double *theta, uint64_t stream, size_t first, size_t n,
                                    int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_synthetic own, *s = &own;
    table t = {x, y, s, theta, stream, first, n};
    const size_t limit = (size_t)1 << ROW_BITS;

    TRY(read(s, given, err));
    if (first > limit || n > limit - first)
        FAIL(err, PBOOST_INVALID, "rows %zu and %zu more are asked for; the table ends at row 2^%d",
             first, n, ROW_BITS);
    for (size_t j = 0; j < s->features; j++)
        if (!isfinite(theta[j]))
            FAIL(err, PBOOST_INVALID, "theta[%zu] is %g; it must be finite", j, theta[j]);
    pboost_parallel((n + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, make_chunk, &t);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            FAIL(err, PBOOST_INVALID,
                 "row %zu has no label: theta or noise is too large (Poisson means go up to %g)",
                 first + i, POISSON_LIMIT);
done:
    return st;
}

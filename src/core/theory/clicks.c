/* A click log: categories with heavy-tailed vocabularies, numbers with missing cells, and clicks
 * from a logistic model in which most values weigh nothing.
 *
 * Every number is drawn by (seed, purpose, stream, row), as in synthetic.c. */
#include <math.h>

#include <priorboost/theory.h>

#include "base/options.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "try.h"

enum {
    CATEGORIES = PBOOST_CLICKS_CATEGORIES,
    NUMBERS = PBOOST_CLICKS_NUMBERS,
    SEGMENTS = 8,       /* of visitors */
    OF_SEGMENT = 3,     /* every third category has a vocabulary for each segment */
    CHUNK_ROWS = 256,   /* of a thread */
    ROW_BITS = 40,      /* rows of a table */
    ROW_DRAWS = 64,     /* words of a row */
    CALIBRATION = 8192, /* rows that set the intercept */
    WEIGHTS = 1 << 10,  /* streams of RNG_THETA: weights of categories, of numbers */
};

static const double SMALLEST = 8.0, LARGEST = 1e6; /* vocabularies */
static const double WEIGHING = 1.0 / 3.0;          /* of the values weigh anything */
static const double WEIGHT_SD = 0.4, NUMBER_SD = 0.2, MISSING = 0.05;
static const uint64_t CALIBRATION_STREAM = UINT64_C(1) << 32;

/* Above 0 and below 1. */
static double unit(uint64_t word)
{
    return (double)(2 * (word >> 12) + 1) * 0x1p-53;
}

size_t pboost_clicks_levels(size_t category)
{
    double size = SMALLEST * pow(LARGEST / SMALLEST, (double)category / (CATEGORIES - 1));
    return (size_t)(size / SEGMENTS + 0.5) * SEGMENTS;
}

/* From 0 to n-1, the r-th with a probability of about 1/r. */
static size_t heavy_tailed(double u, size_t n)
{
    size_t r = (size_t)exp(u * log((double)n + 1.0));
    return r < 1 ? 0 : r > n ? n - 1 : r - 1;
}

static double normal(uint64_t seed, rng_purpose purpose, uint64_t stream, uint64_t index)
{
    double pair[2];
    pboost_rng_normals(pair, 1, seed, purpose, stream, index);
    return pair[0];
}

/* ---- The truth ------------------------------------------------------------------------------- */

double pboost_clicks_weight(const pboost_clicks *c, size_t category, size_t level)
{
    uint64_t key = pboost_rng_key(c->seed, RNG_LABELS, WEIGHTS + category, level);
    return unit(key) < WEIGHING ? WEIGHT_SD * normal(c->seed, RNG_THETA, WEIGHTS + category, level)
                                : 0.0;
}

double pboost_clicks_number_weight(const pboost_clicks *c, size_t number)
{
    return NUMBER_SD * normal(c->seed, RNG_THETA, WEIGHTS + CATEGORIES, number);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Four decimals, as they are printed; 5 % are missing. */
static double draw_number(const pboost_clicks *c, uint64_t stream, uint64_t index)
{
    uint64_t key = pboost_rng_key(c->seed, RNG_LABELS, stream, index);
    double z = normal(c->seed, RNG_FEATURES, stream, index);
    return unit(key) < MISSING ? NAN : round(z * 1e4) / 1e4;
}

/* Returns the linear predictor without its intercept. */
static double draw_row(uint32_t *level, double *number, const pboost_clicks *c,
                       const double *number_weight, uint64_t stream, uint64_t row)
{
    uint64_t index = row * ROW_DRAWS, word[2];
    double eta = 0.0;

    pboost_rng_words(word, c->seed, RNG_FEATURES, stream, index++);
    size_t segment = heavy_tailed(unit(word[0]), SEGMENTS);
    for (size_t j = 0; j < CATEGORIES; j++) {
        size_t n = pboost_clicks_levels(j);
        if (j % 2 == 0)
            pboost_rng_words(word, c->seed, RNG_FEATURES, stream, index++);
        double u = unit(word[j % 2]);
        level[j] =
            (uint32_t)(j % OF_SEGMENT == 0 ? SEGMENTS * heavy_tailed(u, n / SEGMENTS) + segment
                                           : heavy_tailed(u, n));
        eta += pboost_clicks_weight(c, j, level[j]);
    }
    for (size_t j = 0; j < NUMBERS; j++) {
        number[j] = draw_number(c, stream, index++);
        eta += isnan(number[j]) ? 0.0 : number[j] * number_weight[j];
    }
    return eta;
}

typedef struct {
    uint32_t *level;
    double *number, *label; /* label: eta where there is no intercept yet */
    const pboost_clicks *c;
    double number_weight[NUMBERS], intercept;
    bool labels;
    uint64_t stream;
    size_t first, n;
} log_rows;

static void make_chunk(void *context, size_t chunk, int worker)
{
    const log_rows *t = context;
    size_t from = chunk * CHUNK_ROWS, end = from + CHUNK_ROWS < t->n ? from + CHUNK_ROWS : t->n;
    (void)worker;

    for (size_t i = from; i < end; i++) {
        uint64_t row = t->first + i;
        double eta = draw_row(t->level + i * CATEGORIES, t->number + i * NUMBERS, t->c,
                              t->number_weight, t->stream, row);
        uint64_t coin = pboost_rng_key(t->c->seed, RNG_RESPONSES, t->stream, row);
        t->label[i] = !t->labels                                              ? eta
                      : unit(coin) < 1.0 / (1.0 + exp(-(eta + t->intercept))) ? 1.0
                                                                              : 0.0;
    }
}

static pboost_status read(pboost_clicks *c, const pboost_clicks *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *c = (pboost_clicks)PBOOST_CLICKS_INIT;
    TRY(OPTIONS_READ(c, given, PBOOST_CLICKS_INIT, err));
    if (!(c->rate > 0.0 && c->rate < 1.0))
        FAIL(err, PBOOST_INVALID, "rate is %g; it must be between 0 and 1", c->rate);
done:
    return st;
}

static void make_rows(log_rows *t, int threads)
{
    for (size_t j = 0; j < NUMBERS; j++)
        t->number_weight[j] = pboost_clicks_number_weight(t->c, j);
    pboost_parallel((t->n + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, make_chunk, t);
}

/* By bisection: the mean probability of rows that no table has is the rate. */
pboost_status pboost_clicks_intercept(double *out, const pboost_clicks *given, int threads,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_clicks c;
    double low = -50.0, high = 50.0;
    log_rows t = {.c = &c, .stream = CALIBRATION_STREAM, .n = CALIBRATION};

    TRY(read(&c, given, err));
    NEED(t.level = pboost_alloc(CALIBRATION * CATEGORIES, sizeof *t.level), err);
    NEED(t.number = pboost_alloc(CALIBRATION * NUMBERS, sizeof *t.number), err);
    NEED(t.label = pboost_alloc(CALIBRATION, sizeof *t.label), err);
    make_rows(&t, threads);
    while (high - low > 1e-9) {
        double middle = (low + high) / 2.0, sum = 0.0;
        for (size_t i = 0; i < CALIBRATION; i++)
            sum += 1.0 / (1.0 + exp(-(t.label[i] + middle)));
        *(sum < c.rate * CALIBRATION ? &low : &high) = middle;
    }
    *out = low;
done:
    free(t.level);
    free(t.number);
    free(t.label);
    return st;
}

pboost_status pboost_clicks_rows(uint32_t *level, double *number, double *label,
                                 const pboost_clicks *given, double intercept, uint64_t stream,
                                 size_t first, size_t n, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_clicks c;
    const size_t limit = (size_t)1 << ROW_BITS;
    log_rows t = {.level = level,
                  .number = number,
                  .label = label,
                  .c = &c,
                  .intercept = intercept,
                  .labels = true,
                  .stream = stream,
                  .first = first,
                  .n = n};

    TRY(read(&c, given, err));
    if (first > limit || n > limit - first)
        FAIL(err, PBOOST_INVALID, "rows %zu and %zu more are asked for; the table ends at row 2^%d",
             first, n, ROW_BITS);
    if (stream >= CALIBRATION_STREAM)
        FAIL(err, PBOOST_INVALID, "the stream must be below 2^32");
    make_rows(&t, threads);
done:
    return st;
}

/* One realization of the paper's data.
 *
 * The logistic experiments use the linear one's theta*, features and noise.  The draws depend on
 * the seed alone and not on the family, and round(sigmoid(v)) = [v > 0], so the labels follow from
 * the linear responses. */
#include "data.h"

#include <math.h>

#include "try.h"

enum { TRAIN_STREAM = 0, TEST_STREAM = 1 };

/* The library reads rows of eight features in place where they start cache lines. */
static double *alloc_features(size_t n)
{
    enum { LINE = 64 };
    size_t bytes;
    if (__builtin_mul_overflow(n, sizeof(double), &bytes) || bytes > SIZE_MAX - LINE)
        return NULL;
    return aligned_alloc(LINE, (bytes / LINE + 1) * LINE);
}

static void table_free(data_table *table)
{
    free(table->x);
    free(table->y);
    free(table->label);
    free(table->bit);
    *table = (data_table){0};
}

static pboost_status table_make(data_table *out, const pboost_synthetic *s, const double *theta,
                                uint64_t stream, size_t rows, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    out->rows = rows;
    NEED(out->x = alloc_features(rows * s->features), err);
    NEED(out->y = pboost_alloc(rows, sizeof *out->y), err);
    NEED(out->label = pboost_alloc(rows, sizeof *out->label), err);
    NEED(out->bit = pboost_alloc(rows, sizeof *out->bit), err);
    TRY(pboost_synthetic_rows(out->x, out->y, s, theta, stream, 0, rows, threads, err));
    for (size_t i = 0; i < rows; i++) {
        const double *x = out->x + i * s->features;
        double square = 0.0;
        for (size_t j = 0; j < s->features; j++)
            square += x[j] * x[j];
        out->longest = square > out->longest ? square : out->longest;
        out->bit[i] = out->y[i] > 0.0;
        out->label[i] = out->bit[i];
    }
    out->longest = sqrt(out->longest);
done:
    return st;
}

pboost_status repro_data_make(repro_data *out, const data_key *key, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;

    *out = (repro_data){.key = *key};
    s.family = PBOOST_LINEAR;
    s.features = key->features;
    s.noise = key->noise;
    s.seed = key->seed;
    NEED(out->theta = pboost_alloc(key->features, sizeof *out->theta), err);
    TRY(pboost_synthetic_theta(out->theta, &s, err));
    TRY(table_make(&out->train, &s, out->theta, TRAIN_STREAM, key->rows, threads, err));
    TRY(table_make(&out->test, &s, out->theta, TEST_STREAM, key->test_rows, threads, err));
done:
    if (st != PBOOST_OK)
        repro_data_free(out);
    return st;
}

void repro_data_free(repro_data *data)
{
    free(data->theta);
    table_free(&data->train);
    table_free(&data->test);
    *data = (repro_data){0};
}

const double *repro_data_responses(const data_table *table, pboost_family family)
{
    return family == PBOOST_LINEAR ? table->y : table->label;
}

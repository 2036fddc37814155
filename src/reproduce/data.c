/* One realization of the paper's data.
 *
 * The logistic experiments use the linear one's theta*, features and noise.  The draws depend on
 * the seed alone and not on the family, and round(sigmoid(v)) = [v > 0], so the labels follow from
 * the linear responses.
 *
 * Passes over eight features turn their rows into columns.  A training table is read hundreds of
 * times, so it is turned once, here. */
#include "data.h"

#include <math.h>

#include "data/matrix.h"
#include "kernels/glm.h"
#include "try.h"

enum { TRAIN_STREAM = 0, TEST_STREAM = 1, LINE = 64 };

/* The library reads rows of eight features in place where they start cache lines. */
static double *alloc_features(size_t n)
{
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
    out->features = s->features;
    out->row_stride = (ptrdiff_t)s->features;
    out->col_stride = 1;
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

/* Puts the columns one after the other, each from a cache line on, and not all at the same distance
 * from a multiple of a page: a cache has few places for such addresses. */
static pboost_status turn(data_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = table->features, pitch = (table->rows / LINE + 1) * LINE;
    double *columns = NULL;

    if (pitch * sizeof *columns % 4096 == 0)
        pitch += LINE;
    NEED(columns = alloc_features(pitch * d), err);
    for (size_t first = 0; first < table->rows; first += LINE)
        for (size_t j = 0; j < d; j++)
            for (size_t i = first; i < first + LINE && i < table->rows; i++)
                columns[j * pitch + i] = table->x[i * d + j];
    free(table->x);
    table->x = columns;
    table->row_stride = 1;
    table->col_stride = (ptrdiff_t)pitch;
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
    if (key->features == PANEL_LANES)
        TRY(turn(&out->train, err));
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

pboost_matrix repro_data_rows(const data_table *table, size_t first, size_t n)
{
    pboost_matrix x =
        pboost_matrix_f64(table->x + (ptrdiff_t)first * table->row_stride, n, table->features);
    x.row_stride = table->row_stride;
    x.col_stride = table->col_stride;
    return x;
}

void repro_data_predict(double *mean, const data_table *table, size_t first, size_t n,
                        pboost_family family, const pboost_coef *coef)
{
    const glm_kernels *kernels = pboost_glm_kernels();
    const double *x = table->x + (ptrdiff_t)first * table->row_stride;
    size_t whole = n / PANEL_LANES * PANEL_LANES; /* kernels write whole registers */
    const glm_table rows = {
        .x = x, .row_stride = table->row_stride, .count = whole, .cols = table->features};

    if (table->row_stride == 1)
        kernels->eta_columns(mean, x, (size_t)table->col_stride, whole, table->features,
                             coef->theta, coef->intercept);
    else if (table->features >= PANEL_LANES)
        kernels->eta_table(mean, &rows, coef->theta, coef->intercept);
    else
        whole = 0;
    for (size_t i = whole; i < n; i++) {
        const double *row = x + (ptrdiff_t)i * table->row_stride;
        mean[i] = coef->intercept;
        for (size_t j = 0; j < table->features; j++)
            mean[i] += row[(ptrdiff_t)j * table->col_stride] * coef->theta[j];
    }
    kernels->family[family].mean(mean, mean, n);
}

/* The variances of single labels under a model, and its linear predictor over the rows. */
#include <math.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "fit/overlap/overlap_fit.h"
#include "passes/chunks.h"

#define MIN_PANEL_ROWS 64
#define CHUNK_ROWS ((size_t)1 << 12)

size_t pboost_row_variance_work(size_t cols, size_t n_rows, int threads)
{
    size_t padded = pboost_panel_blocks(cols) * PANEL_LANES;
    size_t workers =
        smaller((size_t)pboost_threads(threads), (n_rows + CHUNK_ROWS - 1) / CHUNK_ROWS);
    return padded + larger(workers, 1) * pboost_panel_rows(padded, MIN_PANEL_ROWS) * (padded + 1);
}

typedef struct {
    row_variances *out;
    const shared_bags *bags;
    const bag_units *units;
    pboost_family family;
    double intercept;
    size_t padded, capacity;
} variance_task;

static void variance_chunk(void *context, size_t chunk, int worker)
{
    const variance_task *t = context;
    const bag_rows *table = t->bags->table;
    const glm_kernels *kernels = pboost_glm_kernels();
    double *panel = t->out->work + t->padded + (size_t)worker * t->capacity * (t->padded + 1);
    double *mean = panel + t->capacity * t->padded;
    pboost_samples samples = {.x = table->x, .row = t->bags->used, .n = t->bags->n_rows};
    size_t end = smaller((chunk + 1) * CHUNK_ROWS, samples.n);
    for (size_t at = chunk * CHUNK_ROWS; at < end; at += t->capacity) {
        size_t count = smaller(t->capacity, end - at);
        panel_rows rows = {at, count, 1, t->units->shift};
        glm_panel loaded = {.x = pboost_panel_gather(panel, t->capacity, &samples, rows),
                            .capacity = t->capacity,
                            .count = count,
                            .blocks = t->padded / PANEL_LANES};
        double *eta = t->out->eta + at, *variance = t->out->variance + at;
        kernels->eta(eta, loaded, t->out->work, t->intercept);
        for (size_t i = 0; table->offset != NULL && i < count; i++)
            eta[i] += table->offset[samples.row[at + i]];
        kernels->family[t->family].moments(mean, variance, eta, count);
        for (size_t i = 0; table->weight != NULL && i < count; i++)
            variance[i] /= table->weight[samples.row[at + i]];
    }
}

void pboost_row_variances(row_variances *out, const shared_bags *bags, const standard_units *units,
                          pboost_family family, const double *parameter, bool intercept,
                          int threads)
{
    size_t n = bags->n_rows, padded = pboost_panel_blocks(units->cols) * PANEL_LANES;
    double level = intercept ? parameter[0] : 0.0, sum = 0.0, square = 0.0;
    for (size_t j = 0; j < padded; j++) {
        out->work[j] = j < units->cols ? parameter[intercept + j] / units->scale[j] : 0.0;
        level -= j < units->cols ? out->work[j] * units->center[j] : 0.0;
    }
    variance_task task = {
        out, bags, &units->units, family, level, padded, pboost_panel_rows(padded, MIN_PANEL_ROWS)};
    pboost_parallel((n + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, variance_chunk, &task);
    for (size_t i = 0; i < n; i++) {
        sum += out->eta[i];
        square += out->eta[i] * out->eta[i];
    }
    out->eta_mean = sum / (double)n;
    out->eta_sd = sqrt(fmax(square / (double)n - out->eta_mean * out->eta_mean, 0.0));
}

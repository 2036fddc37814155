/* Passes over bags.  See bag_pass.h.
 *
 * Rows are gathered into panels in the order of the bags; a bag may cross panels of its chunk, and
 * its sums continue in the next panel.  The Gram matrix is over bags instead of rows, with the
 * jacobian in place of the features. */
#include "passes/bag_pass.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "kernels/prefetch.h"
#include "passes/chunks.h"
#include "try.h"

#define MIN_PANEL_ROWS 64

static void local_moments(bag_moments *out, bag_pass *pass, const double *parameter);
static void local_gram(double *gram, double *vector, bag_pass *pass, const bag_moments *moments,
                       const double *weight, const double *residual);
static pboost_status local_features(bag_pass *out, const bag_pass *pass, pboost_error *err);

static const bag_pass_class LOCAL = {local_moments, local_gram, local_features};

/* ---- Plan ------------------------------------------------------------------------------------ */

/* Chunk c ends with the first bag that gives it its number of rows. */
static void cut_chunks(bag_pass *p)
{
    const size_t *start = p->bags.start;
    size_t rows = start[p->bags.n_bags] - start[0], bag = 0;
    for (size_t c = 0; c < p->n_chunks; c++) {
        size_t goal = start[0] + rows / p->n_chunks * c + rows % p->n_chunks * c / p->n_chunks;
        while (bag < p->bags.n_bags && start[bag] < goal)
            bag++;
        p->chunk_start[c] = bag;
    }
    p->chunk_start[p->n_chunks] = p->bags.n_bags;
}

pboost_status pboost_bagpass_init(bag_pass *out, const bag_rows *bags, pboost_family family,
                                  bool intercept, const bag_units *units, int threads,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = bags->start[bags->n_bags] - bags->start[0];
    size_t cols = bags->x->cols;
    bag_pass p = {.class = &LOCAL,
                  .bags = *bags,
                  .family = family,
                  .intercept = intercept,
                  .threads = threads,
                  .kernels = pboost_glm_kernels(),
                  .cols = cols,
                  .n_parameters = cols + intercept};
    if (units != NULL)
        p.units = *units;
    p.blocks = pboost_panel_blocks(p.cols);
    p.padded = p.blocks * PANEL_LANES;
    p.stride = pboost_panel_blocks(p.n_parameters) * PANEL_LANES;
    p.capacity = pboost_panel_rows(larger(p.padded, p.stride), MIN_PANEL_ROWS);
    p.sums_size = p.stride * (p.stride + 1);
    p.n_chunks = pboost_chunk_count(rows, p.padded, p.sums_size);
    p.n_chunks = larger(1, smaller(p.n_chunks, bags->n_bags));
    p.n_workers = smaller((size_t)pboost_threads(threads), p.n_chunks);
    p.work_size = p.capacity * (larger(p.padded, p.stride) + 3) + p.padded + p.stride;
    *out = (bag_pass){0};
    NEED(p.chunk_start = pboost_alloc(p.n_chunks + 1, sizeof *p.chunk_start), err);
    NEED(p.theta = calloc(p.padded, sizeof *p.theta), err);
    NEED(p.work = pboost_alloc(p.n_workers * p.work_size, sizeof *p.work), err);
    NEED(p.sums = pboost_alloc(p.n_chunks * p.sums_size, sizeof *p.sums), err);
    cut_chunks(&p);
    *out = p;
    p = (bag_pass){0};
done:
    pboost_bagpass_free(&p);
    return st;
}

void pboost_bagpass_free(bag_pass *pass)
{
    free(pass->chunk_start);
    free(pass->theta);
    free(pass->work);
    free(pass->sums);
    *pass = (bag_pass){0};
}

pboost_status pboost_bag_moments_init(bag_moments *out, const bag_pass *pass, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pass->bags.n_bags;
    *out = (bag_moments){0};
    NEED(out->mean = pboost_alloc(n, sizeof *out->mean), err);
    NEED(out->variance = pboost_alloc(n, sizeof *out->variance), err);
    NEED(out->parameter = pboost_alloc(pass->n_parameters, sizeof *out->parameter), err);
    if (pass->stride > 0)
        NEED(out->jacobian = pboost_alloc(n * pass->stride, sizeof *out->jacobian), err);
done:
    if (st != PBOOST_OK)
        pboost_bag_moments_free(out);
    return st;
}

void pboost_bag_moments_free(bag_moments *moments)
{
    free(moments->mean);
    free(moments->variance);
    free(moments->jacobian);
    free(moments->parameter);
    *moments = (bag_moments){0};
}

/* ---- Moments --------------------------------------------------------------------------------- */

static size_t rows_of(const bag_pass *pass)
{
    return pass->bags.start[pass->bags.n_bags] - pass->bags.start[0];
}

typedef struct {
    bag_pass *pass;
    bag_moments *out;
    double intercept; /* in the units of x, less the shift */
} moments_task;

/* The sums over the current bag. */
typedef struct {
    double mean, slope, variance;
    double *product; /* of b'' x */
} bag_sums;

/* The sums over rows become means, in the caller's units. */
static void finish_bag(const moments_task *task, size_t bag, const bag_sums *sums)
{
    const bag_pass *p = task->pass;
    const bag_units *u = &p->units;
    double size = (double)(p->bags.start[bag + 1] - p->bags.start[bag]);
    double *jacobian = task->out->jacobian + bag * p->stride, slope = sums->slope / size;
    task->out->mean[bag] = sums->mean / size;
    task->out->variance[bag] = sums->variance / (size * size);
    if (p->intercept)
        *jacobian++ = slope;
    for (size_t j = 0; j < p->cols; j++) {
        double mean = sums->product[j] / size;
        jacobian[j] = u->scale != NULL ? (mean - u->center[j] * slope) / u->scale[j] : mean;
    }
    memset(jacobian + p->cols, 0, (p->stride - p->n_parameters) * sizeof *jacobian);
}

/* Rows of a chunk: a panel, or the table's own memory. */
typedef struct {
    glm_panel panel;
    glm_table table; /* count 0: it is a panel */
} loaded_rows;

/* Rows are used as the table has them; eight columns are a panel already. */
bool pboost_bagpass_takes_rows(const pboost_matrix *x)
{
    return pboost_matrix_has_whole_rows(x) && x->cols > PANEL_LANES;
}

static size_t row_at(const bag_pass *p, size_t at)
{
    return p->bags.row != NULL ? p->bags.row[at] : at;
}

/* Puts `count` rows side by side into `to`; `end` is where the rows of the chunk end. */
static void copy_rows(double *restrict to, const bag_pass *p, size_t at, size_t count, size_t end)
{
    const pboost_matrix *x = p->bags.x;
    const double *restrict shift = p->units.shift;
    for (size_t i = at; i < at + count; i++, to += p->cols) {
        const double *restrict from = pboost_matrix_row(x, row_at(p, i));
        if (i + ROWS_AHEAD < end)
            pboost_prefetch_row(pboost_matrix_row(x, row_at(p, i + ROWS_AHEAD)), p->cols);
        if (shift == NULL)
            memcpy(to, from, p->cols * sizeof *to);
        for (size_t j = 0; shift != NULL && j < p->cols; j++)
            to[j] = from[j] - shift[j];
    }
}

/* `count` rows of a table that has whole rows: in place, or copied where they are not neighbours.
 */
static glm_table find_rows(const bag_pass *p, double *work, size_t at, size_t count, size_t end)
{
    bool in_place = p->bags.row == NULL && p->units.shift == NULL;
    glm_table table = {.x = in_place ? pboost_matrix_row(p->bags.x, at) : work,
                       .row_stride = in_place ? p->bags.x->row_stride : (ptrdiff_t)p->cols,
                       .count = count,
                       .cols = p->cols};
    if (!in_place)
        copy_rows(work, p, at, count, end);
    return table;
}

/* `count` rows from position `at` on, with their linear predictors. */
static loaded_rows load_rows(double *eta, const moments_task *task, double *work, size_t at,
                             size_t count, size_t end)
{
    const bag_pass *p = task->pass;
    loaded_rows loaded = {0};
    if (pboost_bagpass_takes_rows(p->bags.x)) {
        loaded.table = find_rows(p, work, at, count, end);
        p->kernels->eta_table(eta, &loaded.table, p->theta, task->intercept);
    } else {
        pboost_samples samples = {.x = p->bags.x, .row = p->bags.row, .n = at + count};
        panel_rows rows = {at, count, 1, p->units.shift};
        loaded.panel = (glm_panel){.x = pboost_panel_gather(work, p->capacity, &samples, rows),
                                   .capacity = p->capacity,
                                   .count = count,
                                   .blocks = p->blocks};
        p->kernels->eta(eta, loaded.panel, p->theta, task->intercept);
    }
    for (size_t r = 0; p->bags.offset != NULL && r < count; r++)
        eta[r] += p->bags.offset[row_at(p, at + r)];
    return loaded;
}

/* product += the sum of weight_r x_r over rows first .. last-1. */
static void add_product(double *product, const bag_pass *p, const loaded_rows *rows,
                        const double *weight, size_t first, size_t last)
{
    glm_table part = rows->table;
    if (part.count == 0) {
        p->kernels->product(product, rows->panel, weight, first, last);
        return;
    }
    part.x += (ptrdiff_t)first * part.row_stride;
    part.count = last - first;
    p->kernels->gradient_table(product, &part, weight + first);
}

static void add_rows(bag_sums *sums, const bag_pass *p, size_t at, const double *mean,
                     const double *variance, size_t count)
{
    double v = p->kernels->sum(variance, count);
    sums->mean += p->kernels->sum(mean, count);
    sums->slope += v;
    if (p->bags.weight != NULL) {
        v = 0.0;
        for (size_t r = 0; r < count; r++) {
            double w = p->bags.weight[row_at(p, at + r)];
            v += w > 0.0 ? variance[r] / w : INFINITY;
        }
    }
    sums->variance += v;
}

static void moments_chunk(void *context, size_t chunk, int worker)
{
    const moments_task *task = context;
    const bag_pass *p = task->pass;
    const size_t *start = p->bags.start;
    double *work = p->work + (size_t)worker * p->work_size;
    double *eta = work + p->capacity * larger(p->padded, p->stride);
    double *mean = eta + p->capacity, *variance = mean + p->capacity;
    bag_sums sums = {.product = variance + p->capacity};
    double *total = p->sums + chunk * p->sums_size;
    size_t bag = p->chunk_start[chunk], end = start[p->chunk_start[chunk + 1]];
    total[0] = total[1] = 0.0;
    memset(sums.product, 0, p->padded * sizeof *sums.product);

    for (size_t at = start[bag]; at < end; at += p->capacity) {
        size_t count = smaller(p->capacity, end - at);
        loaded_rows rows = load_rows(eta, task, work, at, count, end);
        p->kernels->family[p->family].moments(mean, variance, eta, count);
        total[0] += p->kernels->sum(eta, count);
        total[1] += p->kernels->dot(eta, eta, count);
        for (size_t r = 0; r < count;) {
            size_t last = smaller(start[bag + 1] - at, count);
            add_rows(&sums, p, at + r, mean + r, variance + r, last - r);
            add_product(sums.product, p, &rows, variance, r, last);
            r = last;
            if (start[bag + 1] > at + r)
                break;
            finish_bag(task, bag++, &sums);
            sums.mean = sums.slope = sums.variance = 0.0;
            memset(sums.product, 0, p->padded * sizeof *sums.product);
        }
    }
}

static void local_moments(bag_moments *out, bag_pass *pass, const double *parameter)
{
    const double *theta = parameter + pass->intercept;
    const bag_units *u = &pass->units;
    double intercept = pass->intercept ? parameter[0] : 0.0, sum = 0.0, square = 0.0;
    for (size_t j = 0; j < pass->cols; j++) {
        pass->theta[j] = u->scale != NULL ? theta[j] / u->scale[j] : theta[j];
        intercept -= u->scale != NULL ? pass->theta[j] * u->center[j] : 0.0;
    }
    moments_task task = {pass, out, intercept};
    double work = 2.0 * pboost_row_ns(pass->padded) * (double)rows_of(pass);
    pboost_parallel(pass->n_chunks, pboost_threads_for(pass->threads, work), moments_chunk, &task);
    for (size_t c = 0; c < pass->n_chunks; c++) {
        sum += pass->sums[c * pass->sums_size];
        square += pass->sums[c * pass->sums_size + 1];
    }
    double rows = (double)(pass->bags.start[pass->bags.n_bags] - pass->bags.start[0]);
    out->eta_mean = sum / rows;
    out->eta_sd = sqrt(fmax(square / rows - out->eta_mean * out->eta_mean, 0.0));
}

/* ---- Gram matrix ----------------------------------------------------------------------------- */

typedef struct {
    bag_pass *pass;
    const bag_moments *moments;
    const double *weight, *residual;
    size_t bags_per_chunk;
} gram_task;

static void gram_chunk(void *context, size_t chunk, int worker)
{
    const gram_task *task = context;
    const bag_pass *p = task->pass;
    double *gram = p->sums + chunk * p->sums_size, *vector = gram + p->stride * p->stride;
    double *work = p->work + (size_t)worker * p->work_size;
    double *product = work + p->capacity * larger(p->padded, p->stride);
    size_t first = chunk * task->bags_per_chunk;
    size_t end = smaller(first + task->bags_per_chunk, p->bags.n_bags);
    pboost_matrix jacobian = pboost_matrix_f64(task->moments->jacobian, p->bags.n_bags, p->stride);
    pboost_samples samples = {.x = &jacobian, .n = p->bags.n_bags};
    memset(gram, 0, p->sums_size * sizeof *gram);
    for (size_t at = first; at < end; at += p->capacity) {
        panel_rows rows = {at, smaller(p->capacity, end - at), 1, NULL};
        const double *x = pboost_panel_gather(work, p->capacity, &samples, rows);
        glm_panel panel = {.x = x,
                           .capacity = p->capacity,
                           .count = rows.count,
                           .blocks = p->stride / PANEL_LANES};
        p->kernels->gram(gram, panel, task->weight + at);
        if (task->residual == NULL)
            continue;
        for (size_t r = 0; r < rows.count; r++)
            product[r] = task->weight[at + r] * task->residual[at + r];
        p->kernels->product(vector, panel, product, 0, rows.count);
    }
}

static void local_gram(double *gram, double *vector, bag_pass *pass, const bag_moments *moments,
                       const double *weight, const double *residual)
{
    size_t n = pass->n_parameters, chunks = pass->n_chunks;
    gram_task task = {pass, moments, weight, vector != NULL ? residual : NULL,
                      (pass->bags.n_bags + chunks - 1) / chunks};
    double bag = GRAM_NS * (double)pass->sums_size + pboost_row_ns(pass->padded);
    pboost_parallel(chunks, pboost_threads_for(pass->threads, bag * (double)pass->bags.n_bags),
                    gram_chunk, &task);
    for (size_t c = 1; c < chunks; c++)
        for (size_t i = 0; i < pass->sums_size; i++)
            pass->sums[i] += pass->sums[c * pass->sums_size + i];
    for (size_t i = 0; i < n; i++)
        memcpy(gram + i * n, pass->sums + i * pass->stride, (i + 1) * sizeof *gram);
    if (vector != NULL)
        memcpy(vector, pass->sums + pass->stride * pass->stride, n * sizeof *vector);
}

/* The derivative of a linear model's mean prediction is the mean of the features. */
static pboost_status local_features(bag_pass *out, const bag_pass *pass, pboost_error *err)
{
    bag_rows rows = pass->bags;
    rows.offset = rows.weight = NULL;
    return pboost_bagpass_init(out, &rows, PBOOST_LINEAR, false,
                               pass->units.scale != NULL ? &pass->units : NULL, pass->threads, err);
}

/* ---- Rows on this machine or on others ------------------------------------------------------- */

void pboost_bagpass_run(bag_moments *out, bag_pass *pass, const double *parameter)
{
    memcpy(out->parameter, parameter, pass->n_parameters * sizeof *parameter);
    pass->class->moments(out, pass, parameter);
}

void pboost_bagpass_gram(double *gram, double *vector, bag_pass *pass, const bag_moments *moments,
                         const double *weight, const double *residual)
{
    pass->class->gram(gram, vector, pass, moments, weight, residual);
}

pboost_status pboost_bagpass_features(bag_pass *out, const bag_pass *pass, pboost_error *err)
{
    return pass->class->features(out, pass, err);
}

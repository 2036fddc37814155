/* The pass over the rows of bags.  See pass.h. */
#include "classes/pass.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "passes/chunks.h"
#include "try.h"

#define LEAST_PANEL 128 /* rows: at least those of one bag, PBOOST_MAX_CLASSES */

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Pairs of classes c >= c'. */
static size_t pairs(const class_pass *p)
{
    return p->classes * (p->classes + 1) / 2;
}

/* Chunks of about as many rows each, whole bags. */
static void cut_bags(class_pass *p)
{
    size_t rows = p->start[p->n_bags], bag = 0;
    for (size_t c = 0; c <= p->n_chunks; c++) {
        while (bag < p->n_bags && p->start[bag] < rows / p->n_chunks * c)
            bag++;
        p->chunk_start[c] = c == p->n_chunks ? p->n_bags : bag;
    }
}

pboost_status pboost_class_pass_init(class_pass *out, const gathered_rows *gathered,
                                     const size_t *start, size_t n_bags, size_t classes,
                                     bool intercept, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cols = gathered->matrix.cols, width = cols + intercept;

    *out = (class_pass){.x = gathered->x,
                        .weight = gathered->weight,
                        .n_bags = n_bags,
                        .start = start,
                        .classes = classes,
                        .cols = cols,
                        .width = width,
                        .n_parameters = (classes - 1) * width,
                        .intercept = intercept,
                        .threads = threads,
                        .kernels = pboost_glm_kernels()};
    out->stride = pboost_panel_blocks(out->n_parameters) * PANEL_LANES;
    out->capacity = pboost_panel_rows(out->stride, LEAST_PANEL);
    out->sums_size = out->stride * (out->stride + 1);
    out->n_chunks = pboost_chunk_count(start[n_bags], width * classes, out->sums_size);
    /* A panel with its weights; p; the sums over a bag; its jacobian; how rows are combined. */
    out->work_size = out->capacity * (out->stride + 1) + 2 * classes + width +
                     pairs(out) * (width + 1) +
                     classes * (larger(out->stride, classes) + 2 * classes);
    out->work_size = (out->work_size + PANEL_LANES - 1) / PANEL_LANES * PANEL_LANES;
    size_t workers = smaller((size_t)pboost_threads(threads), out->n_chunks);
    NEED(out->chunk_start = pboost_alloc(out->n_chunks + 1, sizeof *out->chunk_start), err);
    NEED(out->sums = pboost_alloc(out->n_chunks * out->sums_size, sizeof *out->sums), err);
    NEED(out->block = pboost_alloc(workers * out->work_size + PANEL_LANES, sizeof(double)), err);
    out->work = pboost_panel_align(out->block);
    cut_bags(out);
done:
    if (st != PBOOST_OK)
        pboost_class_pass_free(out);
    return st;
}

void pboost_class_pass_free(class_pass *pass)
{
    free(pass->chunk_start);
    free(pass->sums);
    free(pass->block);
    *pass = (class_pass){0};
}

pboost_status pboost_class_moments_init(class_moments *out, const class_pass *pass,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pass->n_bags;

    *out = (class_moments){0};
    if (__builtin_mul_overflow(n, pass->classes, &n))
        n = SIZE_MAX;
    NEED(out->mean = pboost_alloc(n, sizeof(double)), err);
    NEED(out->variance = pboost_alloc(n, sizeof(double)), err);
    NEED(out->parameter = pboost_alloc(pass->n_parameters, sizeof(double)), err);
    NEED(out->eta = pboost_alloc(2 * pass->classes, sizeof(double)), err);
done:
    if (st != PBOOST_OK)
        pboost_class_moments_free(out);
    return st;
}

void pboost_class_moments_free(class_moments *moments)
{
    free(moments->mean);
    free(moments->variance);
    free(moments->parameter);
    free(moments->eta);
    *moments = (class_moments){0};
}

/* ---- One row --------------------------------------------------------------------------------- */

/* p = the probabilities of a row; eta, by class, its linear predictors against the base. */
static void probabilities(double *p, double *eta, const class_pass *pass, const double *parameter,
                          const double *x)
{
    double most = 0.0, sum = 0.0;
    eta[0] = 0.0;
    for (size_t c = 1; c < pass->classes; c++, parameter += pass->width) {
        const double *theta = parameter + pass->intercept;
        double value = pass->intercept ? parameter[0] : 0.0;
        for (size_t j = 0; j < pass->cols; j++)
            value += theta[j] * x[j];
        eta[c] = value;
        most = fmax(most, value);
    }
    for (size_t c = 0; c < pass->classes; c++)
        sum += p[c] = exp(eta[c] - most);
    for (size_t c = 0; c < pass->classes; c++)
        p[c] /= sum;
}

/* What the variance of its label is multiplied by. */
static double row_variance(const class_pass *pass, size_t row)
{
    if (pass->weight == NULL)
        return 1.0;
    return pass->weight[row] > 0.0 ? 1.0 / pass->weight[row] : INFINITY;
}

/* ---- Moments --------------------------------------------------------------------------------- */

typedef struct {
    const class_pass *pass;
    class_moments *out;
    const double *parameter;
} moments_task;

static void moments_of_bag(const moments_task *task, double *p, double *eta, double *total,
                           size_t bag)
{
    const class_pass *pass = task->pass;
    size_t n = pass->classes, first = pass->start[bag], end = pass->start[bag + 1];
    double *mean = task->out->mean + bag * n, *variance = task->out->variance + bag * n;
    double size = (double)(end - first);

    memset(mean, 0, n * sizeof *mean);
    memset(variance, 0, n * sizeof *variance);
    for (size_t i = first; i < end; i++) {
        probabilities(p, eta, pass, task->parameter, pass->x + i * pass->cols);
        double factor = row_variance(pass, i);
        for (size_t c = 0; c < n; c++) {
            mean[c] += p[c];
            variance[c] += p[c] * (1.0 - p[c]) * factor;
            total[c] += eta[c];
            total[n + c] += eta[c] * eta[c];
        }
    }
    for (size_t c = 0; c < n; c++) {
        mean[c] /= size;
        variance[c] /= size * size;
    }
}

static void moments_chunk(void *context, size_t chunk, int worker)
{
    const moments_task *task = context;
    const class_pass *pass = task->pass;
    double *work = pass->work + (size_t)worker * pass->work_size;
    double *total = pass->sums + chunk * 2 * pass->classes;

    memset(total, 0, 2 * pass->classes * sizeof *total);
    for (size_t b = pass->chunk_start[chunk]; b < pass->chunk_start[chunk + 1]; b++)
        moments_of_bag(task, work, work + pass->classes, total, b);
}

void pboost_class_pass_run(class_moments *out, const class_pass *pass, const double *parameter)
{
    moments_task task = {pass, out, parameter};
    size_t n = 2 * pass->classes;

    memcpy(out->parameter, parameter, pass->n_parameters * sizeof *parameter);
    pboost_parallel(pass->n_chunks, pass->threads, moments_chunk, &task);
    memset(out->eta, 0, n * sizeof *out->eta);
    for (size_t k = 0; k < pass->n_chunks; k++)
        for (size_t c = 0; c < n; c++)
            out->eta[c] += pass->sums[k * n + c];
}

double pboost_class_eta_sd(const class_moments *moments, const class_pass *pass)
{
    double rows = (double)(pass->start[pass->n_bags] - pass->start[0]), largest = 0.0;
    for (size_t c = 1; c < pass->classes; c++) {
        double mean = moments->eta[c] / rows, square = moments->eta[pass->classes + c] / rows;
        largest = fmax(largest, sqrt(fmax(square - mean * mean, 0.0)));
    }
    return largest;
}

/* ---- Gram matrix ----------------------------------------------------------------------------- */

/* The memory of a worker, and where its sums go. */
typedef struct {
    const class_pass *pass;
    const double *parameter;
    class_rows rows;
    const double *slope;
    double *panel, *ones; /* jacobian rows that are not yet in gram */
    size_t count;
    double *p, *eta, *z; /* of a row: probabilities, predictors, 1 and x */
    double *product;     /* sums over the rows of a bag, by pair of classes */
    double *jacobian;    /* `classes` rows of stride */
    double *covariance, *combine;
    double *gram, *vector;
} gram_work;

static gram_work lay_out(const class_pass *pass, size_t chunk, int worker)
{
    size_t n = pass->classes;
    gram_work w = {.pass = pass, .panel = pass->work + (size_t)worker * pass->work_size};
    w.ones = w.panel + pass->capacity * pass->stride;
    w.p = w.ones + pass->capacity;
    w.eta = w.p + n;
    w.z = w.eta + n;
    w.product = w.z + pass->width;
    w.jacobian = w.product + pairs(pass) * (pass->width + 1);
    w.covariance = w.jacobian + n * larger(pass->stride, n);
    w.combine = w.covariance + n * n;
    w.gram = pass->sums + chunk * pass->sums_size;
    w.vector = w.gram + pass->stride * pass->stride;
    memset(w.gram, 0, pass->sums_size * sizeof *w.gram);
    memset(w.panel, 0, pass->capacity * pass->stride * sizeof *w.panel);
    for (size_t r = 0; r < pass->capacity; r++)
        w.ones[r] = 1.0;
    return w;
}

static void load_row(gram_work *w, size_t row)
{
    const class_pass *pass = w->pass;
    const double *x = pass->x + row * pass->cols;
    probabilities(w->p, w->eta, pass, w->parameter, x);
    w->z[0] = 1.0;
    memcpy(w->z + pass->intercept, x, pass->cols * sizeof *x);
}

/* Adds up, by pair of classes, the entry g of diag p - p p' times z and, last, g / w for a_B. */
static void sum_rows(gram_work *w, size_t bag)
{
    const class_pass *pass = w->pass;
    size_t n = pass->classes, width = pass->width;
    memset(w->product, 0, pairs(pass) * (width + 1) * sizeof *w->product);
    for (size_t i = pass->start[bag]; i < pass->start[bag + 1]; i++) {
        double factor = row_variance(pass, i), *at = w->product;
        load_row(w, i);
        for (size_t c = 0; c < n; c++)
            for (size_t other = 0; other <= c; other++, at += width + 1) {
                double g = other == c ? w->p[c] * (1.0 - w->p[c]) : -w->p[c] * w->p[other];
                for (size_t j = 0; j < width; j++)
                    at[j] += g * w->z[j];
                at[width] += g * factor;
            }
    }
}

/* The sums become the jacobian and a_B. */
static void spread_sums(gram_work *w, size_t bag)
{
    const class_pass *pass = w->pass;
    size_t n = pass->classes, width = pass->width;
    double size = (double)(pass->start[bag + 1] - pass->start[bag]);
    const double *at = w->product;
    for (size_t c = 0; c < n; c++)
        for (size_t other = 0; other <= c; other++, at += width + 1) {
            double *row = w->jacobian + c * pass->stride;
            double *mirror = w->jacobian + other * pass->stride;
            for (size_t j = 0; other > 0 && j < width; j++)
                row[(other - 1) * width + j] = at[j] / size;
            for (size_t j = 0; c > 0 && j < width; j++)
                mirror[(c - 1) * width + j] = at[j] / size;
            w->covariance[c * n + other] = w->covariance[other * n + c] = at[width] / (size * size);
        }
}

static void empty_panel(gram_work *w)
{
    const class_pass *pass = w->pass;
    glm_panel panel = {.x = w->panel,
                       .capacity = pass->capacity,
                       .count = w->count,
                       .blocks = pass->stride / PANEL_LANES};
    pass->kernels->gram(w->gram, panel, w->ones);
    w->count = 0;
}

/* combine_r J becomes a row of the panel. */
static void add_panel_row(gram_work *w, const double *combine)
{
    const class_pass *pass = w->pass;
    size_t r = w->count++;
    for (size_t at = 0; at < pass->n_parameters; at += PANEL_LANES) {
        double *to = w->panel + (at / PANEL_LANES * pass->capacity + r) * PANEL_LANES;
        size_t lanes = smaller(PANEL_LANES, pass->n_parameters - at);
        memset(to, 0, lanes * sizeof *to);
        for (size_t c = 0; c < pass->classes; c++) {
            const double *from = w->jacobian + c * pass->stride + at;
            for (size_t j = 0; combine[c] != 0.0 && j < lanes; j++)
                to[j] += combine[c] * from[j];
        }
    }
}

static void add_bag(gram_work *w, size_t bag)
{
    const class_pass *pass = w->pass;
    size_t n = pass->classes;
    sum_rows(w, bag);
    spread_sums(w, bag);
    memset(w->combine, 0, n * n * sizeof *w->combine);
    size_t rows = w->rows.combine(w->rows.self, w->combine, bag, w->covariance);
    if (w->count + rows > pass->capacity)
        empty_panel(w);
    for (size_t r = 0; r < rows; r++)
        add_panel_row(w, w->combine + r * n);
    for (size_t c = 0; w->slope != NULL && c < n; c++) {
        double slope = w->slope[bag * n + c];
        const double *from = w->jacobian + c * pass->stride;
        for (size_t i = 0; i < pass->n_parameters; i++)
            w->vector[i] += slope * from[i];
    }
}

/* ---- Bags of one row ------------------------------------------------------------------------- */

/* J = G (x) z with G = diag p - p p', so what the bag adds is (combine G)'(combine G) (x) z z'. */
static void set_row_matrix(gram_work *w, double factor)
{
    size_t n = w->pass->classes;
    for (size_t c = 0; c < n; c++)
        for (size_t other = 0; other < n; other++) {
            double g = other == c ? w->p[c] * (1.0 - w->p[c]) : -w->p[c] * w->p[other];
            w->covariance[c * n + other] = g * factor;
            w->jacobian[c * n + other] = g;
        }
}

static void add_outer(gram_work *w, size_t a, size_t b, double factor)
{
    const class_pass *pass = w->pass;
    size_t width = pass->width;
    for (size_t j = 0; j < width; j++) {
        double *to = w->gram + ((a - 1) * width + j) * pass->stride + (b - 1) * width;
        double left = factor * w->z[j];
        size_t end = a == b ? j + 1 : width;
        for (size_t i = 0; i < end; i++)
            to[i] += left * w->z[i];
    }
}

static void add_single_row(gram_work *w, size_t bag)
{
    size_t n = w->pass->classes, width = w->pass->width, row = w->pass->start[bag];
    double *mixed = w->product; /* combine G, rows of n */
    load_row(w, row);
    set_row_matrix(w, row_variance(w->pass, row));
    memset(w->combine, 0, n * n * sizeof *w->combine);
    size_t rows = w->rows.combine(w->rows.self, w->combine, bag, w->covariance);
    memset(mixed, 0, rows * n * sizeof *mixed);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < n; c++)
            for (size_t k = 0; w->combine[r * n + c] != 0.0 && k < n; k++)
                mixed[r * n + k] += w->combine[r * n + c] * w->jacobian[c * n + k];
    for (size_t a = 1; a < n; a++) {
        double slope = 0.0;
        for (size_t b = 1; b <= a; b++) {
            double sum = 0.0;
            for (size_t r = 0; r < rows; r++)
                sum += mixed[r * n + a] * mixed[r * n + b];
            add_outer(w, a, b, sum);
        }
        for (size_t c = 0; w->slope != NULL && c < n; c++)
            slope += w->slope[bag * n + c] * w->jacobian[c * n + a];
        for (size_t j = 0; j < width; j++)
            w->vector[(a - 1) * width + j] += slope * w->z[j];
    }
}

/* ---- All bags -------------------------------------------------------------------------------- */

typedef struct {
    const class_pass *pass;
    const double *parameter;
    class_rows rows;
    const double *slope;
} gram_task;

static void gram_chunk(void *context, size_t chunk, int worker)
{
    const gram_task *task = context;
    const class_pass *pass = task->pass;
    gram_work w = lay_out(pass, chunk, worker);
    w.parameter = task->parameter;
    w.rows = task->rows;
    w.slope = task->slope;
    for (size_t b = pass->chunk_start[chunk]; b < pass->chunk_start[chunk + 1]; b++)
        if (pass->start[b + 1] - pass->start[b] == 1)
            add_single_row(&w, b);
        else
            add_bag(&w, b);
    empty_panel(&w);
}

void pboost_class_pass_gram(double *gram, double *vector, const class_pass *pass,
                            const double *parameter, class_rows rows, const double *slope)
{
    gram_task task = {pass, parameter, rows, slope};
    size_t n = pass->n_parameters;
    pboost_parallel(pass->n_chunks, pass->threads, gram_chunk, &task);
    for (size_t c = 1; c < pass->n_chunks; c++)
        for (size_t i = 0; i < pass->sums_size; i++)
            pass->sums[i] += pass->sums[c * pass->sums_size + i];
    for (size_t i = 0; i < n; i++)
        memcpy(gram + i * n, pass->sums + i * pass->stride, (i + 1) * sizeof *gram);
    if (slope != NULL)
        memcpy(vector, pass->sums + pass->stride * pass->stride, n * sizeof *vector);
}

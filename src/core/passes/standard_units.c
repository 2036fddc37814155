/* Standardising.  See standard_units.h.
 *
 * Sums are taken about the first row, so that a column whose mean is much larger than its deviation
 * (a year, a time stamp) keeps its digits; such a column is also shifted before it is multiplied.
 */
#include "passes/standard_units.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/prefetch.h"
#include "large.h"
#include "try.h"

#define VALUE_NS 0.5 /* what a value takes on one thread */

#define SHIFT_RATIO 16.0           /* mean over standard deviation from which a column is shifted */
#define SUM_ROWS ((size_t)1 << 14) /* of a chunk */
#define TOGETHER ((size_t)4)       /* rows that are added at a time */
#define CURVED_ROWS ((size_t)64)   /* of a panel */
#define CONSTANT 1e-13             /* deviation over magnitude that is rounding alone */

void pboost_units_free(standard_units *u)
{
    free(u->shift);
    free(u->center);
    free(u->scale);
    free(u->constant);
    *u = (standard_units){0};
}

typedef struct {
    const bag_rows *bags;
    const double *base;
    double *sums;     /* by chunk: sums, then squares, then room for rows or a panel */
    size_t size;      /* of that */
    double *row_room; /* NULL: where rows go, side by side */
} column_task;

static void copy_row(double *restrict to, const pboost_matrix *x, size_t row, bool adjacent)
{
    const double *from = adjacent ? pboost_matrix_row(x, row) : NULL;
    for (size_t j = 0; adjacent && j < x->cols; j++)
        to[j] = from[j];
    for (size_t j = 0; !adjacent && j < x->cols; j++)
        to[j] = pboost_matrix_at(x, row, j);
}

/* Adds n <= TOGETHER rows that lie side by side: the sums are in memory, and each row alone would
 * wait for those of the row before it. */
static void add_rows(double *restrict sum, double *restrict square, const double *restrict x,
                     const double *restrict base, size_t n, size_t d)
{
    if (n == TOGETHER)
        for (size_t j = 0; j < d; j++) {
            double a = x[j] - base[j], b = x[d + j] - base[j];
            double c = x[2 * d + j] - base[j], e = x[3 * d + j] - base[j];
            sum[j] += (a + b) + (c + e);
            square[j] += (a * a + b * b) + (c * c + e * e);
        }
    for (size_t i = 0; n < TOGETHER && i < n; i++)
        for (size_t j = 0; j < d; j++) {
            double v = x[i * d + j] - base[j];
            sum[j] += v;
            square[j] += v * v;
        }
}

/* Rows with curves: their functions are computed for a panel at a time. */
static void sum_curved(double *restrict sum, double *restrict square, double *panel,
                       const column_task *task, size_t first, size_t end)
{
    const bag_rows *bags = task->bags;
    pboost_samples samples = {.x = bags->x, .row = bags->row, .n = end};
    for (size_t at = first; at < end; at += CURVED_ROWS) {
        size_t count = end - at < CURVED_ROWS ? end - at : CURVED_ROWS;
        (void)pboost_panel_gather(panel, CURVED_ROWS, &samples, (panel_rows){at, count, 1, NULL});
        for (size_t j = 0; j < bags->x->cols; j++) {
            const double *x = panel + j / PANEL_LANES * CURVED_ROWS * PANEL_LANES + j % PANEL_LANES;
            for (size_t r = 0; r < count; r++) {
                double v = x[r * PANEL_LANES] - task->base[j];
                sum[j] += v;
                square[j] += v * v;
            }
        }
    }
}

static void sum_chunk(void *context, size_t chunk, int worker)
{
    const column_task *task = context;
    const bag_rows *bags = task->bags;
    size_t d = bags->x->cols, first = bags->start[0] + chunk * SUM_ROWS;
    size_t end =
        bags->start[bags->n_bags] - first < SUM_ROWS ? bags->start[bags->n_bags] : first + SUM_ROWS;
    double *restrict sum = task->sums + chunk * task->size, *restrict square = sum + d;
    double *room = square + d;
    bool adjacent = pboost_matrix_has_whole_rows(bags->x);
    (void)worker;
    memset(sum, 0, 2 * d * sizeof *sum);
    if (bags->x->type == PBOOST_CURVED && task->row_room == NULL) {
        sum_curved(sum, square, room, task, first, end);
        return;
    }
    for (size_t i = first; i < end; i += TOGETHER) {
        size_t n = end - i < TOGETHER ? end - i : TOGETHER;
        if (task->row_room != NULL)
            room = task->row_room + (i - bags->start[0]) * d;
        for (size_t r = i; r < i + n; r++) {
            if (adjacent && r + ROWS_AHEAD < end)
                pboost_prefetch_row(pboost_matrix_row(bags->x, bags->row[r + ROWS_AHEAD]), d);
            copy_row(room + (r - i) * d, bags->x, bags->row[r], adjacent);
        }
        add_rows(sum, square, room, task->base, n, d);
    }
}

/* Sums of x - base and of its square, by column; base is the first row.  rows (NULL: not wanted)
 * gets the rows side by side. */
static pboost_status sum_columns(double *sum, double *square, double *base, double *rows,
                                 const bag_rows *bags, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = bags->x->cols, n = bags->start[bags->n_bags] - bags->start[0];
    size_t chunks = (n + SUM_ROWS - 1) / SUM_ROWS;
    column_task task = {.bags = bags, .base = base, .row_room = rows};
    for (size_t j = 0; j < d; j++)
        base[j] = pboost_matrix_at(bags->x, bags->row[bags->start[0]], j);
    size_t panel = CURVED_ROWS * pboost_panel_blocks(d) * PANEL_LANES;
    task.size = 2 * d + (bags->x->type == PBOOST_CURVED ? panel : TOGETHER * d);
    NEED(task.sums = pboost_alloc(chunks * task.size, sizeof *task.sums), err);
    threads = pboost_threads_for(threads, VALUE_NS * (double)(n * d));
    pboost_parallel(chunks, threads, sum_chunk, &task);
    for (size_t j = 0; j < d; j++) {
        sum[j] = square[j] = 0.0;
        for (size_t c = 0; c < chunks; c++) {
            sum[j] += task.sums[c * task.size + j];
            square[j] += task.sums[c * task.size + d + j];
        }
    }
done:
    free(task.sums);
    return st;
}

static void set_column(standard_units *u, size_t j, double base, double mean, double square,
                       bool intercept)
{
    double variance = fmax(square - mean * mean, 0.0), about_zero = base + mean;
    if (!intercept) {
        double size = sqrt(variance + about_zero * about_zero);
        u->shift[j] = u->center[j] = 0.0;
        u->scale[j] = size > 0.0 ? size : 1.0;
        return;
    }
    double deviation = sqrt(variance);
    bool far = fabs(about_zero) > SHIFT_RATIO * deviation;
    u->shift[j] = far ? base : 0.0;
    u->center[j] = far ? mean : about_zero;
    u->constant[j] = deviation <= CONSTANT * (fabs(base) + sqrt(square));
    u->scale[j] = u->constant[j] ? 1.0 : deviation;
}

/* Gives the levels of a category one scale, the root of the mean of their variances.  So the same
 * ridge shrinks their weights equally.  If each had its own scale, a rare level would be shrunk
 * least, although the answers say least about it. */
static void share_scales(standard_units *u, const size_t *category_of)
{
    for (size_t j = 0, end; j < u->cols; j = end) {
        double sum = 0.0, levels = 0.0;
        for (end = j; end < u->cols && category_of[end] == category_of[j]; end++)
            if (u->scale[end] < 1.0) { /* 1: the indicator is the same in all rows */
                sum += u->scale[end] * u->scale[end];
                levels += 1.0;
            }
        for (size_t i = j; i < end && category_of[j] != 0; i++)
            if (u->scale[i] < 1.0)
                u->scale[i] = sqrt(sum / levels);
    }
}

pboost_status pboost_units_from_sums(standard_units *out, size_t cols, const double *base,
                                     const double *sum, const double *square, size_t n,
                                     column_options options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool shifted = false;

    *out = (standard_units){.cols = cols};
    NEED(out->shift = pboost_alloc(cols, sizeof(double)), err);
    NEED(out->center = pboost_alloc(cols, sizeof(double)), err);
    NEED(out->scale = pboost_alloc(cols, sizeof(double)), err);
    NEED(out->constant = calloc(cols > 0 ? cols : 1, 1), err);
    for (size_t j = 0; j < cols; j++) {
        set_column(out, j, base[j], sum[j] / (double)n, square[j] / (double)n, options.intercept);
        if (!isfinite(square[j]) || !isfinite(out->scale[j]))
            FAIL(err, PBOOST_BAD_DATA,
                 "column %zu overflows: columns beyond 1e150 must be rescaled", j);
        shifted = shifted || out->shift[j] != 0.0;
    }
    if (options.category_of != NULL)
        share_scales(out, options.category_of);
    out->units = (bag_units){shifted ? out->shift : NULL, out->center, out->scale};
done:
    if (st != PBOOST_OK)
        pboost_units_free(out);
    return st;
}

/* The units of the rows of bags, which are put side by side into `rows` where that is not NULL. */
static pboost_status find_units(standard_units *out, double *rows, const bag_rows *bags,
                                column_options options, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cols = bags->x->cols, n = bags->start[bags->n_bags] - bags->start[0];
    double *work = NULL;

    *out = (standard_units){0};
    NEED(work = pboost_alloc(3 * cols, sizeof *work), err);
    double *sum = work, *square = work + cols, *base = work + 2 * cols;
    TRY(sum_columns(sum, square, base, rows, bags, threads, err));
    st = pboost_units_from_sums(out, cols, base, sum, square, n, options, err);
    if (st == PBOOST_BAD_DATA) { /* which value is it? */
        pboost_samples samples = {.x = bags->x, .row = bags->row + bags->start[0], .n = n};
        pboost_status found = pboost_samples_find_nonfinite(&samples, err);
        st = found != PBOOST_OK ? found : st;
    }
done:
    free(work);
    return st;
}

pboost_status pboost_units_init(standard_units *out, const bag_rows *bags, column_options options,
                                int threads, pboost_error *err)
{
    return find_units(out, NULL, bags, options, threads, err);
}

typedef struct {
    gathered_rows *out;
    const bag_rows *bags;
    const standard_units *units;
} gather_task;

/* Rescales rows that are already copied, where they are; puts weights and offsets in their order.
 */
static void standardise_chunk(void *context, size_t chunk, int worker)
{
    const gather_task *task = context;
    const bag_rows *bags = task->bags;
    const standard_units *u = task->units;
    const double *shift = u->shift, *center = u->center, *scale = u->scale;
    size_t n = task->out->matrix.rows, d = u->cols, first = chunk * SUM_ROWS;
    size_t end = n - first < SUM_ROWS ? n : first + SUM_ROWS;
    (void)worker;
    for (size_t i = first; task->out->units.scale == NULL && i < end; i++) {
        double *restrict x = task->out->x + i * d;
        for (size_t j = 0; j < d; j++)
            x[j] = ((x[j] - shift[j]) - center[j]) / scale[j];
    }
    for (size_t i = first; bags->weight != NULL && i < end; i++)
        task->out->weight[i] = bags->weight[bags->row[bags->start[0] + i]];
    for (size_t i = first; bags->offset != NULL && i < end; i++)
        task->out->offset[i] = bags->offset[bags->row[bags->start[0] + i]];
}

pboost_status pboost_gather_rows(gathered_rows *out, standard_units *units, const bag_rows *bags,
                                 column_options options, bool convert, int threads,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = bags->start[bags->n_bags] - bags->start[0], cols = bags->x->cols, cells;
    *out = (gathered_rows){0};
    *units = (standard_units){0};
    if (__builtin_mul_overflow(n, cols, &cells))
        cells = SIZE_MAX;
    NEED(out->x = pboost_alloc_large(cells, sizeof *out->x), err);
    NEED(out->start = pboost_alloc(bags->n_bags + 1, sizeof *out->start), err);
    if (bags->weight != NULL)
        NEED(out->weight = pboost_alloc(n, sizeof *out->weight), err);
    if (bags->offset != NULL)
        NEED(out->offset = pboost_alloc(n, sizeof *out->offset), err);
    TRY(find_units(units, out->x, bags, options, threads, err));
    for (size_t b = 0; b <= bags->n_bags; b++)
        out->start[b] = bags->start[b] - bags->start[0];
    out->matrix = pboost_matrix_f64(out->x, n, cols);
    if (!convert && units->units.shift == NULL)
        out->units = units->units;
    gather_task task = {out, bags, units};
    threads = pboost_threads_for(threads, VALUE_NS * (double)(n * cols));
    pboost_parallel((n + SUM_ROWS - 1) / SUM_ROWS, threads, standardise_chunk, &task);
    out->rows = (bag_rows){.x = &out->matrix,
                           .weight = out->weight,
                           .offset = out->offset,
                           .n_bags = bags->n_bags,
                           .start = out->start};
done:
    if (st != PBOOST_OK)
        pboost_gathered_free(out);
    return st;
}

void pboost_gathered_free(gathered_rows *gathered)
{
    free(gathered->x);
    free(gathered->weight);
    free(gathered->offset);
    free(gathered->start);
    *gathered = (gathered_rows){0};
}

void pboost_units_enter(double *parameter, const standard_units *u, const pboost_coef *coef,
                        bool intercept)
{
    double *theta = parameter + intercept, level = coef->intercept;
    for (size_t j = 0; j < u->cols; j++) {
        theta[j] = coef->theta[j] * u->scale[j];
        level += coef->theta[j] * (u->shift[j] + u->center[j]);
    }
    if (intercept)
        parameter[0] = level;
}

void pboost_units_leave(pboost_coef *coef, const standard_units *u, const double *parameter,
                        bool intercept)
{
    coef->intercept = intercept ? parameter[0] : 0.0;
    for (size_t j = 0; j < u->cols; j++) {
        coef->theta[j] = parameter[intercept + j] / u->scale[j];
        if (intercept)
            coef->intercept -= coef->theta[j] * (u->shift[j] + u->center[j]);
    }
}

void pboost_units_penalty(double *penalty, const standard_units *u, pboost_l2 l2, double own)
{
    for (size_t j = 0; j < u->cols; j++)
        penalty[j] = l2.mode == PBOOST_L2_FIXED ? l2.value / (u->scale[j] * u->scale[j]) : own;
}

void pboost_units_find_dropped(size_t *rank, size_t *first, const standard_units *u,
                               const unsigned char *dropped, size_t straight, bool intercept)
{
    for (size_t j = 0; j < u->cols; j++) {
        bool constant = j < straight && u->constant[j], out = dropped[j + intercept];
        if ((constant || out) && j < *first)
            *first = j;
        *rank -= constant && !out;
    }
}

/* With z = (x - m) / s: theta = theta_z / s and intercept = intercept_z - sum of theta m. */
void pboost_units_covariance(double *covariance, const standard_units *u, const double *standard,
                             bool intercept)
{
    size_t d = u->cols, p = d + intercept, n = d + 1;
    double *last = covariance + d * n;
    memset(covariance, 0, n * n * sizeof *covariance);
    for (size_t i = 0; i < d; i++) {
        if (u->constant[i])
            continue;
        double cross = intercept ? standard[(i + 1) * p] / u->scale[i] : 0.0;
        for (size_t j = 0; j < d; j++) {
            if (u->constant[j])
                continue;
            double c = standard[(i + intercept) * p + j + intercept] / (u->scale[i] * u->scale[j]);
            covariance[i * n + j] = c;
            if (intercept)
                cross -= c * (u->shift[j] + u->center[j]);
        }
        covariance[i * n + d] = last[i] = cross;
    }
    last[d] = intercept ? standard[0] : 0.0;
    for (size_t i = 0; intercept && i < d; i++) /* var(b - m't) = var(b) - m'(2 cov(b,t) - Ct m) */
        if (!u->constant[i])
            last[d] -=
                (u->shift[i] + u->center[i]) * (standard[(i + 1) * p] / u->scale[i] + last[i]);
}

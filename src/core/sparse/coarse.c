#include "sparse/coarse.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "data/matrix.h"
#include "kernels/glm.h"
#include "try.h"

#define SINGLES 96
#define BANDS 32
#define MOST (SINGLES + BANDS)
#define PANEL_ROWS 32
#define PIECES 16 /* each has a matrix of its own, and they are added up in order */

void pboost_coarse_free(coarse_system *c)
{
    free(c->edge);
    free(c->unknown);
    free(c->gram);
    free(c->step);
    free(c->factor.l);
    free(c->factor.scale);
    free(c->factor.dropped);
    *c = (coarse_system){0};
}

/* Bands grow by a constant factor, as the frequency of columns falls by about one. */
static void set_edges(coarse_system *c)
{
    size_t rest = c->parameters - c->single;
    for (size_t u = 0; u <= c->single; u++)
        c->edge[u] = u;
    c->n = c->single;
    for (size_t b = 1; rest > 0 && b <= BANDS; b++) {
        double part = pow((double)c->parameters / (double)c->single, (double)b / BANDS);
        size_t edge = b == BANDS ? c->parameters : (size_t)((double)c->single * part);
        if (edge > c->edge[c->n])
            c->edge[++c->n] = edge;
    }
    for (size_t u = 0; u < c->n; u++)
        memset(c->unknown + c->edge[u], (int)u, c->edge[u + 1] - c->edge[u]);
}

pboost_status pboost_coarse_init(coarse_system *out, const wide_rows *rows, bool intercept,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t parameters = rows->cols + intercept;
    *out = (coarse_system){.parameters = parameters,
                           .intercept = intercept,
                           .single = parameters <= MOST ? parameters : SINGLES,
                           .pieces = smaller(PIECES, rows->n_row_chunks)};
    NEED(out->edge = pboost_alloc(MOST + 1, sizeof *out->edge), err);
    NEED(out->unknown = pboost_alloc(parameters, 1), err);
    set_edges(out);
    out->padded = pboost_panel_blocks(out->n) * PANEL_LANES;
    NEED(out->gram = pboost_alloc(out->pieces * out->padded, out->padded * sizeof(double)), err);
    NEED(out->step = pboost_alloc(out->n, sizeof(double)), err);
    out->factor.n = out->n;
    NEED(out->factor.l = pboost_alloc(out->n * out->n, sizeof(double)), err);
    NEED(out->factor.scale = pboost_alloc(out->n, sizeof(double)), err);
    NEED(out->factor.dropped = calloc(out->n + 1, 1), err);
done:
    if (st != PBOOST_OK)
        pboost_coarse_free(out);
    return st;
}

typedef struct {
    coarse_system *coarse;
    const wide_rows *rows;
    const coarse_groups *groups;
} gram_task;

/* Adds scale x_i to row r of the panel. */
static void add_row(double *panel, size_t r, const gram_task *t, size_t i)
{
    const coarse_system *c = t->coarse;
    const wide_rows *rows = t->rows;
    double scale = t->groups->scale != NULL ? t->groups->scale[i] : 1.0;
    double *at = panel + r * PANEL_LANES;
    if (c->intercept > 0)
        at[0] += scale;
    for (size_t p = rows->start[i]; p < rows->start[i + 1]; p++) {
        size_t u = c->unknown[rows->column[p] + c->intercept];
        at[u / PANEL_LANES * PANEL_ROWS * PANEL_LANES + u % PANEL_LANES] +=
            scale * pboost_wide_row_cell(rows, p);
    }
}

static void gram_piece(void *context, size_t piece, int worker)
{
    gram_task *t = context;
    const coarse_system *c = t->coarse;
    const wide_rows *rows = t->rows;
    const coarse_groups *groups = t->groups;
    double memory[PANEL_ROWS * (MOST + PANEL_LANES) + PANEL_LANES], weight[PANEL_ROWS];
    double *panel = pboost_panel_align(memory), *gram = c->gram + piece * c->padded * c->padded;
    size_t end = rows->row_chunk[(piece + 1) * rows->n_row_chunks / c->pieces];
    glm_panel filled = {
        .x = panel, .capacity = PANEL_ROWS, .blocks = c->padded / PANEL_LANES, .count = 0};
    (void)worker;
    memset(gram, 0, c->padded * c->padded * sizeof *gram);
    for (size_t i = rows->row_chunk[piece * rows->n_row_chunks / c->pieces]; i < end;) {
        size_t group = groups->group != NULL ? groups->group[i] : i;
        if (filled.count == 0)
            memset(panel, 0, PANEL_ROWS * c->padded * sizeof *panel);
        do {
            if (groups->weight[group] > 0.0)
                add_row(panel, filled.count, t, i);
            i++;
        } while (i < end && groups->group != NULL && groups->group[i] == group);
        weight[filled.count++] = fmax(groups->weight[group], 0.0);
        if (filled.count == PANEL_ROWS || i >= end) {
            pboost_glm_kernels()->gram(gram, filled, weight);
            filled.count = 0;
        }
    }
}

void pboost_coarse_refresh(coarse_system *c, const wide_rows *rows, const coarse_groups *groups)
{
    gram_task task = {c, rows, groups};
    pboost_parallel(c->pieces, rows->threads, gram_piece, &task);
    for (size_t u = 0; u < c->n; u++)
        for (size_t v = 0; v <= u; v++) {
            double sum = 0.0;
            for (size_t p = 0; p < c->pieces; p++)
                sum += c->gram[(p * c->padded + u) * c->padded + v];
            if (u == v && u >= c->intercept)
                sum += groups->l2 * (double)(c->edge[u + 1] - c->edge[u]);
            c->factor.l[u * c->n + v] = sum;
        }
    memset(c->factor.dropped, 0, c->n);
    pboost_cholesky_factor(&c->factor, pboost_rank_tolerance(c->n), true);
}

void pboost_coarse_apply(double *out, const coarse_system *c, const double *r,
                         const double *diagonal)
{
    double *step = c->step;
    for (size_t u = 0; u < c->n; u++) {
        step[u] = 0.0;
        for (size_t k = c->edge[u]; k < c->edge[u + 1]; k++)
            step[u] += r[k];
    }
    pboost_cholesky_solve(step, &c->factor, step);
    for (size_t u = 0; u < c->n; u++)
        for (size_t k = c->edge[u]; k < c->edge[u + 1]; k++)
            out[k] = step[u] + (u < c->single ? 0.0 : r[k] / diagonal[k]);
}

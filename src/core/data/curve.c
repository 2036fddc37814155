/* The values of curves, and matrices whose columns of curves are computed when they are read. */
#include "data/curve.h"

#include <string.h>

#include "data/matrix.h"

enum { MOST = PBOOST_CURVE_COLUMNS };

/* ---- Values ---------------------------------------------------------------------------------- */

void pboost_curve_ready(ready_curve *out, const pboost_curve *c)
{
    size_t K = c->n_knots;
    double range = c->knot[K - 1] - c->knot[0];

    *out = (ready_curve){.curve = c};
    for (size_t k = 0; k + 1 < K; k++) {
        double h = (c->knot[k + 1] - c->knot[k]) / range;
        out->width[k] = c->knot[k + 1] - c->knot[k];
        out->square[k] = h * h / 6.0;
    }
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < c->n; j++) {
            out->entry[k][0][j] = c->value[j * K + k];
            out->entry[k][1][j] = c->bend[j * K + k];
        }
}

void pboost_curve_values(double *value, const ready_curve *r, double number)
{
    const double *knot = r->curve->knot;
    size_t last = r->curve->n_knots - 1, k = 0;
    for (size_t i = 1; i < last; i++) /* the interval starts at knot k; no branch */
        k += number >= knot[i];
    /* Shares of its ends; beyond the outer knots one of them is negative.  And what the second
     * derivatives there are multiplied with. */
    double b = (number - knot[k]) / r->width[k], a = 1.0 - b, ca = 0.0, cb = 0.0;
    if (number < knot[0]) { /* slope at the knot: (v1 - v0)/h - h g1/6 */
        cb = -b * r->square[k];
    } else if (number > knot[last]) {
        ca = -a * r->square[k];
    } else {
        ca = (a * a * a - a) * r->square[k];
        cb = (b * b * b - b) * r->square[k];
    }
    const double *left = r->entry[k][0], *left_bend = r->entry[k][1];
    const double *right = r->entry[k + 1][0], *right_bend = r->entry[k + 1][1];
    for (size_t j = 0; j < MOST; j++)
        value[j] = (a * left[j] + b * right[j]) + (ca * left_bend[j] + cb * right_bend[j]);
}

void pboost_curve_apply(double *x, ptrdiff_t row_stride, const pboost_curve *curve,
                        const double *number, ptrdiff_t stride, size_t n)
{
    double value[MOST];
    ready_curve ready;

    pboost_curve_ready(&ready, curve);
    for (size_t i = 0; i < n; i++) {
        pboost_curve_values(value, &ready, number[(ptrdiff_t)i * stride]);
        memcpy(x + (ptrdiff_t)i * row_stride, value, curve->n * sizeof *x);
    }
}

/* ---- Matrices with curves -------------------------------------------------------------------- */

pboost_matrix pboost_matrix_curved(const pboost_curved *curved)
{
    pboost_matrix x = {
        .data = curved, .type = PBOOST_CURVED, .rows = curved->x.rows, .cols = curved->x.cols};
    for (size_t i = 0; i < curved->n; i++)
        x.cols += curved->bend[i].curve->n;
    return x;
}

pboost_matrix pboost_matrix_first(const pboost_matrix *x, size_t cols)
{
    const pboost_curved *curved = x->type == PBOOST_CURVED ? x->data : NULL;
    pboost_matrix first = curved != NULL && cols <= curved->x.cols ? curved->x : *x;
    first.cols = cols;
    return first;
}

pboost_matrix pboost_matrix_straight(const pboost_matrix *x)
{
    return x->type == PBOOST_CURVED ? ((const pboost_curved *)x->data)->x : *x;
}

double pboost_curved_at(const pboost_matrix *x, size_t row, size_t col)
{
    const pboost_curved *curved = x->data;
    const pboost_bend *bend = curved->bend;
    double value[MOST];
    ready_curve ready;

    if (col < curved->x.cols)
        return pboost_matrix_at(&curved->x, row, col);
    for (col -= curved->x.cols; col >= bend->curve->n; bend++)
        col -= bend->curve->n;
    pboost_curve_ready(&ready, bend->curve);
    pboost_curve_values(value, &ready, pboost_matrix_at(&curved->x, row, bend->column));
    return value[col];
}

void pboost_curved_fill(double *panel, size_t capacity, size_t count, const pboost_curved *curved)
{
    size_t at = curved->x.cols;
    double value[MOST];
    ready_curve ready;

    for (size_t i = 0; i < curved->n; i++) {
        const pboost_bend *bend = &curved->bend[i];
        const double *number = panel + bend->column / PANEL_LANES * capacity * PANEL_LANES +
                               bend->column % PANEL_LANES;
        pboost_curve_ready(&ready, bend->curve);
        for (size_t r = 0; r < count; r++) {
            pboost_curve_values(value, &ready, number[r * PANEL_LANES]);
            for (size_t j = 0; j < bend->curve->n; j++)
                panel[((at + j) / PANEL_LANES * capacity + r) * PANEL_LANES +
                      (at + j) % PANEL_LANES] = value[j];
        }
        at += bend->curve->n;
    }
}

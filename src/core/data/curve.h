/* The values of the functions of a curve (smooth.h). */
#ifndef PBOOST_DATA_CURVE_H
#define PBOOST_DATA_CURVE_H

#include <priorboost/smooth.h>

/* A curve as it is read fast: what does not depend on the number is computed once, and the entries
 * of all functions at a knot lie side by side. */
typedef struct {
    const pboost_curve *curve;
    double width[PBOOST_CURVE_COLUMNS + 1];  /* of the intervals, in units of the number */
    double square[PBOOST_CURVE_COLUMNS + 1]; /* a sixth of its square, in units of the range */
    /* By knot: by function its value, then by function its second derivative. */
    double entry[PBOOST_CURVE_COLUMNS + 2][2][PBOOST_CURVE_COLUMNS];
} ready_curve;

void pboost_curve_ready(ready_curve *out, const pboost_curve *curve);

/* value[j] = function j of number, for all PBOOST_CURVE_COLUMNS; those that there are not are 0. */
void pboost_curve_values(double *value, const ready_curve *ready, double number);

/* ---- Matrices with curves -------------------------------------------------------------------- */

/* The first columns of a matrix, as one of doubles or floats where no curve is among them. */
pboost_matrix pboost_matrix_first(const pboost_matrix *x, size_t cols);
/* A matrix without the functions of its curves, if it is PBOOST_CURVED. */
pboost_matrix pboost_matrix_straight(const pboost_matrix *x);

/* Completes a panel whose first columns are those of curved->x. */
void pboost_curved_fill(double *panel, size_t capacity, size_t count, const pboost_curved *curved);

#endif

/* priorboost/smooth.h — curves: the columns by which a GLM bends the straight line of a number.
 * Conventions are those of core.h. */
#ifndef PRIORBOOST_SMOOTH_H
#define PRIORBOOST_SMOOTH_H

#include <priorboost/core.h>

PBOOST_BEGIN

#define PBOOST_CURVE_COLUMNS 8 /* of a curve, at most */

/* The curve of one column of numbers: n functions of it, each a natural cubic spline (linear beyond
 * the outer knots).  A weight for each of them, beside the weight of the column itself, gives every
 * natural cubic spline with these knots.  Over the numbers that it was made from, the functions
 * have mean 0 and are correlated neither with the number nor with each other; their variances sum
 * to 1.  All have the same integral of the squared second derivative, so that a ridge on their
 * weights is a penalty on curvature and nothing else. */
typedef struct pboost_curve {
    size_t n_knots; /* 0: no curve */
    size_t n;       /* functions: n_knots - 2, or fewer */
    double *knot;   /* ascending */
    /* By function, n_knots each: its value at the knots, and its second derivative there, 0 at the
     * outer knots; of (number - first knot) / (last knot - first knot). */
    double *value, *bend;
} pboost_curve;

void pboost_curve_free(pboost_curve *curve);

/* Makes a curve of at most `columns` functions (4 to PBOOST_CURVE_COLUMNS) for number[i * stride],
 * i < n.  Knots are at quantiles; NaN is left out.  Fewer than 8 different numbers give no curve.
 * The result does not depend on the order of the numbers. */
pboost_status pboost_curve_learn(pboost_curve *out, const double *number, ptrdiff_t stride,
                                 size_t n, size_t columns, int threads, pboost_error *err);

/* x[i * row_stride + j] = function j of number[i * stride], i < n. */
void pboost_curve_apply(double *x, ptrdiff_t row_stride, const pboost_curve *curve,
                        const double *number, ptrdiff_t stride, size_t n);

/* ---- Columns that are computed when they are read -------------------------------------------- */

/* The curve of a column of x. */
typedef struct pboost_bend {
    size_t column;
    const pboost_curve *curve;
} pboost_bend;

/* The columns of x, and after them the functions of the curves.  It needs the memory of x alone,
 * where an array of these columns would need up to nine times that. */
typedef struct pboost_curved {
    pboost_matrix x; /* of doubles or floats */
    size_t n;
    const pboost_bend *bend;
} pboost_curved;

/* Such a matrix, for fits and predictions; all is borrowed. */
pboost_matrix pboost_matrix_curved(const pboost_curved *curved);

PBOOST_END

#endif

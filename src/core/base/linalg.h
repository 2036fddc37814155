/* Dense kernels for small symmetric systems. */
#ifndef PBOOST_LINALG_H
#define PBOOST_LINALG_H

#include <stdbool.h>
#include <stddef.h>

/* A Cholesky factor of the matrix scaled to unit diagonal, columns in their given order.  A column
 * that adds nothing to those before it can be dropped: it then takes no part in solving. */
typedef struct {
    size_t n;
    double *l;              /* n x n, row-major: in: lower triangle of A; out: the factor */
    double *scale;          /* n */
    unsigned char *dropped; /* n; those set on entry stay dropped */
} pboost_cholesky;

/* Factors in place.  A scaled pivot at or below `tolerance` means that the column is, up to
 * rounding, a linear combination of those before: it is dropped where may_drop, else its pivot is
 * raised to the tolerance.  Returns the number of columns kept. */
size_t pboost_cholesky_factor(pboost_cholesky *c, double tolerance, bool may_drop);

/* x = A^-1 b over the columns kept, 0 in the dropped ones; x may be b. */
void pboost_cholesky_solve(double *x, const pboost_cholesky *c, const double *b);

/* inverse = A^-1, n x n, both triangles, equal to the last bit on both sides. */
void pboost_cholesky_invert(double *inverse, const pboost_cholesky *c);

/* The size of a pivot that is 0 up to rounding, for a Gram matrix of order n. */
double pboost_rank_tolerance(size_t n);

bool pboost_is_zero(const double *x, size_t n); /* all n of them */

#endif

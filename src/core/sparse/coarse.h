/* The preconditioner of the conjugate gradients: exact for the frequent columns, in two levels for
 * the others.
 *
 * The diagonal alone is a poor one for categories.  The columns of a category add up to 1, so that
 * shifting all of them is almost the same as shifting the intercept: such directions are many steps
 * of conjugate gradients away, and it is rare columns by the thousand that take part in them.  A
 * small dense system finds them at once.  Its unknowns are the intercept and the most frequent
 * columns, one by one, and bands of the others in the order of their frequency, of which all
 * columns move together; inside of a band the diagonal does the rest. */
#ifndef PBOOST_SPARSE_COARSE_H
#define PBOOST_SPARSE_COARSE_H

#include "base/linalg.h"
#include "sparse/rows.h"

typedef struct {
    size_t parameters;   /* the intercept, where there is one, and the columns of rows */
    size_t intercept;    /* 0 or 1 */
    size_t n, single;    /* unknowns; those that are one parameter */
    size_t *edge;        /* by unknown, n + 1: its parameters */
    uint8_t *unknown;    /* by parameter */
    size_t padded;       /* n in whole blocks of a panel */
    double *gram, *step; /* by piece of the work; to work with */
    size_t pieces;
    pboost_cholesky factor;
} coarse_system;

pboost_status pboost_coarse_init(coarse_system *out, const wide_rows *rows, bool intercept,
                                 pboost_error *err);
void pboost_coarse_free(coarse_system *coarse);

/* Which rows make the matrix sum_u weight_u g_u g_u' + l2: g_u is the sum of scale_i x_i over the
 * rows of group u. */
typedef struct {
    const uint32_t *group; /* by row, ascending; NULL: each row is a group */
    const double *scale;   /* by row; NULL: 1 */
    const double *weight;  /* by group */
    double l2;
} coarse_groups;

void pboost_coarse_refresh(coarse_system *coarse, const wide_rows *rows,
                           const coarse_groups *groups);

/* out = the preconditioner times r; diagonal by parameter, that of the whole matrix. */
void pboost_coarse_apply(double *out, const coarse_system *coarse, const double *r,
                         const double *diagonal);

#endif

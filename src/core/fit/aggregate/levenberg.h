/* Levenberg-Marquardt: minimises a sum of squares, or another function that is not convex, with a
 * good positive semidefinite approximation of its Hessian. */
#ifndef PBOOST_LEVENBERG_H
#define PBOOST_LEVENBERG_H

#include <priorboost/core.h>

#include "base/linalg.h"

typedef struct {
    size_t n;
    void *self;
    /* The value at x, an infinity or NaN where it overflows; remembers x as the trial. */
    double (*attempt)(void *self, const double *x);
    /* The trial becomes the point. */
    void (*accept)(void *self);
    /* Value, gradient and matrix (n x n, lower triangle) at the point, which is x. */
    double (*here)(void *self, const double *x, double *gradient, double *matrix);
} levenberg_problem;

typedef struct {
    size_t max_steps;
    double tolerance; /* on half the squared decrement, relative to the value */
    double slack;     /* stop early, once the decrement is below this fraction of the first */
    double floor;     /* a value below this is compared as if it were this */
    double rounding;  /* of the value, beyond its last digits */
    const pboost_cancel *cancel;
} levenberg_options;

/* Memory that outlives a call, so that a problem that changes a little can be solved again. */
typedef struct {
    size_t n;
    double *gradient, *step, *trial, *matrix, *block;
    pboost_cholesky factor; /* at the end: of the matrix at the point, undamped */
    double damping;
    bool ranked; /* columns that add nothing were found */
    size_t rank;
} levenberg;

typedef struct {
    bool converged; /* as far as the tolerance, not the slack */
    bool stuck;     /* no step lowers the value */
    size_t steps;   /* tried */
    double value, gradient_norm, decrement;
    double first; /* decrement where it started */
} levenberg_report;

pboost_status pboost_levenberg_init(levenberg *out, size_t n, pboost_error *err);
void pboost_levenberg_free(levenberg *lm);

/* Minimises from x, which is the point.  may_drop: columns of the matrix that add nothing to those
 * before them keep their parameters; they are found in the first call.  Ends early, without a
 * usable result, if the cancel says so: the caller checks it again. */
void pboost_levenberg(double *x, levenberg_report *report, levenberg *lm,
                      const levenberg_problem *problem, const levenberg_options *options,
                      bool may_drop);

#endif

/* A minimiser of smooth convex functions that uses only value, gradient and Hessian. */
#ifndef PBOOST_NEWTON_H
#define PBOOST_NEWTON_H

#include <priorboost/core.h>

#include "base/workspace.h"

typedef struct {
    size_t n;
    void *self;
    /* The value at x; fills gradient and, where hessian is not NULL, its lower triangle (n x n,
     * row-major).  May return an infinity or NaN where the function overflows. */
    double (*evaluate)(void *self, const double *x, double *gradient, double *hessian);
    /* An estimate of the Hessian that is much cheaper than the Hessian; NULL: there is none. */
    void (*rough_hessian)(void *self, const double *x, double *hessian);
    /* The largest change that step p makes to any linear predictor, |Xp|. */
    double (*reach)(void *self, const double *p);
    /* Whether the function never grows along p, however far; NULL: it always does in the end. */
    bool (*recedes)(void *self, const double *p);
} pboost_objective;

typedef struct {
    size_t max_iterations;
    double tolerance;   /* on half the squared Newton decrement, relative to the value */
    bool definite;      /* the Hessian has full rank by construction: drop no column */
    bool quadratic;     /* the Hessian is the same everywhere */
    bool keeps_hessian; /* gradients are much cheaper: that at the start serves for all steps */
    double floor;       /* a value below this is compared with the tolerance as if it were this */
    double limit;       /* a start whose value is larger is refused; INFINITY: none */
    pboost_workspace *work; /* NULL: none */
    const pboost_cancel *cancel;
} pboost_newton_options;

typedef struct {
    bool converged;
    bool started; /* the start was finite and within the limit */
    bool recedes; /* there is no finite minimiser */
    size_t iterations;
    double value, gradient_norm;
    size_t rank;          /* parameters kept */
    size_t first_dropped; /* SIZE_MAX: none */
} pboost_newton_report;

/* Minimises f from x, in place.  Fails only for lack of memory or when the cancel says so: all else
 * is in the report.  Where it converged, value and gradient are those before a last step within the
 * tolerance, or those expected after one that will be. */
pboost_status pboost_newton(double *x, pboost_newton_report *report, const pboost_objective *f,
                            const pboost_newton_options *options, pboost_error *err);

#endif

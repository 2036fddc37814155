/* Newton's method for very many parameters: the matrix is known by its products alone. */
#ifndef PBOOST_SPARSE_NEWTON_H
#define PBOOST_SPARSE_NEWTON_H

#include <priorboost/core.h>

typedef struct {
    size_t n;
    void *self;
    /* The value at x, not finite where it overflows; remembers x as the trial. */
    double (*attempt)(void *self, const double *x);
    /* The trial becomes the point. */
    void (*accept)(void *self);
    /* At the point, which is x: the gradient, and a diagonal for the preconditioner, which may stay
     * as it was. */
    void (*here)(void *self, const double *x, double *gradient, double *diagonal);
    /* out = M^-1 r, with M near the matrix of the last `here`, positive definite. */
    void (*precondition)(void *self, double *out, const double *r, const double *diagonal);
    /* out = matrix v, at the point.  The matrix is positive semidefinite: a Hessian, or what stands
     * for it. */
    void (*product)(void *self, double *out, const double *v);
} wide_problem;

typedef struct {
    size_t max_steps;
    double tolerance; /* on the gain that the next step promises, relative to the value */
    double slack;     /* stop early, once that is below this fraction of the first; 0: do not */
    double floor;     /* a value below this is compared as if it were this */
    double rounding;  /* of the value, beyond its last digits */
    const pboost_cancel *cancel;
} wide_newton_options;

typedef struct {
    bool converged; /* as far as the tolerance, not the slack */
    bool stuck;     /* no step lowers the value */
    size_t steps, products;
    double value, gradient_norm;
    double first; /* gain promised where it started */
} wide_newton_report;

/* Memory that outlives a call. */
typedef struct {
    size_t n;
    double *gradient, *diagonal, *step, *residual, *scaled, *direction, *image, *trial, *block;
    double radius; /* of the trust region, by M; 0: not known yet */
    double enough; /* when the conjugate gradients of a step end */
    double part;   /* of a step that is taken */
} wide_newton;

pboost_status pboost_wide_newton_init(wide_newton *out, size_t n, pboost_error *err);
void pboost_wide_newton_free(wide_newton *newton);

/* Minimises from x, which is the point and where the value is `value`.  Ends early, without a
 * usable result, if the cancel says so: the caller checks it again. */
void pboost_wide_newton(double *x, double value, wide_newton_report *report, wide_newton *newton,
                        const wide_problem *problem, const wide_newton_options *options);

/* step = matrix^-1 right by conjugate gradients, until the error is about `tolerance` of the
 * result; diagonal must be that of the point.  Returns false if the cancel says so, or if it takes
 * too long.
 */
bool pboost_wide_solve(wide_newton *newton, const wide_problem *problem, const double *right,
                       double tolerance, const pboost_cancel *cancel);

#endif

/* The ridge on the weights of curves: how far each is bent away from its straight line. */
#ifndef PBOOST_CURVE_RIDGE_H
#define PBOOST_CURVE_RIDGE_H

#include <stdbool.h>
#include <stddef.h>

#include <priorboost/core.h>

/* The curves of a fit.  Their columns are the last ones. */
typedef struct {
    size_t n, columns;
    size_t *start;    /* by curve, n + 1: its columns, counted from the first of a curve */
    double *ridge;    /* by curve: on its weights in the units of x */
    double *work;     /* for the evidence */
    size_t refreshes; /* of the ridges */
    bool bent;        /* the ridges are in use; before that, curves are straight lines */
    bool settled;     /* the ridges do not change any more */
} fit_curves;

struct aggregate_fit;

pboost_status pboost_curves_init(fit_curves *out, const pboost_fit_options *options,
                                 size_t parameters, pboost_error *err);
void pboost_curves_free(fit_curves *curves);

/* At the start of a fit: straight lines. */
void pboost_curves_start(struct aggregate_fit *fit);

/* Sets the penalty of the columns of curves. */
void pboost_curves_refresh_penalty(struct aggregate_fit *fit);

/* Finds the ridges from the answers.  The matrix and the gradient of the fit must be those of
 * the point.  refreshes: of the fit, this one included. */
void pboost_curves_refresh(struct aggregate_fit *fit, size_t refreshes);

/* Whether nothing will change any more. */
bool pboost_curves_settled(const struct aggregate_fit *fit);

/* Effective degrees of freedom by curve; A must be factored. */
void pboost_curves_freedom(double *freedom, const struct aggregate_fit *fit);

#endif

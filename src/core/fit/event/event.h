/* The event-level fit, for its own files. */
#ifndef PBOOST_EVENT_H
#define PBOOST_EVENT_H

#include <priorboost/trainer.h>

#include "base/workspace.h"
#include "data/fit_options.h"
#include "fit/event/newton.h"
#include "passes/row_pass.h"

#define EVENT_L2 1.0 /* the default */

/* The sum of losses as a function of parameters, the intercept first. */
typedef struct event_problem {
    const pboost_fit_options *options;
    double l2;
    const family_info *family;
    size_t cols, n_parameters;
    double *theta;      /* to work with: padded, zeros after the columns */
    row_pass pass;      /* over all samples */
    pass_plan *rough;   /* whose Hessian is a cheap estimate; NULL: none */
    double correlated;  /* what the last such estimate kept beside the diagonal, 0 to 1 */
    bool keeps_hessian; /* a fit that continues from a start computes one */
    double at_zero;     /* the value where all parameters are 0 */
    bool overflows;     /* said by the fit: even there it is not finite */
    /* Moves x, which is 0, to a better start; NULL: there is none. */
    pboost_status (*warm_up)(double *x, struct event_problem *problem, pboost_error *err);
    void *samples; /* of the warm-up */
    pboost_workspace *work;
} event_problem;

/* How far to minimise. */
typedef struct {
    size_t max_iterations;
    double tolerance, limit; /* see pboost_newton_options */
    bool may_recede;         /* notice that there is no finite minimiser */
    bool keeps_hessian;
} event_goal;

/* Checks the options, which get their own l2, and sets all of the problem that depends on them and
 * on the targets; what is left are the passes and memory. */
pboost_status pboost_event_begin(event_problem *problem, pboost_fit_options *options,
                                 const pboost_coef *coef, const pboost_samples *targets,
                                 pboost_error *err);

/* Minimises the sum of losses over `pass`, from x and in place. */
pboost_status pboost_event_minimise(double *x, pboost_newton_report *report, event_problem *problem,
                                    const row_pass *pass, pass_plan *rough, const event_goal *goal,
                                    pboost_error *err);

/* Fits from coef.  shift (by column, NULL: 0) is what the passes take off the columns. */
pboost_status pboost_event_solve(pboost_coef *coef, pboost_fit_report *report,
                                 event_problem *problem, const double *shift, pboost_error *err);

/* Fits samples on this machine, with memory from work (NULL: none). */
pboost_status pboost_event_fit_samples(pboost_workspace *work, pboost_coef *coef,
                                       pboost_fit_report *report, const pboost_samples *samples,
                                       const pboost_fit_options *options, pboost_error *err);

/* ---- warm_up.c: large tables start from a fit to a part of their samples --------------------- */

/* Memory of the warm-up, over samples that the fit reads with this shift. */
typedef struct {
    const pboost_samples *samples;
    const double *shift;
    pass_plan fine, coarse; /* over parts of the samples; may be empty */
} event_parts;

/* Sets problem->warm_up where the table is large enough for it. */
void pboost_event_plan_warm_up(event_problem *problem, event_parts *parts);
void pboost_event_parts_free(event_parts *parts);

/* ---- checks.c -------------------------------------------------------------------------------- */

pboost_status pboost_event_check_options(const pboost_coef *coef, const pboost_fit_options *options,
                                         pboost_error *err);
/* Refuses targets whose mean is not a mean of the family: an intercept, which is not penalised,
 * would diverge for any l2. */
pboost_status pboost_event_check_intercept(const pboost_samples *samples, const family_info *family,
                                           pboost_error *err);
/* Says why the sum of losses is not finite even where all parameters are 0. */
pboost_status pboost_event_explain_overflow(const pboost_samples *samples, pboost_error *err);

/* The value where all parameters are 0, which needs no features. */
double pboost_event_value_at_zero(const pboost_samples *samples, pboost_family family);

#endif

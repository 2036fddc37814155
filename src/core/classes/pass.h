/* One pass over the rows of bags: what a fit of classes needs about each bag.
 *
 *     mean      mu_B = mean of p_i                                 what the answer is expected to
 * be variance  a_B  = sum of (diag p_i - p_i p_i')/w_i / s^2      its covariance; here the diagonal
 *     jacobian  J_B  = mean of (diag p_i - p_i p_i') (x) (1, x_i)  the derivative of mu_B
 *
 * A jacobian has C rows and as many columns as there are parameters, so it is made bag by bag and
 * not kept.  Bags are cut into chunks by the problem alone and a bag belongs to one chunk, so the
 * results have the same bits for any number of threads. */
#ifndef PBOOST_CLASS_PASS_H
#define PBOOST_CLASS_PASS_H

#include "kernels/glm.h"
#include "passes/standard_units.h"

/* Parameter (c - 1) * width + j belongs to class c; j = 0 is the intercept where there is one.
 * Class 0 has none. */
typedef struct {
    const double *x; /* rows of `cols` doubles, in the order of the bags */
    const double *weight;
    size_t n_bags;
    const size_t *start;
    size_t classes, cols, width, n_parameters;
    bool intercept;
    int threads;
    const glm_kernels *kernels;
    size_t stride, capacity; /* of a panel of jacobian rows */
    size_t n_chunks, sums_size, work_size;
    size_t *chunk_start; /* bags, by chunk */
    double *sums;        /* by chunk */
    double *work;        /* by worker; part of block, aligned */
    double *block;
} class_pass;

/* By bag and class. */
typedef struct {
    double *mean, *variance;
    double *parameter; /* where this is */
    double *eta; /* over all rows, by class: sums of the linear predictors; of their squares */
} class_moments;

/* The rows of `gathered` (standard_units.h), whose bags start at start[0 .. n_bags]; borrowed. */
pboost_status pboost_class_pass_init(class_pass *out, const gathered_rows *gathered,
                                     const size_t *start, size_t n_bags, size_t classes,
                                     bool intercept, int threads, pboost_error *err);
void pboost_class_pass_free(class_pass *pass);

pboost_status pboost_class_moments_init(class_moments *out, const class_pass *pass,
                                        pboost_error *err);
void pboost_class_moments_free(class_moments *moments);
void pboost_class_pass_run(class_moments *out, const class_pass *pass, const double *parameter);

/* The standard deviation over all rows of the linear predictor that varies most. */
double pboost_class_eta_sd(const class_moments *moments, const class_pass *pass);

/* What a bag adds to a Gram matrix: sum over r of (combine_r J)' (combine_r J). */
typedef struct {
    const void *self;
    /* Fills combine[r * classes + c], all zeros before, and returns how many r there are, at most
     * `classes`.  covariance: a_B, classes squared.  Called by several threads at a time. */
    size_t (*combine)(const void *self, double *combine, size_t bag, const double *covariance);
} class_rows;

/* gram (n_parameters squared, lower triangle) = that sum over bags at the parameter; where slope is
 * not NULL, vector = sum over bags and classes of slope[bag * classes + c] J_c. */
void pboost_class_pass_gram(double *gram, double *vector, const class_pass *pass,
                            const double *parameter, class_rows rows, const double *slope);

#endif

/* One pass over the rows of bags: what the aggregate estimator and the planner need about each bag
 * at a given theta.
 *
 *     mean      mu_B = mean of b'(eta_i)              what the answer is expected to be
 *     variance  a_B  = sum of b''(eta_i)/w_i / s^2    its variance per unit of dispersion
 *     jacobian  J_B  = mean of b''(eta_i) x_i         the derivative of mu_B
 *
 * Bags are cut into chunks by the problem alone and a bag belongs to one chunk, so the results have
 * the same bits for any number of threads. */
#ifndef PBOOST_BAGPASS_H
#define PBOOST_BAGPASS_H

#include <priorboost/cluster.h>

#include "data/family.h"
#include "data/matrix.h"

/* Bag b is the rows row[start[b] .. start[b+1]) of x, at least one; row NULL: those numbers
 * themselves. */
typedef struct {
    const pboost_matrix *x;
    const double *weight; /* by row of x: the label's variance is divided by it; NULL: 1 */
    const double *offset; /* by row of x, added to eta; NULL: 0 */
    size_t n_bags;
    const size_t *start, *row;
} bag_rows;

/* Units in which theta is given and J returned: column j is (x_j - center_j) / scale_j.  `shift` is
 * the part of the centre that is subtracted from x itself, if x is far from 0. */
typedef struct {
    const double *shift;          /* NULL: 0 */
    const double *center, *scale; /* center is without the shift */
} bag_units;

/* By bag.  The jacobian is row-major: `stride` entries a bag, of which the first is the derivative
 * by the intercept where there is one, then those by theta, then zeros. */
typedef struct {
    double *mean, *variance, *jacobian;
    double *parameter;       /* where all this is */
    double eta_mean, eta_sd; /* over all rows */
} bag_moments;

typedef struct bag_pass bag_pass;

/* How a pass is made: on this machine, or by those that have the rows (cluster/bag_parts.c).  A
 * failure there gives NaN. */
typedef struct {
    void (*moments)(bag_moments *out, bag_pass *pass, const double *parameter);
    void (*gram)(double *gram, double *vector, bag_pass *pass, const bag_moments *moments,
                 const double *weight, const double *residual);
    /* A pass over the same rows whose jacobian is the mean of their features. */
    pboost_status (*features)(bag_pass *out, const bag_pass *pass, pboost_error *err);
} bag_pass_class;

struct bag_pass {
    const bag_pass_class *class;
    void *machines; /* of the class; NULL: the rows are here */
    bag_rows bags;  /* of rows elsewhere only n_bags and start */
    pboost_family family;
    bool intercept;
    bag_units units;
    int threads;
    const glm_kernels *kernels;
    size_t cols, n_parameters; /* columns of x; with the intercept */
    size_t blocks, padded;     /* of the columns of x */
    size_t stride;             /* of the jacobian: n_parameters in whole blocks */
    size_t capacity, n_chunks, n_workers, work_size, sums_size;
    size_t *chunk_start; /* bags, by chunk */
    double *theta;       /* padded, in the units of x */
    double *work;        /* by worker */
    double *sums;        /* by chunk */
};

/* Whether a pass over bags of x costs about as much where its rows are all over the table as where
 * they are neighbours: a row is whole, and longer than a line of the cache. */
bool pboost_bagpass_takes_rows(const pboost_matrix *x);

/* units NULL: those of x.  What bags and units point to is borrowed. */
pboost_status pboost_bagpass_init(bag_pass *out, const bag_rows *bags, pboost_family family,
                                  bool intercept, const bag_units *units, int threads,
                                  pboost_error *err);
void pboost_bagpass_free(bag_pass *pass);

pboost_status pboost_bag_moments_init(bag_moments *out, const bag_pass *pass, pboost_error *err);
void pboost_bag_moments_free(bag_moments *moments);

/* parameter: the intercept first where there is one, then theta; n_parameters in all.  Overflow
 * gives infinities or NaN. */
void pboost_bagpass_run(bag_moments *out, bag_pass *pass, const double *parameter);

/* gram (n_parameters squared, row-major, the lower triangle) = sum of weight_B J_B J_B' and, where
 * vector is not NULL, vector = sum of weight_B residual_B J_B. */
void pboost_bagpass_gram(double *gram, double *vector, bag_pass *pass, const bag_moments *moments,
                         const double *weight, const double *residual);

/* Opens a pass over the rows of another whose jacobian is the mean of the features. */
pboost_status pboost_bagpass_features(bag_pass *out, const bag_pass *pass, pboost_error *err);

#endif

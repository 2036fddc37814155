/* Boosting at the level of bags: one forest, tree after tree.
 *
 * The predictor of row i is F_i, its mean b'(F_i), v_i = b''(F_i)/s of a bag of s rows the
 * derivative of the bag's mean.  With V = a + c/phi frozen while a tree is made,
 *
 *     objective   sum of r^2 / 2V,  r = answer - mean of the bag
 *     gradient    g_i = v_i r / V
 *     curvature   h_i = v_i (sum of v in the bag) / V
 *
 * The Gauss-Newton matrix of a bag, v v'/V, is not diagonal; diag(v_i sum_j v_j)/V is not below it,
 * so that a step of the trees' gain is never too long.  (Its plain diagonal is too small by the
 * size of the bag.)  For bags of one row both are the usual curvature.  What the bound makes too
 * slow, the values of the leaves make up for: they are solved for jointly, with the whole matrix.
 *
 * If the noise is Laplace, r and V are the working residual and its variance (data/answer_error.h),
 * refreshed for every tree. */
#ifndef PBOOST_BOOST_H
#define PBOOST_BOOST_H

#include "data/family.h"
#include "trees/grow.h"

/* What the forests of a fit have in common.  Row i is row row[i] of the table; bag b is rows
 * start[b] .. start[b+1]. */
typedef struct {
    const family_info *family;
    const family_kernels *kernels;
    size_t rows, bags;
    size_t *start;
    const size_t *row;
    const double *answer, *noise;
    bool laplace;         /* the noise is */
    double *total;        /* by bag: of the weights of its rows */
    const double *weight; /* by row of the table; NULL: 1 */
    const pboost_forest_options *options;
    binned data;
    size_t n_chunks, *chunk; /* bags of chunk c: chunk[c] .. chunk[c+1] */
    double *least_variance;  /* by bag: what a_B is at least taken to be */
    double phi;
    bool noisy;
} boost_problem;

/* By bag. */
typedef struct {
    double *mean, *variance; /* mu_B, a_B */
} bag_point;

typedef struct {
    const boost_problem *problem;
    const unsigned char *fold; /* by bag; those of `out` are left out.  NULL: none is */
    size_t out;
    const double *from; /* by row of the table: where the predictor starts; NULL: 0 */
    double *eta;        /* by row: the predictor F */
    float *v;           /* by row */
    double intercept;
    bag_point point, trial;
    double *residual, *weight, *sum; /* by bag: r, 1/V, sum of v */
    double *target;                  /* by bag: the answer, or what stands for it (below) */
    uint8_t *order;                  /* of the levels of categories (order.c) */
    growing_forest forest;
    bool done; /* no leaf can be split */
} booster;

/* Memory that trees use while they are made. */
typedef struct {
    grow_work grow;
    double *sums;          /* by chunk: leaves x leaves, leaves */
    double *value, *scale; /* by leaf */
    double *bag;           /* by chunk: by leaf */
    unsigned char *dropped;
    unsigned char *drawn, *column; /* by bag, by column: whether the tree is grown from it */
} boost_work;

pboost_status pboost_boost_work_init(boost_work *out, const boost_problem *p, pboost_error *err);
void pboost_boost_work_free(boost_work *work);

/* The mean of the answers about bags outside fold `out` (fold NULL: about all), moved inside the
 * range of means where noise, or a lack of events, puts it outside or too near to its end. */
double pboost_mean_answer(const boost_problem *p, const unsigned char *fold, size_t out);

/* Sets intercept and predictor of the constant model, beside where the predictor starts. */
pboost_status pboost_booster_init(booster *out, const boost_problem *p, const unsigned char *fold,
                                  size_t left_out, const double *from, int threads,
                                  pboost_error *err);
void pboost_booster_free(booster *b);

static inline bool pboost_left_out(const booster *b, size_t bag)
{
    return b->fold != NULL && b->fold[bag] == b->out;
}

/* Fills in b->order from the residuals and weights at the start. */
pboost_status pboost_order_levels(booster *b, int threads, pboost_error *err);

/* Residuals and weights at the point, with phi of the problem. */
void pboost_booster_freeze(booster *b);

/* Adds tree number `tree`, with phi of the problem.  pboost_forest_reserve goes before. */
void pboost_boost(booster *b, boost_work *work, size_t tree, int threads);

#endif

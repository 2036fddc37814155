/* priorboost/theory.h — the paper's theorems as functions, and the data of its experiments.
 * Conventions are those of core.h. */
#ifndef PRIORBOOST_THEORY_H
#define PRIORBOOST_THEORY_H

#include <priorboost/core.h>

PBOOST_BEGIN

/* In all of these, bags name rows of x, and m = bags->n_bags. */

typedef struct pboost_risk {
    double bias, variance; /* the risk is their sum */
} pboost_risk;

/* Theorem "linear regression": E|theta^ - theta*|^2 of the event-level least squares fit (no ridge,
 * no intercept, no noise by the mechanism), exactly. */
pboost_status pboost_risk_linear(pboost_risk *out, const pboost_matrix *x, const pboost_bags *bags,
                                 const double *theta, double sigma2, pboost_error *err);

/* Its corollary: |(X'X)^-1 X'|^2 (k-means objective + sigma^2 min(m, d)) bounds that risk. */
pboost_status pboost_risk_linear_bound(double *out, const pboost_matrix *x, const pboost_bags *bags,
                                       const double *theta, double sigma2, pboost_error *err);

/* Theorem "GLM": E|gradient of the mean event-level loss at theta*|^2, the 1/n^2 included; phi is
 * the dispersion a(phi), the same for all rows. */
pboost_status pboost_gradient_norm(pboost_risk *out, pboost_family family, const pboost_matrix *x,
                                   const pboost_bags *bags, const double *theta, double phi,
                                   pboost_error *err);

/* Its corollary, an upper bound on that norm. */
pboost_status pboost_gradient_bound(double *out, pboost_family family, const pboost_matrix *x,
                                    const pboost_bags *bags, const double *theta, double phi,
                                    pboost_error *err);

/* Whether the variance term of the GLM bound does not depend on the bags: m/d >= max v / min v. */
typedef struct pboost_variance_check {
    double bags_per_feature; /* m/d */
    double variance_ratio;   /* max v / min v */
    bool droppable;
} pboost_variance_check;

pboost_status pboost_variance_ratio(pboost_variance_check *out, pboost_family family,
                                    const pboost_matrix *x, const pboost_bags *bags,
                                    const double *theta, pboost_error *err);

/* (1 - 1/k)^2 |theta*|^2: the bias that random bags of k never lose (Theorem "lower bound"). */
double pboost_random_bags_bound(size_t min_bag, const double *theta, size_t n);

/* |S'S - S~'S~| in operator norm: the distance of two partitions of the same rows. */
pboost_status pboost_bags_mismatch(double *out, const pboost_bags *a, const pboost_bags *b,
                                   pboost_error *err);

/* ---- The paper's data ------------------------------------------------------------------------ */

typedef struct pboost_synthetic {
    size_t struct_size;
    pboost_family family;
    size_t features;
    double noise;      /* sigma of the Gaussian added to x theta* */
    bool round_labels; /* logistic: y = round(sigmoid(x theta* + e)) as in the paper, not a coin */
    uint64_t seed;
} pboost_synthetic;

#define PBOOST_SYNTHETIC_INIT                                                                      \
    {                                                                                              \
        sizeof(pboost_synthetic), PBOOST_LINEAR, 8, 0.1, false, 0                                  \
    }

/* theta* ~ N(0, I); for Poisson scaled to norm 1/2. */
pboost_status pboost_synthetic_theta(double *theta, const pboost_synthetic *s, pboost_error *err);

/* Rows first .. first+n of an endless table: x ~ N(0, I) row-major, y from the family.  Each stream
 * (0 for training, 1 for test, ...) is an independent table with the same theta*. */
pboost_status pboost_synthetic_rows(double *x, double *y, const pboost_synthetic *s,
                                    const double *theta, uint64_t stream, size_t first, size_t n,
                                    int threads, pboost_error *err);

/* ---- A click log ----------------------------------------------------------------------------- */

/* Category j has the levels 0 .. pboost_clicks_levels(j)-1, 8 to a million of them; the r-th comes
 * with a probability of about 1/r.  A visitor belongs to one of 8 segments, and every third
 * category has a vocabulary for each.  Numbers are N(0, 1) with four decimals, 5 % are missing
 * (NaN).  A click has the probability sigmoid(intercept + the weights of the levels + number *
 * weight), and two thirds of the levels weigh nothing. */
#define PBOOST_CLICKS_CATEGORIES 26
#define PBOOST_CLICKS_NUMBERS 13

typedef struct pboost_clicks {
    size_t struct_size;
    double rate; /* mean probability of a click */
    uint64_t seed;
} pboost_clicks;

#define PBOOST_CLICKS_INIT                                                                         \
    {                                                                                              \
        sizeof(pboost_clicks), 0.05, 0                                                             \
    }

size_t pboost_clicks_levels(size_t category);
double pboost_clicks_weight(const pboost_clicks *c, size_t category, size_t level);
double pboost_clicks_number_weight(const pboost_clicks *c, size_t number);
/* The intercept that gives the rate. */
pboost_status pboost_clicks_intercept(double *out, const pboost_clicks *c, int threads,
                                      pboost_error *err);
/* Rows first .. first+n of an endless log, row-major: n x CATEGORIES levels, n x NUMBERS numbers, n
 * labels.  Each stream is an independent log with the same truth. */
pboost_status pboost_clicks_rows(uint32_t *level, double *number, double *label,
                                 const pboost_clicks *c, double intercept, uint64_t stream,
                                 size_t first, size_t n, int threads, pboost_error *err);

PBOOST_END

#endif

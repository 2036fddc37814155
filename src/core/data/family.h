/* The families as one table: everything that differs between them is in its row. */
#ifndef PBOOST_FAMILY_H
#define PBOOST_FAMILY_H

#include <math.h>

#include <priorboost/core.h>

#include "kernels/glm.h"

typedef struct {
    pboost_family family;
    const char *name;
    const char *labels; /* what a label may be, for messages */
    const char *means;  /* what a mean may be, for messages */
    bool (*label_ok)(double y);
    double least_mean, most_mean;       /* a mean lies between them */
    double (*mean)(double eta);         /* b', for a few rows; the kernels do many */
    double (*eta)(double mean);         /* its inverse, the link */
    double (*variance_at)(double mean); /* b'' there: the variance function v */
    /* The gain in log quasi-likelihood of y when its mean moves: the integral of
     * (y - t) / (v(t)/n + c) over t from `from` to `to`. */
    double (*quasi)(double y, double from, double to, double n, double c);
    bool curved;    /* b'' is not constant: fitting takes more than one Newton step */
    double no_loss; /* a fraction of the loss at theta = 0 that counts as 0 */
    /* The slope of the loss at infinity along a direction in which eta changes by v: what decides
     * whether there is a finite minimiser. */
    double (*slope_at_infinity)(double y, double v);
    double prior_spread; /* the variance of eta that a wide prior expects; 0: that of the labels */
    bool ridge_judged;   /* under noise by the answers; log odds have a natural scale */
} family_info;

/* The row of the table; NULL for a value that is not a family. */
const family_info *pboost_family_info(pboost_family family);

pboost_status pboost_family_check(pboost_family family, pboost_error *err);

/* That of a family, for this variance of eta and this dispersion. */
static inline double pboost_prior_spread(const family_info *family, double eta_sd, double phi)
{
    return family->prior_spread > 0.0 ? family->prior_spread : eta_sd * eta_sd + phi;
}

/* The block functions of a family at the level of vector instructions in use. */
static inline const family_kernels *pboost_family_kernels(pboost_family family)
{
    return &pboost_glm_kernels()->family[family];
}

/* For making bags, a mean that overflows is just very large. */
static inline void pboost_limit_scores(double *score, size_t n)
{
    for (size_t i = 0; i < n; i++)
        score[i] = fmin(score[i], 1e100);
}

/* Refuses the first label that is not one of the family's, naming its sample and row. */
pboost_status pboost_family_check_labels(pboost_family family, const pboost_samples *samples,
                                         pboost_error *err);

#endif

/* The quasi-likelihood of answers: V of a bag as a function of its mean prediction t,
 *
 *     V(t) = v(t)/n + c/phi,    n = v(mu)/a
 *
 * with v the variance function of the family and n the size of the bag: its number of rows where
 * they all have the same mean, more where they differ. */
#ifndef PBOOST_QUASI_H
#define PBOOST_QUASI_H

#include "fit/aggregate/aggregate.h"

#define LEAST_VARIANCE 1e-150 /* if the mean of every row is at its limit */

/* n of bag b at these moments.  0: the bag has a row of weight 0 and counts for nothing. */
double pboost_bag_size(const bag_data *data, const bag_moments *at, const family_info *family,
                       size_t b);

/* Whether the constant model explains the answers better than the one that has these moments, by
 * the quasi-likelihood with its sizes.  Without an intercept the constant model is theta = 0. */
bool pboost_worse_than_constant(const bag_data *data, const bag_moments *at,
                                const pboost_fit_options *options, double phi);

/* ---- Of a fit, whose sizes are frozen while the minimiser works ------------------------------ */

/* Minus the log quasi-likelihood of these means by bag.  Its constant is chosen so that it is half
 * the sum of r^2 / V where the sizes were frozen. */
double pboost_quasi_loss(const aggregate_fit *fit, const double *mean);
/* The possible rounding error of it at the point. */
double pboost_quasi_rounding(const aggregate_fit *fit);
/* 1/V at the point. */
void pboost_quasi_set_weights(aggregate_fit *fit);
/* Freezes the sizes at the point; refreshes: how often they were, this time included. */
void pboost_quasi_refresh_sizes(aggregate_fit *fit, size_t refreshes);

#endif

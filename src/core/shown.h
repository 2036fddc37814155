/* How much the linear predictor of an aggregate fit varies in truth. */
#ifndef PBOOST_SHOWN_H
#define PBOOST_SHOWN_H

#include "aggregate.h"

/* The variance of eta over the rows that the fit has shown: what is left of its own when the noise in
 * the weights and a quarter of its standard error are taken off.  work: 2 cols^2.  The factor of the
 * fit's matrix must be that of the point. */
double pboost_signal_variance(const aggregate_fit *fit, double *work);

#endif

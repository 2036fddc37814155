/* How large the weights of an aggregate fit are in truth, and the ridge that goes with it. */
#ifndef PBOOST_SHOWN_H
#define PBOOST_SHOWN_H

#include "fit/aggregate/aggregate.h"

/* The lambda that shrinks a weight of which as much is known as of the average as much as the answers
 * say it should be.  The matrix of the fit must be that of the point, and the point its solution. */
double pboost_ridge_shown(const aggregate_fit *fit, double *work);

/* In doubles. */
size_t pboost_shown_work_size(size_t cols);

#endif

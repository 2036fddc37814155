/* Signal and noise in the fitted weights.
 *
 * With A = G + lambda and B the block of A^-1 that belongs to the weights (the intercept profiled
 * out), theta^ = K theta + noise, K = 1 - lambda B, and the noise has covariance S = phi (B - lambda
 * B^2).  So |theta^|^2 exceeds |K theta|^2 by tr S on average, with variance 2 tr S^2 + 4 theta' S
 * theta.  If theta has no preferred direction, |K theta|^2 is |theta|^2 tr K^2 / d.
 *
 * This is what a ridge that is to shrink under noise must go by.  The variance of the fit's own linear
 * predictor would do the opposite: the weaker the ridge, the more noise is in it, the weaker the ridge
 * that it asks for. */
#include "shown.h"

#include <math.h>
#include <string.h>

/* Standard errors that chance may account for.  With none, a fit to nothing but noise follows it now and
 * then; with one, real signals of about the size of the noise are shrunk away. */
#define DOUBT 0.25

/* B, d x d, from the factor of A. */
static void weights_block(double *block, const aggregate_fit *fit)
{
    size_t n = fit->pass.n_parameters, d = fit->pass.cols, first = n - d;
    double *column = fit->lm.step, *unit = fit->lm.trial;
    for (size_t i = 0; i < d; i++) {
        memset(unit, 0, n * sizeof *unit);
        unit[first + i] = 1.0;
        pboost_cholesky_solve(column, &fit->lm.factor, unit);
        memcpy(block + i * d, column + first, d * sizeof *block);
    }
}

double pboost_signal_variance(const aggregate_fit *fit, double *work)
{
    size_t d = fit->pass.cols;
    const double *theta = fit->parameter + fit->options->intercept;
    double *b = work, *s = work + d * d, lambda = fit->lambda;
    double norm = 0.0, noise = 0.0, noise2 = 0.0, along = 0.0, kept = 0.0;

    weights_block(b, fit);
    for (size_t i = 0; i < d; i++) {
        double *row = s + i * d;
        for (size_t j = 0; j < d; j++)
            row[j] = fit->phi * b[i * d + j];
        for (size_t k = 0; k < d; k++)
            for (size_t j = 0; j < d; j++)
                row[j] -= fit->phi * lambda * b[i * d + k] * b[k * d + j];
        noise += row[i];
        for (size_t j = 0; j < d; j++) {
            double shrink = (i == j) - lambda * b[i * d + j];
            kept += shrink * shrink;
            noise2 += row[j] * row[j];
            along += theta[i] * row[j] * theta[j];
        }
        norm += theta[i] * theta[i];
    }
    double error = sqrt(2.0 * noise2 + 4.0 * fmax(along - noise2, 0.0));
    double share = norm > 0.0 ? 1.0 - (noise + DOUBT * error) / norm : 0.0, sd = fit->point.eta_sd;
    return share > 0.0 && kept > 0.0 ? sd * sd * share * (double)d / kept : 0.0;
}

#include "fit/aggregate/quasi.h"

#include <math.h>

#include "fit/aggregate/constant.h"

#define ROUNDING 1e-14   /* relative error of a mean */
#define FULL_REFRESHES 8 /* of the sizes; after each such number they take shorter steps */
#define NO_GAIN 1e-6     /* log quasi-likelihood per bag that counts as 0 */

/* c/phi of a bag; phi may be 0 where there is no noise. */
static double noise_over(double noise, double phi)
{
    return noise > 0.0 ? noise / phi : 0.0;
}

double pboost_bag_size(const bag_data *data, const bag_moments *at, const family_info *family,
                       size_t b)
{
    double a = at->variance[b], v = family->variance_at(at->mean[b]);
    if (isinf(a))
        return 0.0;
    return a > LEAST_VARIANCE && v > 0.0 ? v / a
                                         : (double)(data->rows.start[b + 1] - data->rows.start[b]);
}

bool pboost_worse_than_constant(const bag_data *data, const bag_moments *at,
                                const pboost_fit_options *options, double phi)
{
    const family_info *family = pboost_family_info(options->family);
    double constant = options->intercept ? pboost_answer_mean(data, NULL, options->family).nearest
                                         : family->mean(0.0);
    double gain = 0.0, bags = (double)data->rows.n_bags;
    for (size_t b = 0; b < data->rows.n_bags; b++) {
        double size = pboost_bag_size(data, at, family, b);
        if (size > 0.0)
            gain += family->quasi(data->answer[b], constant, at->mean[b], size,
                                  noise_over(data->noise[b], phi));
    }
    return !(gain >= -NO_GAIN * bags);
}

/* ---- Of a fit -------------------------------------------------------------------------------- */

/* V of a bag whose mean prediction is `mean`: the variance function over the frozen size, and
 * noise. */
static double variance_at(const aggregate_fit *fit, size_t b, double mean)
{
    double v = fit->family->variance_at(mean) / fit->size[b];
    return fmax(v + noise_over(fit->working.noise[b], fit->phi), LEAST_VARIANCE);
}

double pboost_quasi_loss(const aggregate_fit *fit, const double *mean)
{
    double sum = 0.0;
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double y = fit->working.answer[b], at = fit->frozen_mean[b];
        if (fit->size[b] == 0.0)
            continue;
        sum += 0.5 * (y - at) * (y - at) / variance_at(fit, b, at) -
               fit->family->quasi(y, at, mean[b], fit->size[b],
                                  noise_over(fit->working.noise[b], fit->phi));
    }
    return sum;
}

/* A residual is the difference of numbers that may be much larger. */
double pboost_quasi_rounding(const aggregate_fit *fit)
{
    double sum = 0.0;
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double error = ROUNDING * (fabs(fit->working.answer[b]) + fabs(fit->point.mean[b]));
        sum += fit->weight[b] > 0.0 ? fit->weight[b] * fabs(fit->working.residual[b]) * error : 0.0;
    }
    return sum;
}

void pboost_quasi_set_weights(aggregate_fit *fit)
{
    for (size_t b = 0; b < fit->data.rows.n_bags; b++)
        fit->weight[b] = fit->size[b] > 0.0 ? 1.0 / variance_at(fit, b, fit->point.mean[b]) : 0.0;
}

/* The answers and noise that the minimiser sees, a part of the way from what they were. */
static void refresh_working(aggregate_fit *fit, double part)
{
    const bag_data *data = &fit->data;
    for (size_t b = 0; data->laplace && b < data->rows.n_bags; b++) {
        answer_error error = {fit->phi * fit->point.variance[b], data->noise[b], true};
        working_residual w = pboost_working_residual(fit->residual[b], error);
        double answer = fit->point.mean[b] + w.residual;
        if (!(error.noise > 0.0) || isinf(error.sampling))
            continue;
        fit->working.answer[b] += part * (answer - fit->working.answer[b]);
        fit->working.noise[b] = fmax(w.variance - error.sampling, 0.0);
    }
    pboost_aggregate_set_residuals(fit);
}

/* A refresh may overshoot, so that the fit jumps between two points.  Later refreshes therefore
 * change the logarithm only partly, which does not change the solution. */
void pboost_quasi_refresh_sizes(aggregate_fit *fit, size_t refreshes)
{
    size_t shorter = (refreshes - 1) / FULL_REFRESHES;
    double part = 1.0 / (1.0 + (double)shorter);
    refresh_working(fit, part);
    for (size_t b = 0; b < fit->data.rows.n_bags; b++) {
        double size = pboost_bag_size(&fit->data, &fit->point, fit->family, b);
        fit->size[b] = part < 1.0 ? pow(fit->size[b], 1.0 - part) * pow(size, part) : size;
        fit->frozen_mean[b] = fit->point.mean[b];
    }
    pboost_quasi_set_weights(fit);
}

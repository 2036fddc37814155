#include "fit/aggregate/quasi.h"

#include <math.h>

#include "fit/aggregate/constant.h"

#define LEAST_VARIANCE 1e-150
#define NO_GAIN 1e-6 /* log quasi-likelihood a bag that counts as none */

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
        double size = pboost_bag_size(data, at, family, b), c = data->noise[b];
        if (size > 0.0)
            gain += family->quasi(data->answer[b], constant, at->mean[b], size,
                                  c > 0.0 ? c / phi : 0.0);
    }
    return !(gain >= -NO_GAIN * bags);
}

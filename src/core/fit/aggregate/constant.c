/* The constant model.
 *
 * An intercept is not penalised, so it diverges if the mean of the answers is not a possible mean
 * of the family: counts that are negative on average, proportions above 1.  Under strong noise such
 * answers are normal.  If not even the mean of all answers is clearly inside the range, no weight
 * can be estimated, because weights need more information than the mean.  The result is then the
 * constant model with a mean one standard error inside the range, or half an event inside if there
 * is no noise and no event. */
#include "fit/aggregate/constant.h"

#include <math.h>

#include "data/family.h"
#include "data/fit_options.h"

answer_mean pboost_answer_mean(const bag_data *data, const double *weight, pboost_family family)
{
    const bag_rows *rows = &data->rows;
    answer_mean out = {0};
    double total = 0.0, sum = 0.0, square = 0.0;
    for (size_t b = 0; b < rows->n_bags; b++) {
        double w = 0.0;
        for (size_t i = rows->start[b]; weight != NULL && i < rows->start[b + 1]; i++)
            w += weight[rows->row[i]];
        w = weight != NULL ? w : (double)(rows->start[b + 1] - rows->start[b]);
        total += w;
        sum += w * data->answer[b];
        square += w * w * data->noise[b];
    }
    out.mean = out.nearest = sum / total;
    out.error = sqrt(square) / total;
    const family_info *info = pboost_family_info(family);
    double lower = info->least_mean, upper = info->most_mean;
    double inside = fmin(fmax(out.error, 0.5 / total), 0.5);
    out.outside = out.mean <= lower || out.mean >= upper;
    out.unclear = out.mean < lower + out.error || out.mean > upper - out.error;
    out.nearest = fmin(fmax(out.mean, lower + inside), upper - inside);
    return out;
}

double pboost_constant_intercept(const bag_rows *rows, pboost_family family, double mean)
{
    bool poisson = family == PBOOST_POISSON;
    size_t first = rows->start[0], end = rows->start[rows->n_bags];
    double offset = 0.0, n = (double)(end - first);
    double eta = pboost_family_info(family)->eta(mean);
    if (rows->offset == NULL)
        return eta;
    for (size_t i = first; i < end; i++)
        offset += poisson ? exp(rows->offset[rows->row[i]]) : rows->offset[rows->row[i]];
    return eta - (poisson ? log(offset / n) : offset / n);
}

bool pboost_constant_if_outside(pboost_coef *coef, pboost_fit_report *report, const bag_data *data,
                                const double *weight, const pboost_fit_options *options)
{
    answer_mean mean = pboost_answer_mean(data, weight, options->family);
    if (!options->intercept || !mean.outside)
        return false;
    for (size_t j = 0; j < coef->n; j++)
        coef->theta[j] = 0.0;
    coef->intercept = pboost_constant_intercept(&data->rows, options->family, mean.nearest);
    if (report != NULL)
        *report = (pboost_fit_report){.converged = true,
                                      .objective = NAN,
                                      .first_dropped = SIZE_MAX,
                                      .l2 = pboost_l2_or(options->l2, 1.0),
                                      .bags = data->rows.n_bags,
                                      .dispersion = NAN,
                                      .pearson = NAN,
                                      .freedom = NAN,
                                      .eta_sd = NAN,
                                      .mean_masked = true,
                                      .noisy = mean.error > 0.0};
    return true;
}

/* Checks of the input of fits to bags. */
#include <math.h>

#include "data/fit_options.h"
#include "fit/aggregate/aggregate.h"
#include "try.h"

bag_data pboost_bag_data(const pboost_features *features, const pboost_answers *answers,
                         size_t first_bag)
{
    return (bag_data){.rows = {.x = &features->x,
                               .weight = features->weight,
                               .offset = features->offset,
                               .n_bags = answers->n_bags - first_bag,
                               .start = answers->start + first_bag,
                               .row = answers->row},
                      .answer = answers->mean + first_bag,
                      .noise = answers->noise_variance + first_bag,
                      .laplace = !answers->other_noise};
}

static pboost_status check_bags(const bag_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const bag_rows *rows = &data->rows;
    for (size_t b = 0; b < rows->n_bags; b++) {
        if (rows->start[b + 1] <= rows->start[b])
            FAIL(err, PBOOST_BAD_DATA, "bag %zu has no rows", b);
        if (!isfinite(data->answer[b]))
            FAIL(err, PBOOST_BAD_DATA, "the answer for bag %zu is %g; it must be finite", b,
                 data->answer[b]);
        if (!(data->noise[b] >= 0.0) || isinf(data->noise[b]))
            FAIL(err, PBOOST_INVALID, "the noise variance of bag %zu is %g", b, data->noise[b]);
    }
done:
    return st;
}

pboost_status pboost_bag_answers_check(const bag_data *data, const pboost_fit_options *options,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_fit_options_check(options, err));
    if (data->rows.n_bags == 0)
        FAIL(err, PBOOST_BAD_DATA, "there are no bags to fit");
    TRY(check_bags(data, err));
done:
    return st;
}

pboost_status pboost_bag_data_check(const pboost_coef *coef, const bag_data *data,
                                    const pboost_answers *answers,
                                    const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_bag_answers_check(data, options, err));
    if (answers->rounded)
        FAIL(err, PBOOST_INVALID,
             "the answers are rounded to 0 or 1; the %s estimator needs means as they are",
             pboost_estimator_name(options->estimator));
    pboost_samples samples = {.x = data->rows.x,
                              .row = data->rows.row + data->rows.start[0],
                              .n = data->rows.start[data->rows.n_bags] - data->rows.start[0],
                              .weight = data->rows.weight,
                              .offset = data->rows.offset};
    TRY(pboost_samples_check(&samples, false, err));
    TRY(pboost_samples_check_weights(&samples, err));
    for (size_t i = 0; samples.offset != NULL && i < samples.n; i++)
        if (!isfinite(samples.offset[samples.row[i]]))
            FAIL(err, PBOOST_BAD_DATA, "the offset of row %zu is %g; it must be finite",
                 samples.row[i], samples.offset[samples.row[i]]);
    TRY(pboost_fit_curves_check(options, data->rows.x->cols, err));
    if (coef->n != data->rows.x->cols)
        FAIL(err, PBOOST_INVALID, "there are %zu coefficients for %zu columns", coef->n,
             data->rows.x->cols);
done:
    return st;
}

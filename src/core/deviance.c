/* How well coefficients explain answers, without any label. */
#include "aggregate.h"
#include "dispersion.h"
#include "try.h"

pboost_status pboost_bag_deviance(double *out, pboost_family family, const pboost_matrix *x,
                                  const double *weight, const double *offset,
                                  const pboost_answers *answers, size_t first_bag, size_t end_bag,
                                  const pboost_coef *coef, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_data data = pboost_bag_data(x, weight, offset, answers, first_bag);
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    bag_pass pass = {0};
    bag_moments moments = {0};
    double *parameter = NULL;

    *out = 0.0;
    if (first_bag >= end_bag || end_bag > answers->n_bags)
        FAIL(err, PBOOST_INVALID, "bags %zu to %zu of %zu", first_bag, end_bag, answers->n_bags);
    data.rows.n_bags = end_bag - first_bag;
    options.family = family;
    options.intercept = false; /* any mean answer will do */
    options.threads = threads;
    TRY(pboost_bag_data_check(coef, &data, answers, &options, err));
    TRY(pboost_bagpass_init(&pass, &data.rows, family, true, NULL, threads, err));
    TRY(pboost_bag_moments_init(&moments, &pass, err));
    NEED(parameter = pboost_alloc(pass.n_parameters, sizeof *parameter), err);
    parameter[0] = coef->intercept;
    for (size_t j = 0; j < coef->n; j++)
        parameter[j + 1] = coef->theta[j];
    pboost_bagpass_run(&moments, &pass, parameter);
    for (size_t b = 0; b < data.rows.n_bags; b++) /* residuals in the place of means */
        moments.mean[b] = data.answer[b] - moments.mean[b];
    bag_errors errors = {data.rows.n_bags, moments.mean, moments.variance, data.noise};
    *out = pboost_dispersion(&errors, (double)data.rows.n_bags);
done:
    pboost_bagpass_free(&pass);
    pboost_bag_moments_free(&moments);
    free(parameter);
    return st;
}

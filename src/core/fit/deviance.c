/* How well coefficients explain answers, without any label. */
#include "fit/aggregate/dispersion.h"
#include "fit/aggregate/quasi.h"
#include "fit/estimator.h"
#include "try.h"

void pboost_fit_explained_free(fit_explained *e)
{
    pboost_bagpass_free(&e->pass);
    pboost_bag_moments_free(&e->at);
}

pboost_status pboost_fit_explain(fit_explained *out, const fit_task *task, size_t end_bag,
                                 const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_fit_options *options = task->options;
    double *parameter = NULL;

    *out = (fit_explained){.data = pboost_bag_data(task->features, task->answers, task->first_bag)};
    out->data.rows.n_bags = end_bag - task->first_bag;
    TRY(pboost_bag_data_check(coef, &out->data, task->answers, options, err));
    TRY(pboost_bagpass_init(&out->pass, &out->data.rows, options->family, true, NULL,
                            options->threads, err));
    TRY(pboost_bag_moments_init(&out->at, &out->pass, err));
    NEED(parameter = pboost_alloc(out->pass.n_parameters, sizeof *parameter), err);
    parameter[0] = coef->intercept;
    for (size_t j = 0; j < coef->n; j++)
        parameter[j + 1] = coef->theta[j];
    pboost_bagpass_run(&out->at, &out->pass, parameter);
done:
    free(parameter);
    return st;
}

/* phi for which sum r^2 / (phi a + c) is the number of bags. */
static pboost_status dispersion_of(double *out, const fit_explained *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = e->data.rows.n_bags;
    double *residual = NULL;

    NEED(residual = pboost_alloc(n, sizeof *residual), err);
    for (size_t b = 0; b < n; b++)
        residual[b] = e->data.answer[b] - e->at.mean[b];
    bag_errors errors = {n, residual, e->at.variance, e->data.noise};
    *out = pboost_dispersion(&errors, (double)n);
done:
    free(residual);
    return st;
}

pboost_status pboost_bag_deviance(double *out, pboost_family family,
                                  const pboost_features *features, const pboost_answers *answers,
                                  size_t first_bag, size_t end_bag, const pboost_coef *coef,
                                  int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    fit_task task = {features, answers, first_bag, &options, NULL};
    fit_explained e = {0};

    *out = 0.0;
    TRY(pboost_answers_check_scalar(answers, "the deviance of bags", err));
    if (first_bag >= end_bag || end_bag > answers->n_bags)
        FAIL(err, PBOOST_INVALID, "bags %zu to %zu of %zu", first_bag, end_bag, answers->n_bags);
    options.family = family;
    options.threads = threads;
    TRY(pboost_fit_explain(&e, &task, end_bag, coef, err));
    TRY(dispersion_of(out, &e, err));
done:
    pboost_fit_explained_free(&e);
    return st;
}

pboost_status pboost_fit_judge(pboost_fit_report *report, const fit_task *t,
                               const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_answers *a = t->answers;
    fit_explained e = {0};
    double phi = 1.0;

    if (report->estimator == PBOOST_AGGREGATE || report->mean_masked || a->rounded)
        return PBOOST_OK; /* the aggregate fit has judged itself */
    TRY(pboost_fit_explain(&e, t, a->n_bags, coef, err));
    if (t->options->family != PBOOST_LOGISTIC)
        TRY(dispersion_of(&phi, &e, err));
    report->worse_than_constant =
        pboost_worse_than_constant(&e.data, &e.at, t->options, phi > 0.0 ? phi : 1.0);
done:
    pboost_fit_explained_free(&e);
    return st;
}

/* The memory of an aggregate fit. */
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/constant.h"
#include "fit/aggregate/ridge_evidence.h"
#include "try.h"

/* Passes are faster over a copy of the rows in the order of the bags.  A copy of more numbers than
 * this, 128 MiB, is not worth its memory.  Nor is one of most of a table that has more: the bags
 * outside a fold may be just below. */
#define MOST_COPIED ((size_t)1 << 24)

static bool is_large(const bag_data *data)
{
    const pboost_matrix *x = data->rows.x;
    size_t rows = data->rows.start[data->rows.n_bags] - data->rows.start[0];
    size_t most = MOST_COPIED / x->cols;
    return rows > most || (x->rows > most && rows > x->rows / 2);
}

static bool has_noise(const bag_data *data)
{
    for (size_t b = 0; b < data->rows.n_bags; b++)
        if (data->noise[b] > 0.0)
            return true;
    return false;
}

pboost_status pboost_aggregate_reserve(aggregate_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_fit_options *o = fit->options;
    size_t n = fit->pass.n_parameters, bags = fit->data.rows.n_bags;
    answer_mean mean = pboost_answer_mean(&fit->data, NULL, o->family);

    fit->family = pboost_family_info(o->family);
    fit->multiple = 1.0;
    fit->unpenalised = pboost_l2_or(o->l2, 1.0) == 0.0;
    fit->noisy = has_noise(&fit->data);
    fit->start_mean = mean.nearest;
    fit->mean_masked = o->intercept && (mean.outside || mean.unclear);
    TRY(pboost_bag_moments_init(&fit->point, &fit->pass, err));
    TRY(pboost_bag_moments_init(&fit->trial, &fit->pass, err));
    TRY(pboost_levenberg_init(&fit->lm, n, err));
    TRY(pboost_curves_init(&fit->curves, o, n, err));
    NEED(fit->parameter = calloc(n, sizeof(double)), err);
    NEED(fit->penalty = calloc(n, sizeof(double)), err);
    NEED(fit->residual = pboost_alloc(bags, sizeof(double)), err);
    NEED(fit->working.answer = pboost_alloc(bags, sizeof(double)), err);
    NEED(fit->working.noise = pboost_alloc(bags, sizeof(double)), err);
    NEED(fit->working.residual = pboost_alloc(bags, sizeof(double)), err);
    pboost_working_start(fit);
    NEED(fit->weight = pboost_alloc(bags, sizeof(double)), err);
    NEED(fit->size = pboost_alloc(bags, sizeof(double)), err);
    NEED(fit->frozen_mean = pboost_alloc(bags, sizeof(double)), err);
    if (o->l2.mode != PBOOST_L2_FIXED && fit->family->ridge_judged && fit->noisy)
        NEED(fit->evidence_work =
                 pboost_alloc(pboost_ridge_evidence_size(fit->pass.cols), sizeof(double)),
             err);
done:
    return st;
}

pboost_status pboost_aggregate_init(aggregate_fit *out, const bag_data *data,
                                    const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_matrix *x = data->rows.x; /* a copy with curves would be many times as large */
    column_options columns = pboost_column_options(options);
    bool in_place = x->type == PBOOST_CURVED || (pboost_bagpass_takes_rows(x) && is_large(data));

    *out = (aggregate_fit){.data = *data, .options = options};
    if (in_place)
        TRY(pboost_units_init(&out->units, &data->rows, columns, options->threads, err));
    else
        TRY(pboost_gather_rows(&out->rows, &out->units, &data->rows, columns, false,
                               options->threads, err));
    TRY(pboost_bagpass_init(&out->pass, in_place ? &data->rows : &out->rows.rows, options->family,
                            options->intercept, in_place ? &out->units.units : &out->rows.units,
                            options->threads, err));
    TRY(pboost_aggregate_reserve(out, err));
done:
    if (st != PBOOST_OK)
        pboost_aggregate_free(out);
    return st;
}

void pboost_aggregate_free(aggregate_fit *fit)
{
    pboost_units_free(&fit->units);
    pboost_gathered_free(&fit->rows);
    pboost_bagpass_free(&fit->pass);
    pboost_bag_moments_free(&fit->point);
    pboost_bag_moments_free(&fit->trial);
    pboost_levenberg_free(&fit->lm);
    pboost_curves_free(&fit->curves);
    free(fit->parameter);
    free(fit->penalty);
    free(fit->residual);
    free(fit->working.answer);
    free(fit->working.noise);
    free(fit->working.residual);
    free(fit->weight);
    free(fit->size);
    free(fit->frozen_mean);
    free(fit->evidence_work);
    *fit = (aggregate_fit){0};
}

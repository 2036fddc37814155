/* The memory of a fit to bags that share rows. */
#include "fit/aggregate/ridge_evidence.h"
#include "fit/overlap/overlap_fit.h"
#include "try.h"

static pboost_status reserve(overlap_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_fit_options *o = fit->options;
    size_t n = fit->pass.n_parameters, bags = fit->bags.n, rows = fit->bags.n_rows;
    size_t work = pboost_row_variance_work(fit->units.cols, rows, o->threads);

    NEED(fit->labels.eta = pboost_alloc(rows, sizeof(double)), err);
    NEED(fit->labels.variance = pboost_alloc(rows, sizeof(double)), err);
    NEED(fit->labels.work = pboost_alloc(work, sizeof(double)), err);
    NEED(fit->residual = pboost_alloc(3 * bags, sizeof(double)), err);
    NEED(fit->parameter = calloc(6 * n, sizeof(double)), err);
    NEED(fit->gram = calloc(3 * n * n + n, sizeof(double)), err);
    NEED(fit->factor.dropped = calloc(n, 1), err);
    if (o->l2.mode != PBOOST_L2_FIXED && fit->family->ridge_judged && fit->noisy)
        NEED(fit->evidence_work =
                 pboost_alloc(pboost_ridge_evidence_size(fit->pass.cols), sizeof(double)),
             err);
    fit->white = fit->residual + bags;
    fit->ones = fit->white + bags;
    fit->trial = fit->parameter + n;
    fit->step = fit->trial + n;
    fit->penalty = fit->step + n;
    fit->pull = fit->penalty + n;
    fit->gradient = fit->pull + n;
    fit->matrix = fit->gram + n * n;
    fit->factor.n = n;
    fit->factor.l = fit->matrix + n * n;
    fit->factor.scale = fit->factor.l + n * n;
    for (size_t b = 0; b < bags; b++)
        fit->ones[b] = 1.0;
done:
    return st;
}

/* Units are those of the rows, each counted once. */
static pboost_status find_units(overlap_fit *fit, pboost_error *err)
{
    size_t start[] = {0, fit->bags.n_rows};
    bag_rows rows = fit->rows;
    rows.n_bags = 1;
    rows.start = start;
    rows.row = fit->bags.used;
    return pboost_units_init(&fit->units, &rows, pboost_column_options(fit->options),
                             fit->options->threads, err);
}

pboost_status pboost_overlap_init(overlap_fit *out, const bag_data *data,
                                  const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (overlap_fit){.options = options, .family = pboost_family_info(options->family)};
    TRY(pboost_shared_bags_init(&out->bags, data, options->threads, err));
    out->rows = data->rows;
    out->rows.n_bags = out->bags.n;
    out->rows.start = out->bags.start;
    out->rows.row = out->bags.row;
    for (size_t b = 0; b < out->bags.n; b++)
        out->noisy = out->noisy || out->bags.noise[b] > 0.0;
    TRY(find_units(out, err));
    TRY(pboost_bagpass_init(&out->pass, &out->rows, options->family, options->intercept,
                            &out->units.units, options->threads, err));
    TRY(pboost_bag_moments_init(&out->point, &out->pass, err));
    TRY(pboost_correlation_init(&out->answers, &out->bags, options->threads, err));
    TRY(reserve(out, err));
done:
    if (st != PBOOST_OK)
        pboost_overlap_free(out);
    return st;
}

void pboost_overlap_free(overlap_fit *fit)
{
    pboost_shared_bags_free(&fit->bags);
    pboost_correlation_free(&fit->answers);
    pboost_units_free(&fit->units);
    pboost_bagpass_free(&fit->pass);
    pboost_bag_moments_free(&fit->point);
    free(fit->labels.eta);
    free(fit->labels.variance);
    free(fit->labels.work);
    free(fit->residual);
    free(fit->parameter);
    free(fit->gram);
    free(fit->factor.dropped);
    free(fit->evidence_work);
    *fit = (overlap_fit){0};
}

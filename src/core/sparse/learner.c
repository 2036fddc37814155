/* A wide model as a learner: scores rows with its coefficients and fits them again on the oracle's
 * answers. */
#include <string.h>

#include "base/options.h"
#include "data/family.h"
#include "sparse/csr.h"
#include "sparse/fit.h"
#include "sparse/predict.h"
#include "try.h"

struct pboost_wide {
    pboost_wide_features features;
    pboost_fit_options options;
    pboost_coef coef;
    pboost_fit_report report;
};

pboost_status pboost_wide_create(pboost_wide **out, const pboost_wide_features *features,
                                 const pboost_coef *start, const pboost_fit_options *options,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_wide *wide = NULL;
    pboost_fit_options own = PBOOST_WIDE_OPTIONS_INIT;
    const pboost_sparse *x = &features->x;
    pboost_wide_samples all = {
        .x = x, .n = x->rows, .weight = features->weight, .offset = features->offset};

    *out = NULL;
    TRY(OPTIONS_READ(&own, options, PBOOST_WIDE_OPTIONS_INIT, err));
    TRY(pboost_wide_check_options(&own, err));
    TRY(pboost_sparse_check(x, own.threads, err));
    TRY(pboost_wide_check_samples(&all, false, err));
    if (start != NULL)
        TRY(pboost_wide_check_coef(start, x->cols, err));
    NEED(wide = calloc(1, sizeof *wide), err);
    wide->features = *features;
    wide->options = own;
    TRY(pboost_coef_init(&wide->coef, x->cols, err));
    if (start != NULL) {
        memcpy(wide->coef.theta, start->theta, x->cols * sizeof *start->theta);
        wide->coef.intercept = start->intercept;
    }
    *out = wide;
    wide = NULL;
done:
    pboost_wide_free(wide);
    return st;
}

void pboost_wide_free(pboost_wide *wide)
{
    if (wide == NULL)
        return;
    pboost_coef_free(&wide->coef);
    free(wide);
}

const pboost_coef *pboost_wide_coef(const pboost_wide *wide)
{
    return &wide->coef;
}

const pboost_fit_report *pboost_wide_report(const pboost_wide *wide)
{
    return &wide->report;
}

static pboost_status score(void *self, const size_t *row, size_t n, double *out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_wide *w = self;
    pboost_wide_samples samples = {
        .x = &w->features.x, .row = row, .n = n, .offset = w->features.offset};
    TRY(pboost_wide_means(out, w->options.family, &samples, &w->coef, w->options.threads, err));
    pboost_limit_scores(out, n);
done:
    return st;
}

/* The best ridge hardly changes from round to round: it is the precision of the weights, which more
 * answers do not change. */
static pboost_status fit(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err)
{
    pboost_wide *w = self;
    size_t first = w->options.estimator == PBOOST_AGGREGATE ? 0 : first_bag;
    double near = w->report.mean_masked ? 0.0 : w->report.l2;
    pboost_fit_report report;
    pboost_status st = pboost_wide_fit_answers(&w->coef, &report, &w->features, answers, first,
                                               &w->options, near, err);
    if (st == PBOOST_OK)
        w->report = report;
    return st;
}

pboost_learner pboost_wide_learner(pboost_wide *wide)
{
    return (pboost_learner){.self = wide, .score = score, .fit = fit};
}

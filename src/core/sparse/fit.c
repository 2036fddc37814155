/* How a log of answers becomes the coefficients of a wide model. */
#include "sparse/fit.h"

#include <math.h>

#include "base/options.h"
#include "fit/aggregate/constant.h"
#include "fit/aggregate/dispersion.h"
#include "fit/aggregate/quasi.h"
#include "sparse/aggregate.h"
#include "sparse/event.h"
#include "try.h"

/* ---- Event ----------------------------------------------------------------------------------- */

/* The moments of bags at coef, which say whether the mean of the answers explains them better.  The
 * aggregate fit judges itself. */
typedef struct {
    bag_moments at;
    double *residual;
} judgement;

static pboost_status judgement_init(judgement *out, const bag_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_pass shape = {.bags = data->rows};
    TRY(pboost_bag_moments_init(&out->at, &shape, err));
    NEED(out->residual = pboost_alloc(data->rows.n_bags, sizeof *out->residual), err);
done:
    return st;
}

static void judgement_free(judgement *j)
{
    pboost_bag_moments_free(&j->at);
    free(j->residual);
}

static bool worse_than_constant(judgement *j, const pboost_coef *coef,
                                const pboost_wide_features *features, const bag_data *data,
                                const pboost_fit_options *o)
{
    const family_info *family = pboost_family_info(o->family);
    double phi = 1.0;
    for (size_t b = 0; b < data->rows.n_bags; b++) {
        size_t from = data->rows.start[b], end = data->rows.start[b + 1];
        double size = (double)(end - from), mean = 0.0, variance = 0.0;
        for (size_t i = from; i < end; i++) {
            size_t row = data->rows.row[i];
            double eta = coef->intercept + pboost_csr_dot(&features->x, row, coef->theta);
            double m = family->mean(eta + (features->offset != NULL ? features->offset[row] : 0.0));
            double w = features->weight != NULL ? features->weight[row] : 1.0;
            mean += m / size;
            variance += family->variance_at(m) / w / (size * size);
        }
        j->at.mean[b] = mean;
        j->at.variance[b] = variance;
        j->residual[b] = data->answer[b] - mean;
    }
    if (o->family != PBOOST_LOGISTIC) {
        bag_errors errors = {data->rows.n_bags, j->residual, j->at.variance, data->noise};
        phi = pboost_dispersion(&errors, (double)data->rows.n_bags);
    }
    return pboost_worse_than_constant(data, &j->at, o, phi > 0.0 ? phi : 1.0);
}

/* The event-level targets of eq. (1): the target of every row is its bag's answer. */
static pboost_status fit_event(pboost_coef *coef, pboost_fit_report *report,
                               const pboost_wide_features *features, const pboost_answers *a,
                               size_t first_bag, const pboost_fit_options *o, double near,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t first_row = a->start[first_bag], n = a->n_rows - first_row;
    pboost_features shape = {
        .x = WIDE_SHAPE(&features->x), .weight = features->weight, .offset = features->offset};
    bag_data data = pboost_bag_data(&shape, a, first_bag);
    double *target = NULL;
    judgement judge = {0};
    (void)near;

    NEED(target = pboost_alloc(n, sizeof *target), err);
    for (size_t b = first_bag; b < a->n_bags; b++)
        for (size_t i = a->start[b]; i < a->start[b + 1]; i++)
            target[i - first_row] = a->mean[b];
    pboost_wide_samples samples = {.x = &features->x,
                                   .row = a->row + first_row,
                                   .n = n,
                                   .target = target,
                                   .weight = features->weight,
                                   .offset = features->offset};
    TRY(pboost_wide_check_samples(&samples, true, err));
    TRY(judgement_init(&judge, &data, err)); /* nothing fails after the fit */
    st = pboost_wide_event_run(coef, report, &samples, o, err);
    /* The labels are spent, so the answers are not refused: if noise moved their mean out of the
     * range, the fit is the constant model. */
    if (st == PBOOST_BAD_DATA &&
        pboost_constant_if_outside(coef, report, &data, features->weight, o))
        st = PBOOST_OK;
    report->estimator = PBOOST_EVENT;
    if (st == PBOOST_OK && !report->mean_masked && !a->rounded)
        report->worse_than_constant = worse_than_constant(&judge, coef, features, &data, o);
done:
    judgement_free(&judge);
    free(target);
    return st;
}

/* ---- Both ------------------------------------------------------------------------------------ */

typedef pboost_status fit_function(pboost_coef *coef, pboost_fit_report *report,
                                   const pboost_wide_features *features,
                                   const pboost_answers *answers, size_t first_bag,
                                   const pboost_fit_options *options, double near,
                                   pboost_error *err);

static fit_function *const FIT[] = {
    [PBOOST_EVENT] = fit_event, [PBOOST_AGGREGATE] = pboost_wide_aggregate_run};

pboost_status pboost_wide_fit_answers(pboost_coef *coef, pboost_fit_report *report,
                                      const pboost_wide_features *features,
                                      const pboost_answers *answers, size_t first_bag,
                                      const pboost_fit_options *options, double near,
                                      pboost_error *err)
{
    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    if (first_bag >= answers->n_bags)
        return pboost_fail(err, PBOOST_BAD_DATA, "there are no bags to fit");
    return FIT[options->estimator](coef, report, features, answers, first_bag, options, near, err);
}

pboost_status pboost_wide_answers_fit(pboost_coef *coef, pboost_fit_report *report,
                                      const pboost_wide_features *features,
                                      const pboost_answers *answers, size_t first_bag,
                                      const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options own = PBOOST_WIDE_OPTIONS_INIT;
    pboost_fit_report own_report = {0};

    report = report != NULL ? report : &own_report;
    *report = (pboost_fit_report){.first_dropped = SIZE_MAX}; /* after any failure */
    TRY(OPTIONS_READ(&own, options, PBOOST_WIDE_OPTIONS_INIT, err));
    TRY(pboost_wide_check_options(&own, err));
    TRY(pboost_csr_check_shape(&features->x, err));
    TRY(pboost_wide_check_coef(coef, features->x.cols, err));
    TRY(pboost_wide_fit_answers(coef, report, features, answers, first_bag, &own, 0.0, err));
done:
    return st;
}

/* A forecast for the event-level estimator.
 *
 * The paper's loop is run on the answers that the assumed model expects, without noise: that gives
 * the bags of the last round as the loop would really reach them (large bags never lose the bias of
 * the first, random ones, in few rounds).  The paper's theorems then give the error of a fit on
 * those bags, as |theta^ - theta*|^2 or as the gradient's norm; in coordinates in which the Hessian
 * of the mean loss is v times the identity, the excess loss is v/2 |theta^ - theta*|^2 or |g|^2 /
 * (2v). Such coordinates are the features whitened with the weights b'', and a constant. */
#include <math.h>
#include <string.h>

#include <priorboost/theory.h>

#include "bags/whiten.h"
#include "data/matrix.h"
#include "fit/predict.h"
#include "plan/plan.h"
#include "try.h"

typedef struct {
    double *target; /* by row of a slice */
    pboost_coef coef;
    pboost_bags bags; /* of the last round, by position in its slice */
} loop;

static void loop_free(loop *l)
{
    free(l->target);
    pboost_coef_free(&l->coef);
    pboost_bags_free(&l->bags);
}

/* One round on the slice `row`: bags by the last model's scores, a fit on expected answers. */
static pboost_status expected_round(loop *l, const planner *p, const size_t *row,
                                    const double *mean, size_t n, size_t bag_size, size_t t,
                                    bool last, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan_options *o = p->options;
    pboost_samples samples = {.x = p->x, .row = row, .n = n, .offset = p->offset};
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report report;

    pboost_bags_free(&l->bags);
    if (t == 0) {
        TRY(pboost_bags_random(&l->bags, n, bag_size, o->seed, err));
    } else {
        TRY(pboost_score(l->target, o->family, &samples, &l->coef, o->threads, NULL, err));
        TRY(pboost_bags_optimal(&l->bags, l->target, n, bag_size, o->threads, err));
    }
    if (last)
        goto done;
    for (size_t b = 0; b < l->bags.n_bags; b++) {
        size_t from = l->bags.start[b], to = l->bags.start[b + 1];
        double sum = 0.0;
        for (size_t i = from; i < to; i++)
            sum += mean[l->bags.row[i]];
        for (size_t i = from; i < to; i++)
            l->target[l->bags.row[i]] = sum / (double)(to - from);
    }
    samples.target = l->target;
    fit.family = o->family;
    fit.intercept = o->intercept;
    fit.threads = o->threads;
    fit.cancel = o->cancel;
    TRY(pboost_event_fit(&l->coef, &report, &samples, &fit, err));
done:
    return st;
}

/* Whitened features and a constant, row-major, of the slice; theta there, and the mean of b''. */
static pboost_status coordinates(double **out, double **theta, size_t *cols, double *variance,
                                 const planner *p, const size_t *row, const double *mean, size_t n,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_white white = {0};
    const family_info *info = pboost_family_info(p->options->family);
    double *weight = NULL;

    NEED(weight = calloc(p->x->rows, sizeof *weight), err);
    double total = 0.0, level = 0.0;
    pboost_samples samples = {.x = p->x, .row = row, .n = n, .weight = weight};
    for (size_t i = 0; i < n; i++) {
        weight[row[i]] = fmax(info->variance_at(mean[i]), 1e-12);
        total += weight[row[i]];
    }
    *variance = total / (double)n;
    TRY(pboost_whiten(&white, &samples, 0, p->options->threads, p->options->cancel, err));
    size_t r = white.rank, m = r + 1;
    *cols = m;
    NEED(*out = pboost_alloc(n * m, sizeof **out), err);
    NEED(*theta = calloc(m, sizeof **theta), err);
    for (size_t i = 0; i < n; i++) {
        double eta = info->eta(mean[i]), w = weight[row[i]] / total;
        for (size_t j = 0; j < r; j++) {
            double z = (double)white.z[i * white.stride + j];
            (*out)[i * m + j] = z;
            (*theta)[j] += w * z * eta;
        }
        (*out)[i * m + r] = 1.0;
        level += w * eta;
    }
    (*theta)[r] = level;
done:
    free(weight);
    pboost_white_free(&white);
    return st;
}

pboost_status pboost_plan_event(double *excess, pboost_forecast *forecast, const planner *p,
                                size_t rows, size_t rounds, size_t bag_size, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan_options *o = p->options;
    loop l = {0};
    double *z = NULL, *theta = NULL, variance = 1.0;
    size_t slice = rows / rounds, cols = 0;
    pboost_risk risk = {0};

    *excess = NAN;
    NEED(l.target = pboost_alloc(slice, sizeof *l.target), err);
    TRY(pboost_coef_init(&l.coef, p->x->cols, err));
    for (size_t t = 0; t < rounds; t++)
        TRY(expected_round(&l, p, p->order.row + t * slice, p->score + t * slice, slice, bag_size,
                           t, t + 1 == rounds, err));
    const size_t *row = p->order.row + (rounds - 1) * slice;
    const double *mean = p->score + (rounds - 1) * slice;
    TRY(coordinates(&z, &theta, &cols, &variance, p, row, mean, slice, err));
    pboost_matrix x = pboost_matrix_f64(z, slice, cols);
    double repeat = (double)p->n / (double)(slice * rounds);
    if (o->family == PBOOST_LINEAR) {
        TRY(pboost_risk_linear(&risk, &x, &l.bags, theta, p->population.phi, err));
        *forecast = PBOOST_FORECAST_THEOREM;
        *excess = risk.bias + risk.variance / repeat;
    } else {
        TRY(pboost_gradient_norm(&risk, o->family, &x, &l.bags, theta, p->population.phi, err));
        *forecast = PBOOST_FORECAST_GRADIENT;
        *excess = 0.5 * (risk.bias + risk.variance / repeat) / variance;
    }
done:
    loop_free(&l);
    free(z);
    free(theta);
    return st;
}

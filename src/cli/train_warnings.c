/* priorboost train: what the reader of a result must know before relying on it. */
#include <math.h>
#include <stdio.h>

#include "plan_page.h"
#include "train.h"

#define LARGE_SD 8.0     /* of a linear predictor: predictions are all but certain */
#define LOW_FREEDOM 0.25 /* of the weights: less is a model that was not learnt */
#define HIGH_PEARSON 1.5 /* residuals that large are not the model's */

/* sd of the linear predictor over the rows: the aggregate fit reports it, of others it is measured.
 * Offsets aside. */
static double predictor_sd(const train_data *data, const train_result *r)
{
    const pboost_coef *coef = &r->path[r->rounds - 1]; /* in the units of the file */
    double mean = 0.0, square = 0.0;
    if (r->estimator == PBOOST_AGGREGATE)
        return r->fit.eta_sd;
    for (size_t i = 0; i < data->rows; i++) {
        double eta = 0.0;
        for (size_t j = 0; j < data->cols; j++)
            eta += data->x[i * data->cols + j] * coef->theta[j] *
                   (data->scale != NULL ? data->scale[j] : 1.0);
        double step = eta - mean;
        mean += step / (double)(i + 1);
        square += step * (eta - mean);
    }
    return sqrt(square / (double)data->rows);
}

/* What the plan expected; it was made again after a pilot. */
static size_t add_plan(train_warning *out, size_t n, const pboost_plan *plan)
{
    plan_warning warning[PLAN_MAX_WARNINGS];
    size_t more = plan_warnings(warning, plan);
    for (size_t i = 0; i < more; i++)
        snprintf(out[n++].text, sizeof out->text, "%.255s", warning[i].text);
    return n;
}

size_t train_warnings(train_warning *out, const train_arguments *a, const train_data *data,
                      const train_result *r)
{
    const pboost_fit_report *f = &r->fit;
    size_t n = 0, parameters = data->cols + !a->no_intercept;
    double excess = sqrt(2.0 / (double)(f->bags > 0 ? f->bags : 1));

#define WARN(...) snprintf(out[n++].text, sizeof out->text, __VA_ARGS__)
    if (!f->converged)
        WARN("the last fit did not converge in %zu iterations; do not rely on its numbers",
             f->iterations);
    if (f->first_dropped < data->cols)
        WARN("the features have rank %zu; column '%.100s' adds nothing to those before it and has "
             "weight 0",
             f->rank, data->encoding.column[f->first_dropped]);
    double sd = a->family != PBOOST_LINEAR ? predictor_sd(data, r) : 0.0;
    if (a->family == PBOOST_POISSON && (f->separable || !(sd <= LARGE_SD)))
        WARN("the linear predictor has standard deviation %.3g: no counts differ so much, the fit "
             "ran "
             "away; do not rely on its numbers",
             sd);
    else if (f->separable || !(sd <= LARGE_SD))
        WARN("the linear predictor has standard deviation %.3g: the answers all but separate the "
             "rows, and weights are as large as the penalty lets them be; their errors mean little",
             sd);
    if (f->dispersion_floored)
        WARN("the noise hides the dispersion of the labels; its own standard error, %.3g, stands "
             "for it",
             f->dispersion);
    if (f->undercovers)
        WARN("%s with noise on bags as mixed as random ones: the intervals are too short; "
             "bags of similar rows (--bags features) do not have that fault",
             pboost_family_name(a->family));
    if (f->mean_hidden)
        WARN("the noise, or a lack of events, hides even the mean of the labels: no weight can be "
             "known, and the model is constant; larger bags, more rows or a larger epsilon are "
             "needed");
    if (r->estimator == PBOOST_AGGREGATE && f->l2_standardized && !f->mean_hidden &&
        f->freedom < 1.0 + LOW_FREEDOM * ((double)parameters - 1.0))
        WARN(
            "the answers tell next to nothing of the weights (%.2g effective parameters of %zu): "
            "the penalty holds the model near the constant one; larger bags, more rows or a larger "
            "epsilon are needed",
            f->freedom, parameters);
    if (r->estimator == PBOOST_AGGREGATE && f->bags < 2 * parameters)
        WARN("only %zu bags for %zu parameters: the penalty decides most of the result", f->bags,
             parameters);
    if (a->family == PBOOST_LOGISTIC && f->pearson > HIGH_PEARSON &&
        f->pearson > 1.0 + 4.0 * excess)
        WARN("the answers vary %.3g times as much as the model says (its form may be wrong): "
             "--covariance sandwich gives standard errors that allow for it",
             f->pearson);
    if (data->one_row_bags > 0)
        WARN("%zu bag%s one row: %s is a label", data->one_row_bags,
             data->one_row_bags > 1 ? "s have" : " has",
             data->one_row_bags > 1 ? "the answer of each" : "its answer");
#undef WARN
    return a->automatic ? add_plan(out, n, &r->choice.plan) : n;
}

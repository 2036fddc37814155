/* The unweighted bag-level loss and its interpolation with the event-level loss.
 *
 *     (1 - rho) sum_B s_B loss(answer_B, mu_B) + rho sum_i loss(answer_i, mu_i) + (l2/2) |theta|^2
 *
 * with loss the family's: squared error, cross-entropy, mu - y log mu.  For squared error
 * sum_i (answer - mu_i)^2 = s_B (answer - mu_B)^2 + sum_i (mu_i - mu_B)^2, so rho is also the
 * weight of the within-bag variance of predictions as a penalty.  Bags count by their rows: their
 * own variances and the mechanism's noise are ignored.  The aggregate estimator includes them and
 * is better; these two are for comparison.
 *
 * The bag-level loss of a curved family is not convex in theta.  Levenberg-Marquardt uses s_B J J'
 * / v(mu_B) for its Hessian, which is exact in expectation. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "fit/aggregate/aggregate.h"
#include "fit/aggregate/constant.h"
#include "fit/estimator.h"
#include "passes/row_pass.h"
#include "try.h"

#define DEFAULT_L2 1.0

typedef struct {
    const bag_data *data;
    const pboost_fit_options *options;
    const family_info *family;
    double l2;
    bag_pass bags;
    bag_moments point, trial;
    pass_plan rows;
    pboost_samples samples;
    double *target, *theta;    /* by row of the bags; padded */
    double *weight, *residual; /* by bag */
} interpolated_fit;

/* The loss of a mean, and half its derivative's ingredients: dloss/dmu = (mu - y) / v. */
static double bag_loss(pboost_family family, double y, double mu, double *v)
{
    switch (family) {
    case PBOOST_LINEAR:
        *v = 1.0;
        return 0.5 * (y - mu) * (y - mu);
    case PBOOST_LOGISTIC:
        *v = mu * (1.0 - mu);
        return (y != 0.0 ? -y * log(mu) : 0.0) - (y != 1.0 ? (1.0 - y) * log1p(-mu) : 0.0);
    default:
        *v = mu;
        return mu - (y != 0.0 ? y * log(mu) : 0.0);
    }
}

static double bag_size(const interpolated_fit *fit, size_t b)
{
    return (double)(fit->data->rows.start[b + 1] - fit->data->rows.start[b]);
}

static double bag_value(const interpolated_fit *fit, const bag_moments *at)
{
    double sum = 0.0, v;
    for (size_t b = 0; b < fit->data->rows.n_bags; b++)
        sum +=
            bag_size(fit, b) * bag_loss(fit->family->family, fit->data->answer[b], at->mean[b], &v);
    return sum;
}

static pass_sums row_sums(interpolated_fit *fit, const double *x, bool gram)
{
    size_t first = fit->options->intercept;
    memcpy(fit->theta, x + first, fit->bags.cols * sizeof *x);
    return pboost_pass_run(&fit->rows, fit->theta, first ? x[0] : 0.0, gram);
}

static double penalty_at(const interpolated_fit *fit, const double *x)
{
    double sum = 0.0;
    for (size_t i = fit->options->intercept; i < fit->bags.n_parameters; i++)
        sum += x[i] * x[i];
    return 0.5 * fit->l2 * sum;
}

static double attempt(void *self, const double *x)
{
    interpolated_fit *fit = self;
    double rho = fit->options->rho, value = penalty_at(fit, x);
    pboost_bagpass_run(&fit->trial, &fit->bags, x);
    if (rho < 1.0)
        value += (1.0 - rho) * bag_value(fit, &fit->trial);
    if (rho > 0.0)
        value += rho * row_sums(fit, x, false).value;
    return isfinite(value) ? value : INFINITY;
}

static void accept(void *self)
{
    interpolated_fit *fit = self;
    bag_moments old = fit->point;
    fit->point = fit->trial;
    fit->trial = old;
}

static void add_rows(double *gradient, double *matrix, const interpolated_fit *fit, pass_sums sums)
{
    size_t first = fit->options->intercept, n = fit->bags.n_parameters;
    double rho = fit->options->rho;
    if (first) {
        gradient[0] += rho * sums.residual;
        matrix[0] += rho * sums.curvature;
    }
    for (size_t j = 0; j < fit->bags.cols; j++) {
        double *row = matrix + (j + first) * n;
        gradient[j + first] += rho * sums.gradient[j];
        if (first)
            row[0] += rho * sums.cross[j];
        for (size_t i = 0; i <= j; i++)
            row[i + first] += rho * sums.gram[j * fit->rows.padded + i];
    }
}

static double here(void *self, const double *x, double *gradient, double *matrix)
{
    interpolated_fit *fit = self;
    size_t n = fit->bags.n_parameters;
    double rho = fit->options->rho, value = penalty_at(fit, x), v;
    for (size_t b = 0; b < fit->data->rows.n_bags; b++) {
        double y = fit->data->answer[b], mu = fit->point.mean[b];
        (void)bag_loss(fit->family->family, y, mu, &v);
        fit->weight[b] = v > 0.0 ? (1.0 - rho) * bag_size(fit, b) / v : 0.0;
        fit->residual[b] = mu - y;
    }
    pboost_bagpass_gram(matrix, gradient, &fit->bags, &fit->point, fit->weight, fit->residual);
    if (rho < 1.0)
        value += (1.0 - rho) * bag_value(fit, &fit->point);
    if (rho > 0.0) {
        pass_sums sums = row_sums(fit, x, true);
        value += rho * sums.value;
        add_rows(gradient, matrix, fit, sums);
    }
    for (size_t i = fit->options->intercept; i < n; i++) {
        gradient[i] += fit->l2 * x[i];
        matrix[i * n + i] += fit->l2;
    }
    return value;
}

static pboost_status init(interpolated_fit *fit, const bag_data *data,
                          const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const bag_rows *rows = &data->rows;
    size_t first = rows->start[0], n = rows->start[rows->n_bags] - first;
    *fit = (interpolated_fit){.data = data,
                              .options = options,
                              .family = pboost_family_info(options->family),
                              .l2 = pboost_l2_or(options->l2, DEFAULT_L2)};
    NEED(fit->target = pboost_alloc(n, sizeof *fit->target), err);
    NEED(fit->weight = pboost_alloc(rows->n_bags, sizeof *fit->weight), err);
    NEED(fit->residual = pboost_alloc(rows->n_bags, sizeof *fit->residual), err);
    NEED(fit->theta = calloc(pboost_panel_blocks(rows->x->cols) * PANEL_LANES, sizeof(double)),
         err);
    for (size_t b = 0; b < rows->n_bags; b++)
        for (size_t i = rows->start[b]; i < rows->start[b + 1]; i++)
            fit->target[i - first] = data->answer[b];
    fit->samples = (pboost_samples){.x = rows->x,
                                    .row = rows->row + first,
                                    .n = n,
                                    .target = fit->target,
                                    .offset = rows->offset};
    TRY(pboost_pass_init(&fit->rows, &fit->samples, fit->family, NULL, options->threads, err));
    TRY(pboost_bagpass_init(&fit->bags, rows, options->family, options->intercept, NULL,
                            options->threads, err));
    TRY(pboost_bag_moments_init(&fit->point, &fit->bags, err));
    TRY(pboost_bag_moments_init(&fit->trial, &fit->bags, err));
done:
    return st;
}

static void release(interpolated_fit *fit)
{
    free(fit->target);
    free(fit->theta);
    free(fit->weight);
    free(fit->residual);
    pboost_pass_free(&fit->rows);
    pboost_bagpass_free(&fit->bags);
    pboost_bag_moments_free(&fit->point);
    pboost_bag_moments_free(&fit->trial);
}

/* From coef, or from 0 where that is better. */
static void start(double *x, interpolated_fit *fit, const pboost_coef *coef)
{
    size_t first = fit->options->intercept, n = fit->bags.n_parameters;
    memset(x, 0, n * sizeof *x);
    double zero = attempt(fit, x);
    memcpy(x + first, coef->theta, coef->n * sizeof *x);
    if (first)
        x[0] = coef->intercept;
    if (!(attempt(fit, x) < zero)) {
        memset(x, 0, n * sizeof *x);
        attempt(fit, x);
    }
    accept(fit);
}

pboost_status pboost_interpolated_fit(pboost_coef *coef, pboost_fit_report *report,
                                      const pboost_features *features,
                                      const pboost_answers *answers, size_t first_bag,
                                      const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_data data = pboost_bag_data(features, answers, first_bag);
    interpolated_fit fit = {0};
    levenberg lm = {0};
    levenberg_report last = {0};
    double *parameter = NULL;

    if (report != NULL)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    if (features->weight != NULL)
        FAIL(err, PBOOST_INVALID,
             "the interpolated estimator takes no weights: a bag's answer is a plain mean");
    if (first_bag > answers->n_bags)
        FAIL(err, PBOOST_INVALID, "the first bag is %zu of %zu", first_bag, answers->n_bags);
    TRY(pboost_bag_data_check(coef, &data, answers, options, err));
    if (pboost_constant_if_outside(coef, report, &data, NULL, options))
        goto done;
    TRY(init(&fit, &data, options, err));
    size_t n = fit.bags.n_parameters;
    NEED(parameter = pboost_alloc(n, sizeof *parameter), err);
    TRY(pboost_levenberg_init(&lm, n, err));
    start(parameter, &fit, coef);
    levenberg_problem problem = {n, &fit, attempt, accept, here};
    levenberg_options o = {.max_steps = options->max_iterations,
                           .tolerance = options->tolerance,
                           .cancel = options->cancel};
    pboost_levenberg(parameter, &last, &lm, &problem, &o, fit.l2 == 0.0);
    TRY(pboost_cancel_check(options->cancel, err));
    if (!isfinite(last.value)) {
        TRY(pboost_samples_find_nonfinite(&fit.samples, err));
        FAIL(err, PBOOST_BAD_DATA, "the sum of losses overflows: rescale features or offsets");
    }
    memcpy(coef->theta, parameter + options->intercept, coef->n * sizeof *parameter);
    coef->intercept = options->intercept ? parameter[0] : 0.0;
    if (report != NULL)
        *report = (pboost_fit_report){.converged = last.converged,
                                      .iterations = last.steps,
                                      .objective = last.value,
                                      .gradient_norm = last.gradient_norm,
                                      .rank = lm.rank - options->intercept,
                                      .first_dropped = SIZE_MAX,
                                      .l2 = fit.l2,
                                      .bags = data.rows.n_bags,
                                      .dispersion = NAN,
                                      .pearson = NAN,
                                      .freedom = NAN,
                                      .eta_sd = fit.point.eta_sd,
                                      .separable = fit.family->curved && fit.point.eta_sd > 8.0};
done:
    release(&fit);
    pboost_levenberg_free(&lm);
    free(parameter);
    return st;
}

/* The aggregate fit where no machine has all bags: each part computes the moments and the Gram
 * matrix of its bags; the fit itself is that of aggregate.c, which calls the passes here.
 *
 * By bag, mean and variance are brought to where the fit runs, weight and residual go back; the
 * derivatives, as wide as the table, are made where the rows are and stay there. */
#include <priorboost/cluster.h>

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "cluster/failure.h"
#include "cluster/part.h"
#include "fit/aggregate/aggregate.h"
#include "passes/bag_pass.h"
#include "try.h"

/* ---- One part -------------------------------------------------------------------------------- */

pboost_status pboost_part_columns(double *sums, const pboost_matrix *x, const double *base,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = x->cols;
    pboost_samples samples = {.x = x, .n = x->rows};

    memset(sums, 0, 2 * d * sizeof *sums);
    TRY(pboost_samples_check(&samples, false, err));
    for (size_t i = 0; i < x->rows; i++)
        for (size_t j = 0; j < d; j++) {
            double v = pboost_matrix_at(x, i, j) - base[j];
            sums[j] += v;
            sums[d + j] += v * v;
        }
done:
    return st;
}

typedef struct {
    bag_pass pass;
    bag_moments moments;
} part_bags;

static void part_free(part_bags *p)
{
    pboost_bagpass_free(&p->pass);
    pboost_bag_moments_free(&p->moments);
}

pboost_status pboost_part_bags_check(const pboost_part_bags *bags, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const size_t *start = bags->start;
    pboost_samples samples = {.x = bags->x, .n = bags->x->rows};

    TRY(pboost_samples_check(&samples, false, err));
    if (cols != bags->x->cols)
        FAIL(err, PBOOST_INVALID, "the point has %zu columns, but the part has %zu", cols,
             bags->x->cols);
    if (bags->n_bags == 0)
        FAIL(err, PBOOST_INVALID, "a part has no bags");
    for (size_t b = 0; b < bags->n_bags; b++)
        if (start[b + 1] <= start[b] || start[b + 1] > bags->x->rows)
            FAIL(err, PBOOST_INVALID, "bag %zu has the rows %zu to %zu of %zu", b, start[b],
                 start[b + 1], bags->x->rows);
done:
    return st;
}

/* The moments at the point, derivatives among them. */
static pboost_status part_run(part_bags *p, const pboost_part_bags *bags,
                              const pboost_bag_point *at, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_rows rows = {.x = bags->x, .n_bags = bags->n_bags, .start = bags->start};
    bag_units units = {at->shift, at->center, at->scale};

    TRY(pboost_family_check(at->family, err));
    TRY(pboost_part_bags_check(bags, at->cols, err));
    TRY(pboost_bagpass_init(&p->pass, &rows, at->family, at->intercept, &units, threads, err));
    TRY(pboost_bag_moments_init(&p->moments, &p->pass, err));
    pboost_bagpass_run(&p->moments, &p->pass, at->parameter);
done:
    return st;
}

pboost_status pboost_part_moments(double *mean, double *variance, double eta[2],
                                  const pboost_part_bags *bags, const pboost_bag_point *at,
                                  int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    part_bags p = {0};

    eta[0] = eta[1] = 0.0;
    TRY(part_run(&p, bags, at, threads, err));
    memcpy(mean, p.moments.mean, bags->n_bags * sizeof *mean);
    memcpy(variance, p.moments.variance, bags->n_bags * sizeof *variance);
    double m = p.moments.eta_mean, sd = p.moments.eta_sd;
    double rows = (double)(bags->start[bags->n_bags] - bags->start[0]);
    eta[0] = rows * m;
    eta[1] = rows * (m * m + sd * sd);
done:
    part_free(&p);
    return st;
}

pboost_status pboost_part_gram(double *sums, const pboost_part_bags *bags,
                               const pboost_bag_point *at, const double *weight,
                               const double *residual, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    part_bags p = {0};
    size_t n = at->cols + at->intercept;

    memset(sums, 0, PBOOST_GRAM_SIZE(n) * sizeof *sums);
    TRY(part_run(&p, bags, at, threads, err));
    pboost_bagpass_gram(sums, residual != NULL ? sums + n * n : NULL, &p.pass, &p.moments, weight,
                        residual);
done:
    part_free(&p);
    return st;
}

/* ---- All parts ------------------------------------------------------------------------------- */

/* The machines that have the rows. */
typedef struct {
    const pboost_bag_parts *parts;
    size_t cols;
    double *sums; /* room for a Gram matrix and a vector */
    machine_failure failure;
} bag_machines;

static pboost_bag_point point_of(const bag_pass *pass, const double *parameter)
{
    return (pboost_bag_point){.family = pass->family,
                              .intercept = pass->intercept,
                              .cols = pass->cols,
                              .shift = pass->units.shift,
                              .center = pass->units.center,
                              .scale = pass->units.scale,
                              .parameter = parameter};
}

static void remote_moments(bag_moments *out, bag_pass *pass, const double *parameter)
{
    bag_machines *machines = pass->machines;
    pboost_bag_point at = point_of(pass, parameter);
    const size_t *start = pass->bags.start;
    double eta[2] = {NAN, NAN}, rows = (double)(start[pass->bags.n_bags] - start[0]);

    if (machines->failure.status == PBOOST_OK)
        machines->failure.status = machines->parts->moments(
            machines->parts->self, &at, out->mean, out->variance, eta, &machines->failure.error);
    for (size_t b = 0; machines->failure.status != PBOOST_OK && b < pass->bags.n_bags; b++)
        out->mean[b] = out->variance[b] = NAN;
    out->eta_mean = eta[0] / rows;
    out->eta_sd = sqrt(fmax(eta[1] / rows - out->eta_mean * out->eta_mean, 0.0));
}

static void remote_gram(double *gram, double *vector, bag_pass *pass, const bag_moments *moments,
                        const double *weight, const double *residual)
{
    bag_machines *machines = pass->machines;
    pboost_bag_point at = point_of(pass, moments->parameter);
    size_t n = pass->n_parameters;
    double *sums = machines->sums;

    if (machines->failure.status == PBOOST_OK)
        machines->failure.status =
            machines->parts->gram(machines->parts->self, &at, weight,
                                  vector != NULL ? residual : NULL, sums, &machines->failure.error);
    if (machines->failure.status != PBOOST_OK)
        memset(sums, 0, PBOOST_GRAM_SIZE(n) * sizeof *sums);
    memcpy(gram, sums, n * n * sizeof *gram);
    if (vector != NULL)
        memcpy(vector, sums + n * n, n * sizeof *vector);
}

static pboost_status remote_features(bag_pass *out, const bag_pass *pass, pboost_error *err)
{
    (void)err;
    *out = *pass;
    out->family = PBOOST_LINEAR;
    out->intercept = false;
    out->n_parameters = pass->cols;
    return PBOOST_OK;
}

static const bag_pass_class REMOTE = {remote_moments, remote_gram, remote_features};

/* An aggregate fit whose rows are on other machines. */
static pboost_status remote_init(aggregate_fit *out, bag_machines *machines, const bag_data *data,
                                 const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_bag_parts *parts = machines->parts;
    size_t d = machines->cols;
    size_t rows = data->rows.start[data->rows.n_bags] - data->rows.start[0];
    double *sum = NULL;

    *out = (aggregate_fit){.data = *data, .options = options};
    NEED(sum = pboost_alloc(2 * d, sizeof *sum), err);
    TRY(parts->columns(parts->self, sum, err));
    TRY(pboost_units_from_sums(&out->units, d, parts->base, sum, sum + d, rows,
                               pboost_column_options(options), err));
    out->pass = (bag_pass){.class = &REMOTE,
                           .machines = machines,
                           .bags = data->rows,
                           .family = options->family,
                           .intercept = options->intercept,
                           .units = out->units.units,
                           .cols = d,
                           .n_parameters = d + options->intercept};
    TRY(pboost_aggregate_reserve(out, err));
done:
    free(sum);
    if (st != PBOOST_OK)
        pboost_aggregate_free(out);
    return st;
}

static pboost_status check_options(const pboost_fit_options *o, pboost_error *err)
{
    if (o->estimator != PBOOST_AGGREGATE)
        return pboost_fail(err, PBOOST_INVALID, "the estimator is %s, but this fits aggregates",
                           pboost_estimator_name(o->estimator));
    if (o->l2.mode == PBOOST_L2_CV || o->covariance == PBOOST_COVARIANCE_SANDWICH)
        return pboost_fail(
            err, PBOOST_INVALID, "%s is for rows on one machine, not for parts of them",
            o->l2.mode == PBOOST_L2_CV ? "l2 by cross-validation" : "the sandwich covariance");
    return PBOOST_OK;
}

pboost_status pboost_bag_parts_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const pboost_bag_parts *parts, size_t n_bags,
                                   const size_t *start, const double *answer, const double *noise,
                                   const pboost_fit_options *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_report ignored = {0};
    bag_machines machines = {.parts = parts, .cols = coef->n};
    bag_data data = {.rows = {.n_bags = n_bags, .start = start},
                     .answer = answer,
                     .noise = noise,
                     .laplace = parts->laplace};
    aggregate_fit fit = {0};
    pboost_cancel cancel = {.stop = pboost_machines_stop, .user = &machines.failure};
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;

    report = report != NULL ? report : &ignored;
    *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(OPTIONS_READ(&options, given, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(pboost_bag_answers_check(&data, &options, err));
    TRY(check_options(&options, err));
    TRY(pboost_fit_curves_check(&options, coef->n, err));
    NEED(machines.sums = pboost_alloc(PBOOST_GRAM_SIZE(coef->n + 1), sizeof *machines.sums), err);
    machines.failure.given = options.cancel;
    options.cancel = &cancel;
    TRY(remote_init(&fit, &machines, &data, &options, err));
    TRY(pboost_aggregate_run(coef, report, covariance, &fit, err));
done:
    pboost_aggregate_free(&fit);
    st = pboost_machines_result(&machines.failure, st, err);
    if (st != PBOOST_OK)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    free(machines.sums);
    return st;
}

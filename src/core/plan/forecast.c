/* Expected loss from information.
 *
 * With A = (I + L)^-1, L the penalty over phi, the aggregate estimator is about theta with mean
 * squared error M = A (I + L theta theta' L) A, and a test row's expected loss rises by (1/2) tr M
 * H. Both I and H need features and a guess of theta, no label.
 *
 * A wrong model leaves a deviation g in every answer that the bag does not average out.  The best
 * model has sum x g = 0 over all rows; bags cover all rows, so what is left of sum J g is minus the
 * sum of the covariances of x and g within bags.  So a wrong model does little harm in bags of rows
 * with similar x, and more in mixed bags.  Let W be the covariance of x within bags and S that of
 * all rows; with Var g = e and slopes of g that are equally likely in all d directions, g has a
 * covariance with x of variance (e/d) W S^-1 W in a bag.  But g cannot do more harm than noise of
 * variance e in every answer, which has little effect if bags hardly differ.  So in each direction
 * the smaller of the two counts (the parallel sum of matrices).  On two real tables, e being a few
 * per cent of the variance of the means, that is about what larger bags really cost
 * (docs/planner-appendix.md).
 *
 * A sample of rows is used instead of the table.  Rows within a bag of a sample are less similar
 * than on the table, because its tree is less deep: each level halves one of r directions, which
 * leaves 1 - 2/pi of a normal's variance within, so levels more leave (1 - 2/pi)^(levels / r) of
 * what is left within bags. */
#include "plan/forecast.h"

#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/rng.h"
#include "data/answer_error.h"
#include "data/family.h"
#include "data/matrix.h"
#include "fit/predict.h"
#include "try.h"

#define LEFT_BY_LEVEL 0.3633802276 /* 1 - 2/pi */

void pboost_population_free(population *p)
{
    pboost_units_free(&p->units);
    free(p->parameter);
    free(p->penalty);
    free(p->hessian);
    free(p->start);
    free(p->eta);
    pboost_bagpass_free(&p->pass);
    pboost_bag_moments_free(&p->row);
    free(p->row_weight);
    *p = (population){0};
}

pboost_status pboost_population_init(population *p, pboost_family family, const pboost_matrix *x,
                                     const double *offset, const size_t *row, size_t n,
                                     bool intercept, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = x->cols + intercept;

    *p = (population){.family = family,
                      .intercept = intercept,
                      .threads = threads,
                      .x = x,
                      .offset = offset,
                      .n_parameters = m,
                      .phi = 1.0,
                      .loss_scale = family == PBOOST_LINEAR ? 2.0 : 1.0};
    NEED(p->start = pboost_alloc(n + 1, sizeof *p->start), err);
    for (size_t i = 0; i <= n; i++)
        p->start[i] = i;
    bag_rows rows = {.x = x, .offset = offset, .n_bags = n, .start = p->start, .row = row};
    TRY(pboost_units_init(&p->units, &rows, (column_options){.intercept = intercept}, threads,
                          err));
    TRY(pboost_bagpass_init(&p->pass, &rows, family, intercept, &p->units.units, threads, err));
    TRY(pboost_bag_moments_init(&p->row, &p->pass, err));
    NEED(p->row_weight = pboost_alloc(n, sizeof *p->row_weight), err);
    NEED(p->eta = pboost_alloc(n, sizeof *p->eta), err);
    NEED(p->parameter = calloc(m, sizeof *p->parameter), err);
    NEED(p->penalty = calloc(m, sizeof *p->penalty), err);
    NEED(p->hessian = calloc(m * m, sizeof *p->hessian), err);
done:
    if (st != PBOOST_OK)
        pboost_population_free(p);
    return st;
}

void pboost_population_set(population *p, const pboost_coef *coef)
{
    pboost_units_enter(p->parameter, &p->units, coef, p->intercept);
}

/* Limits each weight so that no row of the table moves by more than `most` through its column. */
static void limit_weights(population *p, double *theta, double most)
{
    const standard_units *u = &p->units;
    for (size_t i = 0; i < p->x->rows; i++)
        for (size_t j = 0; j < p->x->cols; j++) {
            double z = (pboost_matrix_at(p->x, i, j) - u->shift[j] - u->center[j]) / u->scale[j];
            if (fabs(theta[j] * z) > most)
                theta[j] = copysign(most / fabs(z), theta[j]);
        }
}

/* Fills eta by row at the parameters. */
static pboost_status fill_eta(population *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_coef coef = {0};
    pboost_samples rows = {
        .x = p->x, .row = p->pass.bags.row, .n = p->pass.bags.n_bags, .offset = p->offset};

    TRY(pboost_coef_init(&coef, p->x->cols, err));
    pboost_units_leave(&coef, &p->units, p->parameter, p->intercept);
    TRY(pboost_predict_eta(p->eta, &rows, &coef, p->threads, err));
done:
    pboost_coef_free(&coef);
    return st;
}

/* The c for which the mean of b'(eta_i + c) is `mean`.  b' rises; at the first ends all rows are on
 * one side of the mean. */
static double level_for(pboost_family of, const double *eta, size_t n, double mean)
{
    const family_info *family = pboost_family_info(of);
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, eta[i]);
        most = fmax(most, eta[i]);
    }
    double lo = family->eta(mean) - most, hi = family->eta(mean) - least;
    for (int step = 0; step < 64 && lo < hi; step++) {
        double c = 0.5 * (lo + hi), sum = 0.0;
        for (size_t i = 0; i < n; i++)
            sum += family->mean(eta[i] + c) / (double)n;
        *(sum < mean ? &lo : &hi) = c;
    }
    return 0.5 * (lo + hi);
}

pboost_status pboost_population_assume(population *p, double mean, double eta_sd, double most,
                                       uint64_t seed, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *theta = p->parameter + p->intercept, norm = 0.0, pair[2];
    for (size_t j = 0; j < p->x->cols; j++) {
        pboost_rng_normals(pair, 1, seed, RNG_THETA, 1, j);
        theta[j] = pair[0];
        norm += pair[0] * pair[0];
    }
    for (size_t j = 0; j < p->x->cols; j++)
        theta[j] *= eta_sd / sqrt(norm);
    if (most < INFINITY)
        limit_weights(p, theta, most);
    if (!p->intercept)
        goto done;
    /* Not the link of the mean: b' is curved, and there are offsets. */
    p->parameter[0] = 0.0;
    TRY(fill_eta(p, err));
    p->parameter[0] = level_for(p->family, p->eta, p->pass.bags.n_bags, mean);
done:
    return st;
}

/* Both triangles of a matrix of which the lower is filled, times scale. */
static void complete(double *a, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            a[i * n + j] = a[j * n + i] = a[i * n + j] * scale;
}

/* 1/I of an answer in a fit that does not know the dispersion.  It takes the dispersion to be at
 * least its standard error, so that the sampling variance is at least `unsure` times the noise. */
static double variance_in_fit(answer_error error, double unsure)
{
    answer_error used = error;
    used.sampling = fmax(error.sampling, unsure * error.noise);
    double v = error.sampling + error.noise;
    return used.sampling > 0.0 ? v * pboost_working_variance(used) / (used.sampling + used.noise)
                               : v;
}

/* The standard error of the sampling variance over the noise, where noise is most of the error:
 * Var(r^2) is 5 c^2 (fit/aggregate/dispersion.h).  Log odds have a known dispersion. */
static double unsure_of(pboost_family family, double bags)
{
    return family == PBOOST_LOGISTIC ? 0.0 : sqrt(5.0 / bags);
}

/* out = the mean over rows of b'' x x' weighted by b'' / (phi b'' + noise): the information per row
 * in bags of equal rows. */
static void limit(double *out, population *p, double phi, double noise, bool laplace, double unsure)
{
    size_t n = p->pass.bags.n_bags;
    for (size_t i = 0; i < n; i++) { /* J = b'' x and a = b'' */
        answer_error error = {phi * p->row.variance[i], noise, laplace};
        double v = variance_in_fit(error, unsure);
        p->row_weight[i] = v > 0.0 ? 1.0 / v : 0.0;
    }
    pboost_bagpass_gram(out, NULL, &p->pass, &p->row, p->row_weight, NULL);
    complete(out, p->n_parameters, 1.0 / (double)n);
}

pboost_status pboost_population_measure(population *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = p->pass.bags.n_bags;
    double sum = 0.0, square = 0.0;

    TRY(fill_eta(p, err));
    pboost_bagpass_run(&p->row, &p->pass, p->parameter);
    for (size_t i = 0; i < n; i++)
        sum += p->row.mean[i];
    p->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (p->row.mean[i] - p->mean) * (p->row.mean[i] - p->mean);
    p->mean_variance = square / (double)n;
    if (!isfinite(p->mean) || !isfinite(square))
        FAIL(err, PBOOST_BAD_DATA,
             "the assumed model predicts means that overflow; give another prior");
    limit(p->hessian, p, 1.0, 0.0, false, 0.0);
done:
    return st;
}

/* ---- From information to loss -------------------------------------------------------------- */

/* inverse = (a + diag(penalty))^-1, both triangles. */
static pboost_status invert(double *inverse, const double *a, const double *penalty, size_t m,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_cholesky c = {.n = m};

    NEED(c.l = pboost_alloc(m * m, sizeof *c.l), err);
    NEED(c.scale = pboost_alloc(m, sizeof *c.scale), err);
    NEED(c.dropped = calloc(m, 1), err);
    memcpy(c.l, a, m * m * sizeof *c.l);
    for (size_t i = 0; i < m; i++)
        c.l[i * m + i] += penalty[i];
    pboost_cholesky_factor(&c, pboost_rank_tolerance(m), true);
    memset(inverse, 0, m * m * sizeof *inverse);
    for (size_t i = 0; i < m; i++) { /* symmetric: a row is a column */
        inverse[i * m + i] = 1.0;
        pboost_cholesky_solve(inverse + i * m, &c, inverse + i * m);
    }
done:
    free(c.l);
    free(c.scale);
    free(c.dropped);
    return st;
}

/* out = a b. */
static void multiply(double *out, const double *a, const double *b, size_t m)
{
    memset(out, 0, m * m * sizeof *out);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < m; k++) {
            double f = a[i * m + k];
            for (size_t j = 0; f != 0.0 && j < m; j++)
                out[i * m + j] += f * b[k * m + j];
        }
}

/* inverse: A, of info and penalty; scatter: the variance of the estimating equation, that is info
 * where the model is right. */
static pboost_status loss_of(forecast_result *out, const population *p, const double *inverse,
                             const double *scatter, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->n_parameters, first = p->intercept;
    double *product = NULL, *spread = NULL, *bias = NULL;

    NEED(product = pboost_alloc(m * m, sizeof *product), err);
    NEED(spread = pboost_alloc(m * m, sizeof *spread), err);
    NEED(bias = calloc(m, sizeof *bias), err);
    multiply(product, inverse, scatter, m);
    for (size_t i = 0; i < m; i++) /* spread = A scatter A */
        for (size_t j = 0; j < m; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < m; k++)
                sum += product[i * m + k] * inverse[j * m + k];
            spread[i * m + j] = sum;
        }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            bias[i] += inverse[i * m + j] * p->penalty[j] * p->parameter[j];
    if (out->spread != NULL)
        memcpy(out->spread, spread, m * m * sizeof *spread);
    if (out->bias != NULL)
        memcpy(out->bias, bias, m * sizeof *bias);
    double total = 0.0, squares = 0.0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            total += (spread[i * m + j] + bias[i] * bias[j]) * p->hessian[i * m + j];
    for (size_t i = first; i < m; i++) {
        squares += spread[i * m + i];
        if (out->column != NULL)
            /* about 0, and by rounding below it, where the penalty decides all */
            out->column[i - first] = sqrt(fmax(spread[i * m + i], 0.0)) / p->units.scale[i - first];
    }
    out->excess = 0.5 * p->loss_scale * total;
    out->se = sqrt(fmax(squares, 0.0) / (double)(m - first));
done:
    free(product);
    free(spread);
    free(bias);
    return st;
}

/* The cost of a ridge that is estimated from noisy answers (ridge_evidence.c) instead of known. Let
 * kappa be the fraction that the ridge removes in a direction and w the fraction that it leaves.
 * The answers have information sum w^2 / 2 about the logarithm of the weights' variance, and an
 * error of one in it costs kappa^2 w times the weights' variance.  For weights with equal
 * information this is the cost of Stein's estimator.  If hardly anything is left, the error is
 * limited to about one, because there is nothing more to lose. */
static pboost_status price_of_judging(double *out, const population *p, const double *inverse,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->n_parameters, first = p->intercept, d = m - first;
    double *b = NULL, *w = NULL, *product = NULL, *price = NULL;
    double ridge = p->penalty[first], known = 0.0, total = 0.0;

    NEED(b = calloc(4 * d * d, sizeof *b), err);
    w = b + d * d, product = w + d * d, price = product + d * d;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            b[i * d + j] = inverse[(first + i) * m + first + j];
            w[i * d + j] = (i == j) - ridge * b[i * d + j];
        }
    multiply(product, b, w, d);
    multiply(price, product, b, d);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            known += 0.5 * w[i * d + j] * w[j * d + i];
            total += ridge * price[i * d + j] * p->hessian[(first + i) * m + first + j];
        }
    *out = 0.5 * p->loss_scale * total / fmax(known, 1.0);
done:
    free(b);
    return st;
}

/* ---- Bags ---------------------------------------------------------------------------------- */

/* Moves info towards what bags of equal rows would give by what deeper trees gain. */
static void deepen(double *info, const population *p, const double *most, double levels)
{
    size_t m = p->n_parameters;
    double left = pow(LEFT_BY_LEVEL, levels / (double)p->x->cols);
    for (size_t i = 0; i < m * m; i++)
        info[i] = most[i] - (most[i] - info[i]) * left;
}

/* out = a b^-1 a for symmetric a and b, with the penalty added to b. */
static pboost_status sandwich(double *out, const population *p, const double *a, const double *b,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->n_parameters;
    double *inverse = NULL, *product = NULL;

    NEED(inverse = pboost_alloc(m * m, sizeof *inverse), err);
    NEED(product = pboost_alloc(m * m, sizeof *product), err);
    TRY(invert(inverse, b, p->penalty, m, err));
    multiply(product, a, inverse, m);
    multiply(out, product, a, m);
done:
    free(inverse);
    free(product);
    return st;
}

/* tr a^-1 b over tr a^-1 a: the average ratio of b to a over all directions. */
static pboost_status mean_ratio(double *out, const population *p, const double *a, const double *b,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->n_parameters;
    double *inverse = NULL, of_a = 0.0, of_b = 0.0;

    NEED(inverse = pboost_alloc(m * m, sizeof *inverse), err);
    TRY(invert(inverse, a, p->penalty, m, err));
    for (size_t i = 0; i < m * m; i++) {
        of_a += inverse[i] * a[i];
        of_b += inverse[i] * b[i];
    }
    *out = of_a > 0.0 ? of_b / of_a : 0.0;
done:
    free(inverse);
    return st;
}

/* scatter += what a wrong model adds to the variance of the equation: `factor` times the parallel
 * sum of info and (1/d) within most^-1 within, which is about the smaller of the two in every
 * direction: a : b = a - a (a + b)^-1 a. */
static pboost_status add_model_error(double *scatter, const population *p, const double *info,
                                     const double *most, double factor, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->n_parameters;
    double *within = NULL, *part = NULL;

    NEED(within = pboost_alloc(m * m, sizeof *within), err);
    NEED(part = pboost_alloc(m * m, sizeof *part), err);
    for (size_t i = 0; i < m * m; i++)
        within[i] = most[i] - info[i];
    TRY(sandwich(part, p, within, most, err));
    for (size_t i = 0; i < m * m; i++)
        within[i] = info[i] + part[i] / (double)p->x->cols;
    TRY(sandwich(part, p, info, within, err));
    for (size_t i = 0; i < m * m; i++)
        scatter[i] += factor * (info[i] - part[i]);
done:
    free(within);
    free(part);
    return st;
}

pboost_status pboost_asked_init(asked_bags *out, const population *p, const pboost_bags *bags,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_rows rows = {.x = p->x,
                     .offset = p->offset,
                     .n_bags = bags->n_bags,
                     .start = bags->start,
                     .row = bags->row};

    *out = (asked_bags){0};
    TRY(pboost_bagpass_init(&out->pass, &rows, p->family, p->intercept, &p->units.units, p->threads,
                            err));
    TRY(pboost_bag_moments_init(&out->moments, &out->pass, err));
    NEED(out->weight = pboost_alloc(bags->n_bags, sizeof *out->weight), err);
    pboost_bagpass_run(&out->moments, &out->pass, p->parameter);
done:
    return st;
}

void pboost_asked_free(asked_bags *asked)
{
    pboost_bagpass_free(&asked->pass);
    pboost_bag_moments_free(&asked->moments);
    free(asked->weight);
    *asked = (asked_bags){0};
}

/* Sets the weights of the bags to 1/V, or to the information of answers with Laplace noise. */
static void weigh_bags(asked_bags *asked, double phi, const forecast_table *f)
{
    const bag_rows *bags = &asked->pass.bags;
    double unsure = unsure_of(asked->pass.family, f->repeat * (double)bags->n_bags);
    for (size_t b = 0; b < bags->n_bags; b++) {
        double size = f->larger * (double)(bags->start[b + 1] - bags->start[b]);
        answer_error error = {phi * asked->moments.variance[b] / f->larger,
                              f->noise_scale / (size * size), f->laplace};
        asked->weight[b] = 1.0 / fmax(variance_in_fit(error, unsure), 1e-300);
    }
}

pboost_status pboost_forecast_bags(forecast_result *out, population *p, asked_bags *asked,
                                   const forecast_table *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->n_parameters, n_bags = asked->pass.bags.n_bags;
    double rows = f->larger * (double)asked->pass.bags.start[n_bags];
    double *info = NULL, *most = NULL, *scatter = NULL, *inverse = NULL, factor = 0.0, price = 0.0;

    NEED(info = pboost_alloc(m * m, sizeof *info), err);
    NEED(most = pboost_alloc(m * m, sizeof *most), err);
    NEED(scatter = pboost_alloc(m * m, sizeof *scatter), err);
    NEED(inverse = pboost_alloc(m * m, sizeof *inverse), err);
    weigh_bags(asked, p->phi, f);
    pboost_bagpass_gram(info, NULL, &asked->pass, &asked->moments, asked->weight, NULL);
    complete(info, m, f->repeat);
    if (f->model_error > 0.0) {
        for (size_t b = 0; b < n_bags; b++)
            asked->weight[b] *= asked->weight[b];
        pboost_bagpass_gram(scatter, NULL, &asked->pass, &asked->moments, asked->weight, NULL);
        complete(scatter, m, f->repeat);
        TRY(mean_ratio(&factor, p, info, scatter, err));
    }
    limit(most, p, p->phi, f->noise_scale * (double)n_bags / rows, f->laplace,
          unsure_of(p->family, f->repeat * (double)n_bags));
    for (size_t i = 0; i < m * m; i++)
        most[i] *= f->repeat * rows;
    if (f->levels > 0.0)
        deepen(info, p, most, f->levels);
    memcpy(scatter, info, m * m * sizeof *scatter);
    if (f->model_error > 0.0)
        TRY(add_model_error(scatter, p, info, most, f->model_error * factor, err));
    TRY(invert(inverse, info, p->penalty, m, err));
    TRY(loss_of(out, p, inverse, scatter, err));
    double cautious = out->excess;
    TRY(loss_of(out, p, inverse, info, err));
    if (p->ridge_judged)
        TRY(price_of_judging(&price, p, inverse, err));
    out->excess += price;
    out->cautious = cautious + price;
done:
    free(info);
    free(most);
    free(scatter);
    free(inverse);
    return st;
}

pboost_status pboost_forecast_labels(forecast_result *out, const population *p, double rows,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = p->n_parameters;
    double *info = NULL, *inverse = NULL;

    NEED(info = pboost_alloc(m * m, sizeof *info), err);
    NEED(inverse = pboost_alloc(m * m, sizeof *inverse), err);
    for (size_t i = 0; i < m * m; i++)
        info[i] = rows / p->phi * p->hessian[i];
    TRY(invert(inverse, info, p->penalty, m, err));
    TRY(loss_of(out, p, inverse, info, err));
done:
    free(info);
    free(inverse);
    return st;
}

/* The mean over rows of the loss of predictions eta, without the labels' variance about their
 * means, to which all losses are linear. */
static pboost_status loss_at(double *out, const population *p, const double *eta, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = p->pass.bags.n_bags;
    double *loss = NULL, sum = 0.0;

    NEED(loss = pboost_alloc(n, sizeof *loss), err);
    pboost_family_kernels(p->family)->loss(loss, eta, p->row.mean, n);
    for (size_t i = 0; i < n; i++)
        sum += loss[i];
    *out = p->loss_scale * sum / (double)n;
done:
    free(loss);
    return st;
}

pboost_status pboost_forecast_constant(double *out, const population *p, const double *offset,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = p->pass.bags.n_bags;
    double *eta = NULL, best;

    NEED(eta = calloc(n, sizeof *eta), err);
    for (size_t i = 0; offset != NULL && i < n; i++)
        eta[i] = offset[p->pass.bags.row[i]];
    double level = level_for(p->family, eta, n, p->mean);
    for (size_t i = 0; i < n; i++)
        eta[i] += level;
    TRY(loss_at(&best, p, p->eta, err));
    TRY(loss_at(out, p, eta, err));
    *out = fmax(*out - best, 0.0);
done:
    free(eta);
    return st;
}

pboost_status pboost_forecast_best(double *out, const population *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(loss_at(out, p, p->eta, err));
    if (p->family == PBOOST_LINEAR)
        *out += p->phi;
done:
    return st;
}

/* What answers about bags are expected to tell about a wide model, before any is asked.
 *
 * The weights are taken to be normal with mean 0 and variance phi / lambda; lambda is such that the
 * linear predictor varies between rows by `spread`.  At the constant model the covariance of the
 * weights after the answers is phi A^-1, with A = sum_B J_B J_B' / V_B + lambda, the matrix of the
 * fit.  So the expected loss above that of the true weights, on a row x that is in no bag, is
 * (1/2) v phi x' A^-1 x, where v is the variance function at the mean; that of the constant model
 * is the same with 1 / lambda in place of A^-1 and x minus the mean row.
 *
 * Nothing of the size columns x columns is needed: for a vector z of random signs by row and u =
 * X'z the mean of u' A^-1 u is the sum of x' A^-1 x over the rows (Hutchinson), and conjugate
 * gradients give A^-1 u.  A column that no bag has is known by the prior alone. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/options.h"
#include "base/rng.h"
#include "base/sizes.h"
#include "sparse/aggregate.h"
#include "sparse/csr.h"
#include "try.h"

#define PROBES 8
#define ROUGH 1e-3

/* ---- The fit, at the constant model ---------------------------------------------------------- */

/* Every answer is the mean label; what is forecast does not depend on them. */
static pboost_status assume_answers(pboost_answers **out, const pboost_bags *bags,
                                    const pboost_wide_assumptions *assumed, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *mean = NULL, *noise = NULL;

    NEED(mean = pboost_alloc(bags->n_bags, sizeof *mean), err);
    NEED(noise = pboost_alloc(bags->n_bags, sizeof *noise), err);
    for (size_t b = 0; b < bags->n_bags; b++) {
        mean[b] = assumed->mean;
        noise[b] =
            assumed->rules == NULL
                ? 0.0
                : pboost_rules_noise_variance(assumed->rules, bags->start[b + 1] - bags->start[b]);
    }
    TRY(pboost_answers_create(out, err));
    TRY(pboost_answers_append(*out, bags, mean, noise, err));
done:
    free(mean);
    free(noise);
    return st;
}

/* At the constant model, with the ridge that `spread` means; its matrix is then ready. */
static void move_to_constant(wide_fit *f, const family_info *family,
                             const pboost_wide_assumptions *assumed)
{
    double spread = assumed->spread > 0.0 ? assumed->spread
                                          : pboost_prior_spread(family, 0.0, assumed->dispersion);
    double variance = pboost_wide_row_variance(&f->rows);

    f->bags.phi = f->bags.measured_phi = assumed->dispersion;
    f->l2 = variance > 0.0 ? assumed->dispersion * variance / spread : 1.0;
    f->parameter[0] = family->eta(assumed->mean);
    memset(f->bags.size, 0, f->bags.data.rows.n_bags * sizeof *f->bags.size);
    pboost_wide_move(f, f->parameter);
    pboost_wide_refresh_sizes(f, 1);
    f->problem.here(f, f->parameter, f->newton.gradient, f->newton.diagonal);
}

/* ---- Other rows ------------------------------------------------------------------------------ */

/* theta = X'z over the rows, z the signs of a probe; returns the sum of z. */
static double sum_signed(double *theta, const pboost_sparse *x, const size_t *row, size_t n,
                         size_t probe)
{
    double total = 0.0;
    memset(theta, 0, x->cols * sizeof *theta);
    for (size_t i = 0; i < n; i++) {
        double sign = (pboost_rng_key(0, RNG_SKETCH, probe, i) & 1) != 0 ? 1.0 : -1.0;
        size_t end = pboost_csr_start(x, row[i] + 1);
        for (size_t p = pboost_csr_start(x, row[i]); p < end; p++)
            theta[x->column[p]] += sign * pboost_csr_value(x, p);
        total += sign;
    }
    return total;
}

/* mean[j] = that of column j over the rows of the fit. */
static void mean_row(double *mean, const wide_fit *f)
{
    const wide_rows *r = &f->rows;
    for (size_t j = 0; j < r->cols; j++) {
        double sum = 0.0;
        for (size_t p = r->first[j]; p < r->first[j + 1]; p++)
            sum += pboost_wide_cell(r, p);
        mean[j] = sum / (double)r->n;
    }
}

static double square_of(const double *v, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum;
}

/* out gets the variances of the linear predictor, over phi: means over the rows. */
static pboost_status measure_rows(pboost_wide_forecast *out, wide_fit *f, const pboost_sparse *x,
                                  const size_t *row, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wide_newton *w = &f->newton;
    double *theta = NULL, *mean = NULL, *right = w->trial;

    NEED(theta = pboost_alloc(x->cols, sizeof *theta), err);
    NEED(mean = pboost_alloc(f->rows.cols, sizeof *mean), err);
    mean_row(mean, f);
    for (size_t p = 0; p < PROBES; p++) {
        pboost_coef by_column = {.n = x->cols, .theta = theta};
        right[0] = sum_signed(theta, x, row, n, p);
        pboost_wide_enter(right + 1, &f->rows, &by_column);
        double unseen = square_of(theta, x->cols) - square_of(right + 1, f->rows.cols);
        if (!pboost_wide_solve(w, &f->problem, right, ROUGH, f->options.cancel)) {
            TRY(pboost_cancel_check(f->options.cancel, err));
            FAIL(err, PBOOST_BAD_DATA,
                 "the forecast did not converge: columns may differ too much in scale");
        }
        double explained = 0.0, centred = 0.0;
        for (size_t k = 0; k < f->problem.n; k++)
            explained += right[k] * w->step[k];
        for (size_t j = 0; j < f->rows.cols; j++) {
            double u = right[j + 1] - right[0] * mean[j];
            centred += u * u;
        }
        out->excess += (explained + unseen / f->l2) / (double)n / PROBES;
        out->constant += (centred + unseen) / f->l2 / (double)n / PROBES;
    }
done:
    free(theta);
    free(mean);
    return st;
}

static pboost_status check(const pboost_wide_assumptions *a, const pboost_sparse *x,
                           const size_t *row, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const family_info *family = pboost_family_info(a->family);

    TRY(pboost_family_check(a->family, err));
    TRY(pboost_csr_check_shape(x, err));
    if (!isfinite(a->mean) || a->mean < family->least_mean || a->mean > family->most_mean ||
        !isfinite(family->eta(a->mean)))
        FAIL(err, PBOOST_INVALID, "the mean label is %g; it must be %s", a->mean, family->means);
    if (!(a->dispersion > 0.0) || isinf(a->dispersion))
        FAIL(err, PBOOST_INVALID, "dispersion is %g; it must be positive and finite",
             a->dispersion);
    if (!(a->spread >= 0.0) || isinf(a->spread))
        FAIL(err, PBOOST_INVALID, "spread is %g; it must be finite and not negative", a->spread);
    if (n == 0)
        FAIL(err, PBOOST_INVALID, "there are no other rows to forecast for");
    for (size_t i = 0; i < n; i++)
        if (row[i] >= x->rows)
            FAIL(err, PBOOST_INVALID, "row %zu is asked for, but there are %zu rows", row[i],
                 x->rows);
done:
    return st;
}

pboost_status pboost_wide_forecast_bags(pboost_wide_forecast *out,
                                        const pboost_wide_features *features,
                                        const pboost_bags *bags, const size_t *other, size_t n,
                                        const pboost_wide_assumptions *assumed, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const family_info *family = pboost_family_info(assumed->family);
    pboost_fit_options options = PBOOST_WIDE_OPTIONS_INIT;
    pboost_answers *answers = NULL;
    wide_fit fit = {0};

    *out = (pboost_wide_forecast){0};
    TRY(check(assumed, &features->x, other, n, err));
    options.family = assumed->family;
    options.threads = assumed->threads;
    options.cancel = assumed->cancel;
    TRY(assume_answers(&answers, bags, assumed, err));
    TRY(pboost_wide_fit_init(&fit, features, answers, 0, &options, err));
    move_to_constant(&fit, family, assumed);
    TRY(measure_rows(out, &fit, &features->x, other, n, err));
    double half = 0.5 * family->variance_at(assumed->mean) * assumed->dispersion;
    out->excess *= half;
    out->constant *= half;
done:
    if (st != PBOOST_OK)
        *out = (pboost_wide_forecast){0};
    pboost_wide_fit_free(&fit);
    pboost_answers_free(answers);
    return st;
}

/* The aggregate estimator on sparse rows.
 *
 * The equation, the quasi-likelihood and the refreshes of its sizes are those of fit/aggregate. The
 * matrix is that of Gauss and Newton, A = sum_B J_B J_B'/V_B + lambda, as there; but J (bags x
 * columns) is not formed.  J_B is the sum of slope_i x_i over the rows of bag B, so A v is two
 * passes over the rows: J_B v is a sum of slope_i (x_i v), and J' u adds slope_i u_B x_i. */
#include "sparse/aggregate.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/linalg.h"
#include "base/parallel.h"
#include "fit/aggregate/constant.h"
#include "fit/aggregate/quasi.h"
#include "fit/overlap/overlap.h"
#include "try.h"

#define INNER_STEPS 4    /* between two refreshes of V, at most */
#define INNER_SLACK 5e-2 /* what is left to the next refresh */
#define MOST_REFRESHES 100
/* If residuals are large, steps are short: this many count as one Newton step. */
#define STEPS_A_STEP 5
#define SETTLED 1e-9
/* After this many refreshes a fit may end this near to its solution, in standard errors. */
#define ENOUGH_REFRESHES 25
#define NEAR 1e-3

/* ---- Passes ---------------------------------------------------------------------------------- */

/* The bags of a chunk of rows; chunks hold whole bags. */
static void bags_of(const wide_fit *f, size_t chunk, size_t *from, size_t *end)
{
    *from = f->bag[f->rows.row_chunk[chunk]];
    *end = f->bag[f->rows.row_chunk[chunk + 1] - 1] + (size_t)1;
}

static void moments_chunk(void *context, size_t chunk, int worker)
{
    wide_fit *f = context;
    const wide_rows *r = &f->rows;
    size_t row = r->row_chunk[chunk], n = r->row_chunk[chunk + 1] - row, from, end;
    bool intercept = f->options.intercept;
    double base = intercept ? f->at[0] : 0.0, *sums = f->sums + 2 * chunk;
    (void)worker;
    sums[0] = sums[1] = 0.0;
    for (size_t i = row; i < row + n; i++) {
        double eta = base + pboost_wide_dot(r, i, f->at + intercept) +
                     (r->offset != NULL ? r->offset[i] : 0.0);
        f->eta[i] = eta;
        sums[0] += eta;
        sums[1] += eta * eta;
    }
    pboost_family_kernels(f->options.family)
        ->moments(f->image + row, f->trial + row, f->eta + row, n);
    bags_of(f, chunk, &from, &end);
    for (size_t b = from; b < end; b++) {
        double size = (double)(f->first[b + 1] - f->first[b]), mean = 0.0, variance = 0.0;
        for (size_t i = f->first[b]; i < f->first[b + 1]; i++) {
            mean += f->image[i];
            variance += r->weight == NULL    ? f->trial[i]
                        : r->weight[i] > 0.0 ? f->trial[i] / r->weight[i]
                                             : INFINITY;
            f->trial[i] /= size;
        }
        f->bags.trial.mean[b] = mean / size;
        f->bags.trial.variance[b] = variance / (size * size);
    }
}

/* Means, variances and slopes at x become those of the trial. */
static void run_moments(wide_fit *f, const double *x)
{
    double sum = 0.0, square = 0.0, n = (double)f->rows.n;
    f->at = x;
    pboost_parallel(f->rows.n_row_chunks, f->rows.threads, moments_chunk, f);
    for (size_t c = 0; c < f->rows.n_row_chunks; c++) {
        sum += f->sums[2 * c];
        square += f->sums[2 * c + 1];
    }
    bag_moments *at = &f->bags.trial;
    at->eta_mean = sum / n;
    at->eta_sd = sqrt(fmax(square / n - at->eta_mean * at->eta_mean, 0.0));
}

static void image_chunk(void *context, size_t chunk, int worker)
{
    wide_fit *f = context;
    const wide_rows *r = &f->rows;
    bool intercept = f->options.intercept;
    double base = intercept ? f->at[0] : 0.0, total = 0.0;
    size_t from, end;
    (void)worker;
    bags_of(f, chunk, &from, &end);
    for (size_t b = from; b < end; b++) {
        double sum = 0.0, slopes = 0.0, weight = f->bags.weight[b];
        for (size_t i = f->first[b]; weight > 0.0 && i < f->first[b + 1]; i++)
            sum += f->slope[i] * (base + pboost_wide_dot(r, i, f->at + intercept));
        for (size_t i = f->first[b]; i < f->first[b + 1]; i++) {
            f->image[i] = weight > 0.0 ? f->slope[i] * weight * sum : 0.0;
            slopes += f->image[i];
        }
        total += slopes;
    }
    f->sums[2 * chunk] = total;
}

/* image_i = slope_i weight_B residual_B */
static void pull_chunk(void *context, size_t chunk, int worker)
{
    wide_fit *f = context;
    double total = 0.0;
    size_t from, end;
    (void)worker;
    bags_of(f, chunk, &from, &end);
    for (size_t b = from; b < end; b++) {
        double weight = f->bags.weight[b], slopes = 0.0;
        double pull = weight > 0.0 ? weight * f->bags.working.residual[b] : 0.0;
        for (size_t i = f->first[b]; i < f->first[b + 1]; i++) {
            slopes += f->slope[i];
            f->image[i] = pull != 0.0 ? f->slope[i] * pull : 0.0;
        }
        total += pull != 0.0 ? pull * slopes : 0.0;
    }
    f->sums[2 * chunk] = total;
}

typedef struct {
    const wide_fit *fit;
    double *out;
} diagonal_task;

/* sum_B J_Bj^2 / V_B + lambda: the entries of a column are in the order of the bags.  Columns that
 * are unknowns of the coarse system on their own need none. */
static void diagonal_chunk(void *context, size_t chunk, int worker)
{
    diagonal_task *t = context;
    const wide_fit *f = t->fit;
    const wide_rows *r = &f->rows;
    (void)worker;
    for (size_t j = r->column_chunk[chunk]; j < r->column_chunk[chunk + 1]; j++) {
        double sum = 0.0;
        bool needed = j + f->coarse.intercept >= f->coarse.single;
        for (size_t p = r->first[j]; needed && p < r->first[j + 1];) {
            uint32_t b = f->bag[r->row[p]];
            double jacobian = 0.0, weight = f->bags.weight[b];
            for (; p < r->first[j + 1] && f->bag[r->row[p]] == b; p++)
                jacobian += f->slope[r->row[p]] * pboost_wide_cell(r, p);
            sum += weight > 0.0 ? weight * jacobian * jacobian : 0.0;
        }
        t->out[j] = sum + f->l2 > 0.0 ? sum + f->l2 : 1.0;
    }
}

static double sum_of(const wide_fit *f, size_t which)
{
    double sum = 0.0;
    for (size_t c = 0; c < f->rows.n_row_chunks; c++)
        sum += f->sums[2 * c + which];
    return sum;
}

/* ---- The problem with sizes frozen ----------------------------------------------------------- */

static double value_of(const wide_fit *f, const double *mean, const double *x)
{
    double sum = 0.0;
    for (size_t k = f->options.intercept; k < f->problem.n; k++)
        sum += x[k] * x[k];
    double value = pboost_quasi_loss(&f->bags, mean) + 0.5 * f->l2 * sum;
    return isfinite(value) ? value : INFINITY;
}

static double attempt(void *self, const double *x)
{
    wide_fit *f = self;
    run_moments(f, x);
    return value_of(f, f->bags.trial.mean, x);
}

static void accept(void *self)
{
    wide_fit *f = self;
    bag_moments old = f->bags.point;
    double *slope = f->slope;
    f->bags.point = f->bags.trial;
    f->bags.trial = old;
    f->slope = f->trial;
    f->trial = slope;
    pboost_aggregate_set_residuals(&f->bags);
    pboost_quasi_set_weights(&f->bags);
}

/* The preconditioner is that of where the sizes were frozen: it need not be exact. */
static void here(void *self, const double *x, double *gradient, double *diagonal)
{
    wide_fit *f = self;
    size_t first = f->options.intercept;
    pboost_parallel(f->rows.n_row_chunks, f->rows.threads, pull_chunk, f);
    if (first > 0)
        gradient[0] = sum_of(f, 0);
    pboost_wide_turn(gradient + first, &f->rows, f->image);
    for (size_t k = 0; k < f->problem.n; k++)
        gradient[k] = (k < first ? 0.0 : f->l2 * x[k]) - gradient[k];
    if (f->preconditioned)
        return;
    diagonal_task task = {f, diagonal + first};
    coarse_groups groups = {f->bag, f->slope, f->bags.weight, f->l2};
    pboost_parallel(f->rows.n_column_chunks, f->rows.threads, diagonal_chunk, &task);
    pboost_coarse_refresh(&f->coarse, &f->rows, &groups);
    f->preconditioned = true;
}

static void precondition(void *self, double *out, const double *r, const double *diagonal)
{
    wide_fit *f = self;
    pboost_coarse_apply(out, &f->coarse, r, diagonal);
}

static void product(void *self, double *out, const double *v)
{
    wide_fit *f = self;
    size_t first = f->options.intercept;
    f->at = v;
    pboost_parallel(f->rows.n_row_chunks, f->rows.threads, image_chunk, f);
    if (first > 0)
        out[0] = sum_of(f, 0);
    pboost_wide_turn(out + first, &f->rows, f->image);
    for (size_t k = first; k < f->problem.n; k++)
        out[k] += f->l2 * v[k];
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void pboost_wide_fit_free(wide_fit *f)
{
    pboost_aggregate_free(&f->bags);
    pboost_wide_rows_free(&f->rows);
    pboost_wide_newton_free(&f->newton);
    pboost_coarse_free(&f->coarse);
    free(f->first);
    free(f->bag);
    free(f->slope);
    free(f->trial);
    free(f->eta);
    free(f->image);
    free(f->sums);
    free(f->parameter);
    *f = (wide_fit){0};
}

static pboost_status number_bags(wide_fit *out, const bag_rows *rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = rows->start[rows->n_bags] - rows->start[0];
    NEED(out->first = pboost_alloc(rows->n_bags + 1, sizeof *out->first), err);
    NEED(out->bag = pboost_alloc(n, sizeof *out->bag), err);
    for (size_t b = 0; b <= rows->n_bags; b++)
        out->first[b] = rows->start[b] - rows->start[0];
    for (size_t b = 0; b < rows->n_bags; b++)
        for (size_t i = out->first[b]; i < out->first[b + 1]; i++)
            out->bag[i] = (uint32_t)b;
done:
    return st;
}

pboost_status pboost_wide_fit_init(wide_fit *out, const pboost_wide_features *features,
                                   const pboost_answers *answers, size_t first_bag,
                                   const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features shape = {
        .x = WIDE_SHAPE(&features->x), .weight = features->weight, .offset = features->offset};
    bag_data data = pboost_bag_data(&shape, answers, first_bag);
    size_t n = data.rows.start[data.rows.n_bags] - data.rows.start[0];
    pboost_wide_samples samples = {.x = &features->x,
                                   .row = data.rows.row + data.rows.start[0],
                                   .n = n,
                                   .weight = features->weight,
                                   .offset = features->offset};
    bool shared;

    *out = (wide_fit){.options = *options, .l2 = pboost_l2_or(options->l2, 0.0)};
    TRY(pboost_bag_answers_check(&data, options, err));
    if (answers->rounded)
        FAIL(err, PBOOST_INVALID,
             "the answers are rounded to 0 or 1; the %s estimator needs means as they are",
             pboost_estimator_name(options->estimator));
    TRY(pboost_wide_check_samples(&samples, false, err));
    TRY(pboost_bags_share_rows(&shared, &data, err));
    if (shared)
        FAIL(err, PBOOST_INVALID,
             "a row is in more than one bag; sparse data are fitted to bags that share no rows");
    data.rows.x = NULL;
    out->options.l2 = pboost_l2_fixed(pboost_l2_or(options->l2, 1.0));
    out->bags = (aggregate_fit){.data = data, .options = &out->options};
    out->bags.pass = (bag_pass){.bags = data.rows, .n_parameters = options->intercept};
    TRY(pboost_aggregate_reserve(&out->bags, err));
    TRY(number_bags(out, &data.rows, err));
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): first belongs to out */
    TRY(pboost_wide_rows_init(&out->rows, &samples, out->first, data.rows.n_bags, options->threads,
                              err));
    out->problem = (wide_problem){
        out->rows.cols + options->intercept, out, attempt, accept, here, precondition, product};
    TRY(pboost_wide_newton_init(&out->newton, out->problem.n, err));
    TRY(pboost_coarse_init(&out->coarse, &out->rows, options->intercept, err));
    NEED(out->slope = pboost_alloc(n, sizeof(double)), err);
    NEED(out->trial = pboost_alloc(n, sizeof(double)), err);
    NEED(out->eta = pboost_alloc(n, sizeof(double)), err);
    NEED(out->image = pboost_alloc(n, sizeof(double)), err);
    NEED(out->sums = pboost_alloc(out->rows.n_row_chunks, 2 * sizeof(double)), err);
    NEED(out->parameter = calloc(out->problem.n + 1, sizeof(double)), err);
done:
    if (st != PBOOST_OK)
        pboost_wide_fit_free(out);
    return st;
}

/* ---- Fitting --------------------------------------------------------------------------------- */

void pboost_wide_move(wide_fit *f, const double *parameter)
{
    if (parameter != f->parameter)
        memcpy(f->parameter, parameter, f->problem.n * sizeof *parameter);
    run_moments(f, f->parameter);
    accept(f);
}

void pboost_wide_start(wide_fit *f, const pboost_coef *coef)
{
    aggregate_fit *bags = &f->bags;
    double *x = f->parameter, *given = f->newton.step;
    size_t first = f->options.intercept;
    bags->phi = bags->measured_phi = 1.0;
    pboost_working_start(bags);
    memset(bags->size, 0, bags->data.rows.n_bags * sizeof *bags->size);
    memset(x, 0, f->problem.n * sizeof *x);
    if (first > 0)
        x[0] = pboost_constant_intercept(&bags->data.rows, f->options.family, bags->start_mean);
    pboost_wide_move(f, x);
    pboost_refresh_dispersion(bags, 1.0);
    double constant = pboost_aggregate_misfit(bags), start = first > 0 ? x[0] : 0.0;
    if (coef == NULL || bags->mean_masked || bags->unpenalised ||
        pboost_is_zero(coef->theta, coef->n))
        return; /* NOLINT(clang-analyzer-unix.Malloc): x belongs to the fit */
    if (first > 0)
        given[0] = coef->intercept;
    pboost_wide_enter(given + first, &f->rows, coef);
    pboost_wide_move(f, given);
    if (pboost_aggregate_misfit(bags) < constant)
        return;
    memset(x, 0, f->problem.n * sizeof *x);
    if (first > 0)
        x[0] = start;
    pboost_wide_move(f, x);
}

void pboost_wide_refresh_sizes(wide_fit *f, size_t refreshes)
{
    pboost_quasi_refresh_sizes(&f->bags, refreshes);
    f->preconditioned = false;
    if (f->fold == NULL)
        return;
    for (size_t b = 0; b < f->bags.data.rows.n_bags; b++)
        if (f->fold[b] == f->left_out)
            f->bags.size[b] = 0.0; /* which counts for nothing */
    pboost_quasi_set_weights(&f->bags);
}

/* Whether the dispersion changes V.  Its refresh is left out of fits without some of the bags. */
static bool phi_matters(const wide_fit *f)
{
    return f->bags.noisy && f->options.family != PBOOST_LOGISTIC && f->fold == NULL;
}

pboost_status pboost_wide_fit_solve(wide_fit *f, pboost_fit_report *report, double tolerance,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    aggregate_fit *bags = &f->bags;
    wide_newton_report last = {0};
    double floor = 0.0, freedom;
    size_t most = f->options.max_iterations * STEPS_A_STEP, steps = 0, refreshes;
    bool converged = bags->mean_masked;

    for (refreshes = 1; !converged && steps < most && refreshes <= MOST_REFRESHES; refreshes++) {
        pboost_wide_refresh_sizes(f, refreshes);
        double value = value_of(f, bags->point.mean, f->parameter), phi = bags->phi;
        floor = refreshes == 1 ? bags->family->no_loss * value : floor;
        wide_newton_options goal = {.max_steps =
                                        most - steps < INNER_STEPS ? most - steps : INNER_STEPS,
                                    .tolerance = tolerance,
                                    .slack = INNER_SLACK,
                                    .floor = floor,
                                    .rounding = pboost_quasi_rounding(bags),
                                    .cancel = f->options.cancel};
        pboost_wide_newton(f->parameter, value, &last, &f->newton, &f->problem, &goal);
        TRY(pboost_cancel_check(f->options.cancel, err));
        steps += last.steps;
        if (phi_matters(f)) {
            TRY(pboost_wide_freedom(&freedom, f, err));
            pboost_refresh_dispersion(bags, freedom);
        }
        bool settled = fabs(bags->phi - phi) <= fmax(SETTLED, tolerance) * phi;
        bool near = refreshes >= ENOUGH_REFRESHES && 2.0 * last.first <= NEAR * NEAR * bags->phi;
        converged = near || (last.converged && last.steps == 0 && settled);
        if (last.stuck && last.steps > 0 && settled)
            break;
    }
    f->iterations += steps;
    *report = (pboost_fit_report){.first_dropped = SIZE_MAX,
                                  .converged = converged,
                                  .iterations = f->iterations,
                                  .objective = last.value,
                                  .gradient_norm = last.gradient_norm,
                                  .mean_masked = bags->mean_masked};
done:
    return st;
}

/* What the report says beyond the minimiser's part. */
static pboost_status complete(pboost_fit_report *report, wide_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double freedom = 1.0;
    levenberg_report last = {.value = report->objective, .gradient_norm = report->gradient_norm};
    if (!f->bags.mean_masked)
        TRY(pboost_wide_freedom(&freedom, f, err));
    pboost_refresh_dispersion(&f->bags, freedom);
    f->bags.lambda = f->l2;
    f->bags.lm.rank = f->problem.n;
    pboost_aggregate_report(report, &f->bags, &last);
done:
    return st;
}

pboost_status pboost_wide_aggregate_run(pboost_coef *coef, pboost_fit_report *report,
                                        const pboost_wide_features *features,
                                        const pboost_answers *answers, size_t first_bag,
                                        const pboost_fit_options *options, double near,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wide_fit fit = {0};

    TRY(pboost_wide_fit_init(&fit, features, answers, first_bag, options, err));
    pboost_wide_start(&fit, coef);
    if (options->l2.mode != PBOOST_L2_FIXED && !fit.bags.mean_masked)
        TRY(pboost_wide_choose_l2(&fit, near, err));
    TRY(pboost_wide_fit_solve(&fit, report, options->tolerance, err));
    TRY(complete(report, &fit, err));
    pboost_wide_leave(coef, &fit.rows, fit.parameter + options->intercept);
    coef->intercept = options->intercept ? fit.parameter[0] : 0.0;
done:
    pboost_wide_fit_free(&fit);
    if (st != PBOOST_OK)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    return st;
}

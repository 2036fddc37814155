/* The paper's theorems for a sweep of bag sizes, each beside a simulation of what it is about.
 *
 * The rows are fixed and the responses are drawn again in every simulation, as the theorems
 * condition on X.  Gaussian deviates come from the library's synthetic data with theta* = 0; a
 * uniform one is the normal distribution function of a Gaussian. */
#include "theory.h"

#include <math.h>

#include <priorboost/trainer.h>

#include "base/parallel.h"
#include "try.h"

enum { ROWS = 4096, SIMULATIONS = 200, X_STREAM = 2, FIRST_STREAM = 16 };

/* What all bag sizes share. */
typedef struct {
    const repro_settings *settings;
    size_t n, d;
    double sigma;
    uint64_t seed;
    double *theta, *x, *score, *mean; /* score: x theta*; mean: its sigmoid */
    pboost_matrix matrix;
    repro_theory *theory;
} table;

/* Mean and standard error of draws. */
typedef struct {
    double mean, squares;
    size_t n;
} tally;

static void tally_add(tally *t, double value)
{
    double step = value - t->mean;
    t->n++;
    t->mean += step / (double)t->n;
    t->squares += step * (value - t->mean);
}

static double tally_error(const tally *t)
{
    return sqrt(t->squares / (double)(t->n - 1) / (double)t->n);
}

/* n Gaussian deviates of standard deviation sd. */
static pboost_status gaussians(double *out, double *work, const table *t, double sd,
                               size_t simulation, pboost_error *err)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    const double zero = 0.0;

    s.features = 1;
    s.noise = sd;
    s.seed = t->seed;
    return pboost_synthetic_rows(work, out, &s, &zero, FIRST_STREAM + simulation, 0, t->n, 1, err);
}

/* Every row's value becomes the mean of its bag. */
static void average_bags(double *value, const pboost_bags *bags)
{
    for (size_t b = 0; b < bags->n_bags; b++) {
        double sum = 0.0;
        size_t first = bags->start[b], last = bags->start[b + 1];
        for (size_t i = first; i < last; i++)
            sum += value[bags->row[i]];
        for (size_t i = first; i < last; i++)
            value[bags->row[i]] = sum / (double)(last - first);
    }
}

/* ---- Linear ---------------------------------------------------------------------------------- */

static pboost_status simulate_risk(theory_risk *out, const table *t, const pboost_bags *bags,
                                   double *y, double *work, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_coef coef = {0};
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    pboost_samples samples = {.x = &t->matrix, .n = t->n, .target = y};
    tally error = {0};

    options.l2 = pboost_l2_fixed(0.0);
    options.intercept = false;
    TRY(pboost_coef_init(&coef, t->d, err));
    for (size_t i = 0; i < SIMULATIONS; i++) {
        TRY(gaussians(y, work, t, t->sigma, i, err));
        for (size_t row = 0; row < t->n; row++)
            y[row] += t->score[row];
        average_bags(y, bags);
        TRY(pboost_event_fit(&coef, NULL, &samples, &options, err));
        double square = 0.0;
        for (size_t j = 0; j < t->d; j++)
            square += (coef.theta[j] - t->theta[j]) * (coef.theta[j] - t->theta[j]);
        tally_add(&error, square);
    }
    out->simulated = error.mean;
    out->simulated_error = tally_error(&error);
done:
    pboost_coef_free(&coef);
    return st;
}

static pboost_status fill_risk(theory_risk *out, const table *t, const pboost_bags *bags, double *y,
                               double *work, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double sigma2 = t->sigma * t->sigma;

    TRY(pboost_risk_linear(&out->risk, &t->matrix, bags, t->theta, sigma2, err));
    TRY(pboost_risk_linear_bound(&out->bound, &t->matrix, bags, t->theta, sigma2, err));
    TRY(simulate_risk(out, t, bags, y, work, err));
done:
    return st;
}

/* ---- Logistic -------------------------------------------------------------------------------- */

/* |(1/n) X'(mu - S'S y)|^2 */
static double gradient_square(const table *t, const double *y)
{
    double square = 0.0;
    for (size_t j = 0; j < t->d; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < t->n; i++)
            sum += t->x[i * t->d + j] * (t->mean[i] - y[i]);
        square += sum * sum;
    }
    return square / (double)t->n / (double)t->n;
}

static pboost_status simulate_gradient(theory_row *out, const table *t, const pboost_bags *bags,
                                       double *y, double *work, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    tally square = {0};

    for (size_t i = 0; i < SIMULATIONS; i++) {
        TRY(gaussians(y, work, t, 1.0, i, err));
        for (size_t row = 0; row < t->n; row++) /* y = 1 where a uniform deviate is below mu */
            y[row] = 0.5 * erfc(-y[row] / sqrt(2.0)) < t->mean[row];
        average_bags(y, bags);
        tally_add(&square, gradient_square(t, y));
    }
    out->gradient_simulated = square.mean;
    out->gradient_error = tally_error(&square);
done:
    return st;
}

/* ---- The sweep ------------------------------------------------------------------------------- */

static pboost_status fill_row(void *context, size_t i, int worker, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const table *t = context;
    theory_row *row = &t->theory->row[i];
    pboost_bags curated = {0}, random = {0};
    double *y = NULL, *work = NULL;

    (void)worker;
    NEED(y = pboost_alloc(t->n, sizeof *y), err);
    NEED(work = pboost_alloc(t->n, sizeof *work), err);
    TRY(pboost_bags_optimal(&curated, t->score, t->n, row->min_bag, 1, err));
    TRY(pboost_bags_random(&random, t->n, row->min_bag, repro_mix(t->seed, 5, row->min_bag), err));
    TRY(fill_risk(&row->curated, t, &curated, y, work, err));
    TRY(fill_risk(&row->random, t, &random, y, work, err));
    row->lower_bound = pboost_random_bags_bound(row->min_bag, t->theta, t->d);
    TRY(pboost_bags_mismatch(&row->mismatch, &curated, &random, err));
    TRY(pboost_gradient_norm(&row->gradient, PBOOST_LOGISTIC, &t->matrix, &curated, t->theta, 1.0,
                             err));
    TRY(pboost_gradient_bound(&row->gradient_bound, PBOOST_LOGISTIC, &t->matrix, &curated, t->theta,
                              1.0, err));
    TRY(pboost_variance_ratio(&row->variance, PBOOST_LOGISTIC, &t->matrix, &curated, t->theta,
                              err));
    TRY(simulate_gradient(row, t, &curated, y, work, err));
done:
    pboost_bags_free(&curated);
    pboost_bags_free(&random);
    free(y);
    free(work);
    return st;
}

static pboost_status make_table(table *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;

    s.features = t->d;
    s.noise = 0.0;
    s.seed = t->seed;
    NEED(t->theta = pboost_alloc(t->d, sizeof *t->theta), err);
    NEED(t->x = pboost_alloc(t->n * t->d, sizeof *t->x), err);
    NEED(t->score = pboost_alloc(t->n, sizeof *t->score), err);
    NEED(t->mean = pboost_alloc(t->n, sizeof *t->mean), err);
    TRY(pboost_synthetic_theta(t->theta, &s, err));
    TRY(pboost_synthetic_rows(t->x, t->score, &s, t->theta, X_STREAM, 0, t->n, 1, err));
    for (size_t i = 0; i < t->n; i++)
        t->mean[i] = 1.0 / (1.0 + exp(-t->score[i]));
    t->matrix = pboost_matrix_f64(t->x, t->n, t->d);
done:
    return st;
}

pboost_status repro_theory_make(repro_theory *out, const repro_settings *settings,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const experiment_setup *setup = &settings->setup[EXPERIMENT_LINEAR];
    table t = {.settings = settings,
               .n = ROWS,
               .d = setup->features,
               .sigma = setup->noise,
               .seed = repro_realization_seed(settings, 0),
               .theory = out};

    *out = (repro_theory){.rows = ROWS,
                          .features = setup->features,
                          .simulations = SIMULATIONS,
                          .n = setup->n_bags,
                          .noise = setup->noise};
    NEED(out->row = calloc(out->n, sizeof *out->row), err);
    for (size_t i = 0; i < out->n; i++)
        out->row[i].min_bag = setup->min_bag[i];
    TRY(make_table(&t, err));
    for (size_t j = 0; j < t.d; j++)
        out->norm2 += t.theta[j] * t.theta[j];
    TRY(pboost_parallel_try(out->n, settings->threads, fill_row, &t, err));
done:
    free(t.theta);
    free(t.x);
    free(t.score);
    free(t.mean);
    if (st != PBOOST_OK)
        repro_theory_free(out);
    return st;
}

void repro_theory_free(repro_theory *theory)
{
    free(theory->row);
    *theory = (repro_theory){0};
}

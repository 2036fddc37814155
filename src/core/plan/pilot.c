/* Estimates the labels' dispersion and the model's error from the answers of the first round.
 *
 * The residual of a bag has variance phi a_B + c_B + e, with e the model's error, which does not
 * shrink with the bag.  Neighbours in the order of the bags are neighbours in the tree, so m of
 * them merged are like a bag of m times the size, with variance phi a_B / m + c_B / m + e. Bags and
 * groups of four give phi, groups of 4 and 16 give e, weighted by their precision.
 *
 * Under noise a small round can hardly distinguish e from 0.  If the estimate were taken as exact,
 * the bag size would depend on chance.  So the estimate is combined with the usual value (some per
 * cent of the variance of the means), weighted by its standard error. */
#include <math.h>

#include "fit/aggregate/aggregate.h"
#include "plan/plan.h"
#include "try.h"

#define MERGED 4
#define MOST_MERGED                                                                                \
    16 /* larger groups average out errors that bags of a possible size would still have */
#define LEAST_GROUPS 8

typedef struct {
    double variance, noise, square; /* means of a_B, c_B and squared residuals */
    double error;                   /* standard error of `square` */
} residuals;

/* Of groups of `size` bags that follow each other. */
static residuals measure(const bag_data *data, const bag_moments *m, size_t size)
{
    residuals r = {0};
    size_t n = data->rows.n_bags / size;
    double fourth = 0.0;
    for (size_t g = 0; g < n; g++) {
        double sum = 0.0;
        for (size_t b = g * size; b < (g + 1) * size; b++) {
            double part = 1.0 / (double)size;
            sum += (data->answer[b] - m->mean[b]) * part;
            r.variance += m->variance[b] * part * part / (double)n;
            r.noise += data->noise[b] * part * part / (double)n;
        }
        r.square += sum * sum / (double)n;
        fourth += sum * sum * sum * sum / (double)n;
    }
    r.error = sqrt(fmax(fourth - r.square * r.square, 0.0) / (double)n);
    return r;
}

/* Of the bags' means: no more than their predictions or their answers less the noise allow. */
static double variance_of_means(const bag_data *data, const bag_moments *m)
{
    size_t n = data->rows.n_bags;
    double mean = 0.0, square = 0.0, answer = 0.0, answers = 0.0, noise = 0.0;
    for (size_t b = 0; b < n; b++) {
        mean += m->mean[b] / (double)n;
        answer += data->answer[b] / (double)n;
        noise += data->noise[b] / (double)n;
    }
    for (size_t b = 0; b < n; b++) {
        square += (m->mean[b] - mean) * (m->mean[b] - mean) / (double)n;
        answers += (data->answer[b] - answer) * (data->answer[b] - answer) / (double)n;
    }
    return fmin(square, fmax(answers - noise, 0.0));
}

/* e as an average weighted by precision: the usual value, with an error as large as itself, and the
 * estimates from groups of every size. */
static double learn_error(const bag_data *data, const bag_moments *m, double phi)
{
    size_t n = data->rows.n_bags;
    double usual = fmax(PLAN_MODEL_ERROR * variance_of_means(data, m), 1e-12);
    double precision = 1.0 / (usual * usual), sum = precision * usual;
    for (size_t size = MERGED; size == MERGED || (size <= MOST_MERGED && n / size >= LEAST_GROUPS);
         size *= MERGED) {
        residuals r = measure(data, m, size);
        size_t whole = n / size;
        double expected = phi * r.variance + r.noise, groups = (double)whole;
        /* A few groups may be similar by chance: their spread is at least that of a normal. */
        double error = fmax(r.error, expected * sqrt(2.0 / groups));
        double weight = error > 0.0 ? 1.0 / (error * error) : 0.0;
        precision += weight;
        sum += weight * (r.square - expected);
    }
    return fmax(sum / precision, 0.0);
}

/* The assumed dispersion, with an error as large as itself, combined with the measured one; if
 * nothing was assumed, at least its own error. */
static double weigh(double assumed, double measured, double error)
{
    if (isnan(assumed))
        return fmax(measured, error);
    if (!(error > 0.0))
        return measured > 0.0 ? measured : assumed;
    double prior = 1.0 / (assumed * assumed), precision = 1.0 / (error * error);
    double mean = (prior * assumed + precision * measured) / (prior + precision);
    return fmax(mean, fmin(error, 0.1 * assumed));
}

pboost_status pboost_assumptions_learn(pboost_assumptions *assumed, pboost_family family,
                                       const pboost_features *features,
                                       const pboost_answers *answers, const pboost_coef *coef,
                                       int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *parameter = NULL;
    bag_pass pass = {0};
    bag_moments moments = {0};
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    pboost_features unweighted = {features->x, NULL, features->offset};

    if (answers->n_bags < 2 * MERGED)
        FAIL(err, PBOOST_BAD_DATA, "there are %zu answers; at least %d are needed to learn from",
             answers->n_bags, 2 * MERGED);
    bag_data data = pboost_bag_data(&unweighted, answers, 0);
    options.family = family;
    options.threads = threads;
    TRY(pboost_bag_data_check(coef, &data, answers, &options, err));
    TRY(pboost_bagpass_init(&pass, &data.rows, family, true, NULL, threads, err));
    TRY(pboost_bag_moments_init(&moments, &pass, err));
    NEED(parameter = pboost_alloc(pass.n_parameters, sizeof *parameter), err);
    parameter[0] = coef->intercept;
    for (size_t j = 0; j < coef->n; j++)
        parameter[j + 1] = coef->theta[j];
    pboost_bagpass_run(&moments, &pass, parameter);
    residuals one = measure(&data, &moments, 1), four = measure(&data, &moments, MERGED);

    double lost =
        (double)data.rows.n_bags / fmax(1.0, (double)data.rows.n_bags - (double)coef->n - 1.0);
    double single = one.square * lost - one.noise, merged = four.square - four.noise;
    double shrunk = one.variance - four.variance, dispersion = assumed->dispersion;
    if (family == PBOOST_LOGISTIC)
        dispersion = 1.0;
    else if (shrunk > 0.0) /* where all variances are 0 nothing is measured */
        dispersion =
            weigh(dispersion, (single - merged) / shrunk, hypot(one.error, four.error) / shrunk);
    if (family == PBOOST_POISSON)
        dispersion = fmax(dispersion, 1.0);
    double model_error = learn_error(&data, &moments, dispersion);
    if (!isfinite(one.square) || !isfinite(dispersion) || !isfinite(model_error))
        FAIL(err, PBOOST_BAD_DATA,
             "nothing can be learnt from the answers: the model's predictions overflow (the mean "
             "squared residual of its bags is %g)",
             one.square);
    assumed->dispersion = dispersion;
    assumed->model_error = model_error;
done:
    free(parameter);
    pboost_bagpass_free(&pass);
    pboost_bag_moments_free(&moments);
    return st;
}

/* What a first round of answers says about the labels' dispersion and about the model's error.
 *
 * The residual of a bag has variance phi a_B + c_B + e, with e the model's error, which does not
 * shrink with the bag.  Neighbours in the order of the bags are neighbours in the tree, so four of
 * them merged stand for a bag of four times the size: there it is phi a_B / 4 + c_B / 4 + e.  Two
 * equations for two unknowns.  Neither estimate is trusted below its own standard error, which is
 * what keeps a plan from enlarging bags because noise hid what larger bags would lose. */
#include <math.h>

#include "aggregate.h"
#include "try.h"

#define MERGED 4

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

pboost_status pboost_belief_learn(pboost_belief *belief, pboost_family family,
                                  const pboost_matrix *x, const double *offset,
                                  const pboost_answers *answers, const pboost_coef *coef,
                                  int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *parameter = NULL;
    bag_pass pass = {0};
    bag_moments moments = {0};

    if (answers->n_bags < 2 * MERGED)
        FAIL(err, PBOOST_BAD_DATA, "there are %zu answers; at least %d are needed to learn from",
             answers->n_bags, 2 * MERGED);
    bag_data data = pboost_bag_data(x, NULL, offset, answers, 0);
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
    double phi = (single - merged) / (one.variance - four.variance);
    double least = one.error / one.variance;
    belief->dispersion = family == PBOOST_LOGISTIC ? 1.0 : fmax(phi, least);
    if (family == PBOOST_POISSON)
        belief->dispersion = fmax(belief->dispersion, 1.0);
    double error = merged - belief->dispersion * four.variance;
    belief->model_error = fmax(error, 0.0);
done:
    free(parameter);
    pboost_bagpass_free(&pass);
    pboost_bag_moments_free(&moments);
    return st;
}

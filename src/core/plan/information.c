/* The information that answers about bags will have. */
#include <math.h>

#include <priorboost/plan.h>

#include "base/options.h"
#include "data/answer_error.h"
#include "data/answers.h"
#include "passes/bag_pass.h"
#include "try.h"

pboost_status pboost_information(double *information, pboost_family family,
                                 const pboost_samples *samples, const pboost_bags *bags,
                                 const pboost_rules *rules, const pboost_coef *coef,
                                 double dispersion, bool intercept, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *weight = NULL, *parameter = NULL, *gram = NULL;
    bag_pass pass = {0};
    bag_moments moments = {0};
    pboost_rules checked = PBOOST_RULES_INIT;

    TRY(pboost_family_check(family, err));
    TRY(pboost_samples_check(samples, false, err));
    TRY(pboost_bags_check(bags, samples->x->rows, 1, err));
    if (bags->n_bags == 0)
        FAIL(err, PBOOST_INVALID, "there are no bags; at least 1 is needed");
    TRY(OPTIONS_READ(&checked, rules, PBOOST_RULES_INIT, err));
    TRY(pboost_rules_check(&checked, err));
    TRY(pboost_rules_check_scalar(&checked, "the information of bags", err));
    if (!(dispersion > 0.0) || isinf(dispersion))
        FAIL(err, PBOOST_INVALID, "dispersion is %g; it must be positive and finite", dispersion);
    if (coef->n != samples->x->cols)
        FAIL(err, PBOOST_INVALID, "there are %zu weights for %zu columns", coef->n,
             samples->x->cols);
    bag_rows rows = {.x = samples->x,
                     .weight = samples->weight,
                     .offset = samples->offset,
                     .n_bags = bags->n_bags,
                     .start = bags->start,
                     .row = bags->row};
    TRY(pboost_bagpass_init(&pass, &rows, family, intercept, NULL, threads, err));
    TRY(pboost_bag_moments_init(&moments, &pass, err));
    size_t m = pass.n_parameters, d = coef->n;
    NEED(weight = pboost_alloc(bags->n_bags, sizeof *weight), err);
    NEED(parameter = pboost_alloc(m, sizeof *parameter), err);
    NEED(gram = pboost_alloc(m * m, sizeof *gram), err);
    parameter[0] = coef->intercept;
    for (size_t j = 0; j < d; j++)
        parameter[intercept + j] = coef->theta[j];
    pboost_bagpass_run(&moments, &pass, parameter);
    for (size_t b = 0; b < bags->n_bags; b++) {
        size_t size = bags->start[b + 1] - bags->start[b];
        answer_error error = {dispersion * moments.variance[b],
                              pboost_rules_noise_variance(&checked, size),
                              checked.mechanism == PBOOST_LAPLACE};
        double v = pboost_working_variance(error);
        weight[b] = v > 0.0 ? 1.0 / v : 0.0;
    }
    pboost_bagpass_gram(gram, NULL, &pass, &moments, weight, NULL);
    for (size_t i = 0; i < (d + 1) * (d + 1); i++)
        information[i] = 0.0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j <= i; j++) {
            /* the intercept moves from the front to the end */
            size_t to_i = intercept ? (i + d) % (d + 1) : i,
                   to_j = intercept ? (j + d) % (d + 1) : j;
            information[to_i * (d + 1) + to_j] = information[to_j * (d + 1) + to_i] =
                gram[i * m + j];
        }
done:
    pboost_bagpass_free(&pass);
    pboost_bag_moments_free(&moments);
    free(weight);
    free(parameter);
    free(gram);
    return st;
}

/* Boosted trees for classes: a forest for each class against all others, from its proportions in
 * the bags; the probabilities that they give are divided by their sum.
 *
 * A forest of one class is that of a logistic model, so it is unbiased for any bags, allows for the
 * noise of its count and stops where bags left out say so.  Each errs on its own; dividing by the
 * sum takes back the part of the error that makes the probabilities of a row not sum to 1. */
#include <math.h>
#include <string.h>

#include <priorboost/classes.h>

#include "base/options.h"
#include "base/system.h"
#include "classes/fit.h"
#include "data/answers.h"
#include "try.h"

static void divide_by_sum(double *probability, size_t n)
{
    double sum = 0.0;
    for (size_t c = 0; c < n; c++)
        sum += probability[c];
    for (size_t c = 0; c < n; c++)
        probability[c] = sum > 0.0 ? probability[c] / sum : 1.0 / (double)n;
}

/* Where trees are worse than a constant, the member is constant. */
static pboost_status fit_class(pboost_member *out, pboost_forest_report *report, double *left_out,
                               const pboost_columns *columns, size_t cols, const double *weight,
                               const pboost_answers *answers, size_t first_bag, size_t class,
                               const pboost_forest_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_answers *own = NULL;
    size_t n = pboost_answers_width(answers), bags = answers->n_bags - first_bag;
    double *mean = NULL;

    TRY(pboost_answers_number(&own, answers, class, err));
    TRY(pboost_coef_init(&out->coef, cols, err));
    NEED(mean = calloc(bags + 1, sizeof *mean), err);
    TRY(pboost_forest_fit(&out->forest, &out->coef.intercept, report, mean, columns, NULL, weight,
                          own, first_bag, options, err));
    if (report->worse_than_constant)
        pboost_forest_free(&out->forest);
    for (size_t b = 0; left_out != NULL && b < bags; b++)
        left_out[b * n + class] =
            report->worse_than_constant ? 1.0 / (1.0 + exp(-out->coef.intercept)) : mean[b];
    out->kind = out->forest.n_trees > 0 ? PBOOST_MEMBER_TREES : PBOOST_MEMBER_CONSTANT;
done:
    pboost_answers_free(own);
    free(mean);
    return st;
}

pboost_status pboost_class_forests(pboost_mixture *out, pboost_forest_report *report,
                                   double *left_out, const pboost_columns *columns, size_t cols,
                                   const double *weight, const pboost_answers *answers,
                                   size_t first_bag, const pboost_forest_options *options,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    size_t n = pboost_answers_width(answers);

    *out = (pboost_mixture){0};
    TRY(OPTIONS_READ(&o, options, PBOOST_FOREST_OPTIONS_INIT, err));
    o.family = PBOOST_LOGISTIC;
    if (n < 3 || n > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_INVALID, "the answers have %zu numbers a bag; classes are 3 to %d", n,
             PBOOST_MAX_CLASSES);
    NEED(out->member = calloc(n, sizeof *out->member), err);
    for (; out->n < n; out->n++) {
        out->member[out->n].weight = 1.0 / (double)n;
        TRY(fit_class(&out->member[out->n], &report[out->n], left_out, columns, cols, weight,
                      answers, first_bag, out->n, &o, err));
    }
    for (size_t b = 0; left_out != NULL && b < answers->n_bags - first_bag; b++)
        divide_by_sum(left_out + b * n, n);
done:
    if (st != PBOOST_OK && out->member != NULL) {
        out->n += out->n < n; /* the one that failed may hold something */
        pboost_mixture_free(out);
    }
    return st;
}

pboost_status pboost_classes_fit_trees(pboost_mixture *out, pboost_forest_report *report,
                                       const pboost_columns *columns, size_t cols,
                                       const double *weight, const pboost_answers *answers,
                                       size_t first_bag, const pboost_forest_options *options,
                                       pboost_error *err)
{
    return pboost_class_forests(out, report, NULL, columns, cols, weight, answers, first_bag,
                                options, err);
}

pboost_status pboost_classes_predict_trees(double *probability, const pboost_mixture *classes,
                                           const pboost_columns *columns, const size_t *row,
                                           size_t n, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *eta = NULL;

    NEED(eta = pboost_alloc(n, sizeof *eta), err);
    for (size_t c = 0; c < classes->n; c++) {
        const pboost_member *member = &classes->member[c];
        for (size_t i = 0; i < n; i++)
            eta[i] = member->coef.intercept;
        TRY(pboost_forest_add(eta, &member->forest, columns, row, n, threads, err));
        for (size_t i = 0; i < n; i++)
            probability[i * classes->n + c] = 1.0 / (1.0 + exp(-eta[i]));
    }
    for (size_t i = 0; i < n; i++)
        divide_by_sum(probability + i * classes->n, classes->n);
done:
    free(eta);
    return st;
}

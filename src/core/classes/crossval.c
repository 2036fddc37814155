/* The ridge of classes by cross-validation over bags: as fit/aggregate/crossval.c for one number.
 *
 * What counts is the log likelihood of the answers of bags left out.  It takes the number of rows
 * for the size of a bag, the same for all candidates: with its own sizes a candidate could look
 * better by small ones. */
#include <math.h>

#include "classes/fit.h"
#include "data/answers.h"
#include "fit/aggregate/aggregate.h"
#include "fit/estimator.h"
#include "try.h"

#define CANDIDATES 11
#define MOST 100.0               /* times the usual lambda */
#define STEP 0.31622776601683794 /* ten to the minus a half */
#define LEAST_MEAN 1e-9          /* of a class that a candidate thinks impossible */

/* *sum += the log likelihood of the answers under coef. */
static pboost_status add_likelihood(double *sum, const pboost_features *features,
                                    const pboost_answers *held, const pboost_class_coef *coef,
                                    int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = coef->classes;
    pboost_samples rows = {.x = &features->x, .row = held->row, .n = held->n_rows};
    double *p = NULL;

    NEED(p = pboost_alloc(rows.n * n, sizeof *p), err);
    TRY(pboost_classes_predict(p, &rows, coef, threads, err));
    for (size_t b = 0; b < held->n_bags; b++)
        for (size_t c = 0; c < n; c++) {
            double size = (double)(held->start[b + 1] - held->start[b]), mean = 0.0;
            double blur = size * held->noise_variance[b * n + c] + LEAST_MEAN;
            for (size_t i = held->start[b]; i < held->start[b + 1]; i++)
                mean += p[i * n + c] / size;
            *sum += size * (held->mean[b * n + c] + blur) * log(mean + blur);
        }
done:
    free(p);
    return st;
}

/* One fold: all candidates, from the largest lambda down, each starting from the one before. */
static pboost_status run_fold(double *likelihood, const double *multiple, size_t classes,
                              const pboost_features *features, const pboost_answers *rest,
                              const pboost_answers *held, const pboost_fit_options *options,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_class_coef coef = {0};

    TRY(pboost_class_coef_init(&coef, classes, features->x.cols, err));
    for (size_t c = 0; c < CANDIDATES; c++) {
        TRY(pboost_class_fit_multiple(&coef, NULL, NULL, features, rest, 0, options, multiple[c],
                                      err));
        TRY(add_likelihood(&likelihood[c], features, held, &coef, options->threads, err));
    }
done:
    pboost_class_coef_free(&coef);
    return st;
}

pboost_status pboost_class_choose_l2(double *multiple, size_t classes,
                                     const pboost_features *features, const pboost_answers *answers,
                                     size_t first_bag, const pboost_fit_options *options,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = answers->n_bags - first_bag, best = 0;
    unsigned char *fold = NULL;
    double candidate[CANDIDATES] = {MOST}, likelihood[CANDIDATES] = {0};
    pboost_answers rest = {0}, held = {0};

    if (n < 2 * CROSSVAL_FOLDS)
        FAIL(err, PBOOST_BAD_DATA,
             "cross-validation over bags needs at least %d of them; there are %zu",
             2 * CROSSVAL_FOLDS, n);
    NEED(fold = pboost_alloc(n, 1), err);
    pboost_crossval_folds(fold, n, CROSSVAL_FOLDS, options->seed);
    for (size_t c = 1; c < CANDIDATES; c++)
        candidate[c] = candidate[c - 1] * STEP;
    for (unsigned char f = 0; f < CROSSVAL_FOLDS; f++) {
        TRY(pboost_fold_bags(&rest, answers, first_bag, fold, f, false, err));
        TRY(pboost_fold_bags(&held, answers, first_bag, fold, f, true, err));
        TRY(run_fold(likelihood, candidate, classes, features, &rest, &held, options, err));
        pboost_answers_clear(&rest);
        pboost_answers_clear(&held);
    }
    for (size_t c = 1; c < CANDIDATES; c++)
        if (likelihood[c] > likelihood[best])
            best = c;
    *multiple = candidate[best];
done:
    pboost_answers_clear(&rest);
    pboost_answers_clear(&held);
    free(fold);
    return st;
}

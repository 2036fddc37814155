/* The estimator by cross-validation over bags.
 *
 * Nothing new is asked, and a bag that was not used in a fit shows how well the fit predicts the
 * mean of other rows.  Every estimator is fitted without each fold in turn; the one with the least
 * sum of r^2 / V over the bags left out fits them all.  V is that of an aggregate fit to all bags,
 * the same for all estimators.  An estimator that has no solution for some fold is not chosen. */
#include <math.h>

#include "fit/aggregate/aggregate.h"
#include "fit/estimator.h"
#include "try.h"

static const pboost_estimator CANDIDATES[] = {PBOOST_AGGREGATE, PBOOST_EVENT, PBOOST_INTERPOLATED};
#define N_CANDIDATES (sizeof CANDIDATES / sizeof *CANDIDATES)

pboost_status pboost_fold_bags(pboost_answers *out, const pboost_answers *all, size_t first_bag,
                               const unsigned char *fold, unsigned char which, bool inside,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = pboost_answers_width(all);
    for (size_t b = first_bag; b < all->n_bags; b++) {
        size_t start[] = {0, all->start[b + 1] - all->start[b]};
        pboost_bags one = {start[1], 1, all->row + all->start[b], start};
        if ((fold[b - first_bag] == which) == inside)
            TRY(pboost_answers_append_vectors(out, &one, width, &all->mean[b * width],
                                              &all->noise_variance[b * width], err));
    }
    out->other_noise = all->other_noise;
done:
    return st;
}

/* *sum += sum of (answer - mu_B)^2 / (phi a_B + c_B), the variances at `at`, the means at `coef`.
 */
static pboost_status add_misfit(double *sum, const fit_task *task, const pboost_answers *held,
                                const pboost_coef *coef, const pboost_coef *at, double phi,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    fit_explained mean = {0}, variance = {0};
    fit_task part = *task;

    part.answers = held;
    part.first_bag = 0;
    TRY(pboost_fit_explain(&mean, &part, held->n_bags, coef, err));
    TRY(pboost_fit_explain(&variance, &part, held->n_bags, at, err));
    for (size_t b = 0; b < held->n_bags; b++) {
        double r = held->mean[b] - mean.at.mean[b];
        double v = phi * variance.at.variance[b] + held->noise_variance[b];
        *sum += isinf(v) ? 0.0 : r * r / fmax(v, 1e-300);
    }
done:
    pboost_fit_explained_free(&mean);
    pboost_fit_explained_free(&variance);
    return st;
}

/* One fold: every candidate is fitted to the other folds and tested on it. */
static pboost_status run_fold(double *misfit, const fit_task *task, const unsigned char *fold,
                              unsigned char which, const pboost_coef *at, double phi,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_answers rest = {0}, held = {0};
    pboost_coef coef = {0};
    TRY(pboost_fold_bags(&rest, task->answers, task->first_bag, fold, which, false, err));
    TRY(pboost_fold_bags(&held, task->answers, task->first_bag, fold, which, true, err));
    for (size_t c = 0; c < N_CANDIDATES; c++) {
        pboost_fit_options o = *task->options;
        fit_task part = *task;
        o.estimator = CANDIDATES[c];
        part.answers = &rest;
        part.first_bag = 0;
        part.options = &o;
        part.work = NULL; /* parts are smaller than what a round keeps */
        if (o.estimator == PBOOST_INTERPOLATED && task->features->weight != NULL)
            misfit[c] = INFINITY; /* it takes none */
        if (isinf(misfit[c]))
            continue;
        pboost_coef_free(&coef);
        TRY(pboost_coef_init(&coef, task->features->x.cols, err));
        st = pboost_estimator_fit(&coef, NULL, NULL, &part, err);
        if (st == PBOOST_BAD_DATA) {
            misfit[c] = INFINITY;
            st = PBOOST_OK;
            continue;
        }
        TRY(st);
        TRY(add_misfit(&misfit[c], task, &held, &coef, at, phi, err));
    }
done:
    pboost_coef_free(&coef);
    pboost_answers_clear(&rest);
    pboost_answers_clear(&held);
    return st;
}

pboost_status pboost_estimator_choose(pboost_estimator *out, const fit_task *task,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = task->answers->n_bags - task->first_bag, best = 0;
    unsigned char *fold = NULL;
    pboost_coef at = {0};
    pboost_fit_report report;
    pboost_fit_options o = *task->options;
    fit_task reference = *task;
    double misfit[N_CANDIDATES] = {0};

    *out = PBOOST_AGGREGATE;
    o.estimator = PBOOST_AGGREGATE;
    reference.options = &o;
    reference.work = NULL;
    TRY(pboost_coef_init(&at, task->features->x.cols, err));
    TRY(pboost_estimator_fit(&at, &report, NULL, &reference, err));
    if (n < 2 * CROSSVAL_FOLDS || report.mean_masked) /* too few bags to compare */
        goto done;
    NEED(fold = pboost_alloc(n, 1), err);
    pboost_crossval_folds(fold, n, CROSSVAL_FOLDS, task->options->seed);
    for (unsigned char f = 0; f < CROSSVAL_FOLDS; f++)
        TRY(run_fold(misfit, task, fold, f, &at, report.dispersion, err));
    for (size_t c = 1; c < N_CANDIDATES; c++)
        if (misfit[c] < misfit[best])
            best = c;
    *out = CANDIDATES[best];
done:
    free(fold);
    pboost_coef_free(&at);
    return st;
}

/* Lambda by cross-validation over bags: nothing new is asked, and a bag that was not used in a fit
 * shows how well the fit predicts.
 *
 * Bags fall into folds by a seeded draw.  Every multiple of the default lambda is fitted without
 * each fold in turn; what counts is the sum of r^2 / V over the bags left out.  V is that of one
 * reference fit on all bags, the same for all candidates: with its own V a candidate could reach a
 * small criterion by large variances. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "fit/aggregate/aggregate.h"
#include "try.h"

#define CANDIDATES 11
#define STEP 0.31622776601683794 /* ten to the minus a half */

/* The bags that belong to a fold, or those that do not, as data of their own. */
typedef struct {
    bag_data data;
    size_t *start, *row;
    double *answer, *noise;
    size_t *bag; /* which they are */
} bag_subset;

static void subset_free(bag_subset *s)
{
    free(s->start);
    free(s->row);
    free(s->answer);
    free(s->noise);
    free(s->bag);
    *s = (bag_subset){0};
}

static pboost_status subset_init(bag_subset *out, const bag_data *all, const unsigned char *fold,
                                 unsigned char which, bool inside, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = all->rows.n_bags, rows = all->rows.start[n] - all->rows.start[0], m = 0, at = 0;
    *out = (bag_subset){.data = *all};
    NEED(out->start = pboost_alloc(n + 1, sizeof *out->start), err);
    NEED(out->row = pboost_alloc(rows, sizeof *out->row), err);
    NEED(out->answer = pboost_alloc(n, sizeof *out->answer), err);
    NEED(out->noise = pboost_alloc(n, sizeof *out->noise), err);
    NEED(out->bag = pboost_alloc(n, sizeof *out->bag), err);
    out->start[0] = 0;
    for (size_t b = 0; b < n; b++) {
        if ((fold[b] == which) != inside)
            continue;
        size_t size = all->rows.start[b + 1] - all->rows.start[b];
        memcpy(out->row + at, all->rows.row + all->rows.start[b], size * sizeof *out->row);
        out->answer[m] = all->answer[b];
        out->noise[m] = all->noise[b];
        out->bag[m] = b;
        at += size;
        out->start[++m] = at;
    }
    out->data.rows.n_bags = m;
    out->data.rows.start = out->start;
    out->data.rows.row = out->row;
    out->data.answer = out->answer;
    out->data.noise = out->noise;
done:
    if (st != PBOOST_OK)
        subset_free(out);
    return st;
}

/* Adds sum r^2 / V over the bags of `held` under the parameters of `fit`. */
static pboost_status add_criterion(double *sum, const aggregate_fit *fit, const bag_subset *held,
                                   const double *weight, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_pass pass = {0};
    bag_moments moments = {0};
    TRY(pboost_bagpass_init(&pass, &held->data.rows, fit->options->family, fit->options->intercept,
                            &fit->units.units, fit->options->threads, err));
    TRY(pboost_bag_moments_init(&moments, &pass, err));
    pboost_bagpass_run(&moments, &pass, fit->parameter);
    for (size_t b = 0; b < held->data.rows.n_bags; b++) {
        double r = held->answer[b] - moments.mean[b], w = weight[held->bag[b]];
        *sum += w > 0.0 ? w * r * r : 0.0;
    }
done:
    pboost_bagpass_free(&pass);
    pboost_bag_moments_free(&moments);
    return st;
}

/* One fold: all candidates, from the largest lambda down, each starting from the one before. */
static pboost_status run_fold(double *criterion, const double *multiple, const bag_data *all,
                              const unsigned char *fold, unsigned char which, const double *weight,
                              const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bag_subset rest = {0}, held = {0};
    aggregate_fit fit = {0};
    pboost_coef start = {0};
    pboost_fit_report report;
    TRY(subset_init(&rest, all, fold, which, false, err));
    TRY(subset_init(&held, all, fold, which, true, err));
    TRY(pboost_aggregate_init(&fit, &rest.data, options, err));
    TRY(pboost_coef_init(&start, all->rows.x->cols, err));
    for (size_t c = 0; c < CANDIDATES; c++) {
        fit.multiple = multiple[c];
        TRY(pboost_aggregate_solve(&fit, &report, &start, err));
        pboost_units_leave(&start, &fit.units, fit.parameter, options->intercept);
        TRY(add_criterion(&criterion[c], &fit, &held, weight, err));
    }
done:
    pboost_coef_free(&start);
    pboost_aggregate_free(&fit);
    subset_free(&rest);
    subset_free(&held);
    return st;
}

/* Folds of equal size: bags in the order of a random key take them in turn. */
void pboost_crossval_folds(unsigned char *fold, size_t n, size_t folds, uint64_t seed)
{
    for (size_t b = 0; b < n; b++)
        fold[b] = (unsigned char)(b % folds);
    for (size_t b = n; b-- > 1;) {
        size_t other = (size_t)(pboost_rng_key(seed, RNG_SHUFFLE, 2, b) % (b + 1));
        unsigned char swap = fold[b];
        fold[b] = fold[other];
        fold[other] = swap;
    }
}

pboost_status pboost_aggregate_choose_l2(aggregate_fit *fit, const pboost_coef *coef,
                                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = fit->data.rows.n_bags, best = 0;
    unsigned char *fold = NULL;
    double multiple[CANDIDATES], criterion[CANDIDATES] = {0};
    pboost_fit_report reference;

    if (n < 2 * CROSSVAL_FOLDS)
        FAIL(err, PBOOST_BAD_DATA,
             "cross-validation over bags needs at least %d of them; there are %zu",
             2 * CROSSVAL_FOLDS, n);
    NEED(fold = pboost_alloc(n, 1), err);
    pboost_crossval_folds(fold, n, CROSSVAL_FOLDS, fit->options->seed);
    fit->multiple = 1.0;
    TRY(pboost_aggregate_solve(fit, &reference, coef, err));
    multiple[0] = 100.0;
    for (size_t c = 1; c < CANDIDATES; c++)
        multiple[c] = multiple[c - 1] * STEP;
    for (unsigned char f = 0; f < CROSSVAL_FOLDS; f++)
        TRY(run_fold(criterion, multiple, &fit->data, fold, f, fit->weight, fit->options, err));
    for (size_t c = 1; c < CANDIDATES; c++)
        if (criterion[c] < criterion[best])
            best = c;
    fit->multiple = multiple[best];
done:
    free(fold);
    return st;
}

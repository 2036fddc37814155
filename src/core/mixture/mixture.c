/* Models that are the weighted mean of others. */
#include <math.h>
#include <string.h>

#include <priorboost/curves.h>

#include "base/names.h"
#include "data/family.h"
#include "fit/predict.h"
#include "try.h"

static const char *const KINDS[] = {"constant", "glm", "smooth", "trees", "glm-trees"};
PBOOST_NAMES(pboost_member_kind, KINDS, "kind of member")

void pboost_mixture_free(pboost_mixture *mixture)
{
    if (mixture == NULL)
        return;
    for (size_t k = 0; k < mixture->n; k++) {
        pboost_coef_free(&mixture->member[k].coef);
        pboost_forest_free(&mixture->member[k].forest);
    }
    free(mixture->member);
    *mixture = (pboost_mixture){0};
}

static pboost_status check(const pboost_samples *samples, const pboost_columns *columns,
                           const pboost_mixture *mixture, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double total = 0.0;
    for (size_t k = 0; k < mixture->n; k++) {
        const pboost_member *m = &mixture->member[k];
        if (!(m->weight >= 0.0 && m->weight <= 1.0))
            FAIL(err, PBOOST_BAD_DATA, "the weight of member %zu is %g; it must be from 0 to 1", k,
                 m->weight);
        if (m->forest.n_trees > 0 && columns == NULL)
            FAIL(err, PBOOST_INVALID, "member %zu has trees, but there are no columns", k);
        if (m->forest.n_trees > 0 && columns->rows != samples->x->rows)
            FAIL(err, PBOOST_INVALID, "the columns have %zu rows, but the features have %zu",
                 columns->rows, samples->x->rows);
        total += m->weight;
    }
    if (!(fabs(total - 1.0) <= 1e-6))
        FAIL(err, PBOOST_BAD_DATA, "the weights of the members sum to %g; they must sum to 1",
             total);
done:
    return st;
}

/* eta = the linear predictor and the trees of a member. */
static pboost_status member_eta(double *eta, pboost_family family, const pboost_samples *samples,
                                const pboost_columns *columns, const pboost_member *member,
                                int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_models_check(family, samples, false, &member->coef, 1, threads, err));
    TRY(pboost_predict_eta(eta, samples, &member->coef, threads, err));
    if (member->forest.n_trees > 0)
        TRY(pboost_forest_add(eta, &member->forest, columns, samples->row, samples->n, threads,
                              err));
done:
    return st;
}

pboost_status pboost_mixture_predict(double *mean, pboost_family family,
                                     const pboost_samples *samples, const pboost_columns *columns,
                                     const pboost_mixture *mixture, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *eta = NULL;

    TRY(pboost_family_check(family, err));
    TRY(check(samples, columns, mixture, err));
    NEED(eta = pboost_alloc(samples->n, sizeof *eta), err);
    memset(mean, 0, samples->n * sizeof *mean);
    for (size_t k = 0; k < mixture->n; k++) {
        const pboost_member *m = &mixture->member[k];
        if (m->weight == 0.0)
            continue;
        TRY(member_eta(eta, family, samples, columns, m, threads, err));
        pboost_glm_kernels()->family[family].mean(eta, eta, samples->n);
        for (size_t i = 0; i < samples->n; i++)
            mean[i] += m->weight * eta[i];
    }
done:
    free(eta);
    return st;
}

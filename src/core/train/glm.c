/* The generalised linear model as a learner: scores rows with its coefficients and refits them on
 * the oracle's answers.  It sees labels only as answers. */
#include "train/glm.h"

#include <stdlib.h>

#include "base/options.h"
#include "data/curve.h"
#include "data/fit_options.h"
#include "data/matrix.h"
#include "fit/aggregate/aggregate.h"
#include "fit/estimator.h"
#include "fit/predict.h"
#include "try.h"

struct pboost_glm {
    pboost_features features;
    pboost_fit_options options;
    pboost_coef coef;
    pboost_fit_report report;
    pboost_workspace work;
    double *covariance; /* of the last fit; NULL where the estimator has none */
    size_t first_bag;   /* that the last fit used */
};

/* The aggregate estimator is unbiased for any bags, so the answers of all rounds are used; and if
 * the estimator is chosen by cross-validation, all answers are used for the choice. */
static bool pools(const pboost_fit_options *o)
{
    return o->estimator == PBOOST_AGGREGATE || o->estimator == PBOOST_ESTIMATOR_CV;
}

/* What the fits check of their options, on a bag of one row. */
static pboost_status check_options(const pboost_fit_options *o, bool weighted, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const size_t start[] = {0, 1};
    const double zero = 0.0;
    bag_data bag = {.rows = {.n_bags = 1, .start = start}, .answer = &zero, .noise = &zero};

    TRY(pboost_bag_answers_check(&bag, o, err));
    if ((unsigned)o->estimator > PBOOST_ESTIMATOR_CV)
        FAIL(err, PBOOST_INVALID, "estimator %d is unknown", (int)o->estimator);
    if (weighted && o->estimator == PBOOST_INTERPOLATED)
        FAIL(err, PBOOST_INVALID,
             "the interpolated estimator takes no weights: a bag's answer is a plain mean");
done:
    return st;
}

static pboost_status check_table(const pboost_samples *all, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x; /* functions of finite numbers are finite */
    pboost_samples straight = *all;

    TRY(pboost_samples_check(all, false, err));
    TRY(pboost_samples_check_weights(all, err));
    x = pboost_matrix_straight(all->x);
    straight.x = &x;
    bool one_block = x.type == PBOOST_F64 && x.col_stride == 1 &&
                     x.row_stride == (ptrdiff_t)x.cols && all->offset == NULL;
    if (!one_block || !pboost_glm_kernels()->all_finite(x.data, x.rows * x.cols))
        TRY(pboost_samples_find_nonfinite(&straight, err));
done:
    return st;
}

/* What a fit would always refuse is refused here, before labels are spent. */
pboost_status pboost_glm_create(pboost_glm **out, const pboost_features *features,
                                const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_glm *glm = NULL;
    pboost_fit_options own = PBOOST_FIT_OPTIONS_INIT;

    *out = NULL;
    const pboost_matrix *x = &features->x;
    pboost_samples all = {
        .x = x, .n = x->rows, .weight = features->weight, .offset = features->offset};
    TRY(OPTIONS_READ(&own, options, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(check_options(&own, features->weight != NULL, err));
    TRY(pboost_fit_curves_check(&own, x->cols, err));
    TRY(check_table(&all, err));
    NEED(glm = calloc(1, sizeof *glm), err);
    glm->features = *features;
    glm->options = own;
    TRY(pboost_coef_init(&glm->coef, x->cols, err));
    if (pools(&own)) {
        size_t n = x->cols + 1;
        NEED(glm->covariance = calloc(n * n, sizeof *glm->covariance), err);
    }
    *out = glm;
    glm = NULL;
done:
    pboost_glm_free(glm);
    return st;
}

void pboost_glm_free(pboost_glm *glm)
{
    if (glm == NULL)
        return;
    pboost_coef_free(&glm->coef);
    pboost_workspace_free(&glm->work);
    free(glm->covariance);
    free(glm);
}

const pboost_features *pboost_glm_features(const pboost_glm *glm)
{
    return &glm->features;
}

const pboost_fit_options *pboost_glm_options(const pboost_glm *glm)
{
    return &glm->options;
}

const pboost_coef *pboost_glm_coef(const pboost_glm *glm)
{
    return &glm->coef;
}

const pboost_fit_report *pboost_glm_report(const pboost_glm *glm)
{
    return &glm->report;
}

const double *pboost_glm_covariance(const pboost_glm *glm)
{
    bool known = glm->options.estimator == PBOOST_AGGREGATE ||
                 (glm->options.estimator == PBOOST_ESTIMATOR_CV &&
                  glm->report.estimator == PBOOST_AGGREGATE);
    return known ? glm->covariance : NULL;
}

static pboost_status score(void *self, const size_t *row, size_t n, double *out, pboost_error *err)
{
    pboost_glm *glm = self;
    pboost_samples samples = {
        .x = &glm->features.x, .row = row, .n = n, .offset = glm->features.offset};
    return pboost_score(out, glm->options.family, &samples, &glm->coef, glm->options.threads,
                        &glm->work, err);
}

static fit_task task_of(pboost_glm *glm, const pboost_answers *answers)
{
    return (fit_task){.features = &glm->features,
                      .answers = answers,
                      .first_bag = glm->first_bag,
                      .options = &glm->options,
                      .work = &glm->work};
}

static pboost_status fit(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err)
{
    pboost_glm *glm = self;
    glm->first_bag = pools(&glm->options) ? 0 : first_bag;
    fit_task task = task_of(glm, answers);
    return pboost_fit_run(&glm->coef, &glm->report, glm->covariance, &task, err);
}

pboost_status pboost_glm_judge(pboost_glm *glm, const pboost_answers *answers, pboost_error *err)
{
    fit_task task = task_of(glm, answers);
    return pboost_fit_judge(&glm->report, &task, &glm->coef, err);
}

pboost_learner pboost_glm_learner(pboost_glm *glm)
{
    return (pboost_learner){.self = glm, .score = score, .fit = fit};
}

/* Classes as a learner: scores rows with the model and fits it again on the oracle's answers. */
#include <string.h>

#include <priorboost/classes.h>

#include "base/jacobi.h"
#include "base/options.h"
#include "classes/fit.h"
#include "data/curve.h"
#include "data/matrix.h"
#include "try.h"

struct pboost_classes {
    pboost_features features;
    pboost_fit_options options;
    pboost_class_coef coef;
    pboost_fit_report report;
    double *covariance; /* NULL where the estimator has none */
};

pboost_status pboost_classes_create(pboost_classes **out, const pboost_features *features,
                                    size_t classes, const pboost_fit_options *options,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_classes *model = NULL;
    pboost_fit_options own = PBOOST_FIT_OPTIONS_INIT;
    pboost_matrix x =
        pboost_matrix_straight(&features->x); /* curves of finite numbers are finite */
    pboost_samples all = {.x = &x, .n = x.rows, .weight = features->weight};

    *out = NULL;
    TRY(OPTIONS_READ(&own, options, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(pboost_classes_check(features, classes, &own, err));
    TRY(pboost_samples_check(&all, false, err));
    TRY(pboost_samples_check_weights(&all, err));
    TRY(pboost_samples_find_nonfinite(&all, err));
    NEED(model = calloc(1, sizeof *model), err);
    model->features = *features;
    model->options = own;
    TRY(pboost_class_coef_init(&model->coef, classes, features->x.cols, err));
    if (own.estimator == PBOOST_AGGREGATE) {
        size_t n = pboost_class_weights(classes, features->x.cols);
        NEED(model->covariance = calloc(n * n, sizeof *model->covariance), err);
    }
    *out = model;
    model = NULL;
done:
    pboost_classes_free(model);
    return st;
}

void pboost_classes_free(pboost_classes *classes)
{
    if (classes == NULL)
        return;
    pboost_class_coef_free(&classes->coef);
    free(classes->covariance);
    free(classes);
}

const pboost_class_coef *pboost_classes_coef(const pboost_classes *classes)
{
    return &classes->coef;
}

const pboost_fit_report *pboost_classes_report(const pboost_classes *classes)
{
    return &classes->report;
}

const double *pboost_classes_covariance(const pboost_classes *classes)
{
    return classes->covariance;
}

void pboost_class_direction(double *direction, double *work, double *cross, size_t n)
{
    double *vector = work, *value = vector + n * n;
    pboost_jacobi(value, vector, cross, n);
    for (size_t c = 0; c < n; c++)
        direction[c] = vector[c * n];
}

/* direction = where the rows of p (n x classes) vary most. */
static void leading_direction(double *direction, double *work, const double *p, size_t n,
                              size_t classes)
{
    double *cross = work, *mean = cross + classes * classes, *rest = mean + classes;

    memset(work, 0, classes * (classes + 1) * sizeof *work);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < classes; c++)
            mean[c] += p[i * classes + c] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < classes; c++)
            for (size_t k = 0; k < classes; k++)
                cross[c * classes + k] +=
                    (p[i * classes + c] - mean[c]) * (p[i * classes + k] - mean[k]);
    pboost_class_direction(direction, rest, cross, classes);
}

static pboost_status score(void *self, const size_t *row, size_t n, double *out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_classes *model = self;
    size_t classes = model->coef.classes;
    pboost_samples samples = {.x = &model->features.x, .row = row, .n = n};
    double *p = NULL, *work = NULL, *direction;

    NEED(p = pboost_alloc(n * classes, sizeof *p), err);
    NEED(work = pboost_alloc(2 * classes * classes + 3 * classes, sizeof *work), err);
    direction = work + 2 * classes * classes + 2 * classes;
    TRY(pboost_classes_predict(p, &samples, &model->coef, model->options.threads, err));
    leading_direction(direction, work, p, n, classes);
    for (size_t i = 0; i < n; i++) {
        out[i] = 0.0;
        for (size_t c = 0; c < classes; c++)
            out[i] += direction[c] * p[i * classes + c];
    }
done:
    free(p);
    free(work);
    return st;
}

/* The aggregate estimator is right for any bags, so it uses the answers of all rounds. */
static pboost_status fit(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err)
{
    pboost_classes *model = self;
    bool pools = model->options.estimator == PBOOST_AGGREGATE;
    return pboost_classes_fit(&model->coef, &model->report, model->covariance, &model->features,
                              answers, pools ? 0 : first_bag, &model->options, err);
}

pboost_learner pboost_classes_learner(pboost_classes *classes)
{
    return (pboost_learner){.self = classes, .score = score, .fit = fit};
}

/* What a curve of a model says: its effect on the linear predictor, and whether it is bent. */
#include <math.h>
#include <string.h>

#include "encoding.h"
#include "try.h"

enum { MOST = PBOOST_CURVE_COLUMNS };

/* The encoded columns of a feature with a curve: the number itself, and its functions. */
typedef struct {
    const pboost_curve *curve;
    size_t straight, first;
} curve_place;

static pboost_status find_curve(curve_place *out, const pboost_model *model, size_t feature,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_encoding *e = &model->encoding;

    if (feature >= e->n_features || e->feature[feature].curve.n == 0)
        FAIL(err, PBOOST_INVALID, "feature %zu of the model has no curve", feature);
    if (model->coef.n != e->n_columns)
        FAIL(err, PBOOST_INVALID, "the model has several members; the curve of each is its own");
    *out = (curve_place){&e->feature[feature].curve, 0, e->n_columns - e->n_curves};
    for (size_t i = 0; i < feature; i++) {
        out->straight += pboost_feature_columns(&e->feature[i]);
        out->first += e->feature[i].curve.n;
    }
done:
    return st;
}

/* row[0] is the number, then come its functions. */
static void set_row(double *row, const pboost_curve *curve, double number)
{
    row[0] = number;
    pboost_curve_apply(row + 1, 0, curve, &number, 0, 1);
}

static double column_covariance(const pboost_model *m, const curve_place *p, size_t i, size_t j)
{
    size_t n = m->coef.n + 1, row = i == 0 ? p->straight : p->first + i - 1;
    return m->covariance[row * n + (j == 0 ? p->straight : p->first + j - 1)];
}

pboost_status pboost_model_effect(double *effect, double *se, const pboost_model *model,
                                  size_t feature, const double *number, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    curve_place p;
    double mean[MOST + 1] = {0.0}, row[MOST + 1];

    TRY(find_curve(&p, model, feature, err));
    size_t cols = p.curve->n + 1, knots = p.curve->n_knots;
    for (size_t k = 0; k < knots; k++) {
        set_row(row, p.curve, p.curve->knot[k]);
        for (size_t j = 0; j < cols; j++)
            mean[j] += row[j] / (double)knots;
    }
    for (size_t i = 0; i < n; i++) {
        double variance = model->covariance != NULL ? 0.0 : NAN;
        set_row(row, p.curve, number[i]);
        effect[i] = 0.0;
        for (size_t j = 0; j < cols; j++) {
            row[j] -= mean[j];
            effect[i] += row[j] * model->coef.theta[j == 0 ? p.straight : p.first + j - 1];
        }
        for (size_t j = 0; model->covariance != NULL && j < cols; j++)
            for (size_t k = 0; k < cols; k++)
                variance += row[j] * row[k] * column_covariance(model, &p, j, k);
        se[i] = sqrt(fmax(variance, 0.0));
        se[i] = isnan(variance) ? NAN : se[i];
    }
done:
    return st;
}

/* theta' C^-1 theta by elimination; NaN where C is not positive definite. */
static double quadratic(double *c, double *theta, size_t n)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        if (!(c[k * n + k] > 0.0))
            return NAN;
        sum += theta[k] * theta[k] / c[k * n + k];
        for (size_t i = k + 1; i < n; i++) {
            double by = c[i * n + k] / c[k * n + k];
            theta[i] -= by * theta[k];
            for (size_t j = k; j < n; j++)
                c[i * n + j] -= by * c[k * n + j];
        }
    }
    return sum;
}

pboost_status pboost_model_bend(double *out, const pboost_model *model, size_t feature,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    curve_place p;
    double c[MOST * MOST], theta[MOST];

    *out = NAN;
    TRY(find_curve(&p, model, feature, err));
    if (model->covariance == NULL)
        goto done;
    size_t n = p.curve->n;
    memcpy(theta, model->coef.theta + p.first, n * sizeof *theta);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            c[i * n + j] = column_covariance(model, &p, i + 1, j + 1);
    *out = quadratic(c, theta, n);
done:
    return st;
}

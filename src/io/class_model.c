/* Models of classes in the model file: the names of the classes, the first of which is the base,
 * a row of weights and an intercept for each, and the covariance of those that are not the base's.
 */
#include <string.h>

#include "json.h"
#include "model.h"
#include "table.h"

/* A model with trees has members in place of weights: of each kind one for each class. */
static pboost_status put_class_members(json_t *root, const pboost_model *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *names;

    TRY(pboost_classes_check_mixture(&m->mixture, m->classes.n, err));
    TRY(put(root, "classes", names = json_array(), err));
    for (size_t c = 0; c < m->classes.n; c++)
        TRY(append(names, json_string(m->classes.name[c]), err));
    TRY(pboost_model_put_members(root, m, err));
done:
    return st;
}

pboost_status pboost_model_put_classes(json_t *root, const pboost_model *m, pboost_error *err)
{
    if (m->mixture.n > 0)
        return put_class_members(root, m, err);

    pboost_status st = PBOOST_OK;
    const pboost_class_coef *coef = &m->classes.coef;
    size_t n = pboost_class_weights(coef->classes, coef->cols);
    json_t *names, *theta, *intercept;

    TRY(put(root, "classes", names = json_array(), err));
    TRY(put(root, "theta", theta = json_array(), err));
    TRY(put(root, "intercept", intercept = json_array(), err));
    if (coef->cols != m->encoding.n_columns || coef->classes != m->classes.n)
        FAIL(err, PBOOST_INVALID,
             "the model has %zu x %zu weights, but %zu classes and %zu columns", coef->classes,
             coef->cols, m->classes.n, m->encoding.n_columns);
    for (size_t c = 0; c < m->classes.n; c++) {
        const double *of_class = coef->theta + c * (coef->cols + 1);
        json_t *row = json_array();
        TRY(append(theta, row, err));
        TRY(fill_reals(row, "theta", of_class, coef->cols, err));
        TRY(fill_reals(intercept, "intercept", of_class + coef->cols, 1, err));
        TRY(append(names, json_string(m->classes.name[c]), err));
    }
    if (m->covariance != NULL)
        TRY(put_matrix(root, "covariance", m->covariance, n, n, err));
done:
    return st;
}

static pboost_status get_names(pboost_model_classes *out, const json_t *root, const char *name,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *names;
    size_t n;

    TRY(get_array(&n, root, "classes", &names, name, err));
    if (n < 2 || n > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_BAD_DATA, "%s: there are %zu classes; there must be 2 to %d", name, n,
             PBOOST_MAX_CLASSES);
    NEED(out->name = calloc(n, sizeof *out->name), err);
    out->n = n;
    for (size_t c = 0; c < n; c++) {
        TRY(get_item(&out->name[c], names, c, "classes", name, err));
        for (size_t k = 0; k < c; k++)
            if (strcmp(out->name[k], out->name[c]) == 0)
                FAIL(err, PBOOST_BAD_DATA, "%s: class '%s' is there twice", name,
                     pboost_shown_text(out->name[c]).text);
    }
done:
    return st;
}

static pboost_status get_class_members(pboost_model *out, const json_t *root, const char *name,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_error why;

    TRY(pboost_model_get_members(out, root, name, err));
    if (pboost_classes_check_mixture(&out->mixture, out->classes.n, &why) != PBOOST_OK)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", name, why.message);
done:
    return st;
}

pboost_status pboost_model_get_classes(pboost_model *out, const json_t *root, const char *name,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model_classes *classes = &out->classes;
    size_t d = out->encoding.n_columns, n_intercepts, n;
    const json_t *intercept, *covariance = json_object_get(root, "covariance");
    double *theta = NULL;

    TRY(get_names(classes, root, name, err));
    if (json_object_get(root, "members") != NULL)
        return get_class_members(out, root, name, err);
    TRY(get_matrix(&theta, root, "theta", classes->n, d, name, err));
    TRY(get_array(&n_intercepts, root, "intercept", &intercept, name, err));
    if (n_intercepts != classes->n)
        FAIL(err, PBOOST_BAD_DATA, "%s: there are %zu intercepts, but %zu classes", name,
             n_intercepts, classes->n);
    TRY(pboost_class_coef_init(&classes->coef, classes->n, d, err));
    for (size_t c = 0; c < classes->n; c++) {
        double *to = classes->coef.theta + c * (d + 1);
        memcpy(to, theta + c * d, d * sizeof *to);
        TRY(get_real(&to[d], json_array_get(intercept, c), "intercept", name, err));
        for (size_t j = 0; c == 0 && j <= d; j++)
            if (to[j] != 0.0)
                FAIL(err, PBOOST_BAD_DATA,
                     "%s: the base class '%s' has weight %g; those of the first class must be 0",
                     name, pboost_shown_text(classes->name[0]).text, to[j]);
    }
    n = pboost_class_weights(classes->n, d);
    if (covariance != NULL && !json_is_null(covariance)) {
        if (n > PBOOST_MAX_CLASS_WEIGHTS)
            FAIL(err, PBOOST_BAD_DATA, "%s: %zu weights have a covariance; at most %d can have one",
                 name, n, PBOOST_MAX_CLASS_WEIGHTS);
        TRY(get_matrix(&out->covariance, root, "covariance", n, n, name, err));
    }
done:
    free(theta);
    return st;
}

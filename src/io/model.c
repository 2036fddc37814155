/* Writing the model file: versioned JSON.
 *
 * Reals are written with 17 significant digits, which determine a double, so that a model that is
 * saved and loaded is the same to the last bit. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "date.h"
#include "json.h"
#include "model.h"
#include "table.h"
#include "try.h"
#include "utf8.h"

void pboost_model_free(pboost_model *model)
{
    if (model == NULL)
        return;
    pboost_encoding_free(&model->encoding);
    pboost_coef_free(&model->coef);
    free(model->label);
    free(model->positive);
    free(model->offset);
    free(model->covariance);
    pboost_mixture_free(&model->mixture);
    for (size_t c = 0; c < model->classes.n; c++)
        free(model->classes.name[c]);
    free(model->classes.name);
    pboost_class_coef_free(&model->classes.coef);
    pboost_hashing_free(&model->sparse.hashing);
    free(model->training.algorithm);
    free(model->training.estimator);
    free(model->training.bags);
    *model = (pboost_model){0};
}

static pboost_status make_text(json_t **out, const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = text != NULL ? strlen(text) : 0, valid;

    *out = NULL;
    if (text != NULL && (pboost_utf8_bad(&valid, text, n) || valid < n))
        FAIL(err, PBOOST_INVALID, "the model has a name that is not UTF-8: '%s'",
             pboost_shown(text, n).text);
    NEED(*out = text != NULL ? json_string(text) : json_null(), err);
done:
    return st;
}

pboost_status pboost_model_put_text(json_t *object, const char *key, const char *text,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *value;

    TRY(make_text(&value, text, err));
    TRY(put(object, key, value, err));
done:
    return st;
}

static pboost_status put_texts(json_t *object, const char *key, char *const *text, size_t n,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *array = json_array(), *value;

    TRY(put(object, key, array, err));
    for (size_t i = 0; i < n; i++) {
        TRY(make_text(&value, text[i], err));
        TRY(append(array, value, err));
    }
done:
    return st;
}

/* The oldest version that can say it: dates, rare levels that share a column, curves, members and
 * sparse rows are new in 2. */
static int version_of(const pboost_model *m)
{
    const pboost_encoding *encoding = &m->encoding;
    if (m->mixture.n > 0 || m->sparse.columns > 0 || m->classes.n > 0)
        return 2;
    for (size_t i = 0; i < encoding->n_features; i++)
        if (encoding->feature[i].other || encoding->feature[i].date != 0)
            return 2;
    return encoding->n_curves > 0 ? 2 : 1;
}

static pboost_status put_date(json_t *object, unsigned parts, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *array = json_array();
    const char *name;

    TRY(put(object, "date", array, err));
    for (size_t i = 0; (name = pboost_date_part_name(parts, i)) != NULL; i++)
        TRY(append(array, json_string(name), err));
done:
    return st;
}

static pboost_status put_curve(json_t *object, const pboost_curve *curve, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *inner = json_object(), *knots;

    TRY(put(object, "curve", inner, err));
    TRY(put(inner, "knots", knots = json_array(), err));
    TRY(fill_reals(knots, "knots", curve->knot, curve->n_knots, err));
    TRY(put_matrix(inner, "value", curve->value, curve->n, curve->n_knots, err));
    TRY(put_matrix(inner, "bend", curve->bend, curve->n, curve->n_knots, err));
done:
    return st;
}

static pboost_status put_features(json_t *root, const pboost_encoding *encoding, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *array = json_array();

    TRY(put(root, "features", array, err));
    for (size_t i = 0; i < encoding->n_features; i++) {
        const pboost_feature *f = &encoding->feature[i];
        json_t *object = json_object();
        TRY(append(array, object, err));
        TRY(pboost_model_put_text(object, "name", f->name, err));
        if (f->n_levels > 0)
            TRY(put_texts(object, "levels", f->level, f->n_levels, err));
        if (f->other)
            TRY(put(object, "other", json_true(), err));
        if (f->date != 0)
            TRY(put_date(object, f->date, err));
        if (f->impute && f->n_levels > 0)
            TRY(pboost_model_put_text(object, "fill", f->level[0], err));
        else if (f->impute)
            TRY(put_real(object, "fill", f->fill, err));
        if (f->winsorize) {
            TRY(put_real(object, "lower", f->lower, err));
            TRY(put_real(object, "upper", f->upper, err));
        }
        if (f->curve.n > 0)
            TRY(put_curve(object, &f->curve, err));
    }
done:
    return st;
}

/* rest * 10 / den and what remains, where the product may not fit. */
static unsigned next_digit(uint64_t *rest, uint64_t den)
{
    uint64_t sum = 0;
    unsigned digit = 0;

    for (int i = 0; i < 10; i++) {
        bool full = sum >= den - *rest;
        sum = full ? sum - (den - *rest) : sum + *rest;
        digit += full;
    }
    *rest = sum;
    return digit;
}

/* A fraction as decimal text where that is exact and its digits fit in 64 bits, else "1/3". */
static void print_rational(char text[64], pboost_rational r)
{
    uint64_t rest = r.num % r.den, all = r.num / r.den;
    bool fits = true;
    char digits[20];
    int n = 0;

    while (fits && rest != 0 && n < 18) {
        unsigned digit = next_digit(&rest, r.den);
        digits[n++] = (char)('0' + digit);
        fits = !__builtin_mul_overflow(all, 10, &all) && !__builtin_add_overflow(all, digit, &all);
    }
    digits[n] = '\0';
    if (!fits || rest != 0)
        snprintf(text, 64, "%llu/%llu", (unsigned long long)r.num, (unsigned long long)r.den);
    else
        snprintf(text, 64, "%llu%s%s", (unsigned long long)(r.num / r.den), n > 0 ? "." : "",
                 digits);
}

static pboost_status put_training(json_t *root, const pboost_training *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *object = json_object();
    char text[64];

    TRY(put(root, "training", object, err));
    TRY(pboost_model_put_text(object, "algorithm", t->algorithm, err));
    TRY(pboost_model_put_text(object, "estimator", t->estimator, err));
    TRY(pboost_model_put_text(object, "bags", t->bags, err));
    TRY(put(object, "min_bag", json_integer((json_int_t)t->min_bag), err));
    TRY(put(object, "rounds", json_integer((json_int_t)t->rounds), err));
    TRY(put(object, "rows_spent", json_integer((json_int_t)t->rows_spent), err));
    if (t->epsilon.den != 0)
        print_rational(text, t->epsilon);
    TRY(pboost_model_put_text(object, "epsilon", t->epsilon.den != 0 ? text : NULL, err));
    TRY(put_real(object, "l2", t->l2, err));
    TRY(put(object, "simulated", json_boolean(t->simulated), err));
    /* JSON integers end at 2^63 here; a larger seed is text. */
    snprintf(text, sizeof text, "%llu", (unsigned long long)t->seed);
    if (!t->has_seed)
        TRY(put(object, "seed", json_null(), err));
    else if (t->seed <= INT64_MAX)
        TRY(put(object, "seed", json_integer((json_int_t)t->seed), err));
    else
        TRY(pboost_model_put_text(object, "seed", text, err));
done:
    return st;
}

static pboost_status put_coef(json_t *root, const pboost_model *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *theta;

    if (m->coef.n != m->encoding.n_columns)
        FAIL(err, PBOOST_INVALID, "the model has %zu weights, but %zu columns", m->coef.n,
             m->encoding.n_columns);
    TRY(put(root, "theta", theta = json_array(), err));
    TRY(fill_reals(theta, "theta", m->coef.theta, m->coef.n, err));
    TRY(put_real(root, "intercept", m->coef.intercept, err));
    if (m->covariance != NULL)
        TRY(put_matrix(root, "covariance", m->covariance, m->coef.n + 1, m->coef.n + 1, err));
done:
    return st;
}

/* Columns that have names, and the weights of each. */
static pboost_status put_columns(json_t *root, const pboost_model *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_encoding *e = &m->encoding;

    TRY(put_features(root, e, err));
    TRY(pboost_model_put_text(root, "unseen", e->refuse_unseen ? "error" : "baseline", err));
    TRY(put_texts(root, "columns", e->column, e->n_columns, err));
    TRY(m->classes.n > 0   ? pboost_model_put_classes(root, m, err)
        : m->mixture.n > 0 ? pboost_model_put_members(root, m, err)
                           : put_coef(root, m, err));
done:
    return st;
}

static pboost_status fill_root(json_t *root, const pboost_model *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_model_put_text(root, "format", MODEL_FORMAT, err));
    TRY(put(root, "version", json_integer(version_of(m)), err));
    TRY(pboost_model_put_text(
        root, "family", m->classes.n > 0 ? MODEL_CLASSES : pboost_family_name(m->family), err));
    TRY(pboost_model_put_text(root, "label", m->label, err));
    TRY(pboost_model_put_text(root, "positive", m->positive, err));
    TRY(pboost_model_put_text(root, "offset", m->offset, err));
    TRY(m->sparse.columns > 0 ? pboost_model_put_sparse(root, m, err) : put_columns(root, m, err));
    TRY(put_training(root, &m->training, err));
done:
    return st;
}

/* Text that grows as jansson writes it.  jansson ignores some of the failures that the callback
 * reports, so nothing is taken after the first failure, and the missing last byte shows it. */
typedef struct {
    char *text;
    size_t n, capacity;
    bool failed;
} page;

static int append_page(const char *text, size_t n, void *to)
{
    page *p = to;

    if (p->failed)
        return -1;
    char *grown = pboost_grown(p->text, &p->capacity, p->n + n + 1, 1);
    if (grown == NULL) {
        p->failed = true;
        return -1;
    }
    p->text = grown;
    memcpy(p->text + p->n, text, n);
    p->n += n;
    p->text[p->n] = '\0';
    return 0;
}

/* Trees and sparse models have more numbers than anyone reads line by line. */
static size_t layout(const pboost_model *model)
{
    bool long_one = model->mixture.n > 0 || model->sparse.columns > 0;
    return (long_one ? JSON_COMPACT : JSON_INDENT(1)) | JSON_REAL_PRECISION(17);
}

pboost_status pboost_model_print(char **out, const pboost_model *model, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *root = json_object();
    page p = {0};
    int failed;

    NEED(root, err);
    TRY(fill_root(root, model, err));
    failed = json_dump_callback(root, append_page, &p, layout(model));
    failed |= append_page("\n", 1, &p);
    if (failed != 0)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    json_decref(root);
    if (st != PBOOST_OK) {
        free(p.text);
        p.text = NULL;
    }
    *out = p.text;
    return st;
}

pboost_status pboost_model_save(const pboost_model *model, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;
    char *text = NULL;

    TRY(pboost_model_print(&text, model, err));
    TRY(pboost_output_open(&output, path, err));
    fputs(text, pboost_output_stream(output)); /* commit notices what went wrong */
    st = pboost_output_commit(output, err);
done:
    free(text);
    return st;
}

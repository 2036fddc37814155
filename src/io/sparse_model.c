/* The model file of a model of sparse rows: how the rows are made, and the weights that are not 0.
 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "model.h"
#include "table.h"

/* ---- Writing --------------------------------------------------------------------------------- */

static pboost_status put_hash_columns(json_t *object, const pboost_hashing *h, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *columns = json_array(), *entry;

    TRY(put(object, "columns", columns, err));
    for (size_t i = 0; i < h->n_columns; i++) {
        const pboost_hash_column *c = &h->column[i];
        TRY(append(columns, entry = json_object(), err));
        TRY(pboost_model_put_text(entry, "name", c->name, err));
        if (c->number) {
            TRY(put_real(entry, "mean", c->mean, err));
            TRY(put_real(entry, "scale", c->scale, err));
        }
    }
done:
    return st;
}

static pboost_status put_hashing(json_t *root, const pboost_hashing *h, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *object = json_object(), *crosses, *cross;

    TRY(put(root, "hash", object, err));
    TRY(put(object, "bits", json_integer((json_int_t)h->bits), err));
    TRY(put(object, "signed", json_true(), err));
    TRY(put_hash_columns(object, h, err));
    TRY(put(object, "crosses", crosses = json_array(), err));
    for (size_t i = 0; i < h->n_crosses; i++) {
        TRY(append(crosses, cross = json_array(), err));
        TRY(append(cross, json_string(h->column[h->cross[i].a].name), err));
        TRY(append(cross, json_string(h->column[h->cross[i].b].name), err));
    }
done:
    return st;
}

static pboost_status put_weights(json_t *object, const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *number, *weight;

    TRY(put(object, "column", number = json_array(), err));
    TRY(put(object, "weight", weight = json_array(), err));
    for (size_t j = 0; j < coef->n; j++)
        if (coef->theta[j] != 0.0) {
            TRY(append(number, json_integer((json_int_t)j), err));
            TRY(fill_reals(weight, "weight", &coef->theta[j], 1, err));
        }
done:
    return st;
}

pboost_status pboost_model_put_sparse(json_t *root, const pboost_model *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model_sparse *s = &m->sparse;
    json_t *object = json_object();

    if (m->coef.n != s->columns)
        FAIL(err, PBOOST_INVALID, "the model has %zu weights, but %zu columns", m->coef.n,
             s->columns);
    TRY(put(root, "sparse", object, err));
    TRY(put(object, "columns", json_integer((json_int_t)s->columns), err));
    if (s->hashing.bits > 0)
        TRY(put_hashing(object, &s->hashing, err));
    else
        TRY(put(object, "index_base", json_integer(s->index_base), err));
    TRY(put_weights(object, &m->coef, err));
    TRY(put_real(root, "intercept", m->coef.intercept, err));
done:
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* A whole number from least to most. */
static pboost_status get_count(size_t *out, const json_t *object, const char *key, size_t least,
                               size_t most, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *v = json_object_get(object, key);

    if (!json_is_integer(v))
        TRY(refuse_kind(name, key, v, "a whole number", err));
    if (json_integer_value(v) < (json_int_t)least || json_integer_value(v) > (json_int_t)most)
        FAIL(err, PBOOST_BAD_DATA, "%s: \"%s\" is %lld; it must be from %zu to %zu", name, key,
             (long long)json_integer_value(v), least, most);
    *out = (size_t)json_integer_value(v);
done:
    return st;
}

static pboost_status get_hash_column(pboost_hash_column *out, const json_t *object,
                                     const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(get_text(&out->name, object, "name", false, name, err));
    out->scale = 1.0;
    out->number = json_object_get(object, "mean") != NULL;
    if (!out->number)
        goto done;
    TRY(get_real(&out->mean, json_object_get(object, "mean"), "mean", name, err));
    TRY(get_real(&out->scale, json_object_get(object, "scale"), "scale", name, err));
    if (!(out->scale > 0.0))
        FAIL(err, PBOOST_BAD_DATA, "%s: \"scale\" of column '%s' is %g; it must be above 0", name,
             pboost_shown_text(out->name).text, out->scale);
done:
    return st;
}

/* The number of the hashed column that is a category and has this name. */
static pboost_status get_category(size_t *out, const pboost_hashing *h, const json_t *v,
                                  const char *name, pboost_error *err)
{
    const char *text = json_string_value(v);

    for (*out = 0; text != NULL && *out < h->n_columns; ++*out)
        if (strcmp(h->column[*out].name, text) == 0 && !h->column[*out].number)
            return PBOOST_OK;
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s: \"crosses\" has %s; it must have pairs of hashed categories", name,
                       text != NULL ? pboost_shown_text(text).text : kind_name(v));
}

static pboost_status get_hashing(pboost_hashing *out, const json_t *object, const char *name,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *columns, *crosses;
    size_t bits, n, n_crosses;

    TRY(get_count(&bits, object, "bits", 1, PBOOST_HASH_BITS, name, err));
    if (!json_is_true(json_object_get(object, "signed")))
        TRY(refuse_kind(name, "signed", json_object_get(object, "signed"), "true", err));
    TRY(get_array(&n, object, "columns", &columns, name, err));
    TRY(get_array(&n_crosses, object, "crosses", &crosses, name, err));
    NEED(out->column = calloc(n > 0 ? n : 1, sizeof *out->column), err);
    NEED(out->cross = calloc(n_crosses > 0 ? n_crosses : 1, sizeof *out->cross), err);
    out->bits = (unsigned)bits;
    out->n_columns = n;
    out->n_crosses = n_crosses;
    for (size_t i = 0; i < n; i++)
        TRY(get_hash_column(&out->column[i], json_array_get(columns, i), name, err));
    for (size_t i = 0; i < n_crosses; i++) {
        const json_t *pair = json_array_get(crosses, i);
        TRY(get_category(&out->cross[i].a, out, json_array_get(pair, 0), name, err));
        TRY(get_category(&out->cross[i].b, out, json_array_get(pair, 1), name, err));
    }
done:
    return st;
}

static pboost_status get_weights(pboost_coef *out, const json_t *object, size_t columns,
                                 const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *number, *weight;
    size_t n, n_weights;
    json_int_t last = -1;

    TRY(get_array(&n, object, "column", &number, name, err));
    TRY(get_array(&n_weights, object, "weight", &weight, name, err));
    if (n != n_weights)
        FAIL(err, PBOOST_BAD_DATA, "%s: \"column\" has %zu entries, but \"weight\" has %zu", name,
             n, n_weights);
    TRY(pboost_coef_init(out, columns, err));
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(number, i);
        if (!json_is_integer(v) || json_integer_value(v) <= last ||
            (uint64_t)json_integer_value(v) >= columns)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s: entry %zu of \"column\" must be a whole number above the one before it and "
                 "below %zu, the number of columns",
                 name, i + 1, columns);
        last = json_integer_value(v);
        TRY(get_real(&out->theta[last], json_array_get(weight, i), "weight", name, err));
    }
done:
    return st;
}

pboost_status pboost_model_get_sparse(pboost_model *out, const json_t *root, const char *name,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *object = json_object_get(root, "sparse"), *hash = json_object_get(object, "hash");
    pboost_model_sparse *s = &out->sparse;
    size_t base = 0;

    if (!json_is_object(object))
        TRY(refuse_kind(name, "sparse", object, "an object", err));
    TRY(get_count(&s->columns, object, "columns", 1, INT32_MAX, name, err));
    if (hash != NULL) {
        TRY(get_hashing(&s->hashing, hash, name, err));
        if (s->columns != (size_t)1 << s->hashing.bits)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s: the hash has %u bits, but there are %zu columns; there must be 2^%u", name,
                 s->hashing.bits, s->columns, s->hashing.bits);
    } else {
        TRY(get_count(&base, object, "index_base", 0, 1, name, err));
        s->index_base = (int)base;
    }
    TRY(get_weights(&out->coef, object, s->columns, name, err));
    TRY(get_real(&out->coef.intercept, json_object_get(root, "intercept"), "intercept", name, err));
done:
    return st;
}

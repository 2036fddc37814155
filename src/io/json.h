/* Pieces of JSON that the parts of the model file share. */
#ifndef PBOOST_JSON_H
#define PBOOST_JSON_H

#include <math.h>

#include <jansson.h>

#include "copy.h"
#include "try.h"

/* ---- Writing --------------------------------------------------------------------------------- */

/* Sets key to value, which may be NULL because there was no memory for it. */
static inline pboost_status put(json_t *object, const char *key, json_t *value, pboost_error *err)
{
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    return PBOOST_OK;
}

static inline pboost_status append(json_t *array, json_t *value, pboost_error *err)
{
    if (value == NULL || json_array_append_new(array, value) != 0)
        return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    return PBOOST_OK;
}

static inline pboost_status put_real(json_t *object, const char *key, double v, pboost_error *err)
{
    if (!isfinite(v))
        return pboost_fail(err, PBOOST_INVALID, "the model's %s is %g; it must be finite", key, v);
    return put(object, key, json_real(v), err);
}

static inline pboost_status fill_reals(json_t *array, const char *key, const double *v, size_t n,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            FAIL(err, PBOOST_INVALID, "the model's %s[%zu] is %g; it must be finite", key, i, v[i]);
        TRY(append(array, json_real(v[i]), err));
    }
done:
    return st;
}

/* rows x cols numbers, an array of arrays. */
static inline pboost_status put_matrix(json_t *object, const char *key, const double *v,
                                       size_t rows, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *array = json_array();

    TRY(put(object, key, array, err));
    for (size_t i = 0; i < rows; i++) {
        json_t *row = json_array();
        TRY(append(array, row, err));
        TRY(fill_reals(row, key, v + i * cols, cols, err));
    }
done:
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static inline const char *kind_name(const json_t *v)
{
    static const char *const NAME[] = {"an object", "an array", "text",  "a whole number",
                                       "a number",  "true",     "false", "null"};
    return v == NULL ? "missing" : NAME[json_typeof(v)];
}

static inline pboost_status refuse_kind(const char *name, const char *key, const json_t *v,
                                        const char *expected, pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA, "%s: \"%s\" is %s; it must be %s", name, key,
                       kind_name(v), expected);
}

static inline pboost_status get_real(double *out, const json_t *v, const char *key,
                                     const char *name, pboost_error *err)
{
    if (!json_is_number(v))
        return refuse_kind(name, key, v, "a number", err);
    *out = json_number_value(v);
    return PBOOST_OK;
}

/* A copy of item i of an array of text. */
static inline pboost_status get_item(char **out, const json_t *array, size_t i, const char *key,
                                     const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *v = json_array_get(array, i);
    if (!json_is_string(v))
        TRY(refuse_kind(name, key, v, "an array of text", err));
    NEED(*out = pboost_copy(json_string_value(v)), err);
done:
    return st;
}

static inline pboost_status get_array(size_t *n, const json_t *object, const char *key,
                                      const json_t **out, const char *name, pboost_error *err)
{
    *out = json_object_get(object, key);
    *n = json_array_size(*out);
    return json_is_array(*out) ? PBOOST_OK : refuse_kind(name, key, *out, "an array", err);
}

static inline pboost_status get_text(char **out, const json_t *object, const char *key,
                                     bool optional, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *v = json_object_get(object, key);

    if (optional && (v == NULL || json_is_null(v)))
        goto done;
    if (!json_is_string(v))
        TRY(refuse_kind(name, key, v, "text", err));
    NEED(*out = pboost_copy(json_string_value(v)), err);
done:
    return st;
}

static inline pboost_status get_size(size_t *out, const json_t *object, const char *key,
                                     const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *v = json_object_get(object, key);

    if (v == NULL || json_is_null(v))
        goto done;
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        TRY(refuse_kind(name, key, v, "a whole number, not negative", err));
    *out = (size_t)json_integer_value(v);
done:
    return st;
}

static inline pboost_status get_matrix(double **out, const json_t *object, const char *key,
                                       size_t rows, size_t cols, const char *name,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *array = json_object_get(object, key), *row;

    if (!json_is_array(array) || json_array_size(array) != rows)
        FAIL(err, PBOOST_BAD_DATA, "%s: \"%s\" must be an array of %zu rows", name, key, rows);
    NEED(*out = pboost_alloc(rows * cols, sizeof **out), err);
    for (size_t i = 0; i < rows; i++) {
        row = json_array_get(array, i);
        if (!json_is_array(row) || json_array_size(row) != cols)
            FAIL(err, PBOOST_BAD_DATA, "%s: row %zu of \"%s\" must have %zu numbers", name, i + 1,
                 key, cols);
        for (size_t k = 0; k < cols; k++)
            TRY(get_real(&(*out)[i * cols + k], json_array_get(row, k), key, name, err));
    }
done:
    return st;
}

#endif

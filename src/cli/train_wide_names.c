/* priorboost train on sparse rows: the heaviest weights, by names that people can read.
 *
 * They take the place of the encoding and of the weights of the last round, so that text, JSON and
 * page show them as those of other models. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train_wide.h"

enum { HEAVIEST = 20 };

/* The columns that are shown, and by what text. */
typedef struct {
    size_t n;
    uint32_t *column;
    char **name; /* the encoding's */
    double
        *sign; /* of the hash: a weight is shown with it, as what the text adds to the predictor */
} shown_columns;

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The columns with the largest weights, largest first; returns how many there are. */
static size_t find_heaviest(uint32_t column[HEAVIEST], const pboost_coef *coef)
{
    size_t n = 0;

    for (size_t j = 0; j < coef->n; j++) {
        double weight = fabs(coef->theta[j]);
        if (weight == 0.0 || (n == HEAVIEST && weight <= fabs(coef->theta[column[n - 1]])))
            continue;
        size_t at = n < HEAVIEST ? n++ : n - 1;
        for (; at > 0 && fabs(coef->theta[column[at - 1]]) < weight; at--)
            column[at] = column[at - 1];
        column[at] = (uint32_t)j;
    }
    return n;
}

/* Names the heaviest by what was hashed there, or by their index in the file. */
static pboost_status name_heaviest(shown_columns *s, const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t sorted[HEAVIEST];
    double sign[HEAVIEST];
    char *found[HEAVIEST] = {NULL}, text[64];

    memcpy(sorted, s->column, s->n * sizeof *sorted);
    qsort(sorted, s->n, sizeof *sorted, ascending);
    if (data->sparse.hashing.bits > 0)
        TRY(pboost_hashing_names(found, sign, sorted, s->n, &data->sparse.hashing, data->table,
                                 err));
    for (size_t i = 0; i < s->n; i++) {
        size_t at = 0;
        while (sorted[at] != s->column[i])
            at++;
        s->sign[i] = found[at] != NULL ? sign[at] : 1.0;
        s->name[i] = found[at];
        found[at] = NULL;
        snprintf(text, sizeof text, "column %u", s->column[i] + (unsigned)data->sparse.index_base);
        if (s->name[i] == NULL)
            NEED(s->name[i] = strdup(text), err);
    }
done:
    for (size_t i = 0; i < HEAVIEST; i++)
        free(found[i]);
    return st;
}

/* ---- Columns by name ------------------------------------------------------------------------- */

pboost_status train_wide_find_index(uint32_t *out, const train_data *data, const char *text,
                                    pboost_error *err)
{
    size_t base = (size_t)data->sparse.index_base, last = data->sparse.columns - 1 + base;
    char *end;
    unsigned long long index = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || index < base || index > last)
        return pboost_fail(err, PBOOST_INVALID,
                           "'%.60s' is no column; it must be an index from %zu to %zu", text, base,
                           last);
    *out = (uint32_t)(index - base);
    return PBOOST_OK;
}

static pboost_status add_named(shown_columns *s, const train_data *data, const char *text,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_error why = {0};
    size_t i = s->n;

    s->sign[i] = 1.0;
    st = data->sparse.hashing.bits > 0
             ? pboost_hashing_find(&s->column[i], &s->sign[i], &data->sparse.hashing, text, &why)
             : train_wide_find_index(&s->column[i], data, text, &why);
    if (st != PBOOST_OK)
        FAIL(err, st, "--errors: %s", why.message);
    NEED(s->name[i] = strdup(text), err);
    s->n++;
done:
    return st;
}

pboost_status train_wide_check_errors(const train_data *data, const train_arguments *a,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t column;
    char *name = NULL;
    double sign;

    bool aggregate = a->estimator != NULL ? strcmp(a->estimator, "aggregate") == 0 : a->automatic;
    if (a->errors.n > 0 && !aggregate)
        FAIL(err, PBOOST_INVALID, "--errors needs --estimator aggregate: event has none");
    for (size_t i = 0; i < a->errors.n; i++) {
        shown_columns one = {.column = &column, .name = &name, .sign = &sign};
        TRY(add_named(&one, data, a->errors.item[i], err));
        free(name);
    }
done:
    return st;
}

/* As a covariance of which only the diagonal is known. */
static pboost_status find_errors(train_result *result, const train_data *data,
                                 const shown_columns *s, const pboost_answers *answers,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_wide_features features = {
        .x = data->wide_x, .weight = data->weight, .offset = data->offset};
    size_t n = s->n + 1, *column = NULL;
    double *error = NULL;

    NEED(column = pboost_alloc(n, sizeof *column), err);
    NEED(error = pboost_alloc(n, sizeof *error), err);
    NEED(result->covariance = calloc(n * n, sizeof *result->covariance), err);
    for (size_t i = 0; i < s->n; i++)
        column[i] = s->column[i];
    column[s->n] = data->sparse.columns; /* the intercept */
    TRY(pboost_wide_standard_errors(error, column, n, &data->wide_coef, &result->fit, &features,
                                    answers, 0, &result->fit_options, err));
    for (size_t i = 0; i < n; i++)
        result->covariance[i * (n + 1)] = error[i] * error[i];
done:
    free(column);
    free(error);
    return st;
}

pboost_status train_wide_name(train_data *data, train_result *result, const train_arguments *a,
                              const pboost_answers *answers, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_coef *path = &result->path[result->rounds - 1];
    size_t room = HEAVIEST + a->errors.n;
    shown_columns s = {0};

    NEED(s.column = pboost_alloc(room, sizeof *s.column), err);
    NEED(s.sign = pboost_alloc(room, sizeof *s.sign), err);
    NEED(s.name = data->encoding.column = calloc(room, sizeof *s.name), err);
    data->encoding.n_columns = room;
    s.n = find_heaviest(s.column, &data->wide_coef);
    TRY(name_heaviest(&s, data, err));
    for (size_t i = 0; i < a->errors.n; i++)
        TRY(add_named(&s, data, a->errors.item[i], err));
    data->encoding.n_columns = s.n;
    TRY(pboost_coef_init(path, s.n, err));
    path->intercept = data->wide_coef.intercept;
    for (size_t i = 0; i < s.n; i++)
        path->theta[i] = s.sign[i] * data->wide_coef.theta[s.column[i]];
    if (a->errors.n > 0)
        TRY(find_errors(result, data, &s, answers, err));
done:
    free(s.column);
    free(s.sign);
    return st;
}

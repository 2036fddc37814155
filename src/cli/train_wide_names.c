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

/* name[i] of column[i]: what was hashed there, or the index in the file.  A weight is multiplied by
 * the sign with which it was hashed, so that it is what the name adds to the linear predictor. */
static pboost_status name_columns(char **name, double *weight, const uint32_t *column, size_t n,
                                  const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t sorted[HEAVIEST];
    double sign[HEAVIEST];
    char *found[HEAVIEST] = {NULL}, text[64];

    memcpy(sorted, column, n * sizeof *column);
    qsort(sorted, n, sizeof *sorted, ascending);
    if (data->sparse.hashing.bits > 0)
        TRY(pboost_hashing_names(found, sign, sorted, n, &data->sparse.hashing, data->table, err));
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (sorted[at] != column[i])
            at++;
        name[i] = found[at];
        weight[i] *= found[at] != NULL ? sign[at] : 1.0;
        found[at] = NULL;
        snprintf(text, sizeof text, "column %u", column[i] + (unsigned)data->sparse.index_base);
        if (name[i] == NULL)
            NEED(name[i] = strdup(text), err);
    }
done:
    for (size_t i = 0; i < n; i++)
        free(found[i]);
    return st;
}

pboost_status train_wide_name(train_data *data, train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_coef *shown = &result->path[result->rounds - 1];
    uint32_t column[HEAVIEST];
    size_t n = find_heaviest(column, &data->wide_coef);

    TRY(pboost_coef_init(shown, n, err));
    shown->intercept = data->wide_coef.intercept;
    for (size_t i = 0; i < n; i++)
        shown->theta[i] = data->wide_coef.theta[column[i]];
    NEED(data->encoding.column = calloc(n > 0 ? n : 1, sizeof *data->encoding.column), err);
    data->encoding.n_columns = n;
    TRY(name_columns(data->encoding.column, shown->theta, column, n, data, err));
done:
    return st;
}

/* priorboost train: which rows of the table take part. */
#include "train_rows.h"

#include <string.h>

#include "remote.h"

pboost_status train_rows_load_ids(train_data *out, const pboost_table *table,
                                  const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, bytes = 0, n = pboost_table_rows(table);

    if (a->oracle == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, a->id, err));
    const uint32_t *code = pboost_table_codes(table, col);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(pboost_table_level(table, col, code[i]));
        if (length == 0 || length > PBOOST_ID_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: id '%s' has %zu bytes; it must have 1 to %d",
                 a->data, pboost_table_line(table, i), a->id, length, (int)PBOOST_ID_MAX);
        bytes += length + 1;
    }
    NEED(out->id_text = pboost_alloc(bytes, 1), err);
    NEED(out->id = pboost_alloc(n, sizeof *out->id), err);
    char *text = out->id_text;
    for (size_t i = 0; i < n; i++) {
        const char *level = pboost_table_level(table, col, code[i]);
        memcpy(text, level, strlen(level) + 1);
        out->id[i] = pboost_remote_id(text);
        text += strlen(level) + 1;
    }
done:
    return st;
}

pboost_status train_rows_load_units(train_data *out, const pboost_table *table,
                                    const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, n = pboost_table_rows(table);

    if (a->unit == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, a->unit, err));
    const uint32_t *code = pboost_table_codes(table, col);
    for (size_t i = 0; i < n; i++)
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: unit '%s' is missing", a->data,
                 pboost_table_line(table, i), a->unit);
    NEED(out->unit = pboost_alloc(n, sizeof *out->unit), err);
    memcpy(out->unit, code, n * sizeof *code);
    out->n_units = pboost_table_n_levels(table, col);
done:
    return st;
}

pboost_status train_rows_one_by_unit(bool *keep, size_t *dropped, const train_data *data,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *chosen = NULL; /* by unit: the row kept so far */

    *dropped = 0;
    if (data->unit == NULL)
        return PBOOST_OK;
    NEED(chosen = pboost_alloc(data->n_units, sizeof *chosen), err);
    for (size_t u = 0; u < data->n_units; u++)
        chosen[u] = SIZE_MAX;
    for (size_t i = 0; i < data->rows; i++) {
        size_t *other = &chosen[data->unit[i]];
        if (!keep[i])
            continue;
        if (*other == SIZE_MAX) {
            *other = i;
            continue;
        }
        bool better = data->row_key != NULL && data->row_key[i] < data->row_key[*other];
        keep[better ? *other : i] = false;
        *other = better ? i : *other;
        ++*dropped;
    }
done:
    free(chosen);
    return st;
}

void train_rows_select(train_data *data, const bool *keep)
{
    size_t n = 0, d = data->cols;

    for (size_t i = 0; i < data->rows; i++) {
        if (!keep[i])
            continue;
        if (n < i) {
            memcpy(data->x + n * d, data->x + i * d, d * sizeof *data->x);
            double *const by_row[] = {data->weight, data->offset, data->prior_score, data->label};
            for (size_t j = 0; j < sizeof by_row / sizeof *by_row; j++)
                if (by_row[j] != NULL)
                    by_row[j][n] = by_row[j][i];
            if (data->row_key != NULL)
                data->row_key[n] = data->row_key[i];
            if (data->id != NULL)
                data->id[n] = data->id[i];
            if (data->unit != NULL)
                data->unit[n] = data->unit[i];
        }
        n++;
    }
    data->rows = n;
}

/* priorboost train: which rows of the table take part. */
#include "train_rows.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "remote.h"

/* The entries of a row of an svmlight file. */
static void hash_entries(crypto_generichash_state *state, const pboost_table *table, size_t row)
{
    pboost_table_sparse s;

    if (!pboost_table_entries(&s, table))
        return;
    const uint64_t *start = s.x.start;
    size_t size = s.x.type == PBOOST_F32 ? sizeof(float) : sizeof(double);
    size_t n = start[row + 1] - start[row];
    crypto_generichash_update(state, (const unsigned char *)(s.x.column + start[row]),
                              n * sizeof *s.x.column);
    if (s.x.value != NULL)
        crypto_generichash_update(state, (const unsigned char *)s.x.value + start[row] * size,
                                  n * size);
}

/* The cells of a row; number[j] is NULL if column j is text or cannot be a feature. */
static void hash_row(unsigned char hash[TRAIN_HASH], const pboost_table *table,
                     const double *const *number, size_t row)
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, NULL, 0, TRAIN_HASH);
    for (size_t j = 0; j < pboost_table_cols(table); j++) {
        if (number[j] != NULL) {
            crypto_generichash_update(&state, (const unsigned char *)&number[j][row],
                                      sizeof **number);
        } else if (pboost_table_is_text(table, j)) {
            uint32_t code = pboost_table_codes(table, j)[row];
            const char *text = code != UINT32_MAX ? pboost_table_level(table, j, code) : "";
            crypto_generichash_update(&state, (const unsigned char *)text, strlen(text) + 1);
        }
    }
    hash_entries(&state, table, row);
    crypto_generichash_final(&state, hash, TRAIN_HASH);
}

/* A sum over the rows, so that their order does not matter. */
static pboost_status hash_table(unsigned char sum[TRAIN_HASH], const pboost_table *table,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t cols = pboost_table_cols(table);
    const double **number = NULL;
    unsigned char hash[TRAIN_HASH];

    NEED(number = pboost_alloc(cols, sizeof *number), err);
    for (size_t j = 0; j < cols; j++)
        (void)pboost_table_numbers(&number[j], table, j, true, NULL);
    memset(sum, 0, TRAIN_HASH);
    for (size_t i = 0; i < pboost_table_rows(table); i++) {
        hash_row(hash, table, number, i);
        sodium_add(sum, hash, TRAIN_HASH);
    }
done:
    free(number);
    return st;
}

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
                 pboost_table_row_path(table, i), pboost_table_line(table, i), a->id, length,
                 (int)PBOOST_ID_MAX);
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
    TRY(hash_table(out->hash, table, err));
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

pboost_status train_rows_load_parts(train_data *out, const pboost_table *table,
                                    const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, n = pboost_table_rows(table);
    char number[24];

    if (a->oracle_of == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, a->oracle_of, err));
    const uint32_t *code = pboost_table_codes(table, col);
    NEED(out->part = pboost_alloc(n, sizeof *out->part), err);
    for (size_t i = 0; i < n; i++) {
        const char *cell = code[i] != UINT32_MAX ? pboost_table_level(table, col, code[i]) : "";
        for (out->part[i] = 0; out->part[i] < a->oracles.n; out->part[i]++) {
            snprintf(number, sizeof number, "%u", out->part[i] + 1);
            if (strcmp(cell, number) == 0)
                break;
        }
        if (out->part[i] == a->oracles.n)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s:%zu: '%s' (--oracle-of) is '%.60s'; it must be the number of an --oracle, 1 to"
                 " %zu",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), a->oracle_of, cell,
                 a->oracles.n);
    }
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

/* Gathers items of an array; NULL stays NULL. */
static pboost_status gather(void *array_of, size_t size, const size_t *row, size_t n,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *from, *to = NULL;

    memcpy(&from, array_of, sizeof from);
    if (from == NULL)
        return PBOOST_OK;
    NEED(to = pboost_alloc(n, size), err);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * size, from + row[i] * size, size);
    free(from);
    memcpy(array_of, &to, sizeof to);
done:
    return st;
}

pboost_status train_rows_arrange(train_data *data, const size_t *row, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    size_t straight = data->cols - data->encoding.n_curves;
    bool trees = data->sources.columns.n > 0;

    if (trees) {
        pboost_sources kept;
        TRY(pboost_sources_gather(&kept, &data->sources.columns, row, n, err));
        pboost_sources_free(&data->sources);
        data->sources = kept;
    }
    if (data->x != NULL)
        TRY(gather(&data->x, straight * sizeof *data->x, row, n, err));
    if (trees) /* the old x was what they referred to */
        TRY(pboost_sources_own(&data->sources, &data->encoding, data->x, straight, err));
    TRY(gather(&data->weight, sizeof *data->weight, row, n, err));
    TRY(gather(&data->offset, sizeof *data->offset, row, n, err));
    TRY(gather(&data->prior_score, sizeof *data->prior_score, row, n, err));
    size_t labels = data->targets.n > 0 ? data->targets.n : 1;
    TRY(gather(&data->label, labels * sizeof *data->label, row, n, err));
    TRY(gather(&data->row_key, sizeof *data->row_key, row, n, err));
    TRY(gather(&data->id, sizeof *data->id, row, n, err));
    TRY(gather(&data->unit, sizeof *data->unit, row, n, err));
    TRY(gather(&data->part, sizeof *data->part, row, n, err));
    TRY(gather(&data->bag_key, sizeof *data->bag_key, row, n, err));
    if (data->sparse.columns > 0) {
        pboost_entries kept;
        TRY(pboost_entries_gather(&kept, &data->wide_x, row, n, err));
        pboost_entries_free(&data->entries);
        data->entries = kept;
        data->wide_x = kept.x;
    }
    data->rows = n;
    train_data_bend(data);
done:
    return st;
}

pboost_status train_rows_select(train_data *data, const bool *keep, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *row = NULL, n = 0;

    NEED(row = pboost_alloc(data->rows, sizeof *row), err);
    for (size_t i = 0; i < data->rows; i++)
        if (keep[i])
            row[n++] = i;
    if (n < data->rows)
        TRY(train_rows_arrange(data, row, n, err));
done:
    free(row);
    return st;
}

pboost_status train_rows_by_part(train_data *data, const bool *keep, size_t parts,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *row = NULL, n = 0;

    NEED(row = pboost_alloc(data->rows, sizeof *row), err);
    for (size_t p = 0; p < parts; p++)
        for (size_t i = 0; i < data->rows; i++)
            if (keep[i] && data->part[i] == p)
                row[n++] = i;
    if (parts > 1 || n < data->rows)
        TRY(train_rows_arrange(data, row, n, err));
done:
    free(row);
    return st;
}

/* --bag-key: rows in the order of some columns, from which bags of neighbours are made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train_wide.h"

typedef struct {
    const pboost_table *table;
    size_t col;
    uint32_t code;
} key_level;

static int by_text(const void *a, const void *b)
{
    const key_level *x = a, *y = b;
    return strcmp(pboost_table_level(x->table, x->col, x->code),
                  pboost_table_level(y->table, y->col, y->code));
}

/* Text counts by its place among all texts of the column, whatever the order of the rows. */
static pboost_status number_text(double *out, const pboost_table *table, size_t col,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_n_levels(table, col), rows = pboost_table_rows(table);
    const uint32_t *code = pboost_table_codes(table, col);
    key_level *level = NULL;
    double *place = NULL;

    NEED(level = pboost_alloc(n, sizeof *level), err);
    NEED(place = pboost_alloc(n, sizeof *place), err);
    for (size_t i = 0; i < n; i++)
        level[i] = (key_level){table, col, (uint32_t)i};
    qsort(level, n, sizeof *level, by_text);
    for (size_t i = 0; i < n; i++)
        place[level[i].code] = (double)i;
    for (size_t i = 0; i < rows; i++)
        out[i] = code[i] == UINT32_MAX ? INFINITY : place[code[i]];
done:
    free(level);
    free(place);
    return st;
}

static pboost_status read_column(double *out, const pboost_table *table, const char *name,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;
    size_t col;

    TRY(pboost_table_find(&col, table, name, err));
    if (pboost_table_is_text(table, col)) {
        TRY(number_text(out, table, col, err));
        goto done;
    }
    TRY(pboost_table_numbers(&number, table, col, true, err));
    for (size_t i = 0; i < pboost_table_rows(table); i++)
        out[i] = isnan(number[i]) ? INFINITY : number[i]; /* missing cells are last */
done:
    return st;
}

/* A column of sparse rows by its index: the rows times its unit vector. */
static pboost_status read_index(double *out, const train_data *data, const char *text, int threads,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_wide_samples rows = {.x = &data->wide_x, .n = data->wide_x.rows};
    pboost_coef unit = {0};
    pboost_error why = {0};
    uint32_t column;

    st = train_wide_find_index(&column, data, text, &why);
    if (st != PBOOST_OK)
        FAIL(err, st, "--bag-key: %s", why.message);
    TRY(pboost_coef_init(&unit, data->wide_x.cols, err));
    unit.theta[column] = 1.0;
    TRY(pboost_wide_predict(out, PBOOST_LINEAR, &rows, &unit, threads, err));
done:
    pboost_coef_free(&unit);
    return st;
}

/* A row, and what it is sorted by: `rank` by the columns before, then `value`. */
typedef struct {
    size_t row;
    double rank, value;
} keyed_row;

static int by_key(const void *a, const void *b)
{
    const keyed_row *x = a, *y = b;
    int order = (x->rank > y->rank) - (x->rank < y->rank);
    return order != 0 ? order : (x->value > y->value) - (x->value < y->value);
}

/* rank[row] becomes that by the columns so far and `value`; rows with equal cells share one. */
static void refine(double *rank, keyed_row *sorted, const double *value, size_t n)
{
    double now = 0.0;
    for (size_t i = 0; i < n; i++)
        sorted[i] = (keyed_row){i, rank[i], value[i]};
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 0; i < n; i++) {
        now += i > 0 && by_key(&sorted[i - 1], &sorted[i]) != 0 ? 1.0 : 0.0;
        rank[sorted[i].row] = now;
    }
}

pboost_status train_wide_key(double **out, const train_data *data, const pboost_table *table,
                             const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const cli_list *columns = &a->bag_key;
    size_t n = pboost_table_rows(table);
    keyed_row *sorted = NULL;
    double *value = NULL;

    NEED(*out = calloc(n > 0 ? n : 1, sizeof **out), err);
    NEED(value = pboost_alloc(n, sizeof *value), err);
    NEED(sorted = pboost_alloc(n, sizeof *sorted), err);
    for (size_t c = 0; c < columns->n; c++) {
        TRY(a->hash > 0 ? read_column(value, table, columns->item[c], err)
                        : read_index(value, data, columns->item[c], a->threads, err));
        refine(*out, sorted, value, n);
    }
done:
    free(value);
    free(sorted);
    return st;
}

/* From the columns of a table to the features of a model: numbers as they are, categories as one
 * indicator per level but the first.
 *
 * Levels are sorted by their bytes, so the encoding does not depend on the order of rows. */
#include "encoding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "copy.h"
#include "table.h"
#include "try.h"

void pboost_encoding_free(pboost_encoding *encoding)
{
    if (encoding == NULL)
        return;
    for (size_t i = 0; encoding->feature != NULL && i < encoding->n_features; i++) {
        pboost_feature *f = &encoding->feature[i];
        for (size_t k = 0; f->level != NULL && k < f->n_levels; k++)
            free(f->level[k]);
        free(f->level);
        free(f->name);
    }
    free(encoding->feature);
    for (size_t i = 0; encoding->column != NULL && i < encoding->n_columns; i++)
        free(encoding->column[i]);
    free(encoding->column);
    *encoding = (pboost_encoding){0};
}

static shown shown_name(const char *name)
{
    return pboost_shown(name, strlen(name));
}

static size_t columns_of(const pboost_feature *f)
{
    return f->n_levels == 0 ? 1 : f->n_levels - 1;
}

/* "age", or "sex=Male". */
static char *column_name(const pboost_feature *f, size_t k)
{
    const char *level = f->n_levels > 0 ? f->level[k + 1] : "";
    size_t n = strlen(f->name) + strlen(level) + 2;
    char *name = malloc(n);

    if (name != NULL)
        snprintf(name, n, "%s%s%s", f->name, f->n_levels > 0 ? "=" : "", level);
    return name;
}

pboost_status pboost_encoding_name_columns(pboost_encoding *encoding, const char *where,
                                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    dictionary seen = {0};
    size_t n = 0, at = 0;
    uint32_t number;

    for (size_t i = 0; i < encoding->n_features; i++)
        n += columns_of(&encoding->feature[i]);
    NEED(encoding->column = calloc(n > 0 ? n : 1, sizeof *encoding->column), err);
    encoding->n_columns = n;
    for (size_t i = 0; i < encoding->n_features; i++)
        for (size_t k = 0; k < columns_of(&encoding->feature[i]); k++, at++) {
            char *name = column_name(&encoding->feature[i], k);
            NEED(encoding->column[at] = name, err);
            TRY(pboost_dictionary_add(&number, &seen, name, strlen(name), err));
            if (number < at)
                FAIL(err, PBOOST_BAD_DATA, "%s: two features are named '%s'; rename a column",
                     where, shown_name(name).text);
        }
done:
    pboost_dictionary_free(&seen);
    return st;
}

/* ---- Learning -------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static pboost_status learn_category(pboost_feature *out, const pboost_table *table, const column *c,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = c->levels.n;

    if (n == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: column '%s' is missing in every row; exclude it",
             table->path, shown_name(c->name).text);
    if (n > MAX_LEVELS)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: column '%s' has %zu different values; a category may have at most %d, so exclude "
             "the column or make it a number",
             table->path, shown_name(c->name).text, n, (int)MAX_LEVELS);
    NEED(out->level = calloc(n, sizeof *out->level), err);
    out->n_levels = n;
    for (size_t k = 0; k < n; k++)
        NEED(out->level[k] = pboost_copy(pboost_dictionary_get(&c->levels, (uint32_t)k)), err);
    qsort(out->level, n, sizeof *out->level, by_bytes);
done:
    return st;
}

static pboost_status learn_number(pboost_feature *out, const pboost_table *table, size_t col,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const column *c = &table->column[col];
    size_t present = table->rows - c->n_missing;
    const double *x;
    long double sum = 0;

    TRY(pboost_table_numbers(&x, table, col, true, err));
    if (present == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: column '%s' is missing in every row; exclude it",
             table->path, shown_name(c->name).text);
    for (size_t i = 0; i < table->rows; i++)
        if (!isnan(x[i]))
            sum += x[i];
    out->fill = out->impute ? (double)(sum / (long double)present) : 0.0;
done:
    return st;
}

static pboost_status refuse_missing(const pboost_table *table, const column *c, const char *advice,
                                    pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA, "%s: column '%s' is missing; %s",
                       pboost_place(table, c->first_missing).text, shown_name(c->name).text,
                       advice);
}

static pboost_status learn_feature(pboost_feature *out, const pboost_table *table, size_t col,
                                   bool impute, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const column *c = &table->column[col];

    out->impute = impute;
    NEED(out->name = pboost_copy(c->name), err);
    if (c->n_missing > 0 && !impute)
        TRY(refuse_missing(table, c, "fill in the cell, or use --impute mean", err));
    if (c->kind == COLUMN_TEXT)
        TRY(learn_category(out, table, c, err));
    else
        TRY(learn_number(out, table, col, err));
done:
    return st;
}

pboost_status pboost_encoding_learn(pboost_encoding *out, const pboost_table *table,
                                    const bool *use, bool impute, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (pboost_encoding){0};
    NEED(out->feature = calloc(table->cols, sizeof *out->feature), err);
    for (size_t col = 0; col < table->cols; col++)
        if (use[col]) {
            pboost_feature *f = &out->feature[out->n_features++];
            TRY(learn_feature(f, table, col, impute, err));
        }
    TRY(pboost_encoding_name_columns(out, table->path, err));
done:
    if (st != PBOOST_OK)
        pboost_encoding_free(out);
    return st;
}

/* ---- Applying -------------------------------------------------------------------------------- */

enum { BLOCK = 256, REFERENCE = -1 };

/* Where a feature comes from and goes to. */
typedef struct {
    const double *number; /* NULL: a category, or missing in every row */
    double fill;
    double lower, upper;
    const uint32_t *code;
    int32_t *column_of; /* by code of the table: indicator within the feature, or REFERENCE */
    size_t at, n;       /* its columns in x */
} step;

static pboost_status refuse_level(const pboost_table *table, const column *c,
                                  const pboost_feature *f, uint32_t code, pboost_error *err)
{
    const char *level = pboost_dictionary_get(&c->levels, code);
    char known[160];
    size_t row = 0, used = 0;

    while (c->code[row] != code)
        row++;
    for (size_t k = 0; k < f->n_levels && used < sizeof known - 1; k++) {
        if (k == 3 && f->n_levels > 4) {
            snprintf(known + used, sizeof known - used, ", ... (%zu in all)", f->n_levels);
            break;
        }
        int n = snprintf(known + used, sizeof known - used, "%s'%.30s'", k > 0 ? ", " : "",
                         shown_name(f->level[k]).text);
        used += (size_t)n;
    }
    return pboost_fail(
        err, PBOOST_BAD_DATA,
        "%s: column '%s' is '%s', which was not in the training table; the known values are %s",
        pboost_place(table, row).text, shown_name(c->name).text, shown_name(level).text, known);
}

static pboost_status prepare_category(step *out, const pboost_feature *f, const pboost_table *table,
                                      const column *c, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (c->kind != COLUMN_TEXT && c->n_missing == table->rows)
        goto done; /* nothing but missing cells has no kind; all of them are the reference */
    if (c->kind != COLUMN_TEXT)
        FAIL(err, PBOOST_INVALID,
             "%s: column '%s' is a category of the model but was read as numbers; name it in the "
             "table options",
             table->path, shown_name(c->name).text);
    NEED(out->column_of = pboost_alloc(c->levels.n, sizeof *out->column_of), err);
    for (size_t i = 0; i < c->levels.n; i++) {
        const char *level = pboost_dictionary_get(&c->levels, (uint32_t)i);
        char **found = bsearch(&level, f->level, f->n_levels, sizeof *f->level, by_bytes);
        if (found == NULL)
            TRY(refuse_level(table, c, f, (uint32_t)i, err));
        out->column_of[i] = (int32_t)(found - f->level) + REFERENCE;
    }
    out->code = c->code;
done:
    return st;
}

static pboost_status prepare(step *out, const pboost_feature *f, const pboost_table *table,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const column *c;
    size_t col;

    out->n = columns_of(f);
    out->fill = f->fill;
    out->lower = f->winsorize ? f->lower : -INFINITY;
    out->upper = f->winsorize ? f->upper : INFINITY;
    TRY(pboost_table_find(&col, table, f->name, err));
    c = &table->column[col];
    if (c->n_missing > 0 && !f->impute)
        TRY(refuse_missing(table, c, "fill in the cell, or train with --impute mean", err));
    if (f->n_levels > 0)
        TRY(prepare_category(out, f, table, c, err));
    else if (c->kind == COLUMN_TEXT && c->n_missing == table->rows)
        FAIL(err, PBOOST_INVALID,
             "%s: column '%s' is a number of the model but was read as text; do not name it in the "
             "table options",
             table->path, shown_name(c->name).text);
    else
        TRY(pboost_table_numbers(&out->number, table, col, true, err));
done:
    return st;
}

static void fill_numbers(double *x, size_t stride, const step *s, size_t first, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        double v = s->number[first + i];
        v = isnan(v) ? s->fill : v;
        x[i * stride + s->at] = v < s->lower ? s->lower : v > s->upper ? s->upper : v;
    }
}

static void fill_category(double *x, size_t stride, const step *s, size_t first, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        double *to = x + i * stride + s->at;
        uint32_t code = s->code != NULL ? s->code[first + i] : DICTIONARY_NONE;
        memset(to, 0, s->n * sizeof *to);
        if (code != DICTIONARY_NONE && s->column_of[code] != REFERENCE)
            to[s->column_of[code]] = 1.0;
    }
}

pboost_status pboost_encoding_apply(double *x, const pboost_encoding *encoding,
                                    const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = encoding->n_columns, at = 0;
    step *steps = calloc(encoding->n_features > 0 ? encoding->n_features : 1, sizeof *steps);

    NEED(steps, err);
    for (size_t i = 0; i < encoding->n_features; i++) {
        TRY(prepare(&steps[i], &encoding->feature[i], table, err));
        steps[i].at = at;
        at += steps[i].n;
    }
    if (at != n)
        FAIL(err, PBOOST_INVALID, "the encoding has %zu columns, but its features make %zu", n, at);
    /* By blocks of rows that stay in the cache while feature after feature is written. */
    for (size_t first = 0; first < table->rows; first += BLOCK) {
        size_t rows = table->rows - first < BLOCK ? table->rows - first : BLOCK;
        for (size_t i = 0; i < encoding->n_features; i++)
            (steps[i].number != NULL ? fill_numbers : fill_category)(x + first * n, n, &steps[i],
                                                                     first, rows);
    }
done:
    for (size_t i = 0; steps != NULL && i < encoding->n_features; i++)
        free(steps[i].column_of);
    free(steps);
    return st;
}

static bool has_two_values(const double *number, size_t n)
{
    double first = NAN, second = NAN;
    for (size_t i = 0; i < n; i++) {
        double v = number[i];
        if (isnan(v) || v == first || v == second)
            continue;
        if (!isnan(second))
            return false;
        *(isnan(first) ? &first : &second) = v;
    }
    return true;
}

static void winsorize(pboost_feature *f, const double *number, size_t n, double z)
{
    long double sum = 0, square = 0;
    size_t present = 0;
    for (size_t i = 0; i < n; i++) {
        present += !isnan(number[i]);
        sum += isnan(number[i]) ? 0 : (long double)number[i];
    }
    long double mean = sum / (long double)(present > 0 ? present : 1);
    for (size_t i = 0; i < n; i++) {
        long double r = isnan(number[i]) ? 0 : (long double)number[i] - mean;
        square += r * r;
    }
    double reach = z * (double)sqrtl(square / (long double)(present > 0 ? present : 1));
    f->winsorize = true;
    f->lower = (double)mean - reach;
    f->upper = (double)mean + reach;
}

pboost_status pboost_encoding_winsorize(pboost_encoding *encoding, const pboost_table *table,
                                        double z, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;
    size_t col;

    if (!(z > 0.0) || !isfinite(z))
        FAIL(err, PBOOST_INVALID, "winsorizing at %g standard deviations; it must be more than 0",
             z);
    for (size_t i = 0; i < encoding->n_features; i++) {
        pboost_feature *f = &encoding->feature[i];
        if (f->n_levels > 0)
            continue;
        TRY(pboost_table_find(&col, table, f->name, err));
        TRY(pboost_table_numbers(&number, table, col, true, err));
        if (!has_two_values(number, pboost_table_rows(table)))
            winsorize(f, number, pboost_table_rows(table), z);
    }
done:
    return st;
}

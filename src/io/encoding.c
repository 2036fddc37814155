/* From the columns of a table to the features of a model: numbers as they are, categories as one
 * indicator per level but the first.
 *
 * Levels are sorted by their bytes, so the encoding does not depend on the order of rows. */
#include "encoding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "copy.h"
#include "date.h"
#include "mean.h"
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
        pboost_curve_free(&f->curve);
    }
    free(encoding->feature);
    for (size_t i = 0; encoding->column != NULL && i < encoding->n_columns; i++)
        free(encoding->column[i]);
    free(encoding->column);
    *encoding = (pboost_encoding){0};
}

/* ---- Columns --------------------------------------------------------------------------------- */

size_t pboost_feature_columns(const pboost_feature *f)
{
    size_t n = 0;

    for (size_t i = 0; i < DATE_PARTS; i++)
        n += f->date & PBOOST_DATE_PARTS[i].bit ? pboost_date_part_columns(i) : 0;
    if (f->date != 0)
        return n;
    return f->n_levels == 0 ? 1 : f->n_levels - 1 + f->other;
}

/* The columns of a category, or of a part of a date that is one. */
static size_t *mark_levels(size_t *out, size_t columns, bool category, size_t *count)
{
    size_t number = category ? ++*count : 0;
    for (size_t k = 0; k < columns; k++)
        *out++ = number;
    return out;
}

void pboost_encoding_categories(size_t *category_of, const pboost_encoding *encoding)
{
    size_t count = 0;
    for (size_t i = 0; i < encoding->n_features; i++) {
        const pboost_feature *f = &encoding->feature[i];
        if (f->date == 0)
            category_of =
                mark_levels(category_of, pboost_feature_columns(f), f->n_levels > 0, &count);
        for (size_t p = 0; p < DATE_PARTS; p++)
            if (f->date & PBOOST_DATE_PARTS[p].bit)
                category_of = mark_levels(category_of, pboost_date_part_columns(p),
                                          PBOOST_DATE_PARTS[p].values > 0, &count);
    }
    mark_levels(category_of, encoding->n_curves, false, &count);
}

/* "day:days", or "day:month=2". */
static void date_column_name(char *out, size_t size, const pboost_feature *f, size_t k)
{
    static const char *const WEEKDAY[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

    for (size_t i = 0; i < DATE_PARTS; i++) {
        if (!(f->date & PBOOST_DATE_PARTS[i].bit))
            continue;
        if (k < pboost_date_part_columns(i) && PBOOST_DATE_PARTS[i].values == 0)
            snprintf(out, size, "%s:%s", f->name, PBOOST_DATE_PARTS[i].name);
        else if (k < pboost_date_part_columns(i) && PBOOST_DATE_PARTS[i].bit == PBOOST_DATE_WEEKDAY)
            snprintf(out, size, "%s:%s=%s", f->name, PBOOST_DATE_PARTS[i].name, WEEKDAY[k + 1]);
        else if (k < pboost_date_part_columns(i))
            snprintf(out, size, "%s:%s=%d", f->name, PBOOST_DATE_PARTS[i].name,
                     PBOOST_DATE_PARTS[i].first + (int)k + 1);
        if (k < pboost_date_part_columns(i))
            return;
        k -= pboost_date_part_columns(i);
    }
}

/* "age", "sex=Male", "city=(other)", "day:month=2". */
static char *column_name(const pboost_feature *f, size_t k)
{
    bool category = f->n_levels > 0;
    const char *level = !category ? "" : k + 1 < f->n_levels ? f->level[k + 1] : "(other)";
    size_t n = strlen(f->name) + strlen(level) + 32;
    char *name = malloc(n);

    if (name != NULL && f->date != 0)
        date_column_name(name, n, f, k);
    else if (name != NULL)
        snprintf(name, n, "%s%s%s", f->name, category ? "=" : "", level);
    return name;
}

/* "s(age).1". */
static char *curve_name(const pboost_feature *f, size_t k)
{
    size_t n = strlen(f->name) + 32;
    char *name = malloc(n);

    if (name != NULL)
        snprintf(name, n, "s(%s).%zu", f->name, k + 1);
    return name;
}

static pboost_status add_name(pboost_encoding *encoding, dictionary *seen, char *name,
                              const char *where, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t at = seen->n;
    uint32_t number;

    NEED(encoding->column[at] = name, err);
    TRY(pboost_dictionary_add(&number, seen, name, strlen(name), err));
    if (number < at)
        FAIL(err, PBOOST_BAD_DATA, "%s: two features are named '%s'; rename a column", where,
             pboost_shown_text(name).text);
done:
    return st;
}

pboost_status pboost_encoding_name_columns(pboost_encoding *encoding, const char *where,
                                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    dictionary seen = {0};
    const pboost_feature *f = encoding->feature, *end = f + encoding->n_features;
    size_t n = 0, curves = 0;

    for (; f < end; f++) {
        n += pboost_feature_columns(f);
        curves += f->curve.n;
    }
    n += curves;
    NEED(encoding->column = calloc(n > 0 ? n : 1, sizeof *encoding->column), err);
    encoding->n_columns = n;
    encoding->n_curves = curves;
    for (f = encoding->feature; f < end; f++)
        for (size_t k = 0; k < pboost_feature_columns(f); k++)
            TRY(add_name(encoding, &seen, column_name(f, k), where, err));
    for (f = encoding->feature; f < end; f++)
        for (size_t k = 0; k < f->curve.n; k++)
            TRY(add_name(encoding, &seen, curve_name(f, k), where, err));
done:
    pboost_dictionary_free(&seen);
    return st;
}

/* ---- Learning -------------------------------------------------------------------------------- */

int pboost_by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Fewer rows say too little about a level to give it a weight of its own. */
enum { MIN_LEVEL_ROWS = 20, MAX_KEPT_LEVELS = 500 };

typedef struct {
    const char *text;
    size_t rows;
} level_count;

static int by_rows(const void *a, const void *b)
{
    const level_count *x = a, *y = b;
    return x->rows != y->rows ? (x->rows < y->rows) - (x->rows > y->rows)
                              : strcmp(x->text, y->text);
}

/* The levels, the most frequent first. */
static pboost_status count_levels(level_count **out, const pboost_table *table, const column *c,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = c->levels.n;

    NEED(*out = calloc(n, sizeof **out), err);
    for (size_t k = 0; k < n; k++)
        (*out)[k].text = pboost_dictionary_get(&c->levels, (uint32_t)k);
    for (size_t i = 0; i < table->rows; i++)
        if (c->code[i] != DICTIONARY_NONE)
            (*out)[c->code[i]].rows++;
    qsort(*out, n, sizeof **out, by_rows);
done:
    return st;
}

static pboost_status learn_category(pboost_feature *out, const pboost_table *table, const column *c,
                                    size_t max_levels, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    level_count *count = NULL;
    size_t n = c->levels.n;

    TRY(count_levels(&count, table, c, err));
    out->other = n > max_levels;
    if (out->other)
        for (n = 0; n < MAX_KEPT_LEVELS && n < c->levels.n && count[n].rows >= MIN_LEVEL_ROWS;)
            n++;
    if (n == 0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: column '%s' has %zu different values, none of them in %d rows or more; there is "
             "nothing to learn from it: --drop it",
             table->path, pboost_shown_text(c->name).text, c->levels.n, (int)MIN_LEVEL_ROWS);
    NEED(out->level = calloc(n, sizeof *out->level), err);
    out->n_levels = n;
    for (size_t k = 0; k < n; k++)
        NEED(out->level[k] = pboost_copy(count[k].text), err);
    qsort(out->level, n, sizeof *out->level, pboost_by_bytes);
done:
    free(count);
    return st;
}

pboost_status pboost_refuse_missing(const pboost_table *table, const column *c, const char *advice,
                                    pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA, "%s: column '%s' is missing%s%s%s; %s",
                       pboost_place(table, c->first_missing).text, pboost_shown_text(c->name).text,
                       c->n_words > 0 ? " (cells such as '" : "",
                       c->n_words > 0 ? c->word.text : "",
                       c->n_words > 0 ? "' count as missing)" : "", advice);
}

static pboost_status learn_number(pboost_feature *out, const pboost_table *table, size_t col,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *x;
    running_mean mean = {0};

    TRY(pboost_table_numbers(&x, table, col, true, err));
    for (size_t i = 0; i < table->rows; i++)
        if (!isnan(x[i]))
            running_mean_add(&mean, x[i]);
    out->fill = out->impute ? running_mean_value(&mean) : 0.0;
done:
    return st;
}

/* The mean of the dates, for missing ones. */
static pboost_status learn_date(pboost_feature *out, const pboost_table *table, const column *c,
                                pboost_error *err)
{
    running_mean mean = {0};

    if (c->kind != COLUMN_TEXT || !c->date)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "%s: column '%s' is not a date; dates look like 2024-03-31 or "
                           "2024-03-31 12:30",
                           table->path, pboost_shown_text(c->name).text);
    for (size_t i = 0; i < table->rows; i++) {
        int64_t seconds = 0;
        if (c->code[i] == DICTIONARY_NONE)
            continue;
        (void)pboost_date_parse(&seconds, pboost_dictionary_get(&c->levels, c->code[i]));
        running_mean_add(&mean, (double)seconds);
    }
    out->fill = out->impute ? running_mean_value(&mean) : 0.0;
    return PBOOST_OK;
}

static pboost_status learn_feature(pboost_feature *out, const pboost_table *table, size_t col,
                                   const pboost_encoding_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const column *c = &table->column[col];

    out->impute = o->impute;
    out->date = o->date != NULL ? o->date[col] : 0;
    NEED(out->name = pboost_copy(c->name), err);
    if (c->n_missing == table->rows)
        FAIL(err, PBOOST_BAD_DATA, "%s: column '%s' is missing in every row; --drop it",
             table->path, pboost_shown_text(c->name).text);
    if (c->n_missing > 0 && !o->impute)
        TRY(pboost_refuse_missing(table, c, "fill in the cell, or use --impute mean", err));
    if (out->date != 0)
        TRY(learn_date(out, table, c, err));
    else if (c->kind == COLUMN_TEXT && c->offender != SIZE_MAX)
        TRY(pboost_refuse_offender(table, c, err));
    else if (c->kind == COLUMN_TEXT)
        TRY(learn_category(out, table, c, o->max_levels, err));
    else
        TRY(learn_number(out, table, col, err));
done:
    return st;
}

pboost_status pboost_encoding_learn(pboost_encoding *out, const pboost_table *table,
                                    const pboost_encoding_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_encoding_options o;

    *out = (pboost_encoding){0};
    if (options->struct_size != sizeof o)
        FAIL(err, PBOOST_INVALID,
             "struct_size of the encoding options is %zu; it must be %zu, as "
             "PBOOST_ENCODING_OPTIONS_INIT sets it",
             options->struct_size, sizeof o);
    o = *options;
    if (table->svm != NULL)
        FAIL(err, PBOOST_BAD_DATA,
             "%s is an svmlight file, which has no columns by name; only train, plan, predict "
             "and evaluate take it",
             table->path);
    out->refuse_unseen = o.refuse_unseen;
    NEED(out->feature = calloc(table->cols, sizeof *out->feature), err);
    for (size_t col = 0; col < table->cols; col++)
        if (o.use == NULL || o.use[col]) {
            pboost_feature *f = &out->feature[out->n_features++];
            TRY(learn_feature(f, table, col, &o, err));
        }
    TRY(pboost_encoding_name_columns(out, table->path, err));
done:
    if (st != PBOOST_OK)
        pboost_encoding_free(out);
    return st;
}

/* ---- Extreme values ---------------------------------------------------------------------------
 */

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

/* Deviations are halved, and divided by the largest before they are squared: nothing overflows. */
static void winsorize(pboost_feature *f, const double *number, size_t n, double z)
{
    running_mean mean = {0}, square = {0};
    double most = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(number[i]))
            running_mean_add(&mean, number[i]);
    double center = mean.count > 0 ? running_mean_value(&mean) : 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(number[i] / 2 - center / 2));
    for (size_t i = 0; i < n && most > 0; i++) {
        double r = (number[i] / 2 - center / 2) / most;
        if (!isnan(number[i]))
            running_mean_add(&square, r * r);
    }
    double reach = most > 0 ? 2 * z * most * sqrt(running_mean_value(&square)) : 0;
    f->winsorize = true;
    f->lower = center - reach;
    f->upper = center + reach;
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
        if (f->n_levels > 0 || f->date != 0)
            continue;
        TRY(pboost_table_find(&col, table, f->name, err));
        TRY(pboost_table_numbers(&number, table, col, true, err));
        if (!has_two_values(number, pboost_table_rows(table)))
            winsorize(f, number, pboost_table_rows(table), z);
    }
done:
    return st;
}

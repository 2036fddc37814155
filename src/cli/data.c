/* From a file to features, labels and keys. */
#include "data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void names_free(cli_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
}

void table_reading_free(table_reading *t)
{
    names_free(&t->text);
    names_free(&t->numbers);
    *t = (table_reading){0};
}

pboost_status table_reading_add_n(table_reading *t, const char *name, size_t n, bool text,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    cli_names *names = text ? &t->text : &t->numbers;

    GROW(names->name, names->capacity, names->n + 1, err);
    NEED(names->name[names->n] = strndup(name, n), err);
    names->n++;
done:
    return st;
}

pboost_status table_reading_add(table_reading *t, const char *name, pboost_error *err)
{
    return table_reading_add_n(t, name, strlen(name), true, err);
}

pboost_status table_reading_add_encoding(table_reading *t, const pboost_encoding *encoding,
                                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t i = 0; i < encoding->n_features; i++) {
        const pboost_feature *f = &encoding->feature[i];
        TRY(table_reading_add_n(t, f->name, strlen(f->name), f->n_levels > 0 || f->date != 0, err));
    }
done:
    return st;
}

pboost_status table_reading_read(pboost_table **out, table_reading *t, const char *path,
                                 pboost_error *err)
{
    pboost_table_options options = PBOOST_TABLE_OPTIONS_INIT;
    options.text = (const char *const *)t->text.name;
    options.n_text = t->text.n;
    options.numbers = (const char *const *)t->numbers.name;
    options.n_numbers = t->numbers.n;
    options.missing = t->missing;
    options.n_missing = t->n_missing;
    return pboost_table_read(out, path, &options, err);
}

pboost_status data_features(double **out, pboost_unseen *unseen, const pboost_encoding *encoding,
                            const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *x = NULL;
    size_t cells;

    *out = NULL;
    if (__builtin_mul_overflow(pboost_table_rows(table), encoding->n_columns, &cells))
        cells = SIZE_MAX;
    NEED(x = pboost_alloc(cells, sizeof *x), err);
    TRY(pboost_encoding_apply(x, unseen, encoding, table, err));
    *out = x;
    x = NULL;
done:
    free(x);
    return st;
}

void data_note_unseen(const cli_context *cli, const pboost_unseen *unseen,
                      const pboost_encoding *encoding, bool trees, const pboost_table *table)
{
    if (unseen->cells == 0)
        return;
    const pboost_feature *f = &encoding->feature[unseen->feature];
    cli_note(
        cli,
        "note: %zu cell%s a category that was not in training and count%s as the first level%s; "
        "the first is '%s' in column '%s', %s:%zu, which counts as '%s'",
        unseen->cells, unseen->cells == 1 ? " has" : "s have", unseen->cells == 1 ? "s" : "",
        trees ? " (for trees: as missing)" : "", unseen->level, f->name,
        pboost_table_row_path(table, unseen->row), pboost_table_line(table, unseen->row),
        f->level[0]);
}

/* "'a', 'b', ..." for messages. */
static void list_levels(char *out, size_t size, const pboost_table *table, size_t col)
{
    size_t used = 0, n = pboost_table_n_levels(table, col), shown = n < 5 ? n : 5;
    *out = '\0';
    for (size_t i = 0; i < shown && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s'%s'", i > 0 ? ", " : "",
                                 pboost_table_level(table, col, (uint32_t)i));
    if (n > shown && used < size)
        snprintf(out + used, size - used, ", ...");
}

static pboost_status positive_labels(double *y, const pboost_table *table, size_t col,
                                     const char *positive, pboost_error *err)
{
    const uint32_t *code = pboost_table_codes(table, col);
    uint32_t wanted = UINT32_MAX, other = UINT32_MAX;
    char levels[200];

    for (size_t i = 0; i < pboost_table_n_levels(table, col); i++)
        if (strcmp(pboost_table_level(table, col, (uint32_t)i), positive) == 0)
            wanted = (uint32_t)i;
    list_levels(levels, sizeof levels, table, col);
    if (wanted == UINT32_MAX)
        return pboost_fail(
            err, PBOOST_BAD_DATA, "%s: label '%s' has no cell '%s' (--positive); its values are %s",
            pboost_table_path(table), pboost_table_name(table, col), positive, levels);
    for (size_t i = 0; i < pboost_table_rows(table); i++) {
        if (code[i] == UINT32_MAX)
            return pboost_fail(err, PBOOST_BAD_DATA, "%s:%zu: label '%s' is missing",
                               pboost_table_row_path(table, i), pboost_table_line(table, i),
                               pboost_table_name(table, col));
        if (code[i] != wanted && other == UINT32_MAX)
            other = code[i];
        if (code[i] != wanted && code[i] != other)
            return pboost_fail(
                err, PBOOST_BAD_DATA,
                "%s:%zu: label '%s' is '%s', a third value beside '%s' and '%s'; a logistic label "
                "has two",
                pboost_table_row_path(table, i), pboost_table_line(table, i),
                pboost_table_name(table, col), pboost_table_level(table, col, code[i]), positive,
                pboost_table_level(table, col, other));
        y[i] = code[i] == wanted;
    }
    return PBOOST_OK;
}

static pboost_status number_labels(double *y, const pboost_table *table, size_t col,
                                   pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;
    char levels[200];

    if (pboost_table_is_text(table, col)) {
        list_levels(levels, sizeof levels, table, col);
        FAIL(err, PBOOST_BAD_DATA, "%s: label '%s' is text (%s), but %s needs numbers%s",
             pboost_table_path(table), pboost_table_name(table, col), levels,
             pboost_family_name(family),
             family == PBOOST_LOGISTIC ? "; say with --positive VALUE which value counts as 1"
                                       : "");
    }
    TRY(pboost_table_numbers(&number, table, col, false, err));
    for (size_t i = 0; i < pboost_table_rows(table); i++) {
        if (!pboost_family_allows(family, number[i]))
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: label '%s' is %.17g; %s labels must be %s%s",
                 pboost_table_row_path(table, i), pboost_table_line(table, i),
                 pboost_table_name(table, col), number[i], pboost_family_name(family),
                 pboost_family_labels(family),
                 family == PBOOST_LOGISTIC ? ", or use --positive VALUE" : "");
        y[i] = number[i];
    }
done:
    return st;
}

pboost_status data_labels(double **out, const pboost_table *table, const char *name,
                          const char *positive, pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *y = NULL;
    size_t col;

    *out = NULL;
    TRY(pboost_table_find(&col, table, name, err));
    NEED(y = pboost_alloc(pboost_table_rows(table), sizeof *y), err);
    if (positive != NULL)
        TRY(positive_labels(y, table, col, positive, err));
    else
        TRY(number_labels(y, table, col, family, err));
    *out = y;
    y = NULL;
done:
    free(y);
    return st;
}

pboost_status data_numbers(double **out, const pboost_table *table, const char *name,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;
    size_t col, n = pboost_table_rows(table);

    *out = NULL;
    if (name == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, name, err));
    TRY(pboost_table_numbers(&number, table, col, false, err));
    NEED(*out = pboost_alloc(n, sizeof **out), err);
    memcpy(*out, number, n * sizeof **out);
done:
    return st;
}

pboost_status data_weights(double **out, const pboost_table *table, const char *name,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(data_numbers(out, table, name, err));
    for (size_t i = 0; *out != NULL && i < pboost_table_rows(table); i++)
        if ((*out)[i] < 0.0)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: weight '%s' is %.17g; it must be at least 0",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), name, (*out)[i]);
    return PBOOST_OK;
done:
    free(*out);
    *out = NULL;
    return st;
}

/* The first row whose id another row before it has; rows and levels are in order of appearance, so
 * a row that repeats is one whose code is not new. */
static bool find_repeat(size_t *row, size_t *earlier, const uint32_t *code, size_t n)
{
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        if (code[i] == next) {
            next++;
            continue;
        }
        *row = i;
        for (*earlier = 0; code[*earlier] != code[i];)
            ++*earlier;
        return true;
    }
    return false;
}

pboost_status data_row_keys(uint64_t **out, const pboost_table *table, const char *name,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t *key = NULL;
    size_t col, row, earlier, n = pboost_table_rows(table);

    *out = NULL;
    if (name == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, name, err));
    const uint32_t *code = pboost_table_codes(table, col);
    for (size_t i = 0; i < n; i++)
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: id '%s' is missing",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), name);
    if (find_repeat(&row, &earlier, code, n))
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: id '%s' is '%s', as on line %zu; ids must be unique",
             pboost_table_row_path(table, row), pboost_table_line(table, row), name,
             pboost_table_level(table, col, code[row]), pboost_table_line(table, earlier));
    NEED(key = pboost_alloc(n, sizeof *key), err);
    for (size_t i = 0; i < n; i++)
        key[i] = pboost_id_key(pboost_table_level(table, col, code[i]));
    *out = key;
    key = NULL;
done:
    free(key);
    return st;
}

void predictions_free(predictions *p)
{
    free(p->mean);
    free(p->lower);
    free(p->upper);
    *p = (predictions){0};
}

/* Trees take the columns of the table as they are. */
static pboost_status predict_mean(double *mean, const pboost_model *model,
                                  const pboost_table *table, const pboost_samples *samples,
                                  int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_sources sources = {0};

    if (model->mixture.n == 0)
        return pboost_predict(mean, model->family, samples, &model->coef, threads, err);
    TRY(pboost_sources_read(&sources, NULL, &model->encoding, table, err));
    TRY(pboost_mixture_predict(mean, model->family, samples, &sources.columns, &model->mixture,
                               threads, err));
done:
    pboost_sources_free(&sources);
    return st;
}

pboost_status data_predict(predictions *out, const pboost_model *model, const pboost_table *table,
                           double level, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *x = NULL, *offset = NULL;
    size_t n = pboost_table_rows(table);

    *out = (predictions){0};
    TRY(data_features(&x, &out->unseen, &model->encoding, table, err));
    TRY(data_numbers(&offset, table, model->offset, err));
    pboost_matrix matrix = pboost_matrix_f64(x, n, model->encoding.n_columns);
    pboost_samples samples = {.x = &matrix, .n = n, .offset = offset};
    NEED(out->mean = pboost_alloc(n, sizeof *out->mean), err);
    TRY(predict_mean(out->mean, model, table, &samples, threads, err));
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out->mean[i]))
            FAIL(err, PBOOST_BAD_DATA,
                 "%s:%zu: the model predicts %g; its weights are too large for these features",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), out->mean[i]);
    if (level > 0.0) {
        NEED(out->lower = pboost_alloc(n, sizeof *out->lower), err);
        NEED(out->upper = pboost_alloc(n, sizeof *out->upper), err);
        TRY(pboost_predict_interval(out->lower, out->upper, model->family, &samples, &model->coef,
                                    model->covariance, level, threads, err));
    }
done:
    free(x);
    free(offset);
    if (st != PBOOST_OK)
        predictions_free(out);
    return st;
}

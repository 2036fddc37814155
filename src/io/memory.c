/* Tables from columns in memory, such as those of a data frame.  Text goes through the same door as
 * the cells of a file, so that the same cells make the same column. */
#include <math.h>
#include <string.h>

#include "table.h"
#include "try.h"

static pboost_status put_numbers(pboost_table *table, column *c, const pboost_column_cells *from,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < table->rows; i++) {
        double v = from->number[i];
        if (isnan(v)) {
            pboost_column_put_missing(c, i);
        } else if (isinf(v)) {
            TRY(pboost_column_put_text(table, c, i, v < 0 ? "-inf" : "inf", v < 0 ? 4 : 3, err));
        } else {
            c->kind = COLUMN_NUMBER;
            c->number[i] = v;
        }
    }
done:
    return st;
}

static pboost_status put_texts(pboost_table *table, column *c, const pboost_column_cells *from,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < table->rows; i++) {
        uint32_t code = from->code[i];
        if (code == DICTIONARY_NONE) {
            pboost_column_put_missing(c, i);
            continue;
        }
        if (code >= from->n_levels)
            FAIL(err, PBOOST_INVALID, "column '%s' has the code %u, but only %zu levels",
                 pboost_shown_text(from->name).text, code, from->n_levels);
        const char *text = from->level[code];
        TRY(pboost_column_put_text(table, c, i, text, strlen(text), err));
    }
done:
    return st;
}

/* Fills a column.  The others have no rows yet: only this one may change its kind. */
static pboost_status fill(pboost_table *table, size_t col, const pboost_column_cells *from,
                          pboost_error *err)
{
    column *c = &table->column[col];
    bool text = c->kind == COLUMN_TEXT;

    if (c->skipped)
        return PBOOST_OK;
    if (from->number != NULL && text)
        return pboost_fail(err, PBOOST_INVALID,
                           "column '%s' is to be text, but it has numbers; give it levels",
                           pboost_shown_text(from->name).text);
    return from->number != NULL ? put_numbers(table, c, from, err) : put_texts(table, c, from, err);
}

static pboost_status build(pboost_table **out, const char *name, const pboost_column_cells *from,
                           size_t n_columns, size_t rows, const pboost_table_options *options,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_table_create(out, name, err));
    (*out)->options = options;
    (*out)->is_array = true;
    for (size_t i = 0; i < n_columns; i++)
        TRY(pboost_table_add_column(*out, from[i].name, strlen(from[i].name), err));
    TRY(pboost_table_reserve(*out, rows, err));
    (*out)->rows = rows;
    for (size_t i = 0; i < n_columns; i++)
        TRY(fill(*out, i, &from[i], err));
    pboost_table_finish(*out);
    (*out)->options = NULL;
done:
    if (st != PBOOST_OK) {
        pboost_table_free(*out);
        *out = NULL;
    }
    return st;
}

pboost_status pboost_table_from_columns(pboost_table **out, const char *name,
                                        const pboost_column_cells *columns, size_t n_columns,
                                        size_t rows, const pboost_table_options *options,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *first = NULL;
    pboost_table_options with = PBOOST_TABLE_OPTIONS_INIT;
    const char **text = NULL;

    *out = NULL;
    if (options != NULL && options->struct_size != sizeof with)
        FAIL(err, PBOOST_INVALID,
             "struct_size of the table options is %zu; it must be %zu, as "
             "PBOOST_TABLE_OPTIONS_INIT sets it",
             options->struct_size, sizeof with);
    if (n_columns == 0 || rows == 0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s has %zu rows and %zu columns; it must have at least 1 of "
             "each",
             name, rows, n_columns);
    TRY(build(out, name, columns, n_columns, rows, options, err));
    if (!(*out)->read_again)
        goto done;
    first = *out; /* words and numbers are mixed in some columns: those are text */
    *out = NULL;
    with = options != NULL ? *options : with;
    NEED(text = pboost_alloc(with.n_text + n_columns, sizeof *text), err);
    if (with.n_text > 0)
        memcpy(text, with.text, with.n_text * sizeof *text);
    for (size_t i = 0; i < n_columns; i++)
        if (first->column[i].read_again)
            text[with.n_text++] = first->column[i].name;
    with.text = text;
    TRY(build(out, name, columns, n_columns, rows, &with, err));
done:
    free(text);
    pboost_table_free(first);
    return st;
}

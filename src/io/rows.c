/* Rows that the caller brings, such as the result of a query. */
#include <string.h>

#include "table.h"
#include "try.h"
#include "utf8.h"

typedef struct {
    const pboost_rows *rows;
    pboost_table *table;
    size_t given; /* rows before those of the table */
} reader;

static pboost_status rows_open(void **out, pboost_table *table, source *src, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reader *r = calloc(1, sizeof *r);
    const char *const *names;
    size_t n;

    (void)src;
    *out = r;
    NEED(r, err);
    *r = (reader){.rows = table->options->rows, .table = table};
    table->is_array = true; /* a place is a row */
    TRY(r->rows->start(r->rows->self, &n, &names, err));
    for (size_t i = 0; i < n; i++)
        TRY(pboost_table_add_column(table, names[i], strlen(names[i]), err));
done:
    return st;
}

/* What cannot stand in a text column. */
static pboost_status check_text(const reader *r, size_t col, const pboost_cell *cell,
                                pboost_error *err)
{
    size_t valid;

    if (cell->text == NULL ||
        (!pboost_utf8_bad(&valid, cell->text, cell->length) && valid == cell->length))
        return PBOOST_OK;
    return pboost_fail(
        err, PBOOST_BAD_DATA, "%s: row %zu: column '%s' is not text in UTF-8 (byte 0x%02x)",
        r->table->path, r->given + r->table->rows + 1,
        pboost_shown_text(pboost_dictionary_get(&r->table->names, (uint32_t)col)).text,
        (unsigned)(unsigned char)cell->text[valid]);
}

static pboost_status rows_rows(void *self, size_t end, bool *over, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reader *r = self;
    pboost_table *t = r->table;
    const pboost_cell *cell;

    if (r->given > 0)
        TRY(pboost_table_mark_line(t, 0, r->given, err));
    for (; t->rows < end; t->rows++) {
        TRY(r->rows->next(r->rows->self, &cell, err));
        *over = cell == NULL;
        if (*over)
            break;
        if (t->rows % 1024 == 0)
            pboost_table_progress(t, "reading", (double)(r->given + t->rows), 0.0);
        TRY(pboost_table_reserve(t, t->rows + 1, err));
        for (size_t i = 0; i < t->cols; i++) {
            TRY(check_text(r, i, &cell[i], err));
            TRY(pboost_column_put_cell(t, &t->column[i], t->rows, &cell[i], err));
        }
    }
    r->given += t->rows;
    if (*over && r->given == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s gives no rows", t->path);
done:
    return st;
}

const table_format PBOOST_ROWS = {rows_open, rows_rows, free};

/* Tables: columns of numbers or of dictionary codes, and where their rows stand in the file.
 *
 * A column is held as numbers until a cell is text that does not stand for a missing number; cells
 * that are no number are kept as words beside the numbers.  What the column is, types.c decides at
 * the end from all its cells.  A cell that does not fit is an error only when the column is used,
 * so columns that nobody uses may hold anything. */
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "copy.h"
#include "number.h"
#include "try.h"

/* ---- How values and places are shown --------------------------------------------------------- */

shown pboost_shown(const char *text, size_t n)
{
    static const char DOTS[] = "...";
    shown out;
    size_t limit = sizeof out.text - sizeof DOTS;
    bool cut = n > limit;

    if (cut)
        for (n = limit; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    for (size_t i = 0; i < n; i++)
        out.text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    memcpy(out.text + n, cut ? DOTS : "", cut ? sizeof DOTS : 1);
    return out;
}

shown pboost_shown_text(const char *text)
{
    return pboost_shown(text, strlen(text));
}

place pboost_place(const pboost_table *table, size_t row)
{
    place out;
    const char *path = pboost_table_row_path(table, row);
    size_t line = pboost_table_line(table, row), n = strlen(path), room = PLACE_BYTES - 40;
    const char *tail = n > room ? path + (n - room) : path;

    snprintf(out.text, sizeof out.text, "%s%.*s%s%zu", n > room ? "..." : "", (int)room, tail,
             table->is_array ? ": row " : ":", line);
    return out;
}

/* ---- Making a table -------------------------------------------------------------------------- */

pboost_status pboost_table_create(pboost_table **out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *table = calloc(1, sizeof *table);

    NEED(table, err);
    NEED(table->path = pboost_copy(path), err);
done:
    if (st != PBOOST_OK) {
        pboost_table_free(table);
        table = NULL;
    }
    *out = table;
    return st;
}

void pboost_table_progress(const pboost_table *table, const char *stage, double done, double total)
{
    if (table->cancel != NULL && table->cancel->progress != NULL)
        table->cancel->progress(table->cancel->user, stage, done, total);
}

pboost_status pboost_table_add_part(pboost_table *table, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_part *grown = realloc(table->part, (table->n_parts + 1) * sizeof *grown);

    NEED(grown, err);
    table->part = grown;
    NEED(grown[table->n_parts].path = pboost_copy(path), err);
    grown[table->n_parts++].first_row = table->rows;
done:
    return st;
}

static bool among(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static column_kind kind_asked(const pboost_table_options *options, const char *name)
{
    return options == NULL                                     ? COLUMN_UNKNOWN
           : among(options->text, options->n_text, name)       ? COLUMN_TEXT
           : among(options->numbers, options->n_numbers, name) ? COLUMN_NUMBER
                                                               : COLUMN_UNKNOWN;
}

/* unused: nobody asks for it, unless `asked` does. */
static column fresh_column(column_kind asked, bool unused)
{
    return (column){.kind = asked,
                    .asked = asked,
                    .forced = asked != COLUMN_UNKNOWN,
                    .skipped = asked == COLUMN_UNKNOWN && unused,
                    .first_missing = SIZE_MAX,
                    .offender = SIZE_MAX};
}

static void free_cells(column *c)
{
    free(c->number);
    free(c->code);
    pboost_dictionary_free(&c->levels);
}

void pboost_table_clear(pboost_table *table, bool open)
{
    size_t keep = open && table->n_parts > 0 ? 1 : 0;

    for (size_t i = 0; i < table->cols; i++) {
        column *c = &table->column[i];
        free_cells(c);
        *c = fresh_column(c->asked, c->skipped);
    }
    for (size_t i = 0; i + keep < table->n_parts; i++)
        free(table->part[i].path);
    if (keep > 0)
        table->part[0] = (table_part){table->part[table->n_parts - 1].path, 0};
    table->n_parts = keep;
    table->rows = table->capacity = table->n_marks = 0;
    if (table->svm != NULL)
        pboost_svm_clear(table->svm);
}

pboost_status pboost_table_add_column(pboost_table *table, const char *name, size_t n,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t number;
    column *c;

    TRY(pboost_dictionary_add(&number, &table->names, name, n, err));
    if (number < table->cols)
        FAIL(err, PBOOST_BAD_DATA, "%s: columns %zu and %zu are both named '%s'", table->path,
             (size_t)number + 1, table->cols + 1, pboost_shown(name, n).text);
    GROW(table->column, table->cols_capacity, table->cols + 1, err);
    c = &table->column[table->cols++];
    const char *own = pboost_dictionary_get(&table->names, number);
    const pboost_table_options *o = table->options;
    *c = fresh_column(kind_asked(o, own),
                      o != NULL && (o->only_named || among(o->unused, o->n_unused, own)));
done:
    return st;
}

static void *resized(void *old, size_t n, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? NULL : realloc(old, bytes);
}

/* From `old` rows to `capacity`; new rows have no word. */
static pboost_status resize_column(column *c, size_t old, size_t capacity, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (c->skipped)
        goto done;
    if (c->kind != COLUMN_TEXT) {
        double *number = resized(c->number, capacity, sizeof *number);
        NEED(number, err);
        c->number = number;
    }
    if (c->kind == COLUMN_TEXT || c->code != NULL) {
        uint32_t *code = resized(c->code, capacity, sizeof *code);
        NEED(code, err);
        c->code = code;
        if (capacity > old)
            memset(code + old, 0xff, (capacity - old) * sizeof *code);
    }
done:
    return st;
}

pboost_status pboost_table_reserve(pboost_table *table, size_t rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t capacity = table->capacity;

    if (rows <= capacity)
        goto done;
    if (capacity == 0) /* a file of one line may have a million columns */
        capacity = table->cols <= 1000 ? 1024 : 16;
    while (capacity < rows)
        capacity = capacity > SIZE_MAX / 2 ? SIZE_MAX : 2 * capacity;
    for (size_t i = 0; i < table->cols; i++)
        TRY(resize_column(&table->column[i], table->capacity, capacity, err));
    table->capacity = capacity;
done:
    return st;
}

pboost_status pboost_table_mark_line(pboost_table *table, size_t row, size_t shift,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(table->mark, table->marks_capacity, table->n_marks + 1, err);
    table->mark[table->n_marks++] = (line_mark){row, shift};
done:
    return st;
}

void pboost_column_put_missing(column *c, size_t row)
{
    if (c->skipped)
        return;
    if (c->kind == COLUMN_TEXT)
        c->code[row] = DICTIONARY_NONE;
    else
        c->number[row] = NAN;
    if (c->n_missing++ == 0)
        c->first_missing = row;
}

/* Keeps a cell that is not a number. */
static pboost_status put_word(pboost_table *table, column *c, size_t row, const char *text,
                              size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (c->code == NULL) {
        NEED(c->code = pboost_alloc(table->capacity, sizeof *c->code), err);
        memset(c->code, 0xff, table->capacity * sizeof *c->code);
    }
    TRY(pboost_dictionary_add(&c->code[row], &c->levels, text, n, err));
done:
    return st;
}

static void note_offender(column *c, size_t row, const char *text, size_t n, bool is_text)
{
    if (c->offender != SIZE_MAX)
        return;
    c->offender = row;
    c->offender_text = is_text;
    c->offender_cell = pboost_shown(text, n);
}

static bool is_missing(const pboost_table_options *options, const char *text, size_t n)
{
    for (size_t i = 0; options != NULL && i < options->n_missing; i++)
        if (strlen(options->missing[i]) == n && memcmp(options->missing[i], text, n) == 0)
            return true;
    return false;
}

/* Whether the cell was a number, finite or not. */
static bool put_number(const pboost_table *table, column *c, size_t row, const char *text, size_t n)
{
    switch (pboost_number_parse(&c->number[row], text, n)) {
    case NUMBER_FINITE:
        if (!table->comma_separates && memchr(text, '.', n) != NULL)
            c->n_points++;
        return true;
    case NUMBER_NOT_FINITE:
        c->number[row] = NAN;
        note_offender(c, row, text, n, false);
        return true;
    case NUMBER_NONE:
        break;
    }
    if (!table->comma_separates && pboost_comma_parse(&c->number[row], text, n)) {
        c->n_commas++;
        return true;
    }
    c->number[row] = NAN;
    return false;
}

/* A cell that is not missing; is_text: a number in it is text, unless numbers were asked for. */
static pboost_status put_value(pboost_table *table, column *c, size_t row, const char *text,
                               size_t n, bool is_text, pboost_error *err)
{
    if (c->kind != COLUMN_TEXT && !(is_text && !c->forced) && put_number(table, c, row, text, n)) {
        c->kind = COLUMN_NUMBER;
        return PBOOST_OK;
    }
    if (c->kind != COLUMN_TEXT)
        c->number[row] = NAN;
    if (c->kind == COLUMN_UNKNOWN && (is_text || !pboost_means_missing(text, n))) {
        c->kind = COLUMN_TEXT; /* all cells before were missing, or words such as "unknown" */
        free(c->number);
        c->number = NULL;
    }
    return put_word(table, c, row, text, n, err);
}

pboost_status pboost_column_put_text(pboost_table *table, column *c, size_t row, const char *text,
                                     size_t n, pboost_error *err)
{
    bool na = n == 0 || (n == 2 && memcmp(text, "NA", 2) == 0);

    if (na || c->skipped || is_missing(table->options, text, n)) {
        pboost_column_put_missing(c, row);
        return PBOOST_OK;
    }
    return put_value(table, c, row, text, n, false, err);
}

pboost_status pboost_column_put_cell(pboost_table *table, column *c, size_t row,
                                     const pboost_cell *cell, pboost_error *err)
{
    if (c->skipped || cell->text == NULL || cell->length == 0 ||
        is_missing(table->options, cell->text, cell->length)) {
        pboost_column_put_missing(c, row);
        return PBOOST_OK;
    }
    return put_value(table, c, row, cell->text, cell->length, cell->is_text, err);
}

void pboost_table_finish(pboost_table *table)
{
    size_t rows = table->rows;

    for (size_t i = 0; i < table->cols; i++) {
        column *c = &table->column[i];
        c->name = pboost_dictionary_get(&table->names, (uint32_t)i);
        pboost_column_settle(table, c);
        if (rows > 0 && rows < table->capacity)
            (void)resize_column(c, table->capacity, rows, NULL); /* or the larger block stays */
    }
}

void pboost_table_free(pboost_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->cols; i++)
        free_cells(&table->column[i]);
    free(table->column);
    pboost_dictionary_free(&table->names);
    free(table->mark);
    for (size_t i = 0; i < table->n_parts; i++)
        free(table->part[i].path);
    free(table->part);
    free(table->path);
    pboost_svm_free(table->svm);
    free(table);
}

/* ---- Using a table --------------------------------------------------------------------------- */

size_t pboost_table_rows(const pboost_table *table)
{
    return table->rows;
}

size_t pboost_table_cols(const pboost_table *table)
{
    return table->cols;
}

const char *pboost_table_name(const pboost_table *table, size_t col)
{
    return table->column[col].name;
}

const char *pboost_table_path(const pboost_table *table)
{
    return table->path;
}

const char *pboost_table_row_path(const pboost_table *table, size_t row)
{
    size_t i = table->n_parts;

    while (i > 1 && table->part[i - 1].first_row > row)
        i--;
    return i > 0 ? table->part[i - 1].path : table->path;
}

size_t pboost_table_line(const pboost_table *table, size_t row)
{
    size_t low = 0, high = table->n_marks; /* marks before low are at or above row */

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->mark[middle].row <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return row + (table->is_array ? 1 : 2) + (low > 0 ? table->mark[low - 1].shift : 0);
}

pboost_status pboost_table_find(size_t *col, const pboost_table *table, const char *name,
                                pboost_error *err)
{
    uint32_t number = pboost_dictionary_find(&table->names, name, strlen(name));
    char list[320];
    size_t used = 0;

    *col = number;
    if (number != DICTIONARY_NONE)
        return PBOOST_OK;
    *col = SIZE_MAX;
    list[0] = '\0';
    for (size_t i = 0; i < table->cols; i++) {
        shown s = pboost_shown_text(table->column[i].name);
        if (used + strlen(s.text) + 8 > sizeof list) {
            snprintf(list + used, sizeof list - used, ", ...");
            break;
        }
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", s.text);
    }
    return pboost_fail(err, PBOOST_BAD_DATA, "%s has no column '%s'; its columns are %s",
                       table->path, pboost_shown_text(name).text, list);
}

bool pboost_table_is_text(const pboost_table *table, size_t col)
{
    return table->column[col].kind == COLUMN_TEXT;
}

pboost_status pboost_refuse_offender(const pboost_table *table, const column *c, pboost_error *err)
{
    shown name = pboost_shown_text(c->name);
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s: column '%s' is '%s', but other cells are numbers; correct the "
                       "cell, or say --na '%s' (it is missing) or --types %s=category",
                       pboost_place(table, c->offender).text, name.text, c->offender_cell.text,
                       c->offender_cell.text, name.text);
}

/* Names the first cell that is not a number. */
static pboost_status refuse_text(const pboost_table *table, const column *c, pboost_error *err)
{
    const char *level = NULL;
    double v;
    size_t row = 0;

    for (; row < table->rows; row++) {
        if (c->code[row] == DICTIONARY_NONE)
            continue;
        level = pboost_dictionary_get(&c->levels, c->code[row]);
        if (pboost_number_parse(&v, level, strlen(level)) == NUMBER_NONE)
            break;
    }
    if (row == table->rows)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s: column '%s' was read as text, not as numbers",
                           table->path, pboost_shown_text(c->name).text);
    return pboost_fail(err, PBOOST_BAD_DATA, "%s: column '%s' is '%s'; it must be a number",
                       pboost_place(table, row).text, pboost_shown_text(c->name).text,
                       pboost_shown_text(level).text);
}

pboost_status pboost_table_cells(const double **out, const pboost_table *table, size_t col,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const column *c = &table->column[col];

    *out = NULL;
    if (c->skipped)
        FAIL(err, PBOOST_INVALID, "%s: column '%s' was not read; name it in the table options",
             table->path, pboost_shown_text(c->name).text);
    if (c->kind == COLUMN_TEXT)
        TRY(refuse_text(table, c, err));
    if (c->n_commas > 0 && c->n_points > 0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: column '%s' has numbers with a decimal comma and numbers with a point; write all "
             "of them in the same way",
             table->path, pboost_shown_text(c->name).text);
    *out = c->number;
done:
    return st;
}

pboost_status pboost_table_numbers(const double **out, const pboost_table *table, size_t col,
                                   bool allow_missing, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const column *c = &table->column[col];
    shown name = pboost_shown_text(c->name);
    const double *number;

    *out = NULL;
    TRY(pboost_table_cells(&number, table, col, err));
    if (c->offender != SIZE_MAX && c->offender_text)
        TRY(pboost_refuse_offender(table, c, err));
    if (c->offender != SIZE_MAX)
        FAIL(err, PBOOST_BAD_DATA, "%s: column '%s' is '%s'; it must be a finite number",
             pboost_place(table, c->offender).text, name.text, c->offender_cell.text);
    if (!allow_missing && c->n_missing > 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: column '%s' is missing; it must be a number",
             pboost_place(table, c->first_missing).text, name.text);
    *out = number;
done:
    return st;
}

const uint32_t *pboost_table_codes(const pboost_table *table, size_t col)
{
    return table->column[col].code;
}

size_t pboost_table_n_levels(const pboost_table *table, size_t col)
{
    return table->column[col].levels.n;
}

const char *pboost_table_level(const pboost_table *table, size_t col, uint32_t code)
{
    return pboost_dictionary_get(&table->column[col].levels, code);
}

bool pboost_table_level_number(double *out, const pboost_table *table, size_t col, uint32_t code)
{
    const char *level = pboost_table_level(table, col, code);
    size_t n = strlen(level);

    return pboost_number_parse(out, level, n) == NUMBER_FINITE ||
           (!table->comma_separates && pboost_comma_parse(out, level, n));
}

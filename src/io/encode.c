/* Applying an encoding: from the cells of a table to the numbers that a model sees. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "date.h"
#include "encoding.h"
#include "try.h"

enum { BLOCK = 256, REFERENCE = -1, UNSEEN = -2, REPORT_ROWS = 1 << 17, TAKEN_PARTS = 32 };

/* Where a feature comes from and goes to. */
typedef struct step {
    void (*fill_block)(double *x, size_t stride, const struct step *s, size_t first, size_t rows);
    const double *number;
    double fill;
    double lower, upper;
    const uint32_t *code;
    int32_t *column_of; /* by code of the table: indicator within the feature, or REFERENCE */
    int64_t *seconds;   /* by code of the table: a date */
    unsigned date;
    size_t at, n; /* its columns in x */
    const pboost_curve *curve;
    size_t curve_at; /* columns of the curve in x */
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
                         pboost_shown_text(f->level[k]).text);
        used += (size_t)n;
    }
    return pboost_fail(
        err, PBOOST_BAD_DATA,
        "%s: column '%s' is '%s', which was not in the training table; the known values are %s",
        pboost_place(table, row).text, pboost_shown_text(c->name).text,
        pboost_shown_text(level).text, known);
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
        if (code != DICTIONARY_NONE && s->column_of[code] >= 0)
            to[s->column_of[code]] = 1.0;
    }
}

static void fill_date(double *x, size_t stride, const step *s, size_t first, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        double *to = x + i * stride + s->at;
        uint32_t code = s->code != NULL ? s->code[first + i] : DICTIONARY_NONE;
        double seconds = code != DICTIONARY_NONE ? (double)s->seconds[code] : s->fill;

        memset(to, 0, s->n * sizeof *to);
        for (size_t p = 0; p < DATE_PARTS; p++) {
            if (!(s->date & PBOOST_DATE_PARTS[p].bit))
                continue;
            double number = pboost_date_number(seconds, &PBOOST_DATE_PARTS[p]);
            int indicator = (int)number - PBOOST_DATE_PARTS[p].first - 1;
            if (PBOOST_DATE_PARTS[p].values == 0)
                *to = number;
            else if (indicator >= 0)
                to[indicator] = 1.0;
            to += pboost_date_part_columns(p);
        }
    }
}

/* Counts the cells whose code is no level. */
static void count_unseen(pboost_unseen *unseen, const pboost_table *table, const column *c,
                         const int32_t *column_of, size_t feature)
{
    for (size_t i = 0; i < table->rows; i++) {
        if (c->code[i] == DICTIONARY_NONE || column_of[c->code[i]] != UNSEEN)
            continue;
        if (unseen->cells++ == 0) {
            unseen->row = i;
            unseen->feature = feature;
            unseen->level = pboost_dictionary_get(&c->levels, c->code[i]);
        }
    }
}

static char **find(const pboost_feature *f, const char *text)
{
    return bsearch(&text, f->level, f->n_levels, sizeof *f->level, pboost_by_bytes);
}

/* The level of a text; NULL: it is none.  True and false are the same in any case, because the
 * programs that write files do not agree on it. */
static char **find_level(const pboost_feature *f, const char *text)
{
    static const char *const SPELLING[][3] = {{"true", "True", "TRUE"},
                                              {"false", "False", "FALSE"}};
    char **found = find(f, text);

    for (size_t i = 0; i < 2 && found == NULL; i++)
        for (size_t j = 0; strcasecmp(text, SPELLING[i][0]) == 0 && j < 3 && found == NULL; j++)
            found = find(f, SPELLING[i][j]);
    return found;
}

static pboost_status prepare_category(step *out, pboost_unseen *unseen,
                                      const pboost_encoding *encoding, size_t feature,
                                      const pboost_table *table, const column *c, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_feature *f = &encoding->feature[feature];

    out->fill_block = fill_category;
    if (c->kind != COLUMN_TEXT && c->n_missing == table->rows)
        goto done; /* nothing but missing cells has no kind; all of them are the reference */
    if (c->kind != COLUMN_TEXT)
        FAIL(err, PBOOST_INVALID,
             "%s: column '%s' is a category of the model but was read as numbers; name it in the "
             "table options",
             table->path, pboost_shown_text(c->name).text);
    NEED(out->column_of = pboost_alloc(c->levels.n, sizeof *out->column_of), err);
    for (size_t i = 0; i < c->levels.n; i++) {
        const char *level = pboost_dictionary_get(&c->levels, (uint32_t)i);
        char **found = find_level(f, level);
        if (found != NULL)
            out->column_of[i] = (int32_t)(found - f->level) + REFERENCE;
        else if (f->other)
            out->column_of[i] = (int32_t)f->n_levels + REFERENCE;
        else if (encoding->refuse_unseen)
            TRY(refuse_level(table, c, f, (uint32_t)i, err));
        else
            out->column_of[i] = UNSEEN;
    }
    out->code = c->code;
    count_unseen(unseen, table, c, out->column_of, feature);
done:
    return st;
}

static pboost_status prepare_date(step *out, const pboost_table *table, const column *c,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    out->fill_block = fill_date;
    if (c->kind != COLUMN_TEXT && c->n_missing == table->rows)
        goto done;
    if (c->kind != COLUMN_TEXT)
        FAIL(err, PBOOST_BAD_DATA, "%s: column '%s' is a date of the model but holds numbers",
             table->path, pboost_shown_text(c->name).text);
    NEED(out->seconds = pboost_alloc(c->levels.n, sizeof *out->seconds), err);
    for (size_t i = 0; i < c->levels.n; i++) {
        const char *level = pboost_dictionary_get(&c->levels, (uint32_t)i);
        size_t row = 0;
        if (pboost_date_parse(&out->seconds[i], level))
            continue;
        while (c->code[row] != i)
            row++;
        FAIL(err, PBOOST_BAD_DATA,
             "%s: column '%s' is '%s'; it must be a date such as 2024-03-31 or 2024-03-31 12:30",
             pboost_place(table, row).text, pboost_shown_text(c->name).text,
             pboost_shown_text(level).text);
    }
    out->code = c->code;
done:
    return st;
}

static pboost_status prepare(step *out, pboost_unseen *unseen, const pboost_encoding *encoding,
                             size_t feature, const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_feature *f = &encoding->feature[feature];
    const column *c;
    size_t col;

    out->n = pboost_feature_columns(f);
    out->fill = f->fill;
    out->date = f->date;
    out->curve = &f->curve;
    out->lower = f->winsorize ? f->lower : -INFINITY;
    out->upper = f->winsorize ? f->upper : INFINITY;
    out->fill_block = fill_numbers;
    TRY(pboost_table_find(&col, table, f->name, err));
    c = &table->column[col];
    if (c->n_missing > 0 && !f->impute)
        TRY(pboost_refuse_missing(table, c, "fill in the cell, or train with --impute mean", err));
    if (f->date != 0)
        TRY(prepare_date(out, table, c, err));
    else if (f->n_levels > 0)
        TRY(prepare_category(out, unseen, encoding, feature, table, c, err));
    else if (c->kind == COLUMN_TEXT && c->n_missing == table->rows)
        FAIL(err, PBOOST_INVALID,
             "%s: column '%s' is a number of the model but was read as text; do not name it in the "
             "table options",
             table->path, pboost_shown_text(c->name).text);
    else
        TRY(pboost_table_numbers(&out->number, table, col, true, err));
done:
    return st;
}

static void step_free(step *s)
{
    free(s->column_of);
    free(s->seconds);
    *s = (step){0};
}

/* What is made of a table: the columns of x are those of the steps. */
typedef struct {
    step *step; /* by feature */
    size_t n_steps, columns;
    bool curves; /* with their columns */
} plan;

static void plan_free(plan *p)
{
    for (size_t i = 0; p->step != NULL && i < p->n_steps; i++)
        step_free(&p->step[i]);
    free(p->step);
}

static pboost_status plan_init(plan *out, pboost_unseen *unseen, const pboost_encoding *encoding,
                               const pboost_table *table, bool curves, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t straight = encoding->n_columns - encoding->n_curves, at = 0, curve_at = straight;
    pboost_unseen found = {0};

    *out = (plan){.n_steps = encoding->n_features,
                  .columns = curves ? encoding->n_columns : straight,
                  .curves = curves};
    NEED(out->step = calloc(out->n_steps + 1, sizeof *out->step), err);
    for (size_t i = 0; i < out->n_steps; i++) {
        step *s = &out->step[i];
        TRY(prepare(s, &found, encoding, i, table, err));
        s->at = at;
        s->curve_at = curve_at;
        at += s->n;
        curve_at += s->curve->n;
    }
    if (at != straight || curve_at != encoding->n_columns)
        FAIL(err, PBOOST_INVALID, "the encoding has %zu columns, but its features make %zu",
             encoding->n_columns, at + curve_at - straight);
    if (unseen != NULL)
        *unseen = found;
done:
    return st;
}

/* By blocks of rows that stay in the cache while feature after feature is written. */
static void encode_rows(double *x, const plan *p, size_t first, size_t end)
{
    size_t n = p->columns;

    for (; first < end; first += BLOCK) {
        size_t rows = end - first < BLOCK ? end - first : BLOCK;
        double *block = x + first * n;
        for (const step *s = p->step; s < p->step + p->n_steps; s++) {
            s->fill_block(block, n, s, first, rows);
            if (p->curves && s->curve->n > 0)
                pboost_curve_apply(block + s->curve_at, (ptrdiff_t)n, s->curve, block + s->at,
                                   (ptrdiff_t)n, rows);
        }
    }
}

/* With or without the columns of curves. */
static pboost_status apply(double *x, pboost_unseen *unseen, const pboost_encoding *encoding,
                           const pboost_table *table, bool curves, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    plan p;

    TRY(plan_init(&p, unseen, encoding, table, curves, err));
    for (size_t first = 0; first < table->rows; first += REPORT_ROWS) {
        size_t rows = table->rows - first < REPORT_ROWS ? table->rows - first : REPORT_ROWS;
        if (first > 0)
            pboost_table_progress(table, "encoding", (double)first, (double)table->rows);
        encode_rows(x, &p, first, first + rows);
    }
done:
    plan_free(&p);
    return st;
}

pboost_status pboost_encoding_apply(double *x, pboost_unseen *unseen,
                                    const pboost_encoding *encoding, const pboost_table *table,
                                    pboost_error *err)
{
    return apply(x, unseen, encoding, table, true, err);
}

pboost_status pboost_encoding_apply_straight(double *x, pboost_unseen *unseen,
                                             const pboost_encoding *encoding,
                                             const pboost_table *table, pboost_error *err)
{
    return apply(x, unseen, encoding, table, false, err);
}

/* Keeps the first rows of a column of numbers. */
static void shorten(column *c, size_t rows)
{
    double *less = rows > 0 ? realloc(c->number, rows * sizeof *less) : NULL;

    if (rows == 0) {
        free(c->number);
        c->number = NULL;
        c->skipped = true;
    } else if (less != NULL) { /* else the larger block stays */
        c->number = less;
    }
}

pboost_status pboost_encoding_take_straight(double *x, const pboost_encoding *encoding,
                                            pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t part = table->rows / TAKEN_PARTS + 1;
    plan p;

    TRY(plan_init(&p, NULL, encoding, table, false, err));
    for (size_t end = table->rows, first; end > 0; end = first) {
        first = end > part ? end - part : 0;
        pboost_table_progress(table, "encoding", (double)(table->rows - end), (double)table->rows);
        encode_rows(x, &p, first, end);
        for (size_t i = 0; i < p.n_steps; i++) {
            size_t col;
            if (p.step[i].number == NULL)
                continue;
            TRY(pboost_table_find(&col, table, encoding->feature[i].name, err));
            shorten(&table->column[col], first);
            p.step[i].number = table->column[col].number;
        }
    }
done:
    plan_free(&p);
    return st;
}

/* ---- Columns for trees ----------------------------------------------------------------------- */

bool pboost_encoding_source(pboost_source *out, const pboost_encoding *encoding, size_t i)
{
    for (size_t k = 0; k < encoding->n_features; k++) {
        const pboost_feature *f = &encoding->feature[k];
        const char *part = pboost_date_part_name(f->date, i);
        *out = (pboost_source){k, part, f->n_levels > 0 ? f->n_levels + f->other : 0};
        if (f->date != 0 ? part != NULL : i == 0)
            return true;
        i -= f->date != 0 ? (size_t)__builtin_popcount(f->date) : 1;
    }
    return false;
}

size_t pboost_encoding_n_sources(const pboost_encoding *encoding)
{
    size_t n = 0;
    for (size_t i = 0; i < encoding->n_features; i++) {
        unsigned date = encoding->feature[i].date;
        n += date != 0 ? (size_t)__builtin_popcount(date) : 1;
    }
    return n;
}

static pboost_status source_category(pboost_column *out, void **block, const step *s, size_t rows,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t *code = NULL;

    NEED(*block = code = pboost_alloc(rows, sizeof *code), err);
    for (size_t i = 0; i < rows; i++) {
        uint32_t of_table = s->code != NULL ? s->code[i] : DICTIONARY_NONE;
        int32_t indicator = of_table != DICTIONARY_NONE ? s->column_of[of_table] : UNSEEN;
        code[i] = indicator != UNSEEN ? (uint32_t)(indicator - REFERENCE) : UINT32_MAX;
    }
    out->code = code;
done:
    return st;
}

/* One part, by its name, of every date. */
static pboost_status source_date(pboost_column *out, void **block, const step *s, const char *part,
                                 size_t rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *number = NULL;
    size_t p = 0;

    while (PBOOST_DATE_PARTS[p].name != part)
        p++;
    NEED(*block = number = pboost_alloc(rows, sizeof *number), err);
    for (size_t i = 0; i < rows; i++) {
        uint32_t code = s->code != NULL ? s->code[i] : DICTIONARY_NONE;
        number[i] = code != DICTIONARY_NONE
                        ? pboost_date_number((double)s->seconds[code], &PBOOST_DATE_PARTS[p])
                        : NAN;
    }
    out->number = number;
done:
    return st;
}

pboost_status pboost_encoding_times(double **out, const pboost_encoding *encoding,
                                    const pboost_feature *feature, const pboost_table *table,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_column part = {0};
    void *block = NULL;
    pboost_unseen unseen = {0};
    step s = {0};

    TRY(prepare(&s, &unseen, encoding, (size_t)(feature - encoding->feature), table, err));
    TRY(source_date(&part, &block, &s, pboost_date_part_name(feature->date, 0), table->rows, err));
done:
    *out = block;
    step_free(&s);
    return st;
}

pboost_status pboost_sources_read(pboost_sources *out, pboost_unseen *unseen,
                                  const pboost_encoding *encoding, const pboost_table *table,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_encoding_n_sources(encoding), prepared = SIZE_MAX;
    pboost_unseen found = {0};
    pboost_column *to = NULL;
    pboost_source one;
    step s = {0};

    *out = (pboost_sources){.columns = {.rows = table->rows, .n = n}};
    NEED(out->columns.column = to = calloc(n + 1, sizeof *to), err);
    NEED(out->block = calloc(n + 1, sizeof *out->block), err);
    for (size_t i = 0; pboost_encoding_source(&one, encoding, i); i++) {
        if (one.feature != prepared) {
            step_free(&s);
            TRY(prepare(&s, &found, encoding, one.feature, table, err));
            prepared = one.feature;
        }
        to[i] = (pboost_column){.number = s.number, .stride = 1, .levels = one.levels};
        if (one.levels > 0)
            TRY(source_category(&to[i], &out->block[i], &s, table->rows, err));
        else if (one.part != NULL)
            TRY(source_date(&to[i], &out->block[i], &s, one.part, table->rows, err));
    }
    if (unseen != NULL)
        *unseen = found;
done:
    step_free(&s);
    if (st != PBOOST_OK)
        pboost_sources_free(out);
    return st;
}

/* Whether x has all cells of a source: none is missing or moved to a limit. */
static bool has_cells(const pboost_feature *f, const pboost_column *c, size_t rows)
{
    double lower = f->winsorize ? f->lower : -INFINITY, upper = f->winsorize ? f->upper : INFINITY;

    for (size_t i = 0; i < rows; i++) {
        double cell = c->number[(ptrdiff_t)i * c->stride];
        if (!(cell >= lower && cell <= upper))
            return false;
    }
    return true;
}

pboost_status pboost_sources_own(pboost_sources *sources, const pboost_encoding *encoding,
                                 const double *x, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = sources->columns.rows, at = 0, feature = 0;
    pboost_source one;

    for (size_t i = 0; pboost_encoding_source(&one, encoding, i); i++) {
        pboost_column *c = (pboost_column *)(uintptr_t)&sources->columns.column[i];
        while (feature < one.feature)
            at += pboost_feature_columns(&encoding->feature[feature++]);
        if (one.levels > 0 || one.part != NULL) /* they are copies already */
            continue;
        if (has_cells(&encoding->feature[one.feature], c, rows)) {
            *c = (pboost_column){.number = x + at, .stride = (ptrdiff_t)cols};
            free(sources->block[i]);
            sources->block[i] = NULL;
        } else if (sources->block[i] == NULL) {
            double *copy = pboost_alloc(rows, sizeof *copy);
            NEED(sources->block[i] = copy, err);
            for (size_t k = 0; k < rows; k++)
                copy[k] = c->number[(ptrdiff_t)k * c->stride];
            *c = (pboost_column){.number = copy, .stride = 1};
        }
    }
done:
    return st;
}

static void *gather_cells(const pboost_column *c, const size_t *row, size_t n)
{
    double *number = c->code == NULL ? pboost_alloc(n, sizeof *number) : NULL;
    uint32_t *code = c->code != NULL ? pboost_alloc(n, sizeof *code) : NULL;

    for (size_t i = 0; number != NULL && i < n; i++)
        number[i] = c->number[(ptrdiff_t)row[i] * c->stride];
    for (size_t i = 0; code != NULL && i < n; i++)
        code[i] = c->code[row[i]];
    return c->code != NULL ? (void *)code : (void *)number;
}

pboost_status pboost_sources_gather(pboost_sources *out, const pboost_columns *columns,
                                    const size_t *row, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_column *to = NULL;

    *out = (pboost_sources){.columns = {.rows = n, .n = columns->n}};
    NEED(out->columns.column = to = calloc(columns->n + 1, sizeof *to), err);
    NEED(out->block = calloc(columns->n + 1, sizeof *out->block), err);
    for (size_t j = 0; j < columns->n; j++) {
        const pboost_column *c = &columns->column[j];
        NEED(out->block[j] = gather_cells(c, row, n), err);
        to[j] = (pboost_column){.number = c->code == NULL ? out->block[j] : NULL,
                                .stride = 1,
                                .code = c->code != NULL ? out->block[j] : NULL,
                                .levels = c->levels};
    }
done:
    if (st != PBOOST_OK)
        pboost_sources_free(out);
    return st;
}

void pboost_sources_free(pboost_sources *sources)
{
    for (size_t j = 0; sources->block != NULL && j < sources->columns.n; j++)
        free(sources->block[j]);
    free(sources->block);
    free((void *)(uintptr_t)sources->columns.column);
    *sources = (pboost_sources){0};
}

/* Sparse rows in the format of svmlight and libsvm:
 *
 *     LABEL INDEX:VALUE INDEX:VALUE ... # COMMENT
 *
 * The table has the columns "label" and "comment", and beside them the entries.  Indices start at 0
 * or at 1: an index 0 anywhere shows which, so the entries keep the file's indices until the table
 * is finished.  A qid is counted, and otherwise ignored. */
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "table.h"
#include "try.h"
#include "utf8.h"

enum { LABEL, COMMENT, N_COLUMNS };
static const uint32_t MAX_INDEX = INT32_MAX - 1;

typedef struct {
    source *src;
    pboost_table *table;
    size_t line;
    const char *begin; /* of the line */
    bool has_rows;
} reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A word and, for messages, its place. */
typedef struct {
    const char *text;
    size_t n;
} word;

/* The next word from *at on, which ends at a blank, a '#' or the end; n 0: there is none. */
static word next_word(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        ++*at;
    word w = {*at, 0};
    while (*at < end && !is_blank(**at) && **at != '#')
        ++*at;
    w.n = (size_t)(*at - w.text);
    return w;
}

/* FILE:LINE:POSITION; the position is a byte of the line, from 1. */
static place place_of(const reader *r, const char *at)
{
    place out;
    const char *path = r->src->name;
    size_t n = strlen(path), room = PLACE_BYTES - 60;

    snprintf(out.text, sizeof out.text, "%s%s:%zu:%zu", n > room ? "..." : "",
             n > room ? path + (n - room) : path, r->line, (size_t)(at - r->begin) + 1);
    return out;
}

/* ---- One entry ------------------------------------------------------------------------------- */

/* Whole numbers up to MAX_INDEX. */
static bool parse_index(uint32_t *out, const char *text, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 18)
            return false;
        v = 10 * v + (uint64_t)(text[i] - '0');
    }
    *out = (uint32_t)v;
    return n > 0 && v <= MAX_INDEX;
}

/* The indices that may stand in the file: those of the columns, where they are known. */
static pboost_status check_range(const reader *r, const svm_rows *s, uint32_t index, word w,
                                 pboost_error *err)
{
    uint32_t base = s->base > 0 ? 1 : 0;
    uint64_t last = s->columns > 0 ? s->columns - 1 + base : MAX_INDEX;

    if (index >= base && index <= last)
        return PBOOST_OK;
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s: index %u is out of range; it must be from %u to %llu%s",
                       place_of(r, w.text).text, index, base, (unsigned long long)last,
                       index == 0 ? ", because indices start at 1 here" : "");
}

static pboost_status check_order(const reader *r, const svm_rows *s, uint32_t index, word w,
                                 pboost_error *err)
{
    if (index > s->last || s->row_begins)
        return PBOOST_OK;
    if (index == s->last)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "%s: index %u is repeated; each index may stand once in a row",
                           place_of(r, w.text).text, index);
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s: index %u stands after %u; the indices of a row must ascend",
                       place_of(r, w.text).text, index, s->last);
}

static pboost_status add_entry(reader *r, word w, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    svm_rows *s = r->table->svm;
    const char *colon = memchr(w.text, ':', w.n);
    size_t n = colon != NULL ? (size_t)(colon - w.text) : w.n;
    uint32_t index;
    double value = 0.0;

    if (colon != NULL && n == 3 && memcmp(w.text, "qid", 3) == 0) {
        s->qids++;
        goto done;
    }
    if (colon == NULL || !parse_index(&index, w.text, n))
        FAIL(err, PBOOST_BAD_DATA,
             "%s: '%s' is no entry; it must be INDEX:VALUE with a whole number from 0 to %u before "
             "the colon",
             place_of(r, w.text).text, pboost_shown(w.text, w.n).text, MAX_INDEX);
    TRY(check_range(r, s, index, w, err));
    TRY(check_order(r, s, index, w, err));
    if (pboost_number_parse(&value, colon + 1, w.n - n - 1) != NUMBER_FINITE)
        FAIL(err, PBOOST_BAD_DATA, "%s: the value of index %u is '%s'; it must be a finite number",
             place_of(r, colon + 1).text, index, pboost_shown(colon + 1, w.n - n - 1).text);
    s->row_begins = false;
    s->last = index;
    s->largest = index > s->largest ? index : s->largest;
    s->zero = s->zero || index == 0;
    if (value != 0.0)
        TRY(pboost_entry_list_add(&s->list, index, value, err));
done:
    return st;
}

/* ---- One row --------------------------------------------------------------------------------- */

static pboost_status put_label(reader *r, size_t row, word w, pboost_error *err)
{
    double v;

    if (pboost_number_parse(&v, w.text, w.n) != NUMBER_FINITE)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "%s: the label is '%s'; a row of an svmlight file must begin with a "
                           "finite number",
                           place_of(r, w.text).text, pboost_shown(w.text, w.n).text);
    return pboost_column_put_text(r->table, &r->table->column[LABEL], row, w.text, w.n, err);
}

static pboost_status put_comment(reader *r, size_t row, const char *at, const char *end,
                                 pboost_error *err)
{
    size_t valid;

    at += at < end; /* the '#' */
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    if (pboost_utf8_bad(&valid, at, (size_t)(end - at)) || valid < (size_t)(end - at))
        return pboost_fail(err, PBOOST_BAD_DATA, "%s: the comment is not text in UTF-8",
                           place_of(r, at + valid).text);
    return pboost_column_put_text(r->table, &r->table->column[COMMENT], row, at, (size_t)(end - at),
                                  err);
}

/* A line that has a label. */
static pboost_status add_row(reader *r, word label, const char *at, const char *end,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *t = r->table;
    size_t row = t->rows, shift = r->line - (row + 2);

    TRY(pboost_table_reserve(t, row + 1, err));
    if (shift != (t->n_marks > 0 ? t->mark[t->n_marks - 1].shift : 0))
        TRY(pboost_table_mark_line(t, row, shift, err));
    TRY(put_label(r, row, label, err));
    t->svm->row_begins = true;
    for (word w = next_word(&at, end); w.n > 0; w = next_word(&at, end))
        TRY(add_entry(r, w, err));
    TRY(put_comment(r, row, at, end, err));
    TRY(pboost_entry_list_end_row(&t->svm->list, err));
    t->rows++;
    r->has_rows = true;
done:
    return st;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* The end of the next line, which is then in sight; NULL: there are no more lines. */
static pboost_status see_line(const char **end, source *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t seen = 0;

    for (;;) {
        size_t n = s->end - s->begin;
        *end = n > seen ? memchr(s->data + s->begin + seen, '\n', n - seen) : NULL;
        if (*end != NULL || s->eof)
            break;
        seen = n;
        TRY(pboost_source_need(s, n + 1, err));
    }
    if (*end == NULL && s->end > s->begin)
        *end = s->data + s->end;
done:
    return st;
}

static pboost_status svm_rows_read(void *self, size_t end_row, bool *over, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reader *r = self;
    source *s = r->src;
    const char *end;

    while (r->table->rows < end_row) {
        TRY(see_line(&end, s, err));
        *over = end == NULL;
        if (*over)
            break;
        const char *at = r->begin = s->data + s->begin;
        r->line++;
        word label = next_word(&at, end);
        if (label.n > 0)
            TRY(add_row(r, label, at, end, err));
        s->begin = (size_t)(end - s->data) + ((size_t)(end - s->data) < s->end);
    }
    if (*over && !r->has_rows)
        FAIL(err, PBOOST_BAD_DATA, "%s has no rows", s->name);
done:
    return st;
}

static pboost_status svm_open(void **out, pboost_table *table, source *src, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    static const char *const NAMES[N_COLUMNS] = {"label", "comment"};
    const pboost_table_options *o = table->options;
    reader *r = calloc(1, sizeof *r);

    *out = r;
    NEED(r, err);
    *r = (reader){.src = src, .table = table};
    if (table->svm != NULL) /* a file before this one */
        goto done;
    if (table->cols > 0)
        FAIL(err, PBOOST_BAD_DATA, "%s is an svmlight file, but the file before it is not",
             src->name);
    NEED(table->svm = calloc(1, sizeof *table->svm), err);
    table->svm->base = o != NULL ? o->index_base : PBOOST_INDEX_BASE_AUTO;
    table->svm->columns = o != NULL ? o->sparse_columns : 0;
    if (table->svm->base < PBOOST_INDEX_BASE_AUTO || table->svm->base > 1)
        FAIL(err, PBOOST_INVALID, "index_base is %d; it must be 0, 1 or PBOOST_INDEX_BASE_AUTO",
             table->svm->base);
    if (table->svm->columns > 0 && table->svm->base == PBOOST_INDEX_BASE_AUTO)
        FAIL(err, PBOOST_INVALID, "sparse_columns needs index_base");
    for (size_t i = 0; i < N_COLUMNS; i++)
        TRY(pboost_table_add_column(table, NAMES[i], strlen(NAMES[i]), err));
done:
    return st;
}

const table_format PBOOST_SVM = {svm_open, svm_rows_read, free};

/* ---- The entries of a table ------------------------------------------------------------------ */

void pboost_svm_free(svm_rows *s)
{
    if (s == NULL)
        return;
    pboost_entry_list_free(&s->list);
    pboost_entries_free(&s->entries);
    free(s);
}

void pboost_svm_clear(svm_rows *s)
{
    pboost_entry_list_free(&s->list);
    pboost_entries_free(&s->entries);
    s->qids = 0;
}

pboost_status pboost_svm_finish(svm_rows *s, pboost_error *err)
{
    size_t columns = s->columns;

    if (s->base == PBOOST_INDEX_BASE_AUTO)
        s->base = s->zero ? 0 : 1;
    for (size_t i = 0; s->base == 1 && i < s->list.n; i++)
        s->list.column[i]--;
    if (columns == 0)
        columns = (size_t)s->largest + (s->base == 0);
    return pboost_entry_list_finish(&s->entries, &s->list, columns, err);
}

bool pboost_table_entries(pboost_table_sparse *out, const pboost_table *table)
{
    if (table->svm == NULL)
        return false;
    *out = (pboost_table_sparse){
        .x = table->svm->entries.x, .index_base = table->svm->base, .qids = table->svm->qids};
    return true;
}

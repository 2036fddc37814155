/* Comma-separated values: RFC 4180 with a header, in UTF-8.
 *
 * These rules fill what the standard leaves open:
 *   - The separator is the one of comma, semicolon, tab that the header has most of, unquoted.
 *   - Blanks (spaces, tabs) around a cell do not belong to it, nor do those around its quotes.
 *   - Empty and NA are missing, quoted or not.  A quote inside an unquoted cell is a character.
 *   - Blank lines at the end are ignored.  A blank line between rows is a missing cell if there is
 *     one column, for otherwise rows would shift unseen; with more columns it is a ragged row.
 *   - A line ends with LF or CR LF; any other CR outside quotes is an error.
 *
 * A record is split into cells first and stored only once it is whole, so a record that the window
 * has cut is simply split again after more bytes have come in; the bytes in sight at least double
 * between two tries, so that costs no more than a constant factor. */
#include <math.h>
#include <string.h>

#include "table.h"
#include "try.h"
#include "utf8.h"

typedef struct {
    char *text;
    size_t n;
    bool quoted, escaped; /* escaped: quotes in it are still doubled */
} cell;

typedef struct {
    source *src;
    pboost_table *table;
    char separator;
    size_t line;    /* of the record at src->begin */
    size_t checked; /* bytes from src->begin on that are known to be UTF-8 */
    cell *cell;     /* the first n_kept cells of the record */
    size_t n_kept;
    size_t n_cells;     /* all of its cells */
    size_t breaks;      /* line breaks inside its quotes */
    size_t blank_lines; /* before it, which may be rows */
    bool has_rows;
} reader;

typedef enum { RECORD_WHOLE, RECORD_CUT, RECORD_OPEN_QUOTE, RECORD_AFTER_QUOTE } record_state;

/* ---- Bytes ----------------------------------------------------------------------------------- */

static size_t count_breaks(const char *p, const char *end)
{
    size_t n = 0;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        p++;
        n++;
    }
    return n;
}

/* Brings in at least n bytes or all there are, and checks what is new. */
static pboost_status see(reader *r, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    source *s = r->src;
    const char *fresh;
    size_t valid = 0, length;
    bool bad;

    TRY(pboost_source_need(s, n, err));
    fresh = s->data + s->begin + r->checked;
    length = s->end - s->begin - r->checked;
    bad = pboost_utf8_bad(&valid, fresh, length);
    if (bad || (s->eof && valid < length)) {
        size_t line = r->line + count_breaks(s->data + s->begin, fresh + valid);
        unsigned byte = (unsigned char)fresh[valid];
        if (byte == 0)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: there is a NUL byte; a CSV file must be UTF-8 text",
                 s->name, line);
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: byte 0x%02x is not UTF-8; save the file as UTF-8",
             s->name, line, byte);
    }
    r->checked += valid;
done:
    return st;
}

/* Moves past n bytes that hold `lines` line ends. */
static void pass(reader *r, size_t n, size_t lines)
{
    r->src->begin += n;
    r->checked -= n;
    r->line += lines;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The first separator or line end in p .. end, or end.  May load SOURCE_SLACK bytes past end. */
static inline const char *find_end(const char *p, const char *end, char separator)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* v - ones & ~v & tops marks zero bytes; a false mark can only stand above a true one. */
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    const uint64_t separators = ones * (unsigned char)separator, breaks = ones * '\n';

    for (; p < end; p += 8) {
        uint64_t v, a, b, found;
        memcpy(&v, p, sizeof v);
        a = v ^ separators;
        b = v ^ breaks;
        found = (((a - ones) & ~a) | ((b - ones) & ~b)) & tops;
        if (found != 0) {
            p += __builtin_ctzll(found) / 8;
            return p < end ? p : end;
        }
    }
    return end;
#else
    while (p < end && *p != separator && *p != '\n')
        p++;
    return p;
#endif
}

static inline bool is_blank(char c, char separator)
{
    return (c == ' ' || c == '\t') && c != separator;
}

/* Reads the quoted cell whose quote is at *p and moves *p behind it. */
static record_state take_quoted(reader *r, cell *out, char **p, char *end, bool eof)
{
    char *start = *p + 1, *q = start;

    out->quoted = true;
    for (;;) {
        q = memchr(q, '"', (size_t)(end - q));
        if (q == NULL)
            return eof ? RECORD_OPEN_QUOTE : RECORD_CUT;
        if (q + 1 == end || q[1] != '"')
            break; /* if the window ends here, the record is found to be cut below */
        out->escaped = true;
        q += 2;
    }
    out->text = start;
    out->n = (size_t)(q - start);
    r->breaks += count_breaks(start, q);
    for (q++; q < end && is_blank(*q, r->separator);)
        q++;
    if (q + 1 >= end && !eof)
        return RECORD_CUT;
    if (q < end && *q == '\r' && (q + 1 == end || q[1] == '\n'))
        q++;
    *p = q;
    return q == end || *q == r->separator || *q == '\n' ? RECORD_WHOLE : RECORD_AFTER_QUOTE;
}

static inline record_state take_plain(reader *r, cell *out, char **p, char *end, bool eof)
{
    char *start = *p, *q = start + (find_end(start, end, r->separator) - start);

    *p = q;
    if (q == end && !eof)
        return RECORD_CUT;
    if (q > start && q[-1] == '\r' && (q == end || *q == '\n'))
        q--;
    while (q > start && is_blank(q[-1], r->separator))
        q--;
    out->text = start;
    out->n = (size_t)(q - start);
    return RECORD_WHOLE;
}

/* Splits the record at src->begin; *used is its length with its line end. */
static record_state split(reader *r, size_t *used)
{
    source *s = r->src;
    char *p = s->data + s->begin, *end = s->data + s->end;

    r->n_cells = 0;
    r->breaks = 0;
    for (;;) {
        cell c = {0};
        record_state state;

        while (p < end && is_blank(*p, r->separator))
            p++;
        state = p < end && *p == '"' ? take_quoted(r, &c, &p, end, s->eof)
                                     : take_plain(r, &c, &p, end, s->eof);
        if (state != RECORD_WHOLE)
            return state;
        if (r->n_cells < r->n_kept)
            r->cell[r->n_cells] = c;
        r->n_cells++;
        if (p == end || *p == '\n')
            break;
        p++;
    }
    *used = (size_t)(p - (s->data + s->begin)) + (p < end);
    return RECORD_WHOLE;
}

/* The next record, or *used = 0 at the end of the file. */
static pboost_status next_record(reader *r, size_t *used, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    source *s = r->src;
    record_state state;

    *used = 0;
    if (s->begin == s->end)
        TRY(see(r, 1, err));
    if (s->begin == s->end)
        goto done;
    while ((state = split(r, used)) == RECORD_CUT)
        TRY(see(r, 2 * (s->end - s->begin), err));
    if (state == RECORD_OPEN_QUOTE)
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: cell %zu has a quote that is never closed", s->name,
             r->line + r->breaks, r->n_cells + 1);
    if (state == RECORD_AFTER_QUOTE)
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: cell %zu has text after its closing quote; write a quote inside quotes twice",
             s->name, r->line + r->breaks, r->n_cells + 1);
done:
    return st;
}

/* Makes doubled quotes single, in place. */
static void unescape(cell *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->text[n++] = c->text[i];
        if (c->text[i] == '"')
            i++;
    }
    c->n = n;
    c->escaped = false;
}

static pboost_status check_returns(const reader *r, const cell *c, pboost_error *err)
{
    if (c->quoted || memchr(c->text, '\r', c->n) == NULL)
        return PBOOST_OK;
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s:%zu: there is a carriage return without a line feed; lines must end "
                       "with LF or CR LF",
                       r->src->name, r->line);
}

/* ---- The header ------------------------------------------------------------------------------ */

/* Which separator the header has most of; *whole says whether the end of the header was seen. */
static char guess_separator(const source *s, bool *whole)
{
    static const char SEPARATORS[] = ",;\t";
    size_t count[3] = {0}, best = 0;
    bool quoted = false, fresh = true; /* fresh: only blanks since the cell began */
    const char *p = s->data + s->begin, *end = s->data + s->end, *found;

    for (; p < end && (quoted || *p != '\n'); p++) {
        if (quoted) {
            quoted = *p != '"'; /* a doubled quote closes and opens again */
            fresh = !quoted;
        } else if ((found = memchr(SEPARATORS, *p, 3)) != NULL) {
            count[found - SEPARATORS]++;
            fresh = true;
        } else if (*p == '"' && fresh) {
            quoted = true;
        } else {
            fresh = fresh && *p == ' ';
        }
    }
    *whole = p < end || s->eof;
    for (size_t i = 1; i < 3; i++)
        if (count[i] > count[best])
            best = i;
    return SEPARATORS[best];
}

/* The header of a further file, which must have the columns of the first. */
static pboost_status check_header(const reader *r, pboost_error *err)
{
    const pboost_table *table = r->table;

    if (r->n_cells != table->cols)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s has %zu columns, but %s has %zu", r->src->name,
                           r->n_cells, table->part[0].path, table->cols);
    for (size_t i = 0; i < table->cols; i++) {
        const char *name = pboost_dictionary_get(&table->names, (uint32_t)i);
        if (strlen(name) != r->cell[i].n || memcmp(name, r->cell[i].text, r->cell[i].n) != 0)
            return pboost_fail(err, PBOOST_BAD_DATA, "%s: column %zu is '%s', but in %s it is '%s'",
                               r->src->name, i + 1,
                               pboost_shown(r->cell[i].text, r->cell[i].n).text,
                               table->part[0].path, pboost_shown_text(name).text);
    }
    return PBOOST_OK;
}

static pboost_status read_header(reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    source *s = r->src;
    size_t used;
    bool whole, first = r->table->cols == 0;

    TRY(see(r, 3, err));
    if (s->end - s->begin >= 3 && memcmp(s->data + s->begin, "\xef\xbb\xbf", 3) == 0)
        pass(r, 3, 0);
    r->separator = guess_separator(s, &whole);
    while (!whole) {
        TRY(see(r, 2 * (s->end - s->begin) + 1, err));
        r->separator = guess_separator(s, &whole);
    }
    r->table->comma_separates = r->separator == ',';
    TRY(next_record(r, &used, err));
    if (used == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s is empty; it must have a header and at least one row",
             s->name);
    r->n_kept = r->n_cells;
    NEED(r->cell = pboost_alloc(r->n_kept, sizeof *r->cell), err);
    TRY(next_record(r, &used, err));
    for (size_t i = 0; i < r->n_kept; i++) {
        cell *c = &r->cell[i];
        if (c->escaped)
            unescape(c);
        TRY(check_returns(r, c, err));
        if (c->n == 0)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: column %zu of %zu has no name", s->name, r->line,
                 i + 1, r->n_kept);
        if (first)
            TRY(pboost_table_add_column(r->table, c->text, c->n, err));
    }
    if (!first)
        TRY(check_header(r, err));
    pass(r, used, 1 + r->breaks);
done:
    return st;
}

/* ---- The rows -------------------------------------------------------------------------------- */

static pboost_status refuse_ragged(const reader *r, size_t line, size_t cells, pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s:%zu: the row has %zu cell%s, but the header has %zu", r->src->name, line,
                       cells, cells == 1 ? "" : "s", r->table->cols);
}

/* Makes room for a row and says on which line it stands, if that is not the line expected. */
static pboost_status start_row(reader *r, size_t row, size_t line, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *t = r->table;
    size_t expected = t->n_marks > 0 ? t->mark[t->n_marks - 1].shift : 0;

    if (row == t->capacity)
        TRY(pboost_table_reserve(t, row + 1, err));
    if (line - (row + 2) != expected)
        TRY(pboost_table_mark_line(t, row, line - (row + 2), err));
done:
    return st;
}

static pboost_status store_row(reader *r, size_t row, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < r->n_kept; i++) {
        column *c = &r->table->column[i];
        cell *from = &r->cell[i];
        if (from->escaped)
            unescape(from);
        TRY(pboost_column_put_text(r->table, c, row, from->text, from->n, err));
        if (c->skipped || c->kind == COLUMN_TEXT || isnan(c->number[row])) /* a number has none */
            TRY(check_returns(r, from, err));
    }
done:
    return st;
}

/* One row: the record that was split or, in a table of one column, a blank line before it. */
static pboost_status add_row(reader *r, size_t used, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t row = r->table->rows;

    if (r->blank_lines > 0 && r->n_kept > 1)
        TRY(refuse_ragged(r, r->line - r->blank_lines, 1, err));
    TRY(start_row(r, row, r->line - r->blank_lines, err));
    if (r->blank_lines > 0) {
        pboost_column_put_missing(&r->table->column[0], row);
        r->blank_lines--;
    } else {
        if (r->n_cells != r->n_kept)
            TRY(refuse_ragged(r, r->line, r->n_cells, err));
        TRY(store_row(r, row, err));
        pass(r, used, 1 + r->breaks);
    }
    r->table->rows++;
    r->has_rows = true;
done:
    return st;
}

static pboost_status csv_rows(void *self, size_t end, bool *over, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reader *r = self;
    size_t used;

    while (r->table->rows < end) {
        TRY(next_record(r, &used, err));
        *over = used == 0;
        if (*over)
            break;
        if (r->n_cells == 1 && r->cell[0].n == 0 && !r->cell[0].quoted) {
            r->blank_lines++;
            pass(r, used, 1);
        } else {
            TRY(add_row(r, used, err));
        }
    }
    if (*over && !r->has_rows)
        FAIL(err, PBOOST_BAD_DATA, "%s has a header but no rows", r->src->name);
done:
    return st;
}

static void csv_close(void *self)
{
    reader *r = self;

    free(r->cell);
    free(r);
}

static pboost_status csv_open(void **out, pboost_table *table, source *src, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reader *r = calloc(1, sizeof *r);

    *out = r;
    NEED(r, err);
    *r = (reader){.src = src, .table = table, .line = 1};
    TRY(read_header(r, err));
    if (table->rows > 0) /* lines are counted anew */
        TRY(pboost_table_mark_line(table, table->rows, 0 - table->rows, err));
done:
    return st;
}

const table_format PBOOST_CSV = {csv_open, csv_rows, csv_close};

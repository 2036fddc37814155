/* NumPy's NPY format, versions 1 to 3: a vector, a matrix, or records of named numbers.
 *
 * The header is a Python literal.  It is not trusted:
 * sizes are multiplied with overflow checks and compared with what the file holds before anything
 * is allocated for them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "table.h"
#include "try.h"
#include "utf8.h"

#define ACCEPTED "bool, int8..int64, uint8..uint64, float16, float32 and float64 are accepted"

enum { MAX_HEADER = 1 << 20 };

/* One number in an item. */
typedef struct {
    char kind; /* b, i, u, f */
    size_t size, offset;
    bool swap; /* the other byte order */
} field;

typedef struct {
    source *src;
    pboost_table *table;
    const char *p, *end; /* what is left of the header */
    bool records, has_descr, has_order, has_shape;
    bool fortran;
    size_t n_dims, dim[2];
    field *field;
    size_t n_fields, capacity, item_size;
    size_t rows, cols;
    size_t row, col;    /* of the next item, in the file */
    size_t bytes, used; /* of data: as the header says, and taken so far */
} reader;

/* ---- The header: a Python literal ------------------------------------------------------------ */

static void skip_blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

static bool accept(reader *r, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    return true;
}

static pboost_status refuse_header(const reader *r, const char *expected, pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA, "%s: the NPY header has '%s' where %s is expected",
                       r->src->name, pboost_shown(r->p, (size_t)(r->end - r->p)).text, expected);
}

static pboost_status expect(reader *r, const char *word, pboost_error *err)
{
    return accept(r, word) ? PBOOST_OK : refuse_header(r, word, err);
}

/* A string without escapes. */
static pboost_status take_string(reader *r, const char **text, size_t *n, pboost_error *err)
{
    const char *close;

    skip_blanks(r);
    if (r->p == r->end || (*r->p != '\'' && *r->p != '"'))
        return refuse_header(r, "a string", err);
    close = memchr(r->p + 1, *r->p, (size_t)(r->end - r->p - 1));
    if (close == NULL || memchr(r->p, '\\', (size_t)(close - r->p)) != NULL)
        return refuse_header(r, "a string without escapes", err);
    *text = r->p + 1;
    *n = (size_t)(close - *text);
    r->p = close + 1;
    return PBOOST_OK;
}

static pboost_status take_size(reader *r, size_t *out, pboost_error *err)
{
    size_t v = 0;
    const char *start;

    skip_blanks(r);
    for (start = r->p; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (size_t)(*r->p - '0'), &v))
            return refuse_header(r, "a size that fits in memory", err);
    if (r->p == start)
        return refuse_header(r, "a size", err);
    *out = v;
    return PBOOST_OK;
}

static pboost_status take_shape(reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(expect(r, "(", err));
    while (!accept(r, ")")) {
        if (r->n_dims == 2)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s: the array has more than 2 dimensions; a vector or a matrix is expected",
                 r->src->name);
        TRY(take_size(r, &r->dim[r->n_dims++], err));
        if (!accept(r, ",")) {
            TRY(expect(r, ")", err));
            break;
        }
    }
done:
    return st;
}

static bool parse_type(field *out, const char *text, size_t n)
{
    static const char KNOWN[][3] = {"b1", "i1", "i2", "i4", "i8", "u1",
                                    "u2", "u4", "u8", "f2", "f4", "f8"};
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

    if (n != 3 || memchr("<>|=", text[0], 4) == NULL)
        return false;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (memcmp(text + 1, KNOWN[i], 2) == 0) {
            out->kind = text[1];
            out->size = (size_t)(text[2] - '0');
            out->swap = text[0] == '<' ? !little : text[0] == '>' && little;
            return text[0] != '|' || out->size == 1;
        }
    return false;
}

static pboost_status add_field(reader *r, const char *type, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    field f = {.offset = r->item_size};

    if (!parse_type(&f, type, n))
        FAIL(err, PBOOST_BAD_DATA, "%s: the type is '%s'; " ACCEPTED, r->src->name,
             pboost_shown(type, n).text);
    GROW(r->field, r->capacity, r->n_fields + 1, err);
    r->field[r->n_fields++] = f;
    r->item_size += f.size;
done:
    return st;
}

/* [('age', '<f8'), ('sex', '|u1')], behind its opening bracket. */
static pboost_status take_records(reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *name, *type;
    size_t name_n, type_n, valid;

    r->records = true;
    while (!accept(r, "]")) {
        TRY(expect(r, "(", err));
        TRY(take_string(r, &name, &name_n, err));
        TRY(expect(r, ",", err));
        TRY(take_string(r, &type, &type_n, err));
        if (accept(r, ","))
            FAIL(err, PBOOST_BAD_DATA, "%s: field '%s' is an array; fields must be single numbers",
                 r->src->name, pboost_shown(name, name_n).text);
        TRY(expect(r, ")", err));
        if (name_n == 0)
            FAIL(err, PBOOST_BAD_DATA, "%s: field %zu has no name; every field needs one",
                 r->src->name, r->n_fields + 1);
        if (pboost_utf8_bad(&valid, name, name_n) || valid < name_n)
            FAIL(err, PBOOST_BAD_DATA, "%s: the name of field %zu is not UTF-8", r->src->name,
                 r->n_fields + 1);
        TRY(add_field(r, type, type_n, err));
        TRY(pboost_table_add_column(r->table, name, name_n, err));
        if (!accept(r, ",")) {
            TRY(expect(r, "]", err));
            break;
        }
    }
done:
    return st;
}

static pboost_status take_entry(reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *type;
    size_t n;
    bool *seen = accept(r, "'descr'")           ? &r->has_descr
                 : accept(r, "'fortran_order'") ? &r->has_order
                 : accept(r, "'shape'")         ? &r->has_shape
                                                : NULL;

    if (seen == NULL || *seen)
        return refuse_header(r, "'descr', 'fortran_order' or 'shape', each once,", err);
    *seen = true;
    TRY(expect(r, ":", err));
    if (seen == &r->has_shape) {
        TRY(take_shape(r, err));
    } else if (seen == &r->has_order) {
        r->fortran = accept(r, "True");
        if (!r->fortran)
            TRY(expect(r, "False", err));
    } else if (accept(r, "[")) {
        TRY(take_records(r, err));
    } else {
        TRY(take_string(r, &type, &n, err));
        TRY(add_field(r, type, n, err));
    }
done:
    return st;
}

static pboost_status take_header(reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(expect(r, "{", err));
    while (!accept(r, "}")) {
        TRY(take_entry(r, err));
        if (!accept(r, ",")) {
            TRY(expect(r, "}", err));
            break;
        }
    }
    if (!r->has_descr || !r->has_order || !r->has_shape)
        FAIL(err, PBOOST_BAD_DATA, "%s: the NPY header lacks %s", r->src->name,
             !r->has_descr   ? "'descr'"
             : !r->has_order ? "'fortran_order'"
                             : "'shape'");
    if (r->n_dims == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s holds a single value; a vector or a matrix is expected",
             r->src->name);
    if (r->records && r->n_dims != 1)
        FAIL(err, PBOOST_BAD_DATA, "%s holds a matrix of records; a vector of them is expected",
             r->src->name);
    if (r->n_fields == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s has records without fields", r->src->name);
done:
    return st;
}

/* Magic, version, length, header: leaves src at the first byte of data. */
static pboost_status read_header(reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    source *s = r->src;
    const unsigned char *b;
    size_t length, start;

    TRY(pboost_source_need(s, 12, err));
    if (s->end - s->begin < 12)
        FAIL(err, PBOOST_BAD_DATA, "%s ends within its NPY header", s->name);
    b = (const unsigned char *)s->data + s->begin;
    if (b[6] < 1 || b[6] > 3)
        FAIL(err, PBOOST_BAD_DATA, "%s has NPY version %d.%d; 1.0, 2.0 and 3.0 are understood",
             s->name, b[6], b[7]);
    start = b[6] == 1 ? 10 : 12;
    length = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > MAX_HEADER)
        FAIL(err, PBOOST_BAD_DATA, "%s has an NPY header of %zu bytes; at most %d are understood",
             s->name, length, (int)MAX_HEADER);
    TRY(pboost_source_need(s, start + length, err));
    if (s->end - s->begin < start + length)
        FAIL(err, PBOOST_BAD_DATA, "%s ends within its NPY header: %zu bytes expected, %zu present",
             s->name, start + length, s->end - s->begin);
    r->p = s->data + s->begin + start;
    r->end = r->p + length;
    TRY(take_header(r, err));
    s->begin += start + length;
    if (s->sized)
        s->size -= start + length < s->size ? start + length : s->size;
done:
    return st;
}

/* ---- The data -------------------------------------------------------------------------------- */

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double v = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(mantissa + 1024, exponent - 25);
    return bits >> 15 ? -v : v;
}

/* The bytes of a number as an unsigned integer of the machine. */
static uint64_t load(const field *f, const char *at)
{
    uint64_t v = 0;
    for (size_t i = 0; i < f->size; i++) {
        bool little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != f->swap;
        v |= (uint64_t)(unsigned char)at[i] << 8 * (little ? i : f->size - 1 - i);
    }
    return v;
}

static int64_t extend_sign(uint64_t v, size_t size)
{
    unsigned shift = (unsigned)(64 - 8 * size);
    return (int64_t)(v << shift) >> shift;
}

static double value(const field *f, const char *at)
{
    uint64_t v = load(f, at);
    uint32_t single = (uint32_t)v;
    double wide;
    float narrow;

    switch (f->kind) {
    case 'b':
        return v != 0;
    case 'u':
        return (double)v;
    case 'i':
        return (double)extend_sign(v, f->size);
    default:
        break;
    }
    if (f->size == 2)
        return half_value((uint16_t)v);
    if (f->size == 4) {
        memcpy(&narrow, &single, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, &v, sizeof wide);
    return wide;
}

/* A number as a level of a text column: integers in full, others in as few digits as identify them.
 */
static size_t print_value(char text[32], const field *f, const char *at)
{
    uint64_t v = load(f, at);
    double x, back;
    int n = 0;

    if (f->kind == 'u' || f->kind == 'b')
        return (size_t)snprintf(text, 32, "%llu",
                                (unsigned long long)(f->kind == 'b' ? v != 0 : v));
    if (f->kind == 'i')
        return (size_t)snprintf(text, 32, "%lld", (long long)extend_sign(v, f->size));
    x = value(f, at);
    for (int digits = 6; digits <= 17; digits++) {
        n = snprintf(text, 32, "%.*g", digits, x);
        for (char *comma = strchr(text, ','); comma != NULL; comma = NULL)
            *comma = '.'; /* as some locales write the point */
        if (pboost_number_parse(&back, text, (size_t)n) == NUMBER_FINITE && back == x)
            break;
    }
    return (size_t)n;
}

static pboost_status put(reader *r, column *c, size_t row, const field *f, const char *at,
                         pboost_error *err)
{
    char text[32];
    double v;

    if (c->kind == COLUMN_TEXT)
        return pboost_column_put_text(r->table, c, row, text, print_value(text, f, at), err);
    v = value(f, at);
    if (isfinite(v)) {
        c->kind = COLUMN_NUMBER;
        c->number[row] = v;
        return PBOOST_OK;
    }
    return pboost_column_put_text(r->table, c, row, text,
                                  (size_t)snprintf(text, sizeof text, "%g", v), err);
}

/* Moves to the next item's row and column. */
static void step(reader *r)
{
    if (r->records || r->n_dims == 1)
        r->row++;
    else if (r->fortran && ++r->row == r->rows)
        r->row = 0, r->col++;
    else if (!r->fortran && ++r->col == r->cols)
        r->col = 0, r->row++;
}

static pboost_status refuse_short(const reader *r, pboost_error *err)
{
    const source *s = r->src;
    size_t present = s->sized && r->used == 0 ? s->size : r->used + (s->end - s->begin);

    if (s->sized && r->used > 0)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s became shorter while it was read", s->name);
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s is cut short: %zu bytes of data expected, %zu present", s->name,
                       r->bytes, present);
}

/* The next n items; the table's first row is row `base` of the file. */
static pboost_status read_items(reader *r, size_t n, size_t base, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    source *s = r->src;

    for (size_t i = 0; i < n; i++) {
        size_t row = r->row - base;
        if (s->end - s->begin < r->item_size) {
            TRY(pboost_source_need(s, r->item_size, err));
            if (s->end - s->begin < r->item_size)
                TRY(refuse_short(r, err));
        }
        TRY(pboost_table_reserve(r->table, row + 1, err));
        for (size_t k = 0; k < r->n_fields; k++)
            TRY(put(r, &r->table->column[r->records ? k : r->col], row, &r->field[k],
                    s->data + s->begin + r->field[k].offset, err));
        s->begin += r->item_size;
        r->used += r->item_size;
        step(r);
    }
done:
    return st;
}

/* Compares what the header promises with what there is.  Of a pipe only the first row is looked at,
 * or everything if its columns come one after the other; the other rows are as they come. */
static pboost_status check_size(reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    source *s = r->src;
    size_t row_bytes;

    if (r->rows == 0 || r->cols == 0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s is an array of %zu rows and %zu columns; it must have at least 1 of each", s->name,
             r->rows, r->cols);
    if (__builtin_mul_overflow(r->records ? 1 : r->cols, r->item_size, &row_bytes) ||
        __builtin_mul_overflow(r->rows, row_bytes, &r->bytes))
        FAIL(err, PBOOST_BAD_DATA, "%s: its header says %zu by %zu, more than a file can hold",
             s->name, r->rows, r->cols);
    size_t needed = s->sized || r->fortran ? r->bytes : row_bytes;
    if (!s->sized)
        TRY(pboost_source_need(s, needed, err));
    if ((s->sized ? s->size : s->end - s->begin) < needed)
        TRY(refuse_short(r, err));
done:
    return st;
}

static pboost_status npy_open(void **out, pboost_table *table, source *src, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reader *r = calloc(1, sizeof *r);
    char name[32];

    *out = r;
    NEED(r, err);
    *r = (reader){.src = src, .table = table};
    table->is_array = true;
    TRY(read_header(r, err));
    r->rows = r->dim[0];
    r->cols = r->records ? table->cols : r->n_dims == 2 ? r->dim[1] : 1;
    TRY(check_size(r, err));
    for (size_t i = 0; !r->records && i < r->cols; i++) {
        size_t n = (size_t)snprintf(name, sizeof name, "x%zu", i + 1);
        TRY(pboost_table_add_column(table, name, n, err));
    }
done:
    return st;
}

static pboost_status npy_rows(void *self, size_t end, bool *over, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    reader *r = self;
    size_t base = r->row, left = r->rows - r->row, by_row = r->records ? 1 : r->cols;
    size_t n = r->fortran || left < end ? left : end; /* columns in order end together */

    if (base > 0)
        TRY(pboost_table_mark_line(r->table, 0, base, err));
    if (r->src->sized) /* that many rows are there */
        TRY(pboost_table_reserve(r->table, n, err));
    TRY(read_items(r, n * by_row, base, err));
    r->table->rows = n;
    *over = r->fortran || r->row == r->rows;
done:
    return st;
}

static void npy_close(void *self)
{
    reader *r = self;

    free(r->field);
    free(r);
}

const table_format PBOOST_NPY = {npy_open, npy_rows, npy_close};

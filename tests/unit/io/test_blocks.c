/* Tables in blocks of rows: whatever their size, they hold the cells and the lines of the table. */
#include "io_testing.h"

#include <math.h>

enum { ROWS = 500 };

static const char *const TEXT[] = {"id", "word"}, *const NUMBERS[] = {"x"};

static pboost_table_options named(void)
{
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    o.text = TEXT;
    o.n_text = 2;
    o.numbers = NUMBERS;
    o.n_numbers = 1;
    return o;
}

/* Rows first .. end of a table with line breaks in cells, missing cells and quotes. */
static void write_rows(const char *path, size_t first, size_t end)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "id,junk,x,word\n");
    for (size_t i = first; i < end; i++) {
        char x[32];
        snprintf(x, sizeof x, "%.1f", 0.5 * (double)i);
        fprintf(f, "a%zu,\"%s\",%s,%s\n", i, i % 11 == 3 ? "two\nlines" : "one",
                i % 7 == 5 ? "NA" : x,
                i % 5 == 0   ? ""
                : i % 3 == 0 ? "\"say \"\"no\"\"\""
                             : "yes");
    }
    fclose(f);
}

static const char *cell(const pboost_table *t, size_t col, size_t row)
{
    uint32_t code = pboost_table_codes(t, col)[row];
    return code == UINT32_MAX ? "" : pboost_table_level(t, col, code);
}

/* The rows of a block are the table's from row `at` on. */
static void assert_block(const pboost_table *block, const pboost_table *whole, size_t at)
{
    const double *x, *y;

    assert_int_equal(pboost_table_cols(block), pboost_table_cols(whole));
    assert_int_equal(pboost_table_numbers(&x, block, 2, true, NULL), PBOOST_OK);
    assert_int_equal(pboost_table_numbers(&y, whole, 2, true, NULL), PBOOST_OK);
    for (size_t i = 0; i < pboost_table_rows(block); i++) {
        assert_true(x[i] == y[at + i] || (isnan(x[i]) && isnan(y[at + i])));
        assert_string_equal(cell(block, 0, i), cell(whole, 0, at + i));
        assert_string_equal(cell(block, 3, i), cell(whole, 3, at + i));
        assert_int_equal(pboost_table_line(block, i), pboost_table_line(whole, at + i));
        assert_string_equal(pboost_table_row_path(block, i), pboost_table_row_path(whole, at + i));
    }
}

static void assert_same(const char *path)
{
    pboost_table_options o = named(), all = named();
    pboost_error err = {0};
    pboost_table *whole;

    assert_ok(pboost_table_read(&whole, path, &all, &err), err);
    assert_int_equal(pboost_table_rows(whole), ROWS);
    o.only_named = true;
    for (size_t size = 1; size < 2 * ROWS; size = 2 * size + 1) {
        pboost_table_reader *reader;
        const pboost_table *block;
        size_t at = 0;

        assert_ok(pboost_table_reader_open(&reader, path, &o, &err), err);
        for (;;) {
            assert_ok(pboost_table_reader_next(&block, reader, size, &err), err);
            if (block == NULL)
                break;
            assert_in_range(pboost_table_rows(block), 1, size);
            assert_block(block, whole, at);
            at += pboost_table_rows(block);
        }
        assert_int_equal(at, ROWS);
        assert_ok(pboost_table_reader_next(&block, reader, size, &err), err); /* the end stays */
        assert_null(block);
        pboost_table_reader_close(reader);
    }
    pboost_table_free(whole);
}

static void blocks_are_the_table(void **state)
{
    char *path = path_in(*state, "one.csv");

    write_rows(path, 0, ROWS);
    assert_same(path);
}

static void blocks_go_on_in_the_next_file(void **state)
{
    write_rows(path_in(*state, "part-1.csv"), 0, 123);
    write_rows(path_in(*state, "part-2.csv"), 123, 124);
    write_rows(path_in(*state, "part-3.csv"), 124, ROWS);
    assert_same(path_in(*state, "part-*.csv"));
}

/* In a table of one column, a blank line is a missing cell. */
static void blank_lines_fill_blocks(void **state)
{
    char *path = path_in(*state, "blank.csv");
    static const char text[] = "x\n1\n\n\n\n5\n\n7\n\n";
    pboost_table_options o = named();
    pboost_table_reader *reader;
    const pboost_table *block;
    pboost_error err = {0};
    const double *x;

    write_file(path, text, strlen(text));
    assert_ok(pboost_table_reader_open(&reader, path, &o, &err), err);
    for (size_t i = 0; i < 7; i += 2) {
        assert_ok(pboost_table_reader_next(&block, reader, 2, &err), err);
        assert_int_equal(pboost_table_rows(block), i < 6 ? 2 : 1);
        assert_int_equal(pboost_table_numbers(&x, block, 0, true, NULL), PBOOST_OK);
        for (size_t k = 0; k < pboost_table_rows(block); k++) {
            size_t row = i + k;
            assert_int_equal(pboost_table_line(block, k), row + 2);
            assert_true(row % 6 == 0 || row == 4 ? x[k] == (double)(row + 1) : isnan(x[k]));
        }
    }
    assert_ok(pboost_table_reader_next(&block, reader, 2, &err), err);
    assert_null(block);
    pboost_table_reader_close(reader);
}

static void a_column_that_is_not_named_is_not_kept(void **state)
{
    static const char *const UNUSED[] = {"junk", "x"};
    char *path = path_in(*state, "skip.csv");
    pboost_table_options o = named();
    pboost_error err = {0};
    pboost_table *t;
    const double *x;

    write_rows(path, 0, 10);
    o.only_named = true;
    assert_ok(pboost_table_read(&t, path, &o, &err), err);
    assert_fails(pboost_table_numbers(&x, t, 1, true, &err), PBOOST_INVALID, err,
                 "column 'junk' was not read");
    assert_null(pboost_table_codes(t, 1));
    assert_string_equal(pboost_table_name(t, 1), "junk");
    pboost_table_free(t);

    o = named(); /* one that is said to be unused, and one that is wanted all the same */
    o.unused = UNUSED;
    o.n_unused = 2;
    assert_ok(pboost_table_read(&t, path, &o, &err), err);
    assert_fails(pboost_table_numbers(&x, t, 1, true, &err), PBOOST_INVALID, err,
                 "column 'junk' was not read");
    assert_ok(pboost_table_numbers(&x, t, 2, true, &err), err);
    pboost_table_free(t);
}

/* A message in a late block names the line of the file. */
static void errors_name_the_line(void **state)
{
    static const char bad[] = "a1,z,1,w\na2,z,2\n";
    char *path = path_in(*state, "bad.csv");
    pboost_table_options o = named();
    pboost_table_reader *reader;
    const pboost_table *block;
    const double *x;
    pboost_error err = {0};

    write_rows(path, 0, 100);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("a0,z,wrong,w\n", f);
    fputs(bad, f);
    fclose(f);
    assert_ok(pboost_table_reader_open(&reader, path, &o, &err), err);
    assert_ok(pboost_table_reader_next(&block, reader, 100, &err), err);
    assert_ok(pboost_table_reader_next(&block, reader, 1, &err), err);
    assert_fails(pboost_table_numbers(&x, block, 2, true, &err), PBOOST_BAD_DATA, err,
                 "bad.csv:111: column 'x' is 'wrong'");
    assert_fails(pboost_table_reader_next(&block, reader, 10, &err), PBOOST_BAD_DATA, err,
                 "bad.csv:113: the row has 3 cells, but the header has 4");
    assert_null(block);
    pboost_table_reader_close(reader);
    assert_ok(pboost_table_reader_open(&reader, path, &o, &err), err);
    assert_fails(pboost_table_reader_next(&block, reader, 0, &err), PBOOST_INVALID, err, "0 rows");
    pboost_table_reader_close(reader);
    assert_fails(pboost_table_reader_open(&reader, path_in(*state, "none*"), &o, &err),
                 PBOOST_BAD_DATA, err, "no file matches");
    assert_null(reader);
}

/* A file that has this name is read, not others that the name would match as a pattern. */
static void a_name_with_signs_of_a_pattern_is_a_name(void **state)
{
    static const char *const NAME[] = {"d[1].csv", "d*.csv", "d?.csv", "d\\1.csv", "d,e.csv"};
    char other[4200];
    pboost_table_options o = named();
    pboost_error err = {0};
    pboost_table *t;

    snprintf(other, sizeof other, "%s", path_in(*state, "d1.csv"));
    write_rows(other, 0, 10);
    for (size_t i = 0; i < sizeof NAME / sizeof *NAME; i++) {
        char *path = path_in(*state, NAME[i]);
        write_rows(path, 0, 3);
        assert_ok(pboost_table_read(&t, path, &o, &err), err);
        assert_int_equal(pboost_table_rows(t), 3);
        pboost_table_free(t);
        unlink(path);
    }
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static void arrays_come_in_blocks(void **state)
{
    static const char *const ORDER[] = {"False", "True"};
    const pboost_table *block;
    pboost_table_reader *reader;
    pboost_error err = {0};
    const double *x;

    for (int fortran = 0; fortran < 2; fortran++) {
        char *path = path_in(*state, "a.npy"), header[118];
        unsigned char rows[7][2];
        FILE *f = fopen(path, "w");
        int n = snprintf(header, sizeof header,
                         "{'descr': '|u1', 'fortran_order': %s, 'shape': (7, 2)}", ORDER[fortran]);
        assert_non_null(f);
        fwrite("\x93NUMPY\1\0\x76\0", 1, 10, f);
        fprintf(f, "%s%*s", header, 118 - n, "");
        for (size_t i = 0; i < 14; i++)
            (&rows[0][0])[i] = (unsigned char)(fortran ? i % 7 * 2 + i / 7 : i);
        fwrite(rows, 1, sizeof rows, f);
        fclose(f);
        assert_ok(pboost_table_reader_open(&reader, path, NULL, &err), err);
        for (size_t at = 0; at < 7; at += pboost_table_rows(block)) {
            assert_ok(pboost_table_reader_next(&block, reader, 3, &err), err);
            assert_int_equal(pboost_table_rows(block), fortran ? 7 : at < 6 ? 3 : 1);
            assert_int_equal(pboost_table_numbers(&x, block, 1, false, NULL), PBOOST_OK);
            for (size_t i = 0; i < pboost_table_rows(block); i++) {
                assert_true(x[i] == (double)(2 * (at + i) + 1));
                assert_int_equal(pboost_table_line(block, i), at + i + 1);
            }
        }
        assert_ok(pboost_table_reader_next(&block, reader, 3, &err), err);
        assert_null(block);
        pboost_table_reader_close(reader);
    }
}

/* ---- Rows from elsewhere --------------------------------------------------------------------- */

typedef struct {
    size_t at, n, starts;
    pboost_cell cell[3];
    bool broken;
} supply;

static pboost_status supply_start(void *self, size_t *n_columns, const char *const **names,
                                  pboost_error *err)
{
    static const char *const NAMES[] = {"x", "code", "mixed"};
    supply *s = self;
    (void)err;
    s->at = 0;
    s->starts++;
    *n_columns = 3;
    *names = NAMES;
    return PBOOST_OK;
}

static pboost_cell text_cell(const char *text, bool is_text)
{
    return (pboost_cell){text, text != NULL ? strlen(text) : 0, is_text};
}

static pboost_status supply_next(void *self, const pboost_cell **cells, pboost_error *err)
{
    static const char *const X[] = {"1.5", NULL, "9007199254740993", "-2e-3"};
    supply *s = self;
    *cells = NULL;
    if (s->broken && s->at == 2)
        return pboost_fail(err, PBOOST_BAD_DATA, "the supply broke");
    if (s->at == s->n)
        return PBOOST_OK;
    s->cell[0] = text_cell(X[s->at % 4], false);
    s->cell[1] = text_cell(s->at % 2 == 0 ? "07" : "NA", true);
    s->cell[2] = s->at % 2 == 0 ? text_cell("1", false) : text_cell("word", true);
    s->at++;
    *cells = s->cell;
    return PBOOST_OK;
}

static void rows_keep_their_types(void **state)
{
    (void)state;
    supply s = {.n = 8};
    const pboost_rows rows = {&s, supply_start, supply_next};
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_table *t;
    const double *x;

    o.rows = &rows;
    assert_ok(pboost_table_read(&t, "supply", &o, &err), err);
    assert_int_equal(pboost_table_rows(t), 8);
    assert_int_equal(s.starts, 2); /* the third column turned out to be text */
    assert_ok(pboost_table_numbers(&x, t, 0, true, &err), err);
    assert_true(x[0] == 1.5 && isnan(x[1]) && x[2] == 9007199254740992.0 && x[3] == -2e-3);
    assert_true(pboost_table_is_text(t, 1)); /* a text that looks like a number stays one */
    assert_string_equal(cell(t, 1, 0), "07");
    assert_string_equal(cell(t, 1, 1), "NA"); /* only NULL is missing */
    assert_true(pboost_table_is_text(t, 2));
    assert_string_equal(cell(t, 2, 0), "1");
    assert_string_equal(cell(t, 2, 1), "word");
    assert_string_equal(pboost_table_row_path(t, 5), "supply");
    assert_int_equal(pboost_table_line(t, 5), 6);
    pboost_table_free(t);
}

static void rows_that_fail_are_errors(void **state)
{
    (void)state;
    static const char *const CODE[] = {"x"};
    supply s = {.n = 0};
    const pboost_rows rows = {&s, supply_start, supply_next};
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_table *t;
    pboost_table_reader *reader;
    const pboost_table *block;

    o.rows = &rows;
    assert_fails(pboost_table_read(&t, "supply", &o, &err), PBOOST_BAD_DATA, err,
                 "supply gives no rows");
    s = (supply){.n = 5, .broken = true};
    assert_fails(pboost_table_read(&t, "supply", &o, &err), PBOOST_BAD_DATA, err,
                 "the supply broke");
    s = (supply){.n = 5};
    o.numbers = CODE;
    o.n_numbers = 1;
    o.only_named = true;
    assert_ok(pboost_table_reader_open(&reader, "supply", &o, &err), err);
    for (size_t at = 0; at < 5; at += 2) {
        assert_ok(pboost_table_reader_next(&block, reader, 2, &err), err);
        assert_int_equal(pboost_table_line(block, 0), at + 1);
    }
    assert_ok(pboost_table_reader_next(&block, reader, 2, &err), err);
    assert_null(block);
    pboost_table_reader_close(reader);
}

/* ---- Progress -------------------------------------------------------------------------------- */

typedef struct {
    size_t calls;
    double done, total;
} told;

static void note_progress(void *user, const char *stage, double done, double total)
{
    told *t = user;
    assert_string_equal(stage, "reading");
    assert_true(done >= t->done);
    *t = (told){t->calls + 1, done, total};
}

static void reading_tells_how_far_it_is(void **state)
{
    char *path = path_in(*state, "progress.csv");
    told t = {0};
    const pboost_cancel watch = {.user = &t, .progress = note_progress};
    pboost_table_options o = named();
    pboost_error err = {0};
    pboost_table *table;
    struct stat info;

    write_rows(path, 0, ROWS);
    assert_int_equal(stat(path, &info), 0);
    o.cancel = &watch;
    assert_ok(pboost_table_read(&table, path, &o, &err), err);
    assert_true(t.calls > 0 && t.done == (double)info.st_size && t.total == t.done);
    pboost_table_free(table);
}

typedef struct {
    size_t encodings;
    double last;
} encoding_told;

static void note_encoding(void *user, const char *stage, double done, double total)
{
    encoding_told *t = user;
    if (strcmp(stage, "encoding") != 0)
        return;
    assert_true(done > t->last && done < total);
    *t = (encoding_told){t->encodings + 1, done};
}

/* Of a large table; a block of one is encoded at once. */
static void encoding_tells_how_far_it_is(void **state)
{
    enum { MANY = 300000 };
    char *path = path_in(*state, "many.csv");
    encoding_told t = {0};
    const pboost_cancel watch = {.user = &t, .progress = note_encoding};
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    pboost_encoding_options how = PBOOST_ENCODING_OPTIONS_INIT;
    pboost_encoding encoding;
    pboost_error err = {0};
    pboost_table *table;
    FILE *f = fopen(path, "w");
    double *x = malloc(MANY * sizeof *x);

    assert_true(f != NULL && x != NULL);
    fputs("x\n", f);
    for (size_t i = 0; i < MANY; i++)
        fprintf(f, "%zu\n", i % 7);
    fclose(f);
    o.cancel = &watch;
    assert_ok(pboost_table_read(&table, path, &o, &err), err);
    assert_ok(pboost_encoding_learn(&encoding, table, &how, &err), err);
    assert_ok(pboost_encoding_apply(x, NULL, &encoding, table, &err), err);
    assert_int_equal(t.encodings, 2);
    assert_true(x[MANY - 1] == (MANY - 1) % 7);
    pboost_encoding_free(&encoding);
    pboost_table_free(table);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_are_the_table, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(blocks_go_on_in_the_next_file, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(blank_lines_fill_blocks, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(a_column_that_is_not_named_is_not_kept, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(errors_name_the_line, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(a_name_with_signs_of_a_pattern_is_a_name, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(arrays_come_in_blocks, enter_directory, leave_directory),
        cmocka_unit_test(rows_keep_their_types),
        cmocka_unit_test(rows_that_fail_are_errors),
        cmocka_unit_test_setup_teardown(reading_tells_how_far_it_is, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(encoding_tells_how_far_it_is, enter_directory,
                                        leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

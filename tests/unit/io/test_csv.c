/* CSV files: what is read, from where, and the message about every bad file. */
#include "io_testing.h"

#include <fcntl.h>
#include <sys/wait.h>

/* Every window from 1 byte on, so that every place is once the last in sight. */
enum { N_WINDOWS = 40 };

/* One cell as text: numbers as %g, "-" where missing. */
static const char *cell(const pboost_table *t, size_t row, size_t col)
{
    static char text[64];
    const double *x = NULL;

    if (pboost_table_is_text(t, col)) {
        uint32_t code = pboost_table_codes(t, col)[row];
        return code == UINT32_MAX ? "-" : pboost_table_level(t, col, code);
    }
    if (pboost_table_numbers(&x, t, col, true, NULL) != PBOOST_OK)
        return "?";
    snprintf(text, sizeof text, isnan(x[row]) ? "-" : "%g", x[row]);
    return text;
}

/* The whole table as "a,b|1,2|3,4", the same for every window. */
static void check_with(const char *text, size_t n, const char *expected,
                       const pboost_table_options *options)
{
    for (size_t w = 0; w < N_WINDOWS; w++) {
        char got[2048] = "";
        size_t used = 0;
        pboost_error err = {0};
        pboost_table *t;
        assert_ok(table_from(&t, text, n, w + 1, options, &err), err);
        for (size_t c = 0; c < pboost_table_cols(t); c++)
            used += (size_t)snprintf(got + used, sizeof got - used, "%s%s", c > 0 ? "," : "",
                                     pboost_table_name(t, c));
        for (size_t r = 0; r < pboost_table_rows(t); r++)
            for (size_t c = 0; c < pboost_table_cols(t); c++)
                used += (size_t)snprintf(got + used, sizeof got - used, "%s%s", c > 0 ? "," : "|",
                                         cell(t, r, c));
        assert_string_equal(got, expected);
        pboost_table_free(t);
    }
}

static void check(const char *text, const char *expected)
{
    check_with(text, strlen(text), expected, NULL);
}

/* Reading fails, and the message has this part, for every window. */
static void check_bad(const char *text, size_t n, const char *part)
{
    for (size_t w = 0; w < N_WINDOWS; w++) {
        pboost_error err = {0};
        pboost_table *t;
        assert_fails(table_from(&t, text, n, w + 1, NULL, &err), PBOOST_BAD_DATA, err, part);
        assert_null(t);
    }
}

static void bad(const char *text, const char *part)
{
    check_bad(text, strlen(text), part);
}

static void reads_plain_rows(void **unused)
{
    (void)unused;
    check("a,b\n1,2\n3,4\n", "a,b|1,2|3,4");
    check("a,b\n1,2\n3,4", "a,b|1,2|3,4");
    check("a,b\r\n1,2\r\n3,4\r\n", "a,b|1,2|3,4");
    check("a,b\r\n1,2\r\n3,4\r", "a,b|1,2|3,4");
    check("\xef\xbb\xbf"
          "a,b\n1,2\n",
          "a,b|1,2");
    check("a\n1\n", "a|1");
    check("a,b\n+1,-2e3\n.5,5.\n", "a,b|1,-2000|0.5,5");
    check("a,b\nx,1\n\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80,2\n",
          "a,b|x,1|\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80,2");
}

static void finds_the_separator(void **unused)
{
    (void)unused;
    check("a;b\n1;2\n", "a,b|1,2");
    check("a\tb\n1\t2\n", "a,b|1,2");
    check("a;b;c,d\n1;2;3\n", "a,b,c,d|1,2,3");
    check("\"a,b,c\";d\nx;2\n", "a,b,c,d|x,2");
    check("\"a\"\"b,,,\";d\nx;2\n", "a\"b,,,,d|x,2");
    check("a\"b;c\n1;2\n", "a\"b,c|1,2");
    check("a\tb\n\t\n1\t2\n", "a,b|-,-|1,2");
}

static void reads_quotes(void **unused)
{
    (void)unused;
    check("a,b\n\"x,y\",1\n\"he said \"\"no\"\"\",2\n", "a,b|x,y,1|he said \"no\",2");
    check("a,b\n\"two\nlines\",1\n\"\",2\n", "a,b|two\nlines,1|-,2");
    check("a,b\n\"two\r\nlines\",1\r\n", "a,b|two\r\nlines,1");
    check("a,b\n\"1.5\",\"2\"\n", "a,b|1.5,2");
    check("a,b\n \"x\" , \"y\" \n", "a,b|x,y");
    check("a,b\n\" x \",y\"z\n", "a,b| x ,y\"z");
    check("a,b\n\"x\",\"\"\"\"\n\"y\",\"z\"", "a,b|x,\"|y,z");
    check("\"a\nb\",c\n1,2\n", "a\nb,c|1,2");
    check("a,b\nx,\"y\"\r", "a,b|x,y");
}

static void trims_blanks(void **unused)
{
    (void)unused;
    check(" sex, age\n Male, 39 \n Female ,\t40\n", "sex,age|Male,39|Female,40");
    check("a\tb\n x \t 1 \n", "a,b|x,1");
}

static void knows_missing_cells(void **unused)
{
    (void)unused;
    check("a,b\n,x\nNA,\n1,NA\n", "a,b|-,x|-,-|1,-");
    check("a,b\n\"NA\",\"\"\n1,x\n", "a,b|-,-|1,x");
    check("a,b\n,\n,\n", "a,b|-,-|-,-");
    check("a,b\nNAN1,N/A\n", "a,b|NAN1,N/A");
}

static void treats_blank_lines_as_documented(void **unused)
{
    (void)unused;
    check("a,b\n1,2\n\n\n  \n", "a,b|1,2");
    check("a,b\n1,2\r\n\r\n", "a,b|1,2");
    check("a\n1\n\n\n2\n\n", "a|1|-|-|2");
    check("a\n\n2\n", "a|-|2");
    check("a\n1\n\"\"\n", "a|1|-");
    bad("a,b\n1,2\n\n3,4\n", "t.csv:3: the row has 1 cell, but the header has 2");
}

static void reads_named_columns_as_text(void **unused)
{
    const char *names[] = {"b", "absent"};
    pboost_table_options options = PBOOST_TABLE_OPTIONS_INIT;
    const char text[] = "a,b\n1,01\n2,1\n3,\n4,01\n";
    pboost_error err = {0};
    pboost_table *t;

    (void)unused;
    options.text = names;
    options.n_text = 2;
    check_with(text, strlen(text), "a,b|1,01|2,1|3,-|4,01", &options);
    assert_ok(table_from(&t, text, strlen(text), 64, &options, &err), err);
    assert_int_equal(pboost_table_n_levels(t, 1), 2);
    assert_int_equal(pboost_table_codes(t, 1)[3], 0);
    assert_null(pboost_table_codes(t, 0));
    pboost_table_free(t);
    options.struct_size = 0;
    assert_fails(table_from(&t, text, strlen(text), 64, &options, &err), PBOOST_INVALID, err,
                 "struct_size");
}

static void refuses_bad_headers(void **unused)
{
    (void)unused;
    bad("", "t.csv is empty");
    bad("\xef\xbb\xbf", "t.csv is empty");
    bad("a,b\n", "t.csv has a header but no rows");
    bad("a,b", "t.csv has a header but no rows");
    bad("a\n\n\n", "t.csv has a header but no rows");
    bad("a,,c\n1,2,3\n", "t.csv:1: column 2 of 3 has no name");
    bad("\n1\n", "t.csv:1: column 1 of 1 has no name");
    bad("a,b, a \n1,2,3\n", "columns 1 and 3 are both named 'a'");
    bad("a,b\r1,2\r", "t.csv:1: there is a carriage return without a line feed");
}

static void refuses_bad_rows(void **unused)
{
    (void)unused;
    bad("a,b\n1,2\n3\n", "t.csv:3: the row has 1 cell, but the header has 2");
    bad("a,b\n1,2,3\n", "t.csv:2: the row has 3 cells, but the header has 2");
    bad("a,b\n\"x\ny\",2\n1\n", "t.csv:4: the row has 1 cell");
    bad("a,b\n1,\"open\n", "t.csv:2: cell 2 has a quote that is never closed");
    bad("a,b\n1,\"x\"y\n", "t.csv:2: cell 2 has text after its closing quote");
    bad("a,b\n1,x\ry\n", "t.csv:2: there is a carriage return");
    bad("a,b\n1,2\n2,x\n3,x\ry\n", "t.csv:4: there is a carriage return");
    check_bad("a,b\n1,\0\n", 8, "t.csv:2: there is a NUL byte");
    bad("a,b\n1,2\nx\xff,1\n", "t.csv:3: byte 0xff is not UTF-8");
    bad("a,b\n1,2\nx\xc3", "t.csv:3: byte 0xc3 is not UTF-8");
    bad("a,b\n1,\xc0\x80\n", "t.csv:2: byte 0xc0");
    bad("a,b\n1,\xed\xa0\x80\n", "t.csv:2: byte 0xed");
    bad("a,b\n1,\xe0\x9f\xbf\n", "t.csv:2: byte 0xe0");
    bad("a,b\n1,\xf0\x8f\xbf\xbf\n", "t.csv:2: byte 0xf0");
    bad("a,b\n1,\xf4\x90\x80\x80\n", "t.csv:2: byte 0xf4");
    bad("\xff\xfe"
        "a\0\n",
        "t.csv:1: byte 0xff");
}

static void says_where_a_number_is_none(void **unused)
{
    pboost_table *t = table_of("x,y,z,w\n1,a,\"q\nr\",1\n2,b,s,\nabc,c,t,nan\ndef,d,u,inf\n");
    pboost_error err;
    const double *x;

    (void)unused;
    assert_fails(pboost_table_numbers(&x, t, 0, true, &err), PBOOST_BAD_DATA, err,
                 "t.csv:5: column 'x' is 'abc', but other cells are numbers; correct the cell, or "
                 "say --na 'abc' (it is missing) or --types x=category");
    assert_null(x);
    assert_fails(pboost_table_numbers(&x, t, 1, true, &err), PBOOST_BAD_DATA, err,
                 "t.csv:2: column 'y' is 'a'; it must be a number");
    assert_fails(pboost_table_numbers(&x, t, 3, true, &err), PBOOST_BAD_DATA, err,
                 "t.csv:5: column 'w' is 'nan'; it must be a finite number");
    pboost_table_free(t);
    t = table_of("x,y\n1,1e999\n,2\n");
    assert_fails(pboost_table_numbers(&x, t, 0, false, &err), PBOOST_BAD_DATA, err,
                 "t.csv:3: column 'x' is missing");
    assert_ok(pboost_table_numbers(&x, t, 0, true, &err), err);
    assert_true(isnan(x[1]));
    assert_fails(pboost_table_numbers(&x, t, 1, true, &err), PBOOST_BAD_DATA, err,
                 "t.csv:2: column 'y' is '1e999'; it must be a finite number");
    pboost_table_free(t);
    t = table_of("x\nInfinity\n");
    assert_false(pboost_table_is_text(t, 0));
    assert_fails(pboost_table_numbers(&x, t, 0, true, &err), PBOOST_BAD_DATA, err, "'Infinity'");
    pboost_table_free(t);
}

static void knows_the_line_of_every_row(void **unused)
{
    pboost_table *t = table_of("\"a\nb\"\n1\n\n\"2\n\n\"\n3\n4\n");
    const size_t line[] = {3, 4, 5, 8, 9};

    (void)unused;
    assert_int_equal(pboost_table_rows(t), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(pboost_table_line(t, i), line[i]);
    pboost_table_free(t);
}

static void finds_columns_or_lists_them(void **unused)
{
    pboost_table *t = table_of("age,sex,income\n1,2,3\n");
    pboost_error err;
    size_t col;

    (void)unused;
    assert_ok(pboost_table_find(&col, t, "income", &err), err);
    assert_int_equal(col, 2);
    assert_fails(pboost_table_find(&col, t, "Age", &err), PBOOST_BAD_DATA, err,
                 "t.csv has no column 'Age'; its columns are age, sex, income");
    pboost_table_free(t);
}

/* Messages stay short and in one line whatever the cell or the path. */
static void shows_long_values_briefly(void **unused)
{
    char text[5000] = "x\n1\n\"", part[64];
    pboost_error err;
    pboost_table *t;
    const double *x;

    (void)unused;
    for (size_t i = strlen(text); i + 4 < sizeof text; i += 2)
        memcpy(text + i, i == 6 ? "\n\t" : "\xc3\xa4", 3);
    strcat(text, "\"\n");
    t = table_of(text);
    assert_fails(pboost_table_numbers(&x, t, 0, true, &err), PBOOST_BAD_DATA, err, "...', but");
    assert_null(strchr(err.message, '\n'));
    assert_true(strlen(err.message) < 250);
    pboost_table_free(t);
    shown s = pboost_shown("12345", 5);
    assert_string_equal(s.text, "12345");
    memset(part, 'x', sizeof part);
    s = pboost_shown(part, sizeof part);
    assert_int_equal(strlen(s.text), SHOWN_BYTES - 1);
}

static void reads_many_columns_and_levels(void **unused)
{
    enum { COLS = 3000, ROWS = 2500 };
    char *text = malloc(COLS * 12 + COLS * 12 + 64), *p = text;
    pboost_error err = {0};
    pboost_table *t;

    (void)unused;
    for (int c = 0; c < COLS; c++)
        p += sprintf(p, "%sc%d", c > 0 ? "," : "", c);
    for (int c = 0; c < COLS; c++)
        p += sprintf(p, "%s%d", c > 0 ? "," : "\n", c * 7);
    assert_ok(table_from(&t, text, (size_t)(p - text), 100, NULL, &err), err);
    assert_int_equal(pboost_table_cols(t), COLS);
    assert_string_equal(pboost_table_name(t, 2999), "c2999");
    assert_string_equal(cell(t, 0, 2999), "20993");
    pboost_table_free(t);
    p = text + sprintf(text, "id\n");
    for (int r = 0; r < ROWS; r++)
        p += sprintf(p, "row%d\n", r / 2);
    assert_ok(table_from(&t, text, (size_t)(p - text), 100, NULL, &err), err);
    assert_int_equal(pboost_table_n_levels(t, 0), ROWS / 2);
    for (size_t r = 0; r < ROWS; r++) {
        char expected[16];
        snprintf(expected, sizeof expected, "row%zu", r / 2);
        assert_string_equal(cell(t, r, 0), expected);
    }
    pboost_table_free(t);
    free(text);
}

static void text_after_many_missing_cells(void **unused)
{
    char *text = malloc(20000), *p = text + sprintf(text, "a,b\n");
    pboost_error err = {0};
    pboost_table *t;

    (void)unused;
    for (int r = 0; r < 1500; r++)
        p += sprintf(p, ",%d\n", r);
    p += sprintf(p, "x,7\n");
    assert_ok(table_from(&t, text, (size_t)(p - text), 64, NULL, &err), err);
    assert_true(pboost_table_is_text(t, 0));
    assert_int_equal(pboost_table_codes(t, 0)[0], UINT32_MAX);
    assert_int_equal(pboost_table_codes(t, 0)[1499], UINT32_MAX);
    assert_int_equal(pboost_table_codes(t, 0)[1500], 0);
    pboost_table_free(t);
    free(text);
}

static void reads_files_pipes_and_refuses_the_rest(void **state)
{
    char *path = path_in(*state, "t.csv");
    pboost_error err;
    pboost_table *t;
    int end[2];
    char pipe_path[64];

    write_file(path, "a,b\n1,2\n", 8);
    assert_ok(pboost_table_read(&t, path, NULL, &err), err);
    assert_string_equal(pboost_table_path(t), path);
    assert_int_equal(pboost_table_rows(t), 1);
    pboost_table_free(t);
    assert_fails(pboost_table_read(&t, *state, NULL, &err), PBOOST_BAD_DATA, err, "Is a directory");
    assert_non_null(strstr(err.message, *state));
    assert_fails(pboost_table_read(&t, path_in(*state, "none.csv"), NULL, &err), PBOOST_BAD_DATA,
                 err, "none.csv: No such file or directory");
    assert_null(t);
    assert_int_equal(pipe(end), 0);
    assert_int_equal(write(end[1], "a,b\n1,2\n3,4\n", 12), 12);
    close(end[1]);
    snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", end[0]);
    assert_ok(pboost_table_read(&t, pipe_path, NULL, &err), err);
    assert_int_equal(pboost_table_rows(t), 2);
    pboost_table_free(t);
    close(end[0]);
}

static void reads_standard_input(void **state)
{
    char *path = path_in(*state, "in.csv");
    int saved = dup(STDIN_FILENO), fd;
    pboost_error err;
    pboost_table *t;

    write_file(path, "a;b\n1;2\n", 8);
    fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && saved >= 0);
    dup2(fd, STDIN_FILENO);
    close(fd);
    assert_ok(pboost_table_read(&t, "-", NULL, &err), err);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_string_equal(pboost_table_path(t), "standard input");
    assert_int_equal(pboost_table_cols(t), 2);
    pboost_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain_rows),
        cmocka_unit_test(finds_the_separator),
        cmocka_unit_test(reads_quotes),
        cmocka_unit_test(trims_blanks),
        cmocka_unit_test(knows_missing_cells),
        cmocka_unit_test(treats_blank_lines_as_documented),
        cmocka_unit_test(reads_named_columns_as_text),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(refuses_bad_rows),
        cmocka_unit_test(says_where_a_number_is_none),
        cmocka_unit_test(knows_the_line_of_every_row),
        cmocka_unit_test(finds_columns_or_lists_them),
        cmocka_unit_test(shows_long_values_briefly),
        cmocka_unit_test(reads_many_columns_and_levels),
        cmocka_unit_test(text_after_many_missing_cells),
        cmocka_unit_test_setup_teardown(reads_files_pipes_and_refuses_the_rest, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(reads_standard_input, enter_directory, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a column is, from all of its cells. */
#include "io_testing.h"

static pboost_table *with(const char *text, pboost_table_options options)
{
    pboost_error err = {0};
    pboost_table *t;

    options.struct_size = sizeof options;
    assert_ok(table_from(&t, text, strlen(text), 1 << 16, &options, &err), err);
    return t;
}

static pboost_column_info info_of(const pboost_table *t, size_t col)
{
    pboost_column_info info;
    pboost_table_describe(&info, t, col);
    return info;
}

static void words_among_numbers_are_missing(void **unused)
{
    static const char *const FIRST[] = {"unknown", "?", "N/A", "-", "None", "NULL"};
    (void)unused;

    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++) {
        char text[100];
        const double *x;
        snprintf(text, sizeof text, "age,b\n%s,1\n41,2\n%s,3\n7.5,4\n", FIRST[i], FIRST[i]);
        pboost_table *t = table_of(text);
        pboost_column_info info = info_of(t, 0);
        assert_int_equal(info.kind, PBOOST_COLUMN_NUMBER);
        assert_int_equal(info.missing, 2);
        assert_int_equal(info.words, 2);
        assert_string_equal(info.word, FIRST[i]);
        assert_float_equal(info.mean, 24.25, 0);
        assert_int_equal(pboost_table_numbers(&x, t, 0, true, NULL), PBOOST_OK);
        assert_true(isnan(x[0]) && isnan(x[2]));
        assert_float_equal(x[3], 7.5, 0);
        pboost_table_free(t);
    }
}

/* The same words among words are categories. */
static void words_among_words_are_categories(void **unused)
{
    pboost_table *t = table_of("a,b\n?,unknown\nx,unknown\n?,unknown\n");
    (void)unused;

    assert_int_equal(info_of(t, 0).kind, PBOOST_COLUMN_CATEGORY);
    assert_int_equal(info_of(t, 0).levels, 2);
    assert_int_equal(info_of(t, 0).missing, 0);
    assert_int_equal(info_of(t, 1).kind, PBOOST_COLUMN_CATEGORY);
    assert_int_equal(info_of(t, 1).levels, 1);
    pboost_table_free(t);
}

static void reads_decimal_commas(void **unused)
{
    pboost_table *t = table_of("a;b;c\n1;2,5;1.5\n1,25;3;2,5\n");
    pboost_error err;
    const double *x;
    (void)unused;

    assert_int_equal(pboost_table_numbers(&x, t, 0, false, NULL), PBOOST_OK);
    assert_float_equal(x[1], 1.25, 0);
    assert_int_equal(pboost_table_numbers(&x, t, 1, false, NULL), PBOOST_OK);
    assert_float_equal(x[0], 2.5, 0);
    assert_true(info_of(t, 1).decimal_comma);
    assert_fails(pboost_table_numbers(&x, t, 2, false, &err), PBOOST_BAD_DATA, err,
                 "column 'c' has numbers with a decimal comma and numbers with a point");
    pboost_table_free(t);
    t = table_of("a,b\n\"1,5\",2\n\"2,5\",3\n"); /* the comma separates: thousands or fractions? */
    assert_true(pboost_table_is_text(t, 0));
    pboost_table_free(t);
}

/* A word among many numbers is a mistake wherever it stands; codes are categories. */
static void tells_mistakes_from_codes(void **unused)
{
    char text[2000] = "a,b\n";
    pboost_error err;
    const double *x;
    (void)unused;

    for (size_t first = 0; first < 2; first++) {
        size_t used = (size_t)sprintf(text, "a,b\n");
        for (size_t i = 0; i < 60; i++)
            used += i == 59 * first
                        ? (size_t)sprintf(text + used, "abc,E%zu\n", i % 3)
                        : (size_t)sprintf(text + used, "%zu,%s%zu\n", i, i % 2 ? "E" : "", i % 3);
        pboost_table *t = table_of(text);
        bool use[] = {true, false};
        pboost_encoding_options o = PBOOST_ENCODING_OPTIONS_INIT;
        pboost_encoding e;
        o.use = use;
        assert_fails(pboost_encoding_learn(&e, t, &o, &err), PBOOST_BAD_DATA, err,
                     "column 'a' is 'abc', but other cells are numbers");
        assert_int_equal(info_of(t, 0).offender, 59 * first);
        assert_int_not_equal(pboost_table_numbers(&x, t, 0, true, NULL), PBOOST_OK);
        pboost_table_free(t);
    }
}

/* Codes that begin with numbers: the file is read again, with the text of every cell. */
static void reads_mixed_codes_again(void **state)
{
    const char *path = path_in(*state, "codes.csv");
    pboost_error err = {0};
    pboost_table *t;
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs("code\n012\n12\nE11\nE12\n012\nK7\n", f);
    fclose(f);
    assert_ok(pboost_table_read(&t, path, NULL, &err), err);
    assert_true(pboost_table_is_text(t, 0));
    assert_int_equal(pboost_table_n_levels(t, 0), 5);
    assert_string_equal(pboost_table_level(t, 0, 0), "012");
    assert_int_equal(pboost_table_codes(t, 0)[4], 0);
    pboost_table_free(t);
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Several files are one table, and every row knows its own file and line. */
static void reads_several_files(void **state)
{
    char pattern[512], list[1024], *end = list;
    pboost_error err = {0};
    pboost_table *t;
    const double *x;

    put_file(path_in(*state, "part-1.csv"), "a,b\n1,x\n2,\"y\n\"\n3,x\n");
    put_file(path_in(*state, "part-2.csv"), "a,b\n4,z\n5,x\nabc,x\n");
    snprintf(pattern, sizeof pattern, "%s/part-*.csv", (const char *)*state);
    assert_ok(pboost_table_read(&t, pattern, NULL, &err), err);
    assert_int_equal(pboost_table_rows(t), 6);
    assert_int_equal(pboost_table_n_levels(t, 1), 3);
    assert_string_equal(pboost_table_path(t), pattern);
    assert_string_equal(pboost_table_row_path(t, 2), path_in(*state, "part-1.csv"));
    assert_string_equal(pboost_table_row_path(t, 3), path_in(*state, "part-2.csv"));
    assert_int_equal(pboost_table_line(t, 2), 5);
    assert_int_equal(pboost_table_line(t, 3), 2);
    assert_int_equal(pboost_table_line(t, 5), 4);
    assert_fails(pboost_table_numbers(&x, t, 0, true, &err), PBOOST_BAD_DATA, err,
                 "part-2.csv:4: column 'a' is 'abc'");
    pboost_table_free(t);

    end += sprintf(end, "%s,", path_in(*state, "part-2.csv"));
    sprintf(end, "%s", path_in(*state, "part-1.csv"));
    assert_ok(pboost_table_read(&t, list, NULL, &err), err);
    assert_int_equal(pboost_table_line(t, 5), 5);
    pboost_table_free(t);

    put_file(path_in(*state, "part-3.csv"), "a,c\n4,z\n");
    assert_fails(pboost_table_read(&t, pattern, NULL, &err), PBOOST_BAD_DATA, err,
                 "part-3.csv: column 2 is 'c', but in ");
    put_file(path_in(*state, "part-3.csv"), "a\n4\n");
    assert_fails(pboost_table_read(&t, pattern, NULL, &err), PBOOST_BAD_DATA, err,
                 "part-3.csv has 1 columns, but ");
    put_file(path_in(*state, "part-3.csv"), "a,b\n");
    assert_fails(pboost_table_read(&t, pattern, NULL, &err), PBOOST_BAD_DATA, err,
                 "part-3.csv has a header but no rows");
    snprintf(pattern, sizeof pattern, "%s/none-*.csv", (const char *)*state);
    assert_fails(pboost_table_read(&t, pattern, NULL, &err), PBOOST_BAD_DATA, err,
                 "no file matches");
}

static void obeys_the_caller(void **unused)
{
    static const char *const A[] = {"a"}, *const MISSING[] = {"-9", "none"};
    pboost_error err;
    const double *x;
    (void)unused;

    pboost_table *t = with("a,b\n1,x\n2,y\n", (pboost_table_options){.text = A, .n_text = 1});
    assert_true(pboost_table_is_text(t, 0));
    pboost_table_free(t);
    t = with("a,b\nx,1\ny,2\nz,3\n4,5\n", (pboost_table_options){.numbers = A, .n_numbers = 1});
    assert_fails(pboost_table_numbers(&x, t, 0, true, &err), PBOOST_BAD_DATA, err,
                 "t.csv:2: column 'a' is 'x'");
    pboost_table_free(t);
    t = with("a,b\n-9,none\n2,x\n", (pboost_table_options){.missing = MISSING, .n_missing = 2});
    assert_int_equal(info_of(t, 0).missing, 1);
    assert_int_equal(info_of(t, 1).missing, 1);
    assert_int_equal(info_of(t, 1).levels, 1);
    pboost_table_free(t);
}

static void recognises_ids(void **unused)
{
    char text[8000] = "number,text,twice,half,few\n";
    size_t used = strlen(text);
    (void)unused;

    for (size_t i = 0; i < 120; i++)
        used += (size_t)sprintf(text + used, "%zu,p%zu,%zu,%g,%zu\n", (i * 77) % 120, i,
                                i == 119 ? 0 : i, (double)i + 0.5, i % 9);
    pboost_table *t = table_of(text);
    assert_int_equal(info_of(t, 0).kind, PBOOST_COLUMN_ID);
    assert_int_equal(info_of(t, 1).kind, PBOOST_COLUMN_ID);
    assert_int_equal(info_of(t, 2).kind, PBOOST_COLUMN_NUMBER);
    assert_int_equal(info_of(t, 3).kind, PBOOST_COLUMN_NUMBER);
    assert_int_equal(info_of(t, 4).kind, PBOOST_COLUMN_NUMBER);
    pboost_table_free(t);
    t = table_of("a,b\n1,x\n2,y\n3,z\n"); /* too few rows to tell */
    assert_int_equal(info_of(t, 0).kind, PBOOST_COLUMN_NUMBER);
    assert_int_equal(info_of(t, 1).kind, PBOOST_COLUMN_CATEGORY);
    pboost_table_free(t);
}

static void recognises_dates_and_empty_columns(void **unused)
{
    pboost_table *t = table_of("a,b,c,d\n2024-02-29,31.12.1999,2024-01-01T10:00Z,\n"
                               ",01.01.2000,2024-01-01 11:30:15.5,NA\n");
    (void)unused;

    for (size_t col = 0; col < 3; col++)
        assert_int_equal(info_of(t, col).kind, PBOOST_COLUMN_DATE);
    assert_int_equal(info_of(t, 3).kind, PBOOST_COLUMN_EMPTY);
    pboost_table_free(t);
    t = table_of("a,b\n2023-02-29,1/2/2024\n2024-01-01,2/2/2024\n"); /* no such day; ambiguous */
    assert_int_equal(info_of(t, 0).kind, PBOOST_COLUMN_CATEGORY);
    assert_int_equal(info_of(t, 1).kind, PBOOST_COLUMN_CATEGORY);
    pboost_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_among_numbers_are_missing),
        cmocka_unit_test(words_among_words_are_categories),
        cmocka_unit_test(reads_decimal_commas),
        cmocka_unit_test(tells_mistakes_from_codes),
        cmocka_unit_test_setup_teardown(reads_mixed_codes_again, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(reads_several_files, enter_directory, leave_directory),
        cmocka_unit_test(obeys_the_caller),
        cmocka_unit_test(recognises_ids),
        cmocka_unit_test(recognises_dates_and_empty_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

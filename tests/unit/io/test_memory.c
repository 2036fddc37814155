/* Tables from columns in memory: the same as those from a file with the same cells. */
#include <math.h>

#include "io_testing.h"

static const uint32_t NONE = UINT32_MAX;

static pboost_table *of(const pboost_column_cells *columns, size_t n, size_t rows,
                        const pboost_table_options *options)
{
    pboost_error err = {0};
    pboost_table *t;

    assert_ok(pboost_table_from_columns(&t, "X", columns, n, rows, options, &err), err);
    return t;
}

static void refuses(const pboost_column_cells *columns, size_t n, size_t rows,
                    const pboost_table_options *options, pboost_status status, const char *part)
{
    pboost_error err;
    pboost_table *t;

    assert_fails(pboost_table_from_columns(&t, "X", columns, n, rows, options, &err), status, err,
                 part);
    assert_null(t);
}

static void is_what_a_file_would_be(void **unused)
{
    static const double AGE[] = {39, NAN, 41.5};
    static const uint32_t SEX[] = {1, 0, 1}, DOSE[] = {0, 1, 2}, DAY[] = {0, NONE, 0};
    static const char *const SEXES[] = {"f", "m"}, *const DOSES[] = {"1,5", "unknown", "2"},
                             *const DAYS[] = {"2024-03-31"};
    const pboost_column_cells columns[] = {{"age", AGE, NULL, NULL, 0},
                                           {"sex", NULL, SEX, SEXES, 2},
                                           {"dose", NULL, DOSE, DOSES, 3},
                                           {"day", NULL, DAY, DAYS, 1}};
    pboost_table *t = of(columns, 4, 3, NULL);
    pboost_table *file = table_of("age;sex;dose;day\n39;m;1,5;2024-03-31\n;f;unknown;\n"
                                  "41.5;m;2;2024-03-31\n");
    pboost_error err = {0};

    (void)unused;
    for (size_t j = 0; j < 4; j++) {
        pboost_column_info a, b;
        pboost_table_describe(&a, t, j);
        pboost_table_describe(&b, file, j);
        assert_int_equal(a.kind, b.kind);
        assert_int_equal(a.missing, b.missing);
        assert_int_equal(a.words, b.words);
        assert_int_equal(a.levels, b.levels);
        assert_int_equal(a.decimal_comma, b.decimal_comma);
        assert_string_equal(a.word, b.word);
        assert_true(a.mean == b.mean || (isnan(a.mean) && isnan(b.mean)));
    }
    bool use[] = {true, true, true, true};
    pboost_encoding_options o = encoding_options(use, false);
    pboost_encoding e;
    assert_fails(pboost_encoding_learn(&e, t, &o, &err), PBOOST_BAD_DATA, err,
                 "X: row 2: column 'age' is missing");
    pboost_table_free(t);
    pboost_table_free(file);
}

/* Codes such as "250" and "E11" are text, which shows only after all cells. */
static void codes_of_numbers_and_words_are_text(void **unused)
{
    static const uint32_t CODE[] = {0, 1, 2, 0, 1, 2};
    static const char *const CODES[] = {"250", "E11", "I10"};
    const pboost_column_cells codes = {"code", NULL, CODE, CODES, 3};
    pboost_table *t = of(&codes, 1, 6, NULL);

    (void)unused;
    assert_true(pboost_table_is_text(t, 0));
    assert_int_equal(pboost_table_n_levels(t, 0), 3);
    assert_string_equal(pboost_table_level(t, 0, 0), "250");
    pboost_table_free(t);
}

static void categories_may_look_like_numbers(void **unused)
{
    static const uint32_t CODE[] = {0, 1, NONE};
    static const char *const CODES[] = {"01", "02"}, *const NAMES[] = {"code"};
    static const double NUMBER[] = {1, 2, 3};
    const pboost_column_cells codes = {"code", NULL, CODE, CODES, 2};
    const pboost_column_cells number = {"code", NUMBER, NULL, NULL, 0};
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    pboost_table *t = of(&codes, 1, 3, NULL);

    (void)unused;
    assert_false(pboost_table_is_text(t, 0));
    pboost_table_free(t);
    o.text = NAMES;
    o.n_text = 1;
    t = of(&codes, 1, 3, &o);
    assert_true(pboost_table_is_text(t, 0));
    pboost_table_free(t);
    refuses(&number, 1, 3, &o, PBOOST_INVALID, "column 'code' is to be text");
    o.struct_size--;
    refuses(&codes, 1, 3, &o, PBOOST_INVALID, "struct_size");
}

static void refuses_what_is_no_table(void **unused)
{
    static const double NUMBER[] = {1, -INFINITY, 3};
    static const uint32_t CODE[] = {0, 1, 0};
    static const char *const CODES[] = {"a"};
    const pboost_column_cells twice[] = {{"a", NUMBER, NULL, NULL, 0},
                                         {"a", NUMBER, NULL, NULL, 0}};
    const pboost_column_cells beyond = {"a", NULL, CODE, CODES, 1};
    pboost_table *t = of(twice, 1, 3, NULL);
    pboost_error err = {0};
    const double *x;

    (void)unused;
    assert_fails(pboost_table_numbers(&x, t, 0, true, &err), PBOOST_BAD_DATA, err,
                 "X: row 2: column 'a' is '-inf'; it must be a finite number");
    pboost_table_free(t);
    refuses(twice, 2, 3, NULL, PBOOST_BAD_DATA, "both named 'a'");
    refuses(&beyond, 1, 3, NULL, PBOOST_INVALID, "has the code 1, but only 1 levels");
    refuses(twice, 0, 3, NULL, PBOOST_BAD_DATA, "3 rows and 0 columns");
    refuses(twice, 1, 0, NULL, PBOOST_BAD_DATA, "0 rows and 1 columns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_a_file_would_be),
        cmocka_unit_test(codes_of_numbers_and_words_are_text),
        cmocka_unit_test(categories_may_look_like_numbers),
        cmocka_unit_test(refuses_what_is_no_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

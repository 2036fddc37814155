/* Encodings: what columns become, and the message about a table that does not fit. */
#include "io_testing.h"

static pboost_encoding learn(const pboost_table *t, bool impute)
{
    pboost_encoding e;
    pboost_error err = {0};
    bool use[64];

    for (size_t i = 0; i < 64; i++)
        use[i] = true;
    assert_ok(pboost_encoding_learn(
                  &e, t, (pboost_encoding_options[]){encoding_options(use, impute)}, &err),
              err);
    return e;
}

static void bad_learn(const char *text, const char *part)
{
    pboost_table *t = table_of(text);
    const bool use[] = {true, true, true};
    pboost_encoding e;
    pboost_error err;

    assert_fails(pboost_encoding_learn(
                     &e, t, (pboost_encoding_options[]){encoding_options(use, false)}, &err),
                 PBOOST_BAD_DATA, err, part);
    assert_null(e.feature);
    assert_null(e.column);
    assert_int_equal(e.n_columns, 0);
    pboost_table_free(t);
}

static void check_apply(const pboost_encoding *e, const char *text, const double *expected)
{
    pboost_table *t = table_of(text);
    size_t n = pboost_table_rows(t) * e->n_columns;
    double *x = malloc((n + 1) * sizeof *x);
    pboost_error err = {0};

    for (size_t i = 0; i <= n; i++)
        x[i] = 777;
    assert_ok(pboost_encoding_apply(x, NULL, e, t, &err), err);
    for (size_t i = 0; i < n; i++)
        assert_true(x[i] == expected[i]);
    assert_true(x[n] == 777);
    free(x);
    pboost_table_free(t);
}

static void bad_apply(const pboost_encoding *e, const char *text, pboost_status status,
                      const char *part)
{
    pboost_table *t = table_of(text);
    double x[64];
    pboost_error err;

    assert_fails(pboost_encoding_apply(x, NULL, e, t, &err), status, err, part);
    pboost_table_free(t);
}

static void encodes_numbers_and_categories(void **unused)
{
    pboost_table *t = table_of("age,sex,k\n39,Male,z\n40,Female,\xc3\xa4\n41,Other,a\n");
    pboost_encoding e = learn(t, false);
    const double expected[] = {39, 1, 0, 1, 0, 40, 0, 0, 0, 1, 41, 0, 1, 0, 0};

    (void)unused;
    assert_int_equal(e.n_features, 3);
    assert_int_equal(e.n_columns, 5);
    assert_string_equal(e.column[0], "age");
    assert_string_equal(e.column[1], "sex=Male");
    assert_string_equal(e.column[2], "sex=Other");
    assert_string_equal(e.column[3], "k=z");
    assert_string_equal(e.column[4], "k=\xc3\xa4");
    assert_string_equal(e.feature[1].level[0], "Female");
    check_apply(&e, "age,sex,k\n39,Male,z\n40,Female,\xc3\xa4\n41,Other,a\n", expected);
    /* other order of columns and rows, columns that are not used */
    check_apply(&e, "extra,k,sex,age\nq,\xc3\xa4,Female,40\nr,a,Other,41\n", expected + 5);
    pboost_encoding_free(&e);
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

static void uses_only_what_it_is_told(void **unused)
{
    pboost_table *t = table_of("a,b,c\n1,x,abc\n2,y,1\n,z,q\n");
    const bool use[] = {false, true, false};
    pboost_encoding e;
    pboost_error err = {0};

    (void)unused;
    assert_ok(pboost_encoding_learn(
                  &e, t, (pboost_encoding_options[]){encoding_options(use, false)}, &err),
              err);
    assert_int_equal(e.n_features, 1);
    assert_string_equal(e.feature[0].name, "b");
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

static void a_constant_category_has_no_column(void **unused)
{
    pboost_table *t = table_of("a,b\n1,x\n2,x\n");
    pboost_encoding e = learn(t, false);
    const double expected[] = {1, 2};

    (void)unused;
    assert_int_equal(e.n_features, 2);
    assert_int_equal(e.n_columns, 1);
    check_apply(&e, "a,b\n1,x\n2,x\n", expected);
    bad_apply(&e, "a,b\n1,y\n", PBOOST_BAD_DATA, "known values are 'x'");
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

static void imputes_the_mean_and_the_reference(void **unused)
{
    pboost_table *t = table_of("a,b\n1,y\n,x\n4,\n");
    pboost_encoding e = learn(t, true);
    const double expected[] = {1, 1, 2.5, 0, 4, 0}, missing[] = {2.5, 0};

    (void)unused;
    assert_true(e.feature[0].impute && e.feature[0].fill == 2.5);
    check_apply(&e, "a,b\n1,y\n,x\n4,\n", expected);
    check_apply(&e, "a,b\n,\n", missing);
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

/* Blocks of rows: more rows than one block, with a category among them. */
static void encodes_many_rows(void **unused)
{
    enum { ROWS = 1000 };
    char *text = malloc(ROWS * 16 + 16), *p = text + sprintf(text, "a,b\n");
    double *expected = malloc(ROWS * 3 * sizeof *expected);
    pboost_table *t;
    pboost_encoding e;

    (void)unused;
    for (int i = 0; i < ROWS; i++) {
        p += sprintf(p, "%d,%c\n", i, "xyz"[i % 3]);
        expected[3 * i] = i;
        expected[3 * i + 1] = i % 3 == 1;
        expected[3 * i + 2] = i % 3 == 2;
    }
    t = table_of(text);
    e = learn(t, false);
    check_apply(&e, text, expected);
    pboost_encoding_free(&e);
    pboost_table_free(t);
    free(expected);
    free(text);
}

static void refuses_to_learn(void **unused)
{
    char *text = malloc(20000), *p = text + sprintf(text, "id\n");

    (void)unused;
    bad_learn("a,b,c\n1,2,3\n1,,3\n",
              "t.csv:3: column 'b' is missing; fill in the cell, or use --impute mean");
    bad_learn("a,b,c\n1,x,3\n1,NA,3\n", "t.csv:3: column 'b' is missing");
    bad_learn("a,b,c\n1,2,3\n1,x,3\n", "t.csv:3: column 'b' is 'x', but other cells are numbers");
    bad_learn("a,b,c\n1,inf,3\n1,5,3\n", "t.csv:2: column 'b' is 'inf'; it must be a finite");
    bad_learn("s,s=b,c\na,1,1\nb,1,1\n", "t.csv: two features are named 's=b'");
    for (int i = 0; i <= 1000; i++)
        p += sprintf(p, "v%d\n", i);
    bad_learn(text,
              "t.csv: column 'id' has 1001 different values, none of them in 20 rows or more");
    free(text);
}

/* Sums and squares of which overflow. */
static void winsorizes_numbers_of_any_size(void **unused)
{
    (void)unused;
    static const char *const END[] = {"", "e-300", "e307"};
    for (size_t i = 0; i < sizeof END / sizeof *END; i++) {
        char text[100];
        pboost_error err = {0};
        snprintf(text, sizeof text, "a\n1%s\n2%s\n3%s\n", END[i], END[i], END[i]);
        pboost_table *t = table_of(text);
        pboost_encoding e = learn(t, false);
        assert_ok(pboost_encoding_winsorize(&e, t, 1.0, &err), err);
        const pboost_feature *f = &e.feature[0];
        double two = i == 0 ? 2 : i == 1 ? 2e-300 : 2e307;
        assert_true(f->winsorize);
        assert_close(f->lower / two, 1 - sqrt(2.0 / 3) / 2, 1e-14);
        assert_close(f->upper / two, 1 + sqrt(2.0 / 3) / 2, 1e-14);
        pboost_encoding_free(&e);
        pboost_table_free(t);
    }
}

static void refuses_to_impute_from_nothing(void **unused)
{
    static const char *const TEXT[] = {"a,b\n1,\n2,NA\n", "b\n\"\"\n"};
    const bool use[] = {true, true};
    const char *names[] = {"b"};
    pboost_table_options options = PBOOST_TABLE_OPTIONS_INIT;
    pboost_encoding e;
    pboost_error err;

    (void)unused;
    options.text = names;
    for (options.n_text = 0; options.n_text < 2; options.n_text++)
        for (size_t i = 0; i < 2; i++) {
            pboost_table *t;
            assert_ok(table_from(&t, TEXT[i], strlen(TEXT[i]), 64, &options, &err), err);
            assert_fails(pboost_encoding_learn(
                             &e, t, (pboost_encoding_options[]){encoding_options(use, true)}, &err),
                         PBOOST_BAD_DATA, err, "column 'b' is missing in every row; --drop it");
            pboost_table_free(t);
        }
}

static void refuses_tables_that_do_not_fit(void **unused)
{
    pboost_table *t = table_of("a,b\n1,v1\n2,v2\n3,v3\n4,v4\n5,v5\n");
    pboost_encoding e = learn(t, false);

    (void)unused;
    bad_apply(&e, "a,c\n1,x\n", PBOOST_BAD_DATA, "t.csv has no column 'b'; its columns are a, c");
    bad_apply(&e, "a,b\n1,v1\n2,new\n", PBOOST_BAD_DATA,
              "t.csv:3: column 'b' is 'new', which was not in the training table; the known values "
              "are 'v1', 'v2', "
              "'v3', ... (5 in all)");
    bad_apply(&e, "a,b\n1,v1\n,v2\n", PBOOST_BAD_DATA,
              "t.csv:3: column 'a' is missing; fill in the cell, or train with --impute mean");
    bad_apply(&e, "a,b\n1,v1\n3,\n", PBOOST_BAD_DATA, "t.csv:3: column 'b' is missing");
    bad_apply(&e, "a,b\nx,v1\n", PBOOST_BAD_DATA,
              "t.csv:2: column 'a' is 'x'; it must be a number");
    bad_apply(&e, "a,b\n1,7\n", PBOOST_INVALID,
              "column 'b' is a category of the model but was read as numbers");
    e.n_columns--;
    free(e.column[e.n_columns]);
    bad_apply(&e, "a,b\n1,v1\n", PBOOST_INVALID,
              "the encoding has 4 columns, but its features make 5");
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

static void no_columns_are_fine(void **unused)
{
    pboost_table *t = table_of("a\nx\nx\n");
    pboost_encoding e = learn(t, false);
    double x = 5;
    pboost_error err;

    (void)unused;
    assert_int_equal(e.n_columns, 0);
    assert_ok(pboost_encoding_apply(&x, NULL, &e, t, &err), err);
    assert_true(x == 5);
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

/* Rare levels share a column, and so do levels that were not in training. */
static void rare_levels_share_a_column(void **unused)
{
    char *text = malloc(40000), *p = text;
    pboost_encoding_options o = PBOOST_ENCODING_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_unseen unseen;
    pboost_encoding e;
    double x[2 * 3];

    (void)unused;
    assert_non_null(text);
    p += sprintf(p, "c\n");
    for (size_t i = 0; i < 60; i++) /* three frequent levels, and 150 rare ones */
        p += sprintf(p, "b%zu\n", i % 3);
    for (size_t i = 0; i < 150; i++)
        p += sprintf(p, "rare%zu\n", i);
    pboost_table *t = table_of(text);
    assert_ok(pboost_encoding_learn(&e, t, &o, &err), err);
    assert_int_equal(e.n_columns, 3);
    assert_string_equal(e.column[2], "c=(other)");
    pboost_table *next = table_of("c\nb2\nnew\n");
    assert_ok(pboost_encoding_apply(x, &unseen, &e, next, &err), err);
    static const double EXPECTED[] = {0, 1, 0, 0, 0, 1};
    for (size_t i = 0; i < 6; i++)
        assert_float_equal(x[i], EXPECTED[i], 0);
    assert_int_equal(unseen.cells, 0);
    pboost_table_free(next);
    pboost_encoding_free(&e);
    pboost_table_free(t);
    free(text);
}

/* Numbers, days and curves are of none; a category with its other levels and each part of a date
 * that is one are. */
static void columns_know_their_category(void **unused)
{
    char *text = malloc(40000), *p = text;
    pboost_encoding_options o = PBOOST_ENCODING_OPTIONS_INIT;
    const unsigned date[] = {0, 0, PBOOST_DATE_DAYS | PBOOST_DATE_MONTH | PBOOST_DATE_WEEKDAY, 0};
    size_t category[64], expected[64] = {0}, at = 0;
    pboost_error err = {0};
    pboost_encoding e;

    (void)unused;
    assert_non_null(text);
    p += sprintf(p, "a,c,day,sex\n");
    for (int i = 0; i < 210; i++) {
        p += sprintf(p, "%d,%c%d,2024-01-%02d,", i, i < 60 ? 'b' : 'r', i < 60 ? i % 3 : i,
                     i % 28 + 1);
        p += sprintf(p, "%c\n", "fm"[i % 2]);
    }
    pboost_table *t = table_of(text);
    o.date = date;
    assert_ok(pboost_encoding_learn(&e, t, &o, &err), err);
    assert_ok(pboost_encoding_curve(&e, t, 4, 1, &err), err);
    assert_true(e.n_curves > 0);
    at = 1; /* a */
    for (; at < 4; at++)
        expected[at] = 1; /* two levels of c but the first, and the others */
    for (at++; at < 16; at++)
        expected[at] = 2; /* after the days, months but January */
    for (; at < 22; at++)
        expected[at] = 3; /* days of the week but Monday */
    expected[at++] = 4;   /* sex */
    assert_int_equal(at + e.n_curves, e.n_columns);
    pboost_encoding_categories(category, &e);
    for (size_t j = 0; j < e.n_columns; j++)
        assert_int_equal(category[j], expected[j]);
    pboost_encoding_free(&e);
    pboost_table_free(t);
    free(text);
}

static void counts_unseen_levels(void **unused)
{
    pboost_table *t = table_of("a,c\n1,x\n2,y\n3,z\n"), *next = table_of("a,c\n1,y\n1,q\n1,r\n");
    pboost_encoding_options o = PBOOST_ENCODING_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_unseen unseen;
    pboost_encoding e;
    double x[9];

    (void)unused;
    assert_ok(pboost_encoding_learn(&e, t, &o, &err), err);
    assert_ok(pboost_encoding_apply(x, &unseen, &e, next, &err), err);
    assert_int_equal(unseen.cells, 2);
    assert_int_equal(unseen.row, 1);
    assert_int_equal(unseen.feature, 1);
    assert_string_equal(unseen.level, "q");
    assert_true(x[4] == 0 && x[5] == 0 && x[1] == 1);
    pboost_encoding_free(&e);
    pboost_table_free(next);
    pboost_table_free(t);
}

/* pandas writes True, polars true, spreadsheets TRUE. */
static void truth_has_three_spellings(void **unused)
{
    pboost_table *t = table_of("sick\nTrue\nFalse\n");
    pboost_encoding e = learn(t, false);
    const double expected[] = {1, 0, 1, 0};

    (void)unused;
    check_apply(&e, "sick\ntrue\nfalse\nTRUE\nFALSE\n", expected);
    bad_apply(&e, "sick\ntruth\n", PBOOST_BAD_DATA, "'truth', which was not in the training");
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_numbers_and_categories),
        cmocka_unit_test(uses_only_what_it_is_told),
        cmocka_unit_test(a_constant_category_has_no_column),
        cmocka_unit_test(imputes_the_mean_and_the_reference),
        cmocka_unit_test(encodes_many_rows),
        cmocka_unit_test(refuses_to_learn),
        cmocka_unit_test(winsorizes_numbers_of_any_size),
        cmocka_unit_test(refuses_to_impute_from_nothing),
        cmocka_unit_test(refuses_tables_that_do_not_fit),
        cmocka_unit_test(no_columns_are_fine),
        cmocka_unit_test(rare_levels_share_a_column),
        cmocka_unit_test(columns_know_their_category),
        cmocka_unit_test(counts_unseen_levels),
        cmocka_unit_test(truth_has_three_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

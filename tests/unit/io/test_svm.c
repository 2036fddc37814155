/* svmlight files: rows, the base of their indices, blocks, and what is refused where. */
#include "io_testing.h"

static pboost_table_options svm_options(int base, size_t columns)
{
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    o.svmlight = true;
    o.index_base = base;
    o.sparse_columns = columns;
    return o;
}

static pboost_table *svm_of(const char *text, const pboost_table_options *o)
{
    pboost_error err = {0};
    pboost_table *t;

    assert_ok(table_from(&t, text, strlen(text), 4, o, &err), err);
    return t;
}

static void refuses(const char *text, int base, size_t columns, const char *part)
{
    pboost_table_options o = svm_options(base, columns);
    pboost_error err;
    pboost_table *t;

    assert_fails(table_from(&t, text, strlen(text), 1 << 16, &o, &err), PBOOST_BAD_DATA, err, part);
    assert_null(t);
}

static double value_at(const pboost_sparse *x, size_t i)
{
    return x->value == NULL        ? 1.0
           : x->type == PBOOST_F32 ? (double)((const float *)x->value)[i]
                                   : ((const double *)x->value)[i];
}

/* Row `row` has exactly these entries. */
static void assert_row(const pboost_sparse *x, size_t row, size_t n, const uint32_t *where,
                       const double *value)
{
    const uint64_t *start = x->start;

    assert_int_equal(start[row + 1] - start[row], n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(x->column[start[row] + i], where[i]);
        assert_true(value_at(x, start[row] + i) == value[i]);
    }
}

static void reads_rows_labels_and_comments(void **unused)
{
    static const char TEXT[] =
        "# a head\n+1 1:0.5 3:2 # u1\r\n\n-1\t2:1e-1  7:-3 #u2 \n0 qid:4 1:0";
    static const uint32_t FIRST[] = {0, 2}, SECOND[] = {1, 6};
    static const double A[] = {0.5, 2}, B[] = {0.1, -3};
    pboost_table_options o = svm_options(PBOOST_INDEX_BASE_AUTO, 0);
    pboost_table *t = svm_of(TEXT, &o);
    pboost_table_sparse s;
    const double *label;

    (void)unused;
    assert_true(pboost_table_entries(&s, t));
    assert_int_equal(s.x.rows, 3);
    assert_int_equal(s.x.cols, 7);
    assert_int_equal(s.index_base, 1);
    assert_int_equal(s.qids, 1);
    assert_int_equal(s.x.type, PBOOST_F64); /* 0.1 is no float */
    assert_row(&s.x, 0, 2, FIRST, A);
    assert_row(&s.x, 1, 2, SECOND, B);
    assert_row(&s.x, 2, 0, NULL, NULL); /* an entry of 0 is none */
    assert_ok(pboost_table_numbers(&label, t, 0, false, NULL), (pboost_error){0});
    assert_true(label[0] == 1 && label[1] == -1 && label[2] == 0);
    assert_string_equal(pboost_table_level(t, 1, pboost_table_codes(t, 1)[1]), "u2");
    assert_int_equal(pboost_table_codes(t, 1)[2], UINT32_MAX);
    assert_int_equal(pboost_table_line(t, 0), 2);
    assert_int_equal(pboost_table_line(t, 1), 4);
    assert_int_equal(pboost_table_line(t, 2), 5);
    pboost_table_free(t);
}

static void finds_the_base(void **unused)
{
    pboost_table_options automatic = svm_options(PBOOST_INDEX_BASE_AUTO, 0);
    pboost_table_options zero = svm_options(0, 0), wide = svm_options(1, 9);
    const struct {
        const char *text;
        const pboost_table_options *o;
        size_t cols;
        uint32_t first;
        int base;
    } cases[] = {{"1 3:1\n1 0:1\n", &automatic, 4, 3, 0},
                 {"1 3:1\n1 1:1\n", &automatic, 3, 2, 1},
                 {"1 3:1\n1 1:1\n", &zero, 4, 3, 0},
                 {"1 3:1\n1 1:1\n", &wide, 9, 2, 1}};

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pboost_table *t = svm_of(cases[i].text, cases[i].o);
        pboost_table_sparse s;
        assert_true(pboost_table_entries(&s, t));
        assert_int_equal(s.x.cols, cases[i].cols);
        assert_int_equal(s.x.column[0], cases[i].first);
        assert_int_equal(s.index_base, cases[i].base);
        assert_null(s.x.value); /* all are 1 */
        pboost_table_free(t);
    }
}

static void says_what_is_wrong_and_where(void **unused)
{
    (void)unused;
    refuses("1 1:1\n1 2:1 2:3\n", -1, 0, "t.csv:2:7: index 2 is repeated");
    refuses("1 1:1\n1 5:1 2:3\n", -1, 0, "t.csv:2:7: index 2 stands after 5");
    refuses("1 1:1\n1 0:1\n", 1, 0, "t.csv:2:3: index 0 is out of range; it must be from 1");
    refuses("1 4:1\n", 0, 4, "t.csv:1:3: index 4 is out of range; it must be from 0 to 3");
    refuses("1 5:1\n", 1, 4, "t.csv:1:3: index 5 is out of range; it must be from 1 to 4");
    refuses("1 2147483647:1\n", -1, 0, "must be INDEX:VALUE with a whole number from 0 to");
    refuses("1 99999999999999999999:1\n", -1, 0, "'99999999999999999999:1' is no entry");
    refuses("1 -1:1\n", -1, 0, "'-1:1' is no entry");
    refuses("1 x:1\n", -1, 0, "t.csv:1:3: 'x:1' is no entry");
    refuses("1 7\n", -1, 0, "t.csv:1:3: '7' is no entry");
    refuses("1 7:\n", -1, 0, "t.csv:1:5: the value of index 7 is ''");
    refuses("1 7:abc\n", -1, 0, "t.csv:1:5: the value of index 7 is 'abc'");
    refuses("1 7:nan\n", -1, 0, "the value of index 7 is 'nan'; it must be a finite number");
    refuses("1 7:1e999\n", -1, 0, "the value of index 7 is '1e999'; it must be a finite number");
    refuses("yes 7:1\n", -1, 0, "t.csv:1:1: the label is 'yes'");
    refuses("inf 7:1\n", -1, 0, "t.csv:1:1: the label is 'inf'");
    refuses("1 7:1 # \xff\n", -1, 0, "t.csv:1:9: the comment is not text in UTF-8");
    refuses("", -1, 0, "t.csv has no rows");
    refuses("# nothing\n\n", -1, 0, "t.csv has no rows");
}

/* Blocks hold the rows of the whole, and the base of the first block holds for all. */
static void comes_in_blocks(void **state)
{
    char path[256];
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    pboost_table_reader *reader;
    const pboost_table *block;
    pboost_table_sparse s;
    pboost_error err = {0};
    size_t rows = 0;

    snprintf(path, sizeof path, "%s/x.libsvm", (const char *)*state);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 10; i++)
        fprintf(f, "%d %d:%d\n", i % 2, i + 1, i + 2);
    fprintf(f, "1 0:1\n");
    fclose(f);
    assert_ok(pboost_table_reader_open(&reader, path, &o, &err), err);
    for (; rows < 8; rows += 4) {
        assert_ok(pboost_table_reader_next(&block, reader, 4, &err), err);
        assert_true(pboost_table_entries(&s, block));
        assert_int_equal(s.x.rows, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(s.x.column[i], rows + i);
            assert_true(value_at(&s.x, i) == (double)(rows + i + 2));
            assert_int_equal(pboost_table_line(block, i), rows + i + 1);
        }
    }
    assert_fails(pboost_table_reader_next(&block, reader, 4, &err), PBOOST_BAD_DATA, err,
                 "x.libsvm:11:3: index 0 is out of range");
    pboost_table_reader_close(reader);
}

static void gathers_rows(void **unused)
{
    static const size_t ROW[] = {2, 0};
    static const uint32_t COLUMN[] = {0, 2}, LAST[] = {1};
    static const double VALUE[] = {0.5, 2}, ONE[] = {4};
    pboost_table_options o = svm_options(1, 0);
    pboost_table *t = svm_of("1 1:0.5 3:2\n1 1:9\n1 2:4\n", &o);
    pboost_table_sparse s;
    pboost_entries some;
    pboost_error err = {0};

    (void)unused;
    assert_true(pboost_table_entries(&s, t));
    assert_int_equal(s.x.type, PBOOST_F32); /* no bit is lost */
    assert_ok(pboost_entries_gather(&some, &s.x, ROW, 2, &err), err);
    assert_int_equal(some.x.rows, 2);
    assert_row(&some.x, 0, 1, LAST, ONE);
    assert_row(&some.x, 1, 2, COLUMN, VALUE);
    pboost_entries_free(&some);
    pboost_table_free(t);
}

static void is_no_table_of_columns(void **unused)
{
    pboost_table_options o = svm_options(1, 0);
    pboost_encoding_options how = encoding_options(NULL, false);
    pboost_table *t = svm_of("1 1:0.5\n", &o);
    pboost_encoding e;
    pboost_error err;

    (void)unused;
    assert_fails(pboost_encoding_learn(&e, t, &how, &err), PBOOST_BAD_DATA, err,
                 "is an svmlight file");
    pboost_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_rows_labels_and_comments),
        cmocka_unit_test(finds_the_base),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test_setup_teardown(comes_in_blocks, enter_directory, leave_directory),
        cmocka_unit_test(gathers_rows),
        cmocka_unit_test(is_no_table_of_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

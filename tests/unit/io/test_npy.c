/* NPY files: every accepted type and order, and false headers. */
#include "io_testing.h"

typedef struct {
    unsigned char bytes[4096];
    size_t n;
} file;

/* A file of the given version with this header; the caller appends the data. */
static file npy(int version, const char *header)
{
    file f = {.n = 0};
    size_t length = strlen(header);

    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (unsigned char)version;
    f.n = version == 1 ? 10 : 12;
    for (size_t i = 8; i < f.n; i++)
        f.bytes[i] = (unsigned char)(length >> 8 * (i - 8));
    memcpy(f.bytes + f.n, header, length);
    f.n += length;
    return f;
}

static file with(file f, const void *data, size_t n)
{
    memcpy(f.bytes + f.n, data, n);
    f.n += n;
    return f;
}

static file plain(const char *type, const char *shape, const void *data, size_t n)
{
    char header[256];

    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }   \n",
             type, shape);
    return with(npy(1, header), data, n);
}

static pboost_table *read_file(const file *f, size_t window)
{
    pboost_error err = {0};
    pboost_table *t;

    assert_ok(table_from(&t, f->bytes, f->n, window, NULL, &err), err);
    return t;
}

static void bad(file f, const char *part)
{
    pboost_error err = {0};
    pboost_table *t;

    for (size_t window = 1; window <= 4096; window *= 16) {
        assert_fails(table_from(&t, f.bytes, f.n, window, NULL, &err), PBOOST_BAD_DATA, err, part);
        assert_null(t);
    }
}

static double number_at(const pboost_table *t, size_t row, size_t col)
{
    pboost_error err = {0};
    const double *x;

    assert_ok(pboost_table_numbers(&x, t, col, false, &err), err);
    return x[row];
}

static void reads_a_matrix_in_either_order(void **unused)
{
    const double data[] = {1, 2, 3, 4, 5, 6};
    const char header[] = "{'shape': (3, 2), 'descr': '<f8', 'fortran_order': True}";
    file c = plain("<f8", "(3, 2)", data, sizeof data);

    (void)unused;
    for (size_t window = 1; window < 10000; window *= 3)
        for (int version = 1; version <= 3; version++) {
            file f = with(npy(version, header), data, sizeof data);
            pboost_table *t = read_file(&c, window);
            assert_int_equal(pboost_table_rows(t), 3);
            assert_int_equal(pboost_table_cols(t), 2);
            assert_string_equal(pboost_table_name(t, 1), "x2");
            for (size_t i = 0; i < 6; i++)
                assert_true(number_at(t, i / 2, i % 2) == data[i]);
            pboost_table_free(t);
            t = read_file(&f, window);
            for (size_t i = 0; i < 6; i++)
                assert_true(number_at(t, i % 3, i / 3) == data[i]);
            assert_int_equal(pboost_table_line(t, 2), 3);
            pboost_table_free(t);
        }
}

static void reads_every_type(void **unused)
{
    static const struct {
        const char *type;
        unsigned char bytes[16];
        size_t size;
        double expected[2];
    } CASES[] = {
        {"|b1", {1, 0}, 1, {1, 0}},
        {"|i1", {0xff, 5}, 1, {-1, 5}},
        {"|u1", {0xff, 5}, 1, {255, 5}},
        {"<i2", {0xfe, 0xff, 1, 2}, 2, {-2, 513}},
        {">i2", {0xff, 0xfe, 2, 1}, 2, {-2, 513}},
        {"<u2", {0xfe, 0xff, 1, 2}, 2, {65534, 513}},
        {"<i4", {0xfd, 0xff, 0xff, 0xff, 0, 0, 1, 0}, 4, {-3, 65536}},
        {">u4", {0xff, 0xff, 0xff, 0xff, 0, 0, 1, 0}, 4, {4294967295.0, 256}},
        {"<i8", {0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 7}, 8, {-4, 7}},
        {"<u8", {0, 0, 0, 0, 0, 0, 0, 0x80, 7}, 8, {9223372036854775808.0, 7}},
        {"<f2", {0, 0x3c, 1, 0}, 2, {1, 0x1p-24}},
        {">f2", {0xc0, 0, 0x7b, 0xff}, 2, {-2, 65504}},
        {"<f4", {0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80}, 4, {1.5, -0.0}},
        {">f4", {0x3f, 0xc0, 0, 0, 0x80, 0, 0, 0}, 4, {1.5, -0.0}},
        {">f8", {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0}, 8, {1.5, -2}},
        {"=u1", {9, 8}, 1, {9, 8}},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        file f = plain(CASES[i].type, "(2,)", CASES[i].bytes, 2 * CASES[i].size);
        pboost_table *t = read_file(&f, 64);
        assert_int_equal(pboost_table_cols(t), 1);
        assert_string_equal(pboost_table_name(t, 0), "x1");
        for (size_t k = 0; k < 2; k++) {
            double got = number_at(t, k, 0);
            if (memcmp(&got, &CASES[i].expected[k], sizeof got) != 0)
                fail_msg("%s is %g, not %g", CASES[i].type, got, CASES[i].expected[k]);
        }
        pboost_table_free(t);
    }
}

static void reads_records_by_field(void **unused)
{
    const char header[] =
        "{'descr': [('age', '<f8'), ('sex', '|u1')], 'fortran_order': False, 'shape': (2,)}";
    double age[2] = {39.5, 40};
    file f = npy(2, header);
    pboost_table *t;

    (void)unused;
    for (int i = 0; i < 2; i++)
        f = with(with(f, &age[i], 8), i == 0 ? "\1" : "\2", 1);
    for (size_t window = 1; window < 1000; window *= 2) {
        t = read_file(&f, window);
        assert_string_equal(pboost_table_name(t, 0), "age");
        assert_string_equal(pboost_table_name(t, 1), "sex");
        assert_true(number_at(t, 0, 0) == 39.5 && number_at(t, 1, 0) == 40);
        assert_true(number_at(t, 0, 1) == 1 && number_at(t, 1, 1) == 2);
        pboost_table_free(t);
    }
    f.n--;
    bad(f, "18 bytes of data expected, 17 present");
}

static void reads_named_columns_as_text(void **unused)
{
    const char *names[] = {"x1", "x2"};
    pboost_table_options options = PBOOST_TABLE_OPTIONS_INIT;
    const double data[] = {1, 0.1, 2, 0.30000000000000004};
    const int64_t whole[] = {9007199254740993, -1};
    pboost_error err = {0};
    pboost_table *t;
    file f = plain("<f8", "(2, 2)", data, sizeof data);

    (void)unused;
    options.text = names;
    options.n_text = 2;
    assert_ok(table_from(&t, f.bytes, f.n, 64, &options, &err), err);
    assert_string_equal(pboost_table_level(t, 0, 0), "1");
    assert_string_equal(pboost_table_level(t, 1, 0), "0.1");
    assert_string_equal(pboost_table_level(t, 1, 1), "0.30000000000000004");
    pboost_table_free(t);
    f = plain("<i8", "(2,)", whole, sizeof whole);
    assert_ok(table_from(&t, f.bytes, f.n, 64, &options, &err), err);
    assert_string_equal(pboost_table_level(t, 0, 0), "9007199254740993");
    assert_string_equal(pboost_table_level(t, 0, 1), "-1");
    pboost_table_free(t);
}

static void says_which_value_is_not_finite(void **unused)
{
    const double data[] = {1, 2, 3, NAN, 5, -INFINITY};
    file f = plain("<f8", "(3, 2)", data, sizeof data);
    pboost_table *t = read_file(&f, 64);
    pboost_error err;
    const double *x;

    (void)unused;
    assert_ok(pboost_table_numbers(&x, t, 0, false, &err), err);
    assert_fails(pboost_table_numbers(&x, t, 1, true, &err), PBOOST_BAD_DATA, err,
                 "t.csv: row 2: column 'x2' is 'nan'; it must be a finite number");
    pboost_table_free(t);
    f = plain("<f8", "(1,)", &data[5], 8);
    t = read_file(&f, 64);
    assert_fails(pboost_table_numbers(&x, t, 0, true, &err), PBOOST_BAD_DATA, err, "'-inf'");
    pboost_table_free(t);
}

static void refuses_other_types_and_shapes(void **unused)
{
    const double data[4] = {0};

    (void)unused;
    bad(plain("<U5", "(2,)", data, 32), "the type is '<U5'; bool, int8");
    bad(plain("|O", "(2,)", data, 32), "the type is '|O'");
    bad(plain("<c16", "(2,)", data, 32), "the type is '<c16'");
    bad(plain("|f8", "(2,)", data, 32), "the type is '|f8'");
    bad(plain("<M8[ns]", "(2,)", data, 32), "the type is '<M8[ns]'");
    bad(plain("<f8", "()", data, 32), "holds a single value");
    bad(plain("<f8", "(1, 2, 2)", data, 32), "more than 2 dimensions");
    bad(plain("<f8", "(0, 2)", data, 32), "0 rows and 2 columns");
    bad(plain("<f8", "(2, 0)", data, 32), "2 rows and 0 columns");
    bad(npy(1, "{'descr': [('a', '<f8', (2,))], 'fortran_order': False, 'shape': (2,)}"),
        "field 'a' is an array");
    bad(npy(1, "{'descr': [('a', [('b', '<f8')])], 'fortran_order': False, 'shape': (2,)}"),
        "where a string is expected");
    bad(npy(1, "{'descr': [('a', '<f8'), ('a', '<f8')], 'fortran_order': False, 'shape': (2,)}"),
        "columns 1 and 2 are both named 'a'");
    bad(npy(1, "{'descr': [('', '|V4')], 'fortran_order': False, 'shape': (2,)}"), "has no name");
    bad(npy(1, "{'descr': [], 'fortran_order': False, 'shape': (2,)}"), "records without fields");
    bad(npy(1, "{'descr': [('\xff', '<f8')], 'fortran_order': False, 'shape': (2,)}"), "not UTF-8");
    bad(npy(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 2)}"),
        "matrix of records");
}

static void refuses_broken_headers(void **unused)
{
    static const char *const HEADER[] = {
        "",
        "{",
        "{'descr': '<f8'}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f8",
        "{'descr': '<\\x66' , 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f8') ('b', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'other': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999999,)}",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof HEADER / sizeof *HEADER; i++)
        bad(with(npy(1, HEADER[i]), "12345678", 8), "t.csv: the NPY header");
    bad(npy(4, "{}"), "NPY version 4.0; 1.0, 2.0 and 3.0 are understood");
    bad((file){.bytes = "\x93NUMPY\1", .n = 8}, "ends within its NPY header");
    bad((file){.bytes = "\x93NUMPY\1\0\xff\0{'descr':", .n = 19},
        "ends within its NPY header: 265 bytes expected, 19 present");
    bad((file){.bytes = "\x93NUMPY\2\0\xff\xff\xff\xff{", .n = 13}, "header of 4294967295 bytes");
}

static void refuses_sizes_that_lie(void **state)
{
    const double data[4] = {0};
    char *path = path_in(*state, "short.npy");
    file f = plain("<f8", "(1000000000000, 2)", data, 32);
    pboost_error err;
    pboost_table *t;

    bad(f, "16000000000000 bytes of data expected, 32 present");
    write_file(path, f.bytes, f.n);
    assert_fails(pboost_table_read(&t, path, NULL, &err), PBOOST_BAD_DATA, err,
                 "short.npy is cut short: 16000000000000 bytes of data expected, 32 present");
    f = plain("<f8", "(2, 3)", data, 32);
    write_file(path, f.bytes, f.n);
    assert_fails(pboost_table_read(&t, path, NULL, &err), PBOOST_BAD_DATA, err,
                 "48 bytes of data expected, 32 present");
    f = plain("<f8", "(2, 2)", data, 32);
    write_file(path, f.bytes, f.n);
    assert_ok(pboost_table_read(&t, path, NULL, &err), err);
    pboost_table_free(t);
    bad(plain("<f8", "(1, 1000000000000000)", data, 32), "expected, 32 present");
    bad(plain("<f8", "(4611686018427387904, 4611686018427387904)", data, 32),
        "more than a file can hold");
    bad(plain("<f8", "(2305843009213693952, 1)", data, 32), "more than a file can hold");
}

static void notices_a_file_that_shrinks(void **unused)
{
    const double data[4] = {0};
    file f = plain("<f8", "(4,)", data, 32);
    pboost_error err = {0};
    pboost_table *t;
    source src;

    (void)unused;
    assert_ok(pboost_source_memory(&src, "t.npy", f.bytes, f.n - 8, 64, &err), err);
    src.sized = true; /* as if there had been more when it was opened */
    src.size = f.n;
    assert_fails(pboost_table_read_source(&t, &src, NULL, &err), PBOOST_BAD_DATA, err,
                 "t.npy became shorter while it was read");
    assert_null(t);
    pboost_source_close(&src);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_matrix_in_either_order),
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(reads_records_by_field),
        cmocka_unit_test(reads_named_columns_as_text),
        cmocka_unit_test(says_which_value_is_not_finite),
        cmocka_unit_test(refuses_other_types_and_shapes),
        cmocka_unit_test(refuses_broken_headers),
        cmocka_unit_test(notices_a_file_that_shrinks),
        cmocka_unit_test_setup_teardown(refuses_sizes_that_lie, enter_directory, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whichever allocation fails while files are read, encoded and written: the call says so, its
 * outputs are empty, no file is left behind, nothing leaks (under the address sanitizer), and the
 * same call succeeds afterwards. */
#include "io_testing.h"

#include <jansson.h>

#include "fault/inject.h"

/* jansson is a shared library and out of reach of --wrap; it asks here instead. */
static void *json_malloc(size_t bytes)
{
    return malloc(bytes);
}

static int route_jansson(void **state)
{
    (void)state;
    json_set_alloc_funcs(json_malloc, free);
    return 0;
}

/* A failed allocation is reported as such, unless the call could do without it. */
static void check(pboost_status st, bool spared, const pboost_error *err)
{
    if (injected() && spared)
        return;
    if (injected()) {
        assert_int_equal(st, PBOOST_NO_MEMORY);
        assert_int_equal(err->status, PBOOST_NO_MEMORY);
        assert_string_equal(err->message, "out of memory");
    } else {
        assert_ok(st, *err);
    }
}

static const char CSV[] =
    "\"a\nb\",c,d\n1,x,\n2,\"y \"\"z\",\n\"3\n\",x,late\n,long enough to grow,v\n";

static void reading_csv(void **unused)
{
    long n = 1;

    (void)unused;
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_table *t = (void *)&err;
        inject_allocation(n);
        pboost_status st = table_from(&t, CSV, strlen(CSV), 4, NULL, &err);
        inject_nothing();
        check(st, t != NULL && pboost_table_rows(t) == 4, &err); /* giving back room may fail */
        assert_true((st == PBOOST_OK) == (t != NULL));
        pboost_table_free(t);
    }
    assert_true(n > 20);
}

static void reading_many_levels_and_columns(void **unused)
{
    char *text = malloc(60000), *p = text;
    long n = 1;

    (void)unused;
    assert_non_null(text);
    for (int c = 0; c < 20; c++)
        p += sprintf(p, "%sname%d", c > 0 ? "," : "", c);
    for (int r = 0; r < 1100; r++) { /* more rows than the first block holds */
        p += sprintf(p, "\nlevel%d", r % 40);
        for (int c = 1; c < 20; c++)
            p += sprintf(p, ",%d", r % 7);
    }
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_table *t;
        inject_allocation(n);
        pboost_status st = table_from(&t, text, (size_t)(p - text), 64, NULL, &err);
        inject_nothing();
        check(st, t != NULL && pboost_table_rows(t) == 1100, &err);
        pboost_table_free(t);
    }
    assert_true(n > 80);
    free(text);
}

static void reading_a_file(void **state)
{
    char *path = path_in(*state, "t.csv");
    long n = 1;

    write_file(path, CSV, strlen(CSV));
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_table *t;
        inject_allocation(n);
        pboost_status st = pboost_table_read(&t, path, NULL, &err);
        inject_nothing();
        check(st, t != NULL && pboost_table_rows(t) == 4, &err);
        pboost_table_free(t);
    }
    assert_true(n > 10);
}

/* All blocks of the file; *rows counts what came. */
static pboost_status read_blocks(size_t *rows, const char *path, pboost_error *err)
{
    pboost_table_reader *reader;
    const pboost_table *block;
    pboost_status st = pboost_table_reader_open(&reader, path, NULL, err);

    *rows = 0;
    while (st == PBOOST_OK) {
        st = pboost_table_reader_next(&block, reader, 3, err);
        if (block == NULL)
            break;
        *rows += pboost_table_rows(block);
    }
    pboost_table_reader_close(reader);
    return st;
}

static void reading_blocks(void **state)
{
    char *path = path_in(*state, "t.csv");
    long n = 1;

    write_file(path, CSV, strlen(CSV));
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        size_t rows;
        inject_allocation(n);
        pboost_status st = read_blocks(&rows, path, &err);
        inject_nothing();
        check(st, st == PBOOST_OK && rows == 4, &err);
    }
    assert_true(n > 15);
}

static void reading_npy(void **unused)
{
    const char header[] = "{'descr': [('a','|u1'),('b','|u1'),('c','|u1'),('d','|u1'),('e','|u1'),"
                          "('f','|u1'),('g','|u1'),('h','|u1'),('i','|u1')], "
                          "'fortran_order': False, 'shape': (2,)}";
    char data[512] = "\x93NUMPY\1\0";
    size_t size = 10 + strlen(header) + 18;
    long n = 1;

    (void)unused;
    data[8] = (char)strlen(header);
    memcpy(data + 10, header, strlen(header));
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_table *t;
        inject_allocation(n);
        pboost_status st = table_from(&t, data, size, 16, NULL, &err);
        inject_nothing();
        check(st, t != NULL && pboost_table_rows(t) == 2, &err);
        pboost_table_free(t);
    }
    assert_true(n > 15);
}

static void reading_columns(void **unused)
{
    static const uint32_t CODE[] = {0, 1, 2, 0, 1, 2};
    static const char *const CODES[] = {"250", "E11", "I10"}; /* built twice: it turns to text */
    static const double NUMBER[] = {1, 2, 3, 4, 5, 6};
    const pboost_column_cells columns[] = {{"code", NULL, CODE, CODES, 3},
                                           {"n", NUMBER, NULL, NULL, 0}};
    long n = 1;

    (void)unused;
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_table *t;
        inject_allocation(n);
        pboost_status st = pboost_table_from_columns(&t, "X", columns, 2, 6, NULL, &err);
        inject_nothing();
        check(st, t != NULL && pboost_table_rows(t) == 6, &err);
        pboost_table_free(t);
    }
    assert_true(n > 15);
}

static void encoding(void **unused)
{
    pboost_table *t = table_of("a,b,c\n1,x,p\n2,y,q\n,z,\n");
    const bool use[] = {true, true, true};
    double x[12];
    long n = 1;

    (void)unused;
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_encoding e;
        inject_allocation(n);
        pboost_status st = pboost_encoding_learn(
            &e, t, (pboost_encoding_options[]){encoding_options(use, true)}, &err);
        inject_nothing();
        check(st, false, &err);
        if (injected())
            assert_true(e.feature == NULL && e.column == NULL && e.n_features == 0);
        pboost_encoding_free(&e);
    }
    assert_true(n > 15);
    pboost_encoding e;
    assert_int_equal(pboost_encoding_learn(
                         &e, t, (pboost_encoding_options[]){encoding_options(use, true)}, NULL),
                     PBOOST_OK);
    for (n = 1; n == 1 || injected(); n++) {
        pboost_error err = {0};
        inject_allocation(n);
        pboost_status st = pboost_encoding_apply(x, NULL, &e, t, &err);
        inject_nothing();
        check(st, false, &err);
    }
    assert_int_equal(n, 5);
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

static const char MODEL[] =
    "{\"format\": \"priorboost-model\", \"version\": 1, \"family\": \"logistic\", \"label\": \"y\","
    "\"positive\": \"yes\", \"offset\": \"o\", \"features\": [{\"name\": \"a\", \"fill\": 1.5},"
    "{\"name\": \"b\", \"levels\": [\"x\", \"z\"], \"fill\": \"x\"}], \"columns\": [\"a\", "
    "\"b=z\"],"
    "\"theta\": [1, 2], \"intercept\": 0, \"covariance\": [[1,0,0],[0,1,0],[0,0,1]], \"training\":"
    "{\"algorithm\": \"priorboost\", \"estimator\": \"event\", \"bags\": \"prior\", \"min_bag\": 2,"
    "\"rounds\": 3, \"rows_spent\": 4, \"epsilon\": \"0.5\", \"l2\": 1, \"simulated\": true,"
    "\"seed\": 9}}";

static const char MEMBERS[] =
    "{\"format\": \"priorboost-model\", \"version\": 2, \"family\": \"linear\", \"unseen\": "
    "\"error\", \"features\": [{\"name\": \"a\", \"fill\": 1.5}, {\"name\": \"b\", \"levels\": "
    "[\"x\", \"z\"], \"fill\": \"x\"}], \"columns\": [\"a\", \"b=z\"], \"members\": ["
    "{\"kind\": \"glm\", \"weight\": 0.5, \"intercept\": 1, \"theta\": [1, 2]},"
    "{\"kind\": \"trees\", \"weight\": 0.5, \"intercept\": 1, \"trees\": [{\"column\": [1, -1, 0, "
    "-1,"
    "-1], \"right\": [2, 0, 4, 0, 0], \"value\": [0, 1, 2, 3, 4], \"missing_left\": [0, 0, 1, 0, "
    "0],"
    "\"left_codes\": [1, 0, 0, 0, 0], \"codes\": [1]}]}]}";

static void read_with_faults(const char *text)
{
    long n = 1;

    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_model m;
        inject_allocation(n);
        pboost_status st = pboost_model_parse(&m, text, strlen(text), "m.json", &err);
        inject_nothing();
        /* jansson takes some failed allocations for errors of syntax */
        check(st, st == PBOOST_BAD_DATA, &err);
        if (injected())
            assert_true(m.coef.theta == NULL && m.encoding.feature == NULL && m.label == NULL &&
                        m.mixture.member == NULL);
        pboost_model_free(&m);
    }
    assert_true(n > 60);
}

static void reading_models(void **unused)
{
    (void)unused;
    read_with_faults(MODEL);
    read_with_faults(MEMBERS);
}

/* Prints m with every allocation that fails in turn, until none does; more than `least`. */
static void print_with_faults(const pboost_model *m, long least)
{
    char *whole;
    long n = 1;

    assert_int_equal(pboost_model_print(&whole, m, NULL), PBOOST_OK);
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        char *text;
        inject_allocation(n);
        pboost_status st = pboost_model_print(&text, m, &err);
        inject_nothing();
        check(st, text != NULL && strcmp(text, whole) == 0, &err);
        assert_true((st == PBOOST_OK) == (text != NULL));
        free(text);
    }
    assert_true(n > least);
    free(whole);
}

/* As text, and as an ONNX file. */
static void printing_members(void **state)
{
    char *path = path_in(*state, "m.onnx");
    pboost_model m;
    long n;

    assert_int_equal(pboost_model_parse(&m, MEMBERS, strlen(MEMBERS), "m.json", NULL), PBOOST_OK);
    print_with_faults(&m, 60);
    for (n = 1; n == 1 || injected(); n++) {
        pboost_error err = {0};
        inject_allocation(n);
        pboost_status st = pboost_model_export_onnx(&m, path, &err);
        inject_nothing();
        check(st, st == PBOOST_OK, &err);
    }
    assert_true(n > 40);
    pboost_model_free(&m);
}

/* Labels of many lengths, so that the text runs out of room at many places. */
static void printing_models(void **unused)
{
    char label[] = "0123456789012345678901234567890123456789", *own;
    pboost_model m;

    (void)unused;
    assert_int_equal(pboost_model_parse(&m, MODEL, strlen(MODEL), "m.json", NULL), PBOOST_OK);
    own = m.label;
    for (m.label = label; *m.label != '\0'; m.label++)
        print_with_faults(&m, 60);
    m.label = own;
    pboost_model_free(&m);
}

static void writing_models(void **state)
{
    char *path = path_in(*state, "m.json");
    char *whole;
    pboost_model m;
    long n = 1;

    assert_int_equal(pboost_model_parse(&m, MODEL, strlen(MODEL), "m.json", NULL), PBOOST_OK);
    assert_int_equal(pboost_model_print(&whole, &m, NULL), PBOOST_OK);
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        inject_allocation(n);
        pboost_status st = pboost_model_save(&m, path, &err);
        inject_nothing();
        /* The file may be in place when the sync of its directory finds no memory. */
        check(st, st == PBOOST_OK && strcmp(read_text(path), whole) == 0, &err);
        assert_int_equal(count_files(*state), st == PBOOST_OK);
        unlink(path);
    }
    free(whole);
    pboost_model_free(&m);
}

static void opening_outputs(void **state)
{
    char link[512];
    long n = 1;

    snprintf(link, sizeof link, "%s", path_in(*state, "link"));
    assert_int_equal(symlink("file", link), 0);
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_output *o;
        inject_allocation(n);
        pboost_status st = pboost_output_open(&o, link, &err);
        inject_nothing();
        check(st, false, &err);
        assert_true((st == PBOOST_OK) == (o != NULL));
        pboost_output_discard(o);
        assert_int_equal(count_files(*state), 1);
    }
    assert_true(n > 5);
}

/* Renaming fails because a directory has taken the name in the meantime. */
static void naming_an_output_may_fail(void **state)
{
    char *path = path_in(*state, "out");
    pboost_error err = {0};
    pboost_output *o;

    assert_ok(pboost_output_open(&o, path, &err), err);
    fputs("text", pboost_output_stream(o));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(pboost_output_commit(o, &err), PBOOST_OUTPUT, err, "out: Is a directory");
    assert_int_equal(count_files(*state), 1);
}

static void reading_svmlight(void **unused)
{
    static const char TEXT[] = "# head\n1 1:0.1 20:2 # first\n0 3:1\n1 1:1 2:2 3:3 4:4\n";
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    static const size_t ROW[] = {2, 0};
    long n = 1;

    (void)unused;
    o.svmlight = true;
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_table *t = NULL;
        pboost_table_sparse s;
        pboost_entries some = {0};
        inject_allocation(n);
        pboost_status st = table_from(&t, TEXT, strlen(TEXT), 4, &o, &err);
        if (st == PBOOST_OK && pboost_table_entries(&s, t))
            st = pboost_entries_gather(&some, &s.x, ROW, 2, &err);
        inject_nothing();
        check(st, some.x.rows == 2, &err); /* giving back room may fail */
        pboost_entries_free(&some);
        pboost_table_free(t);
    }
    assert_true(n > 15);
}

/* Learns, applies and names the hashing of a table. */
static pboost_status hash_table(pboost_entries *out, char *name[1], const pboost_table *t,
                                pboost_error *err)
{
    static const char *const CROSS[] = {"c*d"};
    pboost_hashing h = {0};
    double sign[1];
    pboost_status st = pboost_hashing_learn(&h, t, NULL, 20, CROSS, 1, err);

    if (st == PBOOST_OK)
        st = pboost_hashing_apply(out, &h, t, err);
    if (st == PBOOST_OK)
        st = pboost_hashing_names(name, sign, out->column, 1, &h, t, err);
    pboost_hashing_free(&h);
    return st;
}

static void hashing_columns(void **unused)
{
    pboost_table *t = table_of("c,d,e\nx,y,1\ny,,2\nx,z,\n");
    long n = 1;

    (void)unused;
    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_entries e = {0};
        char *name[1] = {NULL};
        inject_allocation(n);
        pboost_status st = hash_table(&e, name, t, &err);
        inject_nothing();
        check(st, name[0] != NULL, &err); /* giving back room may fail */
        free(name[0]);
        pboost_entries_free(&e);
    }
    assert_true(n > 20);
    pboost_table_free(t);
}

static void models_of_sparse_rows(void **unused)
{
    static const char TEXT[] =
        "{\"format\":\"priorboost-model\",\"version\":2,\"family\":\"logistic\","
        "\"intercept\":0.5,\"sparse\":{\"columns\":8,\"hash\":{\"bits\":3,\"signed\":true,"
        "\"columns\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"n\",\"mean\":1,\"scale\":2}],"
        "\"crosses\":[[\"a\",\"b\"]]},\"column\":[1,7],\"weight\":[0.5,-1]}}";
    pboost_model m;

    (void)unused;
    read_with_faults(TEXT);
    assert_int_equal(pboost_model_parse(&m, TEXT, strlen(TEXT), "m.json", NULL), PBOOST_OK);
    print_with_faults(&m, 50);
    pboost_model_free(&m);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_csv),
        cmocka_unit_test(reading_many_levels_and_columns),
        IN_DIRECTORY(reading_a_file),
        IN_DIRECTORY(reading_blocks),
        cmocka_unit_test(reading_npy),
        cmocka_unit_test(encoding),
        cmocka_unit_test(reading_svmlight),
        cmocka_unit_test(hashing_columns),
        cmocka_unit_test(models_of_sparse_rows),
        cmocka_unit_test(reading_models),
        IN_DIRECTORY(printing_members),
        cmocka_unit_test(reading_columns),
        cmocka_unit_test(printing_models),
        IN_DIRECTORY(writing_models),
        IN_DIRECTORY(opening_outputs),
        IN_DIRECTORY(naming_an_output_may_fail),
    };
    return cmocka_run_group_tests(tests, route_jansson, NULL);
}

/* Hashed columns: what an entry depends on, sums of entries that meet, files of such models. */
#include "io_testing.h"

#include <math.h>

static const char TABLE[] = "site,hour,age\na,1,10\nb,,20\na,2,\n";

static pboost_hashing learn(const pboost_table *t, unsigned bits, const char *const *cross,
                            size_t n)
{
    pboost_hashing h;
    pboost_error err = {0};

    assert_ok(pboost_hashing_learn(&h, t, NULL, bits, cross, n, &err), err);
    return h;
}

static pboost_table *text_table(const char *text)
{
    static const char *const TEXT[] = {"site", "hour"};
    pboost_table_options o = PBOOST_TABLE_OPTIONS_INIT;
    pboost_error err = {0};
    pboost_table *t;

    o.text = TEXT;
    o.n_text = 2;
    assert_ok(table_from(&t, text, strlen(text), 1 << 16, &o, &err), err);
    return t;
}

static pboost_entries apply(const pboost_hashing *h, const pboost_table *t)
{
    pboost_entries e;
    pboost_error err = {0};

    assert_ok(pboost_hashing_apply(&e, h, t, &err), err);
    for (size_t i = 0; i < e.x.rows; i++)
        for (size_t k = e.start[i] + 1; k < e.start[i + 1]; k++)
            assert_true(e.column[k - 1] < e.column[k]);
    return e;
}

/* The sum of the values of a row, without their signs. */
static double size_of(const pboost_entries *e, size_t row)
{
    const float *value = e->value;
    double sum = 0.0;
    for (size_t i = e->start[row]; i < e->start[row + 1]; i++)
        sum += fabs((double)value[i]);
    return sum;
}

static void makes_an_entry_of_every_cell(void **unused)
{
    static const char *const CROSS[] = {"site*hour"};
    pboost_table *t = text_table(TABLE);
    pboost_hashing h = learn(t, 26, CROSS, 1);
    pboost_entries e = apply(&h, t);

    (void)unused;
    assert_int_equal(e.x.rows, 3);
    assert_int_equal(e.x.cols, 1u << 26);
    assert_int_equal(e.x.type, PBOOST_F32);
    assert_int_equal(h.column[2].number, true);
    assert_true(h.column[2].mean == 15 && h.column[2].scale == 5);
    for (size_t i = 0; i < 3; i++) { /* with 26 bits nothing meets here */
        assert_int_equal(e.start[i + 1] - e.start[i], 4);
        assert_true(size_of(&e, i) == 4.0);
    }
    pboost_entries_free(&e);
    pboost_hashing_free(&h);
    pboost_table_free(t);
}

/* An entry depends on its text alone: other rows and other columns do not matter. */
static void does_not_depend_on_the_table(void **unused)
{
    pboost_table *t = text_table(TABLE),
                 *other = text_table("x,hour,age,site\n9,2,20,zz\n8,,10,b\n");
    pboost_hashing h = learn(t, 20, NULL, 0);
    pboost_entries a = apply(&h, t), b = apply(&h, other);
    size_t same = 0;

    (void)unused;
    for (size_t i = a.start[1]; i < a.start[2]; i++) /* b, missing, 20 against b, missing, 10 */
        for (size_t k = b.start[1]; k < b.start[2]; k++)
            same += a.column[i] == b.column[k];
    assert_int_equal(same, 3);
    pboost_entries_free(&a);
    pboost_entries_free(&b);
    pboost_hashing_free(&h);
    pboost_table_free(t);
    pboost_table_free(other);
}

/* The columns and signs that model files rely on. */
static void stays_the_same_for_ever(void **unused)
{
    pboost_table *t = text_table("site,hour\na,1\n");
    static const char *const CROSS[] = {"site*hour"};
    pboost_hashing h = learn(t, 20, CROSS, 1);
    pboost_entries e = apply(&h, t);
    const float *value = e.value;

    (void)unused;
    assert_int_equal(e.start[1], 3);
    assert_int_equal(e.column[0], 225312);
    assert_int_equal(e.column[1], 816339);
    assert_int_equal(e.column[2], 963803);
    assert_true(value[0] == 1 && value[1] == -1 && value[2] == -1);
    pboost_entries_free(&e);
    pboost_hashing_free(&h);
    pboost_table_free(t);
}

/* With 1 bit everything meets: values are added with their signs, and sums of 0 are left out. */
static void adds_what_meets(void **unused)
{
    pboost_table *t = text_table(TABLE);
    pboost_hashing one = learn(t, 1, NULL, 0), many = learn(t, 26, NULL, 0);
    pboost_entries a = apply(&one, t), b = apply(&many, t);

    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        const float *small = a.value, *large = b.value;
        double sum[2] = {0, 0};
        for (size_t k = b.start[i]; k < b.start[i + 1]; k++)
            sum[b.column[k] & 1] += (double)large[k];
        size_t n = (sum[0] != 0) + (sum[1] != 0);
        assert_int_equal(a.start[i + 1] - a.start[i], n);
        for (size_t k = a.start[i]; k < a.start[i + 1]; k++)
            assert_true((double)small[k] == sum[a.column[k]]);
    }
    pboost_entries_free(&a);
    pboost_entries_free(&b);
    pboost_hashing_free(&one);
    pboost_hashing_free(&many);
    pboost_table_free(t);
}

static void names_what_is_in_a_column(void **unused)
{
    pboost_table *t = text_table(TABLE);
    static const char *const CROSS[] = {"site*hour"};
    pboost_hashing h = learn(t, 24, CROSS, 1), tiny = learn(t, 1, NULL, 0);
    pboost_entries e = apply(&h, t);
    char *name[4], *both[2];
    double sign[4];
    const uint32_t two[] = {0, 1};
    size_t found = 0;
    pboost_error err = {0};

    (void)unused;
    assert_ok(pboost_hashing_names(name, sign, e.column + e.start[1], 4, &h, t, &err), err);
    for (size_t i = 0; i < 4; i++) { /* the text leads back to its column */
        uint32_t back;
        double its_sign;
        assert_ok(pboost_hashing_find(&back, &its_sign, &h, name[i], &err), err);
        assert_int_equal(back, e.column[e.start[1] + i]);
        assert_true(its_sign == sign[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        static const char *const EXPECTED[] = {"site=b", "hour=", "age", "site=b*hour="};
        assert_non_null(name[i]); /* the age of this row is 1, the categories are 1 */
        assert_true(((const float *)e.value)[e.start[1] + i] == (float)sign[i]);
        for (size_t k = 0; k < 4; k++)
            found += strcmp(name[i], EXPECTED[k]) == 0;
        free(name[i]);
    }
    assert_int_equal(found, 4);
    assert_ok(pboost_hashing_names(both, sign, two, 2, &tiny, t, &err), err);
    for (size_t i = 0; i < 2; i++) {
        if (both[i] != NULL)
            found += strstr(both[i], " and others") != NULL;
        free(both[i]);
    }
    assert_true(found > 4);
    pboost_entries_free(&e);
    pboost_hashing_free(&h);
    pboost_hashing_free(&tiny);
    pboost_table_free(t);
}

static void refuses_what_it_cannot_hash(void **unused)
{
    pboost_table *t = text_table(TABLE), *numbers = table_of("site,hour,age\n1,2,3\n"),
                 *few = text_table("site,age\na,1\n"), *text = text_table("site,hour,age\na,1,x\n");
    static const char *const BAD[] = {"site*nothing", "site", "site*age", "site*site"};
    static const char *const WORDS[] = {"'site*nothing'; it must be A*B", "'site'; it must be A*B",
                                        "the column 'age' of numbers", "'site*site'; it must be"};
    static const char *const NO_TEXT[] = {"site", "age2", "nothing=1", "site=a*hour=1", ""};
    pboost_hashing h, good = learn(t, 8, NULL, 0);
    uint32_t where;
    double sign;
    pboost_entries e;
    pboost_error err;

    (void)unused;
    assert_fails(pboost_hashing_learn(&h, t, NULL, 27, NULL, 0, &err), PBOOST_INVALID, err,
                 "bits is 27; it must be from 1 to 26");
    for (size_t i = 0; i < 4; i++)
        assert_fails(pboost_hashing_learn(&h, t, NULL, 8, &BAD[i], 1, &err), PBOOST_INVALID, err,
                     WORDS[i]);
    assert_fails(pboost_hashing_apply(&e, &good, numbers, &err), PBOOST_BAD_DATA, err,
                 "column 'site' was read as numbers, but in training it was a category");
    assert_fails(pboost_hashing_apply(&e, &good, few, &err), PBOOST_BAD_DATA, err,
                 "has no column 'hour'");
    assert_fails(pboost_hashing_apply(&e, &good, text, &err), PBOOST_BAD_DATA, err,
                 "column 'age' is 'x'; it must be a number");
    for (size_t i = 0; i < 5; i++)
        if (i != 3) /* without a cross this is a value of site */
            assert_fails(pboost_hashing_find(&where, &sign, &good, NO_TEXT[i], &err),
                         PBOOST_INVALID, err, "is not hashed; it must be");
    pboost_hashing_free(&good);
    pboost_table_free(t);
    pboost_table_free(numbers);
    pboost_table_free(few);
    pboost_table_free(text);
}

/* ---- Model files ----------------------------------------------------------------------------- */

static void survives_its_file(void **unused)
{
    static const char *const CROSS[] = {"site*hour"};
    pboost_table *t = text_table(TABLE);
    pboost_model m = {.family = PBOOST_LOGISTIC, .sparse = {.columns = 1u << 10}}, back;
    char *text;
    pboost_error err = {0};

    (void)unused;
    m.sparse.hashing = learn(t, 10, CROSS, 1);
    assert_ok(pboost_coef_init(&m.coef, 1u << 10, &err), err);
    m.coef.theta[3] = -0.1;
    m.coef.theta[1023] = 2;
    m.coef.intercept = 0.3;
    assert_ok(pboost_model_print(&text, &m, &err), err);
    assert_non_null(strstr(text, "\"version\":2"));
    assert_non_null(strstr(text, "\"column\":[3,1023]"));
    assert_ok(pboost_model_parse(&back, text, strlen(text), "m.json", &err), err);
    assert_int_equal(back.sparse.columns, 1024);
    assert_int_equal(back.sparse.hashing.bits, 10);
    assert_int_equal(back.sparse.hashing.n_crosses, 1);
    assert_int_equal(back.sparse.hashing.cross[0].b, 1);
    assert_true(back.sparse.hashing.column[2].scale == m.sparse.hashing.column[2].scale);
    assert_true(memcmp(back.coef.theta, m.coef.theta, 1024 * sizeof(double)) == 0);
    assert_true(back.coef.intercept == 0.3);
    assert_fails(pboost_model_export_onnx(&back, "x.onnx", &err), PBOOST_BAD_DATA, err,
                 "sparse rows");
    free(text);
    pboost_model_free(&m);
    pboost_model_free(&back);
    pboost_table_free(t);
}

#define HEAD                                                                                       \
    "{\"format\":\"priorboost-model\",\"version\":2,\"family\":\"logistic\",\"intercept\":0,"

static void refuses_wrong_files(void **unused)
{
    static const struct {
        const char *text, *part;
    } CASES[] = {
        {HEAD "\"sparse\":7}", "\"sparse\" is a whole number; it must be an object"},
        {HEAD "\"sparse\":{\"columns\":0}}", "\"columns\" is 0; it must be from 1"},
        {HEAD "\"sparse\":{\"columns\":4}}", "\"index_base\" is missing"},
        {HEAD "\"sparse\":{\"columns\":4,\"index_base\":2}}", "it must be from 0 to 1"},
        {HEAD "\"sparse\":{\"columns\":4,\"index_base\":1,\"column\":[4],\"weight\":[1]}}",
         "below 4, the number of columns"},
        {HEAD "\"sparse\":{\"columns\":4,\"index_base\":1,\"column\":[2,2],\"weight\":[1,1]}}",
         "entry 2 of \"column\""},
        {HEAD "\"sparse\":{\"columns\":4,\"index_base\":1,\"column\":[2],\"weight\":[]}}",
         "\"column\" has 1 entries, but \"weight\" has 0"},
        {HEAD "\"sparse\":{\"columns\":4,\"hash\":{\"bits\":3,\"signed\":true,\"columns\":[],"
              "\"crosses\":[]},\"column\":[],\"weight\":[]}}",
         "the hash has 3 bits, but there are 4 columns; there must be 2^3"},
        {HEAD "\"sparse\":{\"columns\":4,\"hash\":{\"bits\":2,\"signed\":false,\"columns\":[],"
              "\"crosses\":[]},\"column\":[],\"weight\":[]}}",
         "\"signed\" is false; it must be true"},
        {HEAD "\"sparse\":{\"columns\":4,\"hash\":{\"bits\":2,\"signed\":true,\"columns\":"
              "[{\"name\":\"a\",\"mean\":0,\"scale\":0}],\"crosses\":[]},\"column\":[],"
              "\"weight\":[]}}",
         "\"scale\" of column 'a' is 0"},
        {HEAD "\"sparse\":{\"columns\":4,\"hash\":{\"bits\":2,\"signed\":true,\"columns\":"
              "[{\"name\":\"a\"}],\"crosses\":[[\"a\",\"b\"]]},\"column\":[],\"weight\":[]}}",
         "\"crosses\" has b"},
    };
    pboost_model m;
    pboost_error err;

    (void)unused;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        assert_fails(pboost_model_parse(&m, CASES[i].text, strlen(CASES[i].text), "m.json", &err),
                     PBOOST_BAD_DATA, err, CASES[i].part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_an_entry_of_every_cell),
        cmocka_unit_test(does_not_depend_on_the_table),
        cmocka_unit_test(stays_the_same_for_ever),
        cmocka_unit_test(adds_what_meets),
        cmocka_unit_test(names_what_is_in_a_column),
        cmocka_unit_test(refuses_what_it_cannot_hash),
        cmocka_unit_test(survives_its_file),
        cmocka_unit_test(refuses_wrong_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

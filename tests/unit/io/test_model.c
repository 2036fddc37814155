/* Model files: the same bits back, and a clear message about every file that is not one. */
#include "io_testing.h"

static char *copy(const char *text)
{
    char *c = strdup(text);
    assert_non_null(c);
    return c;
}

/* A model with everything a file can hold. */
static pboost_model full_model(void)
{
    pboost_table *t = table_of("age,sex,one\n39,Male,x\n40,Female,x\n,Other,x\n");
    const bool use[] = {true, true, true};
    pboost_error err = {0};
    pboost_model m = {.family = PBOOST_POISSON};

    assert_ok(pboost_encoding_learn(&m.encoding, t,
                                    (pboost_encoding_options[]){encoding_options(use, true)}, &err),
              err);
    pboost_table_free(t);
    assert_ok(pboost_coef_init(&m.coef, 3, &err), err);
    m.coef.theta[0] = 0.1;
    m.coef.theta[1] = -0.0;
    m.coef.theta[2] = 5e-324;
    m.coef.intercept = -1.7976931348623157e308;
    m.label = copy("income \"a\\b\" \xc3\xa4");
    m.positive = copy(">50K");
    m.offset = copy("log(n)");
    m.covariance = malloc(16 * sizeof *m.covariance);
    assert_non_null(m.covariance);
    for (int i = 0; i < 16; i++)
        m.covariance[i] = 1.0 / (3 * i + 1);
    m.training = (pboost_training){copy("priorboost"),
                                   copy("event"),
                                   copy("prior"),
                                   32,
                                   16,
                                   1000,
                                   {1, 10},
                                   2.5,
                                   true,
                                   true,
                                   7};
    return m;
}

static pboost_model round_trip(const pboost_model *m)
{
    pboost_error err = {0};
    pboost_model back;
    char *text;

    assert_ok(pboost_model_print(&text, m, &err), err);
    assert_ok(pboost_model_parse(&back, text, strlen(text), "m.json", &err), err);
    free(text);
    return back;
}

static void check_same(const pboost_model *a, const pboost_model *b)
{
    size_t n = a->coef.n;

    assert_int_equal(a->family, b->family);
    assert_string_equal(a->label, b->label);
    assert_string_equal(a->positive, b->positive);
    assert_string_equal(a->offset, b->offset);
    assert_int_equal(a->encoding.n_features, b->encoding.n_features);
    assert_int_equal(a->encoding.n_columns, b->encoding.n_columns);
    for (size_t i = 0; i < a->encoding.n_features; i++) {
        const pboost_feature *f = &a->encoding.feature[i], *g = &b->encoding.feature[i];
        assert_string_equal(f->name, g->name);
        assert_int_equal(f->n_levels, g->n_levels);
        assert_int_equal(f->impute, g->impute);
        assert_memory_equal(&f->fill, &g->fill, sizeof f->fill);
        for (size_t k = 0; k < f->n_levels; k++)
            assert_string_equal(f->level[k], g->level[k]);
    }
    for (size_t i = 0; i < a->encoding.n_columns; i++)
        assert_string_equal(a->encoding.column[i], b->encoding.column[i]);
    assert_int_equal(n, b->coef.n);
    assert_memory_equal(a->coef.theta, b->coef.theta, n * sizeof(double));
    assert_memory_equal(&a->coef.intercept, &b->coef.intercept, sizeof(double));
    assert_memory_equal(a->covariance, b->covariance, (n + 1) * (n + 1) * sizeof(double));
    assert_string_equal(a->training.algorithm, b->training.algorithm);
    assert_string_equal(a->training.estimator, b->training.estimator);
    assert_string_equal(a->training.bags, b->training.bags);
    assert_int_equal(a->training.min_bag, b->training.min_bag);
    assert_int_equal(a->training.rounds, b->training.rounds);
    assert_int_equal(a->training.rows_spent, b->training.rows_spent);
    assert_int_equal(a->training.epsilon.num, b->training.epsilon.num);
    assert_int_equal(a->training.epsilon.den, b->training.epsilon.den);
    assert_true(a->training.l2 == b->training.l2);
    assert_int_equal(a->training.simulated, b->training.simulated);
    assert_int_equal(a->training.has_seed, b->training.has_seed);
    assert_true(a->training.seed == b->training.seed);
}

static void comes_back_the_same(void **state)
{
    pboost_model m = full_model(), back;
    char *path = path_in(*state, "m.json");
    pboost_error err = {0};

    assert_ok(pboost_model_save(&m, path, &err), err);
    assert_ok(pboost_model_load(&back, path, &err), err);
    check_same(&m, &back);
    assert_int_equal(count_files(*state), 1);
    pboost_model_free(&back);
    pboost_model_free(&back);
    pboost_model_free(&m);
}

static void reals_keep_every_bit(void **unused)
{
    pboost_model m = full_model(), back;
    uint64_t bits = 1, state = 12345;

    (void)unused;
    for (int i = 0; i < 3000; i++) {
        double v;
        state = state * 6364136223846793005u + 1442695040888963407u;
        bits = i % 4 == 0 ? state >> 12 : state; /* every fourth without an implied one */
        memcpy(&v, &bits, sizeof v);
        m.coef.theta[i % 3] = isfinite(v) ? v : 1.0 / 3;
        if (i % 3 != 2)
            continue;
        back = round_trip(&m);
        assert_memory_equal(m.coef.theta, back.coef.theta, 3 * sizeof(double));
        pboost_model_free(&back);
    }
    pboost_model_free(&m);
}

static void knows_what_is_unknown(void **unused)
{
    pboost_model m = {.family = PBOOST_LINEAR}, back;
    pboost_error err = {0};

    (void)unused;
    assert_ok(pboost_coef_init(&m.coef, 0, &err), err);
    back = round_trip(&m);
    assert_int_equal(back.family, PBOOST_LINEAR);
    assert_null(back.label);
    assert_null(back.positive);
    assert_null(back.offset);
    assert_null(back.covariance);
    assert_null(back.training.algorithm);
    assert_int_equal(back.training.epsilon.den, 0);
    assert_false(back.training.has_seed);
    assert_int_equal(back.coef.n, 0);
    pboost_model_free(&back);
    pboost_model_free(&m);
}

static void keeps_every_epsilon_and_seed(void **unused)
{
    static const pboost_rational EPSILON[] = {{1, 1},
                                              {1, 10},
                                              {5, 2},
                                              {1, 3},
                                              {1, 1 << 30},
                                              {UINT64_MAX, 1},
                                              {1, UINT64_MAX},
                                              {UINT64_MAX - 1, UINT64_MAX},
                                              {1, 1000000},
                                              {123456789, 1000},
                                              {1, 1ull << 63},
                                              {12345678901234567890u, 7},
                                              {12145020179925313141u, 1 << 8},
                                              {UINT64_MAX, 1024},
                                              {UINT64_MAX, 1 << 20}};
    pboost_model m = full_model(), back;

    (void)unused;
    for (size_t i = 0; i < sizeof EPSILON / sizeof *EPSILON; i++) {
        m.training.epsilon = EPSILON[i];
        m.training.seed = UINT64_MAX - i;
        back = round_trip(&m);
        assert_true(back.training.epsilon.num == EPSILON[i].num);
        assert_true(back.training.epsilon.den == EPSILON[i].den);
        assert_true(back.training.seed == UINT64_MAX - i);
        pboost_model_free(&back);
    }
    m.training.epsilon = (pboost_rational){1, 20};
    char *text;
    assert_int_equal(pboost_model_print(&text, &m, NULL), PBOOST_OK);
    assert_non_null(strstr(text, "\"epsilon\": \"0.05\""));
    free(text);
    pboost_model_free(&m);
}

/* The text of the full model with one part replaced must be refused with these words. */
static void bad(const char *from, const char *to, const char *part)
{
    pboost_model m = full_model(), back;
    pboost_error err = {0};
    char *text, *at, *changed;

    assert_ok(pboost_model_print(&text, &m, &err), err);
    at = strstr(text, from);
    if (at == NULL)
        fail_msg("no %s in %s", from, text);
    changed = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(changed);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_fails(pboost_model_parse(&back, changed, strlen(changed), "m.json", &err),
                 PBOOST_BAD_DATA, err, part);
    assert_non_null(strstr(err.message, "m.json"));
    assert_null(back.coef.theta);
    assert_null(back.encoding.feature);
    free(changed);
    free(text);
    pboost_model_free(&m);
}

static void refuses_wrong_content(void **unused)
{
    (void)unused;
    bad("priorboost-model", "other", "m.json is not a model file");
    bad("\"version\": 1", "\"version\": 3", "version 3 is newer than this program understands (2)");
    bad("\"version\": 1", "\"version\": 0", "\"version\"");
    bad("\"version\": 1", "\"version\": \"1\"", "\"version\" is text");
    bad("poisson", "gamma",
        "\"family\" is \"gamma\"; it must be linear, logistic, poisson or classes");
    bad("\"poisson\"", "3", "\"family\" is a whole number; it must be text");
    bad("\"label\": \"", "\"label\": 4, \"l\": \"", "\"label\" is a whole number");
    bad("0.10000000000000001", "\"x\"", "\"theta\" is text; it must be a number");
    bad("0.10000000000000001", "null", "\"theta\" is null");
    bad("0.10000000000000001,", "", "theta has 2 entries, but there are 3 columns");
    bad("0.10000000000000001", "1e999", "m.json:");
    bad("\"theta\"", "\"teta\"", "\"theta\" is missing; it must be an array");
    bad("\"intercept\"", "\"inter\"", "\"intercept\" is missing");
    bad("\"features\"", "\"f\"", "\"features\" is missing");
    bad("\"columns\"", "\"c\"", "\"columns\" is missing");
    bad("\"sex=Male\"", "\"sex=Mole\"", "column 2 is sex=Mole; the features make it 'sex=Male'");
    bad("\"sex=Male\"", "2", "column 2 is a whole number");
    bad("\"age\",\n  \"sex=Male\"", "\"age\"", "there are 2 columns, but the features make 3");
    bad("\"name\": \"sex\"", "\"name\": 1", "\"name\" is a whole number");
    bad("\"name\": \"one\",", "\"name\": \"one\", \"x\": 1,\"levels\": [], \"y\":", "m.json:");
    bad("[\n    \"x\"\n   ]", "[]", "feature 'one' has 0 levels; it must have 1 to 1000");
    bad("[\n    \"x\"\n   ]", "[1]", "\"levels\" is a whole number");
    bad("[\n    \"x\"\n   ]", "\"x\"", "\"levels\" is text");
    bad("\"Female\"", "\"Zemale\"", "the levels of feature 'sex' are not sorted or not unique");
    bad("\"Female\"", "\"Male\"", "not sorted or not unique");
    bad("\"fill\": \"Female\"", "\"fill\": \"Male\"",
        "\"fill\" is text; it must be the first level");
    bad("\"fill\": 39.5", "\"fill\": \"x\"", "\"fill\" is text; it must be a number");
    bad("\"covariance\": [", "\"covariance\": [[],", "\"covariance\" must be an array of 4 rows");
    bad("\"covariance\": [\n  [", "\"covariance\": [\n  [1,", "row 1 of \"covariance\"");
    bad("\"covariance\": [\n  [\n   1.0", "\"covariance\": [[\"a\"", "\"covariance\" is text");
    bad("\"training\": {", "\"training\": 3, \"t\": {", "\"training\" is a whole number");
    bad("\"min_bag\": 32", "\"min_bag\": -1", "\"min_bag\"");
    bad("\"rounds\": 16", "\"rounds\": 1.5", "\"rounds\" is a number");
    bad("\"seed\": 7", "\"seed\": -7", "\"seed\"");
    bad("\"seed\": 7", "\"seed\": \"99999999999999999999\"", "\"seed\" is text");
    bad("\"0.1\"", "\"abc\"", "\"epsilon\" is \"abc\"; it must be a number above 0");
    bad("\"0.1\"", "\"1/0\"", "\"epsilon\" is \"1/0\"");
    bad("\"0.1\"", "0.1", "\"epsilon\" is a number; it must be decimal text or null");
    bad("\"unseen\": \"error\"", "\"unseen\": \"x\"", "\"unseen\" is text; it must be baseline");
    bad("\"fill\": 39.5", "\"fill\": 39.5, \"other\": true", "\"other\" is true");
    bad("\"fill\": 39.5", "\"fill\": 39.5, \"date\": [\"noon\"]", "'noon' is not a part of a date");
    bad("\"fill\": 39.5", "\"fill\": 39.5, \"date\": []", "\"date\" is an array; it must be parts");
    bad("\"l2\": 2.5", "\"l2\": true", "\"l2\" is true");
    bad("\"l2\": 2.5", "\"rounds\": 2", "duplicate object key");
}

static void refuses_two_columns_of_one_name(void **unused)
{
    const char text[] = "{\"format\": \"priorboost-model\", \"version\": 1, \"family\": \"linear\","
                        "\"features\": [{\"name\": \"a\"}, {\"name\": \"a\"}],"
                        "\"columns\": [\"a\", \"a\"], \"theta\": [1, 2], \"intercept\": 0}";
    pboost_model m;
    pboost_error err;

    (void)unused;
    assert_fails(pboost_model_parse(&m, text, strlen(text), "m.json", &err), PBOOST_BAD_DATA, err,
                 "m.json: two features are named 'a'");
}

static void ignores_keys_it_does_not_know(void **unused)
{
    const char text[] = "{\"format\": \"priorboost-model\", \"version\": 1, \"family\": \"linear\","
                        "\"features\": [{\"name\": \"a\", \"unit\": 1}], \"colour\": {\"x\": []},"
                        "\"columns\": [\"a\"], \"theta\": [1], \"intercept\": 0}";
    pboost_model m;
    pboost_error err = {0};

    (void)unused;
    assert_ok(pboost_model_parse(&m, text, strlen(text), "m.json", &err), err);
    assert_true(m.coef.theta[0] == 1);
    pboost_model_free(&m);
}

/* Cut anywhere, it is refused; only the last newline may go. */
static void refuses_a_file_cut_short(void **unused)
{
    pboost_model m = full_model(), back;
    pboost_error err = {0};
    char *text;

    (void)unused;
    assert_ok(pboost_model_print(&text, &m, &err), err);
    for (size_t n = 0; n + 1 < strlen(text); n++) {
        assert_int_equal(pboost_model_parse(&back, text, n, "m.json", &err), PBOOST_BAD_DATA);
        assert_non_null(strstr(err.message, "m.json"));
    }
    free(text);
    pboost_model_free(&m);
}

static void refuses_files_that_are_no_model(void **state)
{
    char *path = path_in(*state, "m.json");
    pboost_error err;
    pboost_model m;

    assert_fails(pboost_model_load(&m, path, &err), PBOOST_BAD_DATA, err,
                 "m.json: No such file or directory");
    assert_fails(pboost_model_load(&m, *state, &err), PBOOST_BAD_DATA, err, "Is a directory");
    write_file(path, "a,b\n1,2\n", 8);
    assert_fails(pboost_model_load(&m, path, &err), PBOOST_BAD_DATA, err, "m.json:1: not a model");
    write_file(path, "", 0);
    assert_fails(pboost_model_load(&m, path, &err), PBOOST_BAD_DATA, err, "not a model");
    write_file(path, "[1, 2]", 6);
    assert_fails(pboost_model_load(&m, path, &err), PBOOST_BAD_DATA, err, "is not a model file");
}

static void refuses_to_save_what_cannot_be_read_back(void **state)
{
    pboost_model m = full_model();
    char *path = path_in(*state, "m.json"), *text;
    pboost_error err;

    m.coef.theta[1] = NAN;
    assert_fails(pboost_model_save(&m, path, &err), PBOOST_INVALID, err, "theta[1] is");
    m.coef.theta[1] = 1;
    m.coef.intercept = INFINITY;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "intercept is inf");
    assert_null(text);
    m.coef.intercept = 1;
    m.covariance[3] = NAN;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "covariance[3]");
    m.covariance[3] = 1;
    m.label[0] = (char)0xff;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "not UTF-8");
    m.label[0] = 'x';
    m.coef.n = 2;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err,
                 "2 weights, but 3 columns");
    m.coef.n = 3;
    assert_fails(pboost_model_save(&m, path_in(*state, "none/m.json"), &err), PBOOST_OUTPUT, err,
                 "none/m.json: No such file");
    assert_fails(pboost_model_save(&m, "/dev/full", &err), PBOOST_OUTPUT, err,
                 "cannot write /dev/full"); /* the reason is lost where buffers are small */
    assert_int_equal(count_files(*state), 0);
    pboost_model_free(&m);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(comes_back_the_same),
        cmocka_unit_test(reals_keep_every_bit),
        cmocka_unit_test(knows_what_is_unknown),
        cmocka_unit_test(keeps_every_epsilon_and_seed),
        cmocka_unit_test(refuses_wrong_content),
        cmocka_unit_test(refuses_two_columns_of_one_name),
        cmocka_unit_test(ignores_keys_it_does_not_know),
        cmocka_unit_test(refuses_a_file_cut_short),
        IN_DIRECTORY(refuses_files_that_are_no_model),
        IN_DIRECTORY(refuses_to_save_what_cannot_be_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

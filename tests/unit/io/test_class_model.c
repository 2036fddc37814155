/* Models of classes in files: the same bits back, and a clear message about every wrong file. */
#include "io_testing.h"

static const char TEXT[] =
    "{\"format\": \"priorboost-model\", \"version\": 2, \"family\": \"classes\", \"label\": "
    "\"party\",\n"
    " \"features\": [{\"name\": \"age\"}], \"unseen\": \"error\", \"columns\": [\"age\"],\n"
    " \"classes\": [\"blue\", \"r\\u00e9d\", \"green\"], \"theta\": [[0], [0.1], [-5e-324]],\n"
    " \"intercept\": [0, 1, 2],\n"
    " \"covariance\": [[4, 0, 0, 0], [0, 3, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]}";

static void comes_back(void **unused)
{
    pboost_model m, back;
    pboost_error err = {0};
    char *text;

    (void)unused;
    assert_ok(pboost_model_parse(&m, TEXT, strlen(TEXT), "m.json", &err), err);
    assert_ok(pboost_model_print(&text, &m, &err), err);
    assert_non_null(strstr(text, "\"version\": 2"));
    assert_ok(pboost_model_parse(&back, text, strlen(text), "m.json", &err), err);
    assert_int_equal(back.classes.n, 3);
    assert_string_equal(back.classes.name[1], "r\xc3\xa9"
                                              "d");
    assert_int_equal(back.classes.coef.classes, 3);
    assert_int_equal(back.classes.coef.cols, 1);
    const double theta[] = {0, 0, 0.1, 1, -5e-324, 2};
    assert_memory_equal(back.classes.coef.theta, theta, sizeof theta);
    assert_true(back.covariance[5] == 3.0);
    assert_ok(pboost_model_export_onnx(&back, "/dev/null", &err), err);
    back.classes.coef.cols = 2;
    char *none;
    assert_fails(pboost_model_print(&none, &back, &err), PBOOST_INVALID, err, "3 x 2 weights");
    back.classes.coef.cols = 1;
    free(text);
    pboost_model_free(&m);
    pboost_model_free(&back);
}

static void bad(const char *from, const char *to, const char *part)
{
    char text[2 * sizeof TEXT];
    const char *at = strstr(TEXT, from);
    pboost_model m;
    pboost_error err = {0};

    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - TEXT), TEXT, to, at + strlen(from));
    assert_fails(pboost_model_parse(&m, text, strlen(text), "m.json", &err), PBOOST_BAD_DATA, err,
                 part);
    assert_non_null(strstr(err.message, "m.json"));
    assert_null(m.classes.name);
}

static void refuses_wrong_content(void **unused)
{
    (void)unused;
    bad("\"classes\": [", "\"names\": [", "\"classes\" is missing");
    bad("[\"blue\", \"r\\u00e9d\", \"green\"]", "[\"blue\"]", "there are 1 classes");
    bad("\"green\"", "7", "array of text");
    bad("\"green\"", "\"blue\"", "'blue' is there twice");
    bad("[[0], [0.1], [-5e-324]]", "[[0], [0.1]]", "3 rows");
    bad("[0.1]", "[0.1, 2]", "row 2 of \"theta\" must have 1 numbers");
    bad("[0, 1, 2]", "[0, 1]", "2 intercepts, but 3 classes");
    bad("[0, 1, 2]", "[0, null, 2]", "\"intercept\" is null");
    bad("[0, 1, 2]", "[1, 1, 2]", "base class 'blue' has weight 1");
    bad("[4, 0, 0, 0]", "[4, 0, 0]", "row 1 of \"covariance\"");
    bad("\"label\"", "\"members\": [], \"label\"", "\"theta\", or \"members\"");
    bad("\"label\"", "\"sparse\": {}, \"label\"", "no \"sparse\"");
}

/* Trees: a member for each class instead of weights. */
#define LEAF                                                                                       \
    "{\"kind\": \"trees\", \"weight\": 0.3333333333333333, \"intercept\": 1, \"trees\": "          \
    "[{\"column\": [-1], "                                                                         \
    "\"right\": [0], \"value\": [0.5], \"missing_left\": [0], \"left_codes\": [0], \"codes\": "    \
    "[]}]}"

static void members(pboost_model *m, const char *list, const char *part)
{
    char text[1400];
    pboost_error err = {0};

    snprintf(
        text, sizeof text,
        "{\"format\": \"priorboost-model\", \"version\": 2, \"family\": \"classes\", \"label\": "
        "\"party\", \"features\": [{\"name\": \"age\"}], \"unseen\": \"error\", \"columns\": "
        "[\"age\"], \"classes\": [\"blue\", \"red\", \"green\"], \"members\": [%s]}",
        list);
    if (part == NULL)
        assert_ok(pboost_model_parse(m, text, strlen(text), "m.json", &err), err);
    else
        assert_fails(pboost_model_parse(m, text, strlen(text), "m.json", &err), PBOOST_BAD_DATA,
                     err, part);
}

static void trees_come_back(void **unused)
{
    static const char CONSTANT[] =
        "{\"kind\": \"constant\", \"weight\": 0.3333333333333333, \"intercept\": -1}";
    static const char GLM[] =
        "{\"kind\": \"glm\", \"weight\": 0.3333333333333333, \"intercept\": 0, \"theta\": [1]}";
    char list[900], *text;
    pboost_model m, back;
    pboost_error err = {0};

    (void)unused;
    snprintf(list, sizeof list, "%s, %s, %s", LEAF, CONSTANT, LEAF);
    members(&m, list, NULL);
    assert_ok(pboost_model_print(&text, &m, &err), err);
    assert_ok(pboost_model_parse(&back, text, strlen(text), "m.json", &err), err);
    assert_int_equal(back.classes.n, 3);
    assert_int_equal(back.mixture.n, 3);
    assert_int_equal(back.mixture.member[1].kind, PBOOST_MEMBER_CONSTANT);
    assert_true(back.mixture.member[2].forest.node[0].value == 0.5);
    back.mixture.n = 2;
    char *none;
    assert_fails(pboost_model_print(&none, &back, &err), PBOOST_BAD_DATA, err,
                 "2 members and 3 classes");
    back.mixture.n = 3;
    pboost_model_free(&m);
    pboost_model_free(&back);
    free(text);
    snprintf(list, sizeof list, "%s, %s, %s", LEAF, GLM, LEAF);
    members(&m, list, "member 2 is of the kind 'glm'");
    snprintf(
        list, sizeof list,
        "{\"kind\": \"constant\", \"weight\": 0.5, \"intercept\": -1}, {\"kind\": \"constant\", "
        "\"weight\": 0.5, \"intercept\": -1}");
    members(&m, list, "2 members and 3 classes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_back),
                                       cmocka_unit_test(refuses_wrong_content),
                                       cmocka_unit_test(trees_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Members of a model: the same bits back, trees from any order of nodes, and a clear message about
 * every tree that is none. */
#include "io_testing.h"

/* Columns: age (number), sex (3 levels), when:days and when:month (numbers). */
static pboost_encoding make_encoding(void)
{
    pboost_table *t = table_of("age,sex,when\n39,Male,2024-01-31\n40,Female,2024-02-01\n"
                               "41,Other,2024-03-01\n");
    const bool use[] = {true, true, true};
    const unsigned date[] = {0, 0, PBOOST_DATE_DAYS | PBOOST_DATE_MONTH};
    pboost_encoding_options o = encoding_options(use, true);
    pboost_encoding e;
    pboost_error err = {0};

    o.date = date;
    assert_ok(pboost_encoding_learn(&e, t, &o, &err), err);
    pboost_table_free(t);
    return e;
}

static void *copy_of(const void *from, size_t n)
{
    void *to = malloc(n);
    assert_non_null(to);
    memcpy(to, from, n);
    return to;
}

/* Two trees whose nodes are not in the order of the file: right children come first. */
static pboost_forest make_forest(void)
{
    static const pboost_node NODE[] = {
        {.column = PBOOST_LEAF, .value = -7.5},
        {.column = 1, .left = 3, .right = 2, .set = 1, .n_set = 2},
        {.column = 0, .left = 5, .right = 4, .missing_left = true, .value = 39.5},
        {.column = PBOOST_LEAF, .value = 1.0 / 3},
        {.column = PBOOST_LEAF, .value = 0.1},
        {.column = PBOOST_LEAF, .value = -0.25},
    };
    static const uint32_t ROOT[] = {1, 0}, CODE[] = {9, 0, 2};
    return (pboost_forest){.n_columns = 4,
                           .n_trees = 2,
                           .n_nodes = 6,
                           .n_codes = 3,
                           .root = copy_of(ROOT, sizeof ROOT),
                           .node = copy_of(NODE, sizeof NODE),
                           .code = copy_of(CODE, sizeof CODE)};
}

static pboost_model make_model(void)
{
    pboost_model m = {.family = PBOOST_LOGISTIC, .encoding = make_encoding()};
    pboost_error err = {0};

    m.mixture.n = 3;
    m.mixture.member = calloc(3, sizeof *m.mixture.member);
    assert_non_null(m.mixture.member);
    for (size_t i = 0; i < 3; i++) {
        m.mixture.member[i].weight = i == 0 ? 0.5 : 0.25;
        assert_ok(pboost_coef_init(&m.mixture.member[i].coef, m.encoding.n_columns, &err), err);
        m.mixture.member[i].coef.intercept = 0.1 * (double)i;
    }
    m.mixture.member[1].kind = PBOOST_MEMBER_GLM;
    m.mixture.member[1].coef.theta[2] = 0.7;
    m.mixture.member[2].kind = PBOOST_MEMBER_TREES;
    m.mixture.member[2].forest = make_forest();
    return m;
}

static char *print(const pboost_model *m)
{
    pboost_error err = {0};
    char *text = NULL;
    assert_ok(pboost_model_print(&text, m, &err), err);
    return text;
}

static double predict_one(const pboost_mixture *mixture, double age, uint32_t sex)
{
    const pboost_column cells[] = {{.number = &age, .stride = 1},
                                   {.code = &sex, .levels = 3},
                                   {.number = &age, .stride = 1},
                                   {.number = &age, .stride = 1}};
    const pboost_columns columns = {.rows = 1, .n = 4, .column = cells};
    double eta = 0.0;
    pboost_error err = {0};
    assert_ok(pboost_forest_add(&eta, &mixture->member[2].forest, &columns, NULL, 1, 1, &err), err);
    return eta;
}

static void comes_back_the_same(void **unused)
{
    pboost_model m = make_model(), back;
    static const double AGE[] = {39, 39.5, 40, NAN};
    pboost_error err = {0};
    char *text = print(&m), *again;

    (void)unused;
    assert_non_null(strstr(text, "\"version\":2"));
    assert_ok(pboost_model_parse(&back, text, strlen(text), "m.json", &err), err);
    assert_int_equal(back.mixture.n, 3);
    assert_int_equal(back.coef.n, 0);
    for (size_t i = 0; i < 3; i++) {
        const pboost_member *a = &m.mixture.member[i], *b = &back.mixture.member[i];
        assert_true(a->weight == b->weight && a->coef.intercept == b->coef.intercept);
        assert_int_equal(a->coef.n, b->coef.n);
        assert_memory_equal(a->coef.theta, b->coef.theta, a->coef.n * sizeof(double));
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->forest.n_trees, b->forest.n_trees);
    }
    for (size_t i = 0; i < 4; i++)
        for (uint32_t sex = 0; sex < 4; sex++)
            assert_true(predict_one(&m.mixture, AGE[i], sex) ==
                        predict_one(&back.mixture, AGE[i], sex));
    again = print(&back);
    assert_string_equal(text, again);
    free(again);
    free(text);
    pboost_model_free(&back);
    pboost_model_free(&m);
}

static void bad(const char *from, const char *to, const char *part)
{
    pboost_model m = make_model(), back;
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
    assert_null(back.mixture.member);
    free(changed);
    free(text);
    pboost_model_free(&m);
}

#define COLUMN "\"column\":[1,-1,0,-1,-1]"
#define RIGHT "\"right\":[2,0,4,0,0]"
#define COUNT "\"left_codes\":[2,0,0,0,0]"

static void refuses_wrong_members(void **unused)
{
    (void)unused;
    bad("\"weight\":0.5", "\"weight\":0.75",
        "the weights of the members sum to 1.25; it must be 1");
    bad("\"weight\":0.5", "\"weight\":-0.5", "member 1: \"weight\" is -0.5; it must be at least 0");
    bad("\"weight\":0.5", "\"weight\":\"x\"", "member 1: \"weight\" is text");
    bad("\"kind\":\"glm\"", "\"kind\":\"forest\"",
        "member 2: kind of member 'forest' is unknown; it must be one of constant");
    bad("\"kind\":\"glm\"", "\"kind\":7", "member 2: \"kind\" is a whole number");
    bad("\"kind\":\"constant\"", "\"kind\":\"glm\"", "member 1: \"theta\" is missing");
    bad("\"kind\":\"constant\"", "\"kind\":\"trees\"", "member 1: \"trees\" is missing");
    bad("\"theta\":[0.0,", "\"theta\":[", "member 2: theta has 14 entries, but there are 15");
    bad("\"members\":[", "\"members\":[3,", "member 1: \"members\" is a whole number");
    bad("\"members\":[", "\"members\":[],\"m\":[", "\"members\" of which there are none");
    bad("\"members\":[", "\"theta\":[],\"members\":[", "\"members\" of which each has its own");
    bad("\"members\":[", "\"members\":3,\"m\":[", "\"members\" is a whole number");
    bad("\"trees\":[", "\"trees\":[],\"m\":[", "member 3: there are 0 trees");
    bad("\"trees\":[", "\"trees\":[7,", "member 3, tree 1: \"column\" is missing");
}

static void refuses_wrong_trees(void **unused)
{
    (void)unused;
    bad(RIGHT, "\"right\":[2,0,0,0,0]", "tree 1: \"right\" of node 2 is 0; it must be the node");
    bad(RIGHT, "\"right\":[2,0,2,0,0]", "\"right\" of node 2 is 2");
    bad(RIGHT, "\"right\":[1,0,4,0,0]", "\"right\" of node 0 is 1");
    bad(RIGHT, "\"right\":[3,0,4,0,0]", "\"right\" of node 0 is 3");
    bad(RIGHT, "\"right\":[5,0,4,0,0]", "\"right\" of node 0 must be a whole number below 5");
    bad(RIGHT, "\"right\":[2,0,4,0]", "\"right\" has 4 entries, but there are 5 nodes");
    bad(COLUMN, "\"column\":[1,-1,-1,-1,-1]", "there are 5 nodes, but the root reaches 3");
    bad(COLUMN, "\"column\":[1,-1,0,-1,0]", "\"right\" of node 4");
    bad(COLUMN, "\"column\":[1,-1,4,-1,-1]", "\"column\" of node 2 must be a whole number below 4");
    bad(COLUMN, "\"column\":[1,-1,-2,-1,-1]", "\"column\" of node 2");
    bad(COLUMN, "\"column\":[1,-1,1,-1,-1]", "node 2 splits a category, but has 0 codes");
    bad(COLUMN, "\"column\":[0,-1,0,-1,-1]", "node 0 splits a number, but has 2 codes");
    bad(COUNT, "\"left_codes\":[1,0,0,0,0]", "there are 2 codes, but its nodes have 1");
    bad(COUNT, "\"left_codes\":[3,0,0,0,0]", "\"left_codes\" of node 0");
    bad("\"codes\":[0,2]", "\"codes\":[0,3]", "\"codes\" of node 1 must be a whole number below 3");
    bad("\"codes\":[0,2]", "\"codes\":[2,0]", "the codes of a node are not ascending");
    bad("\"codes\":[0,2]", "\"codes\":[2,2]", "the codes of a node are not ascending");
    bad("\"missing_left\":[0,0,1,", "\"missing_left\":[0,0,2,", "\"missing_left\" of node 2");
    bad("\"missing_left\":[0,0,1,", "\"missing_left\":[1,0,1,", "missing categories go right");
    bad("39.5", "1e999", "m.json:");
    bad("39.5", "null", "tree 1: \"value\" is null; it must be a number");
}

static void refuses_to_save_what_cannot_be_read_back(void **unused)
{
    pboost_model m = make_model();
    pboost_error err;
    char *text;

    (void)unused;
    m.mixture.member[2].forest.node[1].left = 1; /* a cycle */
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "a cycle");
    m.mixture.member[2].forest.node[1].left = 77;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "node 77 of 6");
    m.mixture.member[2].forest.node[1].left = 3;
    m.mixture.member[2].forest.node[3].value = NAN;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "value of a tree");
    m.mixture.member[2].forest.node[3].value = 0;
    m.mixture.member[1].coef.n = 2;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "2 weights, but 15");
    m.mixture.member[1].coef.n = 15;
    m.mixture.member[1].kind = PBOOST_MEMBER_TREES;
    assert_fails(pboost_model_print(&text, &m, &err), PBOOST_INVALID, err, "but has 0 trees");
    pboost_model_free(&m);
}

/* ---- Source columns -------------------------------------------------------------------------- */

static void reads_source_columns(void **unused)
{
    pboost_encoding e = make_encoding();
    pboost_table *t = table_of("sex,age,when\nMale,39,2024-02-01\n,,\nNone,41,1970-01-02 12:00\n"
                               "Female,1e9,2024-12-31\n");
    static const uint32_t CODE[] = {1, UINT32_MAX, UINT32_MAX, 0};
    static const double MONTH[] = {2, NAN, 1, 12};
    pboost_sources s, two;
    pboost_source at;
    pboost_unseen unseen;
    pboost_error err = {0};

    (void)unused;
    e.refuse_unseen = false;
    e.feature[0].winsorize = true; /* which trees do not want */
    e.feature[0].lower = 39;
    e.feature[0].upper = 40;
    assert_int_equal(pboost_encoding_n_sources(&e), 4);
    assert_true(pboost_encoding_source(&at, &e, 3) && at.feature == 2);
    assert_string_equal(at.part, "month");
    assert_false(pboost_encoding_source(&at, &e, 4));
    assert_ok(pboost_sources_read(&s, &unseen, &e, t, &err), err);
    assert_int_equal(s.columns.rows, 4);
    assert_int_equal(unseen.cells, 1);
    assert_true(s.columns.column[0].number[3] == 1e9 && isnan(s.columns.column[0].number[1]));
    assert_null(s.block[0]); /* the table's own numbers */
    assert_int_equal(s.columns.column[1].levels, 3);
    assert_memory_equal(s.columns.column[1].code, CODE, sizeof CODE);
    assert_true(s.columns.column[2].number[2] == 1.5);
    for (size_t i = 0; i < 4; i++)
        assert_true(s.columns.column[3].number[i] == MONTH[i] ||
                    (isnan(MONTH[i]) && isnan(s.columns.column[3].number[i])));
    assert_ok(pboost_sources_gather(&two, &s.columns, (size_t[]){3, 0}, 2, &err), err);
    assert_int_equal(two.columns.rows, 2);
    assert_true(two.columns.column[0].number[0] == 1e9 && two.columns.column[0].number[1] == 39);
    assert_int_equal(two.columns.column[1].code[1], 1);
    pboost_sources_free(&two);
    pboost_sources_free(&s);
    pboost_sources_free(&s);
    e.feature[0].impute = false;
    assert_fails(pboost_sources_read(&s, NULL, &e, t, &err), PBOOST_BAD_DATA, err, "is missing");
    assert_null(s.block);
    pboost_table_free(t);
    pboost_encoding_free(&e);
}

/* Values that share a column are a level of their own. */
static void other_is_a_level(void **unused)
{
    pboost_table *t = table_of("c\na\nb\nz\n");
    pboost_encoding e;
    pboost_source at;
    pboost_sources s;
    const bool use[] = {true};
    pboost_error err = {0};

    (void)unused;
    assert_ok(pboost_encoding_learn(&e, t, (pboost_encoding_options[]){encoding_options(use, true)},
                                    &err),
              err);
    e.feature[0].other = true;
    free(e.feature[0].level[2]);
    e.feature[0].n_levels = 2;
    assert_true(pboost_encoding_source(&at, &e, 0));
    assert_int_equal(at.levels, 3);
    assert_ok(pboost_sources_read(&s, NULL, &e, t, &err), err);
    assert_int_equal(s.columns.column[0].code[2], 2);
    pboost_sources_free(&s);
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

/* Writes a table of numbers, some beyond a limit, a category and a column not used. */
static pboost_table *make_long_table(void)
{
    enum { ROWS = 1000 };
    static char text[64 * ROWS];
    int used = snprintf(text, sizeof text, "a,b,c,d,rest\n");
    for (int i = 0; i < ROWS; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%d.5,%d,%c,%d,%d\n", i, 7 * i,
                         'u' + i % 3, i % 50, i);
    return table_of(text);
}

/* What a table loses is in x; columns for trees refer to x before it is filled. */
static void takes_numbers_from_a_table(void **unused)
{
    pboost_table *t = make_long_table();
    const bool use[] = {true, true, true, true, false};
    size_t rows = pboost_table_rows(t), col;
    const double *number;
    double *x[2];
    pboost_encoding e;
    pboost_sources s;
    pboost_error err = {0};

    (void)unused;
    assert_ok(pboost_encoding_learn(&e, t, (pboost_encoding_options[]){encoding_options(use, true)},
                                    &err),
              err);
    e.feature[3].winsorize = true;
    e.feature[3].lower = 1.0;
    e.feature[3].upper = 1e3;
    for (size_t i = 0; i < 2; i++)
        x[i] = malloc(rows * e.n_columns * sizeof **x);
    assert_ok(pboost_encoding_apply_straight(x[0], NULL, &e, t, &err), err);
    assert_ok(pboost_sources_read(&s, NULL, &e, t, &err), err);
    assert_ok(pboost_sources_own(&s, &e, x[1], e.n_columns, &err), err);
    assert_ok(pboost_encoding_take_straight(x[1], &e, t, &err), err);
    assert_memory_equal(x[0], x[1], rows * e.n_columns * sizeof **x);

    assert_ptr_equal(s.columns.column[0].number, x[1]);
    assert_ptr_equal(s.columns.column[3].number, s.block[3]); /* some cells are not in x */
    assert_true(s.columns.column[3].number[50] == 0.0);
    assert_fails(pboost_encoding_apply_straight(x[0], NULL, &e, t, &err), PBOOST_INVALID, err,
                 "column 'a' was not read");
    assert_ok(pboost_table_find(&col, t, "rest", &err), err);
    assert_ok(pboost_table_numbers(&number, t, col, false, &err), err);
    assert_true(number[rows - 1] == (double)rows - 1.0);
    pboost_sources_free(&s);
    free(x[0]);
    free(x[1]);
    pboost_encoding_free(&e);
    pboost_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_the_same),
        cmocka_unit_test(refuses_wrong_members),
        cmocka_unit_test(refuses_wrong_trees),
        cmocka_unit_test(refuses_to_save_what_cannot_be_read_back),
        cmocka_unit_test(reads_source_columns),
        cmocka_unit_test(other_is_a_level),
        cmocka_unit_test(takes_numbers_from_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Curves in encodings and model files: which columns there are, the same bits back, and what is
 * wrong with a file. */
#include "io_testing.h"

/* Twelve ages of which one is missing, a category, and a number with three values. */
static const char TABLE[] = "age,sex,few\n20,m,1\n25,f,2\n30,m,3\n,f,1\n35,m,2\n40,f,3\n45,m,1\n"
                            "50,f,2\n55,m,3\n60,f,1\n65,m,2\n70,f,3\n";

static pboost_model curved_model(void)
{
    pboost_table *t = table_of(TABLE);
    const bool use[] = {true, true, true};
    pboost_error err = {0};
    pboost_model m = {.family = PBOOST_LINEAR};
    assert_ok(pboost_encoding_learn(&m.encoding, t,
                                    (pboost_encoding_options[]){encoding_options(use, true)}, &err),
              err);
    assert_ok(pboost_encoding_winsorize(&m.encoding, t, 1.5, &err), err);
    assert_ok(pboost_encoding_curve(&m.encoding, t, 0, 1, &err), err);
    pboost_table_free(t);
    size_t n = m.encoding.n_columns + 1;
    assert_ok(pboost_coef_init(&m.coef, n - 1, &err), err);
    for (size_t j = 0; j + 1 < n; j++)
        m.coef.theta[j] = 0.1 * (double)j + 0.3;
    m.covariance = calloc(n * n, sizeof *m.covariance);
    for (size_t j = 0; j < n; j++)
        m.covariance[j * n + j] = 0.04;
    return m;
}

static double *encode(const pboost_encoding *e, const char *text, size_t *rows)
{
    pboost_table *t = table_of(text);
    pboost_error err = {0};
    *rows = pboost_table_rows(t);
    double *x = malloc(*rows * e->n_columns * sizeof *x);
    assert_ok(pboost_encoding_apply(x, NULL, e, t, &err), err);
    pboost_table_free(t);
    return x;
}

/* Ordinary columns come first and do not change; a number of three values stays a straight line. */
static void columns_of_curves_are_last(void **state)
{
    (void)state;
    pboost_model m = curved_model();
    const pboost_encoding *e = &m.encoding;
    const pboost_curve *c = &e->feature[0].curve;
    const char *const straight[] = {"age", "sex=m", "few"};
    size_t rows;
    for (size_t j = 0; j < 3; j++)
        assert_string_equal(e->column[j], straight[j]);
    assert_int_equal(e->n_columns, 3 + e->n_curves);
    assert_int_equal(c->n, e->n_curves);
    assert_string_equal(e->column[3], "s(age).1");
    assert_int_equal(e->feature[2].curve.n_knots, 0);
    double *x = encode(e, TABLE, &rows);
    for (size_t i = 0; i < rows; i++) { /* after the fill and the limits */
        double v[PBOOST_CURVE_COLUMNS], *row = x + i * e->n_columns;
        assert_true(row[0] >= e->feature[0].lower && row[0] <= e->feature[0].upper);
        pboost_curve_apply(v, 0, c, row, 0, 1);
        assert_memory_equal(v, row + 3, c->n * sizeof *v);
    }
    free(x);
    pboost_model_free(&m);
}

static void files_keep_every_bit(void **state)
{
    (void)state;
    static const char OTHER[] = "age,sex,few\n-1e6,m,1\n20.25,f,2\n,m,3\n61.7,f,1\n1e9,m,2\n";
    pboost_model m = curved_model(), back;
    pboost_error err = {0};
    char *text;
    size_t rows;
    assert_ok(pboost_model_print(&text, &m, &err), err);
    assert_non_null(strstr(text, "\"version\": 2"));
    assert_ok(pboost_model_parse(&back, text, strlen(text), "m.json", &err), err);
    assert_int_equal(back.encoding.n_curves, m.encoding.n_curves);
    double *a = encode(&m.encoding, OTHER, &rows), *b = encode(&back.encoding, OTHER, &rows);
    assert_memory_equal(a, b, rows * m.encoding.n_columns * sizeof *a);
    free(a);
    free(b);
    free(text);
    pboost_model_free(&m);
    pboost_model_free(&back);
}

/* The file with `from` replaced by `to` is refused with a message that has `part`. */
static void refuses(const char *text, const char *from, const char *to, const char *part)
{
    const char *at = strstr(text, from);
    char *changed = malloc(strlen(text) + strlen(to) + 1);
    pboost_model m;
    pboost_error err;
    assert_non_null(at);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_fails(pboost_model_parse(&m, changed, strlen(changed), "m.json", &err), PBOOST_BAD_DATA,
                 err, part);
    free(changed);
}

static void refuses_files(void **state)
{
    (void)state;
    pboost_model m = curved_model();
    pboost_error err = {0};
    char *text;
    assert_ok(pboost_model_print(&text, &m, &err), err);
    refuses(text, "\"knots\": [", "\"knots\": [1e9, ", "do not ascend");
    refuses(text, "\"knots\": [", "\"knots\": \"none\", \"was\": [", "\"knots\" is text");
    refuses(text, "\"knots\": [", "\"knots\": [-1.7e308, 1.7e308], \"was\": [", "has 2 knots");
    refuses(text, "\"bend\": [", "\"bend\": [[], ", "\"bend\" must be an array of");
    refuses(text, "\"curve\": {", "\"curve\": [], \"was\": {", "\"curve\" is an array");
    refuses(text, "\"s(age).1\"", "\"age.1\"", "the features make it 's(age).1'");
    free(text);
    pboost_model_free(&m);
}

/* The effect is a natural spline that is 0 on average over the knots; its error comes from the
 * covariance; the bend is in squared standard errors. */
static void effects(void **state)
{
    (void)state;
    pboost_model m = curved_model();
    const pboost_curve *c = &m.encoding.feature[0].curve;
    double effect[PBOOST_CURVE_COLUMNS + 2], se[PBOOST_CURVE_COLUMNS + 2], sum = 0.0, bend, own = 0;
    pboost_error err = {0};
    assert_ok(pboost_model_effect(effect, se, &m, 0, c->knot, c->n_knots, &err), err);
    for (size_t k = 0; k < c->n_knots; k++) {
        sum += effect[k];
        assert_true(se[k] > 0.0);
    }
    assert_close(sum, 0.0, 1e-9);
    assert_ok(pboost_model_bend(&bend, &m, 0, &err), err);
    for (size_t j = 0; j < c->n; j++)
        own += m.coef.theta[3 + j] * m.coef.theta[3 + j] / 0.04;
    assert_close(bend, own, 1e-12);
    assert_fails(pboost_model_bend(&bend, &m, 1, &err), PBOOST_INVALID, err, "has no curve");
    assert_fails(pboost_model_effect(effect, se, &m, 9, c->knot, 1, &err), PBOOST_INVALID, err,
                 "feature 9 of the model has no curve");
    free(m.covariance);
    m.covariance = NULL;
    assert_ok(pboost_model_effect(effect, se, &m, 0, c->knot, 1, &err), err);
    assert_true(isnan(se[0]));
    assert_ok(pboost_model_bend(&bend, &m, 0, &err), err);
    assert_true(isnan(bend));
    pboost_model_free(&m);
}

/* A failure leaves the encoding as it was; curves can be made again. */
static void refuses_columns(void **state)
{
    (void)state;
    pboost_model m = curved_model();
    pboost_table *t = table_of(TABLE), *clash;
    size_t n = m.encoding.n_columns;
    pboost_error err;
    assert_fails(pboost_encoding_curve(&m.encoding, t, 9, 1, &err), PBOOST_INVALID, err,
                 "t.csv: column 'age': a curve of 9 columns; it must have 4 to 8");
    assert_int_equal(m.encoding.n_columns, n);
    assert_string_equal(m.encoding.column[n - 1],
                        m.encoding.n_curves == 8 ? "s(age).8" : "s(age).7");
    assert_ok(pboost_encoding_curve(&m.encoding, t, 4, 1, &err), err);
    assert_int_equal(m.encoding.n_curves, 4);
    pboost_table_free(t);
    pboost_model_free(&m);
    clash = table_of("a,s(a).1\n1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n7,1\n8,1\n9,2\n");
    pboost_encoding e;
    const bool use[] = {true, true};
    assert_ok(pboost_encoding_learn(&e, clash,
                                    (pboost_encoding_options[]){encoding_options(use, true)}, &err),
              err);
    assert_fails(pboost_encoding_curve(&e, clash, 0, 1, &err), PBOOST_BAD_DATA, err,
                 "two features are named 's(a).1'");
    assert_int_equal(e.n_columns, 2);
    assert_int_equal(e.feature[0].curve.n, 0);
    pboost_encoding_free(&e);
    pboost_table_free(clash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_curves_are_last),
        cmocka_unit_test(files_keep_every_bit),
        cmocka_unit_test(refuses_files),
        cmocka_unit_test(effects),
        cmocka_unit_test(refuses_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

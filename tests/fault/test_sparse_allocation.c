/* Whichever allocation fails while a wide model is made, fitted or judged: the call says so, the
 * model is as it was, nothing leaks (under the address sanitizer). */
#include "testing.h"

#include "fault/inject.h"
#include "unit/sparse/support.h"

enum { D = 200 };

typedef struct {
    wide_table table;
    pboost_answers answers;
    pboost_coef coef;
    pboost_fit_report report;
    double error[2];
    float *sketch;
} wide_case;

typedef pboost_status attempt(wide_case *c, pboost_error *err);

static pboost_status fit_event(wide_case *c, pboost_error *err)
{
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    o.estimator = PBOOST_EVENT;
    c->table.features.weight = c->table.weight;
    c->table.features.offset = c->table.offset;
    return pboost_wide_answers_fit(&c->coef, &c->report, &c->table.features, &c->answers, 0, &o,
                                   err);
}

static pboost_status fit_aggregate(wide_case *c, pboost_error *err)
{
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    return pboost_wide_answers_fit(&c->coef, &c->report, &c->table.features, &c->answers, 0, &o,
                                   err);
}

static pboost_status standard_errors(wide_case *c, pboost_error *err)
{
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    size_t column[] = {1, D};
    c->report = (pboost_fit_report){.estimator = PBOOST_AGGREGATE, .l2 = 1.0, .dispersion = 1.0};
    return pboost_wide_standard_errors(c->error, column, 2, &c->coef, &c->report,
                                       &c->table.features, &c->answers, 0, &o, err);
}

static pboost_status learn(wide_case *c, pboost_error *err)
{
    pboost_fit_options o = PBOOST_WIDE_OPTIONS_INIT;
    pboost_wide *wide = NULL;
    pboost_status st = pboost_wide_create(&wide, &c->table.features, NULL, &o, err);
    if (st == PBOOST_OK) {
        pboost_learner learner = pboost_wide_learner(wide);
        st = learner.fit(learner.self, &c->answers, 0, err);
        c->coef.theta[0] = st == PBOOST_OK ? pboost_wide_coef(wide)->theta[0] : 0.0;
    } else
        assert_null(wide);
    pboost_wide_free(wide);
    return st;
}

static pboost_status sketch(wide_case *c, pboost_error *err)
{
    return pboost_sparse_sketch(c->sketch, &c->table.features.x, 8, 1, 1, NULL, err);
}

static pboost_status forecast(wide_case *c, pboost_error *err)
{
    pboost_bags bags = pboost_answers_bags(&c->answers);
    size_t other = 0;
    pboost_wide_assumptions assumed = {
        .family = PBOOST_LOGISTIC, .mean = 0.5, .dispersion = 1.0, .threads = 1};
    pboost_wide_forecast found;
    pboost_status st =
        pboost_wide_forecast_bags(&found, &c->table.features, &bags, &other, 1, &assumed, err);
    assert_true((found.excess > 0.0) == (st == PBOOST_OK));
    return st;
}

static void run_out(attempt *call, long least)
{
    wide_case c = {0};
    pboost_error err = {0};
    long n = 1;
    wide_open(&c.table, PBOOST_LOGISTIC, 600, D, 5, false, 31);
    c.answers = wide_answers(&c.table, 6, 0.0);
    assert_ok(pboost_coef_init(&c.coef, D, &err), err);
    c.sketch = calloc(c.table.n * 8, sizeof *c.sketch);
    assert_non_null(c.sketch);
    for (; n == 1 || injected(); n++) {
        memset(c.coef.theta, 0, D * sizeof *c.coef.theta);
        c.coef.intercept = 0.0;
        inject_allocation(n);
        pboost_status st = call(&c, &err);
        inject_nothing();
        if (injected()) {
            assert_int_equal(st, PBOOST_NO_MEMORY);
            assert_true(c.coef.theta[0] == 0.0 && c.coef.intercept == 0.0);
        } else
            assert_ok(st, err);
    }
    assert_true(n > least);
    free(c.sketch);
    pboost_coef_free(&c.coef);
    pboost_answers_clear(&c.answers);
    wide_close(&c.table);
}

static void fits_may_run_out_of_memory(void **state)
{
    (void)state;
    run_out(fit_event, 20);
    run_out(fit_aggregate, 30);
    run_out(standard_errors, 25);
}

static void learners_may_run_out_of_memory(void **state)
{
    (void)state;
    run_out(learn, 30);
    run_out(sketch, 10);
    run_out(forecast, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fits_may_run_out_of_memory),
                                       cmocka_unit_test(learners_may_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

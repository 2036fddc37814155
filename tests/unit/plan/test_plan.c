/* The plan: its points, its recommendation, its warnings, what it refuses. */
#include "plan_support.h"

static void test_noise_enlarges_bags(void **state)
{
    (void)state;
    pboost_plan quiet = plan_of(PBOOST_LINEAR, NULL, 4096, NAN);
    pboost_plan noisy = plan_of(PBOOST_LINEAR, "0.5", 4096, NAN);
    assert_int_equal(quiet.point[quiet.best].bag_size, 8);
    assert_int_equal(quiet.point[quiet.best].bags, PBOOST_BAGS_FEATURES);
    assert_int_equal(quiet.point[quiet.best].rounds, 1);
    assert_false(quiet.no_better_than_mean);
    assert_true(noisy.point[noisy.best].bag_size > 8);
    assert_non_null(strstr(noisy.reason, "noise"));
    assert_true(quiet.default_coef && quiet.default_dispersion);
    for (size_t j = 0; j < FEATURES; j++)
        assert_true(quiet.se[j] > 0.0 && quiet.se[j] < noisy.se[j]);
    /* The model's error is what keeps bags from growing without end. */
    for (size_t i = 0; i < noisy.n_points; i++)
        assert_true(noisy.point[i].cautious >= noisy.point[i].excess);
    pboost_plan_free(&quiet);
    pboost_plan_free(&noisy);
}

/* The paper's algorithm is forecast by its theorems, without noise alone, and is worse. */
static void test_event_points(void **state)
{
    (void)state;
    const pboost_family families[] = {PBOOST_LINEAR, PBOOST_LOGISTIC};
    for (int f = 0; f < 2; f++) {
        pboost_plan plan = plan_of(families[f], NULL, 4096, NAN);
        size_t found = 0;
        for (size_t i = 0; i < plan.n_points; i++)
            if (plan.point[i].estimator == PBOOST_EVENT && plan.point[i].bag_size == 8) {
                found++;
                assert_int_equal(plan.point[i].forecast, families[f] == PBOOST_LINEAR
                                                             ? PBOOST_FORECAST_THEOREM
                                                             : PBOOST_FORECAST_GRADIENT);
                assert_true(plan.point[i].excess > plan.point[plan.best].excess);
                assert_true(plan.point[i].excess < plan.constant);
            }
        assert_int_equal(found, 1);
        pboost_plan_free(&plan);
        plan = plan_of(families[f], "1", 1024, NAN);
        for (size_t i = 0; i < plan.n_points; i++)
            assert_int_equal(plan.point[i].estimator, PBOOST_AGGREGATE);
        pboost_plan_free(&plan);
    }
}

static void test_warnings(void **state)
{
    (void)state;
    pboost_plan plan = plan_of(PBOOST_LOGISTIC, "0.001", 2048, NAN);
    assert_true(plan.no_better_than_mean);
    assert_false(plan.rare);
    pboost_plan_free(&plan);
    plan = plan_of(PBOOST_LOGISTIC, NULL, 2048, 0.002);
    assert_true(plan.rare);
    assert_true(plan.events < 50.0);
    pboost_plan_free(&plan);
}

static void test_further_epsilons(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LINEAR, 2048, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, "1", 16);
    pboost_rational more[] = {{0, 0}, {10, 1}};
    o.epsilon = more;
    o.n_epsilon = 2;
    o.brief = true;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    assert_true(plan.point[0].excess > plan.point[2].excess);
    assert_true(plan.point[2].excess > plan.point[1].excess);
    assert_int_equal(plan.point[plan.best].epsilon.den, 1);
    pboost_plan_free(&plan);
    free_table(&t);
}

/* How many times as bad as the best, by either figure. */
static double worst_ratio(const pboost_plan *plan, const pboost_plan_point *point)
{
    double excess = INFINITY, cautious = INFINITY;
    for (size_t i = 0; i < plan->n_points; i++) {
        excess = fmin(excess, plan->point[i].excess);
        cautious = fmin(cautious, plan->point[i].cautious);
    }
    return fmax(point->excess / excess, point->cautious / cautious);
}

/* The recommended size of a way of asking has the smallest worst ratio to the best, for a right and
 * for a wrong model; it is not always the best size for either.  Without other knowledge the plan
 * assumes that labels are narrower than their bounds. */
typedef struct {
    size_t calls;
    double done, total;
} told;

static void note_progress(void *user, const char *stage, double done, double total)
{
    told *t = user;
    assert_string_equal(stage, "planning"); /* and not what its parts say */
    assert_true(t->calls == 0 || (done > t->done && total == t->total));
    assert_true(done < total);
    *t = (told){t->calls + 1, done, total};
}

static bool goes_on(void *user)
{
    (void)user;
    return false;
}

/* One word for each way of asking. */
static void test_progress(void **state)
{
    (void)state;
    told seen = {0};
    const pboost_cancel watch = {goes_on, &seen, note_progress};
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LOGISTIC, 2000, 0);
    pboost_plan_options o = plan_options(PBOOST_LOGISTIC, "1", 8);
    o.cancel = &watch;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    assert_true(seen.calls > 1 && (double)seen.calls == seen.total);
    pboost_plan_free(&plan);
    free_table(&t);
}

static void test_recommendation(void **state)
{
    (void)state;
    bool against_excess = false, against_cautious = false;
    double sd = 32.0 / (3.0 * sqrt(2.0 * log(4098.0)));
    table t = make_table(PBOOST_LINEAR, 4096, 0);
    for (double model_error = 0.01; model_error < 20.0; model_error *= 2.0) {
        pboost_error err;
        pboost_plan plan;
        pboost_plan_options o = plan_options(PBOOST_LINEAR, "2", 8);
        o.assumed.model_error = model_error;
        assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
        const pboost_plan_point *best = &plan.point[plan.best];
        for (size_t i = 0; i < plan.n_points; i++) {
            const pboost_plan_point *p = &plan.point[i];
            if (p->bags != best->bags || p->rounds != best->rounds)
                continue;
            assert_true(worst_ratio(&plan, p) >= worst_ratio(&plan, best));
            against_excess = against_excess || p->excess < best->excess;
            against_cautious = against_cautious || p->cautious < best->cautious;
        }
        assert_close(plan.dispersion, 0.5 * sd * sd, 1e-9);
        pboost_plan_free(&plan);
    }
    assert_true(against_excess && against_cautious);
    free_table(&t);
}

/* Columns of zeros and no intercept: every excess is 0.  Ways of asking that are only for
 * comparison are not recommended then either. */
static void test_nothing_to_learn(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    double *x = calloc(2000, sizeof *x);
    pboost_matrix m = pboost_matrix_f64(x, 1000, 2);
    for (int family = 0; family < 3; family++) {
        pboost_plan_options o = plan_options((pboost_family)family, NULL, 4);
        o.intercept = false;
        assert_ok(pboost_plan_make(&plan, PLAIN(m), &o, &err), err);
        const pboost_plan_point *best = &plan.point[plan.best];
        assert_int_equal(best->estimator, PBOOST_AGGREGATE);
        assert_int_equal(best->bags, PBOOST_BAGS_FEATURES);
        assert_int_equal(best->bag_size, 4);
        assert_non_null(strstr(plan.reason, "a forecast excess loss of 0, 1 times that"));
        pboost_plan_free(&plan);
    }
    free(x);
}

/* Under noise large bags may be best though there are hardly more of them than weights; fewer are
 * not forecast. */
static void test_no_fewer_bags_than_weights(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    size_t n = 640, d = 39, largest = 0;
    double *x = malloc(n * d * sizeof *x), theta[39];
    double *y = malloc(n * sizeof *y);
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    s.family = PBOOST_LINEAR;
    s.features = d;
    assert_ok(pboost_synthetic_theta(theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(x, y, &s, theta, 0, 0, n, 1, &err), err);
    pboost_matrix matrix = pboost_matrix_f64(x, n, d);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, "1", 4);
    assert_ok(pboost_plan_make(&plan, PLAIN(matrix), &o, &err), err);
    for (size_t i = 0; i < plan.n_points; i++)
        largest = plan.point[i].bag_size > largest ? plan.point[i].bag_size : largest;
    assert_int_equal(largest, 16); /* 40 bags for 39 weights and the intercept */
    pboost_plan_free(&plan);
    free(x);
    free(y);
}

static void test_refusals(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LOGISTIC, 64, 0);
    pboost_plan_options o = plan_options(PBOOST_LOGISTIC, NULL, 65);
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_BAD_DATA, err,
                 "min_bag is 65, but the table has 64 rows");
    assert_null(plan.point);
    o.rules.min_bag = 4;
    o.assumed.mean = 1.5;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "mean label is 1.5");
    o.assumed.mean = NAN;
    o.assumed.dispersion = -1.0;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "dispersion is -1");
    o.assumed.dispersion = NAN;
    pboost_coef coef = {2, t.theta, 0.0};
    o.assumed.coef = &coef;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "2 weights for 4 columns");
    double wrong[4] = {0.0, 0.0, NAN, 0.0}, far[4] = {1e5, 0.0, 0.0, 0.0};
    coef = (pboost_coef){4, wrong, 0.0};
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "weight 2 of the assumed model is nan");
    o.family = PBOOST_POISSON;
    coef.theta = far;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_BAD_DATA, err,
                 "overflow");
    t.x[0] = 1e5; /* a row that is not in a sample of few */
    far[0] = 0.01;
    o.max_rows = 16;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_BAD_DATA, err,
                 "predicts a mean of inf for row 0");
    o.assumed.coef = NULL;
    o.assumed.mean = INFINITY;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "mean label is inf");
    o.assumed.mean = NAN;
    o.assumed.model_error = -1.0;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "model error is -1");
    o.assumed.model_error = 1.7e308;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_BAD_DATA, err,
                 "no loss can be forecast");
    o.assumed.model_error = NAN;
    o.l2 = pboost_l2_fixed(NAN);
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "l2 is nan");
    o.l2 = (pboost_l2){PBOOST_L2_AUTO, 0.0};
    double *offset = calloc(64, sizeof *offset);
    offset[63] = -INFINITY;
    assert_fails(
        pboost_plan_make(&plan, &(pboost_features){.x = t.matrix, .offset = offset}, &o, &err),
        PBOOST_BAD_DATA, err, "offset of row 63 is -inf");
    pboost_choice choice;
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), offset, &o, &err), PBOOST_BAD_DATA,
                 err, "prior score of row 63 is -inf");
    free(offset);
    o.struct_size = 8;
    assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_INVALID, err,
                 "struct_size");
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_enlarges_bags),
        cmocka_unit_test(test_event_points),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_further_epsilons),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_recommendation),
        cmocka_unit_test(test_nothing_to_learn),
        cmocka_unit_test(test_no_fewer_bags_than_weights),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

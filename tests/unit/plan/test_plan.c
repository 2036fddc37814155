/* The planner: information, forecasts against simulation, recommendations and warnings. */
#include "testing.h"

#include "fit/aggregate/aggregate.h"
#include "fit/estimator.h"
#include "plan/plan.h"
#include "train/glm.h"

#define FEATURES 4

typedef struct {
    size_t n;
    double *x, *y, theta[FEATURES];
    pboost_matrix matrix;
} table;

static table make_table(pboost_family family, size_t n, uint64_t stream)
{
    pboost_error err;
    table t = {.n = n, .x = malloc(n * FEATURES * sizeof(double)), .y = malloc(n * sizeof(double))};
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    s.family = family;
    s.features = FEATURES;
    s.noise = family == PBOOST_LINEAR ? 1.0 : 0.0;
    s.seed = 4;
    assert_ok(pboost_synthetic_theta(t.theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(t.x, t.y, &s, t.theta, stream, 0, n, 1, &err), err);
    t.matrix = pboost_matrix_f64(t.x, n, FEATURES);
    return t;
}

static void free_table(table *t)
{
    free(t->x);
    free(t->y);
}

static pboost_plan_options plan_options(pboost_family family, const char *epsilon, size_t k)
{
    pboost_error err;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    o.family = family;
    o.rules.min_bag = k;
    o.rules.bounded = true;
    o.rules.lower = family == PBOOST_LINEAR ? -16.0 : 0.0;
    o.rules.upper = family == PBOOST_LINEAR ? 16.0 : family == PBOOST_LOGISTIC ? 1.0 : 32.0;
    if (epsilon != NULL)
        assert_ok(pboost_rational_parse(&o.rules.epsilon, epsilon, &err), err);
    o.threads = 1;
    return o;
}

/* Bags of one row without noise: X'X / sigma^2, the intercept last. */
static void test_information_of_labels(void **state)
{
    (void)state;
    pboost_error err;
    pboost_bags bags;
    double x[] = {1, 2, 3, 5, 8, 13}, theta[] = {1, 1}, information[9];
    pboost_matrix m = pboost_matrix_f64(x, 3, 2);
    pboost_samples samples = {.x = &m, .n = 3};
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_coef coef = {2, theta, 0.5};
    assert_ok(pboost_bags_random(&bags, 3, 1, 1, &err), err);
    assert_ok(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 2.0,
                                 true, 1, &err),
              err);
    const double expected[] = {37, 60.5, 6, 60.5, 99, 10, 6, 10, 1.5};
    for (int i = 0; i < 9; i++)
        assert_close(information[i], expected[i], 1e-12);
    assert_ok(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 2.0,
                                 false, 1, &err),
              err);
    assert_close(information[1], 60.5, 1e-12);
    assert_close(information[8], 0.0, 0.0);
    assert_fails(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 0.0,
                                    true, 1, &err),
                 PBOOST_INVALID, err, "dispersion is 0");
    coef.n = 1;
    assert_fails(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 1.0,
                                    true, 1, &err),
                 PBOOST_INVALID, err, "1 weights for 2 columns");
    coef.n = 2;
    rules.epsilon = (pboost_rational){1, 1}; /* without bounds */
    assert_fails(pboost_information(information, PBOOST_LINEAR, &samples, &bags, &rules, &coef, 1.0,
                                    true, 1, &err),
                 PBOOST_INVALID, err, "labels have no bounds");
    pboost_bags_free(&bags);
}

/* The excess loss of one run: against the truth, so that no label of a test row adds noise. */
static double excess_of(pboost_family family, const table *test, const pboost_coef *coef)
{
    double sum = 0.0;
    for (size_t i = 0; i < test->n; i++) {
        double eta = 0.0, ours = coef->intercept;
        for (size_t j = 0; j < FEATURES; j++) {
            eta += test->theta[j] * test->x[i * FEATURES + j];
            ours += coef->theta[j] * test->x[i * FEATURES + j];
        }
        double mean = 1.0 / (1.0 + exp(-eta));
        sum += family == PBOOST_LINEAR
                   ? (eta - ours) * (eta - ours)
                   : log1p(exp(ours)) - mean * ours - log1p(exp(eta)) + mean * eta;
    }
    return sum / (double)test->n;
}

static double realised(pboost_family family, const pboost_plan_options *o,
                       const pboost_plan_point *point, size_t n, int runs)
{
    pboost_error err;
    double sum = 0.0;
    table test = make_table(family, 4000, 999);
    for (int run = 0; run < runs; run++) {
        table t = make_table(family, n, (uint64_t)run + 1);
        pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
        held.simulated = held.clamp = true;
        held.seed = (uint64_t)run;
        pboost_memory_oracle *labels;
        assert_ok(pboost_memory_oracle_create(&labels, t.y, n, &o->rules, &held, &err), err);
        pboost_oracle oracle = pboost_memory_oracle_interface(labels);
        pboost_samples samples = {.x = &t.matrix, .n = n};
        pboost_bags bags;
        pboost_answers answers = {0};
        assert_ok(pboost_bags_features(&bags, &samples, point->bag_size, 1, NULL, &err), err);
        assert_ok(pboost_answers_ask(&answers, &oracle, &bags, &err), err);
        pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
        pboost_fit_report report;
        pboost_coef coef;
        fit.family = family;
        assert_ok(pboost_coef_init(&coef, FEATURES, &err), err);
        assert_ok(
            pboost_aggregate_fit(&coef, &report, NULL, PLAIN(t.matrix), &answers, 0, &fit, &err),
            err);
        sum += excess_of(family, &test, &coef) / runs;
        pboost_coef_free(&coef);
        pboost_answers_clear(&answers);
        pboost_bags_free(&bags);
        pboost_memory_oracle_free(labels);
        free_table(&t);
    }
    free_table(&test);
    return sum;
}

/* A forecast from a quarter of the rows is within 1.5 of what happens. */
static void test_forecast_is_right(void **state)
{
    (void)state;
    pboost_error err;
    const struct {
        pboost_family family;
        const char *epsilon;
    } cases[] = {{PBOOST_LINEAR, NULL}, {PBOOST_LINEAR, "1"}, {PBOOST_LOGISTIC, "1"}};
    size_t n = 8192;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        table t = make_table(cases[c].family, n, 0);
        pboost_plan_options o = plan_options(cases[c].family, cases[c].epsilon, 16);
        pboost_coef truth = {FEATURES, t.theta, 0.0};
        pboost_plan plan;
        o.assumed.coef = &truth;
        o.assumed.dispersion = 1.0;
        o.max_rows = n / 4;
        o.brief = cases[c].epsilon != NULL; /* without noise a brief plan has one size */
        assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
        assert_ok(pboost_rules_check(&o.rules, &err), err);
        for (size_t i = 0; i < 3; i += 2) { /* bags of 16 and of 64 */
            double real = realised(cases[c].family, &o, &plan.point[i], n, 30);
            double ratio = plan.point[i].excess / real;
            if (!(ratio > 1 / 1.5 && ratio < 1.5))
                fail_msg("case %zu, bags of %zu: forecast %g, realised %g", c,
                         plan.point[i].bag_size, plan.point[i].excess, real);
        }
        assert_true(plan.all_labels < plan.point[0].excess);
        pboost_plan_free(&plan);
        free_table(&t);
    }
}

static pboost_plan plan_of(pboost_family family, const char *epsilon, size_t n, double mean)
{
    pboost_error err;
    pboost_plan plan;
    table t = make_table(family, n, 0);
    pboost_plan_options o = plan_options(family, epsilon, 8);
    o.assumed.mean = mean;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    free_table(&t);
    return plan;
}

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

/* Answers of a model that is off by a known amount. */
static void test_learning(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_LINEAR, 32768, 0);
    pboost_samples samples = {.x = &t.matrix, .n = t.n};
    pboost_bags bags;
    pboost_answers answers = {0};
    pboost_assumptions assumed = {NULL, NAN, NAN, NAN};
    pboost_coef coef = {FEATURES, t.theta, 0.0};
    assert_ok(pboost_bags_features(&bags, &samples, 16, 1, NULL, &err), err);
    double *mean = calloc(bags.n_bags, sizeof *mean);
    for (int wrong = 0; wrong < 2; wrong++) {
        for (size_t b = 0; b < bags.n_bags; b++) {
            double size = (double)(bags.start[b + 1] - bags.start[b]);
            mean[b] = wrong * (b / 64 % 2 == 0 ? 0.5 : -0.5);
            for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
                mean[b] += t.y[bags.row[i]] / size;
        }
        assert_ok(pboost_answers_append(&answers, &bags, mean, NULL, &err), err);
        assert_ok(pboost_assumptions_learn(&assumed, PBOOST_LINEAR, PLAIN(t.matrix), &answers,
                                           &coef, 1, &err),
                  err);
        assert_true(assumed.dispersion > 0.8 && assumed.dispersion < 1.25);
        assert_close(assumed.model_error, wrong * 0.25, 0.03);
        pboost_answers_clear(&answers);
        answers = (pboost_answers){0};
    }
    free(mean);
    pboost_bags_free(&bags);
    free_table(&t);
}

/* A wrong model pulls weights aside only as far as bags are mixed. */
static void test_model_error(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LINEAR, 4096, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, "1", 16);
    double pulled[2] = {0}; /* by features bags, by random ones */
    o.assumed.model_error = 0.1;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    for (size_t i = 0; i < plan.n_points; i++) {
        const pboost_plan_point *p = &plan.point[i];
        bool random = p->bags == PBOOST_BAGS_RANDOM;
        if (p->bag_size == 16 && p->rounds == 1 && (random || p->bags == PBOOST_BAGS_FEATURES))
            pulled[random] = p->cautious / p->excess - 1.0;
    }
    assert_true(pulled[0] > 0.0 && pulled[0] < 0.05);
    assert_true(pulled[1] > 5.0 * pulled[0]);
    pboost_plan_free(&plan);
    free_table(&t);
}

/* It never pulls more than noise of the same variance in every answer would, also where bags hardly
 * tell a column: one row in a hundred has it. */
static void test_model_error_is_no_worse_than_noise(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan plan;
    table t = make_table(PBOOST_LINEAR, 4096, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 16);
    for (size_t i = 0; i < t.n; i++)
        t.x[i * FEATURES] = t.x[i * FEATURES] > 2.3;
    o.assumed.dispersion = 1.0;
    o.assumed.model_error = 0.1;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    for (size_t i = 0; i < plan.n_points; i++) {
        const pboost_plan_point *p = &plan.point[i];
        double noise = 0.1 * (double)p->bag_size; /* of variance 1 / size without it */
        if (p->estimator == PBOOST_AGGREGATE)
            assert_true(p->cautious <= p->excess * (1.0 + 1.001 * noise));
    }
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

/* Of the sizes of one way of asking that one is recommended which is least worse than the best, be
 * the model right or wrong; that is neither always the best of a right one nor of a wrong one.
 * Nothing known, the labels are taken for narrower than their bounds. */
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

/* Columns of zeros and no intercept: every excess is 0.  Ways of asking that are there to compare
 * with are not recommended then either. */
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

/* Under noise a linear model's ridge is judged by the answers.  With labels one by one all weights
 * are known alike, and that costs what it costs Stein's estimator: 2 v^2 / (v + t) for noise of
 * variance v and weights of variance t.  A ridge that is given costs nothing. */
static void test_price_of_a_judged_ridge(void **state)
{
    (void)state;
    pboost_error err;
    pboost_plan judged, given;
    size_t n = 4096;
    table t = make_table(PBOOST_LINEAR, n, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, "2", 1);
    for (size_t j = 0; j < FEATURES; j++) { /* to a variance of 1, about the mean of 0 */
        double square = 0.0;
        for (size_t i = 0; i < n; i++)
            square += t.x[i * FEATURES + j] * t.x[i * FEATURES + j] / (double)n;
        for (size_t i = 0; i < n; i++)
            t.x[i * FEATURES + j] /= sqrt(square);
    }
    o.brief = true;
    o.assumed.dispersion = 1.0;
    assert_ok(pboost_rules_check(&o.rules, &err), err);
    assert_ok(pboost_plan_make(&judged, PLAIN(t.matrix), &o, &err), err);
    double spread = judged.constant + 1.0,
           v = (1.0 + pboost_rules_noise_variance(&o.rules, 1)) / (double)n;
    o.l2 = pboost_l2_fixed(FEATURES / spread);
    assert_ok(pboost_plan_make(&given, PLAIN(t.matrix), &o, &err), err);
    assert_int_equal(judged.point[0].bag_size, 1);
    double price = 2.0 * v * v / (v + spread / FEATURES);
    assert_close(judged.point[0].excess - given.point[0].excess, price, 0.05 * price);
    assert_close(judged.point[0].cautious - given.point[0].cautious, price, 0.05 * price);
    pboost_plan_free(&judged);
    pboost_plan_free(&given);
    free_table(&t);
}

/* Without noise the plan is followed as it is; under noise a small first round is set apart, and
 * what it teaches decides about the rest. */
static void test_choice(void **state)
{
    (void)state;
    pboost_error err;
    pboost_choice choice;
    table t = make_table(PBOOST_LINEAR, 17000, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 16);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_false(choice.pilot);
    assert_int_equal(choice.rounds, 1);
    assert_int_equal(choice.bag_size, 16);
    assert_int_equal(choice.estimator, PBOOST_AGGREGATE);
    assert_int_equal(choice.algorithm, PBOOST_PBPREFIX);
    assert_true(isnan(choice.learnt.dispersion));
    pboost_choice_free(&choice);

    /* A thousand rows under noise would tell nothing: none are set apart. */
    o = plan_options(PBOOST_LINEAR, "1", 16);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_false(choice.pilot);
    assert_true(choice.bag_size > 16);
    pboost_choice_free(&choice);
    free_table(&t);

    t = make_table(PBOOST_LINEAR, 68000, 0);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_true(choice.pilot);
    assert_int_equal(choice.rounds, 2);
    assert_int_equal(choice.schedule, PBOOST_GEOMETRIC);
    assert_true(choice.planned_bag_size > choice.bag_size); /* 4000 rows must make 32 bags */
    assert_in_range(choice.bag_size, 16, 125);

    pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    held.simulated = held.clamp = true;
    pboost_memory_oracle *labels;
    pboost_glm *glm;
    pboost_trainer *trainer;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options run = PBOOST_TRAINER_OPTIONS_INIT;
    fit.estimator = choice.estimator;
    run.algorithm = choice.algorithm;
    run.bags = choice.bags;
    run.schedule = choice.schedule;
    run.rounds = choice.rounds;
    run.bag_size = choice.bag_size;
    run.x = &t.matrix;
    assert_ok(pboost_memory_oracle_create(&labels, t.y, t.n, &o.rules, &held, &err), err);
    assert_ok(pboost_glm_create(&glm, PLAIN(t.matrix), &fit, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    pboost_learner learner = pboost_glm_learner(glm);
    const pboost_coef *coef = pboost_glm_coef(glm);
    assert_ok(pboost_trainer_create(&trainer, t.n, &oracle, &learner, &run, &err), err);
    assert_ok(pboost_choice_revise(&choice, trainer, PLAIN(t.matrix), coef, &o, &err), err);
    assert_true(isnan(choice.learnt.dispersion)); /* there was no first round yet */
    assert_ok(pboost_trainer_step(trainer, &err), err);
    assert_ok(pboost_choice_revise(&choice, trainer, PLAIN(t.matrix), coef, &o, &err), err);
    assert_true(choice.learnt.dispersion > 0.0 && choice.learnt.model_error >= 0.0);
    assert_false(choice.plan.default_coef);
    assert_ok(pboost_trainer_run(trainer, &err), err);
    const pboost_round *last = &pboost_trainer_history(trainer)[1];
    assert_int_equal(last->bags, last->rows / choice.bag_size);
    assert_true(choice.bag_size > 31);
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
    pboost_memory_oracle_free(labels);
    pboost_choice_free(&choice);

    /* Too few rows for a pilot: the plan rests on what was assumed. */
    t.matrix.rows = 2000;
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), t.y, &o, &err), err);
    assert_false(choice.pilot);
    assert_int_equal(choice.schedule, PBOOST_EQUAL);
    pboost_choice_free(&choice);
    o.rules.min_bag = 5000;
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "min_bag is 5000");
    pboost_choice_free(&choice);
    free_table(&t);
}

/* Answers about rows that the table does not have, a model of other columns, one that overflows. */
static void test_learning_refuses(void **state)
{
    (void)state;
    pboost_error err;
    pboost_assumptions assumed = {NULL, NAN, NAN, NAN};
    pboost_answers log = {0};
    double x[32], mean[16], theta[3] = {0.1, 0.2, 0.3};
    size_t row[32], start[17];
    pboost_bags bags = {32, 16, row, start};
    for (size_t i = 0; i < 32; i++) {
        x[i] = (double)(i % 5);
        row[i] = i / 2;
    }
    for (size_t b = 0; b <= 16; b++)
        start[b] = 2 * b;
    for (size_t b = 0; b < 16; b++)
        mean[b] = 1.0;
    row[31] = 16;
    pboost_matrix m = pboost_matrix_f64(x, 16, 2);
    pboost_coef coef = {2, theta, 0.0};
    assert_ok(pboost_answers_append(&log, &bags, mean, NULL, &err), err);
    assert_fails(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
                 PBOOST_INVALID, err, "row 16 of a table of 16 rows");
    log.row[31] = 15;
    coef.n = 3;
    assert_fails(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
                 PBOOST_INVALID, err, "3 coefficients for 2 columns");
    coef.n = 2;
    theta[0] = 300.0;
    assert_fails(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
                 PBOOST_BAD_DATA, err, "predictions overflow");
    assert_true(isnan(assumed.dispersion) && isnan(assumed.model_error));
    theta[0] = 0.1;
    assert_ok(pboost_assumptions_learn(&assumed, PBOOST_POISSON, PLAIN(m), &log, &coef, 1, &err),
              err);
    assert_true(assumed.dispersion >= 1.0);

    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    fit.estimator = PBOOST_INTERPOLATED;
    assert_fails(pboost_interpolated_fit(&coef, NULL, PLAIN(m), &log, 17, &fit, &err),
                 PBOOST_INVALID, err, "the first bag is 17 of 16");
    pboost_answers_clear(&log);
}

/* A pilot's fit that predicts means that overflow teaches nothing: the first plan stays. */
static void test_choice_after_a_fit_that_overflows(void **state)
{
    (void)state;
    pboost_error err;
    pboost_choice choice;
    table t = make_table(PBOOST_POISSON, 68000, 0);
    pboost_plan_options o = plan_options(PBOOST_POISSON, "1", 16);
    assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
    assert_true(choice.pilot);

    pboost_memory_oracle_options held = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    held.simulated = held.clamp = true;
    pboost_memory_oracle *labels;
    pboost_run *run;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    fit.family = options.family = PBOOST_POISSON;
    fit.estimator = choice.estimator;
    options.algorithm = choice.algorithm;
    options.bags = choice.bags;
    options.schedule = choice.schedule;
    options.rounds = choice.rounds;
    options.bag_size = choice.bag_size;
    assert_ok(pboost_memory_oracle_create(&labels, t.y, t.n, &o.rules, &held, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    assert_ok(pboost_run_create(&run, PLAIN(t.matrix), &oracle, &fit, &options, &err), err);
    assert_ok(pboost_run_rounds(run, 1, &err), err);
    double theta[4] = {300.0, -300.0, 300.0, 300.0};
    pboost_coef far = {4, theta, 0.0};
    size_t planned = choice.planned_bag_size;
    assert_ok(
        pboost_choice_revise(&choice, pboost_run_trainer(run), PLAIN(t.matrix), &far, &o, &err),
        err);
    assert_true(isnan(choice.learnt.dispersion));
    assert_true(choice.plan.default_coef);
    assert_int_equal(choice.bag_size, planned);
    assert_ok(pboost_run_rounds(run, 1, &err), err);
    assert_int_equal(pboost_trainer_history(pboost_run_trainer(run))[1].bags,
                     pboost_trainer_history(pboost_run_trainer(run))[1].rows / planned);
    pboost_run_free(run);
    pboost_memory_oracle_free(labels);
    pboost_choice_free(&choice);
    free_table(&t);
}

static void assert_kept(const pboost_choice *choice, const pboost_plan_options *o)
{
    const pboost_fixed *f = &o->fixed;
    assert_true(choice->plan.n_points > 0);
    assert_true(f->rounds == 0 || choice->rounds == f->rounds);
    assert_true(f->bag_size == 0 || choice->bag_size == f->bag_size);
    assert_true(!f->has_bags || choice->bags == f->bags);
    assert_true(!f->has_schedule || choice->schedule == f->schedule);
    assert_int_equal(choice->estimator, f->has_estimator ? f->estimator : PBOOST_AGGREGATE);
    assert_int_equal(choice->algorithm, PBOOST_PBPREFIX);
    for (size_t i = 0; i < choice->plan.n_points; i++) {
        const pboost_plan_point *p = &choice->plan.point[i];
        assert_true(f->rounds == 0 || p->rounds == f->rounds);
        assert_true(f->bag_size == 0 || p->bag_size == f->bag_size);
        assert_true(!f->has_bags || p->bags == f->bags);
        assert_true(isfinite(p->excess) && isfinite(p->cautious) && !p->comparison_only);
    }
}

/* What the caller has fixed is kept, alone and together, and the rest is planned. */
static void test_fixed_choices_are_kept(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_LOGISTIC, 1200, 0);
    const size_t rounds[] = {0, 1, 2, 5}, sizes[] = {0, 30};
    for (unsigned i = 0; i < 2 * 2 * 4 * 5 * 3 * 2; i++) {
        unsigned bags = i / 16 % 5, schedule = i / 80 % 3;
        pboost_choice choice;
        pboost_plan_options o = plan_options(PBOOST_LOGISTIC, i % 2 ? "2" : NULL, 16);
        o.fixed.bag_size = sizes[i / 2 % 2];
        o.fixed.rounds = rounds[i / 4 % 4];
        o.fixed.has_bags = bags > 0;
        o.fixed.bags = bags > 0 ? (pboost_strategy)(bags - 1) : PBOOST_BAGS_PRIOR;
        o.fixed.has_schedule = schedule > 0;
        o.fixed.schedule = schedule == 2 ? PBOOST_GEOMETRIC : PBOOST_EQUAL;
        o.fixed.has_estimator = i / 240 % 2;
        o.fixed.estimator = PBOOST_INTERPOLATED;
        assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_kept(&choice, &o);
        assert_true((strstr(choice.plan.reason, "aggregate estimator") != NULL) ==
                    o.fixed.has_estimator);
        if (o.fixed.bag_size > 0) /* the caller's, not the noise's */
            assert_null(strstr(choice.plan.reason, "outweighs"));
        pboost_choice_free(&choice);
    }

    /* No pilot where it could not change the size of the bags, or is not wanted. */
    free_table(&t);
    t = make_table(PBOOST_LINEAR, 68000, 0);
    for (int i = 0; i < 4; i++) {
        pboost_choice choice;
        pboost_plan_options o = plan_options(PBOOST_LINEAR, "1", 16);
        o.fixed.rounds = i == 1;
        o.fixed.bag_size = i == 2 ? 64 : 0;
        o.fixed.has_schedule = i == 3;
        assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_true(choice.pilot == (i == 0));
        pboost_choice_free(&choice);
    }
    free_table(&t);
}

/* Fixed bags whose usual number of rounds the table is too small for are asked in fewer. */
static void test_fixed_bags_of_a_small_table(void **state)
{
    (void)state;
    pboost_error err;
    table t = make_table(PBOOST_LINEAR, 50, 0);
    for (int bags = PBOOST_BAGS_PRIOR; bags <= PBOOST_BAGS_HYBRID; bags++) {
        pboost_choice choice;
        pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 30);
        o.fixed.has_bags = true;
        o.fixed.bags = (pboost_strategy)bags;
        assert_ok(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), err);
        assert_int_equal(choice.rounds, 1);
        pboost_choice_free(&choice);
    }
    free_table(&t);
}

static void test_fixed_choices_that_cannot_be(void **state)
{
    (void)state;
    pboost_error err;
    pboost_choice choice;
    table t = make_table(PBOOST_LINEAR, 64, 0);
    pboost_plan_options o = plan_options(PBOOST_LINEAR, NULL, 8);
    o.fixed.rounds = 9;
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "rounds is 9, but 64 rows in equal slices of at least 8 allow at most 8 rounds");
    o.fixed.rounds = SIZE_MAX;
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "allow at most 8 rounds");
    o.fixed = (pboost_fixed){.bag_size = 65};
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_BAD_DATA, err,
                 "bags must have at least 65 rows, but the table has 64 rows");
    o.fixed = (pboost_fixed){.bag_size = 7};
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_REFUSED, err,
                 "bag_size is 7, but the oracle answers no bag of fewer than 8 rows");
    o.fixed = (pboost_fixed){.has_estimator = true, .estimator = PBOOST_EVENT};
    assert_fails(pboost_choice_make(&choice, PLAIN(t.matrix), NULL, &o, &err), PBOOST_INVALID, err,
                 "cannot be made for the event estimator");
    free_table(&t);
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
        cmocka_unit_test(test_information_of_labels),
        cmocka_unit_test(test_forecast_is_right),
        cmocka_unit_test(test_noise_enlarges_bags),
        cmocka_unit_test(test_event_points),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_further_epsilons),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_model_error),
        cmocka_unit_test(test_model_error_is_no_worse_than_noise),
        cmocka_unit_test(test_recommendation),
        cmocka_unit_test(test_nothing_to_learn),
        cmocka_unit_test(test_price_of_a_judged_ridge),
        cmocka_unit_test(test_no_fewer_bags_than_weights),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_learning_refuses),
        cmocka_unit_test(test_choice_after_a_fit_that_overflows),
        cmocka_unit_test(test_fixed_choices_are_kept),
        cmocka_unit_test(test_fixed_bags_of_a_small_table),
        cmocka_unit_test(test_fixed_choices_that_cannot_be),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Districts: bags of thousands of persons with effects that no feature describes.  95 % intervals
 * cover with bag_effects and do not without.  Where rows are samples of the persons, weights are
 * shrunk unless the rows are calibrated.  The bounds leave room for 4 standard deviations of a
 * share of 4 weights in 60 runs. */
#include "fit_support.h"

enum { RUNS = 60, DISTRICTS = 120, COLUMNS = 4, SAMPLE = 60 };

static const double THETA[COLUMNS] = {0.8, -0.5, 0.4, 0.0};

typedef struct {
    pboost_family family;
    double effect_sd;
    bool effects;           /* the fit allows for them */
    bool sample, calibrate; /* rows are samples; else they are the means, and so is every person */
} district_case;

typedef struct {
    double covered, effect_sd; /* means over runs */
    double first;              /* the mean estimate of the first weight */
} district_result;

static double mean_at(pboost_family family, double eta)
{
    return family == PBOOST_LINEAR     ? eta
           : family == PBOOST_LOGISTIC ? 1.0 / (1.0 + exp(-eta))
                                       : exp(eta);
}

/* Means of the features, the number of persons, and the mean label of each district. */
static void draw_districts(double *means, double *persons, double *answer, const district_case *c,
                           test_rng *rng)
{
    for (size_t b = 0; b < DISTRICTS; b++) {
        double eta = -0.3 + c->effect_sd * normal(rng);
        persons[b] = floor(1000.0 * exp(3.0 * uniform(rng)));
        for (size_t j = 0; j < COLUMNS; j++) {
            means[b * COLUMNS + j] = 0.4 * normal(rng);
            eta += THETA[j] * means[b * COLUMNS + j];
        }
        double mu = mean_at(c->family, eta);
        double variance = c->family == PBOOST_LOGISTIC  ? mu * (1.0 - mu)
                          : c->family == PBOOST_POISSON ? mu
                                                        : 2.0;
        answer[b] = mu + sqrt(variance / persons[b]) * normal(rng);
    }
}

static void run(district_result *r, const district_case *c, uint64_t seed)
{
    size_t each = c->sample ? SAMPLE : 1, n = DISTRICTS * each;
    test_rng rng = {seed};
    double means[DISTRICTS * COLUMNS], persons[DISTRICTS], answer[DISTRICTS], share[COLUMNS];
    double covariance[(COLUMNS + 1) * (COLUMNS + 1)];
    size_t row[DISTRICTS * SAMPLE], start[DISTRICTS + 1];
    double *x = calloc(n * COLUMNS, sizeof *x), *weight = calloc(n, sizeof *weight);
    bool limited;
    pboost_bags bags = {n, DISTRICTS, row, start};
    pboost_answers *answers = NULL;
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report report;
    pboost_coef coef = {0};

    draw_districts(means, persons, answer, c, &rng);
    for (size_t i = 0; i < n; i++) {
        row[i] = i;
        weight[i] = persons[i / each] / (double)each;
        for (size_t j = 0; j < COLUMNS; j++)
            x[i * COLUMNS + j] = means[i / each * COLUMNS + j] + (c->sample ? normal(&rng) : 0.0);
    }
    for (size_t b = 0; b <= DISTRICTS; b++)
        start[b] = b * each;
    if (c->calibrate) {
        assert_int_equal(pboost_bags_calibrate(x, COLUMNS, &bags, persons, share, &limited, NULL),
                         PBOOST_OK);
        assert_false(limited);
    }
    o.family = c->family;
    o.estimator = PBOOST_AGGREGATE;
    o.bag_effects = c->effects;
    assert_int_equal(pboost_answers_create(&answers, NULL), PBOOST_OK);
    assert_int_equal(pboost_answers_append(answers, &bags, answer, NULL, NULL), PBOOST_OK);
    assert_int_equal(pboost_coef_init(&coef, COLUMNS, NULL), PBOOST_OK);
    pboost_features features = {.x = pboost_matrix_f64(x, n, COLUMNS), .weight = weight};
    assert_int_equal(
        pboost_answers_fit(&coef, &report, covariance, &features, answers, 0, &o, NULL), PBOOST_OK);
    assert_true(report.converged);
    for (size_t j = 0; j < COLUMNS; j++)
        r->covered += fabs(coef.theta[j] - THETA[j]) <=
                      1.959963984540054 * sqrt(covariance[j * (COLUMNS + 2)]);
    r->effect_sd += report.bag_effect_sd / RUNS;
    r->first += coef.theta[0] / RUNS;
    pboost_coef_free(&coef);
    pboost_answers_free(answers);
    free(x);
    free(weight);
}

static district_result runs_of(district_case c)
{
    district_result r = {0};
    for (uint64_t i = 0; i < RUNS; i++)
        run(&r, &c, 1000 + i);
    r.covered /= (double)RUNS * COLUMNS;
    return r;
}

static void assert_covers(district_result r)
{
    if (!(r.covered >= 0.894 && r.covered <= 0.996))
        fail_msg("coverage is %.3f", r.covered);
}

static void intervals_allow_for_district_effects(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        district_case c = {.family = (pboost_family)family, .effect_sd = 0.3, .effects = true};
        district_result r = runs_of(c);
        assert_covers(r);
        assert_true(fabs(r.effect_sd - 0.3) < 0.03);
        c.effects = false; /* linear and Poisson have a free dispersion, but the wrong weights */
        r = runs_of(c);
        assert_true(r.covered < (family == PBOOST_LOGISTIC ? 0.5 : 0.93));
        assert_true(r.effect_sd == 0.0);
    }
}

static void without_effects_little_is_lost(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        district_result r =
            runs_of((district_case){.family = (pboost_family)family, .effects = true});
        assert_covers(r);
        assert_true(r.effect_sd < 0.02);
    }
}

static void calibrated_samples_are_not_shrunk(void **state)
{
    (void)state;
    district_case c = {.effect_sd = 0.1, .effects = true, .sample = true, .calibrate = true};
    district_result r = runs_of(c);
    assert_covers(r);
    assert_true(fabs(r.first - THETA[0]) < 0.02);
    c.calibrate = false;
    r = runs_of(c);
    assert_true(r.covered < 0.85 && r.first < 0.76);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_allow_for_district_effects),
        cmocka_unit_test(without_effects_little_is_lost),
        cmocka_unit_test(calibrated_samples_are_not_shrunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

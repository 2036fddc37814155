/* Districts: bags of thousands of persons with effects that no feature describes.  95 % intervals
 * cover with bag_effects and do not without; rows that are samples must be calibrated.  The bounds
 * leave room for 4 standard deviations of a fraction of 4 weights in 60 runs.
 *
 *     property_districts RUNS    prints the coverage of every case instead */
#include "fit_support.h"

enum { RUNS = 60, DISTRICTS = 120, COLUMNS = 4, SAMPLE = 60, POINTS = 2 * COLUMNS };

static const double THETA[COLUMNS] = {0.8, -0.5, 0.4, 0.0};

/* What a district's persons are, and what the table has of them. */
typedef enum { EQUAL, SPREAD, MEANS_ALONE, SAMPLED, NOT_CALIBRATED, N_KINDS } persons_kind;

typedef struct {
    pboost_family family;
    persons_kind persons;
    double effect_sd;
    bool effects; /* the fit allows for them */
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

/* The mean over persons whose features are normal about the means, or equal to them. */
static double population_mean(const district_case *c, double eta)
{
    double sd = 0.0, sum = 0.0, total = 0.0;
    for (size_t j = 0; j < COLUMNS; j++)
        sd += THETA[j] * THETA[j];
    if (c->persons == EQUAL)
        return mean_at(c->family, eta);
    for (int i = -48; i <= 48; i++) {
        double z = 0.125 * i;
        sum += exp(-z * z / 2.0) * mean_at(c->family, eta + sqrt(sd) * z);
        total += exp(-z * z / 2.0);
    }
    return sum / total;
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
        double mu = population_mean(c, eta);
        double variance = c->family == PBOOST_LOGISTIC  ? mu * (1.0 - mu)
                          : c->family == PBOOST_POISSON ? mu
                                                        : 2.0;
        answer[b] = mu + sqrt(variance / persons[b]) * normal(rng);
    }
}

/* The rows of all districts, `each` of them; x has room for them. */
static void draw_rows(double *x, const double *means, const double *persons, size_t each,
                      const district_case *c, const pboost_bags *bags, test_rng *rng)
{
    double sd[DISTRICTS * COLUMNS], fraction[COLUMNS];
    bool limited;
    for (size_t i = 0; i < DISTRICTS * COLUMNS; i++)
        sd[i] = c->persons == SPREAD ? 1.0 : 0.0;
    if (c->persons < SAMPLED) {
        assert_int_equal(pboost_spread_points(sd, DISTRICTS, COLUMNS), each);
        pboost_spread_rows(x, means, sd, DISTRICTS, COLUMNS);
        return;
    }
    for (size_t i = 0; i < DISTRICTS * each * COLUMNS; i++)
        x[i] = means[i / COLUMNS / each * COLUMNS + i % COLUMNS] + normal(rng);
    if (c->persons == NOT_CALIBRATED)
        return;
    assert_int_equal(pboost_bags_calibrate(x, COLUMNS, bags, persons, fraction, &limited, NULL),
                     PBOOST_OK);
    assert_false(limited);
}

static void run(district_result *r, const district_case *c, uint64_t seed)
{
    static const size_t EACH[N_KINDS] = {1, POINTS, 1, SAMPLE, SAMPLE};
    size_t each = EACH[c->persons], n = DISTRICTS * each;
    test_rng rng = {seed};
    double means[DISTRICTS * COLUMNS], persons[DISTRICTS], answer[DISTRICTS];
    double covariance[(COLUMNS + 1) * (COLUMNS + 1)];
    size_t row[DISTRICTS * SAMPLE], start[DISTRICTS + 1];
    double *x = calloc(n * COLUMNS, sizeof *x), *weight = calloc(n, sizeof *weight);
    pboost_bags bags = {n, DISTRICTS, row, start};
    pboost_answers *answers = NULL;
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report report;
    pboost_coef coef = {0};

    for (size_t b = 0; b <= DISTRICTS; b++)
        start[b] = b * each;
    draw_districts(means, persons, answer, c, &rng);
    for (size_t i = 0; i < n; i++) {
        row[i] = i;
        weight[i] = persons[i / each] / (double)each;
    }
    draw_rows(x, means, persons, each, c, &bags, &rng);
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
    r->effect_sd += report.bag_effect_sd;
    r->first += coef.theta[0];
    pboost_coef_free(&coef);
    pboost_answers_free(answers);
    free(x);
    free(weight);
}

static district_result runs_of(district_case c, size_t runs)
{
    district_result r = {0};
    for (uint64_t i = 0; i < runs; i++)
        run(&r, &c, 1000 + i);
    r.covered /= (double)runs * COLUMNS;
    r.effect_sd /= (double)runs;
    r.first /= (double)runs;
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
        district_result r = runs_of(c, RUNS);
        assert_covers(r);
        assert_true(fabs(r.effect_sd - 0.3) < 0.03);
        c.effects = false; /* linear and Poisson have a free dispersion, but the wrong weights */
        r = runs_of(c, RUNS);
        assert_true(r.covered < (family == PBOOST_LOGISTIC ? 0.5 : 0.93));
        assert_true(r.effect_sd == 0.0);
    }
}

static void without_effects_little_is_lost(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        district_case c = {.family = (pboost_family)family, .effects = true};
        district_result r = runs_of(c, RUNS);
        assert_covers(r);
        assert_true(r.effect_sd < 0.02);
    }
}

static void what_varies_within_districts_is_allowed_for(void **state)
{
    (void)state;
    district_case c = {
        .family = PBOOST_LOGISTIC, .persons = SPREAD, .effect_sd = 0.2, .effects = true};
    assert_covers(runs_of(c, RUNS));
}

static void calibrated_samples_are_not_shrunk(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++) {
        district_case c = {
            .family = (pboost_family)family, .persons = SAMPLED, .effect_sd = 0.1, .effects = true};
        district_result r = runs_of(c, RUNS);
        assert_covers(r);
        assert_true(fabs(r.first - THETA[0]) < 0.03);
        c.persons = NOT_CALIBRATED;
        r = runs_of(c, RUNS);
        assert_true(r.covered < 0.85 && r.first < 0.76);
    }
}

static void print_all(size_t runs)
{
    static const char *const NAMES[N_KINDS] = {"persons equal", "means and sd", "means alone",
                                               "samples", "samples, not calibrated"};
    printf("%-10s %-24s %9s %9s %9s %9s %9s\n", "family", "persons", "effects", "plain", "allowed",
           "effect sd", "0.8 is");
    for (int i = 0; i < 3 * 2 * N_KINDS; i++) {
        district_case c = {.family = (pboost_family)(i / 2 / N_KINDS),
                           .persons = (persons_kind)(i / 2 % N_KINDS),
                           .effect_sd = i % 2 == 0 ? 0.0 : 0.2};
        double plain = runs_of(c, runs).covered;
        c.effects = true;
        district_result r = runs_of(c, runs);
        printf("%-10s %-24s %9g %9.3f %9.3f %9.3f %9.3f\n", pboost_family_name(c.family),
               NAMES[c.persons], c.effect_sd, plain, r.covered, r.effect_sd, r.first);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_allow_for_district_effects),
        cmocka_unit_test(without_effects_little_is_lost),
        cmocka_unit_test(what_varies_within_districts_is_allowed_for),
        cmocka_unit_test(calibrated_samples_are_not_shrunk),
    };
    if (argc > 1) {
        print_all((size_t)strtoul(argv[1], NULL, 10));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

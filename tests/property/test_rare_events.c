/* Fits to tables of rare events: 1 to 3 % positives, 15 to 40 columns, some of them rare
 * indicators, bags of few rows.  Over many seeds no fit is unusable, and fresh rows are predicted
 * about as well as the forecast from the bags' information says.
 *
 * The full campaign is 200 seeds, the test runs fewer: property_rare_events [SEEDS [FIRST]]. */
#include "fit_support.h"

#include "data/answers.h"
#include "plan/forecast.h"

#define ROWS 2000
#define FRESH 4000

static size_t n_seeds = 12, first_seed = 1;

typedef struct {
    size_t d;
    double *x, *y; /* ROWS to learn from, then FRESH */
    double theta[40], intercept;
} rare_table;

/* A third of the columns are normal, a third indicators (the rarest of 0.5 %), a third
 * heavy-tailed. */
static double draw_column(test_rng *rng, size_t j)
{
    if (j % 3 == 0)
        return normal(rng);
    if (j % 3 == 1)
        return uniform(rng) < 0.005 * (double)(1 + j % 7 * 4) ? 1.0 : 0.0;
    return exp(normal(rng));
}

static double mean_at(pboost_family family, double eta)
{
    return (double)mean_of(family, eta);
}

/* The intercept for which the mean label is `share`. */
static double rare_intercept(pboost_family family, const double *eta, double share)
{
    double low = -30.0, high = 10.0;
    for (int step = 0; step < 60; step++) {
        double middle = 0.5 * (low + high), sum = 0.0;
        for (size_t i = 0; i < ROWS + FRESH; i++)
            sum += mean_at(family, eta[i] + middle);
        *(sum < share * (ROWS + FRESH) ? &low : &high) = middle;
    }
    return low;
}

static rare_table make_rare(pboost_family family, uint64_t seed)
{
    test_rng rng = {seed * 7919 + (uint64_t)family};
    size_t n = ROWS + FRESH;
    rare_table t = {.d = 15 + (size_t)(uniform(&rng) * 26.0)};
    double *eta = calloc(n, sizeof *eta), share = 0.01 + 0.02 * uniform(&rng);
    t.x = calloc(n * t.d, sizeof *t.x);
    t.y = calloc(n, sizeof *t.y);
    for (size_t j = 0; j < t.d; j++)
        t.theta[j] = normal(&rng) / sqrt((double)t.d) / (j % 3 == 2 ? 2.0 : 1.0);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < t.d; j++) {
            t.x[i * t.d + j] = draw_column(&rng, j);
            eta[i] += t.theta[j] * t.x[i * t.d + j];
        }
    t.intercept = family == PBOOST_LINEAR ? 1.0 : rare_intercept(family, eta, share);
    for (size_t i = 0; i < n; i++) {
        double mean = mean_at(family, eta[i] + t.intercept);
        t.y[i] = family == PBOOST_LINEAR     ? mean + normal(&rng)
                 : family == PBOOST_LOGISTIC ? (double)(uniform(&rng) < mean)
                                             : poisson_draw(&rng, mean);
    }
    free(eta);
    return t;
}

static void free_rare(rare_table *t)
{
    free(t->x);
    free(t->y);
}

typedef struct {
    double excess, error; /* over the true model on fresh rows, and its standard error */
    double loss, constant;
} fresh_loss;

/* As `evaluate` measures it: squared error, log loss, mu - y log mu. */
static double row_loss(pboost_family family, double eta, double y)
{
    return (double)loss_of(family, eta, y) * (family == PBOOST_LINEAR ? 2.0 : 1.0);
}

static fresh_loss measure(const rare_table *t, pboost_family family, const pboost_coef *coef)
{
    fresh_loss out = {0};
    double squares = 0.0, mean = 0.0;
    for (size_t i = 0; i < ROWS; i++)
        mean += t->y[i] / ROWS;
    mean = family == PBOOST_LINEAR ? mean : fmax(mean, 0.5 / ROWS);
    double eta0 = family == PBOOST_LINEAR     ? mean
                  : family == PBOOST_LOGISTIC ? log(mean / (1.0 - mean))
                                              : log(mean);
    for (size_t i = ROWS; i < ROWS + FRESH; i++) {
        double eta = coef->intercept, truth = t->intercept;
        for (size_t j = 0; j < t->d; j++) {
            eta += coef->theta[j] * t->x[i * t->d + j];
            truth += t->theta[j] * t->x[i * t->d + j];
        }
        double loss = row_loss(family, eta, t->y[i]);
        double above = loss - row_loss(family, truth, t->y[i]);
        out.loss += loss / FRESH;
        out.constant += row_loss(family, eta0, t->y[i]) / FRESH;
        out.excess += above / FRESH;
        squares += above * above / FRESH;
    }
    out.error = sqrt(fmax(squares - out.excess * out.excess, 0.0) / FRESH);
    return out;
}

/* What the information of these bags lets one expect, with the ridge of the fit. */
static double forecast(rare_table *t, pboost_family family, const pboost_matrix *x,
                       const pboost_bags *bags)
{
    population p = {0};
    pboost_coef truth = {t->d, t->theta, t->intercept};
    forecast_result result = {0};
    asked_bags asked;
    size_t row[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
    assert_int_equal(pboost_population_init(&p, family, x, NULL, row, ROWS, true, 1, NULL),
                     PBOOST_OK);
    pboost_population_set(&p, &truth);
    p.phi = 1.0;
    assert_int_equal(pboost_population_measure(&p, NULL), PBOOST_OK);
    double spread = pboost_prior_spread(pboost_family_info(family), p.row.eta_sd, p.phi);
    for (size_t j = 0; j < t->d; j++)
        p.penalty[1 + j] = (double)t->d / spread;
    assert_int_equal(pboost_asked_init(&asked, &p, bags, NULL), PBOOST_OK);
    assert_int_equal(pboost_forecast_bags(&result, &p, &asked,
                                          &(forecast_table){.repeat = 1.0, .larger = 1.0}, NULL),
                     PBOOST_OK);
    pboost_asked_free(&asked);
    pboost_population_free(&p);
    return result.excess;
}

typedef struct {
    size_t fits, unconverged, worse_than_constant, beyond_forecast, twice_constant;
} tally;

/* sum r^2/V of the fit and of the best constant, V of the fit. */
static bool worse_than_constant(const rare_table *t, pboost_family family,
                                const pboost_answers *answers, const pboost_coef *coef)
{
    double weights = 0.0, mean = 0.0, fit = 0.0, constant = 0.0;
    double *w = calloc(answers->n_bags, sizeof *w);
    for (size_t b = 0; b < answers->n_bags; b++) {
        double mu = 0.0, v = 0.0, size = (double)(answers->start[b + 1] - answers->start[b]);
        for (size_t i = answers->start[b]; i < answers->start[b + 1]; i++) {
            double eta = coef->intercept;
            for (size_t j = 0; j < t->d; j++)
                eta += coef->theta[j] * t->x[answers->row[i] * t->d + j];
            double m = mean_at(family, eta);
            mu += m / size;
            v += (family == PBOOST_LINEAR     ? 1.0
                  : family == PBOOST_LOGISTIC ? m * mean_at(family, -eta)
                                              : m) /
                 (size * size);
        }
        w[b] = 1.0 / fmax(v, 1e-300);
        fit += (answers->mean[b] - mu) * (answers->mean[b] - mu) * w[b];
        mean += w[b] * answers->mean[b];
        weights += w[b];
    }
    mean /= weights;
    for (size_t b = 0; b < answers->n_bags; b++)
        constant += (answers->mean[b] - mean) * (answers->mean[b] - mean) * w[b];
    free(w);
    return !(fit <= constant);
}

static void try_fit(tally *out, rare_table *t, pboost_family family, size_t k)
{
    pboost_matrix x = pboost_matrix_f64(t->x, ROWS, t->d);
    pboost_samples samples = {.x = &x, .n = ROWS};
    pboost_bags bags = {0};
    pboost_answers answers = {0};
    pboost_coef coef = {0};
    pboost_fit_report report;
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    double *mean = calloc(ROWS, sizeof *mean);
    options.family = family;
    options.estimator = PBOOST_AGGREGATE;
    assert_int_equal(pboost_bags_features(&bags, &samples, k, 1, NULL, NULL), PBOOST_OK);
    for (size_t b = 0; b < bags.n_bags; b++)
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
            mean[b] += t->y[bags.row[i]] / (double)(bags.start[b + 1] - bags.start[b]);
    assert_int_equal(pboost_answers_append(&answers, &bags, mean, NULL, NULL), PBOOST_OK);
    assert_int_equal(pboost_coef_init(&coef, t->d, NULL), PBOOST_OK);
    assert_int_equal(pboost_answers_fit(&coef, &report, NULL, &(pboost_features){.x = x}, &answers,
                                        0, &options, NULL),
                     PBOOST_OK);
    fresh_loss fresh = measure(t, family, &coef);
    double expected = forecast(t, family, &x, &bags);
    bool worse = !report.mean_masked && worse_than_constant(t, family, &answers, &coef);
    bool beyond = !(fresh.excess <= 3.0 * expected + 3.0 * fresh.error);
    bool twice = fresh.constant > 0.0 && !(fresh.loss <= 2.0 * fresh.constant);
    out->fits++;
    out->unconverged += !report.converged;
    out->worse_than_constant += worse;
    out->beyond_forecast += beyond;
    out->twice_constant += twice;
    pboost_bags_free(&bags);
    pboost_answers_clear(&answers);
    pboost_coef_free(&coef);
    free(mean);
}

static void rare_events_are_fitted(void **state)
{
    static const size_t K[] = {1, 2, 3, 4, 8};
    (void)state;
    for (int family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++) {
        tally total = {0};
        for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
            rare_table t = make_rare((pboost_family)family, seed);
            for (size_t i = 0; i < sizeof K / sizeof *K; i++)
                try_fit(&total, &t, (pboost_family)family, K[i]);
            free_rare(&t);
        }
        print_message("%s: %zu fits, %zu did not converge, %zu worse than constant on their bags, "
                      "%zu beyond the forecast, %zu above twice the constant's loss\n",
                      pboost_family_name((pboost_family)family), total.fits, total.unconverged,
                      total.worse_than_constant, total.beyond_forecast, total.twice_constant);
        assert_int_equal(total.unconverged, 0);
        assert_int_equal(total.worse_than_constant, 0);
        assert_true((double)total.beyond_forecast <= 0.01 * (double)total.fits);
        assert_int_equal(total.twice_constant, 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rare_events_are_fitted)};
    if (argc > 1)
        n_seeds = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

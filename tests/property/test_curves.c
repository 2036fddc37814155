/* Curves are found from the means of bags, their bands cover, and noise leaves straight lines. */
#include "fit_support.h"

#include "testing.h"

enum { STRAIGHT = 3, EACH = 8, COLS = STRAIGHT * (1 + EACH), GRID = 33 };

/* A table of three numbers, of which the first has a curved effect, the second a straight one and
 * the third none. */
typedef struct {
    size_t rows;
    double *x, *y;
    pboost_curve curve[STRAIGHT];
    size_t curve_of[STRAIGHT * EACH];
} curved_table;

static double truth(size_t column, double x)
{
    return column == 0 ? sin(1.5 * x) : column == 1 ? 0.5 * x : 0.0;
}

static double draw(pboost_family family, double eta, test_rng *rng)
{
    if (family == PBOOST_LINEAR)
        return eta + normal(rng);
    return family == PBOOST_LOGISTIC ? (double)(uniform(rng) < 1.0 / (1.0 + exp(-eta)))
                                     : poisson_draw(rng, exp(eta));
}

static curved_table make_curved(pboost_family family, size_t rows, uint64_t seed)
{
    curved_table t = {.rows = rows};
    test_rng rng = {seed};
    pboost_error err = {0};
    t.x = malloc(rows * COLS * sizeof *t.x);
    t.y = malloc(rows * sizeof *t.y);
    for (size_t i = 0; i < rows; i++) {
        double eta = 0.0;
        for (size_t j = 0; j < STRAIGHT; j++) {
            t.x[i * COLS + j] = normal(&rng);
            eta += truth(j, t.x[i * COLS + j]);
        }
        t.y[i] = draw(family, eta, &rng);
    }
    for (size_t j = 0; j < STRAIGHT; j++) {
        assert_ok(pboost_curve_learn(&t.curve[j], t.x + j, COLS, rows, EACH, 1, &err), err);
        assert_int_equal(t.curve[j].n, EACH);
        pboost_curve_apply(t.x + STRAIGHT + j * EACH, COLS, &t.curve[j], t.x + j, COLS, rows);
        for (size_t k = 0; k < EACH; k++)
            t.curve_of[j * EACH + k] = j;
    }
    return t;
}

static void free_curved(curved_table *t)
{
    for (size_t j = 0; j < STRAIGHT; j++)
        pboost_curve_free(&t->curve[j]);
    free(t->x);
    free(t->y);
}

typedef struct {
    double weights[COLS + 1], covariance[(COLS + 1) * (COLS + 1)], freedom[STRAIGHT];
    pboost_fit_report report;
} curved_fit;

/* curves: with them, or only the columns before them. */
static void fit_curved(curved_fit *out, const curved_table *t, pboost_family family,
                       const char *epsilon, bool curves)
{
    pboost_simulation s = PBOOST_SIMULATION_INIT;
    pboost_features features = {.x = pboost_matrix_f64(t->x, t->rows, COLS)};
    pboost_outcome outcome = {
        .report = &out->report, .path = out->weights, .covariance = out->covariance};
    pboost_error err = {0};
    features.x.cols = curves ? COLS : STRAIGHT;
    s.rules.min_bag = 16;
    s.fit.family = family;
    s.fit.estimator = PBOOST_AGGREGATE;
    s.fit.curves = curves ? STRAIGHT * EACH : 0;
    s.fit.curve_of = t->curve_of;
    s.fit.curve_freedom = out->freedom;
    s.trainer.bags = PBOOST_BAGS_FEATURES;
    s.trainer.threads = 1;
    if (epsilon != NULL) {
        assert_ok(pboost_rational_parse(&s.rules.epsilon, epsilon, &err), err);
        s.rules.bounded = s.holder.clamp = s.holder.simulated = true;
        s.rules.lower = family == PBOOST_LINEAR ? -6.0 : 0.0;
        s.rules.upper = family == PBOOST_LOGISTIC ? 1.0 : 6.0;
        s.holder.seed = 17;
    }
    assert_ok(pboost_simulate(&outcome, &features, t->y, &s, &err), err);
    assert_true(out->report.converged);
}

/* The number and its functions, less their average over the knots. */
static void contrast(double row[1 + EACH], const pboost_curve *c, double x)
{
    row[0] = x;
    pboost_curve_apply(row + 1, 0, c, &x, 0, 1);
    for (size_t k = 0; k < c->n_knots; k++) {
        double v[EACH];
        pboost_curve_apply(v, 0, c, &c->knot[k], 0, 1);
        row[0] -= c->knot[k] / (double)c->n_knots;
        for (size_t j = 0; j < EACH; j++)
            row[1 + j] -= v[j] / (double)c->n_knots;
    }
}

/* How many of the points from -2 to 2 are inside the band; *error: the largest error. */
static size_t covered(const curved_fit *fit, const curved_table *t, size_t column, double *error)
{
    const pboost_curve *c = &t->curve[column];
    size_t inside = 0;
    *error = 0.0;
    for (size_t i = 0; i < GRID; i++) {
        double x = -2.0 + 4.0 * (double)i / (GRID - 1), row[1 + EACH], off = 0.0, variance = 0.0;
        contrast(row, c, x);
        off -= truth(column, x);
        for (size_t k = 0; k < c->n_knots; k++)
            off += truth(column, c->knot[k]) / (double)c->n_knots;
        for (size_t j = 0; j <= EACH; j++) {
            size_t at = j == 0 ? column : STRAIGHT + column * EACH + j - 1;
            off += row[j] * fit->weights[at];
            for (size_t k = 0; k <= EACH; k++) {
                size_t other = k == 0 ? column : STRAIGHT + column * EACH + k - 1;
                variance += row[j] * row[k] * fit->covariance[at * (COLS + 1) + other];
            }
        }
        inside += fabs(off) <= 1.96 * sqrt(variance);
        *error = fmax(*error, fabs(off));
    }
    return inside;
}

/* On average over the curve the bands cover 95 % (Nychka): the limits leave 4 standard deviations
 * of 20 runs, in which the points of a curve are not independent. */
static void bands_cover(void **state)
{
    (void)state;
    enum { RUNS = 20 };
    for (int family = 0; family < 3; family++) {
        size_t inside[STRAIGHT] = {0};
        for (uint64_t run = 0; run < RUNS; run++) {
            curved_table t = make_curved((pboost_family)family, 3200, 50 + run);
            curved_fit fit;
            double error;
            fit_curved(&fit, &t, (pboost_family)family, NULL, true);
            for (size_t j = 0; j < STRAIGHT; j++)
                inside[j] += covered(&fit, &t, j, &error);
            free_curved(&t);
        }
        for (size_t j = 0; j < STRAIGHT; j++) {
            double share = (double)inside[j] / (RUNS * GRID);
            if (!(share > 0.87))
                fail_msg("%s, column %zu: coverage %.3f", pboost_family_name((pboost_family)family),
                         j, share);
        }
    }
}

/* The curve is found where there is one, and only there. */
static void curves_are_found(void **state)
{
    (void)state;
    const double largest[] = {0.25, 0.6, 0.3};
    for (int family = 0; family < 3; family++) {
        curved_table t = make_curved((pboost_family)family, 9600, 7);
        curved_fit fit;
        double error;
        fit_curved(&fit, &t, (pboost_family)family, NULL, true);
        covered(&fit, &t, 0, &error);
        if (!(error < largest[family]))
            fail_msg("%s: an error of %.3f", pboost_family_name((pboost_family)family), error);
        assert_true(fit.freedom[0] > 3.0);
        assert_true(fit.freedom[1] < 2.0 && fit.freedom[2] < 2.0);
        free_curved(&t);
    }
}

/* Under noise that masks everything, the fit is that of straight lines on the same bags. */
static void noise_leaves_straight_lines(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        curved_table t = make_curved((pboost_family)family, 1600, 9);
        curved_fit curved, straight;
        fit_curved(&curved, &t, (pboost_family)family, "0.02", true);
        fit_curved(&straight, &t, (pboost_family)family, "0.02", false);
        for (size_t j = 0; j < STRAIGHT; j++) {
            assert_true(curved.freedom[j] < 0.5);
            assert_near(curved.weights[j], straight.weights[j], 0.1);
        }
        free_curved(&t);
    }
}

/* Curves do not change what is asked. */
static void bags_are_made_without_curves(void **state)
{
    (void)state;
    curved_table t = make_curved(PBOOST_LINEAR, 1600, 11);
    pboost_features with = {.x = pboost_matrix_f64(t.x, t.rows, COLS)}, without = with;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options trainer = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle_options holder = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_memory_oracle *labels[2];
    pboost_run *run[2];
    pboost_error err = {0};
    without.x.cols = STRAIGHT;
    rules.min_bag = 16;
    fit.estimator = PBOOST_AGGREGATE;
    trainer.bags = PBOOST_BAGS_FEATURES;
    for (int i = 0; i < 2; i++) {
        assert_ok(pboost_memory_oracle_create(&labels[i], t.y, t.rows, &rules, &holder, &err), err);
        pboost_oracle oracle = pboost_memory_oracle_interface(labels[i]);
        fit.curves = i == 0 ? 0 : STRAIGHT * EACH;
        fit.curve_of = t.curve_of;
        assert_ok(
            pboost_run_create(&run[i], i == 0 ? &without : &with, &oracle, &fit, &trainer, &err),
            err);
        assert_ok(pboost_run_rounds(run[i], 1, &err), err);
    }
    pboost_bags a = pboost_answers_bags(pboost_trainer_answers(pboost_run_trainer(run[0])));
    pboost_bags b = pboost_answers_bags(pboost_trainer_answers(pboost_run_trainer(run[1])));
    assert_int_equal(a.n_bags, b.n_bags);
    assert_memory_equal(a.start, b.start, (a.n_bags + 1) * sizeof *a.start);
    assert_memory_equal(a.row, b.row, a.n_rows * sizeof *a.row);
    for (int i = 0; i < 2; i++) {
        pboost_run_free(run[i]);
        pboost_memory_oracle_free(labels[i]);
    }
    free_curved(&t);
}

static void refusals(void **state)
{
    (void)state;
    double x[40] = {0.0};
    pboost_features features = {.x = pboost_matrix_f64(x, 4, 10)};
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options trainer = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_oracle oracle = {.rules = PBOOST_RULES_INIT};
    size_t curve_of[10] = {0, 0, 2};
    pboost_run *run;
    pboost_error err;
    fit.curves = 3;
    assert_fails(pboost_run_create(&run, &features, &oracle, &fit, &trainer, &err), PBOOST_INVALID,
                 err, "curves are for the aggregate estimator");
    fit.estimator = PBOOST_AGGREGATE;
    fit.curve_of = curve_of;
    assert_fails(pboost_run_create(&run, &features, &oracle, &fit, &trainer, &err), PBOOST_INVALID,
                 err, "column 2 of the curves is of curve 2, after one of 0");
    fit.curves = 11;
    assert_fails(pboost_run_create(&run, &features, &oracle, &fit, &trainer, &err), PBOOST_INVALID,
                 err, "11 columns are of curves, but there are 10 in all");
    fit.curves = 9;
    fit.curve_of = NULL;
    assert_fails(pboost_run_create(&run, &features, &oracle, &fit, &trainer, &err), PBOOST_INVALID,
                 err, "more than 8 columns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_are_found),
        cmocka_unit_test(bands_cover),
        cmocka_unit_test(noise_leaves_straight_lines),
        cmocka_unit_test(bags_are_made_without_curves),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

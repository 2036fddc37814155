/* Trains with the family that examples/new_family.patch adds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <priorboost/priorboost.h>

enum { ROWS = 40000, FEATURES = 3, MIN_BAG = 8, ROUNDS = 16 };

static void check(pboost_status status, const pboost_error *err)
{
    if (status != PBOOST_OK) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
}

static void need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "FAILED: %s\n", what);
        exit(1);
    }
}

static double x[ROWS * FEATURES], trial[ROWS], rating[ROWS], mean[ROWS], lower[ROWS], upper[ROWS];

/* A rating is the number of successes in four trials with the same chance. */
static void draw_ratings(double *theta)
{
    pboost_synthetic data = PBOOST_SYNTHETIC_INIT;
    pboost_error err;

    data.family = PBOOST_LOGISTIC;
    data.features = FEATURES;
    data.noise = 0.0;
    check(pboost_synthetic_theta(theta, &data, &err), &err);
    check(pboost_synthetic_rows(x, trial, &data, theta, 0, 0, ROWS, 0, &err), &err);
    srand(1);
    for (size_t i = 0; i < ROWS; i++) {
        double eta = 0.0;
        for (size_t j = 0; j < FEATURES; j++)
            eta += x[i * FEATURES + j] * theta[j];
        for (int t = 0; t < 4; t++)
            rating[i] += rand() < RAND_MAX / (1.0 + exp(-eta));
    }
}

static void need_close(const pboost_coef *coef, const double *theta, double tolerance)
{
    for (size_t j = 0; j < FEATURES; j++) {
        printf("weight %zu: %6.3f, truly %6.3f\n", j, coef->theta[j], theta[j]);
        need(fabs(coef->theta[j] - theta[j]) < tolerance, "a weight is far from the truth");
    }
}

static void need_evaluation(pboost_family family, const pboost_matrix *features,
                            const pboost_coef *coef)
{
    pboost_samples samples = {.x = features, .n = ROWS, .target = rating};
    pboost_evaluation evaluation;
    pboost_error err;
    double held = rating[7];

    check(pboost_evaluate(&evaluation, family, &samples, coef, 0, &err), &err);
    rating[7] = 2.5;
    need(pboost_evaluate(&evaluation, family, &samples, coef, 0, &err) == PBOOST_BAD_DATA,
         "2.5 is no rating");
    puts(err.message);
    rating[7] = held;
}

/* Intervals of the mean are ratings and hold the prediction. */
static void need_intervals(pboost_family family, const pboost_matrix *features,
                           const pboost_coef *coef, const pboost_outcome *o)
{
    pboost_samples samples = {.x = features, .n = ROWS};
    pboost_error err;

    need(o->report->converged && !o->report->mean_masked, "the fit did not converge");
    check(pboost_predict(mean, family, &samples, coef, 0, &err), &err);
    check(
        pboost_predict_interval(lower, upper, family, &samples, coef, o->covariance, 0.95, 0, &err),
        &err);
    for (size_t i = 0; i < ROWS; i++)
        need(0.0 <= lower[i] && lower[i] < mean[i] && mean[i] < upper[i] && upper[i] <= 4.0,
             "an interval does not hold its mean");
}

int main(void)
{
    double theta[FEATURES];
    pboost_error err;
    double path[ROUNDS * (FEATURES + 1)], covariance[(FEATURES + 1) * (FEATURES + 1)];
    pboost_fit_report report;
    pboost_outcome out = {.report = &report, .path = path, .covariance = covariance};
    pboost_coef coef = {.n = FEATURES};
    pboost_simulation s = PBOOST_SIMULATION_INIT;
    pboost_matrix features = pboost_matrix_f64(x, ROWS, FEATURES);

    check(pboost_family_parse(&s.fit.family, "rating", &err), &err);
    draw_ratings(theta);

    puts("the paper's loop");
    s.rules.min_bag = MIN_BAG;
    s.trainer.family = s.fit.family;
    s.trainer.algorithm = PBOOST_PBPREFIX;
    s.trainer.rounds = ROUNDS;
    check(pboost_simulate(&out, &(pboost_features){.x = features}, rating, &s, &err), &err);
    coef.theta = path + (ROUNDS - 1) * (FEATURES + 1);
    coef.intercept = coef.theta[FEATURES];
    need_close(&coef, theta, 0.15);
    need_evaluation(s.fit.family, &features, &coef);

    puts("the aggregate estimator");
    s.fit.estimator = PBOOST_AGGREGATE;
    s.trainer.bags = PBOOST_BAGS_FEATURES;
    s.trainer.rounds = 1;
    check(pboost_simulate(&out, &(pboost_features){.x = features}, rating, &s, &err), &err);
    coef.theta = path;
    coef.intercept = path[FEATURES];
    need_close(&coef, theta, 0.05);
    need_intervals(s.fit.family, &features, &coef, &out);
    return 0;
}

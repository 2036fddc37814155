/* Trains with the family that examples/new_family.patch adds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <priorboost/core.h>

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

static double x[ROWS * FEATURES], trial[ROWS], rating[ROWS];

int main(void)
{
    double theta[FEATURES];
    pboost_error err;
    pboost_family family;

    check(pboost_family_parse(&family, "rating", &err), &err);

    /* A rating is the number of successes in four trials with the same chance. */
    pboost_synthetic data = PBOOST_SYNTHETIC_INIT;
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

    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = MIN_BAG;
    pboost_memory_oracle *holder;
    check(pboost_memory_oracle_create(&holder, rating, ROWS, &rules, NULL, &err), &err);
    pboost_oracle oracle = pboost_memory_oracle_interface(holder);
    pboost_matrix features = pboost_matrix_f64(x, ROWS, FEATURES);
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    fit.family = family;
    pboost_glm *glm;
    check(pboost_glm_create(&glm, &features, NULL, NULL, &fit, &err), &err);
    pboost_learner learner = pboost_glm_learner(glm);
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    options.rounds = ROUNDS;
    options.algorithm = PBOOST_PBPREFIX;
    pboost_trainer *trainer;
    check(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &options, &err), &err);
    check(pboost_trainer_run(trainer, &err), &err);
    for (size_t j = 0; j < FEATURES; j++) {
        double weight = pboost_glm_coef(glm)->theta[j];
        printf("weight %zu: %6.3f, truly %6.3f\n", j, weight, theta[j]);
        need(fabs(weight - theta[j]) < 0.15, "a weight is far from the truth");
    }

    pboost_samples samples = {&features, NULL, ROWS, rating, NULL, NULL};
    pboost_evaluation evaluation;
    check(pboost_evaluate(&evaluation, family, &samples, pboost_glm_coef(glm), 0, &err), &err);
    rating[7] = 2.5;
    need(pboost_evaluate(&evaluation, family, &samples, pboost_glm_coef(glm), 0, &err) ==
             PBOOST_BAD_DATA,
         "2.5 is no rating");
    puts(err.message);
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
    pboost_memory_oracle_free(holder);
    return 0;
}

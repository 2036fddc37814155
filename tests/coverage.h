/* The coverage of intervals: simulated runs with the paper's data, bags, answers, an aggregate fit,
 * and whether each weight is within its 95 % interval. */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/priorboost.h>

#include "train/glm.h"

typedef struct {
    pboost_family family;
    size_t rows, features, min_bag, rounds;
    pboost_strategy bags;
    const char *epsilon; /* NULL: no noise */
    pboost_covariance covariance;
} coverage_case;

typedef struct {
    size_t runs, weights, covered, failed; /* failed: refused or not converged */
    size_t warned;                         /* said that its intervals are too short */
    double z2;                             /* mean squared error over its estimated variance */
    double error;                          /* mean relative squared error of theta */
    double dispersion;
} coverage_result;

#define TRY_RUN(call)                                                                              \
    do {                                                                                           \
        if ((call) != PBOOST_OK)                                                                   \
            goto done;                                                                             \
    } while (0)

/* Labels that the bounds clamp would be another distribution: these are out of reach. */
static inline void coverage_rules(pboost_rules *rules, const coverage_case *c)
{
    const double lower[] = {-15.0, 0.0, 0.0}, upper[] = {15.0, 1.0, 15.0};
    rules->min_bag = c->min_bag;
    if (c->epsilon == NULL)
        return;
    pboost_rational_parse(&rules->epsilon, c->epsilon, NULL);
    rules->bounded = true;
    rules->lower = lower[c->family];
    rules->upper = upper[c->family];
}

static inline void coverage_count(coverage_result *r, const double *theta, const pboost_coef *coef,
                                  const double *covariance)
{
    double error = 0.0, size = 0.0;
    for (size_t j = 0; j < coef->n; j++) {
        double miss = coef->theta[j] - theta[j], variance = covariance[j * (coef->n + 2)];
        double z2 = miss * miss / variance;
        r->z2 += z2;
        r->covered += z2 <= 1.959963984540054 * 1.959963984540054;
        r->weights++;
        error += miss * miss;
        size += theta[j] * theta[j];
    }
    r->error += error / size;
}

static inline void coverage_run(coverage_result *r, const coverage_case *c, uint64_t seed)
{
    size_t n = c->rows, d = c->features;
    double *theta = calloc(d, sizeof *theta), *x = calloc(n * d, sizeof *x);
    double *y = calloc(n, sizeof *y);
    pboost_memory_oracle *labels = NULL;
    pboost_glm *glm = NULL;
    pboost_trainer *trainer = NULL;
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_memory_oracle_options holder = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    bool done = false;

    s.family = fit.family = c->family;
    s.features = d;
    s.noise = c->family == PBOOST_LINEAR ? 0.1 : 0.0;
    s.seed = seed;
    coverage_rules(&rules, c);
    holder.simulated = holder.clamp = true;
    holder.seed = options.seed = seed;
    fit.estimator = PBOOST_AGGREGATE;
    fit.covariance = c->covariance;
    options.bags = c->bags;
    options.rounds = c->rounds;
    options.threads = 1;
    TRY_RUN(pboost_synthetic_theta(theta, &s, NULL));
    TRY_RUN(pboost_synthetic_rows(x, y, &s, theta, 0, 0, n, 1, NULL));
    TRY_RUN(pboost_memory_oracle_create(&labels, y, n, &rules, &holder, NULL));
    pboost_matrix matrix = pboost_matrix_f64(x, n, d);
    options.x = &matrix;
    options.family = c->family;
    TRY_RUN(pboost_glm_create(&glm, &(pboost_features){.x = matrix}, &fit, NULL));
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    pboost_learner learner = pboost_glm_learner(glm);
    TRY_RUN(pboost_trainer_create(&trainer, n, &oracle, &learner, &options, NULL));
    TRY_RUN(pboost_trainer_run(trainer, NULL));
    done = pboost_glm_report(glm)->converged;
    coverage_count(r, theta, pboost_glm_coef(glm), pboost_glm_covariance(glm));
    r->warned += pboost_glm_report(glm)->undercovers;
    r->dispersion += pboost_glm_report(glm)->dispersion;
done:
    r->runs++;
    r->failed += !done;
    pboost_trainer_free(trainer);
    pboost_glm_free(glm);
    pboost_memory_oracle_free(labels);
    free(theta);
    free(x);
    free(y);
}

#endif

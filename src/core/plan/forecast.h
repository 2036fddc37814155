/* The information of a set of bags about theta, and the expected loss on test rows. */
#ifndef PBOOST_FORECAST_H
#define PBOOST_FORECAST_H

#include <priorboost/plan.h>
#include <priorboost/predict.h>
#include <priorboost/trainer.h>

#include "passes/bag_pass.h"
#include "passes/standard_units.h"

/* The population as it is assumed to be, in standard units, the intercept first where there is one:
 * everything that does not depend on bags. */
typedef struct {
    pboost_family family;
    bool intercept;
    int threads;
    const pboost_matrix *x;
    const double *offset;
    standard_units units;
    size_t n_parameters;
    double *parameter; /* theta */
    double *penalty;   /* lambda / phi by parameter */
    bool ridge_judged; /* the ridge is estimated from noisy answers, not known */
    double *hessian;   /* E b'' x x' */
    size_t *start;     /* every row of the sample as a bag of its own: */
    bag_pass pass;     /* ... */
    bag_moments row;   /* by row: b', b'', b'' x */
    double *row_weight;
    double *eta;                     /* by row, offsets included */
    double phi, mean, mean_variance; /* dispersion, E b', Var b' */
    double loss_scale;               /* of the family's loss: 2 for squared error */
} population;

/* rows: the sample of the population. */
pboost_status pboost_population_init(population *out, pboost_family family, const pboost_matrix *x,
                                     const double *offset, const size_t *row, size_t n,
                                     bool intercept, int threads, pboost_error *err);
void pboost_population_free(population *p);

/* Takes the parameters from coef. */
void pboost_population_set(population *p, const pboost_coef *coef);
/* Or assumes an effect of this standard deviation of eta in a random direction.  With an intercept,
 * the predictions of the sample have this mean.  No
 * column moves the eta of any row of x by more than `most`: where a column is rare or heavy-tailed,
 * an effect that is modest for its standard deviation would be far too large for a few rows. */
pboost_status pboost_population_assume(population *p, double mean, double eta_sd, double most,
                                       uint64_t seed, pboost_error *err);
/* Fills hessian, row, mean and mean_variance at the parameters; offsets included. */
pboost_status pboost_population_measure(population *p, pboost_error *err);

/* Bags with their moments at the parameters: all that a forecast needs of them. */
typedef struct {
    bag_pass pass;
    bag_moments moments;
    double *weight; /* 1/V */
} asked_bags;

/* What the bags point to is borrowed. */
pboost_status pboost_asked_init(asked_bags *out, const population *p, const pboost_bags *bags,
                                pboost_error *err);
void pboost_asked_free(asked_bags *asked);

/* The table and the noise that bags of a sample are forecast for. */
typedef struct {
    double repeat; /* how many times as many bags there are */
    double larger; /* how many times as many rows a bag has, the same ones again */
    double
        levels; /* by which a tree on the whole table is deeper; 0 for bags that do not improve */
    double noise_scale; /* c_B = noise_scale / size^2 */
    bool laplace;       /* the noise is */
    double model_error;
} forecast_table;

typedef struct {
    double excess;   /* expected loss above the best, if the model is right */
    double cautious; /* and with the model error */
    double se;       /* root mean square over the weights */
    double *column;  /* standard error by column in the units of x; NULL: not wanted */
    double *spread;  /* the covariance of the parameters; NULL: not wanted */
    double *bias;    /* what the ridge takes off the parameters; NULL: not wanted */
} forecast_result;

/* The population is not changed, but its passes work in their own memory. */
pboost_status pboost_forecast_bags(forecast_result *out, population *p, asked_bags *asked,
                                   const forecast_table *table, pboost_error *err);

/* The same with every label known. */
pboost_status pboost_forecast_labels(forecast_result *out, const population *p, double rows,
                                     pboost_error *err);
/* The excess of the model that knows only the mean; offset: by row of x, NULL: none. */
pboost_status pboost_forecast_constant(double *out, const population *p, const double *offset,
                                       pboost_error *err);
/* The expected loss of the best model on test rows. */
pboost_status pboost_forecast_best(double *out, const population *p, pboost_error *err);

#endif

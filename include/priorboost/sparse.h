/* priorboost/sparse.h — models with very many columns, of which a row uses a few: hashed
 * categories, words, clicks.  No call needs memory for columns x columns.  Conventions are those of
 * core.h. */
#ifndef PRIORBOOST_SPARSE_H
#define PRIORBOOST_SPARSE_H

#include <priorboost/trainer.h>

PBOOST_BEGIN

/* ---- Data ------------------------------------------------------------------------------------ */

/* A borrowed matrix by its non-zero entries (CSR).  Those of row i have the places start[i] ..
 * start[i+1]-1 of column and value; start[0] need not be 0, so some rows of a larger matrix are one
 * too. */
typedef struct pboost_sparse {
    size_t rows, cols;
    const void *start;      /* rows + 1 offsets, of start_bytes each, not negative */
    unsigned start_bytes;   /* 4 or 8 */
    pboost_type type;       /* of value */
    const uint32_t *column; /* from 0; ascending in a row, each at most once */
    const void *value;      /* NULL: every entry is 1 */
} pboost_sparse;

/* Refuses (PBOOST_BAD_DATA) offsets that fall, and column numbers that are out of range, not
 * ascending or repeated, and values that are not finite; names the row (from 0), the position in it
 * (from 0) and the value seen.  The other calls trust a matrix, so check it once. */
pboost_status pboost_sparse_check(const pboost_sparse *x, int threads, pboost_error *err);

/* The learner's data about every row of a table, borrowed: pboost_features of a sparse matrix. */
typedef struct pboost_wide_features {
    pboost_sparse x;
    const double *weight; /* by row; NULL: 1 */
    const double *offset; /* by row, added to the linear predictor; NULL: 0 */
} pboost_wide_features;

/* Some rows of a table: pboost_samples of a sparse matrix. */
typedef struct pboost_wide_samples {
    const pboost_sparse *x;
    const size_t *row; /* sample i is row row[i] of x, or row i where row is NULL */
    size_t n;
    const double *target; /* by sample */
    const double *weight; /* by row of x; NULL: 1 */
    const double *offset; /* by row of x, added to the linear predictor; NULL: 0 */
} pboost_wide_samples;

/* ---- Fits ------------------------------------------------------------------------------------ */

/* Fits take pboost_fit_options, with these defaults.  The estimator is event or aggregate; there
 * are no curves, bag effects or sandwich covariance (PBOOST_INVALID).  l2 is in the units of x;
 * auto is 1 for event, and for aggregate the same as cv: bags left out choose it. */
#define PBOOST_WIDE_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(pboost_fit_options), PBOOST_LOGISTIC, {PBOOST_L2_AUTO, 0.0}, true, 1, 100, 1e-9,    \
            PBOOST_AGGREGATE, 0.5, PBOOST_COVARIANCE_MODEL, 0, NULL, 0, NULL, NULL, false, NULL    \
    }

/* pboost_event_fit on sparse rows: minimises sum_i weight_i * loss(target_i, x_i theta + intercept
 * + offset_i) + (l2/2) |theta|^2, starting from coef.  A column without entries gets weight 0.
 * After a failure or a cancel coef does not change. */
pboost_status pboost_wide_event_fit(pboost_coef *coef, pboost_fit_report *report,
                                    const pboost_wide_samples *samples,
                                    const pboost_fit_options *options, pboost_error *err);

/* pboost_answers_fit on sparse rows, without a covariance.  A row may be in one bag only where the
 * estimator is aggregate (PBOOST_INVALID).  Of the report, rank is the number of
 * columns that have entries, and freedom an estimate. */
pboost_status pboost_wide_answers_fit(pboost_coef *coef, pboost_fit_report *report,
                                      const pboost_wide_features *features,
                                      const pboost_answers *answers, size_t first_bag,
                                      const pboost_fit_options *options, pboost_error *err);

/* out[i] = the standard error of the weight of column[i] (x.cols: of the intercept) of an aggregate
 * fit to these answers, which gave coef and report.  Each takes about as long as one step of the
 * fit. */
pboost_status pboost_wide_standard_errors(double *out, const size_t *column, size_t n,
                                          const pboost_coef *coef, const pboost_fit_report *report,
                                          const pboost_wide_features *features,
                                          const pboost_answers *answers, size_t first_bag,
                                          const pboost_fit_options *options, pboost_error *err);

/* mean[i] = b'(x_i theta + intercept + offset_i), as pboost_predict.  pboost_evaluator_add_means
 * makes an evaluation of it. */
pboost_status pboost_wide_predict(double *mean, pboost_family family,
                                  const pboost_wide_samples *samples, const pboost_coef *coef,
                                  int threads, pboost_error *err);

/* ---- A wide model under a trainer ------------------------------------------------------------ */

typedef struct pboost_wide pboost_wide;

/* The arrays of features are borrowed; x is checked here, with options and the rest, before any
 * label is spent.  start (NULL: 0) is copied: the model before the first fit. */
pboost_status pboost_wide_create(pboost_wide **out, const pboost_wide_features *features,
                                 const pboost_coef *start, const pboost_fit_options *options,
                                 pboost_error *err);
void pboost_wide_free(pboost_wide *wide);
/* Its fits start from the last one.  An aggregate fit uses the answers of all rounds, as bag-level
 * fits are right for any bags; an event fit uses those that the trainer names. */
pboost_learner pboost_wide_learner(pboost_wide *wide);
/* Of the last fit; valid until the next one. */
const pboost_coef *pboost_wide_coef(const pboost_wide *wide);
const pboost_fit_report *pboost_wide_report(const pboost_wide *wide);

/* ---- Bags ------------------------------------------------------------------------------------ */

#define PBOOST_SKETCH_DIMS 16 /* a number of columns of a sketch that serves most tables */
#define PBOOST_MOST_SKETCH_DIMS 256

/* A narrow matrix that stands for x where bags are made: out (rows x dims, row-major) is the rows
 * along about the leading directions of x.  Give it to a trainer as options.x, of type PBOOST_F32,
 * for bags by `features` and `hybrid`.  The same seed gives the same sketch. */
pboost_status pboost_sparse_sketch(float *out, const pboost_sparse *x, size_t dims, uint64_t seed,
                                   int threads, const pboost_cancel *cancel, pboost_error *err);

/* ---- Before any label is used ---------------------------------------------------------------- */

/* What a forecast assumes: weights in no particular direction. */
typedef struct pboost_wide_assumptions {
    pboost_family family;
    const pboost_rules *rules; /* the noise of the answers; NULL: none */
    double mean;               /* of the labels */
    double dispersion;         /* the labels' variance is this times b''; 1 for labels 0 and 1 */
    double spread;             /* variance of the linear predictor between rows; 0: the family's */
    int threads;
    const pboost_cancel *cancel; /* NULL: none */
} pboost_wide_assumptions;

/* Expected loss above that of the true weights. */
typedef struct pboost_wide_forecast {
    double excess;   /* of an aggregate fit to the answers, with the right ridge */
    double constant; /* of a model that knows only the mean */
} pboost_wide_forecast;

/* Forecasts what answers about these bags give, for rows `other` that are in none of them.  Bags of
 * one row each are all labels.  The part that is kept of what all labels gain over the constant
 * model is (constant - excess) / (constant - excess of all labels).  Weights are ignored.  x must
 * have been checked. */
pboost_status pboost_wide_forecast_bags(pboost_wide_forecast *out,
                                        const pboost_wide_features *features,
                                        const pboost_bags *bags, const size_t *other, size_t n,
                                        const pboost_wide_assumptions *assumed, pboost_error *err);

PBOOST_END

#endif
